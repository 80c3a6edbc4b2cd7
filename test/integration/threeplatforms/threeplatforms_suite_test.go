// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package threeplatforms_test runs one shoot on OpenStack, vSphere and bare metal, and disturbs the vCenter and the inventory of
// the hosts.
package threeplatforms_test

import (
	"context"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/rand"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/test/countproxy"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/metal"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/pki"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/shoot"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/vcenter"
	"github.com/gardener/gardener-extension-provider-hybrid/test/specs"
	"github.com/gardener/gardener-extension-provider-hybrid/test/suite"
)

func TestThreePlatforms(t *testing.T) {
	suite.Run(t, "Three Platforms Suite")
}

// The zones of the pool on all sites.
const cloud, vc, rack, hall = "cloud-a", "vc-1", "rack-1", "hall-1"

// Further zones, in which the pool has no machines at first.
const anotherCloud, anotherVC = "cloud-b", "vc-2"

// siteOf are the sites of the zones.
var siteOf = map[string]string{cloud: "cloud", vc: "vc", rack: "racks", hall: "hall"}

const (
	// inventoryService is the inventory in the proxy's log.
	inventoryService = "inventory"
	// creationTimeout is that of machine-controller-manager for sites that have none of their own. All sites have one.
	creationTimeout = 45 * time.Second
	// smallHosts are the hosts of each site of bare metal for the pool mixed, largeHosts are those of racks for the pool burst.
	smallHosts, largeHosts = 3, 3
)

var (
	server    *vcenter.VCenter
	inventory *metal.Inventory
	// proxy stands between the shoot's processes and the inventory. Operators and tests do not use it.
	proxy *countproxy.Proxy
	local *shoot.Shoot
)

var _ = BeforeSuite(func(ctx SpecContext) {
	bed := specs.OpenStack(ctx)
	server = specs.VCenter(ctx, vcenter.Options{Guest: time.Second})
	startInventory(ctx)
	authority := startProxy()

	local = specs.Shoot(ctx, shoot.Options{
		Name: "shoot--three--" + rand.String(5), Bed: bed, VCenter: server, Inventory: inventory,
		DriverArgs: []string{"--resource-exhausted-retry=5s", "--machine-creation-timeout=" + creationTimeout.String()},
	}, func(site *v1alpha1.CloudProfileSite) {
		if site.VSphere != nil {
			site.Timeouts = &v1alpha1.MachineTimeouts{Creation: &metav1.Duration{Duration: 20 * time.Minute}}
		}
		if site.Metal != nil {
			site.Metal.Server, site.TLS = proxy.URL(inventoryService), &v1alpha1.TLS{CACert: authority}
		}
	})
}, NodeTimeout(25*time.Minute))

// startInventory starts the inventory and makes its hosts.
func startInventory(ctx context.Context) {
	GinkgoHelper()
	inventory = specs.Inventory(ctx, metal.Options{Metal3: true, IronCore: true, IPAM: true})
	Expect(inventory.MakePool(ctx,
		metal.Pool{Name: "racks", Addresses: []string{"10.250.8.10-10.250.11.250"}, Prefix: 22, Gateway: "10.250.8.1"})).To(Succeed())
	for _, batch := range []metal.Batch{
		{Prefix: "rack-1-s", Count: smallHosts, Labels: map[string]string{"rack": "r1", "size": "s"}},
		{Prefix: "rack-1-l", Count: largeHosts, Labels: map[string]string{"rack": "r1", "size": "l"}},
	} {
		_, err := inventory.MakeHosts(ctx, batch)
		Expect(err).NotTo(HaveOccurred())
	}
	_, err := inventory.MakeServers(ctx,
		metal.Batch{Prefix: "hall-1-s", Count: smallHosts, Labels: map[string]string{"hall": "h1", "size": "s"}})
	Expect(err).NotTo(HaveOccurred())
}

// startProxy starts the proxy and returns the authority that its certificate is trusted with.
func startProxy() string {
	GinkgoHelper()
	authority, err := pki.NewAuthority()
	Expect(err).NotTo(HaveOccurred())
	pair, err := authority.Server("proxy")
	Expect(err).NotTo(HaveOccurred())
	proxy, err = countproxy.New(countproxy.Service{
		Name: inventoryService, Upstream: inventory.Server(), CA: inventory.CA(), Certificate: pair.Certificate, Key: pair.Key,
	})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(proxy.Close)
	return authority.PEM
}

var _ = specs.ShowTails(func() []*landscape.Process { return local.Processes() })
