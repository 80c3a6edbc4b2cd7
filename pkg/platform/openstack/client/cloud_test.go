// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"

	. "github.com/onsi/ginkgo/v2"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
)

const (
	password = "s3cret-pass"
	secret   = "s3cret-application"
)

// cloud is an OpenStack site on loopback: its Keystone gives out one token after the other, of which the newest is valid. All
// other requests need that token and are answered by serve, whose path begins behind the name of the service.
type cloud struct {
	*httptest.Server
	serve http.HandlerFunc
	// onLogin, if set, answers a login unless it returns false.
	onLogin func(http.ResponseWriter, *http.Request) bool
	// onDiscovery, if set, is called before a service tells its versions.
	onDiscovery func(path string)
	// onRefused, if set, is called before a request is refused because of its token.
	onRefused func()

	// closed counts the connections that have ended.
	closed atomic.Int32

	mutex  sync.Mutex
	logins int
	valid  string
}

func newCloud(serve http.HandlerFunc) *cloud {
	c := &cloud{serve: serve}
	c.Server = httptest.NewUnstartedServer(c)
	c.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateClosed {
			c.closed.Add(1)
		}
	}
	c.Start()
	DeferCleanup(c.Close)
	return c
}

func (c *cloud) connection() v1alpha1.OpenStackConnection {
	return v1alpha1.OpenStackConnection{AuthURL: c.URL + "/identity/v3", Region: "west"}
}

func credentials() site.Credentials {
	return site.Credentials{"domainName": "d", "tenantName": "t", "username": "u", "password": password}
}

func (c *cloud) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.URL.Path == "/identity/v3/auth/tokens":
		c.login(w, r)
	case r.Header.Get("X-Auth-Token") != c.token():
		if c.onRefused != nil {
			c.onRefused()
		}
		answer(w, http.StatusUnauthorized, `{"error": {"code": 401, "message": "The request you have made requires authentication."}}`)
	case r.URL.Path == "/network/" || r.URL.Path == "/image/":
		if c.onDiscovery != nil {
			c.onDiscovery(r.URL.Path)
		}
		answer(w, http.StatusOK, `{"versions": [{"id": "v2.0", "status": "CURRENT"}]}`)
	default:
		c.serve(w, r)
	}
}

func (c *cloud) login(w http.ResponseWriter, r *http.Request) {
	c.mutex.Lock()
	c.logins++
	token := fmt.Sprintf("token-%d", c.logins)
	c.mutex.Unlock()
	if c.onLogin != nil && c.onLogin(w, r) {
		return
	}

	var request struct {
		Auth struct {
			Identity struct {
				Password struct {
					User struct {
						Password string `json:"password"`
					} `json:"user"`
				} `json:"password"`
				ApplicationCredential struct {
					Secret string `json:"secret"`
				} `json:"application_credential"`
			} `json:"identity"`
		} `json:"auth"`
	}
	_ = json.NewDecoder(r.Body).Decode(&request)
	if identity := request.Auth.Identity; identity.Password.User.Password != password && identity.ApplicationCredential.Secret != secret {
		answer(w, http.StatusUnauthorized, `{"error": {"code": 401, "message": "The request you have made requires authentication."}}`)
		return
	}

	c.mutex.Lock()
	c.valid = token
	c.mutex.Unlock()
	var catalog []string
	for service, path := range map[string]string{"network": "/network", "compute": "/compute/v2.1", "image": "/image",
		"block-storage": "/volume/v3"} {
		catalog = append(catalog,
			fmt.Sprintf(`{"type": %q, "endpoints": [{"interface": "public", "region": "west", "url": %q}]}`, service, "http://"+r.Host+path))
	}
	w.Header().Set("X-Subject-Token", token)
	answer(w, http.StatusCreated, `{"token": {"catalog": [`+strings.Join(catalog, ",")+`]}}`)
}

func (c *cloud) token() string {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return c.valid
}

// expire makes the newest token invalid.
func (c *cloud) expire() {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.valid = "none"
}

func (c *cloud) countLogins() int {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return c.logins
}

func answer(w http.ResponseWriter, code int, body string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_, _ = w.Write([]byte(body))
}

func ok(w http.ResponseWriter, _ *http.Request) {
	answer(w, http.StatusOK, `{"ports": [], "images": [], "servers": []}`)
}

func tlsOf(caCert, thumbprint string, skip bool) *v1alpha1.TLS {
	return &v1alpha1.TLS{CACert: caCert, Thumbprint: thumbprint, InsecureSkipVerify: skip}
}
