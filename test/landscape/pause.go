// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package landscape

import "syscall"

// Pause stops the process where it is until Resume: what it serves hangs, what it controls waits. It returns when the process has
// stopped. What the process itself started goes on. It does nothing if the process does not run.
func (p *Process) Pause() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.running() {
		_ = syscall.Kill(p.run.cmd.Process.Pid, syscall.SIGSTOP)
		waitStopped(p.run.cmd.Process.Pid)
	}
}

// Resume lets a paused process go on.
func (p *Process) Resume() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.running() {
		_ = syscall.Kill(p.run.cmd.Process.Pid, syscall.SIGCONT)
	}
}
