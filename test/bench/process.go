// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// tcpEstablished is the state of an established connection in /proc/net/tcp.
const tcpEstablished = "01"

// clockTick is the unit of times in /proc.
const clockTick = 10 * time.Millisecond

// memory is what a process has in memory, in MiB. Proportional counts what processes share in parts.
type memory struct {
	resident, proportional float64
}

// memoryOf reads the memory of a process.
func memoryOf(pid int) (memory, error) {
	content, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
	if err != nil {
		return memory{}, err
	}
	return parseMemory(content)
}

func parseMemory(content []byte) (memory, error) {
	values := map[string]float64{}
	for scanner := bufio.NewScanner(bytes.NewReader(content)); scanner.Scan(); {
		if fields := strings.Fields(scanner.Text()); len(fields) == 3 && fields[2] == "kB" {
			value, err := strconv.ParseFloat(fields[1], 64)
			if err != nil {
				return memory{}, err
			}
			values[fields[0]] = value / 1024
		}
	}
	m := memory{resident: values["Rss:"], proportional: values["Pss:"]}
	if m.resident == 0 || m.proportional == 0 {
		return memory{}, fmt.Errorf("no Rss or Pss in %q", content)
	}
	return m, nil
}

// processorTime is how long a process has used processors.
func processorTime(pid int) (time.Duration, error) {
	content, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	return parseProcessorTime(content)
}

// parseProcessorTime adds user and system time, which are the 12th and 13th field behind the name in parentheses.
func parseProcessorTime(content []byte) (time.Duration, error) {
	fields := strings.Fields(string(content[bytes.LastIndexByte(content, ')')+1:]))
	if len(fields) < 13 {
		return 0, fmt.Errorf("no times in %q", content)
	}
	var total time.Duration
	for _, field := range fields[11:13] {
		ticks, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			return 0, err
		}
		total += time.Duration(ticks) * clockTick
	}
	return total, nil
}

// connections counts the established connections of a process.
func connections(pid int) (int, error) {
	own, err := sockets(pid)
	if err != nil {
		return 0, err
	}
	count := 0
	for _, table := range []string{"tcp", "tcp6"} {
		content, err := os.ReadFile(fmt.Sprintf("/proc/%d/net/%s", pid, table))
		if err != nil {
			return 0, err
		}
		count += countEstablished(content, own)
	}
	return count, nil
}

// sockets are the inodes of the sockets of a process.
func sockets(pid int) (map[string]bool, error) {
	descriptors, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
	if err != nil {
		return nil, err
	}
	inodes := map[string]bool{}
	for _, descriptor := range descriptors {
		target, err := os.Readlink(descriptor)
		if err != nil {
			continue // it was closed meanwhile
		}
		if inode, ok := strings.CutPrefix(target, "socket:["); ok {
			inodes[strings.TrimSuffix(inode, "]")] = true
		}
	}
	return inodes, nil
}

func countEstablished(table []byte, inodes map[string]bool) int {
	count := 0
	for scanner := bufio.NewScanner(bytes.NewReader(table)); scanner.Scan(); {
		if fields := strings.Fields(scanner.Text()); len(fields) > 9 && fields[3] == tcpEstablished && inodes[fields[9]] {
			count++
		}
	}
	return count
}
