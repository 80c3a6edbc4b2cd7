// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package machines_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"net"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"github.com/gophercloud/gophercloud/v2"
	client "github.com/gophercloud/gophercloud/v2/openstack"
	"github.com/gophercloud/gophercloud/v2/openstack/blockstorage/v3/volumes"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"golang.org/x/crypto/ssh"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	corev1 "k8s.io/api/core/v1"

	drivers "github.com/gardener/gardener-extension-provider-hybrid/pkg/csi"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/openstack"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/shoot"
)

const (
	volumeDriver = "cinder-csi-plugin-hybrid"
	// nodeService is where the node service listens on a node.
	nodeService = "127.0.0.1:10259"
	// anotherSite is the second project of OpenStack, in which the shoot has no machines.
	anotherSite = "another"

	stagePath, targetPath = "/var/lib/kubelet/stage", "/var/lib/kubelet/target"
	gibibyte              = 1 << 30
	dataSize              = 8 << 20
)

// capability is a file system for one node.
var capability = &csi.VolumeCapability{
	AccessType: &csi.VolumeCapability_Mount{Mount: &csi.VolumeCapability_MountVolume{FsType: "ext4"}},
	AccessMode: &csi.VolumeCapability_AccessMode{Mode: csi.VolumeCapability_AccessMode_SINGLE_NODE_WRITER},
}

// volumeNode is a node with the node service of the driver.
type volumeNode struct {
	csi.NodeClient
	// server is the ID of the node's server.
	server  string
	machine *ssh.Client
}

// volumeSpecs need nodes that are ready, at which signIn signs in.
func volumeSpecs(addressOf func(ctx context.Context, pool string) (name, address string),
	signIn func(ctx context.Context, pool string) (*ssh.Client, error)) {
	var (
		controller csi.ControllerClient
		// projects are those of the sites in Cinder.
		projects = map[string]*gophercloud.ServiceClient{}
		download string
		id       string
		// first and second are what is written by the first node and the second.
		first, second = randomData(), randomData()
	)
	secrets := func(site string) map[string]string { return map[string]string{drivers.SiteKey: site} }
	connect := func(address string, dial func(context.Context, string) (net.Conn, error)) *grpc.ClientConn {
		GinkgoHelper()
		conn, err := grpc.NewClient("passthrough:///"+address, grpc.WithTransportCredentials(insecure.NewCredentials()),
			grpc.WithContextDialer(dial), grpc.WithDefaultCallOptions(grpc.WaitForReady(true)))
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(conn.Close)
		return conn
	}
	inCinder := func(ctx context.Context, site, id string) (*volumes.Volume, error) {
		return volumes.Get(ctx, projects[site], id).Extract()
	}
	become := func(ctx context.Context, site, id, status string) {
		GinkgoHelper()
		Eventually(ctx, inCinder, flowTime, time.Second).WithArguments(site, id).Should(HaveField("Status", status))
	}
	create := func(ctx context.Context, site string) string {
		GinkgoHelper()
		created, err := controller.CreateVolume(ctx, &csi.CreateVolumeRequest{Name: "pv-" + site, Secrets: secrets(site),
			CapacityRange: &csi.CapacityRange{RequiredBytes: gibibyte}, VolumeCapabilities: []*csi.VolumeCapability{capability}})
		Expect(err).NotTo(HaveOccurred())
		become(ctx, site, created.Volume.VolumeId, "available")
		return created.Volume.VolumeId
	}
	remove := func(ctx context.Context, site, id string) {
		GinkgoHelper()
		Expect(controller.DeleteVolume(ctx, &csi.DeleteVolumeRequest{VolumeId: id, Secrets: secrets(site)})).Error().NotTo(HaveOccurred())
	}
	attach := func(ctx context.Context, site, id, server string) error {
		_, err := controller.ControllerPublishVolume(ctx, &csi.ControllerPublishVolumeRequest{VolumeId: id, NodeId: server,
			VolumeCapability: capability, Secrets: secrets(site)})
		return err
	}
	detach := func(ctx context.Context, server string) {
		GinkgoHelper()
		Expect(controller.ControllerUnpublishVolume(ctx, &csi.ControllerUnpublishVolumeRequest{VolumeId: id, NodeId: server,
			Secrets: secrets(shoot.Sites[0])})).Error().NotTo(HaveOccurred())
	}

	// serve lets the node service of the driver run on the node of a pool. What reaches it goes through SSH.
	serve := func(ctx context.Context, pool string) *volumeNode {
		GinkgoHelper()
		machine, err := signIn(ctx, pool)
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(machine.Close)
		Expect(run(machine, fmt.Sprintf(`sudo bash -e -c 'mkdir -p %[1]s /run/csi; cd /usr/local/sbin
			curl --silent --show-error --fail --output %[2]s %[3]s; chmod 755 %[2]s
			systemd-run --quiet --setenv=TMPDIR=/run/csi --unit=csi $PWD/%[2]s --endpoint=tcp://%[4]s --provide-controller-service=false'`,
			stagePath, volumeDriver, download, nodeService), "")).To(BeEmpty())
		node := &volumeNode{machine: machine, NodeClient: csi.NewNodeClient(connect(nodeService,
			func(ctx context.Context, address string) (net.Conn, error) {
				return machine.DialContext(ctx, "tcp", address)
			}))}
		info, err := node.NodeGetInfo(ctx, &csi.NodeGetInfoRequest{})
		Expect(err).NotTo(HaveOccurred())
		node.server = info.NodeId
		Expect(node.server).To(Equal(serverOf(ctx, pool)), "the config drive tells the ID")
		return node
	}
	// mount attaches the volume to a node, and mounts its file system there.
	mount := func(ctx context.Context, node *volumeNode) {
		GinkgoHelper()
		Expect(attach(ctx, shoot.Sites[0], id, node.server)).To(Succeed())
		Expect(node.NodeStageVolume(ctx, &csi.NodeStageVolumeRequest{
			VolumeId: id, StagingTargetPath: stagePath, VolumeCapability: capability})).Error().NotTo(HaveOccurred())
		Expect(node.NodePublishVolume(ctx, &csi.NodePublishVolumeRequest{
			VolumeId: id, StagingTargetPath: stagePath, TargetPath: targetPath, VolumeCapability: capability})).Error().NotTo(HaveOccurred())
		Expect(run(node.machine, "findmnt -no FSTYPE "+targetPath+" | uniq; readlink -f /dev/disk/by-id/virtio-"+id[:20], "")).
			To(Equal("ext4\n/dev/ubdc"))
	}
	// unmount undoes that.
	unmount := func(ctx context.Context, node *volumeNode) {
		GinkgoHelper()
		Expect(node.NodeUnpublishVolume(ctx, &csi.NodeUnpublishVolumeRequest{VolumeId: id, TargetPath: targetPath})).
			Error().NotTo(HaveOccurred())
		Expect(node.NodeUnstageVolume(ctx, &csi.NodeUnstageVolumeRequest{VolumeId: id, StagingTargetPath: stagePath})).
			Error().NotTo(HaveOccurred())
		detach(ctx, node.server)
		Eventually(ctx, run, flowTime, time.Second).WithArguments(node.machine, "ls /dev", "").ShouldNot(ContainSubstring("ubdc"))
		become(ctx, shoot.Sites[0], id, "available")
	}
	write := func(node *volumeNode, name, content string) {
		GinkgoHelper()
		Expect(run(node.machine, "sudo tee "+path.Join(targetPath, name)+" >/dev/null && sudo sync", content)).To(BeEmpty())
	}
	expect := func(node *volumeNode, name, content string) {
		GinkgoHelper()
		Expect(run(node.machine, "sudo cmp - "+path.Join(targetPath, name), content)).To(BeEmpty(), name)
	}

	BeforeAll(func(ctx SpecContext) {
		access := map[string]openstack.Credentials{}
		for n, site := range []string{shoot.Sites[0], anotherSite} {
			var err error
			access[site], err = lab.stack.bed.Credentials(openstack.Projects[n])
			Expect(err).NotTo(HaveOccurred())
			projects[site], err = service(ctx, access[site], client.NewBlockStorageV3)
			Expect(err).NotTo(HaveOccurred())
		}
		dir, err := os.MkdirTemp("", "csi") // a socket has a short path
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(os.RemoveAll, dir)
		config, socket := filepath.Join(dir, "cloud.conf"), filepath.Join(dir, "csi.sock")
		Expect(os.WriteFile(config, []byte(cloudConfig(access)), 0o600)).To(Succeed())
		executable := filepath.Join(filepath.Dir(lab.cloudController), volumeDriver)
		process := &landscape.Process{Name: volumeDriver, Path: executable, LogFile: filepath.Join(lab.dir, volumeDriver+".log"),
			Args: []string{"--endpoint=unix://" + socket, "--cloud-config=" + config, "--cluster=" + shootName, "--provide-node-service=false"}}
		Expect(process.Start()).To(Succeed())
		DeferCleanup(func(ctx SpecContext) { process.Stop(ctx) })
		controller = csi.NewControllerClient(connect(socket, func(ctx context.Context, address string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", address)
		}))

		download = serveFile(ctx, executable)
	})

	It("should have a volume that is written on one and read on another", func(ctx SpecContext) {
		id = create(ctx, shoot.Sites[0])
		one, other := serve(ctx, peerPool), serve(ctx, shoot.Sites[0])
		begin := time.Now()
		mount(ctx, one)
		AddReportEntry("mounted", fmt.Sprintf("%.1f s after ControllerPublishVolume", time.Since(begin).Seconds()))
		write(one, "first", first)
		Expect(attach(ctx, shoot.Sites[0], id, other.server)).NotTo(Succeed(), "it is attached to another server")
		unmount(ctx, one)

		mount(ctx, other)
		expect(other, "first", first)
		write(other, "second", second)
	}, SpecTimeout(specTime))

	It("should not have a volume of another site, nor lend theirs to it", func(ctx SpecContext) {
		foreign, server := create(ctx, anotherSite), serverOf(ctx, peerPool)
		for _, try := range []struct{ site, volume string }{
			{anotherSite, id}, {shoot.Sites[0], foreign}, {anotherSite, foreign},
		} {
			Expect(status.Code(attach(ctx, try.site, try.volume, server))).To(Equal(codes.NotFound), "%+v", try)
		}
		remove(ctx, anotherSite, id)
		remove(ctx, shoot.Sites[0], foreign)
		Expect(inCinder(ctx, shoot.Sites[0], id)).To(And(HaveField("Status", "in-use"),
			HaveField("Attachments", ConsistOf(HaveField("ServerID", serverOf(ctx, shoot.Sites[0]))))))
		Expect(inCinder(ctx, anotherSite, foreign)).To(HaveField("Status", "available"))
		remove(ctx, anotherSite, foreign)
	}, SpecTimeout(specTime))

	It("should lose nothing of a volume that is attached to a machine which is deleted, and read it on the next", func(ctx SpecContext) {
		before, _ := addressOf(ctx, shoot.Sites[0])
		old := serverOf(ctx, shoot.Sites[0])
		machine := machineOf(ctx, shoot.Sites[0])
		begin := time.Now()
		Expect(lab.shoot.Seed.Client.Delete(ctx, machine)).To(Succeed())
		Eventually(ctx, lab.stack.servers.All, joinTime, time.Second).ShouldNot(HaveKey(old))
		become(ctx, shoot.Sites[0], id, "available")
		detach(ctx, old)

		Eventually(ctx, func() (string, error) {
			node, err := lab.node(ctx, shoot.Sites[0])
			if readiness(node) != corev1.ConditionTrue || len(node.Status.Addresses) == 0 {
				return before, err
			}
			return node.Name, err
		}, joinTime, time.Second).ShouldNot(Equal(before))
		lab.names[shoot.Sites[0]] = serverOf(ctx, shoot.Sites[0])
		AddReportEntry("next node", fmt.Sprintf("ready %.0f s after the deletion", time.Since(begin).Seconds()))
		Eventually(ctx, func() error {
			machine, err := signIn(ctx, shoot.Sites[0])
			if err != nil {
				return err
			}
			return machine.Close()
		}, flowTime, time.Second).Should(Succeed())
		next := serve(ctx, shoot.Sites[0])
		mount(ctx, next)
		expect(next, "first", first)
		expect(next, "second", second)
		unmount(ctx, next)
		remove(ctx, shoot.Sites[0], id)
		Eventually(ctx, func(ctx context.Context) error {
			_, err := inCinder(ctx, shoot.Sites[0], id)
			return err
		}, flowTime, time.Second).ShouldNot(Succeed())
	}, SpecTimeout(specTime))
}

// cloudConfig is the configuration of the driver for projects of one OpenStack, by site.
func cloudConfig(sites map[string]openstack.Credentials) string {
	var config strings.Builder
	for name, c := range sites {
		fmt.Fprintf(&config, "[Global %q]\nauth-url=%q\nregion=%q\ndomain-name=%q\ntenant-name=%q\nusername=%q\npassword=%q\n",
			name, c.AuthURL, c.Region, c.Domain, c.Project, c.Username, c.Password)
	}
	config.WriteString("[BlockStorage]\nignore-volume-az=true\n")
	return config.String()
}

// randomData is what nothing else contains.
func randomData() string {
	data := make([]byte, dataSize)
	_, _ = rand.Read(data) // never returns an error
	return string(data)
}
