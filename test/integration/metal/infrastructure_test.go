// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package metal_test

import (
	"context"
	"net/netip"
	"slices"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/ipam"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/kubernetes/owner"
	metalclient "github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/metal/client"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/metal/infrastructure"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/metal/inventories"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/metal/inventory"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/metal/machines"
	metalrehearsal "github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/metal/rehearsal"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/rehearsal"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/metal"
)

// lists are the requests that tell which inventory it is, all hosts and whose they are.
var lists = map[v1alpha1.MetalInventory][]string{
	v1alpha1.MetalInventoryMetal3:   {"get namespaces", "list baremetalhosts"},
	v1alpha1.MetalInventoryIronCore: {"get namespaces", "list servers", "list serverclaims"},
}

var _ = Describe("Infrastructure", func() {
	for _, kind := range kinds {
		Context(string(kind), Ordered, ContinueOnFailure, func() { describeInfrastructure(kind) })
	}
})

func describeInfrastructure(kind v1alpha1.MetalInventory) {
	var (
		r     *room
		s     *site.Site
		platf platform.Infrastructure
	)

	BeforeAll(func(ctx SpecContext) { r = newRoom(ctx, kind, 3) })

	BeforeEach(func(ctx SpecContext) {
		s = r.site(ctx)
		platf = infrastructure.New(newSessions(), inventories.Open)
	})

	persist := func(_ context.Context, state *v1alpha1.SiteState) error {
		s.State = state.DeepCopy()
		return nil
	}
	demand := func(machineType string, minimum, maximum int32) platform.Demand {
		return platform.Demand{
			Pool: "batch", Path: field.NewPath("workers").Index(0), MachineTypeName: machineType, MachineType: s.MachineTypes[machineType],
			Minimum: minimum, Maximum: maximum, Zones: []platform.ZoneDemand{{Name: "rack-1", Minimum: minimum, Maximum: maximum}},
		}
	}
	validate := func(ctx context.Context, demands ...platform.Demand) (platform.Findings, error) {
		return platf.Validate(ctx, s, platform.ValidationRequest{Path: field.NewPath("sites").Index(0), Demands: demands})
	}
	findings := func(ctx context.Context, demands ...platform.Demand) platform.Findings {
		GinkgoHelper()
		found, err := validate(ctx, demands...)
		Expect(err).NotTo(HaveOccurred())
		return found
	}
	withPool := func(kind, name string) {
		s.Config.Metal = &v1alpha1.MetalInfrastructure{
			IPAM:                &v1alpha1.IPAM{PoolRef: corev1.TypedLocalObjectReference{APIGroup: new(ipam.Group), Kind: kind, Name: name}},
			NetworkDataTemplate: "Address=$ADDRESS/$PREFIX",
		}
	}
	// inventoryOf is what the driver of the shoot has.
	inventoryOf := func(ctx context.Context) inventory.Inventory {
		GinkgoHelper()
		session, err := newSessions().Get(ctx, s.Name, metalclient.ConnectionOf(s.Profile), s.Credentials)
		Expect(err).NotTo(HaveOccurred())
		opened, err := inventories.Open(session, kind, inventory.Options{Owner: owner.Owner{Shoot: s.Shoot, Site: s.Name}})
		Expect(err).NotTo(HaveOccurred())
		return opened
	}
	// claim makes a machine, and leaves it behind.
	claim := func(ctx context.Context, machine string) {
		GinkgoHelper()
		request := claimOf(machine, r.rack)
		request.Cleaning = v1alpha1.MetalCleaningMetadata
		if kind == v1alpha1.MetalInventoryMetal3 {
			request.Image = v1alpha1.MetalImage{URL: "http://images/os.raw", Checksum: "d41d8cd98f00b204e9800998ecf8427e", ChecksumType: "md5",
				Format: "raw"}
		}
		known := inventoryOf(ctx)
		Eventually(ctx, func() error {
			_, err := known.Claim(ctx, request)
			return err
		}, soon).Should(Succeed())
	}

	It("should find nothing wrong, and count hosts", func(ctx SpecContext) {
		Expect(findings(ctx, demand("small", 2, 3))).To(HaveField("Found", BeEmpty()))
		status, err := platf.Reconcile(ctx, s, persist)
		Expect(err).NotTo(HaveOccurred())
		Expect(status.Metal.Hosts).To(ConsistOf(
			v1alpha1.MetalHosts{Zone: "rack-1", MachineType: "small", Total: 3, Free: 3}, v1alpha1.MetalHosts{Zone: "rack-1", MachineType: "large"}))
		namespace := &corev1.Namespace{}
		Expect(landscape.Client.Get(ctx, client.ObjectKey{Name: metal.Namespace}, namespace)).To(Succeed())
		Expect(status.Metal.NamespaceUID).To(BeEquivalentTo(namespace.UID))
		Expect(s.State.Metal).To(Equal(&v1alpha1.MetalState{
			Connection: metalclient.ConnectionOf(s.Profile), Cleaning: v1alpha1.MetalCleaningMetadata, NamespaceUID: string(namespace.UID),
		}))
	})

	It("should find hosts that are smaller than their machine type", func(ctx SpecContext) {
		large := demand("small", 2, 3)
		large.Capacity = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("4096")}
		Expect(findings(ctx, large).Found).To(HaveExactElements(And(
			HaveField("Check.ID", "metal-hardware"), HaveField("State", platform.Warning), HaveField("Field", "workers[0].machine.type"))))
	})

	It("should list the hosts once, and ask for nothing else", func(ctx SpecContext) {
		s.Name = r.rack
		_, err := platf.Reconcile(ctx, s, persist)
		Expect(err).NotTo(HaveOccurred())
		Expect(requestsTo(s.Name)).To(ConsistOf(lists[kind]))
	})

	It("should find nothing wrong with a client certificate", func(ctx SpecContext) {
		certificate, err := landscape.Certificate()
		Expect(err).NotTo(HaveOccurred())
		s.Credentials = certificate.SiteCredentials()
		Expect(findings(ctx, demand("small", 2, 3))).To(HaveField("Found", BeEmpty()))
	})

	It("should compare hosts with what pools ask for", func(ctx SpecContext) {
		Expect(findings(ctx, demand("large", 0, 1)).Err()).To(MatchError(ContainSubstring(
			`there is no host for machine type "large" in zone "rack-1" (rack=` + r.rack + `,size=xl)`)))
		short := findings(ctx, demand("small", 4, 4))
		Expect(short.Err()).To(MatchError(ContainSubstring("at least 4 hosts are needed")))
		Expect(findings(ctx, demand("small", 3, 4)).Warnings()).To(HaveExactElements(ContainSubstring("there are 3, of which 3 are free")))
	})

	It("should name each missing permission", func(ctx SpecContext) {
		DeferCleanup(func(ctx SpecContext) { Expect(landscape.Grant(ctx)).To(Succeed()) })
		name := r.rack + "-permissions"
		Expect(landscape.MakePool(ctx,
			metal.Pool{Name: name, Addresses: []string{"10.250.130.1-10.250.130.9"}, Prefix: 16, Gateway: "10.250.0.1"})).To(Succeed())
		withPool("GlobalInClusterIPPool", name)
		needed := slices.DeleteFunc(slices.Concat(inventoryOf(ctx).Permissions(), ipam.Permissions(metal.Namespace)),
			func(p authorizationv1.ResourceAttributes) bool {
				return p.Namespace == ""
			})
		Expect(len(needed)).To(BeNumerically(">=", 12))
		granted := &rbacv1.RoleList{}
		Expect(landscape.Client.List(ctx, granted, client.InNamespace(metal.Namespace))).To(Succeed())
		for _, permission := range needed {
			for i := range granted.Items {
				role := granted.Items[i].DeepCopy()
				role.ResourceVersion = ""
				for n, rule := range role.Rules {
					if slices.Contains(rule.Resources, permission.Resource) {
						role.Rules[n].Verbs = slices.DeleteFunc(rule.Verbs, func(v string) bool { return v == permission.Verb })
					}
				}
				role.Rules = slices.DeleteFunc(role.Rules, func(r rbacv1.PolicyRule) bool { return len(r.Verbs) == 0 })
				Expect(landscape.Client.Update(ctx, role)).To(Succeed())
			}
			Eventually(ctx, func() error { return findings(ctx).Err() }, soon, "50ms").Should(
				MatchError(HaveSuffix("Forbidden: the credentials may not "+permission.Verb+" "+permission.Resource+" in namespace hosts")),
				"%s %s", permission.Verb, permission.Resource)
		}
	})

	It("should name the namespace that the credentials have nothing to do with", func(ctx SpecContext) {
		s.Profile.Metal.Namespace = "nowhere"
		Expect(findings(ctx).Err()).To(MatchError("cloudProfileConfig.sites[racks].metal.namespace: " +
			`Invalid value: "nowhere": the credentials have no permissions in a namespace of this name`))
	})

	It("should name what the API does not serve", func(ctx SpecContext) {
		empty, err := metal.Start(ctx, metal.Options{Dir: GinkgoT().TempDir()})
		DeferCleanup(empty.Stop)
		Expect(err).NotTo(HaveOccurred())
		certificate, err := empty.Certificate()
		Expect(err).NotTo(HaveOccurred())
		s.Credentials = certificate.SiteCredentials()
		s.Profile.Metal.Server, s.Profile.TLS.CACert = empty.Server(), empty.CA()
		Expect(findings(ctx).Err()).To(MatchError(ContainSubstring("the API does not serve ")))
		Expect(findings(ctx).Err()).To(MatchError(ContainSubstring("in version " + inventoryOf(ctx).Resources()[0].GroupVersion().String())))
	})

	It("should compare the addresses of a pool with those of the site", func(ctx SpecContext) {
		inside, outside := r.rack+"-in", r.rack+"-out"
		Expect(landscape.MakePool(ctx,
			metal.Pool{Name: inside, Addresses: []string{"10.250.129.1-10.250.129.9"}, Prefix: 16, Gateway: "10.250.0.1"})).To(Succeed())
		Expect(landscape.MakePool(ctx,
			metal.Pool{Name: outside, Addresses: []string{"10.250.128.0/17"}, Prefix: 16, Gateway: "10.250.0.1"})).To(Succeed())

		withPool("GlobalInClusterIPPool", inside)
		Expect(findings(ctx)).To(HaveField("Found", BeEmpty()))
		withPool("GlobalInClusterIPPool", outside)
		Expect(findings(ctx).Err()).To(MatchError(ContainSubstring(
			"the pool gives away 10.250.192.0-10.250.255.255 outside the site's nodes [10.250.128.0/18]")))
		s.Network.Nodes = []netip.Prefix{netip.MustParsePrefix("10.250.128.0/17")}
		Expect(findings(ctx)).To(HaveField("Found", BeEmpty()))
		withPool("InClusterIPPool", inside)
		Expect(findings(ctx).Err()).To(MatchError(ContainSubstring("the inventory has no InClusterIPPool of this name")))
		withPool("IPPool", inside)
		Expect(findings(ctx).Err()).To(MatchError(ContainSubstring("does not serve this kind of API group")))
		s.Config.Metal.IPAM.PoolRef.APIGroup = new("ipam.metal3.io")
		Expect(findings(ctx).Err()).To(MatchError(ContainSubstring(`does not serve this kind of API group "ipam.metal3.io"`)))
	})

	It("should tell revoked permissions from refused credentials", func(ctx SpecContext) {
		Expect(findings(ctx)).To(HaveField("Found", BeEmpty()))
		DeferCleanup(func(ctx SpecContext) { grant(ctx) })
		Expect(landscape.Revoke(ctx)).To(Succeed())
		Expect(findings(ctx).Err()).To(MatchError(ContainSubstring("the credentials have no permissions")))
		_, err := platf.Reconcile(ctx, s, persist)
		Expect(platform.ClassOf(err)).To(Equal(platform.ClassForbidden), "%v", err)
		Expect(err).To(MatchError(HavePrefix(`site "racks": `)))

		Expect(landscape.DeleteAccount(ctx)).To(Succeed())
		_, err = validate(ctx)
		Expect(platform.ClassOf(err)).To(Equal(platform.ClassUnauthenticated), "%v", err)
		err = platf.Delete(ctx, s, persist)
		Expect(platform.ClassOf(err)).To(Equal(platform.ClassUnauthenticated), "%v", err)
		Expect(err).To(MatchError(platform.ErrNoAccess))
		_, err = platf.Orphans(ctx, s)
		Expect(err).To(MatchError(platform.ErrNoAccess))
	})

	It("should be short of hosts that others use, and release what a removed site has left", func(ctx SpecContext) {
		_, err := platf.Reconcile(ctx, s, persist)
		Expect(err).NotTo(HaveOccurred())
		machine := s.Shoot + "-m-1"
		claim(ctx, machine)

		Expect(findings(ctx, demand("small", 3, 3))).To(HaveField("Found", BeEmpty()))
		own := s.Shoot
		s.Shoot = newShoot()
		Expect(findings(ctx,
			demand("small", 3,
				3)).Err()).To(MatchError(ContainSubstring("there are 3, of which 2 are free and 0 the shoot's already")))
		Expect(platf.Delete(ctx, s, persist)).To(Succeed())
		s.Shoot = own

		Expect(landscape.Objects(ctx, s.Shoot)).NotTo(BeEmpty())
		s.Profile, s.Config, s.MachineTypes = nil, nil, nil
		Expect(platf.Orphans(ctx, s)).To(HaveExactElements(And(HaveField("Kind", "host"), HaveField("ID", HaveSuffix("/"+machine)))))
		err = platf.Delete(ctx, s, persist)
		if err != nil {
			Expect(platform.ClassOf(err)).To(Equal(platform.ClassTransient))
			Expect(err).To(MatchError(And(HavePrefix(`site "racks": `), ContainSubstring(machine))))
		}
		Eventually(ctx, func() error { return platf.Delete(ctx, s, persist) }, soon).Should(Succeed())
		Expect(platf.Orphans(ctx, s)).To(BeEmpty())
		Eventually(ctx, func() ([]metal.Object, error) { return landscape.Objects(ctx, own) }, soon).Should(BeEmpty())
	})

	It("should give back addresses that machines left", func(ctx SpecContext) {
		claim := metal.NewAddressClaim(s.Shoot+"-m-2", "none")
		claim.SetLabels(owner.Owner{Shoot: s.Shoot, Site: s.Name}.MachineLabels(claim.GetName()))
		foreign := metal.NewAddressClaim(s.Shoot+"-foreign", "none")
		foreign.SetLabels(owner.Owner{Shoot: s.Shoot, Site: "other"}.MachineLabels(foreign.GetName()))
		Expect(landscape.Client.Create(ctx, claim)).To(Succeed())
		Expect(landscape.Client.Create(ctx, foreign)).To(Succeed())
		DeferCleanup(func(ctx SpecContext) { Expect(landscape.Client.Delete(ctx, foreign)).To(Succeed()) })

		Expect(platf.Orphans(ctx,
			s)).To(HaveExactElements(v1alpha1.Orphan{Site: "racks", Kind: "address claim", ID: "hosts/" + claim.GetName(), Name: claim.GetName()}))
		Expect(platf.Delete(ctx, s, persist)).To(Succeed())
		Eventually(ctx, func() ([]v1alpha1.Orphan, error) { return platf.Orphans(ctx, s) }, soon).Should(BeEmpty())
		Expect(landscape.Objects(ctx, s.Shoot)).To(HaveExactElements(HaveField("Name", foreign.GetName())))
	})

	It("should plan what a deletion requests", func(ctx SpecContext) {
		_, err := platf.Reconcile(ctx, s, persist)
		Expect(err).NotTo(HaveOccurred())
		claim(ctx, s.Shoot+"-m-3")
		address := metal.NewAddressClaim(s.Shoot+"-m-3", "none")
		address.SetLabels(owner.Owner{Shoot: s.Shoot, Site: s.Name}.MachineLabels(address.GetName()))
		Expect(landscape.Client.Create(ctx, address)).To(Succeed())
		before, err := landscape.Objects(ctx, s.Shoot)
		Expect(err).NotTo(HaveOccurred())

		proxy := behindProxy(s)
		plan := func() *rehearsal.Log {
			log := &rehearsal.Log{}
			sessions := metalclient.WrappedSessions(metalrehearsal.Wrap(log))
			defer sessions.Close()
			Expect(infrastructure.New(sessions, inventories.Open).Delete(ctx, s, persist)).To(Succeed())
			return log
		}
		proxy.SetLabel("plan")
		planned := plan()
		Expect(countedWrites(proxy.Requests("plan"))).To(BeEmpty())
		Expect(landscape.Objects(ctx, s.Shoot)).To(ConsistOf(before))
		proxy.SetLabel("deletion")
		Eventually(ctx, func() error { return platf.Delete(ctx, s, persist) }, soon).Should(Succeed())
		Expect(countedWrites(proxy.Requests("deletion")).UnsortedList()).To(ConsistOf(plannedWrites(planned).UnsortedList()))
		Expect(plannedWrites(planned).Len()).To(BeNumerically(">=", 3))
		Eventually(ctx, func() ([]metal.Object, error) { return landscape.Objects(ctx, s.Shoot) }, soon).Should(BeEmpty())
		Expect(plan().Writes(s.Name)).To(BeEmpty())
	})

	It("should touch nothing when the inventory is another one", func(ctx SpecContext) {
		_, err := platf.Reconcile(ctx, s, persist)
		Expect(err).NotTo(HaveOccurred())
		machine := s.Shoot + "-m-3"
		claim(ctx, machine)
		own := s.State.DeepCopy()
		refused := func(err error) {
			GinkgoHelper()
			Expect(platform.ClassOf(err)).To(Equal(platform.ClassConfiguration), "%v", err)
			Expect(err).To(MatchError(ContainSubstring("nothing is touched until")))
			Expect(s.State.Metal.Connection).To(Equal(own.Metal.Connection))
			Expect(inventoryOf(ctx).Find(ctx, machine, "")).NotTo(BeNil())
		}

		By("having a namespace of the same name")
		s.State.Metal.NamespaceUID = "another"
		_, err = platf.Reconcile(ctx, s, persist)
		refused(err)
		refused(platf.Delete(ctx, s, persist))
		spec := &v1alpha1.MachineProviderSpec{Site: s.Name, Shoot: s.Shoot, Metal: &v1alpha1.MetalMachineSpec{
			Connection: own.Metal.Connection, Cleaning: v1alpha1.MetalCleaningMetadata, NodeName: v1alpha1.MetalNodeNameMachine,
			NamespaceUID: "another",
		}}
		request := platform.MachineRequest{Name: machine, Spec: spec, Credentials: s.Credentials}
		part := machines.New(newSessions(), inventories.Open)
		refused(part.Delete(ctx, request))
		_, err = part.List(ctx, request)
		refused(err)
		spec.Metal.NamespaceUID = own.Metal.NamespaceUID
		Expect(part.List(ctx, request)).To(HaveLen(1))

		By("having another name")
		s.State = own.DeepCopy()
		s.Profile.Metal.Namespace = metav1.NamespaceSystem
		_, err = platf.Reconcile(ctx, s, persist)
		Expect(err).To(HaveOccurred())
		Expect(s.State).To(Equal(own))
		Eventually(ctx, func() error { return platf.Delete(ctx, s, persist) }, soon).Should(Succeed())
		s.Profile.Metal.Namespace = metal.Namespace
		Expect(inventoryOf(ctx).Find(ctx, machine, "")).To(BeNil())
	})

	It("should fail with the class of the problem if the API is away", func(ctx SpecContext) {
		s.Profile.Metal.Server = "https://127.0.0.1:1"
		_, err := validate(ctx)
		Expect(platform.ClassOf(err)).To(Equal(platform.ClassTransient), "%v", err)
		s.Profile.Metal.Server, s.Profile.TLS = landscape.Server(), nil
		_, err = validate(ctx)
		Expect(platform.ClassOf(err)).To(Equal(platform.ClassConfiguration), "%v", err)
	})
}

// requestsTo are the requests to the site since the process began, by their methods.
func requestsTo(name string) []string {
	GinkgoHelper()
	registry := prometheus.NewRegistry()
	Expect(registry.Register(platform.RequestDuration)).To(Succeed())
	families, err := registry.Gather()
	Expect(err).NotTo(HaveOccurred())
	var methods []string
	for _, metric := range families[0].GetMetric() {
		labels := map[string]string{}
		for _, label := range metric.GetLabel() {
			labels[label.GetName()] = label.GetValue()
		}
		if labels["site"] == name {
			methods = append(methods, slices.Repeat([]string{labels["method"]}, int(metric.GetHistogram().GetSampleCount()))...)
		}
	}
	return methods
}
