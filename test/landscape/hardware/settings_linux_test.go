// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package hardware_test

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/userdata"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/pki"
	"github.com/gardener/gardener-extension-provider-hybrid/test/suite"
)

// pulls is user data: it pulls as gardener-node-init does, and tells what systemd has of units.
const pulls = `#!/bin/bash
systemctl start containerd
ctr images pull --hosts-dir /etc/containerd/certs.d docker.io/library/mirrored:1
ctr images pull --hosts-dir /etc/containerd/certs.d registry.invalid/other:1
{
  for unit in containerd gardener-node-init gardener-node-agent kubelet; do
    printf '[Service]\nExecStart=/bin/true\n' >/etc/systemd/system/gardener-node-init.service
    cp /etc/systemd/system/gardener-node-init.service /etc/systemd/system/gardener-node-agent.service
    rm -rf /etc/systemd/system/$unit.service.d
    systemctl daemon-reload
    echo "$unit $(systemctl show --property Environment $unit)"
  done
  systemd-analyze cat-config systemd/timesyncd.conf | grep ^NTP=
  echo settled
} >/dev/console
`

// requests are what a server was asked for.
type requests struct {
	mutex sync.Mutex
	seen  []string
}

func (r *requests) add(request string) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.seen = append(r.seen, request)
}

func (r *requests) all() []string {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	return append([]string{}, r.seen...)
}

var _ = suite.Nightly("Settings of nodes", func() {
	It("should hold from the first boot on", func(ctx SpecContext) {
		rack, machine, err := newMachine(GinkgoT().TempDir())
		DeferCleanup(func() { Expect(rack.Close()).To(Succeed()) })
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(func() {
			if CurrentSpecReport().Failed() {
				GinkgoWriter.Println(machine.Console(200))
			}
		})
		gateway := rack.Network.Gateway
		authority, err := pki.NewAuthority()
		Expect(err).NotTo(HaveOccurred())
		pair, err := authority.Server("mirror", func(c *x509.Certificate) { c.IPAddresses = []net.IP{gateway.AsSlice()} })
		Expect(err).NotTo(HaveOccurred())
		certificate, err := tls.X509KeyPair([]byte(pair.Certificate), []byte(pair.Key))
		Expect(err).NotTo(HaveOccurred())

		seen := &requests{}
		serve := func(name string, config *tls.Config) string {
			server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				seen.add(fmt.Sprintf("%s %s %s%s", name, r.Method, r.Host, r.URL))
				http.Error(w, "nothing", http.StatusNotFound)
			}))
			server.Listener, err = (&net.ListenConfig{}).Listen(ctx, "tcp", net.JoinHostPort(gateway.String(), "0"))
			Expect(err).NotTo(HaveOccurred())
			if server.TLS = config; config != nil {
				server.StartTLS()
			} else {
				server.Start()
			}
			DeferCleanup(server.Close)
			return server.URL
		}
		mirror := serve("mirror", &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12})
		proxy := serve("proxy", nil)

		data, err := userdata.ForMachine(&v1alpha1.MachineProviderSpec{NodeSettings: &v1alpha1.NodeSettings{
			NTPServers:      []string{"ntp.example.com", gateway.String()},
			RegistryMirrors: []v1alpha1.RegistryMirror{{Upstream: "docker.io", Endpoints: []string{mirror}}},
			Proxy:           &v1alpha1.Proxy{URL: proxy, NoProxy: []string{gateway.String()}},
			CABundle:        authority.PEM,
		}}, []byte(pulls))
		Expect(err).NotTo(HaveOccurred())
		Expect(machine.Provision(driveOf("node-a", gateway.Next().String(), data))).To(Succeed())
		Expect(machine.PowerOn()).To(Succeed())
		Eventually(ctx, func() string { return contentOf(machine.ConsoleFile()) }, bootTime).Should(ContainSubstring("settled"))

		// The mirror is trusted and reached directly, the other registry is reached through the proxy.
		Expect(seen.all()).To(And(
			ContainElement(MatchRegexp(`^mirror HEAD .*/v2/library/mirrored/manifests/1\?ns=docker\.io$`)),
			ContainElement(HavePrefix("proxy CONNECT registry.invalid:443")),
			Not(ContainElement(ContainSubstring("proxy HEAD")))))
		console := contentOf(machine.ConsoleFile())
		for _, unit := range []string{"containerd", "gardener-node-init", "gardener-node-agent", "kubelet"} {
			Expect(console).To(MatchRegexp(`%s Environment=.*HTTP_PROXY=%s HTTPS_PROXY=%[2]s NO_PROXY=%s`, unit, proxy, gateway))
		}
		Expect(console).To(ContainSubstring("NTP=ntp.example.com " + gateway.String()))
	}, SpecTimeout(bootTime))
})
