// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package machines

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"net/http"
	"os"
	"time"
)

// TunnelPort is the port on which a shoot's kube-apiserver finds the tunnel.
const TunnelPort = 9443

// TunnelFiles are the paths of the tunnel's certificate, its key and the authority of its clients.
type TunnelFiles struct {
	Certificate, Key, Authority string
}

// End connects to an address behind the tunnel, and returns what serves a connection to it.
type End func(ctx context.Context, address string) (func(net.Conn) error, error)

// ServeTunnel plays the envoy of vpn-seed-server on a listener until ctx ends: clients that authenticate ask it to CONNECT them with an
// address behind the tunnel.
func ServeTunnel(ctx context.Context, tcp net.Listener, files TunnelFiles, end End) error {
	certificate, err := tls.LoadX509KeyPair(files.Certificate, files.Key)
	if err != nil {
		return err
	}
	authority, err := os.ReadFile(files.Authority)
	if err != nil {
		return err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(authority) {
		return errors.New("the authority of the tunnel's clients is no certificate")
	}
	server := &http.Server{ReadHeaderTimeout: 30 * time.Second, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		connect(w, r, end)
	})}
	stop := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer stop()
	return server.Serve(tls.NewListener(tcp, &tls.Config{
		MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"},
		Certificates: []tls.Certificate{certificate}, ClientCAs: pool, ClientAuth: tls.RequireAndVerifyClientCert,
	}))
}

func connect(w http.ResponseWriter, r *http.Request, end End) {
	if r.Method != http.MethodConnect {
		http.Error(w, "only CONNECT is possible", http.StatusMethodNotAllowed)
		return
	}
	serve, err := end(r.Context(), r.Host)
	if err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	conn, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	if _, err := conn.Write([]byte("HTTP/1.1 200 OK\r\n\r\n")); err != nil {
		_ = conn.Close()
		return
	}
	_ = serve(&bufferedConn{Conn: conn, reader: buffered.Reader})
}

// bufferedConn is a connection of which a part was read before.
type bufferedConn struct {
	net.Conn
	reader *bufio.Reader
}

// Read reads what was read before first.
func (c *bufferedConn) Read(p []byte) (int, error) {
	return c.reader.Read(p)
}
