// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package boot_test

import (
	"context"
	"encoding/base64"
	"net/netip"
	"path/filepath"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/vmware/govmomi/find"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
	corev1 "k8s.io/api/core/v1"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/ipam"
	vsphereclient "github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/vsphere/client"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/vsphere/machines"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/hardware"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/metal"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/vcenter"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/vcenter/boot"
	"github.com/gardener/gardener-extension-provider-hybrid/test/suite"
)

const (
	bootTime = 8 * time.Minute
	look     = 200 * time.Millisecond
	id       = "420e1d6c-2a35-4f77-8c1d-1b0f7c9f0b11"

	// cloudInit and ignition say who they run on.
	cloudInit = "#!/bin/sh\ncd /sys/class/dmi/id\necho user data of $(hostname) on $(cat product_name product_uuid) >/dev/console\n"
	ignition  = `{"ignition": {"version": "3.3.0"}, "systemd": {"units": [{"name": "say.service", "enabled": true, "contents":
		"[Service]\nType=oneshot\nExecStart=/bin/sh -c 'echo ignited >/dev/console; systemctl --no-block poweroff'\n` +
		`[Install]\nWantedBy=multi-user.target\n"}]}}`
)

var _ = suite.Nightly("Virtual machines", Ordered, func() {
	var (
		server *vcenter.VCenter
		client *vim25.Client
		rack   *hardware.Rack
		guests *boot.Guests
		vm     *object.VirtualMachine
	)

	BeforeAll(func(ctx SpecContext) {
		dir := GinkgoT().TempDir()
		var err error
		rack, err = hardware.NewRack(filepath.Join(dir, "rack"))
		DeferCleanup(func() { Expect(rack.Close()).To(Succeed()) })
		Expect(err).NotTo(HaveOccurred())
		first := rack.Network.Gateway.Next()
		Expect(rack.ServeDHCP(first, first.Next().Next())).To(Succeed())
		server, err = vcenter.Start(ctx, dir, vcenter.Options{Machines: true})
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(func(ctx SpecContext) { server.Stop(ctx) })
		guests, err = boot.Start(ctx, server, map[string]*hardware.Rack{"/DC0/network/DC0_DVPG0": rack})
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(func() { guests.Stop() })
		client, err = server.Client(ctx)
		Expect(err).NotTo(HaveOccurred())
	}, NodeTimeout(bootTime))

	// clone makes a virtual machine of a template, and powers it on.
	clone := func(ctx context.Context, name, template, id string, info map[string]string) *object.VirtualMachine {
		GinkgoHelper()
		finder := find.NewFinder(client)
		from, err := finder.VirtualMachine(ctx, "/DC0/vm/"+template)
		Expect(err).NotTo(HaveOccurred())
		folder, err := finder.Folder(ctx, "/DC0/vm")
		Expect(err).NotTo(HaveOccurred())
		pool, err := finder.ResourcePool(ctx, "/DC0/host/DC0_C0/Resources")
		Expect(err).NotTo(HaveOccurred())
		config := &types.VirtualMachineConfigSpec{Uuid: id}
		for key, value := range info {
			config.ExtraConfig = append(config.ExtraConfig, &types.OptionValue{Key: key, Value: base64.StdEncoding.EncodeToString([]byte(value))},
				&types.OptionValue{Key: key + ".encoding", Value: "base64"})
		}
		task, err := from.Clone(ctx, folder, name, types.VirtualMachineCloneSpec{
			Location: types.VirtualMachineRelocateSpec{Pool: types.NewReference(pool.Reference())}, Config: config, PowerOn: true})
		Expect(err).NotTo(HaveOccurred())
		made, err := task.WaitForResult(ctx)
		Expect(err).NotTo(HaveOccurred())
		return object.NewVirtualMachine(client, made.Result.(types.ManagedObjectReference))
	}
	do := func(ctx context.Context, operation func(context.Context) (*object.Task, error)) {
		GinkgoHelper()
		task, err := operation(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(task.Wait(ctx)).To(Succeed())
	}
	// look is the virtual machine as the vCenter sees it.
	see := func(ctx context.Context) (found mo.VirtualMachine, err error) {
		err = vm.Properties(ctx, vm.Reference(), []string{"guest", "runtime.powerState", "config.hardware.device"}, &found)
		return found, err
	}
	powerState := func(ctx context.Context) (types.VirtualMachinePowerState, error) {
		found, err := see(ctx)
		return found.Runtime.PowerState, err
	}
	console := func(name string) func() string {
		return func() string {
			if machine := guests.Machine(name); machine != nil {
				return machine.Console(200)
			}
			return ""
		}
	}

	It("should boot with their guestinfo, and report the addresses that they have", func(ctx SpecContext) {
		vm = clone(ctx, "node-a", "gardenlinux-1877.4.0", id, map[string]string{
			"guestinfo.userdata": cloudInit, "guestinfo.metadata": `{"instance-id": "` + id + `", "local-hostname": "node-a"}`})
		Eventually(ctx, console("node-a"), bootTime, look).Should(ContainSubstring("user data of node-a on VMware7,1 " + id))
		Eventually(ctx, func(g Gomega) {
			found, err := see(ctx)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(found.Guest.ToolsRunningStatus).To(Equal(string(types.VirtualMachineToolsRunningStatusGuestToolsRunning)))
			g.Expect(found.Guest.HostName).To(Equal("node-a"))
			address, err := netip.ParseAddr(found.Guest.IpAddress)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(rack.Network.Prefix.Contains(address)).To(BeTrue())
			g.Expect(found.Guest.Net).To(ContainElement(And(HaveField("IpAddress", ContainElement(found.Guest.IpAddress)),
				HaveField("DeviceConfigId", BeNumerically(">=", 0)))))
		}, bootTime, look).Should(Succeed())
		Expect(guests.Check()).To(Succeed())
	}, NodeTimeout(bootTime))

	It("should boot again when they are reset", func(ctx SpecContext) {
		machine := guests.Machine("node-a")
		do(ctx, vm.Reset)
		Eventually(ctx, machine.Boots, bootTime, look).Should(Equal(2))
		Expect(machine.On()).To(BeTrue())
	}, NodeTimeout(bootTime))

	It("should be off when their guests have shut down", func(ctx SpecContext) {
		machine := guests.Machine("node-a")
		Eventually(ctx, func() error { return vm.ShutdownGuest(ctx) }, bootTime, look).Should(Succeed(), "tools run")
		Expect(powerState(ctx)).To(Equal(types.VirtualMachinePowerStatePoweredOn), "it takes its time")
		Eventually(ctx, func() (types.VirtualMachinePowerState, error) { return powerState(ctx) }, bootTime, look).Should(
			Equal(types.VirtualMachinePowerStatePoweredOff))
		Expect(machine.On()).To(BeFalse())
		Expect(machine.Console(20)).To(ContainSubstring("reboot: Power down"))
		Eventually(ctx, func(g Gomega) {
			found, err := see(ctx)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(found.Guest.ToolsRunningStatus).NotTo(Equal(string(types.VirtualMachineToolsRunningStatusGuestToolsRunning)))
			g.Expect(found.Guest.Net).To(BeEmpty())
		}).Should(Succeed())
	}, NodeTimeout(bootTime))

	It("should lose their power when they are powered off, and their disks when they are deleted", func(ctx SpecContext) {
		machine := guests.Machine("node-a")
		do(ctx, vm.PowerOn)
		Eventually(ctx, machine.On, bootTime, look).Should(BeTrue())
		do(ctx, vm.PowerOff)
		Eventually(ctx, machine.On, bootTime, look).Should(BeFalse())
		Expect(machine.Disk()).To(BeAnExistingFile())
		do(ctx, vm.Destroy)
		Eventually(ctx, func() *hardware.Machine { return guests.Machine("node-a") }, bootTime, look).Should(BeNil())
		Eventually(ctx, machine.Disk).ShouldNot(BeAnExistingFile())
	}, NodeTimeout(bootTime))

	It("should run Ignition, and be off when they switch themselves off", func(ctx SpecContext) {
		vm = clone(ctx, "node-b", "gardenlinux-1877.4.0", "", map[string]string{"guestinfo.ignition.config.data": ignition})
		Eventually(ctx, console("node-b"), bootTime, look).Should(ContainSubstring("ignited"))
		Eventually(ctx, func() (types.VirtualMachinePowerState, error) { return powerState(ctx) }, bootTime, look).Should(
			Equal(types.VirtualMachinePowerStatePoweredOff))
		do(ctx, vm.Destroy)
	}, NodeTimeout(bootTime))

	It("should have the address that the driver got from a pool, without DHCP", func(ctx SpecContext) {
		pools, err := metal.Start(ctx, metal.Options{Dir: GinkgoT().TempDir(), IPAM: true})
		DeferCleanup(pools.Stop)
		Expect(err).NotTo(HaveOccurred())
		given := rack.Network.Gateway
		for range 100 {
			given = given.Next()
		}
		Expect(pools.MakePool(ctx, metal.Pool{Name: "nodes", Addresses: []string{given.String()}, Prefix: rack.Network.Prefix.Bits(),
			Gateway: rack.Network.Gateway.String()})).To(Succeed())
		Expect(pools.Grant(ctx)).To(Succeed())
		token, err := pools.Token(ctx)
		Expect(err).NotTo(HaveOccurred())

		finder := find.NewFinder(client)
		id := func(object mo.Reference, err error) string {
			GinkgoHelper()
			Expect(err).NotTo(HaveOccurred())
			return object.Reference().Value
		}
		network, err := finder.Network(ctx, "/DC0/network/DC0_DVPG0")
		Expect(err).NotTo(HaveOccurred())
		request := platform.MachineRequest{
			Name:     "shoot--boot--a-1",
			UserData: []byte("#!/bin/sh\n{ ip -o -4 address show; ip route show default; resolvectl dns; } >/dev/console\n"),
			Credentials: site.Credentials{"username": vcenter.Username, "password": vcenter.Password,
				"token": token.SiteCredentials()["token"]},
			Spec: &v1alpha1.MachineProviderSpec{Site: "vc", Shoot: "shoot--boot--a", VSphere: &v1alpha1.VSphereMachineSpec{
				Connection: v1alpha1.VSphereConnection{Server: server.Address, TLS: &v1alpha1.TLS{CACert: server.CA},
					IPAM: &v1alpha1.VSphereIPAMConnection{Server: pools.Server(), Namespace: metal.Namespace, TLS: &v1alpha1.TLS{CACert: pools.CA()}}},
				Template:       id(finder.VirtualMachine(ctx, "/DC0/vm/gardenlinux-1877.4.0")),
				Datacenter:     id(finder.Datacenter(ctx, "/DC0")),
				ComputeCluster: id(finder.ClusterComputeResource(ctx, "/DC0/host/DC0_C0")),
				ResourcePool:   id(finder.ResourcePool(ctx, "/DC0/host/DC0_C0/Resources")),
				Folder:         id(finder.Folder(ctx, "/DC0/vm")),
				FolderPath:     "/DC0/vm",
				Datastore:      id(finder.Datastore(ctx, "/DC0/datastore/LocalDS_0")),
				Network:        v1alpha1.VSphereNetworkReference{Type: network.Reference().Type, ID: network.Reference().Value},
				CPUs:           1,
				MemoryMiB:      1024,
				Addresses: &v1alpha1.VSphereMachineAddresses{
					PoolRef:    corev1.TypedLocalObjectReference{APIGroup: new(ipam.Group), Kind: "GlobalInClusterIPPool", Name: "nodes"},
					Nodes:      []string{rack.Network.Prefix.String()},
					DNSServers: []string{"192.0.2.53"},
				},
			}},
		}
		sessions := vsphereclient.NewSessions(vsphereclient.Intervals{Idle: time.Hour, KeepAlive: time.Hour})
		DeferCleanup(sessions.Close)
		driver := machines.New(sessions)
		Eventually(ctx, func() error { _, err := driver.Create(ctx, request); return err }, bootTime, look).Should(Succeed())
		Eventually(ctx, console(request.Name), bootTime, look).Should(And(
			MatchRegexp(`eth0 +inet %s/%d `, given, rack.Network.Prefix.Bits()),
			ContainSubstring("default via %s dev eth0", rack.Network.Gateway),
			MatchRegexp(`\(eth0\): 192\.0\.2\.53`)))
		Eventually(ctx, func() error { return driver.Delete(ctx, request) }, bootTime, look).Should(Succeed())
		Eventually(ctx, func() (map[string]string, error) { return pools.Addresses(ctx) }, bootTime, look).Should(BeEmpty())
	}, NodeTimeout(bootTime))

	It("should be powered off if there is no image for them, or no network", func(ctx SpecContext) {
		vm = clone(ctx, "node-c", vcenter.Template, "", nil)
		Eventually(ctx, guests.Check, bootTime, look).Should(MatchError(ContainSubstring("virtual machine node-c: there is no image of")))
		Eventually(ctx, func() (types.VirtualMachinePowerState, error) { return powerState(ctx) }, bootTime, look).Should(
			Equal(types.VirtualMachinePowerStatePoweredOff))
		Expect(guests.Machine("node-c")).To(BeNil())
		do(ctx, vm.Destroy)
		Eventually(ctx, guests.Check, bootTime, look).Should(Succeed())
	}, NodeTimeout(bootTime))

	AfterEach(func() {
		if CurrentSpecReport().Failed() {
			for _, name := range []string{"node-a", "node-b", "shoot--boot--a-1"} {
				GinkgoWriter.Println(strings.TrimSpace(console(name)()))
			}
		}
	})
})
