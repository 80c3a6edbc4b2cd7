// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package csi

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"k8s.io/klog/v2"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/client"
)

const (
	// minBackoff and maxBackoff limit the delay before a site that could not be opened is tried again.
	minBackoff = time.Second
	maxBackoff = 30 * time.Second
)

// Connect returns what a driver uses at a site, with the session of the site.
type Connect[C any] func(ctx context.Context, session *client.Session, config *Config, site *SiteConfig) (C, error)

// Clouds holds the sites of the configuration. A site is opened when a request needs it, and again after its configuration changed or it
// could not be opened. It is safe for concurrent use.
type Clouds[C any] struct {
	paths    []string
	sessions *client.Sessions
	connect  Connect[C]
	now      func() time.Time

	mutex     sync.Mutex
	contents  [][]byte
	config    *Config
	lastError string
	backoffs  map[string]backoff
}

// backoff is the delay before a site that could not be opened is tried again.
type backoff struct {
	contents [][]byte
	until    time.Time
	length   time.Duration
	err      error
}

// NewClouds returns the sites of the configuration in the files. It does not read the files or connect to the sites.
func NewClouds[C any](paths []string, sessions *client.Sessions, connect Connect[C]) *Clouds[C] {
	return &Clouds[C]{paths: paths, sessions: sessions, connect: connect, now: time.Now, backoffs: map[string]backoff{}}
}

// Names returns the sorted names of the sites.
func (c *Clouds[C]) Names() ([]string, error) {
	config, _, err := c.current()
	if err != nil {
		return nil, err
	}
	return slices.Sorted(maps.Keys(config.Sites)), nil
}

// Open returns the cloud of a site. The error is of ClassNotFound if the configuration lacks the site. A site that could not be opened is
// not tried again before its backoff ends, unless the configuration changed.
func (c *Clouds[C]) Open(ctx context.Context, name string) (C, error) {
	var none C
	config, contents, err := c.current()
	if err != nil {
		return none, err
	}
	s, ok := config.Sites[name]
	if !ok {
		return none, platform.NewError(platform.ClassNotFound, "the configuration has no site %q", name)
	}
	if s.Err != nil {
		return none, s.Err
	}
	if err := c.inBackoff(name, contents); err != nil {
		return none, err
	}
	began := c.now()
	cloud, err := c.open(ctx, name, &s, config)
	c.record(ctx, name, contents, began, err)
	return cloud, platform.InSite(name, err)
}

func (c *Clouds[C]) open(ctx context.Context, name string, s *SiteConfig, config *Config) (C, error) {
	var none C
	session, err := c.sessions.Get(ctx, name, s.Connection, s.Credentials)
	if err != nil {
		return none, err
	}
	if err := session.CheckScope(s.Region, s.ProjectID); err != nil {
		return none, err
	}
	return c.connect(ctx, session, config, s)
}

// current returns the configuration and the contents of its files. If they are unreadable or invalid, the last configuration stays in
// effect.
func (c *Clouds[C]) current() (*Config, [][]byte, error) {
	contents, err := readFiles(c.paths)
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if err == nil && (c.config == nil || !slices.EqualFunc(contents, c.contents, bytes.Equal)) {
		var config *Config
		if config, err = parse(c.paths, contents); err == nil {
			klog.InfoS("Configuration loaded", "sites", len(config.Sites), "again", c.config != nil)
			c.config, c.contents = config, contents
		}
	}
	if err == nil {
		c.lastError = ""
		return c.config, c.contents, nil
	}
	if message := err.Error(); message != c.lastError {
		klog.ErrorS(err, "Invalid configuration, the last one stays in effect")
		c.lastError = message
	}
	if c.config == nil {
		return nil, nil, err
	}
	return c.config, c.contents, nil
}

// inBackoff returns the last error of a site that must not be tried again yet, or nil.
func (c *Clouds[C]) inBackoff(name string, contents [][]byte) error {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	p, ok := c.backoffs[name]
	if !ok || !slices.EqualFunc(p.contents, contents, bytes.Equal) {
		return nil
	}
	remaining := p.until.Sub(c.now())
	if remaining <= 0 {
		return nil
	}
	return platform.InSite(name, fmt.Errorf("retry in %s: %w", remaining.Round(time.Millisecond), p.err))
}

// record records the result of an attempt to open the site. Canceled attempts say nothing about the site.
func (c *Clouds[C]) record(ctx context.Context, name string, contents [][]byte, began time.Time, err error) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	p, ok := c.backoffs[name]
	if err == nil {
		if ok {
			klog.InfoS("Site opened again", "site", name)
			delete(c.backoffs, name)
		}
		return
	}
	if ctx.Err() != nil || ok && p.until.After(began) && slices.EqualFunc(p.contents, contents, bytes.Equal) {
		return
	}
	klog.ErrorS(err, "Failed to open site", "site", name)
	length := min(max(minBackoff, 2*p.length), maxBackoff)
	c.backoffs[name] = backoff{contents: contents, until: c.now().Add(length), length: length, err: err}
}
