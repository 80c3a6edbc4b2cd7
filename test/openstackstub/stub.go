// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package openstackstub

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/gardener/gardener-extension-provider-hybrid/test/countproxy"
)

const (
	// Region is the region of all services.
	Region = "RegionOne"
	// OtherRegion is the region of the services of Settings.Other.
	OtherRegion = "RegionTwo"
	// FloatingPool is the name of the external network.
	FloatingPool = "public"

	readHeaderTimeout = 30 * time.Second
)

// Settings say what there is before the first request.
type Settings struct {
	// Servers are servers that exist in a project.
	Servers []Servers
	// BootDelay is the time from the creation of a server until it is active.
	BootDelay time.Duration
	// Other is a second region, in which tokens of the first are valid.
	Other *Stub
	// Flavors and Images are the names of the flavors and images that all projects have.
	Flavors, Images []string
}

// Servers are active servers without ports.
type Servers struct {
	// Project is the name of their project.
	Project string
	// Prefix is what their names begin with; a number follows.
	Prefix string
	// Count is their number.
	Count int
	// Metadata is the metadata of each.
	Metadata map[string]string
}

// Stub is a set of services on loopback.
type Stub struct {
	settings  Settings
	listeners map[string]net.Listener
	servers   []*http.Server

	mutex    sync.Mutex
	projects map[string]*project
	tokens   map[string]*project
}

// New starts the services. Close stops them.
func New(settings Settings) (*Stub, error) {
	s := &Stub{settings: settings, listeners: map[string]net.Listener{}, projects: map[string]*project{}, tokens: map[string]*project{}}
	for _, service := range []struct {
		name    string
		handler http.Handler
	}{
		{"keystone", s.keystone()}, {"nova", s.nova()}, {"neutron", s.neutron()}, {"glance", s.glance()},
	} {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, errors.Join(fmt.Errorf("start %s: %w", service.name, err), s.Close())
		}
		s.listeners[service.name] = listener
		server := &http.Server{Handler: service.handler, ReadHeaderTimeout: readHeaderTimeout}
		s.servers = append(s.servers, server)
		go func() { _ = server.Serve(listener) }()
	}
	return s, nil
}

// Close stops the services.
func (s *Stub) Close() error {
	var errs []error
	for _, server := range s.servers {
		errs = append(errs, server.Close())
	}
	return errors.Join(errs...)
}

// Services are the services for a proxy in front of them.
func (s *Stub) Services() []countproxy.Service {
	var services []countproxy.Service
	for name := range s.listeners {
		services = append(services, countproxy.Service{Name: name, Upstream: s.url(name)})
	}
	return services
}

// AuthURL is the address of Keystone's version 3 API.
func (s *Stub) AuthURL() string {
	return s.url("keystone") + "/v3"
}

func (s *Stub) url(service string) string {
	return "http://" + s.listeners[service].Addr().String()
}

// login returns the project with the name, which is made when it is asked for, and a new token for it.
func (s *Stub) login(name string) (*project, string) {
	token := newID()
	p := s.admit(name, token)
	if s.settings.Other != nil {
		s.settings.Other.admit(name, token)
	}
	return p, token
}

func (s *Stub) admit(name, token string) *project {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	p, ok := s.projects[name]
	if !ok {
		p = s.newProject(name)
		s.projects[name] = p
	}
	s.tokens[token] = p
	return p
}

// handle registers what needs a valid token.
func (s *Stub) handle(mux *http.ServeMux, pattern string, do func(*project, *http.Request) answer) {
	mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
		s.mutex.Lock()
		p := s.tokens[r.Header.Get("X-Auth-Token")]
		s.mutex.Unlock()
		if p == nil {
			unauthorized.write(w)
			return
		}
		p.mutex.Lock()
		result := do(p, r)
		p.mutex.Unlock()
		result.write(w)
	})
}
