// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"sync"
	"time"
)

// entrance is where the vCenter listens. While it is closed connections are refused; the inventory stays.
type entrance struct {
	// address is host:port. Its port is chosen when the entrance is opened for the first time, if it is 0.
	address     string
	handler     http.Handler
	certificate tls.Certificate
	// failed receives the error of an entrance that ended by itself.
	failed chan error

	mutex  sync.Mutex
	server *http.Server
}

// set opens or closes the entrance unless it is so already.
func (e *entrance) set(open bool) error {
	if open {
		return e.open()
	}
	return e.close()
}

func (e *entrance) open() error {
	e.mutex.Lock()
	defer e.mutex.Unlock()
	if e.server != nil {
		return nil
	}
	listener, err := net.Listen("tcp", e.address)
	if err != nil {
		return err
	}
	e.address = listener.Addr().String()
	server := &http.Server{
		Handler:           e.handler,
		TLSConfig:         &tls.Config{Certificates: []tls.Certificate{e.certificate}, MinVersion: tls.VersionTLS12},
		ReadHeaderTimeout: time.Minute,
	}
	e.server = server
	go func() {
		if err := server.ServeTLS(listener, "", ""); !errors.Is(err, http.ErrServerClosed) {
			e.failed <- err
		}
	}()
	return nil
}

// close ends all connections, too.
func (e *entrance) close() error {
	e.mutex.Lock()
	defer e.mutex.Unlock()
	if e.server == nil {
		return nil
	}
	server := e.server
	e.server = nil
	return server.Close()
}
