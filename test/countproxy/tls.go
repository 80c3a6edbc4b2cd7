// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package countproxy

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"net/http"
)

func (s Service) scheme() string {
	if s.Certificate != "" {
		return "https"
	}
	return "http"
}

// listen listens with the certificate of the service, if it has one. HTTP/2 is not offered: its requests share a connection, which
// no fault could reset for one of them.
func (s Service) listen(address string) (net.Listener, error) {
	l, err := net.Listen("tcp", address)
	if err != nil || s.Certificate == "" {
		return l, err
	}
	pair, err := tls.X509KeyPair([]byte(s.Certificate), []byte(s.Key))
	if err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return tls.NewListener(l,
		&tls.Config{Certificates: []tls.Certificate{pair}, NextProtos: []string{"http/1.1"}, MinVersion: tls.VersionTLS12}), nil
}

// transport sends requests to the service. Each gets a fresh connection: one that the service closed because it was idle must not
// look like a fault of the client.
func (s Service) transport() (*http.Transport, error) {
	transport := &http.Transport{DisableKeepAlives: true, DisableCompression: true}
	if s.CA == "" {
		return transport, nil
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM([]byte(s.CA)) {
		return nil, errors.New("the CA is no PEM certificate")
	}
	transport.TLSClientConfig = &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}
	return transport, nil
}
