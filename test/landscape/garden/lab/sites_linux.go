// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"k8s.io/apimachinery/pkg/util/rand"

	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/garden"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/metal"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/nameserver"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/openstack"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/vcenter"
)

const (
	// bootTime is the time from power-on to the first address of a guest of the vCenter.
	bootTime = 2 * time.Second
	// provisioningTime is how long it takes to write an image to a host of Metal3, cleaningTime to clean it.
	provisioningTime = 5 * time.Second
	cleaningTime     = 3 * time.Second
	// slowTime is how long that takes for hosts of the machine type slowType: longer than gardenlet waits for Workers.
	slowTime = 10*time.Minute + 30*time.Second
	slowType = "large"
	// hosts is the number of hosts of each kind.
	hosts = 4
)

func (l *Lab) startOpenStack(ctx context.Context) error {
	var err error
	if l.Machinery != nil {
		l.bed, err = l.Machinery.openStack(l.options.Dir)
	} else {
		l.bed, err = openstack.NewBed()
	}
	if err != nil {
		return err
	}
	if l.started, err = l.bed.StartWithSwift(ctx, l.options.Progress); err != nil {
		return err
	}
	if l.access, err = l.bed.Credentials(openstack.Projects[0]); err != nil {
		return err
	}
	if l.key, err = l.newKey(ctx); err != nil {
		return err
	}
	l.setCredentials(Cloud, l.key.SiteCredentials())
	if l.OpenStack, err = openstack.NewClient(ctx, l.access); err != nil {
		return err
	}
	// What a garden left that was killed is nobody's any more.
	return l.OpenStack.Sweep(ctx, technicalID(Hybrid))
}

// newKey makes a credential of the OpenStack site.
func (l *Lab) newKey(ctx context.Context) (*openstack.Key, error) {
	return openstack.NewKey(ctx, l.access, "garden-"+rand.String(8))
}

func (l *Lab) startVCenter(ctx context.Context) error {
	dir := filepath.Join(l.options.Dir, "vcenter")
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return err
	}
	var err error
	l.VCenter, err = vcenter.Start(ctx, dir, vcenter.Options{Guest: bootTime, Machines: l.Machinery != nil})
	l.setCredentials(VC, map[string]string{"username": vcenter.Username, "password": vcenter.Password})
	if err != nil || l.Machinery == nil {
		return err
	}
	return l.Machinery.boot(ctx, l.VCenter)
}

func (l *Lab) startInventory(ctx context.Context) error {
	var err error
	l.Inventory, err = metal.Start(ctx, metal.Options{
		Dir: filepath.Join(l.options.Dir, "inventory"), Metal3: true, IronCore: true, IPAM: true, Cleaning: cleaningTime,
	})
	if err != nil {
		return err
	}
	if err := l.Inventory.Grant(ctx); err != nil {
		return err
	}
	token, err := l.Inventory.Token(ctx)
	if err != nil {
		return err
	}
	l.setCredentials(Racks, token.SiteCredentials())
	l.setCredentials(Hall, token.SiteCredentials())
	if l.Machinery != nil {
		return l.Machinery.makeHosts(ctx, l.Inventory)
	}
	pool := metal.Pool{Name: Racks, Addresses: []string{"10.250.8.10-10.250.11.250"}, Prefix: 22, Gateway: "10.250.8.1"}
	if err := l.Inventory.MakePool(ctx, pool); err != nil {
		return err
	}
	for _, kind := range []struct {
		size, domain string
		provisioning time.Duration
	}{{"s", "first", provisioningTime}, {"l", "second", slowTime}} {
		batch := metal.Batch{Prefix: "rack-1-" + kind.size, Count: hosts, Provisioning: kind.provisioning,
			Labels: map[string]string{"rack": "r1", "size": kind.size, "failure-domain": kind.domain}} // a zone of its own if discovered
		if _, err := l.Inventory.MakeHosts(ctx, batch); err != nil {
			return err
		}
	}
	_, err = l.Inventory.MakeServers(ctx, metal.Batch{Prefix: "hall-1-s", Count: hosts, Labels: map[string]string{"hall": "h1", "size": "s"}})
	return err
}

func (l *Lab) startDNS(ctx context.Context) error {
	var err error
	dir := filepath.Join(l.options.Dir, "named")
	if l.Machinery != nil {
		l.DNS, err = l.Machinery.serveNames(ctx, dir)
		return err
	}
	l.DNS, err = nameserver.Start(ctx, dir, garden.Domain)
	return err
}

// Left are all objects of the shoot on all sites, for people.
func (s *Shoot) Left(ctx context.Context) ([]string, error) {
	var result []string
	servers, err := s.lab.OpenStack.Objects(ctx, s.TechnicalID())
	if err != nil {
		return nil, fmt.Errorf("look at OpenStack: %w", err)
	}
	for _, o := range servers {
		result = append(result, o.String())
	}
	machines, err := s.lab.VCenter.Objects(ctx, s.TechnicalID())
	if err != nil {
		return nil, fmt.Errorf("look at the vCenter: %w", err)
	}
	for _, o := range machines {
		result = append(result, o.String())
	}
	claims, err := s.lab.Inventory.Objects(ctx, s.TechnicalID())
	if err != nil {
		return nil, fmt.Errorf("look at the inventory: %w", err)
	}
	for _, o := range claims {
		result = append(result, o.String())
	}
	return result, nil
}
