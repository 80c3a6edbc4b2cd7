// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"os"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/metal/client"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/metal/inventories"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/metal/machineclasses"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
	"github.com/gardener/gardener-extension-provider-hybrid/test/countproxy"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/metal"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/pki"
)

const (
	metalSiteName = "racks"
	metalShoot    = "shoot--bench--racks"
	metalNote     = "real baremetal-operator and kube-apiserver, played hardware"

	// inventoryService is the inventory in the proxy's log.
	inventoryService = "inventory"
	rackLabel        = "rack"
	rackName         = "r1"
)

// metalSite is a bare-metal site whose inventory is behind a proxy. Its operator does not use the proxy.
type metalSite struct {
	recorder

	dir       string
	inventory *metal.Inventory
	shoot     string
	site      *site.Site
	spec      *v1alpha1.MachineProviderSpec
}

// newMetalSite starts an inventory without hosts. A lab must have built what is missing.
func newMetalSite(ctx context.Context, shoot string) (*metalSite, error) {
	s := &metalSite{shoot: shoot}
	if err := s.start(ctx); err != nil {
		return nil, errors.Join(err, s.close())
	}
	return s, nil
}

func (s *metalSite) start(ctx context.Context) (err error) {
	if s.dir, err = os.MkdirTemp("", "bench-"); err != nil {
		return err
	}
	if s.inventory, err = metal.Start(ctx, metal.Options{Dir: s.dir, Metal3: true}); err != nil {
		return err
	}
	if err := s.inventory.Grant(ctx); err != nil {
		return err
	}
	token, err := s.inventory.Token(ctx)
	if err != nil {
		return err
	}
	authority, err := s.startProxy()
	if err != nil {
		return err
	}
	s.site = s.newSite(authority, token.SiteCredentials())
	return s.resolve(ctx)
}

// startProxy starts the proxy, with TLS as the inventory has, and returns the authority that its certificate is trusted with.
func (s *metalSite) startProxy() (string, error) {
	authority, err := pki.NewAuthority()
	if err != nil {
		return "", err
	}
	pair, err := authority.Server("proxy")
	if err != nil {
		return "", err
	}
	s.proxy, err = countproxy.New(countproxy.Service{
		Name: inventoryService, Upstream: s.inventory.Server(), CA: s.inventory.CA(), Certificate: pair.Certificate, Key: pair.Key,
	})
	return authority.PEM, err
}

// newSite is a site with one zone.
func (s *metalSite) newSite(authority string, credentials site.Credentials) *site.Site {
	return &site.Site{
		Name: metalSiteName, Platform: v1alpha1.PlatformMetal, Shoot: s.shoot, Credentials: credentials,
		Profile: &v1alpha1.CloudProfileSite{
			Name: metalSiteName, TLS: &v1alpha1.TLS{CACert: authority},
			Metal: &v1alpha1.MetalProfile{
				Inventory: v1alpha1.MetalInventoryMetal3, Server: s.proxy.URL(inventoryService), Namespace: metal.Namespace,
				Cleaning: v1alpha1.MetalCleaningMetadata, NodeName: v1alpha1.MetalNodeNameMachine,
			},
			Zones: []v1alpha1.SiteZone{{Name: "rack-1", Metal: &v1alpha1.MetalZone{
				HostSelector: &metav1.LabelSelector{MatchLabels: map[string]string{rackLabel: rackName}},
			}}},
		},
		Config: &v1alpha1.InfrastructureSite{Name: metalSiteName},
	}
}

// resolve makes the provider spec of the site's machines.
func (s *metalSite) resolve(ctx context.Context) error {
	sessions := client.NewSessions()
	defer sessions.Close()
	s.spec = &v1alpha1.MachineProviderSpec{Site: metalSiteName, Shoot: s.shoot}
	return machineclasses.New(sessions, inventories.Open).Resolve(ctx, platform.MachineClassRequest{
		Site:        s.site,
		Zone:        &s.site.Profile.Zones[0],
		MachineType: &v1alpha1.SiteMachineType{Name: metalSiteName, Metal: &v1alpha1.MetalMachineType{}},
		Image: &v1alpha1.SiteMachineImage{Name: metalSiteName, Metal: &v1alpha1.MetalImage{
			URL: "http://images.example/os.raw", Checksum: "0123", ChecksumType: "sha256", Format: "raw",
		}},
		Pool: poolName,
	}, s.spec)
}

// makeHosts makes hosts that are free.
func (s *metalSite) makeHosts(ctx context.Context, count int) error {
	_, err := s.inventory.MakeHosts(ctx, metal.Batch{Prefix: "host", Count: count, Labels: map[string]string{rackLabel: rackName}})
	return err
}

func (s *metalSite) close() error {
	var errs []error
	if s.proxy != nil {
		errs = append(errs, s.proxy.Close())
	}
	if s.inventory != nil {
		errs = append(errs, s.inventory.Check())
		s.inventory.Stop()
	}
	return errors.Join(append(errs, os.RemoveAll(s.dir))...)
}
