// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package statichosts

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"

	"golang.org/x/sys/unix"
)

// groups is where a host finds the control groups of version 2, and nothing of version 1.
const groups = "/sys/fs/cgroup"

// disk is the file system of a host: what differs from the root that is shared by all hosts is in memory. It is mounted in a namespace
// that ends with this process and the host.
type disk struct {
	path      string
	namespace *os.File
}

// newDisk makes a disk with a limited size and runs prepare with its root.
func newDisk(dir, shared string, sizeMiB int, prepare func(root string) error) (*disk, error) {
	d := &disk{path: filepath.Join(dir, "disk")}
	if err := os.MkdirAll(d.path, 0o700); err != nil {
		return nil, err
	}
	err := onThread(func() error {
		if err := unix.Unshare(unix.CLONE_FS | unix.CLONE_NEWNS); err != nil {
			return err
		}
		if err := d.mount(shared, sizeMiB); err != nil {
			return err
		}
		if err := prepare(d.root()); err != nil {
			return err
		}
		var err error
		d.namespace, err = os.Open("/proc/thread-self/ns/mnt")
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("make a disk: %w", err)
	}
	return d, nil
}

func (d *disk) mount(shared string, sizeMiB int) error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return err
	}
	// What nspawn notes about containers is that of one host.
	if err := unix.Mount("run", "/run", "tmpfs", 0, "mode=755"); err != nil {
		return err
	}
	if err := unix.Mount("groups", groups, "cgroup2", 0, ""); err != nil {
		return err
	}
	if err := unix.Mount("disk", d.path, "tmpfs", 0, fmt.Sprintf("mode=700,size=%dM", sizeMiB)); err != nil {
		return err
	}
	for _, folder := range []string{"upper", "work", "root"} {
		if err := os.Mkdir(filepath.Join(d.path, folder), 0o755); err != nil { // #nosec G301 -- the root of a file system
			return err
		}
	}
	// Without redirect_dir, folders of the shared root could not be renamed, as they can on other file systems.
	options := fmt.Sprintf("lowerdir=%s,upperdir=%s/upper,workdir=%s/work,redirect_dir=on,xino=on", shared, d.path, d.path)
	return unix.Mount("root", d.root(), "overlay", 0, options)
}

func (d *disk) root() string { return filepath.Join(d.path, "root") }

// enter moves the current thread to the namespace. The thread must be locked and be used for nothing else afterwards.
func (d *disk) enter() error {
	if err := unix.Unshare(unix.CLONE_FS); err != nil {
		return err
	}
	return unix.Setns(int(d.namespace.Fd()), unix.CLONE_NEWNS)
}

// do runs f with the root of the disk, on a thread that sees it.
func (d *disk) do(f func(root string) error) error {
	return onThread(func() error {
		if err := d.enter(); err != nil {
			return err
		}
		return f(d.root())
	})
}

func (d *disk) close() error { return d.namespace.Close() }

// onThread runs f on a thread of its own, which ends with it.
func onThread(f func() error) error {
	done := make(chan error)
	go func() {
		runtime.LockOSThread()
		done <- f()
	}()
	return <-done
}

// unified is where this machine has the control groups of version 2.
func unified() (string, error) {
	for _, path := range []string{groups, filepath.Join(groups, "unified")} {
		var stat unix.Statfs_t
		if err := unix.Statfs(path, &stat); err == nil && stat.Type == unix.CGROUP2_SUPER_MAGIC {
			return path, nil
		}
	}
	return "", fmt.Errorf("there are no control groups of version 2 in %s", groups)
}

// removeGroup removes a control group and those in it. It does nothing if there is none.
func removeGroup(path string) error {
	entries, err := os.ReadDir(path)
	if os.IsNotExist(err) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.IsDir() {
			if err := removeGroup(filepath.Join(path, e.Name())); err != nil {
				return err
			}
		}
	}
	return os.Remove(path)
}
