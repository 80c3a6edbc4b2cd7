// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package dns names the DNS services that DNSRecords can have.
package dns

import (
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/dns"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/dns/rfc2136"
	openstackclient "github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/client"
	openstack "github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/dns"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/transport"
)

// New returns the DNS services by the types of their DNSRecords. The guard opens the connections to those that a tenant named.
func New(guard *transport.Guard) dns.Registry {
	return dns.Registry{
		v1alpha1.DNSTypeDesignate: openstack.New(openstackclient.Shared(), guard),
		v1alpha1.DNSTypeRFC2136:   rfc2136.New(guard),
	}
}
