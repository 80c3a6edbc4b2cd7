// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package cinder

import (
	"bytes"
	"context"
	"fmt"
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
	// firstPause is how long a site is left alone after it could not be opened, and lastPause the longest that this becomes.
	firstPause = time.Second
	lastPause  = 30 * time.Second
)

// Clouds are the sites of the configuration. Each is opened when a request needs it, and again after its configuration changed or
// it could not be opened. It is safe for concurrent use.
type Clouds struct {
	paths    []string
	sessions *client.Sessions
	now      func() time.Time

	mutex    sync.Mutex
	contents [][]byte
	config   *Config
	broken   string
	pauses   map[string]pause
}

// pause is the time in which a site that could not be opened is left alone.
type pause struct {
	contents [][]byte
	until    time.Time
	length   time.Duration
	err      error
}

// NewClouds returns the sites of the configuration in the files. They are not asked yet, and the files are not read.
func NewClouds(paths []string, sessions *client.Sessions) *Clouds {
	return &Clouds{paths: paths, sessions: sessions, now: time.Now, pauses: map[string]pause{}}
}

// Names returns the names of the sites in order.
func (c *Clouds) Names() ([]string, error) {
	config, _, err := c.current()
	if err != nil {
		return nil, err
	}
	names := make([]string, 0, len(config.Sites))
	for name := range config.Sites {
		names = append(names, name)
	}
	slices.Sort(names)
	return names, nil
}

// Open returns the cloud of a site. The error is of ClassNotFound if the configuration has no such site. A site that could not be
// opened is not asked again before a pause is over, unless the configuration changed.
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
	if err := c.paused(name, contents); err != nil {
		return nil, err
	}
	began := c.now()
	cloud, err := c.open(ctx, name, s, config)
	c.note(ctx, name, contents, began, err)
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

// current returns the configuration, and the contents of the files that it is from. If they cannot be read or are wrong the last
// configuration stays.
func (c *Clouds) current() (*Config, [][]byte, error) {
	contents, err := readFiles(c.paths)
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if err == nil && (c.config == nil || !slices.EqualFunc(contents, c.contents, bytes.Equal)) {
		var config *Config
		if config, err = parse(c.paths, contents); err == nil {
			klog.InfoS("Configuration is read", "sites", len(config.Sites), "again", c.config != nil)
			c.config, c.contents = config, contents
		}
	}
	if err == nil {
		c.broken = ""
		return c.config, c.contents, nil
	}
	if message := err.Error(); message != c.broken {
		klog.ErrorS(err, "Configuration is wrong, the last one stays")
		c.broken = message
	}
	if c.config == nil {
		return nil, nil, err
	}
	return c.config, c.contents, nil
}

// paused returns why the site could not be opened, if it is to be left alone.
func (c *Clouds) paused(name string, contents [][]byte) error {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	p, ok := c.pauses[name]
	if !ok || !slices.EqualFunc(p.contents, contents, bytes.Equal) {
		return nil
	}
	left := p.until.Sub(c.now())
	if left <= 0 {
		return nil
	}
	return platform.InSite(name, fmt.Errorf("it is asked again in %s: %w", left.Round(time.Millisecond), p.err))
}

// note remembers how an attempt to open the site ended that began at a time. Those that gave up say nothing about the site.
func (c *Clouds) note(ctx context.Context, name string, contents [][]byte, began time.Time, err error) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	p, ok := c.pauses[name]
	if err == nil {
		if ok {
			klog.InfoS("Site is open again", "site", name)
			delete(c.pauses, name)
		}
		return
	}
	if ctx.Err() != nil || ok && p.until.After(began) && slices.EqualFunc(p.contents, contents, bytes.Equal) {
		return
	}
	klog.ErrorS(err, "Site cannot be opened", "site", name)
	length := min(max(firstPause, 2*p.length), lastPause)
	c.pauses[name] = pause{contents: contents, until: c.now().Add(length), length: length, err: err}
}

// cloudKey is the key of a cloud among the values of its session.
type cloudKey struct {
	blockStorage library.BlockStorageOpts
	metadata     metadata.Opts
}

// cloudOf returns the library's cloud with our session. Its own constructor would log in by itself, without a limit of time, and
// puts what it made into a map of the process that nothing guards. So the fields that it sets are set here.
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
