// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package hardware

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"time"
)

// The protocol of mconsole, see arch/um/drivers/mconsole.h of Linux: datagrams with a header and a text.
const (
	controlName    = "control"
	controlMagic   = 0xcafebabe
	controlVersion = 2
	controlText    = 512
	controlTimeout = 10 * time.Second
)

// controlRequest is a request to the kernel.
type controlRequest struct {
	Magic, Version, Length uint32
	Text                   [controlText]byte
}

// controlReply is the beginning of a reply.
type controlReply struct {
	Failed, More, Length uint32
}

// control gives the kernel of a machine a command, and waits for its reply.
func (m *Machine) control(ctx context.Context, command string) error {
	reply, err := m.exchange(ctx, command)
	if err != nil {
		return fmt.Errorf("%s: %s: %w", m.Name, command, err)
	}
	var header controlReply
	if _, err := binary.Decode(reply, binary.NativeEndian, &header); err != nil {
		return fmt.Errorf("%s: %s: %w", m.Name, command, err)
	}
	if header.Failed != 0 {
		return fmt.Errorf("%s: %s: %s", m.Name, command, bytes.TrimRight(reply[binary.Size(header):], "\x00"))
	}
	return nil
}

func (m *Machine) exchange(ctx context.Context, command string) ([]byte, error) {
	request := controlRequest{Magic: controlMagic, Version: controlVersion, Length: uint32(len(command))}
	copy(request.Text[:], command)
	var content bytes.Buffer
	if err := binary.Write(&content, binary.NativeEndian, request); err != nil {
		return nil, err
	}
	// The reply goes to the address of the socket. It must be that of a file, as the machine is in another namespace of networks.
	own := filepath.Join(m.dir, "reply")
	_ = os.Remove(own)
	socket, err := net.DialUnix("unixgram", &net.UnixAddr{Name: own, Net: "unixgram"},
		&net.UnixAddr{Name: filepath.Join(m.dir, controlName, "mconsole"), Net: "unixgram"})
	if err != nil {
		return nil, err
	}
	defer func() { _ = errors.Join(socket.Close(), os.Remove(own)) }()
	deadline := time.Now().Add(controlTimeout)
	if end, ok := ctx.Deadline(); ok && end.Before(deadline) {
		deadline = end
	}
	if err := socket.SetDeadline(deadline); err != nil {
		return nil, err
	}
	if _, err := socket.Write(content.Bytes()); err != nil {
		return nil, err
	}
	reply := make([]byte, 3*4+controlText)
	n, err := socket.Read(reply)
	return reply[:n], err
}
