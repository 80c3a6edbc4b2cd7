// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package statichosts_test

import (
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/static/v1alpha1"
)

var _ = Describe("A host", func() {
	It("should be a machine, then what it was byte for byte, and then the machine of another shoot that finds nothing", func(ctx SpecContext) {
		h := available(ctx, nil)
		files, runs := snapshot(h), running(ctx, h)
		boot := at(ctx, h, "cat /proc/sys/kernel/random/boot_id")

		first := newMachine(h, userData)
		first.run(ctx)
		Expect(at(ctx, h, "cat /opt/runs")).To(HavePrefix("0 " + first.request.Name + " /system.slice/static-host-provision.service"))
		Expect(at(ctx, h, "hostname")).To(Equal(first.request.Name))
		Expect(at(ctx, h, "systemctl is-active kubelet left port.socket; ls /run/static-host")).To(And(
			HavePrefix("active\nactive\nactive"), Not(ContainSubstring("user-data"))))
		Expect(len(differences(files, snapshot(h)))).To(BeNumerically(">", 20))
		Expect(first.driver.Get(ctx, first.request)).To(HaveField("NodeName", first.request.Name))

		first.delete(ctx)
		eventually(ctx, h).Should(beIn(v1alpha1.PhaseAvailable))
		Expect(differences(files, snapshot(h))).To(BeEmpty())
		// What begins and ends at a boot is there a little longer.
		Eventually(ctx, func() string { return running(ctx, h) }, cycle, poll).Should(Equal(runs))
		Expect(at(ctx, h, "cat /proc/sys/kernel/random/boot_id")).NotTo(Equal(boot))
		Expect(h.Boots()).To(Equal(2), "it rebooted once")
		expectNoSecret(ctx, h)

		second := newMachine(h, "#!/bin/sh\nid -u >/opt/runs\n"+
			"find / -xdev -path /proc -prune -o -newer /etc/machine-id -print >/opt/new 2>/dev/null")
		second.run(ctx)
		Expect(at(ctx, h, "cat /opt/runs; hostname")).To(Equal("0\n" + second.request.Name))
		Expect(strings.Split(at(ctx, h, "cat /opt/new"), "\n")).NotTo(ContainElement(Or(
			ContainSubstring("gardener-node-agent"), ContainSubstring("kubelet"), ContainSubstring("pvc"), ContainSubstring("valitail"))))
		second.delete(ctx)
		Expect(differences(files, snapshot(h))).To(BeEmpty())
		expectNoSecret(ctx, h)
	}, NodeTimeout(3*cycle))
})
