// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
)

// ConnectionOf returns the connection to a vSphere site of the CloudProfile, with the UUID of its vCenter if that is known.
func ConnectionOf(profile *v1alpha1.CloudProfileSite, instanceUUID string) v1alpha1.VSphereConnection {
	return v1alpha1.VSphereConnection{
		InstanceUUID:   instanceUUID,
		Server:         profile.VSphere.Server,
		TLS:            profile.TLS,
		Proxy:          profile.Proxy,
		RequestTimeout: profile.RequestTimeout,
	}
}

// ConnectionWithIPAM is like ConnectionOf, but also has the connection to the address pools if the shoot uses one, or has used one: its
// machines may still have addresses. Address claims stay in the namespace of the state.
func ConnectionWithIPAM(s *site.Site, instanceUUID string) v1alpha1.VSphereConnection {
	connection := ConnectionOf(s.Profile, instanceUUID)
	if s.State != nil && s.State.VSphere != nil {
		connection.IPAM = s.State.VSphere.Connection.IPAM
	}
	configured := IPAMOf(s)
	if configured != nil && (connection.IPAM == nil || connection.IPAM.Namespace == configured.Namespace) {
		connection.IPAM = configured
	}
	return connection
}

// IPAMOf returns the connection of the CloudProfile to the address pools, nil if the shoot neither uses nor has used one.
func IPAMOf(s *site.Site) *v1alpha1.VSphereIPAMConnection {
	used := s.Config != nil && s.Config.VSphere != nil && s.Config.VSphere.IPAM != nil ||
		s.State != nil && s.State.VSphere != nil && s.State.VSphere.Connection.IPAM != nil
	if profile := s.Profile.VSphere.IPAM; used && profile != nil {
		return &v1alpha1.VSphereIPAMConnection{Server: profile.Server, Namespace: profile.Namespace, TLS: profile.TLS}
	}
	return nil
}
