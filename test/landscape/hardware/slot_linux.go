// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package hardware

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"
)

// slot is one of a few that all processes of the user share. Its lock ends with the process.
type slot struct {
	number int
	file   *os.File
}

// takeSlot takes the first free one of a kind.
func takeSlot(kind string, count int) (*slot, error) {
	dir := filepath.Join(os.TempDir(), fmt.Sprintf("provider-hybrid-%s-%d", kind, os.Getuid()))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	for number := range count {
		file, err := os.OpenFile(filepath.Join(dir, strconv.Itoa(number)), os.O_CREATE|os.O_RDWR, 0o600)
		if err != nil {
			return nil, err
		}
		if unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil {
			return &slot{number: number, file: file}, nil
		}
		if err := file.Close(); err != nil {
			return nil, err
		}
	}
	return nil, fmt.Errorf("all %d %s are in use", count, kind)
}

func (s *slot) free() error {
	return s.file.Close()
}
