// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package probe_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/miekg/dns"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/garden/netns"
	"github.com/gardener/gardener-extension-provider-hybrid/test/skip"
)

// lab are the networks of two sites and a router between them, which is their gateway, DHCP server, DNS server and registry, too.
type lab struct {
	router, one, two *netns.Namespace
	folder           string
}

func newLab() *lab {
	GinkgoHelper()
	if os.Getuid() != 0 {
		skip.Because("network namespaces need root")
	}
	out, err := exec.Command(filepath.Join("..", "..", "..", "hack", "landscape", "probe", "install.sh")).CombinedOutput()
	Expect(err).NotTo(HaveOccurred(), string(out))

	l := &lab{folder: GinkgoT().TempDir()}
	for _, namespace := range []**netns.Namespace{&l.router, &l.one, &l.two} {
		*namespace, err = netns.New()
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup((*namespace).Close)
	}
	Expect(l.router.IP("link add br1 type bridge", "addr add 10.0.1.1/24 dev br1", "link set br1 up",
		"link add br2 type bridge", "addr add 10.0.2.1/24 dev br2", "link set br2 up")).To(Succeed())
	Expect(l.router.Connect(l.one, "one", "eth0", "br1")).To(Succeed())
	Expect(l.router.Connect(l.two, "two", "eth0", "br2")).To(Succeed())
	Expect(l.one.IP("addr add 10.0.1.9/24 dev eth0", "link set eth0 up", "route add default via 10.0.1.1")).To(Succeed())
	Expect(l.two.IP("addr add 10.0.2.9/24 dev eth0", "link set eth0 up", "route add default via 10.0.2.1")).To(Succeed())
	inside(l.router, func() {
		Expect(os.WriteFile("/proc/sys/net/ipv4/ip_forward", []byte("1"), 0o600)).To(Succeed())
	})
	l.serve()
	return l
}

// serve starts what the router serves.
func (l *lab) serve() {
	GinkgoHelper()
	listener, err := l.router.Listen("0.0.0.0:443")
	Expect(err).NotTo(HaveOccurred())
	server := httptest.NewUnstartedServer(http.NotFoundHandler())
	Expect(server.Listener.Close()).To(Succeed())
	server.Listener = listener
	server.StartTLS()
	DeferCleanup(server.Close)

	var packets net.PacketConn
	inside(l.router, func() {
		packets, err = net.ListenPacket("udp", "0.0.0.0:53")
		Expect(err).NotTo(HaveOccurred())
	})
	names := &dns.Server{PacketConn: packets, Handler: dns.HandlerFunc(answer)}
	go func() { _ = names.ActivateAndServe() }()
	DeferCleanup(names.Shutdown)

	config := filepath.Join(l.folder, "udhcpd.conf")
	Expect(os.WriteFile(config, fmt.Appendf(nil, "interface br1\nstart 10.0.1.100\nend 10.0.1.120\nlease_file %s\npidfile %s\n"+
		"option subnet 255.255.255.0\noption router 10.0.1.1\noption dns 10.0.1.1\noption mtu 1500\n",
		filepath.Join(l.folder, "leases"), filepath.Join(l.folder, "pid")), 0o600)).To(Succeed())
	Expect(os.WriteFile(filepath.Join(l.folder, "leases"), nil, 0o600)).To(Succeed())
	assigns := exec.Command("busybox", "udhcpd", "-f", config)
	inside(l.router, func() { Expect(assigns.Start()).To(Succeed()) })
	DeferCleanup(func() {
		Expect(assigns.Process.Kill()).To(Succeed())
		_ = assigns.Wait()
	})
}

// answer resolves names of the zone "test.".
func answer(w dns.ResponseWriter, question *dns.Msg) {
	reply := new(dns.Msg).SetReply(question)
	if name := question.Question[0].Name; !strings.HasSuffix(name, "test.") {
		reply.Rcode = dns.RcodeNameError
	} else if rr, err := dns.NewRR(name + " A 10.0.1.1"); err == nil && question.Question[0].Qtype == dns.TypeA {
		reply.Answer = append(reply.Answer, rr)
	}
	_ = w.WriteMsg(reply)
}

// run runs the script in the namespace with the shell, and returns what it prints. Only tools in the path are there.
func run(ctx context.Context, namespace *netns.Namespace, shell []string, path, script string, args ...string) (output []byte) {
	cmd := exec.CommandContext(ctx, shell[0], append(append(shell[1:len(shell):len(shell)], script), args...)...)
	cmd.Env = []string{"PATH=" + path}
	cmd.Stderr = GinkgoWriter
	inside(namespace, func() {
		var err error
		output, err = cmd.Output()
		Expect(err).NotTo(HaveOccurred())
	})
	return output
}

// inside calls f on a thread in the namespace, and waits for it.
func inside(namespace *netns.Namespace, f func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer GinkgoRecover()
		runtime.LockOSThread()
		Expect(namespace.Enter()).To(Succeed())
		f()
	}()
	<-done
}
