// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package statichosts

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"sync"

	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/hardware"
)

// maxHosts is how many hosts a site has room for.
const maxHosts = 100

// The name of a host is part of the name of an interface.
var nameFormat = regexp.MustCompile(`^[a-z][a-z0-9-]{0,11}$`)

// Site is a room with hosts at one network.
type Site struct {
	// Network is what the hosts are plugged into.
	Network *hardware.Network

	dir, root string

	mutex sync.Mutex
	hosts []*Host
}

// Check returns an error that says what hosts need and is not there.
func Check() error {
	var errs []error
	if os.Getuid() != 0 {
		errs = append(errs, errors.New("static hosts need root"))
	}
	if _, err := os.Stat(rootPath()); err != nil {
		errs = append(errs, fmt.Errorf("%w: hack/landscape/statichosts/build.sh builds it", err))
	}
	for _, tool := range []string{"ip", "nsenter", "unshare", "systemd-nspawn"} {
		if _, err := exec.LookPath(tool); err != nil {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// Build builds what hosts boot, unless it is there.
func Build(ctx context.Context, progress io.Writer) error {
	cmd := exec.CommandContext(ctx, filepath.Join(landscape.Root(), "hack", "landscape", "statichosts", "build.sh")) // #nosec G204 -- ours
	cmd.Stdout, cmd.Stderr = progress, progress
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("build static hosts: %w", err)
	}
	return nil
}

func rootPath() string { return filepath.Join(landscape.Root(), "hack", "bin", "statichost-root") }

// NewSite makes a site without hosts, with its files in a folder. Close ends what was made, also after an error.
func NewSite(dir string) (*Site, error) {
	s := &Site{dir: dir}
	if err := Check(); err != nil {
		return s, err
	}
	var err error
	// A later build replaces the link, but not what it leads to.
	if s.root, err = filepath.EvalSymlinks(rootPath()); err != nil {
		return s, err
	}
	s.Network, err = hardware.NewNetwork()
	return s, err
}

// Install adds a host with an operating system and switches it on. Its name is one of a host with at most 12 letters, digits and dashes.
func (s *Site) Install(ctx context.Context, name string, o Options) (*Host, error) {
	h, err := s.add(name, o)
	if err == nil {
		err = h.PowerOn(ctx)
	}
	if err != nil {
		return nil, fmt.Errorf("host %s: %w", name, err)
	}
	return h, nil
}

func (s *Site) add(name string, o Options) (*Host, error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if !nameFormat.MatchString(name) {
		return nil, fmt.Errorf("name does not match %s", nameFormat)
	}
	for _, h := range s.hosts {
		if h.Name == name {
			return nil, errors.New("there is a host with this name")
		}
	}
	if len(s.hosts) == maxHosts {
		return nil, fmt.Errorf("there are %d hosts", maxHosts)
	}
	base := s.Network.Prefix.Addr().As4()
	base[3] = byte(10 + len(s.hosts))
	h, err := newHost(s, name, base, o)
	if err == nil {
		s.hosts = append(s.hosts, h)
	}
	return h, err
}

// Close cuts the power of all hosts and removes them and the network.
func (s *Site) Close() error {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	var errs []error
	for _, h := range s.hosts {
		h.CutPower()
		errs = append(errs, h.disk.close(), removeGroup(h.group))
	}
	if s.Network != nil {
		errs = append(errs, s.Network.Close())
	}
	return errors.Join(errs...)
}
