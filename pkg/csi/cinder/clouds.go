// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package cinder

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	library "k8s.io/cloud-provider-openstack/pkg/csi/cinder/openstack"
	"k8s.io/cloud-provider-openstack/pkg/util/metadata"
	"k8s.io/klog/v2"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/client"
)

const (
	// minBackoff and maxBackoff limit the delay before a site that could not be opened is tried again.
	minBackoff = time.Second
	maxBackoff = 30 * time.Second
)

// Clouds holds the sites of the configuration. A site is opened when a request needs it, and again after its configuration changed or it
// could not be opened. It is safe for concurrent use.
type Clouds struct {
	paths    []string
	sessions *client.Sessions
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
func NewClouds(paths []string, sessions *client.Sessions) *Clouds {
	return &Clouds{paths: paths, sessions: sessions, now: time.Now, backoffs: map[string]backoff{}}
}

// Names returns the sorted names of the sites.
func (c *Clouds) Names() ([]string, error) {
	config, _, err := c.current()
	if err != nil {
		return nil, err
	}
	return slices.Sorted(maps.Keys(config.Sites)), nil
}

// Open returns the cloud of a site. The error is of ClassNotFound if the configuration lacks the site. A site that could not be opened is
// not tried again before its backoff ends, unless the configuration changed.
func (c *Clouds) Open(ctx context.Context, name string) (library.IOpenStack, error) {
	config, contents, err := c.current()
	if err != nil {
		return nil, err
	}
	s, ok := config.Sites[name]
	if !ok {
		return nil, platform.NewError(platform.ClassNotFound, "the configuration has no site %q", name)
	}
	if s.Err != nil {
		return nil, s.Err
	}
	if err := c.inBackoff(name, contents); err != nil {
		return nil, err
	}
	began := c.now()
	cloud, err := c.open(ctx, name, s, config)
	c.record(ctx, name, contents, began, err)
	return cloud, platform.InSite(name, err)
}

func (c *Clouds) open(ctx context.Context, name string, s SiteConfig, config *Config) (library.IOpenStack, error) {
	session, err := c.sessions.Get(ctx, name, s.Connection, s.Credentials)
	if err != nil {
		return nil, err
	}
	if err := session.CheckScope(s.Region, s.ProjectID); err != nil {
		return nil, err
	}
	return cloudOf(ctx, session, config)
}

// current returns the configuration and the contents of its files. If they are unreadable or invalid, the last configuration stays in
// effect.
func (c *Clouds) current() (*Config, [][]byte, error) {
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
func (c *Clouds) inBackoff(name string, contents [][]byte) error {
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
func (c *Clouds) record(ctx context.Context, name string, contents [][]byte, began time.Time, err error) {
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

// cloudKey is the key of a cloud among the values of its session.
type cloudKey struct {
	blockStorage library.BlockStorageOpts
	metadata     metadata.Opts
}

// cloudOf returns the library's cloud with our session. Its constructor would log in on its own, without a timeout, and writes to an
// unguarded global map. So the constructor's fields are set here.
func cloudOf(ctx context.Context, session *client.Session, config *Config) (library.IOpenStack, error) {
	compute, err := session.Compute(ctx)
	if err != nil {
		return nil, err
	}
	volume, err := session.Volume(ctx)
	if err != nil {
		return nil, err
	}
	_, endpoints := session.Provider()
	made := session.Value(cloudKey{config.BlockStorage, config.Metadata}, func() any {
		cloud := &library.OpenStack{}
		if err := client.SetFields(cloud, map[string]any{
			"compute":      compute,
			"blockstorage": volume,
			"bsOpts":       config.BlockStorage,
			"epOpts":       endpoints,
			"metadataOpts": config.Metadata,
		}); err != nil {
			return err
		}
		return cloud
	})
	if err, ok := made.(error); ok {
		return nil, err
	}
	return made.(library.IOpenStack), nil
}
