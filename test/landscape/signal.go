// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package landscape

import "syscall"

// signalGroup sends a signal to the process group that pid leads. A group that is gone is no error.
func signalGroup(pid int, s syscall.Signal) {
	_ = syscall.Kill(-pid, s)
}
