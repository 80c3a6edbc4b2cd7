// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"
	"sync"
	"time"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/kubernetes"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/sessions"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/transport"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
)

const (
	// idleTimeout is how long an unused session and its watches are kept.
	idleTimeout = time.Hour
	// checkInterval is how often that is checked.
	checkInterval = 10 * time.Minute
)

// Sessions are the sessions of a process, one for each site and credentials. To get one takes no request: credentials that are
// refused show at the first call.
type Sessions = sessions.Set[v1alpha1.MetalConnection, *kubernetes.Session]

// Shared returns the sessions that all parts of the process use.
var Shared = sync.OnceValue(NewSessions)

// NewSessions returns an empty set of sessions.
func NewSessions() *Sessions {
	return WrappedSessions(nil)
}

// WrappedSessions returns an empty set of sessions whose requests are sent by what wrap returns. It is optional.
func WrappedSessions(wrap transport.Wrap) *Sessions {
	return sessions.New(sessions.Options[v1alpha1.MetalConnection, *kubernetes.Session]{
		Open: func(_ context.Context, _, siteName string, connection v1alpha1.MetalConnection, credentials site.Credentials) (
			*kubernetes.Session, error) {
			return kubernetes.NewSession(kubernetes.Options{
				Site:  siteName,
				Field: "metal",
				Connection: kubernetes.Connection{
					Server:         connection.Server,
					Namespace:      connection.Namespace,
					TLS:            connection.TLS,
					Proxy:          connection.Proxy,
					RequestTimeout: connection.RequestTimeout,
				},
				Credentials: credentials,
				Scheme:      apiScheme,
				Kinds:       kinds,
				Groups:      groups,
				Wrap:        wrap,
			})
		},
		Close: (*kubernetes.Session).Close,
		Idle:  idleTimeout,
		Check: checkInterval,
	})
}

// ConnectionOf returns the connection of a bare-metal site of the CloudProfile.
func ConnectionOf(profile *v1alpha1.CloudProfileSite) v1alpha1.MetalConnection {
	return v1alpha1.MetalConnection{
		Inventory:      profile.Metal.Inventory,
		Server:         profile.Metal.Server,
		Namespace:      profile.Metal.Namespace,
		TLS:            profile.TLS,
		Proxy:          profile.Proxy,
		RequestTimeout: profile.RequestTimeout,
	}
}
