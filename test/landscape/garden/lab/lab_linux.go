// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package lab is a garden with sites of all platforms, and shoots like that of example/openstack-vsphere-metal in it.
package lab

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"path/filepath"
	"sync"

	"github.com/go-logr/logr"
	"github.com/gophercloud/gophercloud/v2"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/test/kubelets"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/garden"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/metal"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/nameserver"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/objectstore"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/openstack"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/registry"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/vcenter"
)

// Cloud, VC, Racks and Hall are the sites: OpenStack, vSphere, and bare metal with Metal3 and IronCore.
const (
	Cloud, VC, Racks, Hall = "cloud", "vc", "racks", "hall"
)

// ErrNotInstalled means that this machine has no DNS server for the records of the garden.
var ErrNotInstalled = errors.New("BIND is not installed")

// Options say what a lab is.
type Options struct {
	// Dir is the folder for data, keys, kubeconfigs and logs.
	Dir string
	// Own is the folder with our executables. Default: hack/bin.
	Own string
	// Foreign and Registry are those of the garden.
	Foreign  bool
	Registry *registry.Registry
	// Machines says that machines boot: see package hardware. The process must be in namespaces of its own, which package isolation makes.
	Machines bool
	// Progress receives what the start of OpenStack prints.
	Progress io.Writer
	// Log receives what is not possible in the garden.
	Log logr.Logger
}

// Lab is a garden with sites.
type Lab struct {
	*garden.Garden
	// OpenStack looks at the project of the site on OpenStack.
	OpenStack *openstack.Client
	// VCenter is the simulated vCenter.
	VCenter *vcenter.VCenter
	// Inventory has the hosts of both sites of bare metal.
	Inventory *metal.Inventory
	// Store is the object store of the seed's backups.
	Store *objectstore.Server
	// DNS is the server with the zone of the garden.
	DNS *nameserver.Server
	// Machinery is what boots, nil if nothing does.
	Machinery *Machinery

	options Options
	fronts  *fronts
	swift   *gophercloud.ServiceClient
	bed     *openstack.Bed
	// started says that OpenStack did not run before.
	started bool
	access  openstack.Credentials
	// key is the credential of the OpenStack site.
	key *openstack.Key

	mutex       sync.Mutex
	credentials map[string]map[string]string
}

// Start starts the sites and prepares the garden; StartVirtual and StartSeed start that. Stop ends what was started, also after an
// error, which is openstack.ErrNotPossible if this machine cannot run OpenStack.
func Start(ctx context.Context, o Options) (*Lab, error) {
	l := &Lab{options: o, credentials: map[string]map[string]string{}}
	if !nameserver.Installed() {
		return l, ErrNotInstalled
	}
	if o.Machines {
		if err := l.startMachinery(); err != nil {
			return l, err
		}
	}
	if err := together(ctx, l.startOpenStack, l.startVCenter, l.startInventory, l.startDNS, l.startStore); err != nil {
		return l, err
	}
	if err := l.startFronts(ctx); err != nil {
		return l, err
	}
	outside, err := l.outside()
	if err != nil {
		return l, err
	}
	options := garden.Options{
		Dir: filepath.Join(o.Dir, "garden"), Own: o.Own, Foreign: o.Foreign, Registry: o.Registry, Outside: outside, Log: o.Log,
		Servers: l.servers, Backups: l.backups(),
		Authorities: l.fronts.authority,
		DNS:         map[string]string{"server": l.DNS.Address, "tsigKeyName": nameserver.Writer.Name, "tsigSecret": nameserver.Writer.Secret},
	}
	if l.Machinery != nil {
		options.DialNode = (&net.Dialer{}).DialContext
	}
	if l.Garden, err = garden.New(options); err != nil || l.Machinery == nil {
		return l, err
	}
	return l, l.Machinery.connect(ctx, l)
}

// together runs functions at the same time.
func together(ctx context.Context, all ...func(context.Context) error) error {
	errs := make([]error, len(all))
	var group sync.WaitGroup
	for i, f := range all {
		group.Go(func() { errs[i] = f(ctx) })
	}
	group.Wait()
	return errors.Join(errs...)
}

// outside are the addresses of everything that pods of the seed reach outside of it.
func (l *Lab) outside() ([]string, error) {
	result := []string{l.VCenter.Address, l.DNS.Address}
	urls := []string{l.Inventory.Server(), l.Store.Endpoint, l.fronts.authURL, l.fronts.store}
	for _, service := range openstack.Services() {
		urls = append(urls, service.Upstream)
	}
	for _, raw := range urls {
		u, err := url.Parse(raw)
		if err != nil {
			return nil, err
		}
		if _, _, err := net.SplitHostPort(u.Host); err != nil {
			return nil, fmt.Errorf("address of a site: %w", err)
		}
		result = append(result, u.Host)
	}
	return result, nil
}

// servers looks at the servers of a shoot on all sites.
func (l *Lab) servers(shoot string) kubelets.ActiveServers {
	return kubelets.Together(openstack.NewWatch(shoot, l.OpenStack).Active, vcenter.NewWatch(l.VCenter, shoot).Active,
		metal.NewWatch(l.Inventory, shoot).Active)
}

// setCredentials keeps the credentials of a site.
func (l *Lab) setCredentials(site string, credentials map[string]string) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.credentials[site] = credentials
}

// locate says in a CloudProfile where a site is.
func (l *Lab) locate(site *v1alpha1.CloudProfileSite) {
	switch {
	case site.OpenStack != nil:
		site.OpenStack.AuthURL, site.OpenStack.Region = l.access.AuthURL, l.access.Region
	case site.VSphere != nil:
		site.VSphere.Server, site.TLS = "https://"+l.VCenter.Address, &v1alpha1.TLS{CACert: l.VCenter.CA}
	case site.Metal != nil:
		site.Metal.Server, site.TLS = l.Inventory.Server(), &v1alpha1.TLS{CACert: l.Inventory.CA()}
	}
	if l.Machinery != nil {
		l.Machinery.set(site)
	}
}

// Stop ends everything that was started.
func (l *Lab) Stop(ctx context.Context) error {
	if l.Garden != nil {
		l.Garden.Stop()
	}
	if l.fronts != nil {
		l.fronts.stop()
	}
	if l.Machinery != nil {
		l.Machinery.stop()
	}
	if l.DNS != nil {
		l.DNS.Process.Stop(ctx)
	}
	if l.Inventory != nil {
		l.Inventory.Stop()
	}
	if l.Store != nil {
		l.Store.Process.Stop(ctx)
	}
	if l.VCenter != nil {
		l.VCenter.Stop(ctx)
	}
	switch {
	case l.started:
		return l.bed.Stop(ctx, l.options.Progress)
	case l.key != nil:
		return l.key.Revoke(ctx)
	default:
		return nil
	}
}
