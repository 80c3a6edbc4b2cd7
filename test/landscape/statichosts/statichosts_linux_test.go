// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package statichosts_test

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"golang.org/x/crypto/ssh"

	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/statichosts"
)

const (
	bootTime = time.Minute

	// folderVariable is set where this executable is only to run a host and to be killed.
	folderVariable = "STATICHOSTS_FOLDER"
)

func init() {
	dir := os.Getenv(folderVariable)
	if dir == "" {
		return
	}
	site, err := statichosts.NewSite(dir)
	if err == nil {
		_, err = site.Install(context.Background(), "host-1", statichosts.Options{})
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "booted"), nil, 0o600)
	}
	fmt.Println(err)
	if err != nil {
		os.Exit(1)
	}
	select {}
}

var _ = Describe("Hosts", Ordered, func() {
	var (
		site        *statichosts.Site
		host, other *statichosts.Host
	)

	BeforeAll(func(ctx SpecContext) {
		Expect(statichosts.Build(ctx, GinkgoWriter)).To(Succeed())
		var err error
		site, err = statichosts.NewSite(GinkgoT().TempDir())
		DeferCleanup(func() { Expect(site.Close()).To(Succeed()) })
		Expect(err).NotTo(HaveOccurred())
		host, err = site.Install(ctx, "host-1", statichosts.Options{})
		Expect(err).NotTo(HaveOccurred())
		other, err = site.Install(ctx, "host-2", statichosts.Options{})
		Expect(err).NotTo(HaveOccurred())
	}, NodeTimeout(10*time.Minute))

	// login runs a command by SSH, if the server has the key.
	login := func(h *statichosts.Host, user, hostKey, command string) (string, error) {
		key, _, _, _, err := ssh.ParseAuthorizedKey([]byte(hostKey))
		if err != nil {
			return "", err
		}
		signer, err := ssh.ParsePrivateKey(h.PrivateKey)
		if err != nil {
			return "", err
		}
		client, err := ssh.Dial("tcp", net.JoinHostPort(h.Address.String(), strconv.Itoa(h.Port)), &ssh.ClientConfig{
			User: user, Auth: []ssh.AuthMethod{ssh.PublicKeys(signer)}, HostKeyCallback: ssh.FixedHostKey(key), Timeout: 3 * time.Second,
		})
		if err != nil {
			return "", err
		}
		defer func() { _ = client.Close() }()
		session, err := client.NewSession()
		if err != nil {
			return "", err
		}
		out, err := session.Output(command)
		return strings.TrimSpace(string(out)), err
	}
	// at runs a command at the console.
	at := func(ctx context.Context, h *statichosts.Host, command string) string {
		GinkgoHelper()
		out, err := h.Run(ctx, command)
		Expect(err).NotTo(HaveOccurred())
		return out
	}

	It("should run systemd, containerd and an SSH server with an identity of their own", func(ctx SpecContext) {
		const facts = "hostname; cat /etc/machine-id; stat -fc %T /sys/fs/cgroup; cat /proc/1/comm; systemctl is-system-running; " +
			". /etc/os-release; echo $ID $VERSION_ID; systemctl is-active containerd"
		for _, h := range []*statichosts.Host{host, other} {
			Expect(login(h, "root", h.HostKeys[0], facts)).To(Equal(
				h.Name + "\n" + h.MachineID + "\ncgroup2fs\nsystemd\nrunning\ndebian 12\nactive"))
		}
		Expect(login(host, "root", other.HostKeys[0], "id")).Error().To(MatchError(ContainSubstring("host key mismatch")))
		Expect(at(ctx, host, "cat /proc/sys/kernel/random/boot_id")).NotTo(Equal(at(ctx, other, "cat /proc/sys/kernel/random/boot_id")))
	})

	It("should keep a transient unit after the connection, and lose it and interfaces with a reboot, but no file", func(ctx SpecContext) {
		before := at(ctx, host, "cat /proc/sys/kernel/random/boot_id")
		Expect(login(host, "root", host.HostKeys[0], "systemd-run --unit left sleep 3600; ip link add cni0 type bridge; "+
			"setfattr -n user.of -v host-1 /root; mv /var/lib/containerd /var/lib/aside; touch /root/kept")).To(BeEmpty())
		Expect(at(ctx, host, "systemctl is-active left; ls /sys/class/net")).To(Equal("active\ncni0\nhost0\nlo"))
		files, err := host.Files("/root", "/var/lib/aside")
		Expect(err).NotTo(HaveOccurred())

		_, _ = login(host, "root", host.HostKeys[0], "systemctl reboot")
		Eventually(ctx, host.Boots, bootTime).Should(Equal(2))
		Expect(host.WaitBooted(ctx)).To(Succeed())
		Expect(at(ctx, host, "cat /proc/sys/kernel/random/boot_id")).NotTo(Equal(before))
		Expect(at(ctx, host, "systemctl is-active left || ls /sys/class/net")).To(Equal("inactive\nhost0\nlo"))
		Expect(host.Files("/root", "/var/lib/aside")).To(Equal(files))
		Expect(files).To(HaveKeyWithValue("/root", ContainSubstring("user.of=686f73742d31")))
		Expect(other.Boots()).To(Equal(1))
	}, NodeTimeout(bootTime))

	It("should keep its disk while it is off", func(ctx SpecContext) {
		host.CutPower()
		Expect(login(host, "root", host.HostKeys[0], "id")).Error().To(HaveOccurred())
		Expect(host.On()).To(BeFalse())
		Expect(host.PowerOn(ctx)).To(Succeed())
		Expect(login(host, "root", host.HostKeys[0], "ls /root")).To(Equal("kept"))
		_, _ = login(host, "root", host.HostKeys[0], "systemctl poweroff")
		Eventually(ctx, host.On, bootTime).Should(BeFalse())
		Expect(host.PowerOn(ctx)).To(Succeed())
	}, NodeTimeout(bootTime))

	It("should lose the network with its cable, and nothing else", func(ctx SpecContext) {
		Expect(host.PullCable()).To(Succeed())
		Expect(login(host, "root", host.HostKeys[0], "id")).Error().To(HaveOccurred())
		Expect(at(ctx, host, "systemctl is-active ssh")).To(Equal("active"))
		Expect(host.PlugCable()).To(Succeed())
		Expect(login(host, "root", host.HostKeys[0], "hostname")).To(Equal("host-1"))
	})

	It("should have a disk that can be full, a clock that is wrong, and users that sudo asks for a password", func(ctx SpecContext) {
		Expect(host.FillDisk(ctx)).To(Succeed())
		Expect(login(host, "root", host.HostKeys[0], "echo text >/opt/file")).Error().To(HaveOccurred())
		Expect(login(other, "root", other.HostKeys[0], "echo text >/opt/file; cat /opt/file")).To(Equal("text"))
		Expect(host.EmptyDisk(ctx)).To(Succeed())
		Expect(login(host, "root", host.HostKeys[0], "echo text >/opt/file; cat /opt/file")).To(Equal("text"))
		Expect(host.Find("text")).To(Equal([]string{"/opt/file"}))

		Expect(host.SetClock(ctx, -time.Hour)).To(Succeed())
		seconds, err := login(host, "root", host.HostKeys[0], "date +%s")
		Expect(err).NotTo(HaveOccurred())
		Expect(strconv.Atoi(seconds)).To(BeNumerically("~", time.Now().Add(-time.Hour).Unix(), 5))
		Expect(host.SetClock(ctx, 0)).To(Succeed())

		Expect(host.AddUser(ctx, "admin", "right")).To(Succeed())
		Expect(host.AddUser(ctx, "trusted", "")).To(Succeed())
		Expect(login(host, "trusted", host.HostKeys[0], "sudo -n id -u")).To(Equal("0"))
		Expect(login(host, "admin", host.HostKeys[0], "sudo -n id -u")).Error().To(HaveOccurred())
		Expect(login(host, "admin", host.HostKeys[0], "echo right | sudo -S -k id -u")).To(Equal("0"))
		Expect(login(host, "admin", host.HostKeys[0], "echo wrong | sudo -S -k id -u")).Error().To(HaveOccurred())
	})

	It("should take over the address and the host key of another one", func(ctx SpecContext) {
		address, key := host.Address, host.HostKeys[0]
		host.CutPower()
		Expect(other.SetAddress(ctx, address)).To(Succeed())
		Expect(login(other, "root", key, "hostname")).Error().To(MatchError(ContainSubstring("host key mismatch")))
		Expect(other.SetHostKey(ctx, host.HostKey)).To(Succeed())
		Expect(login(other, "root", key, "hostname")).To(Equal("host-2"))
	}, NodeTimeout(bootTime))

	It("should not outlive the process that switched it on", func(ctx SpecContext) {
		dir, before, others := GinkgoT().TempDir(), interfaces(), processes()
		child := exec.CommandContext(ctx, os.Args[0])
		child.Env = append(os.Environ(), folderVariable+"="+dir)
		Expect(child.Start()).To(Succeed())
		booted := filepath.Join(dir, "booted")
		Eventually(ctx, func() string { return booted }, bootTime).Should(BeAnExistingFile())
		Expect(interfaces()).To(HaveLen(len(before) + 1))
		running := slices.DeleteFunc(processes(), func(process string) bool { return slices.Contains(others, process) })
		Expect(running).To(ContainElements(HaveSuffix("systemd"), HaveSuffix("sshd"), HaveSuffix("containerd")))

		Expect(child.Process.Kill()).To(Succeed())
		_ = child.Wait()
		Eventually(ctx, func() bool {
			return slices.ContainsFunc(processes(), func(process string) bool { return slices.Contains(running, process) })
		}).Should(BeFalse())
		Eventually(ctx, interfaces).Should(Equal(before))
	}, NodeTimeout(bootTime))
})

// processes are those in hosts, with their IDs and names.
func processes() []string {
	all, _ := filepath.Glob("/proc/[0-9]*")
	var found []string
	for _, process := range all {
		groups, _ := os.ReadFile(filepath.Join(process, "cgroup"))
		if strings.Contains(string(groups), "/statichost-") {
			name, _ := os.ReadFile(filepath.Join(process, "comm"))
			found = append(found, process+" "+strings.TrimSpace(string(name)))
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
