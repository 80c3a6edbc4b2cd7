// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package openstackstub_test

import (
	"context"
	"encoding/json"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/networks"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/ports"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/subnets"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	. "github.com/gardener/gardener-extension-provider-hybrid/test/openstackstub"
)

var _ = Describe("Stub", func() {
	var (
		stub             *Stub
		compute, network *gophercloud.ServiceClient
	)

	login := func(ctx context.Context, project, password string) (*gophercloud.ProviderClient, error) {
		return openstack.AuthenticatedClient(ctx, gophercloud.AuthOptions{
			IdentityEndpoint: stub.AuthURL(), Username: "u", Password: password, DomainName: "Default", TenantName: project,
		})
	}

	start := func(ctx context.Context, settings Settings) {
		GinkgoHelper()
		var err error
		stub, err = New(settings)
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(stub.Close)
		provider, err := login(ctx, "p", "secret")
		Expect(err).NotTo(HaveOccurred())
		compute, err = openstack.NewComputeV2(provider, gophercloud.EndpointOpts{Region: Region})
		Expect(err).NotTo(HaveOccurred())
		network, err = openstack.NewNetworkV2(provider, gophercloud.EndpointOpts{Region: Region})
		Expect(err).NotTo(HaveOccurred())
	}

	list := func(ctx context.Context, options servers.ListOpts) []servers.Server {
		GinkgoHelper()
		pages, err := servers.List(compute, options).AllPages(ctx)
		Expect(err).NotTo(HaveOccurred())
		found, err := servers.ExtractServers(pages)
		Expect(err).NotTo(HaveOccurred())
		return found
	}

	create := func(ctx context.Context, name string) string {
		GinkgoHelper()
		n, err := networks.Create(ctx, network, networks.CreateOpts{Name: name}).Extract()
		Expect(err).NotTo(HaveOccurred())
		s, err := subnets.Create(ctx, network, subnets.CreateOpts{NetworkID: n.ID, CIDR: "10.0.0.0/24", IPVersion: gophercloud.IPv4}).Extract()
		Expect(err).NotTo(HaveOccurred())
		p, err := ports.Create(ctx, network, ports.CreateOpts{NetworkID: n.ID, FixedIPs: []ports.IP{{SubnetID: s.ID}}}).Extract()
		Expect(err).NotTo(HaveOccurred())
		server, err := servers.Create(ctx, compute, servers.CreateOpts{
			Name: name, FlavorRef: "f", ImageRef: "i", Networks: []servers.Network{{Port: p.ID}}, Metadata: map[string]string{"of": name},
		}, nil).Extract()
		Expect(err).NotTo(HaveOccurred())
		return server.ID
	}

	It("should refuse a login without password and requests without token", func(ctx SpecContext) {
		start(ctx, Settings{})
		_, err := login(ctx, "p", "")
		Expect(err).To(HaveOccurred())
		compute.ProviderClient = &gophercloud.ProviderClient{}
		_, err = servers.Get(ctx, compute, "s").Extract()
		Expect(gophercloud.ResponseCodeIs(err, 401)).To(BeTrue())
	})

	It("should keep projects apart", func(ctx SpecContext) {
		start(ctx, Settings{Servers: []Servers{{Project: "other", Prefix: "o-", Count: 3}}})
		Expect(list(ctx, servers.ListOpts{})).To(BeEmpty())
	})

	Describe("lists of servers", func() {
		BeforeEach(func(ctx SpecContext) {
			start(ctx, Settings{Servers: []Servers{
				{Project: "p", Prefix: "shoot--a--b-", Count: 3, Metadata: map[string]string{"gardener-shoot": "shoot--a--b"}},
				{Project: "p", Prefix: "foreign-", Count: 1500},
			}})
		})

		It("should be filtered by a regular expression for the name", func(ctx SpecContext) {
			Expect(list(ctx, servers.ListOpts{Name: "^shoot--a--b-"})).To(HaveLen(3))
			Expect(list(ctx, servers.ListOpts{Name: "^b-"})).To(BeEmpty())
		})

		It("should come in pages of 1,000", func(ctx SpecContext) {
			pages, ids := 0, map[string]bool{}
			for _, server := range list(ctx, servers.ListOpts{}) {
				ids[server.ID] = true
			}
			Expect(ids).To(HaveLen(1503))
			for page, err := range pagesOf(ctx, compute) {
				Expect(err).NotTo(HaveOccurred())
				Expect(len(page)).To(BeNumerically("<=", 1000))
				pages++
			}
			Expect(pages).To(Equal(2))
		})

		It("should have about 1.5 KB for each server, and 300 in the short list", func(ctx SpecContext) {
			Expect(size(ctx, compute, "servers/detail?name=^shoot--a--b-") / 3).To(BeNumerically("~", 1500, 200))
			Expect(size(ctx, compute, "servers?name=^shoot--a--b-") / 3).To(BeNumerically("~", 290, 50))
		})

		It("should refuse what it cannot filter by", func(ctx SpecContext) {
			_, err := servers.List(compute, servers.ListOpts{Flavor: "f"}).AllPages(ctx)
			Expect(gophercloud.ResponseCodeIs(err, 400)).To(BeTrue())
		})

		It("should show what changed, and nothing in 15 bytes if nothing did", func(ctx SpecContext) {
			since := time.Now().Add(-time.Second).UTC().Format(time.RFC3339)
			Expect(size(ctx, compute, "servers/detail?changes-since="+since)).To(Equal(len(`{"servers":[]}`)))
			id := create(ctx, "new")
			Expect(servers.Delete(ctx, compute, id).ExtractErr()).To(Succeed())
			Expect(list(ctx, servers.ListOpts{ChangesSince: since})).To(ConsistOf(And(HaveField("ID", id), HaveField("Status", "DELETED"))))
			Expect(list(ctx, servers.ListOpts{Name: "^new$"})).To(BeEmpty())
		})
	})

	It("should boot servers in the time that it was told", func(ctx SpecContext) {
		start(ctx, Settings{BootDelay: 2 * time.Second})
		id := create(ctx, "s")
		server, err := servers.Get(ctx, compute, id).Extract()
		Expect(err).NotTo(HaveOccurred())
		Expect(server).To(And(HaveField("Status", "BUILD"), HaveField("Metadata", HaveKeyWithValue("of", "s"))))
		Eventually(func(g Gomega) {
			server, err := servers.Get(ctx, compute, id).Extract()
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(server.Status).To(Equal("ACTIVE"))
			addresses, err := json.Marshal(server.Addresses)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(string(addresses)).To(ContainSubstring("10.0.0.2"))
		}).WithContext(ctx).Within(10 * time.Second).Should(Succeed())
	})
})
