// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package netns_test

import (
	"io"
	"net"
	"os"
	"os/exec"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/garden/netns"
	"github.com/gardener/gardener-extension-provider-hybrid/test/skip"
)

var _ = Describe("Namespace", func() {
	BeforeEach(func() {
		if _, err := exec.LookPath("ip"); err != nil || os.Getuid() != 0 {
			skip.Because("network namespaces need root and iproute2")
		}
	})

	It("carries connections to its own addresses and to namespaces at its bridge, and nobody else sees them", func(ctx SpecContext) {
		one, err := netns.New()
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(one.Close)
		other, err := netns.New()
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(other.Close)

		Expect(one.IP("link add br0 type bridge", "addr add 10.242.0.1/16 dev br0", "link set br0 up")).To(Succeed())
		Expect(one.Connect(other, "pod1", "eth0", "br0")).To(Succeed())
		Expect(other.IP("addr add 10.242.0.2/16 dev eth0", "link set eth0 up")).To(Succeed())

		listener, err := other.Listen("10.242.0.2:80")
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(listener.Close)
		go answer(listener)

		conn, err := one.DialContext(ctx, "tcp", "10.242.0.2:80")
		Expect(err).NotTo(HaveOccurred())
		Expect(io.ReadAll(conn)).To(Equal([]byte("hello")))
		Expect(conn.Close()).To(Succeed())

		outside, err := net.InterfaceByName("br0")
		Expect(outside, err).Error().To(HaveOccurred())
	})

	It("says what ip refuses", func() {
		n, err := netns.New()
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(n.Close)
		Expect(n.IP("link set nowhere up")).To(MatchError(ContainSubstring(`Cannot find device "nowhere"`)))
	})
})

func answer(listener net.Listener) {
	conn, err := listener.Accept()
	if err != nil {
		return
	}
	_, _ = io.WriteString(conn, "hello")
	_ = conn.Close()
}
