// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package landscape

import (
	"io"
	"os"
	"strings"
)

// tailBytes is how much of a log Tail reads at most.
const tailBytes = 64 << 10

// Tail returns the last lines of the process' log.
func (p *Process) Tail(lines int) string {
	f, err := os.Open(p.LogFile)
	if err != nil {
		return err.Error()
	}
	defer func() { _ = f.Close() }()

	if info, err := f.Stat(); err == nil && info.Size() > tailBytes {
		if _, err := f.Seek(-tailBytes, io.SeekEnd); err != nil {
			return err.Error()
		}
	}
	content, err := io.ReadAll(f)
	if err != nil {
		return err.Error()
	}
	all := strings.Split(strings.TrimRight(string(content), "\n"), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}
