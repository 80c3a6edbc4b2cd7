// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package discovery lists the hosts of the inventories of bare-metal sites.
package discovery

import (
	"cmp"
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/kubernetes/owner"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/metal/client"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/metal/inventory"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
)

type discovery struct {
	sessions *client.Sessions
	open     inventory.Opener
}

// New returns the Discovery part of the bare-metal platform.
func New(sessions *client.Sessions, open inventory.Opener) platform.Discovery {
	return &discovery{sessions: sessions, open: open}
}

// Discover implements platform.Discovery. An inventory has hosts and nothing else: zones and machine types are groups of hosts that a label
// distinguishes.
func (d *discovery) Discover(ctx context.Context, s *site.Site) (offer platform.Offer, err error) {
	defer platform.NameSite(s.Name, &err)
	if s.Profile == nil || s.Profile.Metal == nil {
		return offer, platform.NewError(platform.ClassConfiguration, "the CloudProfile no longer has a bare-metal site of this name")
	}
	_, hosts, err := d.open.Open(ctx, d.sessions, inventory.Request{
		Options: inventory.Options{Owner: owner.Owner{Site: s.Name}}, Connection: client.ConnectionOf(s.Profile), Credentials: s.Credentials,
	})
	if err != nil {
		return offer, err
	}
	cleaning := cmp.Or(s.Profile.Metal.Cleaning, v1alpha1.MetalCleaningMetadata)
	found, err := platform.Collect(ctx, platform.Listing{
		Kinds: []platform.ObjectKind{platform.KindHosts},
		List: func(ctx context.Context, offer *platform.Offer) error {
			surveyed, err := hosts.Survey(ctx, cleaning)
			if err == nil {
				offerHosts(s.Name, surveyed, offer)
			}
			return err
		},
	})
	if err != nil {
		return offer, err
	}
	found.Omit(platform.KindImage, "all", "an inventory has no images; add them to machineImages with their URLs")
	found.Profile = s.Profile.DeepCopy()
	return found, nil
}

// References implements platform.Discovery.
func (d *discovery) References(part platform.ProfilePart) []platform.Reference {
	switch {
	case part.Zone != nil && part.Zone.Metal != nil:
		return selected(part.Zone.Metal.HostSelector)
	case part.MachineType != nil && part.MachineType.Metal != nil:
		return selected(part.MachineType.Metal.HostSelector)
	default:
		return nil
	}
}

// selected returns the reference to the hosts that the selector selects, which are all without one. Selectors that are invalid are found by
// the validation of the CloudProfile.
func selected(selector *metav1.LabelSelector) []platform.Reference {
	if selector == nil {
		selector = &metav1.LabelSelector{}
	}
	parsed, err := metav1.LabelSelectorAsSelector(selector)
	if err != nil {
		return nil
	}
	return []platform.Reference{{Kinds: []platform.ObjectKind{platform.KindHosts}, Field: "metal.hostSelector", Selector: parsed,
		Name: metav1.FormatLabelSelector(selector)}}
}
