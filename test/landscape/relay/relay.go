// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package relay passes connections on.
package relay

import (
	"context"
	"errors"
	"io"
	"net"
	"time"
)

const dialTimeout = 5 * time.Second

// Dial connects to where connections are passed on.
type Dial func(context.Context) (net.Conn, error)

// To is a Dial to an address from the network namespace of this process.
func To(address string) Dial {
	return func(ctx context.Context) (net.Conn, error) { return (&net.Dialer{}).DialContext(ctx, "tcp", address) }
}

// Relay passes the connections of a listener on.
type Relay struct {
	net.Listener

	dial Dial
}

// Start passes connections on until Close.
func Start(listener net.Listener, dial Dial) *Relay {
	r := &Relay{Listener: listener, dial: dial}
	go r.serve()
	return r
}

func (r *Relay) serve() {
	for {
		conn, err := r.Accept()
		if err != nil {
			if errors.Is(err, net.ErrClosed) {
				return
			}
			continue
		}
		go r.pass(conn)
	}
}

func (r *Relay) pass(near net.Conn) {
	ctx, cancel := context.WithTimeout(context.Background(), dialTimeout)
	far, err := r.dial(ctx)
	cancel()
	if err != nil {
		_ = near.Close()
		return
	}
	_ = Pass(near, far)
}

// Pass copies what each of two connections receives to the other one until both ended, and closes them.
func Pass(near, far net.Conn) error {
	done := make(chan struct{})
	go func() {
		defer close(done)
		transfer(far, near)
	}()
	transfer(near, far)
	<-done
	return errors.Join(near.Close(), far.Close())
}

func transfer(to, from net.Conn) {
	_, _ = io.Copy(to, from)
	if half, ok := to.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite()
		return
	}
	_ = to.Close()
}
