// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package kubelet

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"

	"golang.org/x/sys/unix"
	corev1 "k8s.io/api/core/v1"
)

// linked are the folders of this machine that programs are linked with.
var linked = []string{"/bin", "/lib", "/lib32", "/lib64", "/sbin", "/usr"}

// maxHostname is the length of a host name at most.
const maxHostname = 64

// sandbox is what a process sees.
type sandbox struct {
	authorities string
	pod         *Pod
	spec        *corev1.Container
	program     *Program
	hosts       string
	env         map[string]string
}

// executable is the path of the program in the sandbox.
func (s *sandbox) executable() string {
	return programFile(s.program.Path)
}

// programFile is where an executable or a file beside it is in the sandbox.
func programFile(path string) string {
	return filepath.Join(ProgramFolder, filepath.Base(path))
}

// enter moves the current thread to the network of the pod and to a mount namespace of its own, and makes the root folder there.
func (s *sandbox) enter(cmd *exec.Cmd) error {
	if err := s.pod.network.Enter(); err != nil {
		return err
	}
	root := filepath.Join(s.pod.dir, "root-"+s.spec.Name)
	if err := os.MkdirAll(root, 0o755); err != nil { // #nosec G301 -- containers have other users
		return err
	}
	if err := unix.Unshare(unix.CLONE_FS | unix.CLONE_NEWNS | unix.CLONE_NEWUTS); err != nil {
		return fmt.Errorf("make a mount namespace and a host name: %w", err)
	}
	// By it, leaders name themselves.
	if err := unix.Sethostname([]byte(s.pod.key.Name[:min(len(s.pod.key.Name), maxHostname)])); err != nil {
		return err
	}
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("make mounts private: %w", err)
	}
	if err := s.fill(root); err != nil {
		return err
	}

	cmd.Dir, cmd.Env = cmp.Or(s.spec.WorkingDir, "/"), nil
	for _, name := range slices.Sorted(maps.Keys(s.env)) {
		cmd.Env = append(cmd.Env, name+"="+s.env[name])
	}
	cmd.SysProcAttr.Chroot, cmd.SysProcAttr.Credential = root, s.user()
	return nil
}

// fill mounts everything below the root folder.
func (s *sandbox) fill(root string) error {
	if err := unix.Mount("tmpfs", root, "tmpfs", 0, "mode=0755"); err != nil {
		return fmt.Errorf("mount the root folder: %w", err)
	}
	for _, path := range linked {
		if err := link(root, path); err != nil {
			return err
		}
	}
	for _, path := range []string{"/dev", "/proc"} {
		if err := bind(path, filepath.Join(root, path), unix.MS_REC); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(filepath.Join(root, "tmp"), 0o755); err != nil { // #nosec G301 -- containers have other users
		return err
	}
	if err := os.Chmod(filepath.Join(root, "tmp"), 0o777|os.ModeSticky); err != nil { // #nosec G302 -- as /tmp is
		return err
	}
	for path, content := range map[string]string{
		"/etc/resolv.conf": "", "/etc/nsswitch.conf": "hosts: files\n", "/etc/passwd": "root:x:0:0::/:/\nnonroot:x:65532:65532::/:/\n",
		"/etc/ssl/certs/ca-certificates.crt": s.authorities,
	} {
		if err := writeFile(filepath.Join(root, path), []byte(content)); err != nil {
			return err
		}
	}
	if err := bind(s.hosts, filepath.Join(root, "etc/hosts"), 0); err != nil {
		return err
	}
	for _, path := range append([]string{s.program.Path}, s.program.Files...) {
		if err := bind(path, filepath.Join(root, programFile(path)), 0); err != nil {
			return err
		}
	}
	return errors.Join(s.mountVolumes(root), s.protect(root))
}

func (s *sandbox) mountVolumes(root string) error {
	mounts := slices.SortedFunc(slices.Values(s.spec.VolumeMounts),
		func(a, b corev1.VolumeMount) int { return len(a.MountPath) - len(b.MountPath) })
	for _, m := range mounts {
		v := s.pod.volumes[m.Name]
		if v == nil {
			continue
		}
		source := filepath.Join(v.path, m.SubPath)
		if err := bind(source, filepath.Join(root, m.MountPath), 0); err != nil {
			return fmt.Errorf("mount volume %s: %w", m.Name, err)
		}
	}
	return nil
}

// protect makes the root folder read-only if the container says so.
func (s *sandbox) protect(root string) error {
	context := s.spec.SecurityContext
	if context == nil || context.ReadOnlyRootFilesystem == nil || !*context.ReadOnlyRootFilesystem {
		return nil
	}
	return unix.Mount("", root, "", unix.MS_REMOUNT|unix.MS_BIND|unix.MS_RDONLY, "")
}

// user is the user that the pod or the container says, nil if that is root.
func (s *sandbox) user() *syscall.Credential {
	var user, group int64
	var groups []uint32
	if context := s.pod.object.Spec.SecurityContext; context != nil {
		if context.RunAsUser != nil {
			user = *context.RunAsUser
		}
		if context.RunAsGroup != nil {
			group = *context.RunAsGroup
		}
		if context.FSGroup != nil {
			groups = append(groups, uint32(*context.FSGroup)) // #nosec G115 -- checked by kube-apiserver
		}
	}
	if context := s.spec.SecurityContext; context != nil {
		if context.RunAsUser != nil {
			user = *context.RunAsUser
		}
		if context.RunAsGroup != nil {
			group = *context.RunAsGroup
		}
	}
	if user == 0 {
		return nil
	}
	return &syscall.Credential{Uid: uint32(user), Gid: uint32(group), Groups: groups} // #nosec G115 -- checked by kube-apiserver
}

// link shows a folder of this machine, which may be a link, at the same path, read-only.
func link(root, path string) error {
	info, err := os.Lstat(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	target := filepath.Join(root, path)
	if info.Mode()&os.ModeSymlink != 0 {
		to, err := os.Readlink(path)
		if err != nil {
			return err
		}
		return os.Symlink(to, target)
	}
	if err := bind(path, target, 0); err != nil {
		return err
	}
	return unix.Mount("", target, "", unix.MS_REMOUNT|unix.MS_BIND|unix.MS_RDONLY, "")
}

// bind shows a file or a folder at another path.
func bind(source, target string, flags uintptr) error {
	info, err := os.Stat(source)
	if err != nil {
		return err
	}
	if info.IsDir() {
		err = os.MkdirAll(target, 0o755) // #nosec G301 -- containers have other users
	} else if _, missing := os.Stat(target); missing != nil {
		err = writeFile(target, nil)
	}
	if err != nil {
		return err
	}
	if err := unix.Mount(source, target, "", unix.MS_BIND|flags, ""); err != nil {
		return fmt.Errorf("bind %s to %s: %w", source, target, err)
	}
	return nil
}

// writeFile writes a file that containers of all users may read, and the folders above it.
func writeFile(path string, content []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil { // #nosec G301 -- containers have other users
		return err
	}
	return os.WriteFile(path, content, 0o644) // #nosec G306 -- containers have other users
}
