// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"
	"crypto/tls"
	"errors"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"sync"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/transport"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
)

// userAgent is the name of the binary, so that the audit log of the inventory distinguishes the extension and the driver.
var userAgent = filepath.Base(os.Args[0])

// Session is a connection to the Kubernetes API of an inventory with given credentials. It is safe for concurrent use.
type Session struct {
	// Site is the name of the site.
	Site string
	// Namespace is the namespace of the hosts or server claims.
	Namespace string

	config *rest.Config
	http   *http.Client //nolint:forbidigo // the type alone
	client client.WithWatch
	rest   rest.Interface

	// ctx ends with the session.
	ctx    context.Context
	stop   context.CancelFunc
	values sync.Map
}

func newSession(siteName string, connection v1alpha1.MetalConnection, credentials site.Credentials, wrap transport.Wrap) (*Session, error) {
	address, err := url.Parse(connection.Server)
	if err != nil || address.Scheme != "https" && address.Scheme != "http" || address.Host == "" {
		return nil, platform.NewError(platform.ClassConfiguration, "metal.server %q must be an HTTP or HTTPS URL", connection.Server)
	}
	config := &rest.Config{
		Host:           connection.Server,
		UserAgent:      userAgent,
		QPS:            -1, // the transport limits the rate
		ContentConfig:  rest.ContentConfig{ContentType: runtime.ContentTypeJSON},
		WarningHandler: rest.NoWarnings{},
	}
	certificates, err := authenticate(config, credentials)
	if err != nil {
		return nil, err
	}
	if config.Transport, err = newRoundTripper(siteName, address, connection, certificates); err != nil {
		return nil, err
	}
	if wrap != nil {
		config.Transport = wrap(siteName, describer(address.Path), config.Transport)
	}

	s := &Session{Site: siteName, Namespace: connection.Namespace, config: config}
	if s.http, err = rest.HTTPClientFor(config); err != nil {
		return nil, platform.NewError(platform.ClassConfiguration, "metal.server %q: %w", connection.Server, err)
	}
	// Credentials go to the configured server only.
	s.http.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	if s.rest, err = rest.UnversionedRESTClientForConfigAndClient(discoveryConfig(config), s.http); err != nil {
		return nil, platform.NewError(platform.ClassConfiguration, "metal.server %q: %w", connection.Server, err)
	}
	mapper, err := newMapper(config, s.http)
	if err != nil {
		return nil, err
	}
	api, err := client.NewWithWatch(config, client.Options{HTTPClient: s.http, Scheme: apiScheme, Mapper: mapper})
	if err != nil {
		return nil, platform.NewError(platform.ClassConfiguration, "metal.server %q: %w", connection.Server, err)
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

func (s *Session) close() {
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
