// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package machines_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"

	nodeagentconfigv1alpha1 "github.com/gardener/gardener/pkg/apis/config/nodeagent/v1alpha1"
	v1beta1constants "github.com/gardener/gardener/pkg/apis/core/v1beta1/constants"
	machinev1alpha1 "github.com/gardener/machine-controller-manager/pkg/apis/machine/v1alpha1"
	"github.com/go-logr/logr"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/gardener/gardener-extension-provider-hybrid/test/kubelets"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/garden"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/garden/machines"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/pki"
)

const namespace = "shoot--a--b"

var _ = Describe("Machines", func() {
	It("join as nodes with what gardener-node-agent reports, once their server is active", func(ctx SpecContext) {
		machine := &machinev1alpha1.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "m1"},
			Spec: machinev1alpha1.MachineSpec{ProviderID: "cloud:///id1"}}
		config := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{
			Namespace: metav1.NamespaceSystem, Name: "config",
			Labels:      map[string]string{v1beta1constants.GardenRole: v1beta1constants.GardenRoleOperatingSystemConfig},
			Annotations: map[string]string{nodeagentconfigv1alpha1.AnnotationKeyChecksumDownloadedOperatingSystemConfig: "sum"},
		}}
		c := fake.NewClientBuilder().WithScheme(garden.Scheme).WithObjects(machine, config).WithStatusSubresource(&corev1.Node{}).Build()
		played := &machines.Machines{
			Seed: c, Shoot: c, Namespace: namespace, Version: "v1.36.3", Log: logr.Discard(),
			Servers: func(context.Context) (map[string]kubelets.Server, error) {
				labels := map[string]string{v1beta1constants.LabelWorkerPoolGardenerNodeAgentSecretName: "config"}
				return map[string]kubelets.Server{"id1": {Labels: labels}}, nil
			},
		}
		played.Start(ctx)
		DeferCleanup(played.Stop)

		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "m1"}}
		Eventually(func(g Gomega) {
			g.Expect(c.Get(ctx, client.ObjectKeyFromObject(node), node)).To(Succeed())
			g.Expect(node.Status.NodeInfo.KubeletVersion).To(Equal("v1.36.3"))
			g.Expect(node.Annotations).To(HaveKeyWithValue(nodeagentconfigv1alpha1.AnnotationKeyChecksumAppliedOperatingSystemConfig, "sum"))
			g.Expect(node.Status.Conditions).To(ContainElement(HaveField("Type", nodeagentconfigv1alpha1.ConditionTypeSystemdUnitsReady)))
			for namespace, name := range map[string]string{corev1.NamespaceNodeLease: "m1", metav1.NamespaceSystem: "gardener-node-agent-m1"} {
				g.Expect(c.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, &coordinationv1.Lease{})).To(Succeed())
			}
		}).WithTimeout(10 * time.Second).Should(Succeed())
	})
})

var _ = Describe("ServeTunnel", func() {
	It("demands a certificate and connects with kubelets alone", func(ctx SpecContext) {
		authority, err := pki.NewAuthority()
		Expect(err).NotTo(HaveOccurred())
		server, err := authority.Server("vpn-seed-server")
		Expect(err).NotTo(HaveOccurred())
		user, err := authority.Client("kube-apiserver")
		Expect(err).NotTo(HaveOccurred())
		dir := GinkgoT().TempDir()
		files := machines.TunnelFiles{Certificate: filepath.Join(dir, "tls.crt"), Key: filepath.Join(dir, "tls.key"),
			Authority: filepath.Join(dir, "ca.crt")}
		for path, content := range map[string]string{files.Certificate: server.Certificate, files.Key: server.Key,
			files.Authority: authority.PEM} {
			Expect(os.WriteFile(path, []byte(content), 0o600)).To(Succeed())
		}
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		Expect(err).NotTo(HaveOccurred())
		serving, stop := context.WithCancel(ctx)
		done := make(chan error)
		go func() {
			done <- machines.ServeTunnel(serving, listener, files, (*machines.Machines)(nil).Kubelet)
		}()
		DeferCleanup(func() {
			stop()
			Eventually(done).Should(Receive(MatchError(http.ErrServerClosed)))
		})

		roots := x509.NewCertPool()
		roots.AppendCertsFromPEM([]byte(authority.PEM))
		pair, err := tls.X509KeyPair([]byte(user.Certificate), []byte(user.Key))
		Expect(err).NotTo(HaveOccurred())
		ask := func(certificates ...tls.Certificate) (int, error) {
			conn, err := tls.Dial("tcp", listener.Addr().String(),
				&tls.Config{RootCAs: roots, Certificates: certificates, MinVersion: tls.VersionTLS12})
			if err != nil {
				return 0, err
			}
			defer conn.Close()
			if _, err := fmt.Fprintf(conn, "CONNECT 10.250.0.7:%d HTTP/1.1\r\nHost: 10.250.0.7\r\n\r\n", machines.KubeletPort); err != nil {
				return 0, err
			}
			response, err := http.ReadResponse(bufio.NewReader(conn), nil)
			if err != nil {
				return 0, err
			}
			return response.StatusCode, response.Body.Close()
		}
		Expect(ask(pair)).To(Equal(http.StatusServiceUnavailable))
		_, err = ask()
		Expect(err).To(HaveOccurred())
	})
})
