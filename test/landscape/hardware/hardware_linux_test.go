// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package hardware_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/hardware"
	"github.com/gardener/gardener-extension-provider-hybrid/test/suite"
)

const (
	bootTime  = 8 * time.Minute
	shellPort = "7"
	mac       = "02:00:00:00:77:0a"

	// folderVariable is set where this executable is only to boot a machine and to be killed.
	folderVariable = "HARDWARE_FOLDER"
)

// shell is user data: a shell that listens, so that specs can look inside, and a word for the console.
const shell = `#!/bin/sh
cat >/etc/systemd/system/shell.service <<END
[Service]
ExecStart=socat TCP-LISTEN:` + shellPort + `,reuseaddr,fork EXEC:/bin/sh
[Install]
WantedBy=multi-user.target
END
systemctl enable --now shell
echo "user data of $(hostname) after $(cut -d' ' -f1 /proc/uptime) s" >/dev/console
`

func init() {
	dir := os.Getenv(folderVariable)
	if dir == "" {
		return
	}
	_, machine, err := newMachine(dir)
	if err == nil {
		err = errors.Join(machine.Provision(driveOf(machine.Name, "10.77.0.10", []byte(shell))), machine.PowerOn())
	}
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	select {}
}

func newMachine(dir string) (*hardware.Rack, *hardware.Machine, error) {
	rack, err := hardware.NewRack(dir)
	if err != nil {
		return rack, nil, err
	}
	machine, err := rack.Install("server-1", hardware.Options{MAC: mac})
	return rack, machine, err
}

// driveOf is a config drive with a static address, as Nova and Ironic describe one.
func driveOf(name, address string, userData []byte) hardware.Drive {
	return hardware.Drive{
		MetaData: map[string]any{"uuid": "00000000-0000-0000-0000-000000000001", "hostname": name, "name": name},
		NetworkData: map[string]any{
			"links": []any{map[string]any{"id": "nic", "type": "phy", "ethernet_mac_address": mac, "mtu": 1500}},
			"networks": []any{map[string]any{"id": "net", "type": "ipv4", "link": "nic", "ip_address": address,
				"netmask": "255.255.255.0"}},
			"services": []any{},
		},
		UserData: userData,
	}
}

// dialShell connects to the shell of a machine.
func dialShell(ctx context.Context, address string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	var dialer net.Dialer
	return dialer.DialContext(ctx, "tcp", net.JoinHostPort(address, shellPort))
}

// runIn runs a command in a machine, as soon as its shell listens, and returns what it printed.
func runIn(ctx context.Context, address, command string) string {
	GinkgoHelper()
	var conn net.Conn
	Eventually(ctx, func() (err error) {
		conn, err = dialShell(ctx, address)
		return err
	}, bootTime, time.Second).Should(Succeed())
	defer func() { _ = conn.Close() }()
	_, err := io.WriteString(conn, command+"; exit\n")
	Expect(err).NotTo(HaveOccurred())
	Expect(conn.SetDeadline(time.Now().Add(bootTime))).To(Succeed())
	out, err := io.ReadAll(conn)
	Expect(err).NotTo(HaveOccurred())
	return strings.TrimSpace(string(out))
}

var _ = suite.Nightly("Machines", Ordered, func() {
	var (
		rack    *hardware.Rack
		machine *hardware.Machine
		address string
	)

	BeforeAll(func() {
		var err error
		rack, machine, err = newMachine(GinkgoT().TempDir())
		DeferCleanup(func() { Expect(rack.Close()).To(Succeed()) })
		Expect(err).NotTo(HaveOccurred())
		address = rack.Network.Gateway.Next().String()
		DeferCleanup(func() {
			if CurrentSpecReport().Failed() {
				GinkgoWriter.Println(machine.Console(60))
			}
		})
	})

	run := func(ctx context.Context, command string) string {
		GinkgoHelper()
		return runIn(ctx, address, command)
	}
	bootID := func(ctx context.Context) string {
		GinkgoHelper()
		return run(ctx, "cat /proc/sys/kernel/random/boot_id")
	}

	It("should not boot without a disk", func() {
		Expect(machine.PowerOn()).To(MatchError(hardware.ErrNoDisk))
		Expect(machine.On()).To(BeFalse())
	})

	It("should boot a kernel of its own and run the user data of the config drive with its name and address", func(ctx SpecContext) {
		Expect(machine.Provision(driveOf("node-a", address, []byte(shell)))).To(Succeed())
		Expect(machine.PowerOn()).To(Succeed())
		Expect(run(ctx, "hostname; uname -r; stat -fc %T /sys/fs/cgroup; cat /proc/sys/kernel/random/boot_id")).To(MatchRegexp(
			`^node-a\n7\.2\..*\ncgroup2fs\n.+$`))
		Expect(machine.Console(40)).To(ContainSubstring("user data of node-a after "))
		AddReportEntry("boot", lineWith(machine.ConsoleFile(), "user data of"))
	}, NodeTimeout(bootTime))

	It("should lose the network with its cable, and nothing else", func(ctx SpecContext) {
		before := bootID(ctx)
		Expect(machine.PullCable()).To(Succeed())
		conn, err := dialShell(ctx, address)
		Expect(conn, err).Error().To(HaveOccurred())
		Expect(machine.PlugCable()).To(Succeed())
		Expect(bootID(ctx)).To(Equal(before))
	}, NodeTimeout(bootTime))

	It("should have a disk that is slow while it is to be, and keep what was written", func(ctx SpecContext) {
		seconds := func() float64 {
			GinkgoHelper()
			var elapsed float64
			out := run(ctx, "bash -c 'TIMEFORMAT=%R; time for i in $(seq 10); do echo $i >/root/slow; sync /root/slow; done' 2>&1")
			Expect(fmt.Sscan(out, &elapsed)).To(Equal(1), out)
			return elapsed
		}
		before := bootID(ctx)
		Expect(machine.SlowDisk(200 * time.Millisecond)).To(Succeed())
		Expect(seconds()).To(BeNumerically(">", 2), "each of ten files needs a request at least")
		Expect(machine.SlowDisk(0)).To(Succeed())
		Expect(seconds()).To(BeNumerically("<", 2))
		Expect(run(ctx, "cat /root/slow")).To(Equal("10"))
		Expect(bootID(ctx)).To(Equal(before))
	}, NodeTimeout(bootTime))

	It("should boot again if the system reboots, on the same disk and without running the user data", func(ctx SpecContext) {
		before := bootID(ctx)
		run(ctx, "echo kept >/root/kept; systemctl reboot")
		Eventually(ctx, machine.Boots, bootTime).Should(Equal(2))
		Expect(bootID(ctx)).NotTo(Equal(before))
		Expect(run(ctx, "cat /root/kept")).To(Equal("kept"))
		Expect(strings.Count(contentOf(machine.ConsoleFile()), "user data of")).To(Equal(1))
	}, NodeTimeout(bootTime))

	It("should have volumes while they are attached, and after a reboot, with the names that they have in OpenStack", func(ctx SpecContext) {
		volume := filepath.Join(GinkgoT().TempDir(), "volume")
		Expect(os.WriteFile(volume, nil, 0o600)).To(Succeed())
		Expect(os.Truncate(volume, 64*mebibyte)).To(Succeed())
		device := fmt.Sprintf("/dev/disk/by-id/virtio-%.20s", volumeID)
		bootID(ctx)
		Expect(machine.Attach(ctx, volumeID, volume)).To(Succeed())
		Expect(machine.Attach(ctx, volumeID, volume)).NotTo(Succeed(), "it is attached")
		Eventually(ctx, run, time.Minute, time.Second).WithArguments("readlink -f " + device).Should(Equal("/dev/ubdc"))
		Expect(run(ctx, "mkfs.ext4 -q "+device+" && mount "+device+" /mnt && echo kept >/mnt/kept && sync && blockdev --getsize64 "+device)).
			To(Equal(fmt.Sprint(64 * mebibyte)))

		By("keeping it while the system has not closed it")
		short, cancel := context.WithTimeout(ctx, 2*time.Second)
		defer cancel()
		Expect(machine.Detach(short, volumeID)).To(MatchError(ContainSubstring("open")))
		Expect(run(ctx, "cat /mnt/kept")).To(Equal("kept"))

		By("having it after a reboot")
		before := machine.Boots()
		run(ctx, "systemctl reboot")
		Eventually(ctx, machine.Boots, bootTime).Should(Equal(before + 1))
		Expect(run(ctx, "udevadm settle; mount -o ro "+device+" /mnt; cat /mnt/kept; umount /mnt")).To(Equal("kept"))

		By("losing it")
		Expect(machine.Detach(ctx, volumeID)).To(Succeed())
		Eventually(ctx, run, time.Minute, time.Second).WithArguments("ls /dev/disk/by-id /dev/ubd*").ShouldNot(
			Or(ContainSubstring("virtio"), ContainSubstring("ubdc")))
		Expect(contentOf(volume)).To(ContainSubstring("kept"))
		Expect(machine.Detach(ctx, volumeID)).To(Succeed(), "it is detached")
	}, NodeTimeout(bootTime))

	It("should end in its order if the power button is pressed", func(ctx SpecContext) {
		bootID(ctx)
		Expect(machine.PressPower(ctx)).To(Succeed())
		Expect(machine.WaitOff(ctx)).To(Succeed())
		Expect(machine.PowerOn()).To(Succeed())
		Expect(run(ctx, "cat /root/kept")).To(Equal("kept"))
	}, NodeTimeout(bootTime))

	It("should stay on after a crash, until it is reset", func(ctx SpecContext) {
		before := bootID(ctx)
		Expect(machine.Crash(ctx)).To(Succeed())
		Eventually(ctx, func() string { return machine.Console(60) }).Should(ContainSubstring("Kernel panic"))
		Expect(machine.On()).To(BeTrue())
		Expect(machine.Reset()).To(Succeed())
		Expect(bootID(ctx)).NotTo(Equal(before))
	}, NodeTimeout(bootTime))

	It("should do nothing while it is frozen", func(ctx SpecContext) {
		before := bootID(ctx)
		Expect(machine.Freeze(ctx)).To(Succeed())
		conn, err := dialShell(ctx, address)
		Expect(conn, err).Error().To(HaveOccurred())
		Expect(machine.Thaw(ctx)).To(Succeed())
		Expect(bootID(ctx)).To(Equal(before))
	}, NodeTimeout(bootTime))

	It("should have nothing of what it was once it is wiped", func() {
		Expect(machine.Wipe()).NotTo(Succeed(), "it is on")
		machine.CutPower()
		Expect(machine.Wipe()).To(Succeed())
		Expect(machine.Disk()).NotTo(BeAnExistingFile())
		Expect(machine.PowerOn()).To(MatchError(hardware.ErrNoDisk))
	})

	It("should not outlive the process that switched it on", func(ctx SpecContext) {
		dir, before := GinkgoT().TempDir(), interfaces()
		child := exec.CommandContext(ctx, os.Args[0])
		child.Env = append(os.Environ(), folderVariable+"="+dir)
		Expect(child.Start()).To(Succeed())
		console := filepath.Join(dir, "server-1", "console.log")
		Eventually(ctx, func() string { return contentOf(console) }, bootTime).Should(ContainSubstring("user data of"))
		Expect(processesWith(dir)).NotTo(BeEmpty())
		Expect(interfaces()).To(HaveLen(len(before) + 1))

		Expect(child.Process.Kill()).To(Succeed())
		_ = child.Wait()
		Eventually(ctx, func() []string { return processesWith(dir) }).Should(BeEmpty())
		Eventually(ctx, interfaces).Should(Equal(before))
	}, NodeTimeout(bootTime))
})

// contentOf is the content of a file, empty if there is none.
func contentOf(path string) string {
	content, _ := os.ReadFile(path)
	return string(content)
}

// lineWith is the first line of a file with the text.
func lineWith(path, text string) string {
	scanner := bufio.NewScanner(strings.NewReader(contentOf(path)))
	for scanner.Scan() {
		if strings.Contains(scanner.Text(), text) {
			return scanner.Text()
		}
	}
	return ""
}

// processesWith are the processes that have a text in their arguments or environment.
func processesWith(text string) []string {
	all, _ := filepath.Glob("/proc/[0-9]*")
	var found []string
	for _, process := range all {
		if strings.Contains(contentOf(process+"/cmdline"), text) || strings.Contains(contentOf(process+"/environ"), text) {
			found = append(found, process)
		}
	}
	return found
}

// interfaces are those of gateways.
func interfaces() []string {
	all, _ := net.Interfaces()
	var found []string
	for _, i := range all {
		if strings.HasPrefix(i.Name, "machines") {
			found = append(found, i.Name)
		}
	}
	return found
}
