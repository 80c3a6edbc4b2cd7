// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package infrastructure

import (
	"context"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/ipam"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/kubernetes"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/kubernetes/owner"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/metal/client"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/metal/inventory"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
)

// metrics are the values of platform.Hosts and platform.FreeHosts by their names and labels.
func metrics() map[string]float64 {
	GinkgoHelper()
	registry := prometheus.NewRegistry()
	Expect(registry.Register(platform.Hosts)).To(Succeed())
	Expect(registry.Register(platform.FreeHosts)).To(Succeed())
	families, err := registry.Gather()
	Expect(err).NotTo(HaveOccurred())
	values := map[string]float64{}
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			labels := []string{family.GetName()}
			for _, label := range metric.GetLabel() {
				labels = append(labels, label.GetName()+"="+label.GetValue())
			}
			values[strings.Join(labels, " ")] = metric.GetGauge().GetValue()
		}
	}
	return values
}

var _ = Describe("Infrastructure", func() {
	var f *fixture

	BeforeEach(func() {
		f = newFixture()
		DeferCleanup(func() { platform.ForgetHosts(nil) })
	})

	It("should record how the site is reached when it has answered, and which inventory it is", func(ctx SpecContext) {
		f.inventory.err = errAway
		_, err := f.flow().reconcile(ctx)
		Expect(err).To(MatchError(errAway))
		Expect(f.persisted).To(BeEmpty())

		f.inventory.err = nil
		status, err := f.flow().reconcile(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(status.Metal.NamespaceUID).To(Equal("uid-1"))
		Expect(f.persisted).To(HaveExactElements(&v1alpha1.SiteState{Name: "racks", Metal: &v1alpha1.MetalState{
			Connection: client.ConnectionOf(f.site.Profile), Cleaning: "metadata", NamespaceUID: "uid-1",
		}}))
	})

	DescribeTable("should touch nothing in another inventory than that of the shoot's machines",
		func(ctx SpecContext, change func(*v1alpha1.MetalState), message string) {
			connection := client.ConnectionOf(f.site.Profile)
			state := &v1alpha1.MetalState{Connection: connection, Cleaning: "metadata", NamespaceUID: "uid-1"}
			change(state)
			f.site.State = &v1alpha1.SiteState{Name: "racks", Metal: state}
			flow := f.flow()
			status, err := flow.reconcile(ctx)
			if message != "" {
				Expect(platform.ClassOf(err)).To(Equal(platform.ClassConfiguration))
				Expect(err).To(MatchError(And(ContainSubstring(message), ContainSubstring("nothing is touched until"))))
				Expect(f.persisted).To(BeEmpty())
				return
			}
			Expect(err).NotTo(HaveOccurred())
			Expect(flow.State()).To(And(HaveField("NamespaceUID", status.Metal.NamespaceUID), HaveField("Connection", connection)))
		},
		Entry("the same one", func(*v1alpha1.MetalState) {}, ""),
		Entry("one that nobody recorded", func(s *v1alpha1.MetalState) { s.NamespaceUID = "" }, ""),
		Entry("another UID", func(s *v1alpha1.MetalState) { s.NamespaceUID = "uid-2" },
			"has the UID uid-1, but that of the shoot's machines is uid-2"),
		Entry("another UID that takes its place", func(s *v1alpha1.MetalState) {
			s.NamespaceUID = "uid-2"
			f.objects[0].SetAnnotations(map[string]string{kubernetes.AnnotationIdentity: "uid-2"})
		}, ""),
		Entry("one that may not be read any more", func(*v1alpha1.MetalState) { f.get["Namespace"] = errForbidden },
			"no longer permitted to get it"),
		Entry("one that never could be read", func(s *v1alpha1.MetalState) {
			s.NamespaceUID = ""
			f.get["Namespace"] = errForbidden
		}, ""),
		Entry("another namespace", func(s *v1alpha1.MetalState) {
			s.Connection.Namespace = "former"
			f.former.hosts = []inventory.Host{{Machine: "a"}}
		}, `the shoot has machines in inventory Metal3 in namespace "former"`),
		Entry("another kind", func(s *v1alpha1.MetalState) {
			s.Connection.Inventory = v1alpha1.MetalInventoryIronCore
			f.former.claims = []string{"a"}
		}, "IronCore"),
		Entry("another namespace, with nothing in the former one",
			func(s *v1alpha1.MetalState) { s.Connection.Namespace, s.NamespaceUID = "former", "uid-2" }, ""),
	)

	It("should count the hosts of all zones and machine types with one list", func(ctx SpecContext) {
		f.add(2, inventory.Free, "r1", "s")
		f.add(1, inventory.Claimed, "r1", "s")
		f.add(1, inventory.Taken, "r1", "xl")
		f.add(3, inventory.Unready, "r2", "xl")
		f.add(4, inventory.Free, "r3", "s")
		status, err := f.flow().reconcile(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(status).To(Equal(&v1alpha1.SiteStatus{Name: "racks", Metal: &v1alpha1.MetalStatus{Hosts: []v1alpha1.MetalHosts{
			{Zone: "rack-1", MachineType: "large", Total: 1, Free: 0},
			{Zone: "rack-1", MachineType: "small", Total: 3, Free: 2},
			{Zone: "rack-2", MachineType: "large", Total: 3, Free: 0},
			{Zone: "rack-2", MachineType: "small", Total: 0, Free: 0},
		}, NamespaceUID: "uid-1"}}))
		Expect(f.inventory.lists).To(Equal(1))
		Expect(metrics()).To(And(HaveLen(8),
			HaveKeyWithValue("hybrid_site_hosts machine_type=small shoot_namespace=shoot--local--a site=racks zone=rack-1", 3.0),
			HaveKeyWithValue("hybrid_site_hosts_free machine_type=small shoot_namespace=shoot--local--a site=racks zone=rack-1", 2.0)))
	})

	It("should have metrics of what there is now only", func(ctx SpecContext) {
		_, err := f.flow().reconcile(ctx)
		Expect(err).NotTo(HaveOccurred())
		platform.Hosts.WithLabelValues("shoot--local--b", "racks", "rack-1", "small").Set(1)
		f.site.Profile.Zones = f.site.Profile.Zones[:1]
		_, err = f.flow().reconcile(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(metrics()).To(HaveLen(4 + 1))

		Expect(New(nil, nil).Delete(ctx, &site.Site{Name: "racks", Shoot: "shoot--local--a"}, f.persist)).To(Succeed())
		Expect(metrics()).To(HaveLen(1))
	})

	It("should count no hosts of a machine type that contradicts the zone", func(ctx SpecContext) {
		f.add(2, inventory.Free, "r1", "s")
		f.site.MachineTypes["small"].Metal.HostSelector.MatchLabels["rack"] = "r1"
		status, err := f.flow().reconcile(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(status.Metal.Hosts).To(ContainElements(
			v1alpha1.MetalHosts{Zone: "rack-1", MachineType: "small", Total: 2, Free: 2}, v1alpha1.MetalHosts{Zone: "rack-2", MachineType: "small"}))
	})

	It("should ask nothing if the site has no machine types", func(ctx SpecContext) {
		f.site.MachineTypes = nil
		status, err := f.flow().reconcile(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(status.Metal.Hosts).To(BeEmpty())
		Expect(f.inventory.lists).To(BeZero())
	})

	claim := func(machine, shoot string) *unstructured.Unstructured {
		object := &unstructured.Unstructured{}
		object.SetGroupVersionKind(claimVersion.WithKind("IPAddressClaim"))
		object.SetNamespace("hosts")
		object.SetName(machine)
		object.SetLabels(map[string]string{
			v1alpha1.GroupName + "/shoot": shoot, v1alpha1.LabelSite: "racks", v1alpha1.GroupName + "/machine": machine,
		})
		return object
	}
	machine := func(name string) host {
		return host{Host: inventory.Host{
			Name: "host-of-" + name, State: inventory.Claimed, Machine: name, ProviderID: "metal3://hosts/host/" + name,
		}}
	}

	Describe("deletion", func() {
		claims := func(ctx context.Context, flow *flow) []string {
			GinkgoHelper()
			names, err := flow.addresses.Machines(ctx)
			Expect(err).NotTo(HaveOccurred())
			return names
		}

		BeforeEach(func() {
			f.inventory.hosts = []host{machine("a"), machine("b")}
			f.objects = append(f.objects, claim("b", "shoot--local--a"), claim("c", "shoot--local--a"), claim("d", "shoot--local--b"))
		})

		It("should release what machines left, and then their addresses", func(ctx SpecContext) {
			flow := f.flow()
			Expect(flow.delete(ctx)).To(Succeed())
			Expect(f.inventory.released).To(Equal(map[string]string{"a": "metadata", "b": "metadata", "c": "metadata"}))
			Expect(claims(ctx, flow)).To(BeEmpty())
			foreign := ipam.New(flow.api, "hosts", owner.Owner{Shoot: "shoot--local--b", Site: "racks"})
			Expect(foreign.Machines(ctx)).To(ConsistOf("d"))
		})

		It("should name what is not clean yet, and keep its address", func(ctx SpecContext) {
			f.inventory.release["b"] = platform.NewProgress("host host-of-b is deprovisioning")
			flow := f.flow()
			err := flow.delete(ctx)
			Expect(err).To(MatchError(`machine "b": host host-of-b is deprovisioning`))
			Expect(platform.IsProgress(err)).To(BeTrue())
			Expect(f.inventory.released).To(HaveLen(3))
			Expect(claims(ctx, flow)).To(ConsistOf("b"))
		})

		DescribeTable("should do without claims that it cannot list", func(ctx SpecContext, err error) {
			f.list = err
			Expect(f.flow().delete(ctx)).To(Succeed())
			Expect(f.inventory.released).To(HaveLen(2))
		},
			Entry("because they are not served", &meta.NoKindMatchError{GroupKind: claimVersion.WithKind("IPAddressClaim").GroupKind()}),
			Entry("because the credentials have nothing to do with them", apierrors.NewForbidden(schema.GroupResource{}, "", nil)),
		)

		DescribeTable("should fail if it cannot list claims that there may be", func(ctx SpecContext, change func()) {
			f.site.State = &v1alpha1.SiteState{Name: "racks", Metal: &v1alpha1.MetalState{Connection: client.ConnectionOf(f.site.Profile)}}
			change()
			f.list = apierrors.NewForbidden(schema.GroupResource{Resource: "ipaddressclaims"}, "", nil)
			err := f.flow().delete(ctx)
			Expect(err).To(MatchError(And(ContainSubstring("address claims that the shoot may have"), ContainSubstring("ipaddressclaims"))))
			Expect(platform.ClassOf(err)).To(Equal(platform.ClassForbidden))
			Expect(f.inventory.released).To(BeEmpty())
		},
			Entry("because the state says so", func() { f.site.State.Metal.AddressClaims = true }),
			Entry("because hosts get their addresses from a pool", func() {
				f.site.Config = &v1alpha1.InfrastructureSite{Metal: &v1alpha1.MetalInfrastructure{IPAM: &v1alpha1.IPAM{}}}
			}),
		)

		It("should remember that there may be claims after the pool was removed", func(ctx SpecContext) {
			f.site.Config = &v1alpha1.InfrastructureSite{Metal: &v1alpha1.MetalInfrastructure{IPAM: &v1alpha1.IPAM{}}}
			_, err := f.flow().reconcile(ctx)
			Expect(err).NotTo(HaveOccurred())
			f.site.State, f.site.Config = f.persisted[len(f.persisted)-1], nil
			flow := f.flow()
			_, err = flow.reconcile(ctx)
			Expect(err).NotTo(HaveOccurred())
			Expect(flow.State().AddressClaims).To(BeTrue())
		})

		It("should fail if claims cannot be listed now", func(ctx SpecContext) {
			f.list = apierrors.NewTimeoutError("slow", 1)
			Expect(f.flow().delete(ctx)).To(MatchError(ContainSubstring("slow")))
			Expect(f.inventory.released).To(BeEmpty())
		})

		It("should have no access if the first question fails", func(ctx SpecContext) {
			f.inventory.err = platform.NewError(platform.ClassUnauthenticated, "refused")
			err := f.flow().delete(ctx)
			Expect(err).To(MatchError(platform.ErrNoAccess))
			Expect(platform.ClassOf(err)).To(Equal(platform.ClassUnauthenticated))
			Expect(f.inventory.released).To(BeEmpty())
		})

		It("should list orphans", func(ctx SpecContext) {
			Expect(f.flow().orphans(ctx)).To(ConsistOf(
				v1alpha1.Orphan{Site: "racks", Kind: "host", ID: "metal3://hosts/host/a", Name: "host-of-a"},
				v1alpha1.Orphan{Site: "racks", Kind: "host", ID: "metal3://hosts/host/b", Name: "host-of-b"},
				v1alpha1.Orphan{Site: "racks", Kind: "address claim", ID: "hosts/b", Name: "b"},
				v1alpha1.Orphan{Site: "racks", Kind: "address claim", ID: "hosts/c", Name: "c"},
			))
		})
	})

	Describe("connection", func() {
		var (
			reached []v1alpha1.MetalConnection
			i       *infrastructure
			state   = &v1alpha1.SiteState{Name: "racks", Metal: &v1alpha1.MetalState{
				Connection: v1alpha1.MetalConnection{Inventory: v1alpha1.MetalInventoryIronCore, Server: "https://old",
					Namespace: "old"}, Cleaning: "disabled",
			}}
		)

		BeforeEach(func() {
			reached = nil
			f.inventory.hosts = []host{machine("a")}
			f.site.Credentials = site.Credentials{"token": "t"}
			i = New(client.NewSessions(),
				func(session *kubernetes.Session, kind v1alpha1.MetalInventory, _ inventory.Options) (inventory.Inventory, error) {
					reached = append(reached, v1alpha1.MetalConnection{Inventory: kind, Namespace: session.Namespace})
					return f.inventory, nil
				}).(*infrastructure)
		})

		It("should be that of the state for a site that left the CloudProfile", func(ctx SpecContext) {
			f.site.Profile, f.site.Config, f.site.State = nil, nil, state
			flow, err := i.forExisting(ctx, f.site, f.persist)
			Expect(err).NotTo(HaveOccurred())
			Expect(flow.cleaning).To(Equal("disabled"))
			Expect(reached).To(HaveExactElements(v1alpha1.MetalConnection{Inventory: v1alpha1.MetalInventoryIronCore, Namespace: "old"}))
		})

		It("should be that of the CloudProfile otherwise, with the place where machines were made", func(ctx SpecContext) {
			flow, err := i.forExisting(ctx, f.site, f.persist)
			Expect(err).NotTo(HaveOccurred())
			Expect(flow.cleaning).To(Equal("metadata"))
			f.site.State = state
			Expect(i.forExisting(ctx, f.site, f.persist)).Error().NotTo(HaveOccurred())
			Expect(reached).To(HaveExactElements(
				v1alpha1.MetalConnection{Inventory: v1alpha1.MetalInventoryMetal3, Namespace: "hosts"},
				v1alpha1.MetalConnection{Inventory: v1alpha1.MetalInventoryIronCore, Namespace: "old"}))
		})

		It("should not be needed if nothing was ever made", func(ctx SpecContext) {
			f.site.Profile = nil
			Expect(i.Delete(ctx, f.site, f.persist)).To(Succeed())
			Expect(i.Orphans(ctx, f.site)).To(BeEmpty())
			Expect(reached).To(BeEmpty())
		})

		It("should fail without credentials, and say that the site was not looked at", func(ctx SpecContext) {
			f.site.Credentials = nil
			err := i.Delete(ctx, f.site, f.persist)
			Expect(err).To(And(MatchError(platform.ErrNoAccess), MatchError(ContainSubstring(`site "racks": `))))
			Expect(platform.ClassOf(err)).To(Equal(platform.ClassConfiguration))
		})

		It("should be missed by a reconciliation", func(ctx SpecContext) {
			f.site.Profile = nil
			_, err := i.Reconcile(ctx, f.site, f.persist)
			Expect(err).To(MatchError(ContainSubstring(`site "racks": the CloudProfile no longer has a bare-metal site`)))
			_, err = i.Validate(ctx, f.site, platform.ValidationRequest{})
			Expect(platform.ClassOf(err)).To(Equal(platform.ClassConfiguration))
		})
	})
})
