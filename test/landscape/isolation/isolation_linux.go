// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package isolation

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"syscall"
	"testing"
)

// variable is set where the namespaces have been entered.
const variable = "HYBRID_ISOLATED"

// prepare is what the first process of the namespaces does. What shows networks and their names belongs to a namespace as well.
const prepare = `mount -t sysfs sysfs /sys && mkdir -p /run/netns && mount -t tmpfs tmpfs /run/netns && ip link set lo up || exit 1
"$@"
exit $?`

// Run is the main function of tests that run in namespaces of their own, if the user is root. It returns the exit code.
func Run(m *testing.M) int {
	if os.Getenv(variable) != "" || os.Getuid() != 0 {
		return m.Run()
	}
	// The kernel ends the child with the thread that started it.
	runtime.LockOSThread()
	// What interrupts this process interrupts the tests, which end in their order.
	signal.Ignore(syscall.SIGINT)
	args := append([]string{"--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "sh", "-c", prepare, "sh"}, os.Args...)
	cmd := exec.Command("unshare", args...) // #nosec G204 -- this executable
	cmd.Env = append(os.Environ(), variable+"=1")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	err := cmd.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return exit.ExitCode()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}
