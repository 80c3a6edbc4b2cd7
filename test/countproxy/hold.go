// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package countproxy

import (
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"syscall"
)

// hold binds a port of the loopback interface that nobody has, and returns its address. The socket does not listen, so that connections
// are refused unless somebody who shares addresses, as listeners of Go do, listens there. Nobody gets the port who asks for any.
func hold() (*os.File, string, error) {
	socket, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0)
	if err != nil {
		return nil, "", fmt.Errorf("hold a port: %w", err)
	}
	syscall.CloseOnExec(socket)
	file := os.NewFile(uintptr(socket), "held port")
	port, err := bind(socket)
	if err != nil {
		return nil, "", errors.Join(fmt.Errorf("hold a port: %w", err), file.Close())
	}
	return file, net.JoinHostPort("127.0.0.1", strconv.Itoa(port)), nil
}

func bind(socket int) (int, error) {
	if err := syscall.SetsockoptInt(socket, syscall.SOL_SOCKET, syscall.SO_REUSEADDR, 1); err != nil {
		return 0, err
	}
	if err := syscall.Bind(socket, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		return 0, err
	}
	address, err := syscall.Getsockname(socket)
	if err != nil {
		return 0, err
	}
	bound, ok := address.(*syscall.SockaddrInet4)
	if !ok {
		return 0, fmt.Errorf("the socket is at a %T", address)
	}
	return bound.Port, nil
}

// release lets others have the port.
func (l listener) release() error {
	if l.held == nil {
		return nil
	}
	if err := l.held.Close(); !errors.Is(err, os.ErrClosed) {
		return err
	}
	return nil
}
