// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package vsphere_test

import (
	"context"
	"encoding/base64"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/rand"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/ipam"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/vsphere/infrastructure"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/vsphere/machines"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/metal"
)

// pools is a Kubernetes API with address pools, whose allocator is that of Cluster API.
type pools struct {
	landscape   *metal.Inventory
	connection  *v1alpha1.VSphereIPAMConnection
	credentials site.Credentials
}

func startPools(ctx context.Context) *pools {
	GinkgoHelper()
	landscape, err := metal.Start(ctx, metal.Options{Dir: GinkgoT().TempDir(), IPAM: true})
	DeferCleanup(func() {
		Expect(landscape.Check()).To(Succeed())
		landscape.Stop()
	})
	Expect(err).NotTo(HaveOccurred(), "hack/landscape/build.sh builds what is missing")
	Expect(landscape.Grant(ctx)).To(Succeed())
	token, err := landscape.Token(ctx)
	Expect(err).NotTo(HaveOccurred())
	credentials := siteCredentials()
	maps.Copy(credentials, token.SiteCredentials())
	return &pools{
		landscape:   landscape,
		credentials: credentials,
		connection: &v1alpha1.VSphereIPAMConnection{Server: landscape.Server(), Namespace: metal.Namespace,
			TLS: &v1alpha1.TLS{CACert: landscape.CA()}},
	}
}

// addresses makes a pool, and says that machines get their addresses from it.
func (p *pools) addresses(ctx context.Context, given string) *v1alpha1.VSphereMachineAddresses {
	GinkgoHelper()
	name := "pool-" + rand.String(5)
	Expect(p.landscape.MakePool(ctx, metal.Pool{Name: name, Addresses: []string{given}, Prefix: 16, Gateway: "10.20.0.1"})).To(Succeed())
	return &v1alpha1.VSphereMachineAddresses{
		PoolRef:    corev1.TypedLocalObjectReference{APIGroup: new(ipam.Group), Kind: "GlobalInClusterIPPool", Name: name},
		Nodes:      []string{"10.20.0.0/17"},
		DNSServers: []string{"192.0.2.53"},
		MTU:        1450,
	}
}

// claims are the machines that have one.
func (p *pools) claims(ctx context.Context) ([]string, error) {
	given, err := p.landscape.Addresses(ctx)
	return slices.Sorted(maps.Keys(given)), err
}

func metadataOf(vm *mo.VirtualMachine) string {
	GinkgoHelper()
	raw, err := base64.StdEncoding.DecodeString(option(vm, "guestinfo.metadata"))
	Expect(err).NotTo(HaveOccurred())
	return string(raw)
}

var _ = Describe("Addresses from a pool", Ordered, func() {
	var (
		p     *pools
		place *bed
		part  platform.Machines
	)

	BeforeAll(func(ctx SpecContext) { p = startPools(ctx) }, NodeTimeout(5*time.Minute))

	BeforeEach(func(ctx SpecContext) { place, part = newBed(ctx), machines.New(newSessions()) })

	request := func(ctx context.Context, name string, addresses *v1alpha1.VSphereMachineAddresses) platform.MachineRequest {
		spec := place.spec(ctx, "DC0_C0")
		spec.VSphere.Addresses, spec.VSphere.Connection.IPAM = addresses, p.connection
		return platform.MachineRequest{Name: place.shoot + "-" + name, Spec: spec, Credentials: p.credentials, UserData: []byte("#!/bin/sh\n")}
	}
	create := func(ctx context.Context, r platform.MachineRequest) {
		GinkgoHelper()
		Eventually(ctx, func() error { _, err := part.Create(ctx, r); return err }, time.Minute).Should(Succeed())
	}
	remove := func(ctx context.Context, r platform.MachineRequest) {
		GinkgoHelper()
		Eventually(ctx, func() error { return part.Delete(ctx, r) }, time.Minute).Should(Succeed())
	}

	It("should be in the metadata of a machine, stay, and go back when it is deleted", func(ctx SpecContext) {
		r := request(ctx, "m", p.addresses(ctx, "10.20.7.10"))
		create(ctx, r)
		vm := place.vm(ctx, r.Spec, r.Name)
		Expect(vm.Runtime.PowerState).To(Equal(types.VirtualMachinePowerStatePoweredOn))
		var mac string
		for _, device := range vm.Config.Hardware.Device {
			if card, ok := device.(types.BaseVirtualEthernetCard); ok {
				mac = card.GetVirtualEthernetCard().MacAddress
			}
		}
		Expect(mac).NotTo(BeEmpty())
		metadata := fmt.Sprintf(`{"instance-id": %q, "local-hostname": %q, "network": {"version": 2, "ethernets": {"eth0": {
			"match": {"macaddress": %q}, "set-name": "eth0", "dhcp4": false, "dhcp6": false, "mtu": 1450, "addresses": ["10.20.7.10/16"],
			"routes": [{"to": "0.0.0.0/0", "via": "10.20.0.1"}], "nameservers": {"addresses": ["192.0.2.53"]}}}}}`, vm.Config.Uuid, r.Name, mac)
		Expect(metadataOf(vm)).To(MatchJSON(metadata))

		part = machines.New(newSessions())
		create(ctx, r)
		Expect(metadataOf(place.vm(ctx, r.Spec, r.Name))).To(MatchJSON(metadata))
		Expect(p.claims(ctx)).To(ConsistOf(r.Name))

		remove(ctx, r)
		Expect(place.vms(ctx, r.Spec)).To(BeZero())
		Eventually(ctx, func() ([]string, error) { return p.claims(ctx) }, time.Minute).Should(BeEmpty())
		remove(ctx, r)
	}, SpecTimeout(3*time.Minute))

	It("should be exhausted, and be given again when a machine is deleted", func(ctx SpecContext) {
		addresses := p.addresses(ctx, "10.20.8.10")
		first, second := request(ctx, "first", addresses), request(ctx, "second", addresses)
		create(ctx, first)
		_, err := part.Create(ctx, second)
		Expect(platform.ClassOf(err)).To(Equal(platform.ClassExhausted), "%v", err)
		Expect(err).To(MatchError(And(ContainSubstring("vc"), ContainSubstring(addresses.PoolRef.Name),
			ContainSubstring("has no free address"))))
		Expect(place.vms(ctx, first.Spec)).To(Equal(1))
		remove(ctx, first)
		create(ctx, second)
		Expect(metadataOf(place.vm(ctx, second.Spec, second.Name))).To(ContainSubstring("10.20.8.10/16"))
		remove(ctx, second)
	}, SpecTimeout(3*time.Minute))

	It("should be refused outside the nodes, and if another machine has it", func(ctx SpecContext) {
		outside := request(ctx, "outside", p.addresses(ctx, "10.20.200.10"))
		_, err := part.Create(ctx, outside)
		Expect(platform.ClassOf(err)).To(Equal(platform.ClassConfiguration), "%v", err)
		Expect(err).To(MatchError(And(ContainSubstring(outside.Spec.VSphere.Addresses.PoolRef.Name),
			ContainSubstring("10.20.200.10 is outside the nodes of the site, 10.20.0.0/17; correct the addresses of the pool"))))
		remove(ctx, outside)

		one, other := request(ctx, "one", p.addresses(ctx, "10.20.9.10")), request(ctx, "other", p.addresses(ctx, "10.20.9.10"))
		create(ctx, one)
		_, err = part.Create(ctx, other)
		Expect(platform.ClassOf(err)).To(Equal(platform.ClassConflict), "%v", err)
		Expect(err).To(MatchError(ContainSubstring("10.20.9.10 is that of virtual machine %q", one.Name)))
		Expect(place.vms(ctx, one.Spec)).To(Equal(1))
		remove(ctx, other)
		remove(ctx, one)
		Eventually(ctx, func() ([]string, error) { return p.claims(ctx) }, time.Minute).Should(BeEmpty())
	}, SpecTimeout(3*time.Minute))

	It("should be waited for while the allocator gives none", func(ctx SpecContext) {
		r := request(ctx, "late", p.addresses(ctx, "10.20.10.10"))
		p.landscape.IPAM.Pause()
		DeferCleanup(p.landscape.IPAM.Resume)
		_, err := part.Create(ctx, r)
		Expect(platform.ClassOf(err)).To(Equal(platform.ClassTransient), "%v", err)
		Expect(err).To(MatchError(And(ContainSubstring(r.Spec.VSphere.Addresses.PoolRef.Name), ContainSubstring("has not given an address"))))
		Expect(place.vms(ctx, r.Spec)).To(BeZero())
		p.landscape.IPAM.Resume()
		create(ctx, r)
		remove(ctx, r)
	}, SpecTimeout(3*time.Minute))

	It("should be looked after with the Infrastructure", func(ctx SpecContext) {
		makeParentFolders(ctx)
		s := newSite(place.shoot)
		s.Credentials = p.credentials
		s.Profile.VSphere.IPAM = &v1alpha1.VSphereIPAMProfile{Server: p.connection.Server, Namespace: p.connection.Namespace,
			TLS: p.connection.TLS}
		addresses := p.addresses(ctx, "10.20.11.10")
		s.Config.VSphere = &v1alpha1.VSphereInfrastructure{IPAM: &v1alpha1.IPAM{PoolRef: addresses.PoolRef}}
		s.Network.Nodes = []netip.Prefix{netip.MustParsePrefix("10.20.0.0/17")}
		persist := func(_ context.Context, state *v1alpha1.SiteState) error {
			s.State = state.DeepCopy()
			return nil
		}
		sites := infrastructure.New(newSessions())
		findings, err := sites.Validate(ctx, s, platform.ValidationRequest{})
		Expect(err).NotTo(HaveOccurred())
		Expect(findings.Fine()).To(ContainElements("vsphere-ipam", "vsphere-address-pool", "vsphere-address-pool-size"))
		s.Config.VSphere.IPAM.PoolRef.Name = "nowhere"
		findings, err = sites.Validate(ctx, s, platform.ValidationRequest{})
		Expect(err).NotTo(HaveOccurred())
		Expect(findings.Err()).To(MatchError(ContainSubstring("the inventory has no GlobalInClusterIPPool of this name")))
		s.Config.VSphere.IPAM.PoolRef = addresses.PoolRef
		_, err = sites.Reconcile(ctx, s, persist)
		Expect(err).NotTo(HaveOccurred())

		// A driver that does not know the pool leaves a claim.
		r := request(ctx, "left", addresses)
		create(ctx, r)
		r.Spec.VSphere.Connection.IPAM = nil
		remove(ctx, r)
		Expect(sites.Orphans(ctx, s)).To(ContainElement(v1alpha1.Orphan{Site: "vc", Kind: "address claim",
			ID: metal.Namespace + "/" + r.Name, Name: r.Name}))

		dropped := *s.Profile.VSphere.IPAM
		s.Profile.VSphere.IPAM = nil
		_, err = sites.Reconcile(ctx, s, persist)
		Expect(platform.ClassOf(err)).To(Equal(platform.ClassConfiguration), "%v", err)
		Expect(err).To(MatchError(ContainSubstring("nothing is touched until it has them again")))
		s.Profile.VSphere.IPAM = &dropped

		Eventually(ctx, func() error { return sites.Delete(ctx, s, persist) }, time.Minute).Should(Succeed())
		Eventually(ctx, func() ([]string, error) { return p.claims(ctx) }, time.Minute).Should(BeEmpty())
	}, SpecTimeout(3*time.Minute))
})
