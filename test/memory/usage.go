// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package memory samples what processes have in memory, and compares it with what their containers request.
package memory

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// MiB is a mebibyte in bytes.
const MiB = 1 << 20

// Usage is what a process has in memory, in bytes.
type Usage struct {
	// Resident is all of it. It counts the pages of files, most of all those of the executable, that the kernel can drop.
	Resident int64
	// Anonymous is what belongs to no file: heap and stacks. The kernel cannot drop it.
	Anonymous int64
}

// Of reads what a process has in memory from /proc.
func Of(pid int) (Usage, error) {
	content, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return Usage{}, err
	}
	return parse(content)
}

func parse(status []byte) (Usage, error) {
	values := map[string]int64{}
	for scanner := bufio.NewScanner(bytes.NewReader(status)); scanner.Scan(); {
		fields := strings.Fields(scanner.Text())
		if len(fields) != 3 || fields[2] != "kB" {
			continue
		}
		value, err := strconv.ParseInt(fields[1], 10, 64)
		if err != nil {
			return Usage{}, err
		}
		values[fields[0]] = value << 10
	}
	u := Usage{Resident: values["VmRSS:"], Anonymous: values["RssAnon:"]}
	if u.Resident == 0 || u.Anonymous == 0 {
		return Usage{}, fmt.Errorf("no VmRSS or RssAnon in %q", status)
	}
	return u, nil
}
