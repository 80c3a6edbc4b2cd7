// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package statichosts_test

import (
	"context"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/static/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/statichost/ssh"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/hardware"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/statichosts"
	"github.com/gardener/gardener-extension-provider-hybrid/test/suite"
)

const (
	bootTime = 5 * time.Minute
	bootMAC  = "02:00:00:00:77:2a"

	// node is the user data of a node with the programs that the machine has.
	node = `#!/bin/sh
set -e
echo "$(id -u) $(hostname)" >/opt/runs
cat >/etc/systemd/system/left.service <<END
[Service]
ExecStart=/bin/sleep infinity
[Install]
WantedBy=multi-user.target
END
systemctl enable --quiet --now left containerd
mkdir -p /var/lib/kubelet/pods /etc/kubernetes
mount -t tmpfs left /var/lib/kubelet/pods
ip link add cni0 type bridge
echo TOKEN >/etc/kubernetes/token
`
	// digest is that of all files that a release restores.
	digest = `cd / && { find etc opt usr/local root var/spool/cron -xdev ! -type d -printf '%y %m %U %G %s %T@ %l %p\n' | sort
find etc opt usr/local root -xdev -type f -exec sha256sum {} + | sort
find etc/systemd etc/ssh opt root var/lib/containerd -xdev -type d -printf '%m %U %G %p\n' | sort; } | sha256sum`
)

var _ = suite.Nightly("A host that boots a kernel of its own", func() {
	It("should be a machine, and then what it was", func(ctx SpecContext) {
		rack, err := hardware.NewRack(GinkgoT().TempDir())
		DeferCleanup(func() { Expect(rack.Close()).To(Succeed()) })
		Expect(err).NotTo(HaveOccurred())
		box, err := rack.Install("own-1", hardware.Options{MAC: bootMAC})
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(func() {
			if CurrentSpecReport().Failed() {
				GinkgoWriter.Println(box.Console(60))
			}
		})
		h, err := statichosts.Existing(box.Name, rack.Network.Gateway.Next())
		Expect(err).NotTo(HaveOccurred())
		installation, err := h.Installation()
		Expect(err).NotTo(HaveOccurred())
		Expect(box.Provision(hardware.Drive{
			MetaData: map[string]any{"uuid": "00000000-0000-0000-0000-00000000002a", "hostname": h.Name, "name": h.Name},
			NetworkData: map[string]any{
				"links": []any{map[string]any{"id": "nic", "type": "phy", "ethernet_mac_address": bootMAC, "mtu": 1500}},
				"networks": []any{map[string]any{"id": "net", "type": "ipv4", "link": "nic", "ip_address": h.Address.String(),
					"netmask": "255.255.255.0"}},
				"services": []any{},
			},
			UserData: installation,
		})).To(Succeed())
		Expect(box.PowerOn()).To(Succeed())

		run := func(ctx context.Context, command string) (string, error) {
			client, err := ssh.Dial(ctx, ssh.Target{Address: h.Address.String(), Port: int32(h.Port), User: "root", HostKeys: h.HostKeys,
				PrivateKey: h.PrivateKey})
			if err != nil {
				return "", err
			}
			defer client.Close()
			answer, _, err := client.Run(ctx, "/bin/sh -s", []byte(command))
			return strings.TrimSpace(string(answer)), err
		}
		Eventually(ctx, run, bootTime, time.Second).
			WithArguments("systemctl is-system-running --wait; test -e /run/cloud-init/result.json && uname -r").Should(ContainSubstring("7.2."))
		register(ctx, h, nil)
		eventually(ctx, h).Should(beIn(v1alpha1.PhaseAvailable))
		before, err := run(ctx, digest)
		Expect(err).NotTo(HaveOccurred())
		boot, err := run(ctx, "cat /proc/sys/kernel/random/boot_id")
		Expect(err).NotTo(HaveOccurred())

		m := newMachine(h, node)
		m.run(ctx)
		Expect(run(ctx, "cat /opt/runs; systemctl is-active left containerd")).To(Equal("0 " + m.request.Name + "\nactive\nactive"))
		Expect(run(ctx, digest)).NotTo(Equal(before))

		m.delete(ctx)
		Expect(run(ctx, digest)).To(Equal(before))
		Expect(run(ctx, "cat /proc/sys/kernel/random/boot_id")).NotTo(Equal(boot))
		Expect(box.Boots()).To(Equal(2), "it rebooted once")
	}, NodeTimeout(2*bootTime+3*cycle))
})
