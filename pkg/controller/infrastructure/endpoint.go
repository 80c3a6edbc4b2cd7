// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package infrastructure

import (
	"context"
	"net/netip"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/validation"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/eventnote"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
)

// lookUpHost returns the addresses of a host.
type lookUpHost func(ctx context.Context, network, host string) ([]netip.Addr, error)

// reachable checks that the control plane of the shoot may connect to the site's API. The extension itself may connect to more networks, so
// that it does not notice otherwise. Only a site without objects is rejected: others are reported in an event.
func (t *siteAttempt) reachable(ctx context.Context) error {
	message := t.blocked(ctx)
	switch {
	case message == "":
		return nil
	case t.site.State == nil:
		return platform.NewError(platform.ClassConfiguration, "%s: %s", t.request.Path.Child("name"), message)
	default:
		t.events.Warning(t.infra, reasonSiteWarning, eventnote.OnSite(actionLookUp, t.site.Name), "site %q: %s", t.site.Name, message)
		return nil
	}
}

// blocked returns why the control plane cannot reach the site's API, empty if it can or if that is not known. A host with several addresses
// is reachable if one of them is.
func (t *siteAttempt) blocked(ctx context.Context) string {
	if t.site.Profile == nil {
		return ""
	}
	contact, ok := validation.ContactOf(t.site.Profile)
	if !ok {
		return ""
	}
	var networking *gardencorev1beta1.Networking
	if shoot := t.result.cluster.Shoot; shoot != nil {
		networking = shoot.Spec.Networking
	}
	var (
		message  string
		networks = validation.ShootNetworks(t.result.config, networking)
	)
	for _, addr := range t.addresses(ctx, contact) {
		network, blocked := validation.BlockedAt(addr, networks)
		if !blocked {
			return ""
		}
		message = validation.BlockedMessage(contact, addr, network)
	}
	return message
}

// addresses returns the addresses of the contact. Names that cannot be resolved have none; requests to the site report that.
func (t *siteAttempt) addresses(ctx context.Context, contact validation.Contact) []netip.Addr {
	if addr, ok := contact.Addr(); ok {
		return []netip.Addr{addr}
	}
	if t.lookUpHost == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, hostTimeout)
	defer cancel()
	addresses, err := t.lookUpHost(ctx, "ip", contact.Host)
	if err != nil {
		t.log.V(1).Info("Host of site cannot be resolved", "site", t.site.Name, "error", err.Error())
		return nil
	}
	return addresses
}
