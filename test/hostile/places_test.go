// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package hostile

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"
)

var quiet = log.New(io.Discard, "", 0)

// places are hosts that nothing of ours may reach: one with TLS, which is trusted, and one without. They remember who asked.
type places struct {
	// ca is the PEM certificate of the authority of the far ends and of these places.
	ca   string
	pair tls.Certificate

	withTLS, withoutTLS net.Listener
	servers             []*http.Server

	mutex sync.Mutex
	seen  map[string][]string
}

func newPlaces() (*places, error) {
	p := &places{seen: map[string][]string{}}
	if err := p.certify(); err != nil {
		return nil, err
	}
	var err error
	if p.withTLS, err = net.Listen("tcp4", otherHost+":0"); err != nil {
		return nil, err
	}
	if p.withoutTLS, err = net.Listen("tcp4", otherHost+":0"); err != nil {
		return nil, err
	}
	secure := &http.Server{Handler: p, ErrorLog: quiet, ReadHeaderTimeout: time.Minute,
		TLSConfig: &tls.Config{Certificates: []tls.Certificate{p.pair}, MinVersion: tls.VersionTLS12}}
	plain := &http.Server{Handler: p, ErrorLog: quiet, ReadHeaderTimeout: time.Minute}
	p.servers = []*http.Server{secure, plain}
	go func() { _ = secure.ServeTLS(p.withTLS, "", "") }()
	go func() { _ = plain.Serve(p.withoutTLS) }()
	return p, nil
}

func (p *places) close() {
	for _, s := range p.servers {
		_ = s.Close()
	}
}

func (p *places) secure() string { return p.withTLS.Addr().String() }
func (p *places) plain() string  { return p.withoutTLS.Addr().String() }

func (p *places) certify() error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "hostile"}, NotBefore: time.Now().Add(-time.Hour),
		NotAfter: time.Now().Add(24 * time.Hour),
		IsCA:     true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	for _, host := range []string{goodHost, badHost, otherHost} {
		template.IPAddresses = append(template.IPAddresses, net.ParseIP(host))
	}
	raw, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return err
	}
	p.ca = string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: raw}))
	p.pair = tls.Certificate{Certificate: [][]byte{raw}, PrivateKey: key}
	return nil
}

// ServeHTTP remembers the request for the row that its path begins with.
func (p *places) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(io.LimitReader(r.Body, 1<<20))
	id, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	what := []string{r.Method + " " + r.URL.Path}
	for _, name := range []string{"X-Auth-Token", "Authorization", "Cookie", "Vmware-Api-Session-Id"} {
		if r.Header.Get(name) != "" {
			what = append(what, "header "+name)
		}
	}
	for _, secret := range secrets {
		if bytes.Contains(body, []byte(secret)) || strings.Contains(r.URL.RawQuery, secret) {
			what = append(what, "a password or user name in the body")
			break
		}
	}
	if r.TLS == nil {
		what = append(what, "over plain http")
	}
	p.mutex.Lock()
	p.seen[id] = append(p.seen[id], strings.Join(what, ", "))
	p.mutex.Unlock()
	w.Header().Set("Content-Type", jsonType)
	fmt.Fprint(w, "{}")
}

func (p *places) reached(id string) []string {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	return p.seen[id]
}
