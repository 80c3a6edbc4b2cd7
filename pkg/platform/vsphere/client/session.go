// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"
	"errors"
	"net/url"
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
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/transport"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
)

// maxIdleConnections are kept to a vCenter, which has all its APIs at one address, when there is less to do.
const maxIdleConnections = 8

const userAgent = "gardener-extension-provider-hybrid"

// Session is a login at one vCenter, for its SOAP and its REST API. When the vCenter ends it there is a new login and the
// request is repeated, so that nobody notices. It is safe for concurrent use.
type Session struct {
	// Site is the name of the site.
	Site string

	user      *url.Userinfo
	transport *transport.Transport
	vim       *vim25.Client
	rest      *restAuth
	tags      *tags.Manager

	// logins counts the logins at the SOAP API.
	logins   atomic.Int64
	login    platform.Shared[any]
	refused  *refusal
	userName atomic.Pointer[string]
	// instance is the UUID of the vCenter that answered the last login.
	instance atomic.Pointer[string]

	values sync.Map
}

func newSession(ctx context.Context, siteName string, connection v1alpha1.VSphereConnection, credentials site.Credentials,
	refused *refusal) (*Session, error) {
	if err := refused.last(); err != nil {
		return nil, err
	}
	user, err := userOf(credentials)
	if err != nil {
		return nil, err
	}
	address, err := soap.ParseURL(connection.Server)
	if err != nil || address == nil || address.Host == "" {
		return nil, platform.NewError(platform.ClassConfiguration, "vsphere.server %q is no address", connection.Server)
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
		return nil, Classify(err)
	}
	s := &Session{Site: siteName, user: user, transport: roundTripper, refused: refused}
	content, err := methods.GetServiceContent(ctx, named{sc})
	if err != nil {
		return nil, Classify(err)
	}
	if content.About.ApiType != "VirtualCenter" || content.SessionManager == nil {
		return nil, platform.NewError(platform.ClassConfiguration, "vsphere.server %q is no vCenter but %q", connection.Server,
			platform.Printable(content.About.FullName))
	}
	if content.SearchIndex == nil || content.ViewManager == nil || content.AuthorizationManager == nil {
		return nil, platform.NewError(platform.ClassTransient, "the vCenter does not have all of its services")
	}
	s.instance.Store(&content.About.InstanceUuid)
	s.vim = &vim25.Client{Client: sc, ServiceContent: content}
	s.vim.RoundTripper = &authenticated{session: s, next: named{sc}}
	if err := s.renew(ctx, 0); err != nil {
		return nil, err
	}

	restClient := rest.NewClient(s.vim)
	s.rest = &restAuth{next: roundTripper, session: s, client: restClient}
	restClient.Client.Client = *transport.NewClient(s.rest, timeout)
	restClient.UserAgent = userAgent
	s.tags = tags.NewManager(restClient)
	return s, nil
}

// VIM returns the client of the SOAP API.
func (s *Session) VIM() *vim25.Client {
	return s.vim
}

// Tags returns the client of the tags, which are in the REST API. It logs in there when it is used for the first time.
func (s *Session) Tags() *tags.Manager {
	return s.tags
}

// UserName returns the name of the user as the vCenter knows it.
func (s *Session) UserName() string {
	return *s.userName.Load()
}

// InstanceUUID returns the UUID of the vCenter itself, which its address may not keep.
func (s *Session) InstanceUUID() string {
	return *s.instance.Load()
}

// check refuses another vCenter than the expected one, if that is known. One that was another is asked again who it is.
func (s *Session) check(ctx context.Context, expected string) error {
	if expected == "" || strings.EqualFold(expected, s.InstanceUUID()) {
		return nil
	}
	err := s.identify(ctx)
	if found := s.InstanceUUID(); !strings.EqualFold(expected, found) {
		if err != nil {
			klog.V(2).ErrorS(err, "The vCenter does not say which one it is", "site", s.Site)
		}
		return platform.NewError(platform.ClassConfiguration,
			"at vsphere.server there is the vCenter %s, and not %s, in which the shoot's objects are; nothing is touched until it is that one again", found, expected)
	}
	return nil
}

// Repeat calls f again if it failed after a new login came in between: what belongs to a session, such as views and the pages of
// a list, is lost with it.
func (s *Session) Repeat(f func() error) error {
	before := s.logins.Load()
	err := f()
	if err != nil && s.logins.Load() != before {
		return f()
	}
	return err
}

// Value returns what create returned the first time it was called for the key on this session.
func (s *Session) Value(key any, create func() any) any {
	if value, ok := s.values.Load(key); ok {
		return value
	}
	value, _ := s.values.LoadOrStore(key, create())
	return value
}

// keepAlive keeps the vCenter from ending the session because nobody uses it.
func (s *Session) keepAlive(ctx context.Context) error {
	_, err := methods.GetCurrentTime(ctx, s.vim)
	return errors.Join(Classify(err), s.rest.keepAlive(ctx))
}

// logout ends the session, so that the vCenter does not keep it until it times out.
func (s *Session) logout() {
	ctx, cancel := context.WithTimeout(context.Background(), logoutTimeout)
	defer cancel()
	defer s.transport.CloseIdleConnections()
	_, err := methods.Logout(ctx, named{s.vim.Client}, &types.Logout{This: *s.vim.ServiceContent.SessionManager})
	if err := errors.Join(Classify(err), s.rest.logout(ctx)); err != nil {
		klog.ErrorS(err, "Session could not be ended, the vCenter does it", "site", s.Site)
	}
}

func userOf(credentials site.Credentials) (*url.Userinfo, error) {
	for _, key := range []string{"username", "password"} {
		if credentials[key] == "" {
			return nil, platform.NewError(platform.ClassConfiguration, "credentials: key %q is missing; username and password are needed", key)
		}
	}
	return url.UserPassword(credentials["username"], credentials["password"]), nil
}

// ConnectionOf is how a vSphere site of the CloudProfile is reached, with the UUID of its vCenter if that is known.
func ConnectionOf(profile *v1alpha1.CloudProfileSite, instanceUUID string) v1alpha1.VSphereConnection {
	return v1alpha1.VSphereConnection{
		InstanceUUID:   instanceUUID,
		Server:         profile.VSphere.Server,
		TLS:            profile.TLS,
		Proxy:          profile.Proxy,
		RequestTimeout: profile.RequestTimeout,
	}
}
