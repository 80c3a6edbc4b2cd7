// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package landscape

import (
	"errors"
	"fmt"
	"net"
	"strconv"
)

// freePorts returns n free TCP ports of the loopback interface.
func freePorts(n int) ([]int, error) {
	var (
		ports     []int
		listeners []net.Listener
		errs      []error
	)
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			errs = append(errs, err)
			break
		}
		listeners = append(listeners, l)
		ports = append(ports, l.Addr().(*net.TCPAddr).Port)
	}
	for _, l := range listeners {
		errs = append(errs, l.Close())
	}
	if err := errors.Join(errs...); err != nil {
		return nil, fmt.Errorf("find free ports: %w", err)
	}
	return ports, nil
}

// loopback returns the URL of a port of the loopback interface.
func loopback(scheme string, port int) string {
	return scheme + "://" + net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
}
