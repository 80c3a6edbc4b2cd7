// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package kubelet

import (
	"context"
	"errors"
	"io"
	"net"
	"time"

	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/garden/netns"
)

const dialTimeout = 5 * time.Second

// dial connects to what a listener stands for.
type dial func(context.Context) (net.Conn, error)

// relay passes connections on.
type relay struct {
	listener net.Listener
	dial     dial
}

// relays lets processes in a network reach addresses of this machine's loopback interface under the same addresses.
func relays(network *netns.Namespace, addresses []string) ([]*relay, error) {
	var result []*relay
	for _, address := range addresses {
		r, err := newRelay(network, address, func(ctx context.Context) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "tcp", address)
		})
		if err != nil {
			return result, err
		}
		result = append(result, r)
	}
	return result, nil
}

// newRelay listens at an address in a network and passes connections on.
func newRelay(network *netns.Namespace, address string, dial dial) (*relay, error) {
	listener, err := network.Listen(address)
	if err != nil {
		return nil, err
	}
	r := &relay{listener: listener, dial: dial}
	go r.serve()
	return r, nil
}

func (r *relay) serve() {
	for {
		conn, err := r.listener.Accept()
		if err != nil {
			if errors.Is(err, net.ErrClosed) {
				return
			}
			continue
		}
		go r.pass(conn)
	}
}

// pass connects and copies until both directions are closed.
func (r *relay) pass(near net.Conn) {
	defer near.Close()
	ctx, cancel := context.WithTimeout(context.Background(), dialTimeout)
	far, err := r.dial(ctx)
	cancel()
	if err != nil {
		return
	}
	defer far.Close()
	done := make(chan struct{})
	go func() {
		defer close(done)
		transfer(far, near)
	}()
	transfer(near, far)
	<-done
}

// transfer copies until the source has no more, and tells the target so.
func transfer(to, from net.Conn) {
	_, _ = io.Copy(to, from)
	if half, ok := to.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite()
		return
	}
	_ = to.Close()
}

func (r *relay) close() {
	_ = r.listener.Close()
}
