// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package countproxy

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

const readHeaderTimeout = 30 * time.Second

// Service is an API and the address that the proxy listens on for it.
type Service struct {
	// Name is the name of the service in the log.
	Name string
	// Listen is the proxy's host:port for the service. Default: a free port on loopback.
	Listen string
	// Upstream is the base URL of the service: scheme, host and port without a path.
	Upstream string
	// Certificate and Key are PEM, with which the proxy serves TLS. Default: it serves none.
	Certificate, Key string
	// CA is the PEM certificate that the service's own is trusted with. Default: what the system trusts.
	CA string
	// Signed means that clients sign the host that they send requests to, which the service gets unchanged then.
	Signed bool
}

// Proxy runs a listener for each service. It is safe for concurrent use.
type Proxy struct {
	rewrite   *strings.Replacer
	bases     map[string]string
	listeners map[string]listener

	mutex    sync.Mutex
	servers  map[string]*http.Server
	done     *sync.Cond
	label    string
	requests []Request
	seq      int
	inFlight int
	open     map[string]int
	rules    []*rule
	skews    map[string]time.Duration
}

type connection struct {
	used atomic.Bool
}

type connectionKey struct{}

type listener struct {
	net.Listener

	service   Service
	upstream  *url.URL
	transport *http.Transport
	// held keeps the port from others while the service is down, nil if the port was given.
	held *os.File
}

// New starts a proxy. Close ends it.
func New(services ...Service) (*Proxy, error) {
	p := &Proxy{
		bases:     map[string]string{},
		listeners: map[string]listener{},
		servers:   map[string]*http.Server{},
		open:      map[string]int{},
		skews:     map[string]time.Duration{},
	}
	p.done = sync.NewCond(&p.mutex)

	var pairs []string
	for _, service := range services {
		l, err := listen(service)
		if err != nil {
			for _, l := range p.listeners {
				err = errors.Join(err, l.Close(), l.release())
			}
			return nil, fmt.Errorf("service %q: %w", service.Name, err)
		}
		p.listeners[service.Name] = l
		p.bases[service.Name] = service.scheme() + "://" + l.Addr().String()
		pairs = append(pairs, l.upstream.String(), p.bases[service.Name])
	}
	p.rewrite = strings.NewReplacer(pairs...)
	for _, l := range p.listeners {
		p.serve(l)
	}
	return p, nil
}

func listen(service Service) (listener, error) {
	upstream, err := url.Parse(strings.TrimSuffix(service.Upstream, "/"))
	if err != nil {
		return listener{}, err
	}
	if upstream.Host == "" || upstream.Path != "" {
		return listener{}, fmt.Errorf("upstream %q is no base URL", service.Upstream)
	}
	transport, err := service.transport()
	if err != nil {
		return listener{}, err
	}
	result := listener{service: service, upstream: upstream, transport: transport}
	address := service.Listen
	if address == "" {
		if result.held, address, err = hold(); err != nil {
			return listener{}, err
		}
	}
	if result.Listener, err = service.listen(address); err != nil {
		return listener{}, errors.Join(err, result.release())
	}
	return result, nil
}

func (p *Proxy) serve(l listener) {
	server := &http.Server{
		Handler:           &handler{proxy: p, service: l.service.Name, upstream: l.upstream, transport: l.transport, signed: l.service.Signed},
		ReadHeaderTimeout: readHeaderTimeout,
		ConnContext: func(ctx context.Context, _ net.Conn) context.Context {
			return context.WithValue(ctx, connectionKey{}, &connection{})
		},
		ConnState: func(_ net.Conn, state http.ConnState) {
			p.mutex.Lock()
			defer p.mutex.Unlock()
			switch state {
			case http.StateNew:
				p.open[l.service.Name]++
			case http.StateClosed, http.StateHijacked:
				p.open[l.service.Name]--
			}
		},
	}
	p.mutex.Lock()
	p.servers[l.service.Name] = server
	p.mutex.Unlock()
	go func() { _ = server.Serve(l) }()
}

// URL returns the proxy's base URL of a service.
func (p *Proxy) URL(service string) string {
	return p.bases[service]
}

// Rewrite returns the text with the base URLs of all services replaced by the proxy's.
func (p *Proxy) Rewrite(text string) string {
	return p.rewrite.Replace(text)
}

// Close ends all listeners and connections.
func (p *Proxy) Close() error {
	p.mutex.Lock()
	servers, listeners := slices.Collect(maps.Values(p.servers)), slices.Collect(maps.Values(p.listeners))
	p.mutex.Unlock()
	var errs []error
	for _, server := range servers {
		errs = append(errs, server.Close())
	}
	for _, l := range listeners {
		errs = append(errs, l.release())
	}
	return errors.Join(errs...)
}

// SetLabel labels the requests that arrive from now on.
func (p *Proxy) SetLabel(label string) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.label = label
}

// SetSkew lets the clock of a service be wrong in the Date headers of its answers.
func (p *Proxy) SetSkew(service string, by time.Duration) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.skews[service] = by
}

func (p *Proxy) skewOf(service string) time.Duration {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	return p.skews[service]
}

// Requests waits until no request is in flight and returns the log of the label in the order of arrival.
func (p *Proxy) Requests(label string) []Request {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	for p.inFlight > 0 {
		p.done.Wait()
	}
	var entries []Request
	for _, entry := range p.requests {
		if entry.Label == label {
			entries = append(entries, entry)
		}
	}
	slices.SortFunc(entries, func(a, b Request) int { return a.Seq - b.Seq })
	return entries
}

// OpenConnections returns how many connections clients hold open to a service.
func (p *Proxy) OpenConnections(service string) int {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	return p.open[service]
}
