// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package host says what the operator does on a host: it observes the host, and starts tasks there, which outlive the connection. It
// remembers what a host was (the baseline) before a machine is root on it, and makes it so again.
//
// A release is not a forensic wipe. What root has left elsewhere than in the places that are compared, such as another kernel, another
// /bin/sh or /usr/bin/tar, or another firmware, is not found. Hosts for tenants that do not trust each other need a hook that installs
// them again.
package host

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/base64"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/statichost/ssh"
)

//go:embed script.sh
var script string

// Task is what a unit of systemd does on a host.
type Task string

const (
	// TaskBaseline remembers what the host is.
	TaskBaseline Task = "baseline"
	// TaskProvision runs the user data.
	TaskProvision Task = "provision"
	// TaskRelease removes the machine and reboots.
	TaskRelease Task = "release"
	// TaskProof compares the host with its baseline after the reboot.
	TaskProof Task = "proof"
)

var (
	// ErrSudo means that the user cannot become root.
	ErrSudo = errors.New("the user is not root, and sudo does not make it root")
	// ErrAnswer means that the host does not answer what its part of the operator does.
	ErrAnswer = errors.New("the host does not answer as it should")
	// ErrForeign means that the host has the baseline of another machine.
	ErrForeign = errors.New("the host has the baseline of another machine")
	// ErrStart means that a task could not be started.
	ErrStart = errors.New("the host could not start the task, for example because /run is full")
)

const (
	// exitForeign is the exit code of the script for ErrForeign.
	exitForeign = 3
	// asRoot runs a shell as root: directly, by sudo without a password, or by sudo that reads a password from the first line of the
	// input. If sudo asks for none, the shell reads that line, so that it is not run.
	asRoot          = `exec /bin/sh -s`
	byWord          = `exec sudo -n /bin/sh -s`
	bySudoAndSecret = `exec /bin/sh -c 'if sudo -k -n true >/dev/null 2>&1; then ` +
		`IFS= read -r secret; unset secret; exec sudo -n /bin/sh -s; else exec sudo -k -S -p "" /bin/sh -s; fi'`
)

// Limits are how long what is done on a host may take.
type Limits struct {
	// Command limits a command, which does not wait for tasks.
	Command time.Duration
	// Baseline, Provision, Release and Proof limit the tasks.
	Baseline, Provision, Release, Proof time.Duration
}

// Host is a connection to a host.
type Host struct {
	client       *ssh.Client
	user         string
	sudoPassword string
	limits       Limits
}

// Connect connects to a host. The password is that of sudo, and can be empty.
func Connect(ctx context.Context, target ssh.Target, sudoPassword string, limits Limits) (*Host, error) {
	client, err := ssh.Dial(ctx, target)
	if err != nil {
		return nil, err
	}
	return &Host{client: client, user: target.User, sudoPassword: sudoPassword, limits: limits}, nil
}

// Close ends the connection. Tasks go on.
func (h *Host) Close() {
	h.client.Close()
}

// Observe asks the host what it is and does.
func (h *Host) Observe(ctx context.Context) (*Observation, error) {
	start := time.Now()
	answer, err := h.call(ctx, "facts", nil)
	if err != nil {
		return nil, err
	}
	return parse(answer, start, time.Now())
}

// Baseline starts to remember what the host is before it becomes the machine of the claim.
func (h *Host) Baseline(ctx context.Context, claim string) error {
	return h.start(ctx, TaskBaseline, h.limits.Baseline, claim, nil)
}

// Provision starts the user data with the hash if the host has the baseline. The name of the node is the host name, unless it is empty.
func (h *Host) Provision(ctx context.Context, claim, baseline, hash, node string, userData []byte) error {
	return h.start(ctx, TaskProvision, h.limits.Provision, claim, []file{{"user-data", userData}}, baseline, hash, node)
}

// Release starts to make the host what it was in the baseline. The folders are emptied, and the hook runs unless it is empty.
func (h *Host) Release(ctx context.Context, claim, baseline string, empty []string, hook string) error {
	return h.start(ctx, TaskRelease, h.limits.Release, claim, []file{{"hook", []byte(hook)}}, append([]string{baseline}, empty...)...)
}

// Proof starts to compare the host with the baseline.
func (h *Host) Proof(ctx context.Context, claim, baseline string) error {
	return h.start(ctx, TaskProof, h.limits.Proof, claim, nil, baseline)
}

// Forget removes the baseline and what else the operator has on the host.
func (h *Host) Forget(ctx context.Context, claim string) error {
	_, err := h.call(ctx, "forget", nil, claim)
	return err
}

// file is a file that a task needs.
type file struct {
	name    string
	content []byte
}

func (h *Host) start(ctx context.Context, task Task, limit time.Duration, claim string, files []file, arguments ...string) error {
	names := make([]string, len(files))
	for i := range files {
		names[i] = files[i].name
	}
	head := []string{string(task), strconv.Itoa(int(limit.Seconds())), claim, strings.Join(names, " ")}
	_, err := h.call(ctx, "start", append([]file{{"script", []byte(script)}}, files...), append(head, arguments...)...)
	return err
}

// call runs a function of the script, and returns what it prints. Arguments and files are in the input: those of a process are seen by
// all users of the host.
func (h *Host) call(ctx context.Context, function string, files []file, arguments ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, h.limits.Command)
	defer cancel()
	command, input := h.shell()
	input.WriteString(script)
	// A shell runs a group only if it has read all of it, so that nothing happens if the connection ends before.
	input.WriteString("{ main " + function)
	for _, argument := range arguments {
		input.WriteString(" '" + strings.ReplaceAll(argument, "'", `'\''`) + "'")
	}
	input.WriteString(" <<'END_OF_FILES'\n")
	for _, f := range files {
		input.WriteString(base64.StdEncoding.EncodeToString(f.content) + "\n")
	}
	input.WriteString("END_OF_FILES\nexit; }\n")
	answer, code, err := h.client.Run(ctx, command, input.Bytes())
	switch {
	case err != nil:
		return nil, err
	case code == 0:
		return answer, nil
	case code == exitForeign:
		return nil, ErrForeign
	case function == "start":
		return nil, ErrStart
	case h.user != "root" && !bytes.Contains(answer, []byte(header)) && function == "facts":
		return nil, ErrSudo
	default:
		return nil, fmt.Errorf("%w: exit code %d", ErrAnswer, code)
	}
}

// shell returns the command that runs a shell as root, and the begin of its input.
func (h *Host) shell() (string, *bytes.Buffer) {
	switch {
	case h.user == "root":
		return asRoot, &bytes.Buffer{}
	case h.sudoPassword == "":
		return byWord, &bytes.Buffer{}
	default:
		return bySudoAndSecret, bytes.NewBufferString(h.sudoPassword + "\n")
	}
}
