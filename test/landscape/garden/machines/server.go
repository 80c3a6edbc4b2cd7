// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package machines

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/streaming/pkg/httpstream"
	"k8s.io/streaming/pkg/httpstream/spdy"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// KubeletPort is the port of the kubelets' API.
const KubeletPort = 10250

// portForward is the version of the protocol for forwarded ports.
const portForward = "portforward.k8s.io"

// serve lets the kubelet of the node with the address answer on a connection.
func (m *Machines) serve(conn net.Conn, address string) error {
	return m.incoming.add(tls.Server(conn, &tls.Config{
		MinVersion: tls.VersionTLS12,
		NextProtos: []string{"http/1.1"}, // which alone can be upgraded
		GetConfigForClient: func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
			return m.tlsConfig(hello.Context(), address)
		},
	}))
}

// Kubelet is the End of the tunnel with the kubelets of machines alone, of which there may be none yet.
func (m *Machines) Kubelet(_ context.Context, address string) (func(net.Conn) error, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	if m == nil || port != strconv.Itoa(KubeletPort) || !m.knows(host) {
		return nil, fmt.Errorf("no kubelet at %s", address)
	}
	return func(conn net.Conn) error { return m.serve(conn, host) }, nil
}

// knows says whether a node has the address.
func (m *Machines) knows(address string) bool {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	return m.find(address) != nil
}

// find returns the node with the address and a certificate, nil if there is none. The mutex must be locked.
func (m *Machines) find(address string) *node {
	for _, n := range m.nodes {
		for _, a := range n.addresses {
			if a.Address == address && n.certificate != nil {
				return n
			}
		}
	}
	return nil
}

// tlsConfig is that of a kubelet: clients must have a certificate of the shoot's authority for them.
func (m *Machines) tlsConfig(ctx context.Context, address string) (*tls.Config, error) {
	list := &corev1.SecretList{}
	if err := m.Seed.List(ctx, list, client.InNamespace(m.Namespace),
		client.MatchingLabels{"name": "ca-kubelet", "managed-by": "secrets-manager"}); err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	for _, secret := range list.Items {
		pool.AppendCertsFromPEM(secret.Data["ca.crt"])
	}
	m.mutex.Lock()
	defer m.mutex.Unlock()
	n := m.find(address)
	if n == nil {
		return nil, fmt.Errorf("no kubelet at %s", address)
	}
	return &tls.Config{
		MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"},
		Certificates: []tls.Certificate{*n.certificate}, ClientCAs: pool, ClientAuth: tls.RequireAndVerifyClientCert,
	}, nil
}

// newServer is the API of all kubelets. Ports can be forwarded, but nothing listens on them.
func (m *Machines) newServer() *http.Server {
	mux := http.NewServeMux()
	mux.HandleFunc("/healthz", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok") })
	mux.HandleFunc("/portForward/{namespace}/{pod}", func(w http.ResponseWriter, r *http.Request) {
		if _, err := httpstream.Handshake(r, w, []string{portForward + "/v1", portForward}); err != nil {
			return
		}
		conn := spdy.NewResponseUpgrader().UpgradeResponse(w, r, func(stream httpstream.Stream, _ <-chan struct{}) error {
			return stream.Close()
		})
		if conn == nil {
			return
		}
		defer conn.Close()
		select {
		case <-conn.CloseChan():
		case <-r.Context().Done():
		}
	})
	return &http.Server{Handler: mux, ReadHeaderTimeout: 30 * time.Second, ErrorLog: nil}
}

// listener hands connections to a server that come from elsewhere.
type listener struct {
	conns  chan net.Conn
	closed chan struct{}
}

func newListener() *listener {
	return &listener{conns: make(chan net.Conn), closed: make(chan struct{})}
}

func (l *listener) add(conn net.Conn) error {
	select {
	case l.conns <- conn:
		return nil
	case <-l.closed:
		return errors.Join(net.ErrClosed, conn.Close())
	}
}

// Accept returns the next connection.
func (l *listener) Accept() (net.Conn, error) {
	select {
	case conn := <-l.conns:
		return conn, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

// Close ends the server.
func (l *listener) Close() error {
	select {
	case <-l.closed:
	default:
		close(l.closed)
	}
	return nil
}

// Addr is nobody's address.
func (l *listener) Addr() net.Addr {
	return &net.TCPAddr{}
}
