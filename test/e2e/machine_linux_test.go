// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/garden/lab"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/nameserver"
	"github.com/gardener/gardener-extension-provider-hybrid/test/skip"
)

// requirements skips the garden on machines that cannot run it, or that have no executable of further names.
func requirements(further ...string) {
	if os.Getuid() != 0 {
		skip.Because("a garden needs root, for network and mount namespaces")
	}
	if _, err := exec.LookPath("ip"); err != nil {
		skip.Because("a garden needs iproute2")
	}
	if !nameserver.Installed() {
		skip.Because("a garden needs BIND, which the landscape's OpenStack installs")
	}
	for _, name := range append(further, "gardenlet") {
		if _, err := os.Stat(filepath.Join(landscape.Root(), "hack", "bin", name)); err != nil {
			skip.Because("hack/landscape/build.sh builds " + name)
		}
	}
}

// lock keeps two gardens from sharing a folder. The function that it returns ends that, as the end of this process does.
func lock(dir string) (func() error, error) {
	if err := os.MkdirAll(filepath.Dir(dir), 0o700); err != nil {
		return nil, err
	}
	file, err := os.OpenFile(dir+".lock", os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return nil, errors.Join(fmt.Errorf("another garden is running: %w", err), file.Close())
	}
	return file.Close, nil
}

// lookAround leaves everything running until it is interrupted.
func lookAround(ctx context.Context, steps *timeline, l *lab.Lab) {
	steps.print(fmt.Sprintf(`Everything is left running. To look around:
  garden: nsenter --net=/proc/%[1]d/ns/net kubectl --kubeconfig=%[2]s get shoots,seeds,controllerinstallations -A
  seed:   nsenter --net=/proc/%[1]d/ns/net kubectl --kubeconfig=%[3]s get pods -A
  logs:   %[4]s
To stop: kill -INT %[5]d`, l.PID(), l.Virtual.Kubeconfig, l.Seed.Kubeconfig, filepath.Dir(l.Virtual.Kubeconfig), os.Getpid()))
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	<-ctx.Done()
}
