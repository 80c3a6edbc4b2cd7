// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package partitions

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/rand"

	"github.com/gardener/gardener-extension-provider-hybrid/test/kubelets"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/metal"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/openstack"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/pki"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/vcenter"
)

const (
	// heartbeat is the time between two reports of a kubelet.
	heartbeat = 3 * time.Second
	// look is the time between two looks of the kubelets at their servers, which all shoots share.
	look = time.Second
	// probeInterval is how often the extension asks the API of a site.
	probeInterval = 5 * time.Second

	stopTimeout = 30 * time.Second
)

// Options say what a lab is.
type Options struct {
	// Dir is the folder for data, keys and logs.
	Dir string
	// Binaries are the executables.
	Binaries landscape.Binaries
	// Progress gets lines about what is done.
	Progress io.Writer
	// Grace is the time after which a node that does not report is unknown. In Gardener it is 40s.
	Grace time.Duration
	// Bed is the OpenStack, which runs. Without it shoots have no site on OpenStack.
	Bed *openstack.Bed
	// ExtensionArgs are further arguments of the extension.
	ExtensionArgs []string
}

// Lab is a seed with sites for several shoots.
type Lab struct {
	// Seed has the processes that all shoots share.
	Seed *landscape.Landscape
	// VCenter is the vCenter of all shoots.
	VCenter *vcenter.VCenter
	// Inventory has the hosts of all shoots.
	Inventory *metal.Inventory

	options Options
	prefix  string
	// authority signed the certificate of all proxies.
	authority string
	pair      *pki.Pair
	servers   *servers
	// access and inspector are for the project of the site on OpenStack, nil if there is none.
	access    openstack.Credentials
	inspector *openstack.Client

	mutex  sync.Mutex
	shoots []*Shoot
}

// Start starts a lab without shoots. Stop ends what was started, also after an error.
func Start(ctx context.Context, o Options) (*Lab, error) {
	l := &Lab{options: o, prefix: "shoot--cut" + rand.String(3) + "--"}
	return l, l.start(ctx)
}

func (l *Lab) start(ctx context.Context) (err error) {
	dirs := map[string]string{}
	for _, part := range []string{"vcenter", "inventory", "seed"} {
		dirs[part] = filepath.Join(l.options.Dir, part)
		if err := os.Mkdir(dirs[part], 0o750); err != nil {
			return err
		}
	}
	authority, err := pki.NewAuthority()
	if err != nil {
		return err
	}
	l.authority = authority.PEM
	if l.pair, err = authority.Server("proxy"); err != nil {
		return err
	}

	fmt.Fprintln(l.options.Progress, "  start a vCenter, an inventory and a seed")
	if l.VCenter, err = vcenter.Start(ctx, dirs["vcenter"], vcenter.Options{Guest: time.Second}); err != nil {
		return err
	}
	if l.Inventory, err = metal.Start(ctx, metal.Options{Dir: dirs["inventory"], Metal3: true, IronCore: true}); err != nil {
		return err
	}
	if err := l.Inventory.Grant(ctx); err != nil {
		return err
	}
	sites := []kubelets.ActiveServers{vcenter.NewWatch(l.VCenter, l.prefix).Active, metal.NewWatch(l.Inventory, l.prefix).Active}
	if l.options.Bed != nil {
		if l.access, err = l.options.Bed.Credentials(openstack.Projects[0]); err != nil {
			return err
		}
		if l.inspector, err = openstack.NewClient(ctx, l.access); err != nil {
			return err
		}
		sites = append(sites, openstack.NewWatch(l.prefix, l.inspector).Active)
	}
	l.servers = newServers(sites...)
	l.Seed, err = landscape.New(landscape.Options{
		Dir: dirs["seed"], Namespace: l.prefix + "none", Binaries: l.options.Binaries, NodeGrace: l.options.Grace,
		DriverArgs:    []string{"--resource-exhausted-retry=5s", "--machine-safety-orphan-vms-period=20s"},
		ExtensionArgs: append([]string{"--site-probe-interval=" + probeInterval.String()}, l.options.ExtensionArgs...),
	})
	if err != nil {
		return err
	}
	if err := l.Seed.StartCluster(ctx); err != nil {
		return err
	}
	return l.Seed.Extension.Start()
}

// Stop ends what Start started, and the shoots.
func (l *Lab) Stop() error {
	var errs []error
	for _, s := range l.shoots {
		errs = append(errs, s.stop())
	}
	if l.servers != nil {
		l.servers.stop()
	}
	if l.Seed != nil {
		l.Seed.Stop()
	}
	if l.Inventory != nil {
		l.Inventory.Stop()
	}
	if l.VCenter != nil {
		ctx, cancel := context.WithTimeout(context.Background(), stopTimeout)
		defer cancel()
		l.VCenter.Stop(ctx)
	}
	return errors.Join(errs...)
}

// Processes are all processes of the lab.
func (l *Lab) Processes() []*landscape.Process {
	if l == nil || l.Seed == nil {
		return nil
	}
	processes := l.Seed.Processes()
	for _, s := range l.shoots {
		processes = append(processes, s.MCM, s.Driver)
	}
	return append(processes, l.Inventory.Processes()...)
}

// servers are the active servers of all sites. Sites are asked in the background, so that no kubelet reports late because a site is slow.
type servers struct {
	look kubelets.ActiveServers
	stop func()

	mutex  sync.Mutex
	active map[string]kubelets.Server
	err    error
}

func newServers(sites ...kubelets.ActiveServers) *servers {
	ctx, cancel := context.WithCancel(context.Background())
	s := &servers{look: kubelets.Together(sites...)}
	var group sync.WaitGroup
	group.Go(func() { s.run(ctx) })
	s.stop = func() {
		cancel()
		group.Wait()
	}
	return s
}

func (s *servers) run(ctx context.Context) {
	ticker := time.NewTicker(look)
	defer ticker.Stop()
	for {
		active, err := s.look(ctx)
		s.mutex.Lock()
		s.active, s.err = active, err
		s.mutex.Unlock()
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// Active returns what was seen last.
func (s *servers) Active(context.Context) (map[string]kubelets.Server, error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return maps.Clone(s.active), s.err
}
