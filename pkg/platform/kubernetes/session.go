// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package kubernetes

import (
	"context"
	"crypto/tls"
	"errors"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"sync"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/transport"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
)

// userAgent is the name of the binary, so that the audit log of the API distinguishes the extension and the driver.
var userAgent = filepath.Base(os.Args[0])

// Session is a connection to a Kubernetes API with given credentials. It is safe for concurrent use.
type Session struct {
	// Site is the name of the site.
	Site string
	// Namespace is the namespace of the objects.
	Namespace string

	config *rest.Config
	scheme *runtime.Scheme
	http   *http.Client //nolint:forbidigo // the type alone
	client client.WithWatch
	rest   rest.Interface

	// ctx ends with the session.
	ctx    context.Context
	stop   context.CancelFunc
	values sync.Map
}

// Options configure a session.
type Options struct {
	// Site is the name of the site.
	Site string
	// Field is the field of the site with the connection, which errors name.
	Field string
	// Connection is how the API is reached.
	Connection Connection
	// Credentials have a token, or a client certificate and its key.
	Credentials site.Credentials
	// Scheme has the types that are read and written.
	Scheme *runtime.Scheme
	// Kinds are those that need no discovery.
	Kinds map[schema.GroupVersionKind]meta.RESTScope
	// Groups are the API groups with metrics of their own. Others are named by shoots, as those of address pools.
	Groups []string
	// Wrap returns what sends the requests. It is optional.
	Wrap transport.Wrap
}

// Connection is how an API is reached. It holds no credentials.
type Connection struct {
	// Server is the address of the API.
	Server string
	// Namespace is the namespace of the objects.
	Namespace string
	// TLS configures how the certificate of the API is verified.
	TLS *v1alpha1.TLS
	// Proxy is the HTTP proxy through which the API is reached.
	Proxy *v1alpha1.Proxy
	// RequestTimeout limits one request.
	RequestTimeout *metav1.Duration
}

// NewSession returns a session. It sends no request.
func NewSession(options Options) (*Session, error) {
	connection, server := options.Connection, options.Field+".server"
	address, err := url.Parse(connection.Server)
	if err != nil || address.Scheme != "https" && address.Scheme != "http" || address.Host == "" {
		return nil, platform.NewError(platform.ClassConfiguration, "%s %q must be an HTTP or HTTPS URL", server, connection.Server)
	}
	describe := describer(address.Path, options.Groups)
	config := &rest.Config{
		Host:           connection.Server,
		UserAgent:      userAgent,
		QPS:            -1, // the transport limits the rate
		ContentConfig:  rest.ContentConfig{ContentType: runtime.ContentTypeJSON},
		WarningHandler: rest.NoWarnings{},
	}
	certificates, err := authenticate(config, options.Credentials)
	if err != nil {
		return nil, err
	}
	if config.Transport, err = newRoundTripper(options.Site, address, connection, certificates, describe); err != nil {
		return nil, err
	}
	if options.Wrap != nil {
		config.Transport = options.Wrap(options.Site, describe, config.Transport)
	}

	s := &Session{Site: options.Site, Namespace: connection.Namespace, config: config, scheme: options.Scheme}
	if s.http, err = rest.HTTPClientFor(config); err != nil {
		return nil, platform.NewError(platform.ClassConfiguration, "%s %q: %w", server, connection.Server, err)
	}
	// Credentials go to the configured server only.
	s.http.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	if s.rest, err = rest.UnversionedRESTClientForConfigAndClient(discoveryConfig(config, s.scheme), s.http); err != nil {
		return nil, platform.NewError(platform.ClassConfiguration, "%s %q: %w", server, connection.Server, err)
	}
	mapper, err := newMapper(config, s.http, options.Kinds)
	if err != nil {
		return nil, err
	}
	api, err := client.NewWithWatch(config, client.Options{HTTPClient: s.http, Scheme: s.scheme, Mapper: mapper})
	if err != nil {
		return nil, platform.NewError(platform.ClassConfiguration, "%s %q: %w", server, connection.Server, err)
	}
	s.client = paged{api}
	s.ctx, s.stop = context.WithCancel(context.Background())
	return s, nil
}

// Client returns a client each of whose reads is a request.
func (s *Session) Client() client.Client {
	return s.client
}

// Value returns what create returned the first time it was called for the key on this session.
func (s *Session) Value(key any, create func() any) any {
	if value, ok := s.values.Load(key); ok {
		return value
	}
	value, _ := s.values.LoadOrStore(key, create())
	return value
}

// Close ends the session and its watches.
func (s *Session) Close() {
	s.stop()
	s.http.CloseIdleConnections()
}

// authenticate completes the configuration with the credentials, and returns the certificate if they are one.
func authenticate(config *rest.Config, credentials site.Credentials) ([]tls.Certificate, error) {
	if token := credentials["token"]; token != "" {
		config.BearerToken = token
		return nil, nil
	}
	for _, key := range []string{"clientCertificate", "clientKey"} {
		if credentials[key] == "" {
			return nil, platform.NewError(platform.ClassConfiguration,
				"credentials: key %q is missing; set either token or both clientCertificate and clientKey", key)
		}
	}
	certificate, err := tls.X509KeyPair([]byte(credentials["clientCertificate"]), []byte(credentials["clientKey"]))
	if err != nil {
		return nil, &platform.Error{Class: platform.ClassConfiguration,
			Err: errors.New("credentials: clientCertificate and clientKey must be a certificate and its key in PEM format")}
	}
	return []tls.Certificate{certificate}, nil
}
