// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"fmt"
	"net/netip"

	"github.com/spf13/pflag"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/transport"
)

// dnsOptions say which hosts the Secrets of DNS services may name.
type dnsOptions struct {
	allowed, refused []string
	guard            transport.Guard
}

// AddFlags implements Flagger.
func (o *dnsOptions) AddFlags(flags *pflag.FlagSet) {
	flags.StringSliceVar(&o.allowed, "allowed-networks", nil,
		"Networks that are not public in which hosts may be that Secrets of DNS services name.")
	flags.StringSliceVar(&o.refused, "refused-networks", nil, "Further networks in which hosts must not be that Secrets of DNS services name.")
	flags.BoolVar(&o.guard.PlainHTTP, "allow-http", false, "Whether hosts in the allowed networks may be used without TLS.")
}

// Complete implements Completer.
func (o *dnsOptions) Complete() (err error) {
	if o.guard.Allowed, err = parseNetworks("dns-allowed-networks", o.allowed); err == nil {
		o.guard.Refused, err = parseNetworks("dns-refused-networks", o.refused)
	}
	return err
}

func parseNetworks(flag string, texts []string) ([]netip.Prefix, error) {
	var networks []netip.Prefix
	for _, text := range texts {
		network, err := netip.ParsePrefix(text)
		if err != nil || network != network.Masked() || network.Addr().Is4In6() {
			return nil, fmt.Errorf("--%s: %q is no network", flag, text)
		}
		networks = append(networks, network)
	}
	return networks, nil
}
