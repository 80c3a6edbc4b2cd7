// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package landscape

import (
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
)

// Ports are taken from a range that the system gives to nobody.
const (
	firstPort = 20000
	lastPort  = 32000
	maxTries  = 100
)

// reserved are the files whose locks reserve ports for this process.
var (
	reserved      []*os.File
	reservedMutex sync.Mutex
)

// FreePorts returns n free TCP ports of the loopback interface. Until this process ends no other test of the user gets them: what they
// are for listens some time later.
func FreePorts(n int) ([]int, error) {
	reservedMutex.Lock()
	defer reservedMutex.Unlock()

	dir := filepath.Join(os.TempDir(), fmt.Sprintf("provider-hybrid-ports-%d", os.Getuid()))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("find free ports: %w", err)
	}
	var ports []int
	for range maxTries {
		if len(ports) == n {
			return ports, nil
		}
		port := firstPort + rand.IntN(lastPort-firstPort) // #nosec G404 -- no secret
		free, err := reserve(dir, port)
		if err != nil {
			return nil, fmt.Errorf("find free ports: %w", err)
		}
		if free {
			ports = append(ports, port)
		}
	}
	return nil, fmt.Errorf("find free ports: only %d of %d after %d tries", len(ports), n, maxTries)
}

// reserve returns false if the port is in use or reserved.
func reserve(dir string, port int) (bool, error) {
	file, err := os.OpenFile(filepath.Join(dir, strconv.Itoa(port)), os.O_CREATE|os.O_RDWR, 0o600) // #nosec G304 -- our own folder
	if err != nil {
		return false, err
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return false, file.Close()
	}
	listener, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err != nil {
		return false, file.Close()
	}
	reserved = append(reserved, file)
	return true, listener.Close()
}

// loopback returns the URL of a port of the loopback interface.
func loopback(scheme string, port int) string {
	return scheme + "://" + net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
}
