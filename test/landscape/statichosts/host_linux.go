// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package statichosts

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/pem"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"
	"golang.org/x/crypto/ssh"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/hardware"
)

const (
	// port is that of the SSH servers.
	port = 22
	// restart is the exit code of nspawn if the system reboots.
	restart        = 133
	defaultDiskMiB = 256
	pollInterval   = 50 * time.Millisecond

	hostKeyFile = "/etc/ssh/ssh_host_ed25519_key"
	networkFile = "/etc/systemd/network/10-host0.network"
	fillFile    = "/filler"
)

// Options say how a host is installed.
type Options struct {
	// DiskMiB is the space on the disk in addition to the operating system. Default: 256.
	DiskMiB int
	// PrivateKey is the key that root and users of the host let in, in the format of OpenSSH. Default: one of its own.
	PrivateKey []byte
}

// Host is a host that runs Debian.
type Host struct {
	// Name is the host name.
	Name string
	// Address is the IP address, and Port is that of the SSH server.
	Address netip.Addr
	Port    int
	// HostKeys are the public keys of the SSH server in the format of OpenSSH, without comments.
	HostKeys []string
	// PrivateKey is the key that root and users of the host let in, in the format of OpenSSH.
	PrivateKey []byte
	// MachineID is the content of /etc/machine-id.
	MachineID string
	// HostKey is the private key of the SSH server.
	HostKey []byte

	site    *Site
	dir     string
	disk    *disk
	process *landscape.Process
	// group is the control group of the host, and groupFile is open while the host starts.
	group     string
	groupFile *os.File

	monitors sync.WaitGroup
	mutex    sync.Mutex
	on       bool
	boots    int
}

func newHost(s *Site, name string, address [4]byte, o Options) (*Host, error) {
	if o.DiskMiB == 0 {
		o.DiskMiB = defaultDiskMiB
	}
	h := &Host{
		Name: name, Address: netip.AddrFrom4(address), Port: port, PrivateKey: o.PrivateKey,
		MachineID: strings.ReplaceAll(uuid.NewString(), "-", ""),
		site:      s, dir: filepath.Join(s.dir, name),
	}
	var err error
	if h.PrivateKey == nil {
		if h.PrivateKey, _, err = newKey(); err != nil {
			return nil, err
		}
	}
	base, err := unified()
	if err != nil {
		return nil, err
	}
	h.group = filepath.Join(base, "statichost-"+strings.ReplaceAll(h.Address.String(), ".", "-"))
	// What is left of a process that was killed has no processes.
	if err := errors.Join(removeGroup(h.group), os.Mkdir(h.group, 0o755)); err != nil { // #nosec G301 -- as systemd makes them
		return nil, err
	}
	if h.disk, err = newDisk(h.dir, s.root, o.DiskMiB, h.install); err != nil {
		return nil, errors.Join(err, removeGroup(h.group))
	}
	h.process = &landscape.Process{
		// The kernel ends all processes of the host with nspawn, which is the first one of a namespace.
		Name: name, Path: "unshare", LogFile: h.ConsoleFile(), Prepare: h.prepare, Args: []string{
			"--pid", "--fork", "--kill-child", "--mount-proc", "systemd-nspawn",
			"--quiet", "--boot", "--register=no", "--keep-unit", "--directory=" + h.disk.root(), "--machine=" + name,
			"--network-bridge=" + hardware.Bridge, "--capability=all", "--system-call-filter=bpf keyctl add_key", "--console=pipe",
			"--resolv-conf=off", "--timezone=off", "--link-journal=no",
		},
	}
	return h, nil
}

// newKey returns a private and a public key in the formats of OpenSSH.
func newKey() (private []byte, public string, err error) {
	_, key, err := ed25519.GenerateKey(nil)
	if err != nil {
		return nil, "", err
	}
	block, err := ssh.MarshalPrivateKey(key, "")
	if err != nil {
		return nil, "", err
	}
	private = pem.EncodeToMemory(block)
	public, err = publicKey(private)
	return private, public, err
}

// publicKey returns the public key of a private one.
func publicKey(private []byte) (string, error) {
	signer, err := ssh.ParsePrivateKey(private)
	if err != nil {
		return "", err
	}
	return strings.TrimSpace(string(ssh.MarshalAuthorizedKey(signer.PublicKey()))), nil
}

// install does what an installer does to the disk.
func (h *Host) install(root string) error {
	user, err := publicKey(h.PrivateKey)
	if err != nil {
		return err
	}
	hostKey, _, err := newKey()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Join(root, "root", ".ssh"), 0o700); err != nil {
		return err
	}
	for _, file := range []struct {
		path, content string
		mode          os.FileMode
	}{
		{"/etc/machine-id", h.MachineID + "\n", 0o444},
		{"/etc/hostname", h.Name + "\n", 0o644},
		{"/etc/hosts", "127.0.0.1 localhost\n127.0.1.1 " + h.Name + "\n", 0o644},
		{"/root/.ssh/authorized_keys", user + "\n", 0o600},
		{networkFile, h.network(h.Address), 0o644},
	} {
		if err := os.WriteFile(filepath.Join(root, file.path), []byte(file.content), file.mode); err != nil {
			return err
		}
	}
	return h.writeHostKey(root, hostKey)
}

// network is the configuration of the network card.
func (h *Host) network(address netip.Addr) string {
	return fmt.Sprintf("[Match]\nName=host0\n[Network]\nAddress=%s/%d\nGateway=%s\nLinkLocalAddressing=no\nIPv6AcceptRA=no\n",
		address, h.site.Network.Prefix.Bits(), h.site.Network.Gateway)
}

func (h *Host) writeHostKey(root string, key []byte) error {
	public, err := publicKey(key)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(root, hostKeyFile), key, 0o600); err != nil {
		return err
	}
	h.HostKey, h.HostKeys = key, []string{public}
	return os.WriteFile(filepath.Join(root, hostKeyFile+".pub"), []byte(public+"\n"), 0o644) // #nosec G306 -- it is public
}

// prepare lets the process begin in the namespaces of the network and of the disk, and in the control group of the host.
func (h *Host) prepare(cmd *exec.Cmd) error {
	group, err := os.Open(h.group)
	if err != nil {
		return err
	}
	h.groupFile = group
	cmd.SysProcAttr.UseCgroupFD, cmd.SysProcAttr.CgroupFD = true, int(group.Fd())
	return errors.Join(h.site.Network.Enter(), h.disk.enter())
}

// card is the interface that nspawn makes at the bridge.
func (h *Host) card() string { return "vb-" + h.Name }

// ConsoleFile is the file with what the host wrote to its console.
func (h *Host) ConsoleFile() string { return filepath.Join(h.dir, "console.log") }

// PowerOn switches the host on, and waits until it has booted. It does nothing if the host is on.
func (h *Host) PowerOn(ctx context.Context) error {
	h.mutex.Lock()
	if !h.on {
		if err := h.start(); err != nil {
			h.mutex.Unlock()
			return err
		}
		h.on = true
	}
	h.mutex.Unlock()
	return h.WaitBooted(ctx)
}

// start lets the host boot. The mutex is locked.
func (h *Host) start() error {
	// The kernel removes the network card of a host that was switched off some time later.
	_ = h.site.Network.Remove(h.card())
	if err := h.process.Start(); err != nil {
		return err
	}
	_ = h.groupFile.Close()
	h.boots++
	h.monitors.Go(func() {
		err := h.process.Wait(context.Background())
		h.mutex.Lock()
		defer h.mutex.Unlock()
		var exit *exec.ExitError
		if h.on && (!errors.As(err, &exit) || exit.ExitCode() != restart || h.start() != nil) {
			h.on = false
		}
	})
	return nil
}

// CutPower switches the host off at once, as if its cord was pulled. The disk remains.
func (h *Host) CutPower() {
	h.mutex.Lock()
	h.on = false
	h.mutex.Unlock()
	h.process.Kill()
	h.monitors.Wait()
	// What the kernel still ends is in the group.
	_ = wait.PollUntilContextCancel(context.Background(), time.Millisecond, true, func(context.Context) (bool, error) {
		events, err := os.ReadFile(filepath.Join(h.group, "cgroup.events"))
		return err != nil || strings.Contains(string(events), "populated 0"), nil
	})
}

// On reports whether the host is switched on.
func (h *Host) On() bool {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	return h.on
}

// Boots is how often the host began to boot.
func (h *Host) Boots() int {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	return h.boots
}

// WaitBooted waits until all that starts at boot has started.
func (h *Host) WaitBooted(ctx context.Context) error {
	const wanted = "systemctl is-active --quiet multi-user.target && systemctl is-active --quiet ssh && " +
		"systemctl is-active --quiet containerd && ip -4 addr show dev host0 scope global | grep -q inet"
	for {
		_, err := h.Run(ctx, wanted)
		if err == nil {
			return nil
		}
		if !h.On() {
			return fmt.Errorf("%s is off; its console:\n%s", h.Name, h.process.Tail(20))
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait until %s has booted: %w: %w; its console:\n%s", h.Name, ctx.Err(), err, h.process.Tail(20))
		case <-time.After(pollInterval):
		}
	}
}

// Run runs a command of the shell as root at the console of the host, which needs neither its network nor its SSH server, and returns
// what it printed.
func (h *Host) Run(ctx context.Context, command string) (string, error) {
	pid, err := h.pid()
	if err != nil {
		return "", err
	}
	cmd := exec.CommandContext(ctx, "nsenter", "--all", "--target", pid, "--", "/bin/sh", "-c", "cd /\n"+command) // #nosec G204 -- a test's
	cmd.Env = []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/root", "LC_ALL=C.UTF-8"}
	cmd.WaitDelay = time.Second
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		err = fmt.Errorf("%s at the console of %s: %w: %s", command, h.Name, err, strings.TrimSpace(stderr.String()))
	}
	return strings.TrimSpace(string(out)), err
}

// pid is the ID of the host's first process.
func (h *Host) pid() (string, error) {
	content, err := os.ReadFile(filepath.Join(h.group, "payload", "init.scope", "cgroup.procs"))
	if err != nil {
		return "", err
	}
	pid, _, found := strings.Cut(string(content), "\n")
	if !found {
		return "", fmt.Errorf("%s does not run", h.Name)
	}
	return pid, nil
}

// BootID returns the ID of the boot.
func (h *Host) BootID(ctx context.Context) (string, error) {
	return h.Run(ctx, "cat /proc/sys/kernel/random/boot_id")
}

// PullCable takes the cable out of the network card. After a reboot it is there again.
func (h *Host) PullCable() error { return h.site.Network.Pull(h.card()) }

// PlugCable puts the cable back into the network card.
func (h *Host) PlugCable() error { return h.site.Network.Plug(h.card()) }

// FillDisk leaves no space on the disk, until EmptyDisk.
func (h *Host) FillDisk(ctx context.Context) error {
	_, err := h.Run(ctx, "! cat /dev/zero >"+fillFile+" 2>/dev/null")
	return err
}

// EmptyDisk gives back the space that FillDisk took.
func (h *Host) EmptyDisk(ctx context.Context) error {
	_, err := h.Run(ctx, "rm -f "+fillFile)
	return err
}

// SetClock shifts the time that programs see which are run by SSH from now on. Zero ends that.
func (h *Host) SetClock(ctx context.Context, offset time.Duration) error {
	command := ": >/etc/environment"
	if offset != 0 {
		command = fmt.Sprintf("printf '%%s\\n' FAKETIME=%+d 'LD_PRELOAD=/usr/$LIB/faketime/libfaketime.so.1' >/etc/environment",
			int64(offset/time.Second))
	}
	_, err := h.Run(ctx, command)
	return err
}

// SetHostKey gives the SSH server another private key; nil makes one.
func (h *Host) SetHostKey(ctx context.Context, key []byte) error {
	if key == nil {
		var err error
		if key, _, err = newKey(); err != nil {
			return err
		}
	}
	if err := h.disk.do(func(root string) error { return h.writeHostKey(root, key) }); err != nil {
		return err
	}
	_, err := h.Run(ctx, "systemctl restart ssh")
	return err
}

// SetAddress gives the network card another address.
func (h *Host) SetAddress(ctx context.Context, address netip.Addr) error {
	err := h.disk.do(func(root string) error {
		return os.WriteFile(filepath.Join(root, networkFile), []byte(h.network(address)), 0o644) // #nosec G306 -- as installed
	})
	if err != nil {
		return err
	}
	h.Address = address
	_, err = h.Run(ctx, "networkctl reload; for i in $(seq 50); do ip -4 addr show dev host0 | grep -q "+
		strconv.Quote(address.String()+"/")+" && exit; sleep 0.1; done; exit 1")
	return errors.Join(err, h.site.Network.Flush())
}

// AddUser adds a user that may become root with sudo, with this password. Without one, sudo does not ask.
func (h *Host) AddUser(ctx context.Context, name, password string) error {
	key, err := publicKey(h.PrivateKey)
	if err != nil {
		return err
	}
	commands := []string{
		"set -e", "useradd --create-home --shell /bin/bash --groups sudo " + name,
		fmt.Sprintf("install -d -m 700 -o %[1]s -g %[1]s /home/%[1]s/.ssh", name),
		fmt.Sprintf("echo '%[2]s' >/home/%[1]s/.ssh/authorized_keys; chown %[1]s: /home/%[1]s/.ssh/authorized_keys", name, key),
	}
	if password == "" {
		commands = append(commands, fmt.Sprintf("echo '%[1]s ALL=(ALL) NOPASSWD: ALL' >/etc/sudoers.d/%[1]s", name))
	} else {
		commands = append(commands, fmt.Sprintf("echo '%s:%s' | chpasswd", name, password))
	}
	_, err = h.Run(ctx, strings.Join(commands, "\n"))
	return err
}

// SetPassword changes the password of a user.
func (h *Host) SetPassword(ctx context.Context, name, password string) error {
	_, err := h.Run(ctx, fmt.Sprintf("echo '%s:%s' | chpasswd", name, password))
	return err
}
