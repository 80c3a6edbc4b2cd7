// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package cinder

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

// stub is an OpenStack site on loopback: Keystone accepts the password "right", and what is asked of Cinder and Nova is answered by
// serve.
type stub struct {
	*httptest.Server
	logins atomic.Int32
	// down is the status of all answers of Keystone, unless it is zero.
	down  atomic.Int32
	serve http.HandlerFunc
}

func newStub(serve http.HandlerFunc) *stub {
	s := &stub{serve: serve}
	s.Server = httptest.NewServer(s)
	DeferCleanup(s.Close)
	return s
}

func (s *stub) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("X-Openstack-Request-Id", "req-1")
	switch path := r.URL.Path; {
	case path == "/identity/v3/auth/tokens":
		s.login(w, r)
	case path == "/volume/v3/" || path == "/compute/v2.1/":
		fmt.Fprintf(w,
			`{"version": {"id": "v3.0", "status": "CURRENT", "version": "3.70", "min_version": "3.0", "links": [{"rel": "self", "href": %q}]}}`,
			s.URL+path)
	case s.serve != nil:
		s.serve(w, r)
	default:
		w.WriteHeader(http.StatusNotImplemented)
	}
}

func (s *stub) login(w http.ResponseWriter, r *http.Request) {
	s.logins.Add(1)
	if status := s.down.Load(); status != 0 {
		w.WriteHeader(int(status))
		return
	}
	var body json.RawMessage
	Expect(json.NewDecoder(r.Body).Decode(&body)).To(Succeed())
	if !strings.Contains(string(body), `"right"`) {
		w.WriteHeader(http.StatusUnauthorized)
		fmt.Fprint(w, `{"error": {"code": 401, "message": "The request you have made requires authentication."}}`)
		return
	}
	w.Header().Set("X-Subject-Token", "token")
	w.WriteHeader(http.StatusCreated)
	service := func(kind, path string) string {
		return fmt.Sprintf(`{"type": %q, "endpoints": [{"interface": "public", "region": "r", "region_id": "r", "url": %q}]}`, kind, s.URL+path)
	}
	fmt.Fprintf(w, `{"token": {"expires_at": %q, "project": {"id": "own"}, "catalog": [%s, %s]}}`,
		time.Now().Add(time.Hour).UTC().Format(time.RFC3339), service("compute", "/compute/v2.1/"), service("block-storage", "/volume/v3/"))
}

// section is the section of the site in the configuration.
func (s *stub) section(name, password string) string {
	return fmt.Sprintf("[Global %q]\nauth-url=%s/identity/v3\nregion=r\ndomain-name=d\ntenant-name=t\nusername=u\npassword=%q\n", name, s.URL,
		password)
}

// configFile is a configuration that can be replaced.
type configFile string

func newConfigFile(sections ...string) configFile {
	GinkgoHelper()
	f := configFile(filepath.Join(GinkgoT().TempDir(), "cloud.conf"))
	f.write(sections...)
	return f
}

func (f configFile) write(sections ...string) {
	GinkgoHelper()
	Expect(os.WriteFile(string(f), []byte(strings.Join(sections, "")), 0o600)).To(Succeed())
}

// clock is a time that passes when it is told to.
type clock struct {
	at time.Time
}

func (c *clock) pass(d time.Duration) { c.at = c.at.Add(d) }

func (c *clock) now() time.Time { return c.at }

// canceled is a context that has ended.
func canceled() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}
