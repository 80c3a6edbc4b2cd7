// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package hardware_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"github.com/container-storage-interface/spec/lib/go/csi"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/userdata"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/hardware"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/registry"
	"github.com/gardener/gardener-extension-provider-hybrid/test/skip"
	"github.com/gardener/gardener-extension-provider-hybrid/test/suite"
)

const (
	registryHost = "registry.example.com"
	driverImage  = "cinder-csi-plugin-hybrid"
	driverPort   = "9"
	volumeID     = "6d1a6f0e-6b1c-4f7e-9d55-0c5c9b4f9a11"
	volumesDir   = "/var/lib/kubelet/volumes"
	mebibyte     = 1 << 20
)

var _ = suite.Nightly("Images of a release", Ordered, func() {
	var (
		rack    *hardware.Rack
		machine *hardware.Machine
		images  *registry.Registry
		digests = struct{ Images map[string]string }{}
		address string
	)

	run := func(ctx context.Context, command string) string {
		GinkgoHelper()
		return runIn(ctx, address, command)
	}
	reference := func(image string) string {
		return registryHost + "/hybrid/" + image + "@" + digests.Images[image]
	}

	BeforeAll(func(ctx SpecContext) {
		release := filepath.Join(landscape.Root(), "hack", "bin", "release", "oci")
		content, err := os.ReadFile(filepath.Join(release, "digests.json"))
		if os.IsNotExist(err) {
			skip.Because("hack/pages.sh makes the release whose images are run")
		}
		Expect(err).NotTo(HaveOccurred())
		Expect(json.Unmarshal(content, &digests)).To(Succeed())
		images, err = registry.New(GinkgoT().TempDir(), registryHost)
		Expect(err).NotTo(HaveOccurred())

		rack, machine, err = newMachine(GinkgoT().TempDir())
		DeferCleanup(func() { Expect(rack.Close()).To(Succeed()) })
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(func() {
			if CurrentSpecReport().Failed() {
				GinkgoWriter.Println(machine.Console(60))
			}
		})
		gateway := rack.Network.Gateway
		address = gateway.Next().String()
		listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", net.JoinHostPort(gateway.String(), "443"))
		Expect(err).NotTo(HaveOccurred())
		images.Serve(listener, (&net.Dialer{}).DialContext)
		DeferCleanup(func() { Expect(images.Stop()).To(Or(Succeed(), MatchError(http.ErrServerClosed))) })
		Expect(images.Push(ctx, release, "hybrid")).To(Succeed())

		data, err := userdata.ForMachine(&v1alpha1.MachineProviderSpec{NodeSettings: &v1alpha1.NodeSettings{CABundle: images.Authority}},
			[]byte(shell+fmt.Sprintf("echo %s %s >>/etc/hosts\n", gateway, registryHost)))
		Expect(err).NotTo(HaveOccurred())
		Expect(machine.Provision(driveOf("node-a", address, data))).To(Succeed())
		Expect(machine.PowerOn()).To(Succeed())
		run(ctx, "systemctl start containerd")
	}, NodeTimeout(bootTime))

	It("should be pulled by their digests and run with a root file system that is read-only, as the user they name", func(ctx SpecContext) {
		Expect(digests.Images).NotTo(BeEmpty())
		for image := range digests.Images {
			output := run(ctx, fmt.Sprintf(`ctr image pull %[1]s >/tmp/pull 2>&1 || cat /tmp/pull
				ctr container create --read-only %[1]s %[2]s /%[2]s --help
				ctr container info %[2]s | tr -d ' \n' | grep -o '"uid":[0-9]*'
				ctr task start %[2]s 2>&1; echo "exit code $?"; ctr container rm %[2]s`, reference(image), image))
			user := `"uid":65532`
			if image == driverImage {
				user = `"uid":0` // It mounts.
			}
			Expect(output).To(And(HavePrefix(user), MatchRegexp(`Usage(:| of)`), MatchRegexp(`exit code [02]`)), image)
		}
	}, NodeTimeout(bootTime))

	It("should serve volumes on the node: format, mount, fill, unmount, grow", func(ctx SpecContext) {
		// A device under the name that a volume of OpenStack has, and what the DaemonSet mounts.
		run(ctx, fmt.Sprintf(`truncate -s 256M /var/lib/device; mkdir -p /dev/disk/by-id %s /var/lib/csi
			ln -s $(losetup --find --show /var/lib/device) /dev/disk/by-id/virtio-%.20s
			mount --bind /var/lib/kubelet /var/lib/kubelet; mount --make-shared /var/lib/kubelet`, volumesDir, volumeID))
		Expect(run(ctx, fmt.Sprintf(`ctr run --detach --net-host --privileged --read-only --rootfs-propagation rshared \
			--mount type=bind,src=/var/lib/kubelet,dst=/var/lib/kubelet,options=rbind:rshared:rw \
			--mount type=bind,src=/dev,dst=/dev,options=rbind:rslave:rw --mount type=bind,src=/tmp,dst=/tmp,options=rbind:rw \
			%s driver /%s --endpoint=tcp://0.0.0.0:%s --provide-controller-service=false 2>&1`,
			reference(driverImage), driverImage, driverPort))).To(BeEmpty())

		conn, err := grpc.NewClient(net.JoinHostPort(address, driverPort), grpc.WithTransportCredentials(insecure.NewCredentials()),
			grpc.WithDefaultCallOptions(grpc.WaitForReady(true)))
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(conn.Close)
		node := csi.NewNodeClient(conn)
		stage, target := volumesDir+"/stage", volumesDir+"/target"
		run(ctx, "mkdir -p "+stage)
		capability := &csi.VolumeCapability{
			AccessType: &csi.VolumeCapability_Mount{Mount: &csi.VolumeCapability_MountVolume{FsType: "ext4"}},
			AccessMode: &csi.VolumeCapability_AccessMode{Mode: csi.VolumeCapability_AccessMode_SINGLE_NODE_WRITER},
		}
		publish := func() {
			GinkgoHelper()
			_, err := node.NodeStageVolume(ctx, &csi.NodeStageVolumeRequest{
				VolumeId: volumeID, StagingTargetPath: stage, VolumeCapability: capability})
			Expect(err).NotTo(HaveOccurred())
			_, err = node.NodePublishVolume(ctx, &csi.NodePublishVolumeRequest{
				VolumeId: volumeID, StagingTargetPath: stage, TargetPath: target, VolumeCapability: capability})
			Expect(err).NotTo(HaveOccurred())
		}
		unpublish := func() {
			GinkgoHelper()
			_, err := node.NodeUnpublishVolume(ctx, &csi.NodeUnpublishVolumeRequest{VolumeId: volumeID, TargetPath: target})
			Expect(err).NotTo(HaveOccurred())
			_, err = node.NodeUnstageVolume(ctx, &csi.NodeUnstageVolumeRequest{VolumeId: volumeID, StagingTargetPath: stage})
			Expect(err).NotTo(HaveOccurred())
		}
		size := func() int64 {
			GinkgoHelper()
			stats, err := node.NodeGetVolumeStats(ctx, &csi.NodeGetVolumeStatsRequest{VolumeId: volumeID, VolumePath: target})
			Expect(err).NotTo(HaveOccurred())
			for _, usage := range stats.Usage {
				if usage.Unit == csi.VolumeUsage_BYTES {
					return usage.Total
				}
			}
			Fail("The volume has no size.")
			return 0
		}

		publish()
		Expect(run(ctx, "findmnt -no FSTYPE "+target+" | uniq && echo kept >"+target+"/file")).To(Equal("ext4"), "the node sees the mount")
		Expect(size()).To(BeNumerically("~", 240*mebibyte, 16*mebibyte))
		unpublish()
		Expect(run(ctx, "findmnt -no FSTYPE "+stage+" "+target+"; ls "+stage)).To(BeEmpty())

		publish()
		run(ctx, "truncate -s 512M /var/lib/device; losetup --set-capacity $(losetup --noheadings --output NAME)")
		_, err = node.NodeExpandVolume(ctx, &csi.NodeExpandVolumeRequest{VolumeId: volumeID, VolumePath: target, StagingTargetPath: stage,
			CapacityRange: &csi.CapacityRange{RequiredBytes: 512 * mebibyte}, VolumeCapability: capability})
		Expect(err).NotTo(HaveOccurred())
		Expect(size()).To(BeNumerically(">", 460*mebibyte))
		Expect(run(ctx, "cat "+target+"/file")).To(Equal("kept"))
		unpublish()
	}, NodeTimeout(bootTime))

	It("should have the tools for other file systems", func(ctx SpecContext) {
		for _, tool := range []string{"mkfs.ext3", "mkfs.xfs", "mkfs.btrfs", "xfs_repair", "btrfs"} {
			output := run(ctx, fmt.Sprintf(
				"ctr task exec --exec-id %[1]s driver %[1]s --version 2>&1 || ctr task exec --exec-id %[1]s2 driver %[1]s -V 2>&1", tool))
			Expect(strings.ToLower(output)).To(MatchRegexp(`(version|mke2fs|v)\s*[0-9]+\.[0-9]+`), tool)
		}
	}, NodeTimeout(bootTime))
})
