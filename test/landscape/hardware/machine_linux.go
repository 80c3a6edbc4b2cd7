// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package hardware

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape"
)

const (
	// What the kernel says last.
	saysRestart = "reboot: Restarting system"
	saysOff     = "reboot: Power down"
	saysHalted  = "reboot: System halted"

	priority = -5
)

// ErrNoDisk means that a machine is switched on that has nothing to boot.
var ErrNoDisk = errors.New("there is nothing on the disk")

// Options say what a machine consists of.
type Options struct {
	// MAC is the address of its network card.
	MAC string
	// Memory is its memory in MiB. Default: 768.
	Memory int
	// Network is what its card is plugged into. Default: that of the rack.
	Network *Network
	// Tap is the name of the interface of the network that is its card. Default: some name.
	Tap string
}

// Machine is a server.
type Machine struct {
	// Name is the name of the machine.
	Name string

	rack    *Rack
	tap     string
	dir     string
	options Options
	process *landscape.Process

	group sync.WaitGroup
	mutex sync.Mutex
	on    bool
	slot  *slot
	// boots is how often the machine began to boot.
	boots int
	// volumes are its other disks, in the order of their numbers. Those without an ID are not there.
	volumes [maxVolumes]volume
}

func newMachine(r *Rack, name string, o Options) (*Machine, error) {
	if o.Memory == 0 {
		o.Memory = defaultMemory
	}
	if o.Memory > maxMemory {
		return nil, fmt.Errorf("%d MiB of memory are more than %d", o.Memory, maxMemory)
	}
	if o.Network == nil {
		o.Network = r.Network
	}
	m := &Machine{Name: name, rack: r, dir: filepath.Join(r.dir, name), options: o}
	if err := os.MkdirAll(m.dir, 0o700); err != nil {
		return nil, err
	}
	var err error
	if m.tap, err = o.Network.newTap(o.Tap); err != nil {
		return nil, err
	}
	m.process = &landscape.Process{
		Name: name, Path: r.kernel, LogFile: m.ConsoleFile(),
		// The memory of a machine is a file that has no name.
		Env:     []string{"TMPDIR=/dev/shm", "UBD_DELAY=" + m.delay()},
		Prepare: m.prepare,
	}
	return m, m.SlowDisk(0)
}

// arguments are those of the kernel: for the hardware, and then for the system.
func (m *Machine) arguments() []string {
	firmware := []string{"ubd1r=" + m.drive()}
	if exists(m.hypervisor()) {
		// The kernel does not tell its system the first of them.
		firmware = []string{"hostfs=" + m.hypervisor(), "hypervisor"}
	}
	arguments := []string{
		fmt.Sprintf("mem=%dM", m.options.Memory), "uml_dir=" + m.dir, "umid=" + controlName, "noreboot", "seccomp=auto",
		"ubd0=" + m.disk() + "," + m.rack.image,
		fmt.Sprintf("vec0:transport=tap,ifname=%s,depth=128,gro=1,mac=%s", m.tap, m.options.MAC),
		"con=null", "con0=null,fd:1", "console=tty0", "quiet", "root=/dev/ubda", "rw", "init=/usr/local/sbin/init",
		// A server has no such interfaces, which cloud-init would take for the network card.
		"dummy.numdummies=0", "fb_tunnels=none",
	}
	arguments = append(arguments, firmware...)
	for i, v := range m.volumes {
		if v.id != "" {
			arguments = append(arguments, v.device(firstVolume+i))
		}
	}
	return arguments
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// prepare lets the process begin in the namespace of the network, and as the first process of a namespace, so that the kernel ends all of
// its helpers with it. It comes before others, because time passes in the machine while it waits.
func (m *Machine) prepare(cmd *exec.Cmd) error {
	cmd.SysProcAttr.Cloneflags |= unix.CLONE_NEWPID
	if err := unix.Setpriority(unix.PRIO_PROCESS, 0, priority); err != nil {
		return err
	}
	return m.options.Network.Enter()
}

func (m *Machine) disk() string  { return filepath.Join(m.dir, "disk") }
func (m *Machine) drive() string { return filepath.Join(m.dir, "drive") }
func (m *Machine) delay() string { return filepath.Join(m.dir, "delay") }

// ConsoleFile is the file with what the machine wrote to its console.
func (m *Machine) ConsoleFile() string { return filepath.Join(m.dir, "console.log") }

// Console returns the last lines that the machine wrote to its console.
func (m *Machine) Console(lines int) string { return m.process.Tail(lines) }

// On reports whether the machine is powered on. One that has crashed is.
func (m *Machine) On() bool {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	return m.on
}

// Boots is how often the machine began to boot.
func (m *Machine) Boots() int {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	return m.boots
}

// PowerOn switches the machine on. It does nothing if it is on.
func (m *Machine) PowerOn() error {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	if m.on {
		return nil
	}
	if !exists(m.drive()) && !exists(m.hypervisor()) {
		return fmt.Errorf("switch %s on: %w", m.Name, ErrNoDisk)
	}
	slot, err := takeSlot("machines", maxMachines)
	if err != nil {
		return fmt.Errorf("switch %s on: %w", m.Name, err)
	}
	if err := m.start(); err != nil {
		return errors.Join(err, slot.free())
	}
	m.on, m.slot = true, slot
	return nil
}

// start lets the machine boot. The mutex is locked.
func (m *Machine) start() error {
	// What is left of a run that was killed looks as if it ran.
	if err := os.RemoveAll(filepath.Join(m.dir, controlName)); err != nil {
		return err
	}
	m.process.Args = m.arguments()
	if err := m.process.Start(); err != nil {
		return err
	}
	m.boots++
	done := m.process.Done()
	m.group.Go(func() {
		<-done
		m.ended()
	})
	return nil
}

// ended does what hardware does when the system has ended: it boots again if that was the wish, or is off. After a crash it stays on.
func (m *Machine) ended() {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	if !m.on {
		return
	}
	last := m.process.Tail(5)
	switch {
	case strings.Contains(last, saysRestart):
		if m.start() != nil {
			m.off()
		}
	case strings.Contains(last, saysOff), strings.Contains(last, saysHalted):
		m.off()
	}
}

// off notes that the machine is off. The mutex is locked.
func (m *Machine) off() {
	m.on = false
	if m.slot != nil {
		_ = m.slot.free()
		m.slot = nil
	}
}

// CutPower switches the machine off at once, as if its cord was pulled.
func (m *Machine) CutPower() {
	m.mutex.Lock()
	m.off()
	m.mutex.Unlock()
	m.process.Kill()
	m.group.Wait()
}

// Reset lets the machine boot at once, without an orderly end of what runs.
func (m *Machine) Reset() error {
	m.CutPower()
	return m.PowerOn()
}

// PressPower presses the power button: the system ends in its order, and then the machine is off. WaitOff waits for that.
func (m *Machine) PressPower(ctx context.Context) error {
	return m.control(ctx, "cad")
}

// Crash lets the kernel panic.
func (m *Machine) Crash(ctx context.Context) error {
	return m.control(ctx, "sysrq c")
}

// Freeze stops the machine's processor until Thaw.
func (m *Machine) Freeze(ctx context.Context) error {
	return m.control(ctx, "stop")
}

// Thaw lets the processor go on after Freeze.
func (m *Machine) Thaw(ctx context.Context) error {
	return m.control(ctx, "go")
}

// WaitOff waits until the machine is off.
func (m *Machine) WaitOff(ctx context.Context) error {
	for m.On() {
		if err := m.process.Wait(ctx); ctx.Err() != nil {
			return fmt.Errorf("wait until %s is off: %w; its console:\n%s", m.Name, err, m.Console(20))
		}
		m.group.Wait()
	}
	return nil
}

// PullCable takes the cable out of the network card.
func (m *Machine) PullCable() error {
	return m.options.Network.Pull(m.tap)
}

// PlugCable puts the cable back into the network card.
func (m *Machine) PlugCable() error {
	return m.options.Network.Plug(m.tap)
}

// SlowDisk lets each request to the disks and volumes of the machine take that much longer from now on.
func (m *Machine) SlowDisk(delay time.Duration) error {
	return os.WriteFile(m.delay(), []byte(strconv.FormatInt(delay.Microseconds(), 10)), 0o600)
}
