// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package nameserver

import (
	"encoding/binary"
	"errors"
	"io"
	"net"
	"sync"
	"time"

	"github.com/miekg/dns"
)

// Message is a message that passed a front.
type Message struct {
	// Time is when it came.
	Time time.Time
	// Operation is QUERY or UPDATE.
	Operation string
	// Name is what it is about.
	Name string
	// Bytes is its length.
	Bytes int
}

// Front stands before a server and counts the messages to it. It speaks TCP.
type Front struct {
	// Address is the host and port of the front.
	Address string

	listener net.Listener
	upstream string
	mutex    sync.Mutex
	messages []Message
	skip     int
	call     func()
}

// NewFront returns a front of the server.
func NewFront(server string) (*Front, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	f := &Front{Address: l.Addr().String(), listener: l, upstream: server}
	go f.serve()
	return f, nil
}

// Close ends the front. Connections that are open end with their clients.
func (f *Front) Close() error {
	return f.listener.Close()
}

// Take returns the messages since the last call.
func (f *Front) Take() []Message {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	messages := f.messages
	f.messages = nil
	return messages
}

// AfterUpdate calls something when the server has answered an update, and loses the answer. So many updates pass before.
func (f *Front) AfterUpdate(skip int, call func()) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	f.skip, f.call = skip, call
}

// lost returns what to call instead of handing the answer to an update on, nil if nothing is.
func (f *Front) lost() func() {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	if f.call == nil || f.skip > 0 {
		f.skip--
		return nil
	}
	call := f.call
	f.call = nil
	return call
}

func (f *Front) serve() {
	for {
		conn, err := f.listener.Accept()
		if err != nil {
			return
		}
		go f.relay(conn)
	}
}

func (f *Front) relay(client net.Conn) {
	defer func() { _ = client.Close() }()
	server, err := net.Dial("tcp", f.upstream)
	if err != nil {
		return
	}
	go func() {
		defer func() { _ = client.Close() }()
		for f.answer(server, client) == nil {
			continue
		}
	}()
	defer func() { _ = server.Close() }()
	for f.pass(client, server) == nil {
		continue
	}
}

// read reads a message with its length before it.
func read(from io.Reader) ([]byte, error) {
	var length [2]byte
	if _, err := io.ReadFull(from, length[:]); err != nil {
		return nil, err
	}
	content := make([]byte, binary.BigEndian.Uint16(length[:]))
	_, err := io.ReadFull(from, content)
	return append(length[:], content...), err
}

// answer hands one answer on, unless it shall be lost.
func (f *Front) answer(server io.Reader, client io.Writer) error {
	content, err := read(server)
	if err != nil {
		return err
	}
	message := new(dns.Msg)
	if message.Unpack(content[2:]) == nil && message.Opcode == dns.OpcodeUpdate {
		if call := f.lost(); call != nil {
			call()
			return errors.New("the answer is lost")
		}
	}
	_, err = client.Write(content)
	return err
}

// pass hands one message on.
func (f *Front) pass(client io.Reader, server io.Writer) error {
	content, err := read(client)
	if err != nil {
		return err
	}
	message := new(dns.Msg)
	if err := message.Unpack(content[2:]); err != nil || len(message.Question) == 0 {
		return errors.Join(err, errors.New("this is no question"))
	}
	f.mutex.Lock()
	f.messages = append(f.messages,
		Message{Time: time.Now(), Operation: dns.OpcodeToString[message.Opcode], Name: message.Question[0].Name, Bytes: len(content) - 2})
	f.mutex.Unlock()
	_, err = server.Write(content)
	return err
}
