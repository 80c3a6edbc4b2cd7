// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package machines_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/kubernetes"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/kubernetes/owner"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/metal/client"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/metal/inventory"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/metal/machines"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
)

// hosts is an inventory with at most one host.
type hosts struct {
	inventory.Inventory
	options  inventory.Options
	host     *inventory.Host
	err      error
	claim    inventory.Claim
	data     inventory.Data
	released []string
	shared   bool
}

func (h *hosts) Find(_ context.Context, _, providerID string) (*inventory.Host, error) {
	if h.host != nil && providerID != "" && providerID != h.host.ProviderID {
		return nil, h.err
	}
	return h.host, h.err
}

func (h *hosts) HasProviderID(id string) bool {
	return inventory.HasForm(id, "metal3://hosts/", inventory.NameFormat+"/"+inventory.NameFormat)
}

func (h *hosts) Machines(context.Context) ([]inventory.Host, error) {
	if h.host == nil {
		return nil, h.err
	}
	return []inventory.Host{*h.host}, h.err
}

func (h *hosts) Claim(ctx context.Context, claim inventory.Claim) (*inventory.Host, error) {
	if h.err != nil {
		return nil, h.err
	}
	h.claim = claim
	var err error
	h.data, err = claim.Data(ctx, h.host)
	return h.host, err
}

func (h *hosts) Release(_ context.Context, machine, providerID, cleaning string) (bool, error) {
	h.released = append(h.released, machine+"/"+providerID+"/"+cleaning)
	return h.shared, h.err
}

var _ = Describe("Machines", func() {
	var (
		h       *hosts
		part    platform.Machines
		request platform.MachineRequest
		kind    v1alpha1.MetalInventory
	)

	BeforeEach(func() {
		kind = v1alpha1.MetalInventoryMetal3
		h = &hosts{host: &inventory.Host{Name: "h", Machine: "m", ProviderID: "metal3://hosts/h/m", MACAddress: "02:00:00:00:00:01",
			Complete: true}}
		sessions := client.NewSessions()
		DeferCleanup(sessions.Close)
		part = machines.New(sessions,
			func(_ *kubernetes.Session, requested v1alpha1.MetalInventory, options inventory.Options) (inventory.Inventory, error) {
				Expect(requested).To(Equal(kind))
				h.options = options
				return h, nil
			})
		request = platform.MachineRequest{
			Name: "m",
			Spec: &v1alpha1.MachineProviderSpec{Site: "racks", Shoot: "shoot--a--b", Metal: &v1alpha1.MetalMachineSpec{
				Connection:   v1alpha1.MetalConnection{Inventory: v1alpha1.MetalInventoryMetal3, Server: "https://racks.example", Namespace: "hosts"},
				HostSelector: nil,
				Image:        v1alpha1.MetalImage{URL: "u"},
				Cleaning:     v1alpha1.MetalCleaningMetadata,
				NodeName:     v1alpha1.MetalNodeNameMachine,
			}},
			Credentials: site.Credentials{"token": "t"},
			UserData:    []byte("#!/bin/bash\n"),
		}
	})

	Describe("Create", func() {
		It("should claim a host", func(ctx SpecContext) {
			Expect(part.Create(ctx, request)).To(Equal(platform.Machine{Name: "m", NodeName: "m", ProviderID: "metal3://hosts/h/m"}))
			Expect(h.options).To(Equal(inventory.Options{Owner: owner.Owner{Shoot: "shoot--a--b", Site: "racks"}, Watched: true}))
			Expect(h.claim.Machine).To(Equal("m"))
			Expect(h.claim.Selector.Matches(labels.Set{})).To(BeTrue())
			Expect(h.claim.Cleaning).To(Equal("metadata"))
			Expect(h.claim.Image).To(Equal(v1alpha1.MetalImage{URL: "u"}))
			Expect(h.data).To(Equal(inventory.Data{UserData: []byte("#!/bin/bash\n"), NodeName: "m"}))
		})

		It("should select by labels", func(ctx SpecContext) {
			request.Spec.Metal.HostSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"rack": "r1"}}
			Expect(part.Create(ctx, request)).Error().NotTo(HaveOccurred())
			Expect(h.claim.Selector.String()).To(Equal("rack=r1"))
		})

		It("should name nodes after hosts", func(ctx SpecContext) {
			request.Spec.Metal.NodeName = v1alpha1.MetalNodeNameHost
			Expect(part.Create(ctx, request)).To(HaveField("NodeName", "h"))
			Expect(h.data.NodeName).To(Equal("h"))
		})

		It("should keep the name that a node has", func(ctx SpecContext) {
			h.host.NodeName = "before"
			Expect(part.Create(ctx, request)).To(HaveField("NodeName", "before"))
		})

		It("should fill the network data", func(ctx SpecContext) {
			request.Spec.Metal.Network = &v1alpha1.MetalMachineNetwork{
				Template: `{"links": [{"id": "$MACHINE", "type": "phy", "ethernet_mac_address": "$MAC", "mtu": $MTU}], "networks": [{"id": "$HOST",` +
					`"link": "$MACHINE", "type": "ipv4_dhcp", "gateway": "$GATEWAY", "dns_nameservers": $DNS_SERVERS_JSON}]}`,
				Gateway: "10.0.0.1", DNSServers: []string{"1.1.1.1", "2.2.2.2"}, MTU: 1450,
			}
			Expect(part.Create(ctx, request)).Error().NotTo(HaveOccurred())
			Expect(h.data.NetworkData).To(MatchJSON(`{
				"links": [{"id": "m", "type": "phy", "ethernet_mac_address": "02:00:00:00:00:01", "mtu": 1450}],
				"networks": [{"id": "h", "link": "m", "type": "ipv4_dhcp", "gateway": "10.0.0.1", "dns_nameservers": ["1.1.1.1", "2.2.2.2"]}]
			}`))
		})

		DescribeTable("should claim no host with network data that the inventory does not accept",
			func(ctx SpecContext, inventory v1alpha1.MetalInventory, template, expected string) {
				kind = inventory
				request.Spec.Metal.Connection.Inventory = inventory
				request.Spec.Metal.Network = &v1alpha1.MetalMachineNetwork{Template: template}
				_, err := part.Create(ctx, request)
				Expect(platform.ClassOf(err)).To(Equal(platform.ClassConfiguration))
				Expect(err).To(MatchError(And(
					HavePrefix(`site "racks": networkDataTemplate for machine "m" on host "h" with inventory "`+string(inventory)+`": `),
					ContainSubstring(expected))))
				Expect(h.data).To(BeZero())
			},
			Entry("of Metal3", v1alpha1.MetalInventoryMetal3, "[Match]\nMACAddress=$MAC\n[Network]\nDHCP=yes\n", "network_data.json"),
			Entry("of IronCore", v1alpha1.MetalInventoryIronCore, `{"links": [], "networks": []}`, "must be a section"),
		)

		It("should say which value the network data lacks", func(ctx SpecContext) {
			h.host.MACAddress = ""
			request.Spec.Metal.Network = &v1alpha1.MetalMachineNetwork{Template: "$MAC"}
			_, err := part.Create(ctx, request)
			Expect(platform.ClassOf(err)).To(Equal(platform.ClassConfiguration))
			Expect(err).To(MatchError(And(HavePrefix(`site "racks": networkDataTemplate`), ContainSubstring("MAC"))))
		})

		It("should say that there is no host", func(ctx SpecContext) {
			h.err = platform.NewError(platform.ClassExhausted, "6 of 40 hosts match, 0 are free")
			_, err := part.Create(ctx, request)
			Expect(platform.ClassOf(err)).To(Equal(platform.ClassExhausted))
			Expect(err).To(MatchError(`site "racks": 6 of 40 hosts match, 0 are free`))
		})

		It("should refuse the spec of another platform", func(ctx SpecContext) {
			request.Spec.Metal = nil
			_, err := part.Create(ctx, request)
			Expect(platform.ClassOf(err)).To(Equal(platform.ClassConfiguration))
		})
	})

	DescribeTable("Get",
		func(ctx SpecContext, providerID string, change func(), class platform.Class) {
			change()
			request.ProviderID = providerID
			machine, err := part.Get(ctx, request)
			if class == "" {
				Expect(err).NotTo(HaveOccurred())
				Expect(machine).To(Equal(platform.Machine{Name: "m", NodeName: "m", ProviderID: "metal3://hosts/h/m"}))
				return
			}
			Expect(platform.ClassOf(err)).To(Equal(class))
		},
		Entry("a machine that starts", "metal3://hosts/h/m", func() {}, platform.Class("")),
		Entry("a machine that runs and whose ID is not known", "", func() { h.host.Running = true }, platform.Class("")),
		Entry("a machine that may have been interrupted", "", func() {}, platform.ClassNotFound),
		Entry("a machine that lost its host", "metal3://hosts/h/m", func() { h.host = nil }, platform.ClassNotFound),
		Entry("a machine that has another host", "metal3://hosts/other/m", func() {}, platform.ClassNotFound),
		Entry("a host with a fault", "metal3://hosts/h/m", func() { h.host.Fault = "broken" }, platform.Class("")),
		Entry("an inventory that does not answer", "metal3://hosts/h/m", func() { h.err = platform.NewError(platform.ClassTransient, "down") },
			platform.ClassTransient),
	)

	It("should release the host", func(ctx SpecContext) {
		By("having no API of address claims")
		status := http.StatusOK
		api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(status)
			_, _ = io.WriteString(w, `{"kind": "APIGroupList", "apiVersion": "v1", "groups": []}`)
		}))
		DeferCleanup(api.Close)
		request.Spec.Metal.Connection.Server = api.URL
		Expect(part.Delete(ctx, request)).To(Succeed())
		Expect(h.released).To(ConsistOf("m//metadata"))

		By("having no API of address claims although it has an address")
		request.Spec.Metal.Network = &v1alpha1.MetalMachineNetwork{PoolRef: &corev1.TypedLocalObjectReference{
			APIGroup: new("ipam.cluster.x-k8s.io"), Kind: "InClusterIPPool", Name: "p"}}
		Expect(platform.ClassOf(part.Delete(ctx, request))).To(Equal(platform.ClassConfiguration))
		request.Spec.Metal.Network = &v1alpha1.MetalMachineNetwork{Gateway: "10.0.0.1"}
		Expect(part.Delete(ctx, request)).To(Succeed())

		By("having no answer about address claims")
		status = http.StatusServiceUnavailable
		Expect(platform.ClassOf(part.Delete(ctx, request))).To(Equal(platform.ClassTransient))

		By("having another host with the same address")
		h.shared, request.ProviderID = true, "metal3://hosts/h/m"
		Expect(part.Delete(ctx, request)).To(Succeed())
		Expect(h.released).To(ContainElement("m/metal3://hosts/h/m/metadata"))

		By("having a host that is not clean yet, whose address stays")
		h.shared, status = false, http.StatusOK
		h.err = platform.NewError(platform.ClassTransient, "host h is deprovisioning")
		Expect(part.Delete(ctx, request)).To(MatchError(`site "racks": host h is deprovisioning`))
	})

	DescribeTable("should refuse IDs of another inventory, where nothing would be found and nothing be deleted",
		func(ctx SpecContext, providerID string) {
			request.ProviderID = providerID
			_, err := part.Get(ctx, request)
			Expect(platform.ClassOf(err)).To(Equal(platform.ClassConfiguration))
			Expect(part.Delete(ctx, request)).To(MatchError(ContainSubstring("nothing is touched until")))
			Expect(h.released).To(BeEmpty())
		},
		Entry("another namespace", "metal3://other/h/m"),
		Entry("another kind", "ironcore-metal://hosts/m"),
		Entry("another platform", "openstack:///region/id"),
		Entry("a name that goes on", "metal3://hosts/h/m/x"),
	)

	It("should list machines", func(ctx SpecContext) {
		Expect(part.List(ctx, request)).To(ConsistOf(platform.Machine{Name: "m", ProviderID: "metal3://hosts/h/m"}))
		h.host = nil
		Expect(part.List(ctx, request)).To(BeEmpty())
	})

	It("should have no word on new machines, and no volumes", func(ctx SpecContext) {
		Expect(part.Initialize(ctx, request)).To(Succeed())
		_, ok := part.VolumeID(&corev1.PersistentVolumeSpec{})
		Expect(ok).To(BeFalse())
	})
})
