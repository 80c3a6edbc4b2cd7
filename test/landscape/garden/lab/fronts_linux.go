// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/openstack"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/pki"
)

// fronts are Keystone and Swift of the OpenStack site with TLS, which backups require. The images of all containers know the authority of
// their certificate.
type fronts struct {
	// authURL and store are the URLs of Keystone and Swift.
	authURL, store string
	authority      string
	servers        []*http.Server
}

// startFronts starts both. The catalog of Keystone has the address of Swift's.
func (l *Lab) startFronts(ctx context.Context) error {
	var err error
	if l.swift, err = openstack.ObjectStore(ctx, l.access); err != nil {
		return err
	}
	keystone, keystoneErr := url.Parse(l.access.AuthURL)
	swift, swiftErr := url.Parse(l.swift.Endpoint)
	authority, authorityErr := pki.NewAuthority()
	if err := errors.Join(keystoneErr, swiftErr, authorityErr); err != nil {
		return err
	}
	pair, err := authority.Server("openstack")
	if err != nil {
		return err
	}
	certificate, err := tls.X509KeyPair([]byte(pair.Certificate), []byte(pair.Key))
	if err != nil {
		return err
	}
	var listeners [2]net.Listener
	for i := range listeners {
		if listeners[i], err = tls.Listen("tcp", "127.0.0.1:0",
			&tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12}); err != nil {
			return err
		}
	}
	f := &fronts{
		authURL: "https://" + listeners[0].Addr().String() + keystone.Path, store: "https://" + listeners[1].Addr().String(),
		authority: authority.PEM,
	}
	l.fronts = f
	addresses := strings.NewReplacer("http://"+keystone.Host, "https://"+listeners[0].Addr().String(), "http://"+swift.Host, f.store)
	f.serve(listeners[0], keystone, func(r *http.Response) error { return replace(r, addresses) })
	f.serve(listeners[1], swift, nil)
	return nil
}

// serve passes requests on, and their answers back.
func (f *fronts) serve(listener net.Listener, to *url.URL, answer func(*http.Response) error) {
	proxy := &httputil.ReverseProxy{ModifyResponse: answer, Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(&url.URL{Scheme: to.Scheme, Host: to.Host})
		r.Out.Header.Del("Accept-Encoding") // answers are read
	}}
	server := &http.Server{ReadHeaderTimeout: time.Minute, Handler: proxy}
	f.servers = append(f.servers, server)
	go func() { _ = server.Serve(listener) }()
}

// replace replaces addresses in an answer.
func replace(r *http.Response, addresses *strings.Replacer) error {
	body, err := io.ReadAll(r.Body)
	if err := errors.Join(err, r.Body.Close()); err != nil {
		return err
	}
	body = []byte(addresses.Replace(string(body)))
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	r.Header.Set("Content-Length", strconv.Itoa(len(body)))
	return nil
}

func (f *fronts) stop() {
	for _, server := range f.servers {
		_ = server.Close()
	}
}
