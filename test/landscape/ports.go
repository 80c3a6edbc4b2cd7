// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package landscape

import (
	"fmt"
	"math/rand/v2"
	"net"
	"slices"
	"strconv"
)

// Ports are taken from a range that the system gives to nobody, by chance, so that landscapes that start at the same time do not
// take each other's.
const (
	firstPort = 20000
	lastPort  = 32000
	maxTries  = 100
)

// FreePorts returns n free TCP ports of the loopback interface.
func FreePorts(n int) ([]int, error) {
	var ports []int
	for range maxTries {
		if len(ports) == n {
			return ports, nil
		}
		port := firstPort + rand.IntN(lastPort-firstPort) // #nosec G404 -- no secret
		if slices.Contains(ports, port) {
			continue
		}
		l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
		if err != nil {
			continue
		}
		ports = append(ports, port)
		if err := l.Close(); err != nil {
			return nil, fmt.Errorf("find free ports: %w", err)
		}
	}
	return nil, fmt.Errorf("find free ports: only %d of %d after %d tries", len(ports), n, maxTries)
}

// loopback returns the URL of a port of the loopback interface.
func loopback(scheme string, port int) string {
	return scheme + "://" + net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
}
