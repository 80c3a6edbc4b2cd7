// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package preflight

import (
	"context"
	"net/http"
	"net/netip"
	"net/url"
	"sync"
	"time"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/validation"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/transport"
)

const (
	// resolveTimeout limits the resolution of a name.
	resolveTimeout = 5 * time.Second
	// lookTimeout limits the request to an API.
	lookTimeout = 10 * time.Second
)

// face is what the API of a site shows to everyone. It is read once.
type face struct {
	contact   validation.Contact
	addresses func() ([]netip.Addr, error)
	look      func() (transport.Look, error)
}

// newFace returns the face of a site, whose profile may be nil.
func newFace(profile *v1alpha1.CloudProfileSite, resolve Resolver) *face {
	var (
		f  = &face{}
		ok bool
	)
	if profile != nil {
		f.contact, ok = validation.ContactOf(profile)
	}
	f.addresses = sync.OnceValues(func() ([]netip.Addr, error) {
		if !ok {
			return nil, platform.NewError(platform.ClassConfiguration, "the CloudProfile has no valid address of the site's API")
		}
		return addressesOf(f.contact, resolve)
	})
	f.look = sync.OnceValues(func() (transport.Look, error) { return lookAt(profile) })
	return f
}

func addressesOf(contact validation.Contact, resolve Resolver) ([]netip.Addr, error) {
	if addr, ok := contact.Addr(); ok {
		return []netip.Addr{addr}, nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), resolveTimeout)
	defer cancel()
	return resolve(ctx, "ip", contact.Host)
}

func lookAt(profile *v1alpha1.CloudProfileSite) (transport.Look, error) {
	server, err := url.Parse(profile.Endpoint())
	if err != nil {
		return transport.Look{}, platform.NewError(platform.ClassConfiguration, "the address of the site's API must be a URL")
	}
	t, err := transport.New(transport.Options{
		Site:     profile.Name,
		Server:   server,
		TLS:      profile.TLS,
		Proxy:    profile.Proxy,
		Describe: func(*http.Request) (service, method string) { return "preflight", http.MethodHead },
	})
	if err != nil {
		return transport.Look{}, err
	}
	defer t.CloseIdleConnections()
	ctx, cancel := context.WithTimeout(context.Background(), lookTimeout)
	defer cancel()
	look, err := t.Look(ctx)
	if err != nil {
		return look, &platform.Error{Class: platform.ClassTransient, Err: platform.Foreign(err)}
	}
	return look, nil
}
