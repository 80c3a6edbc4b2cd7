// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package csistub has OpenStack sites on loopback for tests of CSI drivers, and their configuration.
package csistub

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
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
)

// Site is an OpenStack site on loopback: Keystone accepts the password "right", and what is asked of Cinder, Nova and Manila is answered by
// Handle.
type Site struct {
	*httptest.Server
	// Logins counts requests for a token.
	Logins atomic.Int32
	// Down is the status of all answers of Keystone, unless it is zero.
	Down atomic.Int32
	// Handle answers all other requests. Optional.
	Handle http.HandlerFunc
}

// New returns a site until the spec ends.
func New(handle http.HandlerFunc) *Site {
	s := &Site{Handle: handle}
	s.Server = httptest.NewServer(s)
	DeferCleanup(s.Close)
	return s
}

// ServeHTTP implements http.Handler.
func (s *Site) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("X-Openstack-Request-Id", "req-1")
	switch path := r.URL.Path; {
	case path == "/identity/v3/auth/tokens":
		s.login(w, r)
	case path == "/volume/v3/" || path == "/compute/v2.1/" || path == "/share/v2/":
		fmt.Fprintf(w,
			`{"version": {"id": "v3.0", "status": "CURRENT", "version": "3.70", "min_version": "3.0", "links": [{"rel": "self", "href": %q}]}}`,
			s.URL+path)
	case s.Handle != nil:
		s.Handle(w, r)
	default:
		w.WriteHeader(http.StatusNotImplemented)
	}
}

func (s *Site) login(w http.ResponseWriter, r *http.Request) {
	s.Logins.Add(1)
	if status := s.Down.Load(); status != 0 {
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
	fmt.Fprintf(w, `{"token": {"expires_at": %q, "project": {"id": "own"}, "catalog": [%s, %s, %s]}}`,
		time.Now().Add(time.Hour).UTC().Format(time.RFC3339), service("compute", "/compute/v2.1/"), service("block-storage", "/volume/v3/"),
		service("shared-file-system", "/share/v2/"))
}

// Section is the section of the site in the configuration.
func (s *Site) Section(name, password string) string {
	return fmt.Sprintf("[Global %q]\nauth-url=%s/identity/v3\nregion=r\ndomain-name=d\ntenant-name=t\nusername=u\npassword=%q\n", name, s.URL,
		password)
}

// ConfigFile is the path of a configuration that can be replaced.
type ConfigFile string

// NewConfigFile returns a configuration with the sections.
func NewConfigFile(sections ...string) ConfigFile {
	GinkgoHelper()
	f := ConfigFile(filepath.Join(GinkgoT().TempDir(), "cloud.conf"))
	f.Write(sections...)
	return f
}

// Write replaces the sections.
func (f ConfigFile) Write(sections ...string) {
	GinkgoHelper()
	Expect(os.WriteFile(string(f), []byte(strings.Join(sections, "")), 0o600)).To(Succeed())
}

// Connect returns a connection to what serves at the endpoint until its context is done. Both end with the spec.
func Connect(serve func(ctx context.Context, endpoint string) error) *grpc.ClientConn {
	GinkgoHelper()
	socket := filepath.Join(GinkgoT().TempDir(), "csi.sock")
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error)
	go func() { done <- serve(ctx, "unix://"+socket) }()
	connection, err := grpc.NewClient("unix://"+socket, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.WaitForReady(true)))
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func() {
		Expect(connection.Close()).To(Succeed())
		cancel()
		Expect(<-done).To(Succeed())
	})
	return connection
}
