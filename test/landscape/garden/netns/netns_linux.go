// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package netns

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strings"

	"golang.org/x/sys/unix"
)

// Namespace is a network namespace.
type Namespace struct {
	file *os.File
}

// New makes a namespace. Its loopback interface is up and processes of any user may listen on all ports.
func New() (*Namespace, error) {
	n := &Namespace{}
	err := onThread(func() error {
		if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
			return err
		}
		if err := os.WriteFile("/proc/sys/net/ipv4/ip_unprivileged_port_start", []byte("0"), 0o600); err != nil {
			return err
		}
		var err error
		n.file, err = os.Open("/proc/thread-self/ns/net")
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("make a network namespace: %w", err)
	}
	return n, n.IP("link set lo up")
}

// Own returns the namespace of this process.
func Own() (*Namespace, error) {
	file, err := os.Open("/proc/thread-self/ns/net")
	return &Namespace{file: file}, err
}

// Close gives the namespace up. It is gone when the last process in it has ended.
func (n *Namespace) Close() error {
	return n.file.Close()
}

// Enter moves the current thread to the namespace. The thread must be locked and be used for nothing else afterwards.
func (n *Namespace) Enter() error {
	if err := unix.Setns(int(n.file.Fd()), unix.CLONE_NEWNET); err != nil {
		return fmt.Errorf("enter a network namespace: %w", err)
	}
	return nil
}

// IP runs ip in the namespace, once for each line of arguments.
func (n *Namespace) IP(lines ...string) error {
	return n.ip(lines)
}

// Connect makes a pair of interfaces: one with the name in this namespace, at the bridge, and the peer in the other one.
func (n *Namespace) Connect(other *Namespace, name, peer, bridge string) error {
	// The third file of a process is the first one that is handed over in addition.
	return n.ip([]string{
		fmt.Sprintf("link add %s type veth peer name %s netns /proc/self/fd/3", name, peer),
		fmt.Sprintf("link set %s master %s up", name, bridge),
	}, other.file)
}

func (n *Namespace) ip(lines []string, files ...*os.File) error {
	return onThread(func() error {
		if err := n.Enter(); err != nil {
			return err
		}
		cmd := exec.Command("ip", "-batch", "-")
		cmd.Stdin, cmd.ExtraFiles = strings.NewReader(strings.Join(lines, "\n")+"\n"), files
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("ip: %w: %s", err, strings.TrimSpace(string(out)))
		}
		return nil
	})
}

// DialContext connects to an address in the namespace. The host must be an IP address.
func (n *Namespace) DialContext(ctx context.Context, network, address string) (conn net.Conn, err error) {
	err = onThread(func() error {
		if err := n.Enter(); err != nil {
			return err
		}
		var dialer net.Dialer
		conn, err = dialer.DialContext(ctx, network, address)
		return err
	})
	return conn, err
}

// Listen listens at an address in the namespace. The host must be an IP address.
func (n *Namespace) Listen(address string) (listener net.Listener, err error) {
	err = onThread(func() error {
		if err := n.Enter(); err != nil {
			return err
		}
		listener, err = net.Listen("tcp", address)
		return err
	})
	return listener, err
}

// onThread runs f on a thread of its own, which ends with it.
func onThread(f func() error) error {
	done := make(chan error)
	go func() {
		runtime.LockOSThread()
		done <- f()
	}()
	return <-done
}
