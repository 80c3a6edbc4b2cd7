// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package etcd_test

import (
	"context"
	"io"
	"net"
	"time"
)

// delay is a link that carries each byte for some time, in both directions.
type delay struct {
	listener net.Listener
	target   string
	oneWay   time.Duration
}

// newDelay returns a link to the address. It ends with the context.
func newDelay(ctx context.Context, target string, oneWay time.Duration) (*delay, error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	context.AfterFunc(ctx, func() { _ = listener.Close() })
	d := &delay{listener: listener, target: target, oneWay: oneWay}
	go d.serve(ctx)
	return d, nil
}

func (d *delay) serve(ctx context.Context) {
	for {
		near, err := d.listener.Accept()
		if err != nil {
			return
		}
		go func() {
			far, err := (&net.Dialer{}).DialContext(ctx, "tcp", d.target)
			if err != nil {
				_ = near.Close()
				return
			}
			stop := context.AfterFunc(ctx, func() { _, _ = near.Close(), far.Close() })
			defer stop()
			go d.carry(far, near)
			d.carry(near, far)
		}()
	}
}

// carry copies what arrives to the other end when its time has come.
func (d *delay) carry(to io.WriteCloser, from io.ReadCloser) {
	type chunk struct {
		due  time.Time
		data []byte
	}
	chunks := make(chan chunk, 10_000)
	go func() {
		defer close(chunks)
		for {
			buffer := make([]byte, 32<<10)
			n, err := from.Read(buffer)
			if n > 0 {
				chunks <- chunk{time.Now().Add(d.oneWay), buffer[:n]}
			}
			if err != nil {
				return
			}
		}
	}()
	for c := range chunks {
		<-time.After(time.Until(c.due))
		if _, err := to.Write(c.data); err != nil {
			break
		}
	}
	_, _ = to.Close(), from.Close()
	for range chunks { // until the reader ends
	}
}
