// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package nodes

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/vsphere/client"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/vsphere/owner"
)

var _ = Describe("Machines", func() {
	const (
		shoot, site = "shoot--local--a", "vc"

		// id is a UUID as the vCenter has it, swapped is the same as old firmware tells it.
		id      = "420e1d6c-2a35-4f77-8c1d-1b0f7c9f0b11"
		swapped = "6C1D0E42-352A-774F-8C1D-1B0F7C9F0B11"
	)
	var (
		registry *simulator.Registry
		vm       *simulator.VirtualMachine
		pool     *simulator.ResourcePool
		config   *v1alpha1.CloudControllerSite
		sessions *client.Sessions
		part     platform.NodeMachines
		node     *corev1.Node
	)

	BeforeEach(func(ctx SpecContext) {
		model := simulator.VPX()
		Expect(model.Create()).To(Succeed())
		DeferCleanup(model.Remove)
		server := model.Service.NewServer()
		DeferCleanup(server.Close)
		registry = model.Map()
		vm = registry.Any("VirtualMachine").(*simulator.VirtualMachine)
		vm.Name, vm.Config.Name = "machine-1", "machine-1"
		vm.Config.Uuid = id
		vm.Summary.Config.Uuid = id
		for key, value := range (owner.Owner{Shoot: shoot, Site: site}).ExtraConfig() {
			vm.Config.ExtraConfig = append(vm.Config.ExtraConfig, &types.OptionValue{Key: key, Value: value})
		}
		vm.Guest.Net = []types.GuestNicInfo{
			{DeviceConfigId: 4000, IpAddress: []string{"10.250.0.7", "fe80::1", "2001:db8::7"}},
			{DeviceConfigId: -1, IpAddress: []string{"100.96.0.1"}},
		}
		pool = registry.Get(*vm.ResourcePool).(*simulator.ResourcePool)

		password, _ := server.URL.User.Password()
		connection := v1alpha1.VSphereConnection{Server: "https://" + server.URL.Host, TLS: &v1alpha1.TLS{InsecureSkipVerify: true}}
		if server.URL.Scheme == "http" {
			connection = v1alpha1.VSphereConnection{Server: "http://" + server.URL.Host}
		}
		config = &v1alpha1.CloudControllerSite{Name: site, VSphere: &v1alpha1.VSphereCloudController{
			Connection: connection,
			Zones: []v1alpha1.VSphereCloudControllerZone{
				{Name: "vc-1", ComputeCluster: "domain-c0", ResourcePool: pool.Self.Value},
				{Name: "vc-2", ComputeCluster: "domain-c0", ResourcePool: "resgroup-0"},
			},
		}}
		sessions = client.NewSessions(client.Intervals{Idle: 1 << 40, KeepAlive: 1 << 40})
		DeferCleanup(sessions.Close)
		opened, err := New(sessions).Open(ctx, platform.NodesRequest{
			Shoot: shoot, Site: config, Credentials: map[string]string{"username": server.URL.User.Username(), "password": password},
		})
		Expect(err).NotTo(HaveOccurred())
		Expect(opened.OpenLoadBalancers).To(BeNil())
		part = opened.Machines
		node = &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "machine-1"}, Spec: corev1.NodeSpec{ProviderID: "vsphere://" + id}}
	})

	It("describes the virtual machine of a provider ID", func(ctx SpecContext) {
		powered := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
		vm.Summary.Runtime.BootTime = &powered
		Expect(part.Exists(ctx, node)).To(BeTrue())
		Expect(part.ShutDown(ctx, node)).To(BeFalse())
		described, err := part.Describe(ctx, node)
		Expect(err).NotTo(HaveOccurred())
		Expect(described).To(Equal(platform.NodeMachine{
			ProviderID: "vsphere://" + id, Type: "vsphere-vm.cpu-1.mem-32mb", Zones: []string{"vc-1"},
			Addresses: []corev1.NodeAddress{
				{Type: corev1.NodeInternalIP, Address: "10.250.0.7"},
				{Type: corev1.NodeInternalIP, Address: "2001:db8::7"},
				{Type: corev1.NodeHostName, Address: "machine-1"},
			},
			Birth: platform.BirthTimes{platform.BirthPowered: powered},
		}))

		vm.Summary.Runtime.BootTime = nil
		described, err = part.Describe(ctx, node)
		Expect(err).NotTo(HaveOccurred())
		Expect(described.Birth).To(BeEmpty())
	})

	DescribeTable("finds the virtual machine of a node that joins", func(ctx SpecContext, systemUUID string) {
		node.Spec.ProviderID = ""
		node.Status.NodeInfo.SystemUUID = systemUUID
		described, err := part.Describe(ctx, node)
		Expect(err).NotTo(HaveOccurred())
		Expect(described.ProviderID).To(Equal("vsphere://" + id))
	},
		Entry("by its system UUID", "420E1D6C-2A35-4F77-8C1D-1B0F7C9F0B11"),
		Entry("by its system UUID of old firmware", swapped),
	)

	It("says that a virtual machine is off", func(ctx SpecContext) {
		vm.Runtime.PowerState = types.VirtualMachinePowerStatePoweredOff
		Expect(part.ShutDown(ctx, node)).To(BeTrue())
	})

	It("says that a virtual machine does not exist only if there is none with that UUID", func(ctx SpecContext) {
		node.Spec.ProviderID = "vsphere://" + owner.Owner{Shoot: shoot, Site: site}.UUID("gone")
		Expect(part.Exists(ctx, node)).To(BeFalse())
		_, err := part.Describe(ctx, node)
		Expect(platform.ClassOf(err)).To(Equal(platform.ClassNotFound))
		_, err = part.ShutDown(ctx, node)
		Expect(platform.ClassOf(err)).To(Equal(platform.ClassNotFound))
	})

	It("does not take a virtual machine that the credentials cannot see for one that does not exist", func(ctx SpecContext) {
		config.VSphere.Zones[0].Folder, config.VSphere.Zones[1].Folder = vm.Parent.Value, "group-v0"
		node.Spec.ProviderID = "vsphere://" + owner.Owner{Shoot: shoot, Site: site}.UUID("gone")
		_, err := part.Exists(ctx, node)
		Expect(platform.ClassOf(err)).To(Equal(platform.ClassTransient), "the other folder may be in another vCenter")
		config.VSphere.Connection.InstanceUUID = instanceOf(registry)
		Expect(part.Exists(ctx, node)).To(BeFalse(), "one folder can be read, and the other is gone with all that was in it")

		registry.Handler = func(_ *simulator.Context, method *simulator.Method) (mo.Reference, types.BaseMethodFault) {
			if request, ok := method.Body.(*types.RetrievePropertiesEx); ok && request.SpecSet[0].ObjectSet[0].Obj == *vm.Parent {
				return nil, &types.NoPermission{Object: vm.Parent, PrivilegeId: "System.Read"}
			}
			return nil, nil
		}
		_, existsErr := part.Exists(ctx, node)
		_, shutDownErr := part.ShutDown(ctx, node)
		_, describeErr := part.Describe(ctx, node)
		for _, err := range []error{existsErr, shutDownErr, describeErr} {
			Expect(err).To(MatchError(And(HavePrefix(`site "vc": zone "vc-1": `), ContainSubstring(`node "machine-1"`),
				ContainSubstring(vm.Parent.Value))))
			Expect(platform.ClassOf(err)).To(Equal(platform.ClassForbidden))
		}
	})

	DescribeTable("refuses", func(ctx SpecContext, class platform.Class, message string, change func()) {
		change()
		_, err := part.Describe(ctx, node)
		Expect(err).To(MatchError(And(HavePrefix(`site "vc": `), ContainSubstring(message))))
		Expect(platform.ClassOf(err)).To(Equal(class))
	},
		Entry("a virtual machine of another shoot", platform.ClassConflict, "was not made for shoot", func() { vm.Config.ExtraConfig = nil }),
		Entry("a virtual machine of another name", platform.ClassConflict, `is not that of node "machine-2"`, func() { node.Name = "machine-2" }),
		Entry("a node that reports no UUID", platform.ClassTransient, "reports no system UUID", func() { node.Spec.ProviderID = "" }),
		Entry("a guest without addresses", platform.ClassTransient, "report no address yet", func() { vm.Guest.Net = nil }),
	)

	It("knows the zone of a virtual machine that was moved within its cluster", func(ctx SpecContext) {
		config.VSphere.Zones[0].ResourcePool = "resgroup-x"
		described, err := part.Describe(ctx, node)
		Expect(err).NotTo(HaveOccurred())
		Expect(described.Zones).To(BeEmpty(), "the cluster is none of the site's")
		config.VSphere.Zones[1].ComputeCluster = pool.Owner.Value
		described, err = part.Describe(ctx, node)
		Expect(err).NotTo(HaveOccurred())
		Expect(described.Zones).To(Equal([]string{"vc-2"}))
	})

	DescribeTable("knows its provider IDs", func(id string, ok bool) {
		Expect(part.HasProviderID(id)).To(Equal(ok))
	},
		Entry("own", "vsphere://"+id, true),
		Entry("upper case", "vsphere://420E1D6C-2A35-4F77-8C1D-1B0F7C9F0B11", false),
		Entry("with a slash", "vsphere:///"+id, false),
		Entry("of another platform", "openstack:///"+id, false),
		Entry("no UUID", "vsphere://vm-1", false),
		Entry("no scheme", id, false),
		Entry("empty", "", false),
	)
})

func instanceOf(registry *simulator.Registry) string {
	return registry.Get(vim25.ServiceInstance).(*simulator.ServiceInstance).Content.About.InstanceUuid
}
