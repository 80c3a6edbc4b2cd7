// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package nodes

import (
	"context"
	"net/http"
	"net/netip"
	"strings"
	"time"

	metalv1alpha1 "github.com/ironcore-dev/metal-operator/api/v1alpha1"
	metal3v1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/helper"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	staticv1alpha1 "github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/static/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/kubernetes/owner"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/metal/client"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/metal/inventories"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/metal/inventory"
)

const (
	shoot, siteName = "shoot--local--a", "racks"
	pool            = "pool"

	noUUID     = "a2808fe4fc86444c8abbb8357e74df31"
	systemUUID = "420e1d6c-2a35-4f77-8c1d-1b0f7c9f0b11"
	// swapped is the same as old firmware tells it.
	swapped = "6C1D0E42-352A-774F-8C1D-1B0F7C9F0B11"
)

var (
	us      = owner.Owner{Shoot: shoot, Site: siteName}
	machine = helper.MachineDeploymentName(shoot, pool, "rack-2") + "-a-b"
)

// bed is a site of an inventory.
type bed struct {
	api      *api
	request  platform.NodesRequest
	sessions *client.Sessions
	node     *corev1.Node
}

func newBed(kind v1alpha1.MetalInventory, providerID string) *bed {
	b := &bed{api: newAPI(), sessions: client.NewSessions()}
	DeferCleanup(b.sessions.Close)
	b.request = platform.NodesRequest{
		Shoot: shoot,
		Site: &v1alpha1.CloudControllerSite{Name: siteName, Metal: &v1alpha1.MetalCloudController{
			Connection: v1alpha1.MetalConnection{Inventory: kind, Server: b.api.server.URL, Namespace: "hosts",
				TLS: &v1alpha1.TLS{InsecureSkipVerify: true}},
			Zones: []v1alpha1.MetalCloudControllerZone{
				{Name: "rack-1", HostSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"rack": "r1"}}},
				{Name: "rack-3", HostSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"rack": "r3"}}},
			},
		}},
		Credentials: map[string]string{"token": "t"},
	}
	b.node = &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: machine, Labels: map[string]string{"worker.gardener.cloud/pool": pool}},
		Spec:       corev1.NodeSpec{ProviderID: providerID},
	}
	return b
}

func (b *bed) open(ctx context.Context) platform.NodeMachines {
	GinkgoHelper()
	opened, err := New(b.sessions, inventories.Open).Open(ctx, b.request)
	Expect(err).NotTo(HaveOccurred())
	Expect(opened.OpenLoadBalancers).To(BeNil())
	return opened.Machines
}

// driverID is the provider ID that the driver reports.
func (b *bed) driverID(ctx context.Context) string {
	GinkgoHelper()
	session, err := b.sessions.Get(ctx, siteName, b.request.Site.Metal.Connection, b.request.Credentials)
	Expect(err).NotTo(HaveOccurred())
	driver, err := inventories.Open(session, b.request.Site.Metal.Connection.Inventory, inventory.Options{Owner: us})
	Expect(err).NotTo(HaveOccurred())
	found, err := driver.Find(ctx, machine, "")
	Expect(err).NotTo(HaveOccurred())
	return found.ProviderID
}

func internal(addresses ...string) []corev1.NodeAddress {
	var result []corev1.NodeAddress
	for _, address := range addresses {
		result = append(result, corev1.NodeAddress{Type: corev1.NodeInternalIP, Address: address})
	}
	return append(result, corev1.NodeAddress{Type: corev1.NodeHostName, Address: machine})
}

var _ = Describe("Machines in Metal3", func() {
	var (
		b    *bed
		host *metal3v1alpha1.BareMetalHost
		id   = "metal3://hosts/host-1/" + machine
	)

	BeforeEach(func() {
		b = newBed(v1alpha1.MetalInventoryMetal3, id)
		labels := us.MachineLabels(machine)
		labels["rack"] = "r1"
		host = &metal3v1alpha1.BareMetalHost{
			ObjectMeta: metav1.ObjectMeta{Namespace: "hosts", Name: "host-1", Labels: labels,
				Annotations: map[string]string{owner.AnnotationNode: machine}},
			Spec: metal3v1alpha1.BareMetalHostSpec{ConsumerRef: new(us.Reference(machine)), Online: true},
			Status: metal3v1alpha1.BareMetalHostStatus{
				PoweredOn: true, OperationalStatus: metal3v1alpha1.OperationalStatusOK,
				Provisioning: metal3v1alpha1.ProvisionStatus{State: metal3v1alpha1.StateProvisioned},
				HardwareDetails: &metal3v1alpha1.HardwareDetails{
					SystemVendor: metal3v1alpha1.HardwareSystemVendor{Manufacturer: "Dell Inc.", ProductName: "PowerEdge R640 (SKU=NotProvided)"},
					NIC:          []metal3v1alpha1.NIC{{IP: "10.250.128.9"}, {IP: "fe80::1"}, {IP: ""}, {IP: "2001:db8::9"}},
				},
			},
		}
		b.api.put(pathHosts, host)
	})

	It("are described with the driver's provider ID", func(ctx SpecContext) {
		host.Status.OperationHistory.Provision.End = metav1.Unix(1772366400, 0)
		part := b.open(ctx)
		Expect(part.Exists(ctx, b.node)).To(BeTrue())
		Expect(part.ShutDown(ctx, b.node)).To(BeFalse())
		described, err := part.Describe(ctx, b.node)
		Expect(err).NotTo(HaveOccurred())
		Expect(described).To(Equal(platform.NodeMachine{
			ProviderID: b.driverID(ctx), Type: "Dell-Inc-PowerEdge-R640-SKU-NotProvided", Zones: []string{"rack-1"},
			Addresses: internal("10.250.128.9", "2001:db8::9"),
			Birth:     platform.BirthTimes{platform.BirthProvisioned: time.Unix(1772366400, 0)},
		}))
		Expect(part.HasProviderID(described.ProviderID)).To(BeTrue())
	})

	DescribeTable("are found when their nodes join", func(ctx SpecContext, change func(), found bool) {
		b.node.Spec.ProviderID = ""
		change()
		described, err := b.open(ctx).Describe(ctx, b.node)
		if !found {
			Expect(platform.ClassOf(err)).To(Equal(platform.ClassNotFound))
			return
		}
		Expect(err).NotTo(HaveOccurred())
		Expect(described.ProviderID).To(Equal(id))
	},
		Entry("named after their machines", func() {}, true),
		Entry("named after their hosts", func() { host.Annotations[owner.AnnotationNode], b.node.Name = "host-1", "host-1" }, true),
		Entry("but not by the name that the machine would have", func() { host.Annotations[owner.AnnotationNode] = "host-1" }, false),
		Entry("but not by the name of the host if the machine was told another", func() { b.node.Name = "host-1" }, false),
		Entry("but not those of another shoot", func() { host.Labels[owner.LabelShoot], host.Spec.ConsumerRef.Namespace = "b", "b" }, false),
		Entry("but not those of another site", func() { host.Labels[owner.LabelSite] = "b" }, false),
		Entry("but not those that somebody else took", func() { host.Spec.ConsumerRef.Name = "x" }, false),
		Entry("but not by a name that is no label", func() { b.node.Name = strings.Repeat("a", 64) }, false),
		Entry("but not without a host", func() { delete(b.api.objects, pathHosts+"/host-1") }, false),
	)

	DescribeTable("exist", func(ctx SpecContext, exists bool, change func()) {
		part := b.open(ctx)
		change()
		Expect(part.Exists(ctx, b.node)).To(Equal(exists))
		_, err := part.Describe(ctx, b.node)
		if exists {
			Expect(err).NotTo(HaveOccurred())
			return
		}
		Expect(platform.ClassOf(err)).To(Equal(platform.ClassNotFound))
		_, err = part.ShutDown(ctx, b.node)
		Expect(platform.ClassOf(err)).To(Equal(platform.ClassNotFound))
	},
		Entry("while they are released", true, func() {
			host.Status.Provisioning.State, host.DeletionTimestamp = metal3v1alpha1.StateDeprovisioning, new(metav1.Now())
		}),
		Entry("without the labels", true, func() { host.Labels = nil }),
		Entry("without the consumer", true, func() { host.Spec.ConsumerRef = nil }),
		Entry("not without both", false, func() { host.Spec.ConsumerRef, host.Labels = nil, nil }),
		Entry("not when the host is another machine", false, func() { host.Spec.ConsumerRef.Name = "other" }),
		Entry("not when the host is another's", false, func() { host.Spec.ConsumerRef.Kind = "Metal3Machine" }),
		Entry("not when the host is another shoot's", false, func() { host.Spec.ConsumerRef.Namespace = "shoot--local--b" }),
		Entry("not without the host", false, func() { delete(b.api.objects, pathHosts+"/host-1") }),
	)

	DescribeTable("are off", func(ctx SpecContext, off bool, change func()) {
		host.Status.PoweredOn = false
		change()
		Expect(b.open(ctx).ShutDown(ctx, b.node)).To(Equal(off))
	},
		Entry("without power", true, func() {}),
		Entry("not with power", false, func() { host.Status.PoweredOn = true }),
		Entry("not before they are provisioned", false, func() { host.Status.Provisioning.State = metal3v1alpha1.StateProvisioning }),
		Entry("not while nobody looks", false, func() { host.Annotations[metal3v1alpha1.PausedAnnotation] = "" }),
		Entry("not while they are detached", false, func() { host.Annotations[metal3v1alpha1.DetachedAnnotation] = "" }),
		Entry("not while nobody can look", false, func() { host.Status.ErrorType = metal3v1alpha1.PowerManagementError }),
		Entry("not while something is wrong", false, func() { host.Status.OperationalStatus = metal3v1alpha1.OperationalStatusError }),
	)

	DescribeTable("have addresses", func(ctx SpecContext, change func(), addresses ...string) {
		change()
		described, err := b.open(ctx).Describe(ctx, b.node)
		Expect(err).NotTo(HaveOccurred())
		Expect(described.Addresses).To(Equal(internal(addresses...)))
	},
		Entry("of the pool", func() { b.api.address(machine, "10.250.128.77", us.MachineLabels(machine)) }, "10.250.128.77"),
		Entry("of the node", func() {
			b.api.address(machine, "10.250.128.77", us.MachineLabels(machine))
			b.node.Status.Addresses = append(internal("10.250.128.5", "2001:db8::5"),
				corev1.NodeAddress{Type: corev1.NodeExternalIP, Address: "1.1.1.1"})
		}, "10.250.128.5", "2001:db8::5"),
		Entry("of the discovery with another's claim", func() { b.api.address(machine, "10.250.128.77", nil) }, "10.250.128.9", "2001:db8::9"),
		Entry("of the discovery without a claim", func() { b.api.pools = true }, "10.250.128.9", "2001:db8::9"),
		Entry("of the discovery if claims may not be read", func() {
			b.api.pools = true
			b.api.answers[pathIPClaims] = refuse(http.StatusForbidden, metav1.StatusReasonForbidden)
		}, "10.250.128.9", "2001:db8::9"),
	)

	It("ask no pool for a node that has an address", func(ctx SpecContext) {
		b.node.Status.Addresses = internal("10.250.128.5")
		part := b.open(ctx)
		b.api.requests = nil
		_, err := part.Describe(ctx, b.node)
		Expect(err).NotTo(HaveOccurred())
		Expect(b.api.requests).To(Equal([]string{"GET " + pathHosts + "/host-1"}))
	})

	DescribeTable("are errors", func(ctx SpecContext, class platform.Class, message string, change func()) {
		part := b.open(ctx)
		change()
		_, err := part.Describe(ctx, b.node)
		Expect(err).To(MatchError(And(HavePrefix(`site "racks": `), ContainSubstring(message))))
		Expect(platform.ClassOf(err)).To(Equal(class))
	},
		Entry("of another node", platform.ClassConflict, ", not", func() { host.Annotations[owner.AnnotationNode] = "other" }),
		Entry("of another site", platform.ClassConflict, `belongs to site "b"`, func() { host.Labels[owner.LabelSite] = "b" }),
		Entry("that two hosts are", platform.ClassConflict, "both have that name", func() {
			second := host.DeepCopy()
			second.Name, b.node.Spec.ProviderID = "host-2", ""
			b.api.put(pathHosts, second)
		}),
		Entry("with another scheme", platform.ClassConflict, "is not one of the inventory",
			func() { b.node.Spec.ProviderID = "ironcore-metal://hosts/" + machine }),
		Entry("without an address", platform.ClassTransient, "no address", func() { host.Status.HardwareDetails = nil }),
		Entry("with an address of this network only", platform.ClassTransient, "no address",
			func() { host.Status.HardwareDetails.NIC = host.Status.HardwareDetails.NIC[1:2] }),
		Entry("whose address is late", platform.ClassTransient, "has not given",
			func() { b.api.address(machine, "", us.MachineLabels(machine)) }),
		Entry("whose address is none", platform.ClassConfiguration, "unable to parse IP",
			func() { b.api.address(machine, "x", us.MachineLabels(machine)) }),
	)

	DescribeTable("never cease to exist by", func(ctx SpecContext, class platform.Class, change func()) {
		part := b.open(ctx)
		change()
		exists, err := part.Exists(ctx, b.node)
		Expect(err).To(HaveOccurred())
		Expect(exists).To(BeFalse())
		Expect(platform.ClassOf(err)).To(Equal(class))
	},
		Entry("the 404 of a proxy", platform.ClassConfiguration, func() { b.api.answers["/apis"] = plain404 }),
		Entry("an API that is down", platform.ClassTransient, func() { b.api.server.Close() }),
		Entry("an API that fails", platform.ClassTransient, func() { b.api.answers["/"] = refuse(500, metav1.StatusReasonInternalError) }),
		Entry("credentials that are refused", platform.ClassUnauthenticated,
			func() { b.api.answers["/"] = refuse(401, metav1.StatusReasonUnauthorized) }),
		Entry("permissions that are gone", platform.ClassForbidden, func() { b.api.answers["/"] = refuse(403, metav1.StatusReasonForbidden) }),
		Entry("a provider ID of another namespace", platform.ClassConflict,
			func() { b.node.Spec.ProviderID = "metal3://other/host-1/" + machine }),
		Entry("a provider ID of another inventory", platform.ClassConflict, func() { b.node.Spec.ProviderID = "ironcore-metal://hosts/x" }),
		Entry("a node of another name", platform.ClassConflict, func() { b.node.Name = "x" }),
	)

	DescribeTable("have provider IDs", func(ctx SpecContext, id string, ok bool) {
		Expect(b.open(ctx).HasProviderID(id)).To(Equal(ok))
	},
		Entry("own", "metal3://hosts/host-1/machine-1", true),
		Entry("with dots", "metal3://hosts/host-1.example/machine-1", true),
		Entry("of another namespace", "metal3://other/host-1/machine-1", false),
		Entry("without a machine", "metal3://hosts/host-1", false),
		Entry("with too much", "metal3://hosts/host-1/machine-1/x", false),
		Entry("with an empty name", "metal3://hosts//machine-1", false),
		Entry("with dots only", "metal3://hosts/../machine-1", false),
		Entry("with upper case", "metal3://hosts/Host/machine-1", false),
		Entry("with a query", "metal3://hosts/host?x/machine-1", false),
		Entry("with a UID", "metal3://6a0f1f5e-0c5a-4d59-8a0b-6f5d6b1d3e21", false),
		Entry("of IronCore", "ironcore-metal://hosts/machine-1", false),
		Entry("static", "static://", false),
		Entry("empty", "", false),
	)

	DescribeTable("are in zones", func(ctx SpecContext, change func(*[]v1alpha1.MetalCloudControllerZone), zones ...string) {
		change(&b.request.Site.Metal.Zones)
		described, err := b.open(ctx).Describe(ctx, b.node)
		Expect(err).NotTo(HaveOccurred())
		Expect(described.Zones).To(HaveExactElements(zones))
	},
		Entry("one", func(*[]v1alpha1.MetalCloudControllerZone) {}, "rack-1"),
		Entry("none", func(*[]v1alpha1.MetalCloudControllerZone) { host.Labels["rack"] = "r7" }),
		Entry("all hosts'", func(z *[]v1alpha1.MetalCloudControllerZone) { (*z)[1].HostSelector = nil }, "rack-1", "rack-3"),
		Entry("the one of several that the machine was made for", func(z *[]v1alpha1.MetalCloudControllerZone) {
			(*z)[1].Name, (*z)[1].HostSelector = "rack-2", &metav1.LabelSelector{}
		}, "rack-2"),
	)
})

var _ = Describe("Machines on static hosts", func() {
	var (
		b    *bed
		host *staticv1alpha1.StaticHost
		id   = "static://hosts/host-1/" + machine
	)

	BeforeEach(func() {
		b = newBed(v1alpha1.MetalInventoryStatic, id)
		host = &staticv1alpha1.StaticHost{
			ObjectMeta: metav1.ObjectMeta{Namespace: "hosts", Name: "host-1", Labels: us.MachineLabels(machine),
				Annotations: map[string]string{owner.AnnotationNode: machine}},
			Spec: staticv1alpha1.StaticHostSpec{Address: "10.250.128.9", ConsumerRef: new(us.Reference(machine))},
			Status: staticv1alpha1.StaticHostStatus{Phase: staticv1alpha1.PhaseProvisioned,
				Facts: &staticv1alpha1.Facts{Addresses: []string{"100.96.0.1", "10.250.128.9"}}},
		}
		host.Labels["rack"] = "r1"
		b.api.put(pathStaticHosts, host)
	})

	It("are described with the driver's provider ID", func(ctx SpecContext) {
		part := b.open(ctx)
		Expect(part.HasProviderID(id)).To(BeTrue())
		Expect(part.HasProviderID("static:///desk-1")).To(BeFalse())
		Expect(part.Describe(ctx, b.node)).To(Equal(platform.NodeMachine{ProviderID: id, Type: "bare-metal", Zones: []string{"rack-1"},
			Addresses: internal("10.250.128.9")}))
		b.node.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "192.0.2.9"}}
		Expect(part.Describe(ctx, b.node)).To(HaveField("Addresses", internal("192.0.2.9")))
	})

	It("exist while their host names them, and are never certain to be shut down", func(ctx SpecContext) {
		part := b.open(ctx)
		for _, phase := range []staticv1alpha1.Phase{staticv1alpha1.PhaseProvisioned, staticv1alpha1.PhaseReleasing, staticv1alpha1.PhaseDirty} {
			host.Status.Phase = phase
			host.Status.Conditions = []metav1.Condition{{Type: staticv1alpha1.ConditionReachable, Status: metav1.ConditionFalse}}
			Expect(part.Exists(ctx, b.node)).To(BeTrue())
			Expect(part.ShutDown(ctx, b.node)).To(BeFalse())
		}
		host.Spec.ConsumerRef = nil
		Expect(part.Exists(ctx, b.node)).To(BeFalse())
	})
})

var _ = Describe("Machines in IronCore", func() {
	var (
		b      *bed
		claim  *metalv1alpha1.ServerClaim
		server *metalv1alpha1.Server
		id     = "ironcore-metal://hosts/" + machine
	)

	BeforeEach(func() {
		b = newBed(v1alpha1.MetalInventoryIronCore, id)
		claim = &metalv1alpha1.ServerClaim{
			ObjectMeta: metav1.ObjectMeta{Namespace: "hosts", Name: machine, Labels: us.MachineLabels(machine),
				Annotations: map[string]string{owner.AnnotationNode: machine}},
			Spec: metalv1alpha1.ServerClaimSpec{ServerRef: &corev1.LocalObjectReference{Name: "server-1"}, Power: metalv1alpha1.PowerOn},
		}
		server = &metalv1alpha1.Server{
			ObjectMeta: metav1.ObjectMeta{Name: "server-1", Labels: map[string]string{"rack": "r3"}},
			Spec: metalv1alpha1.ServerSpec{
				SystemUUID: systemUUID, ServerClaimRef: &metalv1alpha1.ImmutableObjectReference{Namespace: "hosts", Name: machine},
			},
			Status: metalv1alpha1.ServerStatus{
				Manufacturer: "Contoso", Model: "3500", PowerState: metalv1alpha1.ServerOnPowerState, State: metalv1alpha1.ServerStateReserved,
				NetworkInterfaces: []metalv1alpha1.NetworkInterface{{Name: "eth0", IPs: []metalv1alpha1.IP{{Addr: netip.MustParseAddr("10.0.0.5")}}}},
			},
		}
		b.api.put(pathClaims, claim)
		b.api.put(pathServers, server)
	})

	It("are described with the driver's provider ID", func(ctx SpecContext) {
		part := b.open(ctx)
		Expect(part.Exists(ctx, b.node)).To(BeTrue())
		Expect(part.ShutDown(ctx, b.node)).To(BeFalse())
		described, err := part.Describe(ctx, b.node)
		Expect(err).NotTo(HaveOccurred())
		Expect(described).To(Equal(platform.NodeMachine{ProviderID: b.driverID(ctx), Type: "Contoso-3500", Zones: []string{"rack-3"},
			Addresses: internal("10.0.0.5")}))
		Expect(part.HasProviderID(described.ProviderID)).To(BeTrue())
	})

	DescribeTable("are found when their nodes join", func(ctx SpecContext, change func(), class platform.Class) {
		b.node.Spec.ProviderID = ""
		b.node.Status.NodeInfo.SystemUUID = strings.ToUpper(systemUUID)
		change()
		described, err := b.open(ctx).Describe(ctx, b.node)
		if class != "" {
			Expect(platform.ClassOf(err)).To(Equal(class))
			return
		}
		Expect(err).NotTo(HaveOccurred())
		Expect(described.ProviderID).To(Equal(id))
	},
		Entry("named after their machines", func() {}, platform.Class("")),
		Entry("of old firmware", func() { b.node.Status.NodeInfo.SystemUUID = swapped }, platform.Class("")),
		Entry("that report no UUID", func() { b.node.Status.NodeInfo.SystemUUID = "" }, platform.Class("")),
		Entry("that report their machine ID, because their firmware has no UUID", func() {
			b.node.Status.NodeInfo.SystemUUID, b.node.Status.NodeInfo.MachineID = noUUID, noUUID
		}, platform.Class("")),
		Entry("but not those that report another UUID", func() { b.node.Status.NodeInfo.SystemUUID = "520e1d6c-2a35-4f77-8c1d-1b0f7c9f0b11" },
			platform.ClassConflict),
		Entry("named after their servers", func() { claim.Annotations[owner.AnnotationNode], b.node.Name = "server-1", "server-1" },
			platform.Class("")),
		Entry("but not by a name that the machine was not told", func() { b.node.Name = "server-1" }, platform.ClassNotFound),
		Entry("but not those of another site", func() { claim.Labels[owner.LabelSite] = "b" }, platform.ClassNotFound),
		Entry("but not without a claim", func() { delete(b.api.objects, pathClaims+"/"+machine) }, platform.ClassNotFound),
	)

	It("have a type that is a label's value", func(ctx SpecContext) {
		part := b.open(ctx)
		server.Status.Manufacturer, server.Status.Model = "", ""
		described, err := part.Describe(ctx, b.node)
		Expect(err).NotTo(HaveOccurred())
		Expect(described.Type).To(Equal("bare-metal"))
		server.Status.Model = strings.Repeat("x", 62) + " y"
		described, err = part.Describe(ctx, b.node)
		Expect(err).NotTo(HaveOccurred())
		Expect(described.Type).To(Equal(strings.Repeat("x", 62)))
	})

	It("exist as long as their claim, and no longer", func(ctx SpecContext) {
		part := b.open(ctx)
		delete(b.api.objects, pathServers+"/server-1")
		Expect(part.Exists(ctx, b.node)).To(BeTrue())
		claim.Spec.ServerRef = nil
		Expect(part.Exists(ctx, b.node)).To(BeTrue())
		delete(b.api.objects, pathClaims+"/"+machine)
		Expect(part.Exists(ctx, b.node)).To(BeFalse())
	})

	DescribeTable("never cease to exist by", func(ctx SpecContext, class platform.Class, change func()) {
		part := b.open(ctx)
		change()
		exists, err := part.Exists(ctx, b.node)
		Expect(err).To(HaveOccurred())
		Expect(exists).To(BeFalse())
		Expect(platform.ClassOf(err)).To(Equal(class))
	},
		Entry("the 404 of a proxy", platform.ClassConfiguration, func() { b.api.answers["/apis"] = plain404 }),
		Entry("a claim that is another's", platform.ClassConflict, func() { claim.Labels[owner.LabelShoot] = "b" }),
		Entry("a claim that lost its labels", platform.ClassConflict, func() { claim.Labels = nil }),
		Entry("a provider ID of Metal3", platform.ClassConflict, func() { b.node.Spec.ProviderID = "metal3://hosts/server-1/" + machine }),
		Entry("a node of another name", platform.ClassConflict, func() { b.node.Name = "x" }),
	)

	DescribeTable("are off", func(ctx SpecContext, off bool, change func()) {
		server.Status.PowerState = metalv1alpha1.ServerOffPowerState
		change()
		Expect(b.open(ctx).ShutDown(ctx, b.node)).To(Equal(off))
	},
		Entry("without power", true, func() {}),
		Entry("not with power", false, func() { server.Status.PowerState = metalv1alpha1.ServerOnPowerState }),
		Entry("not if that is not known", false, func() { server.Status.PowerState = "" }),
		Entry("not in maintenance", false, func() { server.Status.State = metalv1alpha1.ServerStateMaintenance }),
		Entry("not while nobody looks", false, func() {
			server.Annotations = map[string]string{metalv1alpha1.OperationAnnotation: metalv1alpha1.OperationAnnotationIgnore}
		}),
		Entry("not if the server is another's", false, func() { server.Spec.ServerClaimRef.Name = "other" }),
	)
})

var _ = Describe("Sites", func() {
	DescribeTable("cannot be opened", func(ctx SpecContext, kind v1alpha1.MetalInventory, class platform.Class, change func(*bed)) {
		b := newBed(kind, "")
		change(b)
		_, err := New(b.sessions, inventories.Open).Open(ctx, b.request)
		Expect(err).To(MatchError(HavePrefix(`site "racks": `)))
		Expect(platform.ClassOf(err)).To(Equal(class))
	},
		Entry("without the block", v1alpha1.MetalInventoryMetal3, platform.ClassConfiguration, func(b *bed) { b.request.Site.Metal = nil }),
		Entry("of an unknown inventory", v1alpha1.MetalInventory("x"), platform.ClassConfiguration, func(*bed) {}),
		Entry("without credentials", v1alpha1.MetalInventoryMetal3, platform.ClassConfiguration, func(b *bed) { b.request.Credentials = nil }),
		Entry("with credentials that are refused", v1alpha1.MetalInventoryMetal3, platform.ClassUnauthenticated,
			func(b *bed) { b.api.answers["/"] = refuse(401, metav1.StatusReasonUnauthorized) }),
		Entry("without Metal3", v1alpha1.MetalInventoryMetal3, platform.ClassConfiguration, func(b *bed) { b.api.answers[pathHosts] = plain404 }),
		Entry("without IronCore", v1alpha1.MetalInventoryIronCore, platform.ClassConfiguration,
			func(b *bed) { b.api.answers[pathClaims] = plain404 }),
		Entry("without the permission to read servers", v1alpha1.MetalInventoryIronCore, platform.ClassForbidden,
			func(b *bed) { b.api.answers[pathServers] = refuse(403, metav1.StatusReasonForbidden) }),
		Entry("that are down", v1alpha1.MetalInventoryIronCore, platform.ClassTransient, func(b *bed) { b.api.server.Close() }),
		Entry("with a selector that is none", v1alpha1.MetalInventoryMetal3, platform.ClassConfiguration, func(b *bed) {
			b.request.Site.Metal.Zones[0].HostSelector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "a",
				Operator: "x"}}}
		}),
	)
})
