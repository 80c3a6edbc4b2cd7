// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package machines

import (
	"encoding/base64"
	"encoding/json"
	"net/netip"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
	corev1 "k8s.io/api/core/v1"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/ignition"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/ipam"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/vsphere/client"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/vsphere/owner"
)

var _ = Describe("ListScope", func() {
	It("should be the shoot's folder in the datacenter", func() {
		m := New(nil).(platform.ListScoper)
		Expect(m.ListScope(&v1alpha1.MachineProviderSpec{VSphere: &v1alpha1.VSphereMachineSpec{Folder: "group-v7",
			Datacenter: "dc"}})).To(Equal("group-v7"))
		Expect(m.ListScope(&v1alpha1.MachineProviderSpec{})).To(BeEmpty())
	})
})

var _ = Describe("Plan", func() {
	var p *plan

	disk := func(key int32, gib int64, file string) *types.VirtualDisk {
		unit := key - 2000
		return &types.VirtualDisk{
			VirtualDevice: types.VirtualDevice{Key: key, ControllerKey: 1000, UnitNumber: &unit, Backing: &types.VirtualDiskFlatVer2BackingInfo{
				VirtualDeviceFileBackingInfo: types.VirtualDeviceFileBackingInfo{FileName: file},
				DiskMode:                     string(types.VirtualDiskModePersistent),
			}},
			CapacityInKB: gib * kibPerGiB,
		}
	}
	network := func(key string) types.BaseVirtualDeviceBackingInfo {
		return &types.VirtualEthernetCardDistributedVirtualPortBackingInfo{Port: types.DistributedVirtualSwitchPortConnection{PortgroupKey: key,
			SwitchUuid: "switch", PortKey: "9"}}
	}
	card := func(key int32, backing types.BaseVirtualDeviceBackingInfo) types.BaseVirtualDevice {
		return &types.VirtualE1000{VirtualEthernetCard: types.VirtualEthernetCard{VirtualDevice: types.VirtualDevice{Key: key, Backing: backing},
			MacAddress: "00:50:56:00:00:01"}}
	}
	controller := &types.ParaVirtualSCSIController{}
	controller.Key = 1000

	BeforeEach(func() {
		p = &plan{
			spec: &v1alpha1.VSphereMachineSpec{
				Template: "vm-1", ResourcePool: "resgroup-1", Network: v1alpha1.VSphereNetworkReference{ID: "dvportgroup-1"},
				CPUs: 4, MemoryMiB: 8192, RootDiskGiB: 25,
				DataDisks: []v1alpha1.VSphereDataDisk{{Name: "a", SizeGiB: 7}, {Name: "b", SizeGiB: 8, StoragePolicyID: "fast"}},
			},
			devices:   object.VirtualDeviceList{controller, disk(2000, 10, "[ds] t/t.vmdk"), card(4000, network("old")), card(4001, network("old"))},
			network:   network("new"),
			datastore: reference("Datastore", "datastore-1"),
		}
	})

	It("should make the machine with one task: disks, network, size and power", func() {
		p.spec.MemoryReservationLockedToMax = true
		spec, err := p.cloneSpec("uuid", options(map[string]string{"k": "v"}))
		Expect(err).NotTo(HaveOccurred())
		Expect(spec.PowerOn).To(BeTrue())
		Expect(spec.Location.Pool.Value).To(Equal("resgroup-1"))
		Expect(spec.Location.Datastore.Value).To(Equal("datastore-1"))
		Expect(spec.Location.Profile).To(BeEmpty())
		Expect(spec.Config.Uuid).To(Equal("uuid"))
		Expect(spec.Config.NumCPUs).To(BeEquivalentTo(4))
		Expect(spec.Config.MemoryReservationLockedToMax).To(HaveValue(BeTrue()))
		Expect(spec.Config.ExtraConfig).To(ConsistOf(&types.OptionValue{Key: "k", Value: "v"}))

		changes := spec.Config.DeviceChange
		Expect(changes).To(HaveLen(5))
		edited := changes[0].GetVirtualDeviceConfigSpec()
		Expect(edited.Operation).To(Equal(types.VirtualDeviceConfigSpecOperationEdit))
		Expect(edited.Device).To(BeAssignableToTypeOf(&types.VirtualE1000{}))
		Expect(edited.Device.(*types.VirtualE1000).MacAddress).To(BeEmpty(), "that of the template must not be taken over")
		Expect(edited.Device.GetVirtualDevice().Backing).To(Equal(network("new")))
		Expect(changes[1].GetVirtualDeviceConfigSpec().Operation).To(Equal(types.VirtualDeviceConfigSpecOperationRemove))
		Expect(changes[2].GetVirtualDeviceConfigSpec().Device.(*types.VirtualDisk).CapacityInBytes).To(BeEquivalentTo(25 << 30))
		second := changes[4].GetVirtualDeviceConfigSpec()
		Expect(second.Device.GetVirtualDevice().UnitNumber).To(HaveValue(BeEquivalentTo(2)))
		Expect(second.Profile).To(ConsistOf(&types.VirtualMachineDefinedProfileSpec{ProfileId: "fast"}))
		Expect(disksOf(p.devices)[0].CapacityInKB).To(BeEquivalentTo(10*kibPerGiB), "the plan is shared")
	})

	It("should not shrink the root disk, and store all of it by the policy", func() {
		p.spec.RootDiskGiB = 5
		p.spec.StoragePolicyID = "gold"
		spec, err := p.cloneSpec("uuid", nil)
		Expect(err).NotTo(HaveOccurred())
		Expect(spec.Config.DeviceChange).To(HaveLen(4))
		gold := []types.BaseVirtualMachineProfileSpec{&types.VirtualMachineDefinedProfileSpec{ProfileId: "gold"}}
		Expect(spec.Location.Profile).To(Equal(gold))
		Expect(spec.Location.Disk).To(ConsistOf(And(HaveField("DiskId", BeEquivalentTo(2000)), HaveField("Profile", Equal(gold)))))
		Expect(spec.Config.DeviceChange[2].GetVirtualDeviceConfigSpec().Profile).To(Equal(gold))
	})

	It("should add a network card if the template has none, and leave out the controller's own unit", func() {
		p.devices = object.VirtualDeviceList{controller, disk(2000, 10, "[ds] t/t.vmdk")}
		Expect(p.cardChanges()[0].GetVirtualDeviceConfigSpec().Operation).To(Equal(types.VirtualDeviceConfigSpecOperationAdd))
		Expect(p.freeUnits(1000)).To(And(HaveLen(14), Not(ContainElement(BeEquivalentTo(7)))))
	})

	It("should say that there is no room for the data disks, and that a template has no disk", func() {
		p.spec.DataDisks = make([]v1alpha1.VSphereDataDisk, 15)
		_, err := p.cloneSpec("uuid", nil)
		Expect(platform.ClassOf(err)).To(Equal(platform.ClassConfiguration))
		p.devices = nil
		_, err = p.cloneSpec("uuid", nil)
		Expect(err).To(MatchError("template vm-1 has no disk"))
	})

	DescribeTable("should see what a virtual machine lacks", func(change func(*types.VirtualMachineConfigInfo), mismatch string) {
		vm := &virtualMachine{VirtualMachine: &client.VirtualMachine{VirtualMachine: mo.VirtualMachine{Config: &types.VirtualMachineConfigInfo{
			Files: types.VirtualMachineFileInfo{VmPathName: "[ds] m/m.vmx"},
			Hardware: types.VirtualHardware{NumCPU: 4, MemoryMB: 8192, Device: object.VirtualDeviceList{
				disk(2002, 8, "[ds] m/m_2.vmdk"), disk(2001, 7, "[ds] m/m_1.vmdk"), disk(2000, 25, "[ds] m/m.vmdk"), disk(2003, 1,
					"[ds] fcd/v.vmdk"), card(4000, network("new")),
			}},
		}}}}
		vm.Name = "m"
		change(vm.Config)
		if mismatch == "" {
			Expect(p.specMismatch(vm)).To(BeEmpty())
			return
		}
		Expect(p.specMismatch(vm)).To(ContainSubstring(mismatch))
	},
		Entry("nothing", func(*types.VirtualMachineConfigInfo) {}, ""),
		Entry("a CPU", func(c *types.VirtualMachineConfigInfo) { c.Hardware.NumCPU = 3 }, "3 CPUs"),
		Entry("memory", func(c *types.VirtualMachineConfigInfo) { c.Hardware.MemoryMB = 1 }, "1 MiB"),
		Entry("a disk", func(c *types.VirtualMachineConfigInfo) { c.Hardware.Device = c.Hardware.Device[1:] }, "it has 2 disks instead of 3"),
		Entry("the size of a disk", func(c *types.VirtualMachineConfigInfo) { c.Hardware.Device[2] = disk(2000, 10, "[ds] m/m.vmdk") }, "disk 0"),
		Entry("the network", func(c *types.VirtualMachineConfigInfo) { c.Hardware.Device[4] = card(4000, network("old")) },
			"not in network dvportgroup-1"),
		Entry("the network card", func(c *types.VirtualMachineConfigInfo) { c.Hardware.Device = c.Hardware.Device[:4] }, "0 network cards"),
	)

	DescribeTable("should tell the disks of a machine from those of others", func(change func(*types.VirtualDisk), file string, foreign bool) {
		vm := &virtualMachine{VirtualMachine: &client.VirtualMachine{}}
		vm.Config = &types.VirtualMachineConfigInfo{Files: types.VirtualMachineFileInfo{VmPathName: "[ds] m/m.vmx"}}
		vm.Name = "m"
		d := disk(2001, 1, file)
		change(d)
		Expect(vm.isForeign(d)).To(Equal(foreign))
	},
		Entry("its own", func(*types.VirtualDisk) {}, "[ds] m/m_1.vmdk", false),
		Entry("its own on another datastore", func(*types.VirtualDisk) {}, "[ds2] m/m_1.vmdk", false),
		Entry("one in another folder", func(*types.VirtualDisk) {}, "[ds] fcd/v.vmdk", true),
		Entry("a First Class Disk", func(d *types.VirtualDisk) { d.VDiskId = &types.ID{Id: "v"} }, "[ds] m/m_1.vmdk", true),
		Entry("an independent one", func(d *types.VirtualDisk) {
			d.Backing.(*types.VirtualDiskFlatVer2BackingInfo).DiskMode = string(types.VirtualDiskModeIndependent_persistent)
		}, "[ds] m/m_1.vmdk", true),
	)
})

var _ = Describe("extraConfig", func() {
	request := func(format v1alpha1.UserDataFormat) platform.MachineRequest {
		return platform.MachineRequest{Name: "m", UserData: []byte("#!/bin/sh"),
			Spec: &v1alpha1.MachineProviderSpec{UserDataFormat: format, VSphere: &v1alpha1.VSphereMachineSpec{
				ExtraConfig: map[string]string{"own": "1"}, AntiAffinityRule: "apart",
			}}}
	}
	o := owner.Owner{Shoot: "shoot--p--n", Site: "vc"}

	It("should give cloud-init its user data and metadata, and keep the marks", func() {
		config, err := extraConfig(request(""), o, "uuid")
		Expect(err).NotTo(HaveOccurred())
		Expect(config).To(And(
			HaveKeyWithValue("own", "1"), HaveKeyWithValue("gardener.shoot", "shoot--p--n"), HaveKeyWithValue("gardener.site",
				"vc"), HaveKeyWithValue("gardener.rule", "apart"), HaveKeyWithValue("gardener.machine", "m"),
			HaveKeyWithValue("disk.EnableUUID", "TRUE"), HaveKeyWithValue("guestinfo.userdata.encoding",
				"base64"), HaveKeyWithValue("guestinfo.metadata.encoding", "base64"),
			Not(HaveKey("guestinfo.ignition.config.data")),
		))
		Expect(base64.StdEncoding.DecodeString(config["guestinfo.userdata"])).To(BeEquivalentTo("#!/bin/sh"))
		Expect(base64.StdEncoding.DecodeString(config["guestinfo.metadata"])).To(MatchJSON(`{"instance-id": "uuid", "local-hostname": "m"}`))
	})

	It("should give Ignition its config", func() {
		config, err := extraConfig(request(v1alpha1.UserDataFormatIgnition), o, "uuid")
		Expect(err).NotTo(HaveOccurred())
		Expect(config).To(And(HaveKeyWithValue("guestinfo.ignition.config.data.encoding", "base64"), Not(HaveKey("guestinfo.metadata"))))
		Expect(base64.StdEncoding.DecodeString(config["guestinfo.ignition.config.data"])).To(BeEquivalentTo("#!/bin/sh"))
	})

	Context("with an address from a pool", func() {
		given := &network{mac: "00:50:56:00:00:01", dnsServers: []string{"192.0.2.53"}, mtu: 1450,
			address: ipam.Address{IP: netip.MustParsePrefix("10.20.1.7/16"), Gateway: netip.MustParseAddr("10.20.0.1")}}

		It("should give cloud-init its network in the metadata", func() {
			guest, err := guestInfo(request(""), "uuid", given)
			Expect(err).NotTo(HaveOccurred())
			Expect(base64.StdEncoding.DecodeString(guest["guestinfo.metadata"])).To(MatchJSON(`{
				"instance-id": "uuid", "local-hostname": "m",
				"network": {"version": 2, "ethernets": {"eth0": {
					"match": {"macaddress": "00:50:56:00:00:01"}, "set-name": "eth0", "dhcp4": false, "dhcp6": false, "mtu": 1450,
					"addresses": ["10.20.1.7/16"], "routes": [{"to": "0.0.0.0/0", "via": "10.20.0.1"}],
					"nameservers": {"addresses": ["192.0.2.53"]}
				}}}}`))
		})

		It("should give Ignition a file of systemd-networkd", func() {
			r := request(v1alpha1.UserDataFormatIgnition)
			r.UserData = []byte(`{"ignition":{"version":"3.3.0"}}`)
			guest, err := guestInfo(r, "uuid", given)
			Expect(err).NotTo(HaveOccurred())
			raw, err := base64.StdEncoding.DecodeString(guest["guestinfo.ignition.config.data"])
			Expect(err).NotTo(HaveOccurred())
			var config ignition.Config
			Expect(json.Unmarshal(raw, &config)).To(Succeed())
			Expect(config.Ignition.Config.Merge).To(ConsistOf(ignition.Data(r.UserData)))
			Expect(config.Storage.Files).To(ConsistOf(ignition.NewFile("/etc/systemd/network/00-node.network", 0o644, []byte(
				"[Match]\nMACAddress=00:50:56:00:00:01\n[Link]\nMTUBytes=1450\n[Network]\nAddress=10.20.1.7/16\nGateway=10.20.0.1\n"+
					"DNS=192.0.2.53\n"))))
		})

		It("should have no route without a gateway, and one of IPv6 for IPv6", func() {
			Expect((&network{address: ipam.Address{IP: netip.MustParsePrefix("10.20.1.7/16")}}).cloudInit().Ethernets["eth0"].Routes).To(BeEmpty())
			Expect((&network{address: ipam.Address{IP: netip.MustParsePrefix("fd00::7/64"), Gateway: netip.MustParseAddr("fd00::1")}}).cloudInit().
				Ethernets["eth0"].Routes).To(ConsistOf(route{To: "::/0", Via: "fd00::1"}))
		})
	})

	It("should refuse keys that forge marks and user data, or are never allowed", func() {
		for _, key := range []string{"gardener.shoot", "GuestInfo.userdata", " guestinfo.x", "RemoteDisplay.vnc.enabled",
			"debugStub.listen.guest64", "scsi0:1.fileName", "a b", ""} {
			r := request("")
			r.Spec.VSphere.ExtraConfig[key] = "x"
			_, err := extraConfig(r, o, "uuid")
			Expect(platform.ClassOf(err)).To(Equal(platform.ClassConfiguration), key)
		}
	})

	It("should refuse user data that a guest cannot read", func() {
		r := request("")
		r.UserData = make([]byte, maxUserData+1)
		_, err := extraConfig(r, o, "uuid")
		Expect(platform.ClassOf(err)).To(Equal(platform.ClassConfiguration))
	})
})

var _ = Describe("ruleChange", func() {
	vm := func(id string) types.ManagedObjectReference { return reference("VirtualMachine", id) }
	rule := &types.ClusterAntiAffinityRuleSpec{ClusterRuleInfo: types.ClusterRuleInfo{Key: 7, Name: "apart"},
		Vm: []types.ManagedObjectReference{vm("a"), vm("b")}}

	It("should begin with two machines, follow them, and end with the last but one", func() {
		Expect(ruleChange(nil, "apart", []types.ManagedObjectReference{vm("a")})).To(BeNil())
		Expect(ruleChange(nil, "apart", rule.Vm).Operation).To(Equal(types.ArrayUpdateOperationAdd))
		Expect(ruleChange(rule, "apart", []types.ManagedObjectReference{vm("b"), vm("a")})).To(BeNil())
		edit := ruleChange(rule, "apart", []types.ManagedObjectReference{vm("b"), vm("c")})
		Expect(edit.Operation).To(Equal(types.ArrayUpdateOperationEdit))
		Expect(edit.Info.(*types.ClusterAntiAffinityRuleSpec).Key).To(BeEquivalentTo(7))
		Expect(rule.Vm).To(HaveLen(2), "what was read is not changed")
		remove := ruleChange(rule, "apart", []types.ManagedObjectReference{vm("b")})
		Expect(remove.Operation).To(Equal(types.ArrayUpdateOperationRemove))
		Expect(remove.RemoveKey).To(BeEquivalentTo(7))
	})
})

var _ = Describe("VolumeID", func() {
	It("should know the volumes of the CSI driver only", func() {
		part := New(nil)
		volume := &corev1.PersistentVolumeSpec{}
		volume.CSI = &corev1.CSIPersistentVolumeSource{Driver: "csi.vsphere.vmware.com", VolumeHandle: "v"}
		id, ok := part.VolumeID(volume)
		Expect(ok).To(BeTrue())
		Expect(id).To(Equal("v"))
		volume.CSI.Driver = "cinder.csi.openstack.org"
		_, ok = part.VolumeID(volume)
		Expect(ok).To(BeFalse())
	})
})
