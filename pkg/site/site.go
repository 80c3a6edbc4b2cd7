// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package site resolves what operators, shoot owners and earlier reconciliations said about a shoot's sites into one list of
// sites. It does no I/O.
package site

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
)

// Site is one site of one shoot with everything that is known about it.
type Site struct {
	// Name is the name of the site.
	Name string
	// Platform is the site's platform.
	Platform v1alpha1.Platform
	// Shoot is the technical ID of the shoot; it owns all objects that are made for the shoot.
	Shoot string
	// Profile is the site in the CloudProfile, nil if the CloudProfile dropped it.
	Profile *v1alpha1.CloudProfileSite
	// MachineTypes are the machine types that the site has in the CloudProfile, by their names.
	MachineTypes map[string]*v1alpha1.SiteMachineType
	// Config is the site in the InfrastructureConfig, nil if the shoot no longer uses the site.
	Config *v1alpha1.InfrastructureSite
	// State is what earlier reconciliations left, nil if there was none.
	State *v1alpha1.SiteState
	// Credentials are the entries of the shoot's Secret for this site, without the site's prefix.
	Credentials Credentials
	// SSHPublicKey is the public key that the shoot's machines accept, empty if there is none.
	SSHPublicKey []byte
	// Network is the site's part of the node network. It is empty if Config is nil.
	Network Network
}

// ProfilePath returns the path of the site in the CloudProfile's provider configuration.
func (s *Site) ProfilePath() *field.Path {
	return field.NewPath("cloudProfileConfig", "sites").Key(s.Name)
}

// Removed reports whether the shoot no longer uses the site, so that what is left of it is to be deleted.
func (s *Site) Removed() bool {
	return s.Config == nil
}

// ZonePath returns the path of the zone in the CloudProfile.
func (s *Site) ZonePath(zone string) *field.Path {
	return s.ProfilePath().Child("zones").Key(zone)
}

// SecretPath returns the path of the site's entry with the key in the Secret.
func (s *Site) SecretPath(key string) *field.Path {
	return field.NewPath("secret", "data").Key(s.Name + "." + key)
}

// Network is a site's part of the node network.
type Network struct {
	// Topology is Stretched or Routed.
	Topology v1alpha1.Topology
	// Subnets are the ranges of the L2 network that the site's nodes are in, one per IP family: for Stretched the whole node
	// network, for Routed the site's own.
	Subnets []netip.Prefix
	// Nodes are the site's own ranges within Subnets.
	Nodes []netip.Prefix
	// Foreign are the ranges of the nodes of all other sites.
	Foreign []netip.Prefix
	// Pods are the shoot's pod ranges.
	Pods []netip.Prefix
	// Gateway is the default gateway of the site's nodes; invalid if none was given.
	Gateway netip.Addr
	// DNSServers are the resolvers of the site's nodes.
	DNSServers []string
	// MTU is the MTU of the node network in bytes, zero if unknown.
	MTU int32
}

// Credentials are the entries of a shoot's Secret for one site, without the site's prefix.
type Credentials map[string]string

// Check returns an error that names a key whose value is not text. It is called whenever credentials are used, because a Secret may change
// after its admission.
func (c Credentials) Check() error {
	for _, key := range slices.Sorted(maps.Keys(c)) {
		value := c[key]
		if key == "clientCertificate" || key == "clientKey" || key == "caCert" {
			value = strings.Join(strings.Fields(value), "")
		}
		if !utf8.ValidString(value) || strings.ContainsFunc(value, unicode.IsControl) {
			return fmt.Errorf("credentials: key %q must be text in UTF-8 without line breaks and other control characters", key)
		}
	}
	return nil
}

// MarshalJSON encodes credentials as bytes: as strings, different values that are not UTF-8 could be encoded alike.
func (c Credentials) MarshalJSON() ([]byte, error) {
	values := make(map[string][]byte, len(c))
	for key, value := range c {
		values[key] = []byte(value)
	}
	return json.Marshal(values)
}
