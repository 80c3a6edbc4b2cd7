// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package csi_test

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"time"

	"github.com/container-storage-interface/spec/lib/go/csi"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/test/skip"
)

// metadataAddress is where servers find what OpenStack says of them.
const metadataAddress = "169.254.169.254"

var _ = Describe("Node service", func() {
	It("tells the server, its zone and its site from the metadata service", func(ctx SpecContext) {
		node := csi.NewNodeClient(connect(startNode("7d3f1c1e-0c5a-4d59-8a0b-6f5d6b1d3e21", availabilityZone)))
		Eventually(func() (*csi.NodeGetInfoResponse, error) { return node.NodeGetInfo(ctx, &csi.NodeGetInfoRequest{}) }).
			WithContext(ctx).Within(2 * time.Minute).Should(And(
			HaveField("NodeId", "7d3f1c1e-0c5a-4d59-8a0b-6f5d6b1d3e21"),
			HaveField("MaxVolumesPerNode", BeEquivalentTo(20)),
			HaveField("AccessibleTopology.Segments", map[string]string{v1alpha1.LabelSite: cloudSite, zoneKey: availabilityZone}),
		))
	}, SpecTimeout(2*time.Minute))

	It("registers no host that is no server", func(ctx SpecContext) {
		connection := connect(startNode("", ""))
		Eventually(func() error {
			_, err := csi.NewIdentityClient(connection).Probe(ctx, &csi.ProbeRequest{})
			return err
		}).WithContext(ctx).Within(2 * time.Minute).Should(Succeed())
		_, err := csi.NewNodeClient(connection).NodeGetInfo(ctx, &csi.NodeGetInfoRequest{})
		Expect(status.Code(err)).To(Equal(codes.Internal))
	}, SpecTimeout(2*time.Minute))
})

// startNode starts the node service in a network of its own where the metadata service knows one server, or nobody if the ID is empty.
// It returns the socket.
func startNode(id, zone string) string {
	GinkgoHelper()
	dir, err := os.MkdirTemp("", "csi")
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(os.RemoveAll, dir)
	socket, config := filepath.Join(dir, "csi.sock"), filepath.Join(dir, "cloud.conf")
	Expect(os.WriteFile(config, []byte("[Metadata]\nsearch-order=metadataService\n"),
		0o600)).To(Succeed())
	plugin := exec.Command(binary, "--endpoint=unix://"+socket, "--cloud-config="+config, "--provide-controller-service=false",
		"--additional-topology="+v1alpha1.LabelSite+"="+cloudSite, "--node-volume-attach-limit=20")
	plugin.Stdout, plugin.Stderr = GinkgoWriter, GinkgoWriter

	started, end := make(chan error), make(chan struct{})
	go func() {
		// The namespace is that of the thread, which ends with the goroutine because it stays locked.
		runtime.LockOSThread()
		server, err := startInNetwork(plugin, id, zone)
		started <- err
		if err == nil {
			<-end
			_ = server.Close()
		}
	}()
	err = <-started
	if errors.Is(err, os.ErrPermission) {
		skip.Because("it needs the permission to make a network namespace: " + err.Error())
	}
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func() {
		Expect(plugin.Process.Signal(syscall.SIGTERM)).To(Succeed())
		Expect(plugin.Wait()).To(Succeed())
		close(end)
	})
	return socket
}

// startInNetwork moves the thread to a new network, and starts the metadata service and the process there.
func startInNetwork(process *exec.Cmd, id, zone string) (*http.Server, error) {
	if err := syscall.Unshare(syscall.CLONE_NEWNET); err != nil {
		return nil, fmt.Errorf("make a network namespace: %w", err)
	}
	server := &http.Server{ReadHeaderTimeout: time.Second, Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, `{"uuid": %q, "availability_zone": %q}`, id, zone)
	})}
	if id != "" {
		for _, args := range [][]string{{"link", "set", "lo", "up"}, {"address", "add", metadataAddress + "/32", "dev", "lo"}} {
			if out, err := exec.Command("ip", args...).CombinedOutput(); err != nil {
				return nil, fmt.Errorf("ip %v: %w: %s", args, err, out)
			}
		}
		listener, err := net.Listen("tcp", metadataAddress+":80")
		if err != nil {
			return nil, err
		}
		go func() { _ = server.Serve(listener) }()
	}
	return server, process.Start()
}
