// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape"
)

// lock makes sure that only one demo runs: its objects have fixed names. The lock ends with the process.
func lock() (unlock func(), err error) {
	path, err := landscape.CacheDir("demo.lock")
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		return nil, err
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600) // #nosec G304 -- the landscape's own file
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return nil, fmt.Errorf("another demo is running (%s): %w", path, err)
	}
	return func() { _ = file.Close() }, nil
}
