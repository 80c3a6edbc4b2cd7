// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package client provides the sessions of vSphere sites that all parts of the platform share, and classifies the errors of a vCenter.
package client

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/vmware/govmomi/vapi/rest"
	"github.com/vmware/govmomi/vapi/tags"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
	"k8s.io/klog/v2"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/kubernetes"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/transport"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
)

// maxIdleConnections is the number of idle connections kept open to a vCenter, which serves all its APIs at one address.
const maxIdleConnections = 8

// noVersions matches the error of a server that does not have the versions of a vCenter's API, which need no login.
var noVersions = regexp.MustCompile(`^http\.Get\(.*\): 40[0-7] `)

const userAgent = "gardener-extension-provider-hybrid"

// errClosed is the error of requests after the logout. Logging in again would begin a session that no one ends.
var errClosed = platform.NewError(platform.ClassTransient, "the session at the vCenter was closed")

// Session is a session of the SOAP API and the REST API of a vCenter. If the vCenter ends it, the session logs in again and repeats the
// request. It is safe for concurrent use.
type Session struct {
	// Site is the name of the site.
	Site string

	user      *url.Userinfo
	transport *transport.Transport
	vim       *vim25.Client
	rest      *restAuth
	tags      *tags.Manager
	// closed is set before the logout.
	closed atomic.Bool

	// logins is the number of logins at the SOAP API.
	logins   atomic.Int64
	login    platform.Shared[any]
	refused  *refusal
	userName atomic.Pointer[string]
	// instance is the UUID of the vCenter that answered the last login.
	instance atomic.Pointer[string]

	// ipam opens the session at the API of the address pools.
	ipam func() (*kubernetes.Session, error)

	values sync.Map
}

func newSession(ctx context.Context, siteName string, connection v1alpha1.VSphereConnection, credentials site.Credentials,
	refused *refusal, wrap Wrap, wrapIPAM transport.Wrap) (*Session, error) {
	if err := refused.last(); err != nil {
		return nil, err
	}
	user, err := userOf(credentials)
	if err != nil {
		return nil, err
	}
	address, err := soap.ParseURL(connection.Server)
	if err != nil || address == nil || address.Host == "" {
		return nil, platform.NewError(platform.ClassConfiguration, "vsphere.server %q must be an address", connection.Server)
	}
	timeout := transport.RequestTimeout(connection.RequestTimeout)
	roundTripper, err := transport.New(transport.Options{
		Site:           siteName,
		Server:         address,
		TLS:            connection.TLS,
		Proxy:          connection.Proxy,
		RequestTimeout: timeout,
		Describe:       describe,

		MaxIdleConnectionsPerHost: maxIdleConnections,
	})
	if err != nil {
		return nil, err
	}

	sc := soap.NewClient(address, false)
	sc.UserAgent = userAgent
	jar := sc.Jar
	sc.Client = *transport.NewClient(roundTripper, timeout)
	sc.Jar = jar
	if err := sc.UseServiceVersion(); err != nil {
		if noVersions.MatchString(err.Error()) {
			return nil, platform.NewError(platform.ClassConfiguration, "vsphere.server %q is not a vCenter: %w", connection.Server,
				platform.Foreign(err))
		}
		return nil, Classify(err)
	}
	s := &Session{Site: siteName, user: user, transport: roundTripper, refused: refused,
		ipam: sync.OnceValues(func() (*kubernetes.Session, error) { return newIPAM(siteName, connection, credentials, wrapIPAM) })}
	content, err := methods.GetServiceContent(ctx, named{sc})
	if err != nil {
		return nil, Classify(err)
	}
	if content.About.ApiType != "VirtualCenter" || content.SessionManager == nil {
		return nil, platform.NewError(platform.ClassConfiguration, "vsphere.server %q is not a vCenter but %q", connection.Server,
			platform.Printable(content.About.FullName))
	}
	if content.SearchIndex == nil || content.ViewManager == nil || content.AuthorizationManager == nil {
		return nil, platform.NewError(platform.ClassTransient, "the vCenter does not offer all required services")
	}
	s.instance.Store(&content.About.InstanceUuid)
	s.vim = &vim25.Client{Client: sc, ServiceContent: content}
	s.vim.RoundTripper = &authenticated{session: s, next: named{sc}}
	if err := s.renew(ctx, 0); err != nil {
		return nil, err
	}

	restClient := rest.NewClient(s.vim)
	s.rest = &restAuth{next: roundTripper, session: s, client: restClient}
	var sent http.RoundTripper = s.rest
	if wrap != nil {
		s.vim.RoundTripper, sent = wrap(siteName, s.vim.RoundTripper, s.rest)
	}
	restClient.Client.Client = *transport.NewClient(sent, timeout)
	restClient.UserAgent = userAgent
	s.tags = tags.NewManager(restClient)
	return s, nil
}

// VIM returns the client of the SOAP API.
func (s *Session) VIM() *vim25.Client {
	return s.vim
}

// Tags returns the client for tags, which are part of the REST API. It logs in there on first use.
func (s *Session) Tags() *tags.Manager {
	return s.tags
}

// UserName returns the name of the user as the vCenter knows it.
func (s *Session) UserName() string {
	return *s.userName.Load()
}

// InstanceUUID returns the UUID of the vCenter. The vCenter behind an address may change.
func (s *Session) InstanceUUID() string {
	return *s.instance.Load()
}

// check returns an error if the vCenter is not the expected one. It asks a vCenter that was a different one again.
func (s *Session) check(ctx context.Context, expected string) error {
	if expected == "" || strings.EqualFold(expected, s.InstanceUUID()) {
		return nil
	}
	err := s.identify(ctx)
	if found := s.InstanceUUID(); !strings.EqualFold(expected, found) {
		if err != nil {
			klog.V(2).ErrorS(err, "vCenter could not be identified", "site", s.Site)
		}
		return platform.NewError(platform.ClassConfiguration,
			"vsphere.server is the vCenter %s, but the shoot's objects are in vCenter %s; nothing is touched until it is that one again",
			found, expected)
	}
	return nil
}

// Repeat calls f again if it failed and the session logged in again meanwhile: objects of a session, such as views and the pages of a list,
// are lost with it.
func (s *Session) Repeat(f func() error) error {
	before := s.logins.Load()
	err := f()
	if err != nil && s.logins.Load() != before {
		return f()
	}
	return err
}

// Value returns the value that the session keeps for the key, which is created on first use.
func Value[T any](s *Session, key any, create func() T) T {
	value, ok := s.values.Load(key)
	if !ok {
		value, _ = s.values.LoadOrStore(key, create())
	}
	return value.(T)
}

// keepAlive prevents the vCenter from ending an idle session.
func (s *Session) keepAlive(ctx context.Context) error {
	_, err := methods.GetCurrentTime(ctx, s.vim)
	return errors.Join(Classify(err), s.rest.keepAlive(ctx))
}

// mayLogIn returns an error if the session is closed or its credentials were rejected recently.
func (s *Session) mayLogIn() error {
	if s.closed.Load() {
		return errClosed
	}
	return s.refused.last()
}

// logout ends the session, so that it does not count against the limit of the vCenter until it times out. What still uses it fails.
func (s *Session) logout() {
	s.closed.Store(true)
	ctx, cancel := context.WithTimeout(context.Background(), logoutTimeout)
	defer cancel()
	defer s.transport.CloseIdleConnections()
	if pools, err := s.ipam(); err == nil {
		pools.Close()
	}
	_, err := methods.Logout(ctx, named{s.vim.Client}, &types.Logout{This: *s.vim.ServiceContent.SessionManager})
	if err := errors.Join(Classify(err), s.rest.logout(ctx)); err != nil {
		klog.ErrorS(err, "Logout failed, the session ends when it times out", "site", s.Site)
	}
}

func userOf(credentials site.Credentials) (*url.Userinfo, error) {
	for _, key := range []string{"username", "password"} {
		if credentials[key] == "" {
			return nil, platform.NewError(platform.ClassConfiguration, "credentials: key %q is missing; username and password are required", key)
		}
	}
	return url.UserPassword(credentials["username"], credentials["password"]), nil
}
