// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package statichost_test

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/static/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/statichost"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/statichost/host"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/statichost/ssh"
)

var errKilled = errors.New("the process was killed")

// fakeHost does at once what a host does in a while. It stands for all connections to it.
type fakeHost struct {
	facts   v1alpha1.Facts
	missing []string
	boot    int
	// connectErr and observeErr are what connecting and observing return.
	connectErr, observeErr error
	// exitCode is that of user data, and failStep the step at which a release or its proof fails.
	exitCode        int
	failRelease     string
	failProof       string
	baselineFailing bool

	target   ssh.Target
	password string

	hasBaseline bool
	claim       string
	ended       string
	ranIn       int
	releaseDone string
	tasks       map[host.Task]host.Progress
	// runs are the user data that ran, and calls what was called.
	runs  []string
	calls []string
	// kill is called before and after each call that changes something.
	kill func() error
}

const baselineHash = "baba"

func newFakeHost() *fakeHost {
	h := &fakeHost{tasks: map[host.Task]host.Progress{}, facts: v1alpha1.Facts{Architecture: "amd64", CPUs: 4, MemoryMiB: 1 << 13,
		MachineID: strings.Repeat("a", 32), Systemd: "252", Containerd: "1.6.20", Cgroup: "v2", OSRelease: v1alpha1.OSRelease{ID: "debian"}}}
	h.kill = func() error { return nil }
	return h
}

func (h *fakeHost) connect(_ context.Context, target ssh.Target, password string) (statichost.Host, error) {
	h.target, h.password = target, password
	if h.connectErr != nil {
		return nil, h.connectErr
	}
	return h, nil
}

func (h *fakeHost) bootID() string { return fmt.Sprintf("boot-%d", h.boot) }

// reboot ends what runs.
func (h *fakeHost) reboot() {
	h.boot++
	h.tasks = map[host.Task]host.Progress{}
}

func (h *fakeHost) Observe(context.Context) (*host.Observation, error) {
	if h.observeErr != nil {
		return nil, h.observeErr
	}
	o := &host.Observation{Facts: h.facts, Missing: h.missing, HasBaseline: h.hasBaseline, Claim: h.claim,
		Tasks: map[host.Task]host.Progress{}}
	o.Facts.BootID = h.bootID()
	for _, task := range []host.Task{host.TaskBaseline, host.TaskProvision, host.TaskRelease, host.TaskProof} {
		o.Tasks[task] = host.Progress{State: host.StateNone}
	}
	if h.hasBaseline {
		o.Tasks[host.TaskBaseline] = host.Progress{State: host.StateDone, Value: baselineHash}
	}
	if h.ended != "" {
		o.Tasks[host.TaskProvision] = host.Progress{State: host.StateEnded, Value: h.ended, ExitCode: h.exitCode}
	}
	if h.releaseDone != "" {
		o.Tasks[host.TaskRelease] = host.Progress{State: host.StateDone, Value: h.releaseDone}
	}
	for task, progress := range h.tasks {
		o.Tasks[task] = progress
	}
	return o, nil
}

// change does something unless the process is killed before, and tells whether it is killed after.
func (h *fakeHost) change(call string, do func()) error {
	if err := h.kill(); err != nil {
		return err
	}
	h.calls = append(h.calls, call)
	do()
	return h.kill()
}

func (h *fakeHost) Baseline(_ context.Context, claim string) error {
	return h.change("baseline", func() {
		if h.baselineFailing {
			h.tasks[host.TaskBaseline] = host.Progress{State: host.StateFailed, Step: "Copy"}
			return
		}
		delete(h.tasks, host.TaskBaseline)
		h.hasBaseline, h.claim = true, claim
	})
}

func (h *fakeHost) Provision(_ context.Context, claim, baseline, hash, node string, userData []byte) error {
	return h.change("provision "+node, func() {
		if claim == h.claim && baseline == baselineHash && h.ended == "" {
			h.runs, h.ended, h.ranIn = append(h.runs, string(userData)), hash, h.boot
		}
	})
}

func (h *fakeHost) Release(_ context.Context, claim, baseline string, empty []string, hook string) error {
	return h.change(fmt.Sprintf("release %v %s", empty, hook), func() {
		switch {
		case claim != "" && claim != h.claim || baseline != baselineHash:
			h.tasks[host.TaskRelease] = host.Progress{State: host.StateFailed, Step: "Baseline"}
		case h.failRelease != "":
			h.tasks[host.TaskRelease] = host.Progress{State: host.StateFailed, Step: h.failRelease}
		default:
			h.releaseDone = h.bootID()
		}
	})
}

func (h *fakeHost) Proof(context.Context, string, string) error {
	return h.change("proof", func() {
		h.tasks[host.TaskProof] = host.Progress{State: host.StateDone}
		if h.failProof != "" {
			h.tasks[host.TaskProof] = host.Progress{State: host.StateFailed, Step: "Files", Path: h.failProof}
		}
	})
}

func (h *fakeHost) Forget(context.Context, string) error {
	return h.change("forget", func() {
		h.hasBaseline, h.claim, h.ended, h.releaseDone = false, "", "", ""
		h.tasks = map[host.Task]host.Progress{}
	})
}

func (h *fakeHost) Close() {}
