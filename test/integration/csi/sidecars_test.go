// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package csi_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/containers"
	"github.com/gardener/gardener-extension-provider-hybrid/test/rendering"
)

// sidecars are the driver's controller service with its sidecars, and the snapshot controller.
type sidecars struct {
	dir                string
	plugin, controller *landscape.Process
	others             []*landscape.Process
	// passwords are those that the configuration has instead of the right ones, by site.
	passwords map[string]string
}

// election lets the sidecars lead soon after others that have ended.
var election = []string{"--leader-election-lease-duration=10s", "--leader-election-renew-deadline=8s",
	"--leader-election-retry-period=500ms"}

func newSidecars() *sidecars {
	GinkgoHelper()
	dir, err := os.MkdirTemp("", "csi") // a socket has a short path
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(os.RemoveAll, dir)
	s := &sidecars{dir: dir, passwords: map[string]string{}}
	deployments := map[string]*appsv1.Deployment{}
	for _, account := range []string{driverAccount, snapshotAccount} {
		deployments[account] = &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: account}}
		Expect(rendering.ControlPlane(clusterID, map[string]any{
			"csi-cinder": map[string]any{"enabled": true, "cluster": clusterID}, "csi-snapshot-controller": map[string]any{"enabled": true},
		}, deployments[account])).To(Succeed())
	}
	process := func(account, name, path string, args ...string) *landscape.Process {
		found, err := containers.Process(deployments[account], name, path,
			map[string]string{"/csi": dir, "/etc/csi-cinder": dir, containers.Kubeconfig: filepath.Dir(kubeconfigs[account])})
		Expect(err).NotTo(HaveOccurred())
		found.LogFile = filepath.Join(dir, name+".log")
		found.Args = append(found.Args, args...)
		return found
	}
	bin := filepath.Join(landscape.Root(), "hack", "bin")
	s.plugin = process(driverAccount, "cinder-csi-plugin", binary, "--v=5")
	for _, name := range []string{"csi-provisioner", "csi-attacher", "csi-resizer", "csi-snapshotter"} {
		s.others = append(s.others, process(driverAccount, name, filepath.Join(bin, name), election...))
	}
	s.controller = process(snapshotAccount, snapshotAccount, filepath.Join(bin, "snapshot-controller"), election...)
	return s
}

func (s *sidecars) socket() string { return filepath.Join(s.dir, "csi.sock") }

func (s *sidecars) config() string { return filepath.Join(s.dir, "cloud.conf") }

func (s *sidecars) processes() []*landscape.Process {
	return append([]*landscape.Process{s.plugin, s.controller}, s.others...)
}

func (s *sidecars) start() {
	GinkgoHelper()
	for _, process := range s.processes() {
		Expect(process.Start()).To(Succeed())
	}
}

func (s *sidecars) stop(ctx context.Context) {
	for _, process := range s.processes() {
		process.Stop(ctx)
	}
}

// restart starts everything again, as the sidecars end with the driver.
func (s *sidecars) restart(ctx context.Context) {
	GinkgoHelper()
	s.stop(ctx)
	s.start()
}

// writeConfig replaces the configuration at once, as the kubelet does.
func (s *sidecars) writeConfig() {
	GinkgoHelper()
	var config strings.Builder
	for name, c := range clouds {
		password := c.project.Password
		if wrong, ok := s.passwords[name]; ok {
			password = wrong
		}
		fmt.Fprintf(&config, "[Global %q]\nauth-url=%q\nregion=%q\ndomain-name=%q\ntenant-name=%q\nusername=%q\npassword=%q\n",
			name, c.proxy.Rewrite(c.project.AuthURL), c.project.Region, c.project.Domain, c.project.Project, c.project.Username, password)
	}
	config.WriteString("[BlockStorage]\nignore-volume-az=true\n")
	Expect(os.WriteFile(s.config()+".new", []byte(config.String()), 0o600)).To(Succeed())
	Expect(os.Rename(s.config()+".new", s.config())).To(Succeed())
}

// connect returns a connection to a CSI driver.
func connect(socket string) *grpc.ClientConn {
	GinkgoHelper()
	connection, err := grpc.NewClient("unix://"+socket, grpc.WithTransportCredentials(insecure.NewCredentials()))
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(connection.Close)
	return connection
}
