// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package landscape

import "syscall"

// Pause stops the process where it is until Resume: what it serves hangs, what it controls waits. It does nothing if the process
// does not run.
func (p *Process) Pause() {
	p.pass(syscall.SIGSTOP)
}

// Resume lets a paused process go on.
func (p *Process) Resume() {
	p.pass(syscall.SIGCONT)
}

// pass sends s to the group of the running process, which is not expected to end.
func (p *Process) pass(s syscall.Signal) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.running() {
		signalGroup(p.run.cmd.Process.Pid, s)
	}
}
