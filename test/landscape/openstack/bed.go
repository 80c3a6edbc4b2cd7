// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape"
)

// Projects are the two projects that serve as sites. Their members have the name of the project.
var Projects = [2]string{"gardener", "gardener2"}

// exitNotPossible is up.sh's exit code if the machine cannot run OpenStack.
const exitNotPossible = 3

// ErrNotPossible means that this machine cannot install OpenStack; the message says why and what to do instead.
var ErrNotPossible = errors.New("OpenStack cannot be installed here")

// Bed is the OpenStack of the landscape.
type Bed struct {
	// State is the folder of its state.
	State string

	scripts string
	env     []string
}

// NewBed returns the OpenStack whose state is in $OST_STATE or, by default, in the user's cache folder.
func NewBed() (*Bed, error) {
	state := os.Getenv("OST_STATE")
	if state == "" {
		var err error
		if state, err = landscape.CacheDir("openstack"); err != nil {
			return nil, err
		}
	}
	return newBed(state), nil
}

// NewMachinesBed returns an OpenStack of its own with its state in a folder, whose servers are machines that test/landscape/openstack/boot
// has at a socket, with Neutron's agents. It needs namespaces of its own, which package isolation makes.
func NewMachinesBed(state, socket string) *Bed {
	b := newBed(state)
	b.env = []string{"OST_MACHINES=" + socket}
	return b
}

func newBed(state string) *Bed {
	return &Bed{State: state, scripts: filepath.Join(landscape.Root(), "hack", "landscape", "openstack")}
}

// Answers reports whether Keystone answers. A busy one is given time: who takes it for one that does not run stops it in the end.
func (b *Bed) Answers(ctx context.Context) bool {
	credentials, err := ReadCredentials(b.Openrc(Projects[0]))
	if err != nil {
		return false
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, credentials.AuthURL, nil)
	if err != nil {
		return false
	}
	response, err := (&http.Client{Timeout: time.Minute}).Do(request)
	if err != nil {
		return false
	}
	return response.Body.Close() == nil && response.StatusCode < http.StatusInternalServerError
}

// Start installs and starts what is missing and reports whether OpenStack did not run before. Lines about the progress go to
// progress.
func (b *Bed) Start(ctx context.Context, progress io.Writer) (started bool, err error) {
	return b.start(ctx, progress)
}

// StartWithDNS is Start with Designate, which needs half a GiB of memory and which nobody else needs.
func (b *Bed) StartWithDNS(ctx context.Context, progress io.Writer) (started bool, err error) {
	return b.start(ctx, progress, "OST_SERVICES=cinder octavia manila designate")
}

// StartWithSwift is Start with Swift, which only backups need.
func (b *Bed) StartWithSwift(ctx context.Context, progress io.Writer) (started bool, err error) {
	return b.start(ctx, progress, "OST_SERVICES=cinder octavia manila swift")
}

// StartWithShares is Start with a scheduler and a back end of Manila, which only shares need.
func (b *Bed) StartWithShares(ctx context.Context, progress io.Writer) (started bool, err error) {
	return b.start(ctx, progress, "OST_SERVICES=cinder octavia manila manila-share")
}

func (b *Bed) start(ctx context.Context, progress io.Writer, env ...string) (started bool, err error) {
	ran := b.Answers(ctx)
	output := &bytes.Buffer{}
	err = b.script(ctx, io.MultiWriter(progress, output), "up.sh", env...)
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() == exitNotPossible {
		_, reason, _ := strings.Cut(output.String(), ErrNotPossible.Error()+": ")
		return false, fmt.Errorf("%w: %s", ErrNotPossible, strings.TrimSpace(reason))
	}
	return !ran, err
}

// Stop stops OpenStack and keeps its state.
func (b *Bed) Stop(ctx context.Context, progress io.Writer) error {
	return b.script(ctx, progress, "down.sh")
}

// Credentials returns a member's access to a project.
func (b *Bed) Credentials(project string) (Credentials, error) {
	return ReadCredentials(b.Openrc(project))
}

// SetBootDelay says how long the servers of the shoot that are created from now on take to boot.
func (b *Bed) SetBootDelay(delay time.Duration, shoot string) error {
	path := filepath.Join(b.State, "boot-delays", shoot+"-")
	if delay == 0 {
		if err := os.Remove(path); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	seconds := strconv.FormatFloat(delay.Seconds(), 'f', -1, 64)
	return os.WriteFile(path, []byte(seconds+"\n"), 0o600)
}

// Openrc returns the path of the file with a member's access to a project.
func (b *Bed) Openrc(project string) string {
	return filepath.Join(b.State, "openrc-"+project)
}

// script runs one of the landscape's scripts. It ends with SIGTERM when ctx ends; what it started stays for down.sh.
func (b *Bed) script(ctx context.Context, progress io.Writer, name string, env ...string) error {
	cmd := exec.CommandContext(ctx, filepath.Join(b.scripts, name)) // #nosec G204 -- constant names
	cmd.Env = slices.Concat(os.Environ(), []string{"OST_STATE=" + b.State}, b.env, env)
	cmd.Stdout, cmd.Stderr = progress, progress
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	cmd.WaitDelay = 10 * time.Second
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}
