// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package boot_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"strings"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	client "github.com/gophercloud/gophercloud/v2/openstack"
	"github.com/gophercloud/gophercloud/v2/openstack/blockstorage/v3/volumes"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/flavors"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/volumeattach"
	"github.com/gophercloud/gophercloud/v2/openstack/image/v2/imagedata"
	"github.com/gophercloud/gophercloud/v2/openstack/image/v2/images"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/external"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/floatingips"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/routers"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/security/groups"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/security/rules"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/networks"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/ports"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/subnets"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/hardware"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/openstack"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/openstack/boot"
	"github.com/gardener/gardener-extension-provider-hybrid/test/suite"
)

const (
	startTime = 10 * time.Minute
	bootTime  = 4 * time.Minute
	// flowTime is the time that a change of the network may take, and the agents need while the machine boots.
	flowTime = time.Minute
	dialTime = 2 * time.Second

	shellPort = 7
	gateway   = "10.9.0.1"
)

// shell is user data: a shell that listens, so that specs can look inside.
const shell = `#!/bin/sh
cat >/etc/systemd/system/shell.service <<END
[Service]
ExecStart=socat TCP-LISTEN:7,reuseaddr,fork EXEC:/bin/sh
[Install]
WantedBy=multi-user.target
END
systemctl enable --now shell
echo "user data of $(hostname) after $(cut -d' ' -f1 /proc/uptime) s" >/dev/console
`

var _ = suite.Nightly("Servers", Ordered, func() {
	var (
		rack    *hardware.Rack
		booted  *boot.Servers
		compute *gophercloud.ServiceClient
		network *gophercloud.ServiceClient
		image   *gophercloud.ServiceClient
		block   *gophercloud.ServiceClient
		options servers.CreateOpts
		port    *ports.Port
		group   *groups.SecGroup
		volume  *volumes.Volume
		address string
		id      string
	)

	BeforeAll(func(ctx SpecContext) {
		dir := GinkgoT().TempDir()
		var err error
		rack, err = hardware.NewRack(filepath.Join(dir, "rack"))
		DeferCleanup(func() error { return rack.Close() })
		Expect(err).NotTo(HaveOccurred())
		socket := filepath.Join(dir, "machines.sock")
		booted, err = boot.Start(rack, socket)
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(func() error { return booted.Stop() })

		bed := openstack.NewMachinesBed(filepath.Join(dir, "openstack"), socket)
		DeferCleanup(func(ctx SpecContext) error { return bed.Stop(ctx, GinkgoWriter) }, NodeTimeout(startTime))
		_, err = bed.Start(ctx, GinkgoWriter)
		Expect(err).NotTo(HaveOccurred())
		credentials, err := bed.Credentials(openstack.Projects[0])
		Expect(err).NotTo(HaveOccurred())
		provider, err := client.AuthenticatedClient(ctx, gophercloud.AuthOptions{
			IdentityEndpoint: credentials.AuthURL, Username: credentials.Username, Password: credentials.Password,
			DomainName: credentials.Domain, TenantName: credentials.Project,
		})
		Expect(err).NotTo(HaveOccurred())
		region := gophercloud.EndpointOpts{Region: credentials.Region}
		compute, err = client.NewComputeV2(provider, region)
		Expect(err).NotTo(HaveOccurred())
		network, err = client.NewNetworkV2(provider, region)
		Expect(err).NotTo(HaveOccurred())
		image, err = client.NewImageV2(provider, region)
		Expect(err).NotTo(HaveOccurred())
		block, err = client.NewBlockStorageV3(provider, region)
		Expect(err).NotTo(HaveOccurred())

		DeferCleanup(func() {
			if machine := booted.Machine(id); machine != nil && CurrentSpecReport().Failed() {
				GinkgoWriter.Println(machine.Console(60))
			}
		})
	}, NodeTimeout(startTime))

	// public is the ID of the external network.
	public := func(ctx context.Context) string {
		GinkgoHelper()
		pages, err := networks.List(network, external.ListOptsExt{ListOptsBuilder: networks.ListOpts{Name: "public"}}).AllPages(ctx)
		Expect(err).NotTo(HaveOccurred())
		found, err := networks.ExtractNetworks(pages)
		Expect(err).NotTo(HaveOccurred())
		Expect(found).To(HaveLen(1))
		return found[0].ID
	}
	status := func(ctx context.Context) (string, error) {
		server, err := servers.Get(ctx, compute, id).Extract()
		if err != nil {
			return "", err
		}
		if server.Status == "ERROR" {
			return "", StopTrying(server.Fault.Message)
		}
		return server.Status, nil
	}
	volumeStatus := func(ctx context.Context) (string, error) {
		found, err := volumes.Get(ctx, block, volume.ID).Extract()
		if err != nil {
			return "", err
		}
		return found.Status, nil
	}
	attach := func(ctx context.Context) {
		GinkgoHelper()
		Expect(volumeattach.Create(ctx, compute, id, volumeattach.CreateOpts{VolumeID: volume.ID}).Extract()).Error().NotTo(HaveOccurred())
		Eventually(ctx, volumeStatus, flowTime, time.Second).WithContext(ctx).Should(Equal("in-use"))
	}
	dial := func(ctx context.Context) (net.Conn, error) {
		ctx, cancel := context.WithTimeout(ctx, dialTime)
		defer cancel()
		var dialer net.Dialer
		return dialer.DialContext(ctx, "tcp", fmt.Sprintf("%s:%d", address, shellPort))
	}
	reach := func(ctx context.Context) error {
		conn, err := dial(ctx)
		if err != nil {
			return err
		}
		return conn.Close()
	}
	// run runs a command in the server, as soon as that listens, and returns what it printed.
	run := func(ctx context.Context, command string) string {
		GinkgoHelper()
		Eventually(ctx, reach, bootTime, time.Second).WithContext(ctx).Should(Succeed())
		conn, err := dial(ctx)
		Expect(err).NotTo(HaveOccurred())
		defer func() { _ = conn.Close() }()
		_, err = io.WriteString(conn, command+"; exit\n")
		Expect(err).NotTo(HaveOccurred())
		Expect(conn.SetDeadline(time.Now().Add(bootTime))).To(Succeed())
		out, err := io.ReadAll(conn)
		Expect(err).NotTo(HaveOccurred())
		return strings.TrimSpace(string(out))
	}
	bootID := func(ctx context.Context) string {
		GinkgoHelper()
		return run(ctx, "cat /proc/sys/kernel/random/boot_id")
	}
	imageNamed := func(ctx context.Context, name string) string {
		GinkgoHelper()
		pages, err := images.List(image, images.ListOpts{Name: name}).AllPages(ctx)
		Expect(err).NotTo(HaveOccurred())
		found, err := images.ExtractImages(pages)
		Expect(err).NotTo(HaveOccurred())
		Expect(found).To(HaveLen(1))
		return found[0].ID
	}

	It("should boot with the address of their port, the config drive of Nova, and the network of Neutron's agents", func(ctx SpecContext) {
		nodes, err := networks.Create(ctx, network, networks.CreateOpts{Name: "nodes"}).Extract()
		Expect(err).NotTo(HaveOccurred())
		subnet, err := subnets.Create(ctx, network, subnets.CreateOpts{NetworkID: nodes.ID, IPVersion: gophercloud.IPv4, CIDR: "10.9.0.0/24"}).
			Extract()
		Expect(err).NotTo(HaveOccurred())
		router, err := routers.Create(ctx, network, routers.CreateOpts{Name: "nodes",
			GatewayInfo: &routers.GatewayInfo{NetworkID: public(ctx)}}).Extract()
		Expect(err).NotTo(HaveOccurred())
		_, err = routers.AddInterface(ctx, network, router.ID, routers.AddInterfaceOpts{SubnetID: subnet.ID}).Extract()
		Expect(err).NotTo(HaveOccurred())
		group, err = groups.Create(ctx, network, groups.CreateOpts{Name: "nodes"}).Extract()
		Expect(err).NotTo(HaveOccurred())
		port, err = ports.Create(ctx, network, ports.CreateOpts{NetworkID: nodes.ID, SecurityGroups: &[]string{group.ID}}).Extract()
		Expect(err).NotTo(HaveOccurred())
		floating, err := floatingips.Create(ctx, network, floatingips.CreateOpts{FloatingNetworkID: public(ctx), PortID: port.ID}).Extract()
		Expect(err).NotTo(HaveOccurred())
		address = floating.FloatingIP

		pages, err := flavors.ListDetail(compute, nil).AllPages(ctx)
		Expect(err).NotTo(HaveOccurred())
		known, err := flavors.ExtractFlavors(pages)
		Expect(err).NotTo(HaveOccurred())
		options = servers.CreateOpts{Name: "node-a", ImageRef: imageNamed(ctx, "gardenlinux"), UserData: []byte(shell),
			Networks: []servers.Network{{Port: port.ID}}}
		for _, flavor := range known {
			if flavor.Name == "m1.tiny" {
				options.FlavorRef = flavor.ID
			}
		}
		begin := time.Now()
		server, err := servers.Create(ctx, compute, options, nil).Extract()
		Expect(err).NotTo(HaveOccurred())
		id = server.ID
		Eventually(ctx, status, bootTime, time.Second).WithContext(ctx).Should(Equal("ACTIVE"))
		AddReportEntry("active", time.Since(begin).String())
		Eventually(ctx, func() string { return booted.Machine(id).Console(200) }, bootTime, time.Second).
			Should(ContainSubstring("user data of node-a after "))
		AddReportEntry("user data", time.Since(begin).String())
	}, SpecTimeout(startTime))

	It("should be reached only where a rule of their security group allows it", func(ctx SpecContext) {
		Consistently(ctx, reach, 3*dialTime, time.Second).WithContext(ctx).ShouldNot(Succeed())
		rule, err := rules.Create(ctx, network, rules.CreateOpts{SecGroupID: group.ID, Direction: rules.DirIngress, EtherType: rules.EtherType4,
			Protocol: rules.ProtocolTCP, PortRangeMin: shellPort, PortRangeMax: shellPort}).Extract()
		Expect(err).NotTo(HaveOccurred())
		Eventually(ctx, reach, flowTime, time.Second).WithContext(ctx).Should(Succeed())
		Expect(run(ctx, "hostname; hostname -I; ip -4 route show default")).To(MatchRegexp(
			`^node-a\n%s\s*\ndefault via %s .*$`, port.FixedIPs[0].IPAddress, gateway))

		Expect(rules.Delete(ctx, network, rule.ID).ExtractErr()).To(Succeed())
		Eventually(ctx, reach, flowTime, time.Second).WithContext(ctx).ShouldNot(Succeed())
		_, err = rules.Create(ctx, network, rules.CreateOpts{SecGroupID: group.ID, Direction: rules.DirIngress, EtherType: rules.EtherType4}).
			Extract()
		Expect(err).NotTo(HaveOccurred())
		Eventually(ctx, reach, flowTime, time.Second).WithContext(ctx).Should(Succeed())
	}, SpecTimeout(startTime))

	DescribeTable("should boot again when Nova reboots them", func(ctx SpecContext, method servers.RebootMethod) {
		before := bootID(ctx)
		run(ctx, "echo kept >/root/kept; sync")
		Expect(servers.Reboot(ctx, compute, id, servers.RebootOpts{Type: method}).ExtractErr()).To(Succeed())
		Eventually(ctx, status, bootTime, time.Second).WithContext(ctx).Should(Equal("ACTIVE"))
		Expect(bootID(ctx)).NotTo(Equal(before))
		Expect(run(ctx, "cat /root/kept")).To(Equal("kept"))
	},
		Entry("softly", servers.SoftReboot, SpecTimeout(startTime)),
		Entry("hard", servers.HardReboot, SpecTimeout(startTime)),
	)

	It("should have a volume while it is attached, also after a reboot", func(ctx SpecContext) {
		var err error
		volume, err = volumes.Create(ctx, block, volumes.CreateOpts{Size: 1}, nil).Extract()
		Expect(err).NotTo(HaveOccurred())
		Eventually(ctx, volumeStatus, flowTime, time.Second).WithContext(ctx).Should(Equal("available"))
		bootID(ctx)
		attach(ctx)
		device := fmt.Sprintf("/dev/disk/by-id/virtio-%.20s", volume.ID)
		Eventually(ctx, run, flowTime, time.Second).WithArguments("readlink -e " + device).ShouldNot(BeEmpty())
		Expect(run(ctx, fmt.Sprintf("mkfs.ext4 -q %[1]s && mount %[1]s /mnt && echo kept >/mnt/kept && sync; blockdev --getsize64 %[1]s",
			device))).To(Equal(fmt.Sprint(1 << 30)))
		before := bootID(ctx)
		Expect(servers.Reboot(ctx, compute, id, servers.RebootOpts{Type: servers.HardReboot}).ExtractErr()).To(Succeed())
		Eventually(ctx, status, bootTime, time.Second).WithContext(ctx).Should(Equal("ACTIVE"))
		Expect(bootID(ctx)).NotTo(Equal(before))
		Expect(run(ctx, "mount "+device+" /mnt; cat /mnt/kept; umount /mnt")).To(Equal("kept"))

		Expect(volumeattach.Delete(ctx, compute, id, volume.ID).ExtractErr()).To(Succeed())
		Eventually(ctx, volumeStatus, flowTime, time.Second).WithContext(ctx).Should(Equal("available"))
		Eventually(ctx, run, flowTime, time.Second).WithArguments("ls /dev/disk/by-id").ShouldNot(ContainSubstring("virtio"))
	}, SpecTimeout(startTime))

	It("should be off and on as Nova says, and Nova should say what they are", func(ctx SpecContext) {
		Expect(servers.Stop(ctx, compute, id).ExtractErr()).To(Succeed())
		Eventually(ctx, status, bootTime, time.Second).WithContext(ctx).Should(Equal("SHUTOFF"))
		Expect(booted.Machine(id).On()).To(BeFalse())
		Expect(servers.Start(ctx, compute, id).ExtractErr()).To(Succeed())
		Eventually(ctx, status, bootTime, time.Second).WithContext(ctx).Should(Equal("ACTIVE"))
		run(ctx, "systemctl poweroff")
		Eventually(ctx, status, bootTime, time.Second).WithContext(ctx).Should(Equal("SHUTOFF"))
	}, SpecTimeout(startTime))

	It("should be refused where they could not boot", func(ctx SpecContext) {
		other, err := images.Create(ctx, image, images.CreateOpts{Name: "other", DiskFormat: "raw", ContainerFormat: "bare"}).Extract()
		Expect(err).NotTo(HaveOccurred())
		Expect(imagedata.Upload(ctx, image, other.ID, strings.NewReader("nothing")).ExtractErr()).To(Succeed())
		wrong := options
		wrong.Name, wrong.ImageRef, wrong.Networks = "node-b", other.ID, []servers.Network{{UUID: port.NetworkID}}
		server, err := servers.Create(ctx, compute, wrong, nil).Extract()
		Expect(err).NotTo(HaveOccurred())
		Eventually(ctx, func() (*servers.Server, error) {
			return servers.Get(ctx, compute, server.ID).Extract()
		}, bootTime, time.Second).Should(And(
			HaveField("Status", "ERROR"), HaveField("Fault.Message", ContainSubstring("machines do not boot it"))))
	}, SpecTimeout(startTime))

	It("should leave no disk when they are deleted, and their volumes", func(ctx SpecContext) {
		attach(ctx)
		disk := booted.Machine(id).Disk()
		Expect(disk).To(BeAnExistingFile())
		Expect(servers.Delete(ctx, compute, id).ExtractErr()).To(Succeed())
		Eventually(ctx, func() *hardware.Machine { return booted.Machine(id) }, bootTime, time.Second).Should(BeNil())
		Eventually(disk, bootTime, time.Second).ShouldNot(BeAnExistingFile())
		Eventually(ctx, volumeStatus, flowTime, time.Second).WithContext(ctx).Should(Equal("available"))
		Expect(volumes.Delete(ctx, block, volume.ID, nil).ExtractErr()).To(Succeed())
	}, SpecTimeout(startTime))
})
