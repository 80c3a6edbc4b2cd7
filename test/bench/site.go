// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/openstack"
)

const (
	siteName   = "cloud"
	poolName   = "bench"
	flavorName = "m1.small"
	imageName  = "gardenlinux"
)

// sshPublicKey is a key that nobody has the private part of.
const sshPublicKey = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ6rTGQzUbvFOdK0fEvhOE3uJBVBnN1ZKsiWXAtKhVDp bench"

// newSite resolves a site with a network of its own, as a shoot with this one site has.
func newSite(shoot, authURL string, credentials openstack.Credentials) (*site.Site, error) {
	secret := map[string][]byte{}
	for key, value := range credentials.SiteCredentials() {
		secret[siteName+"."+key] = []byte(value)
	}
	sites, err := site.Resolve(site.Input{
		Shoot: shoot,
		Profile: &v1alpha1.CloudProfileConfig{Sites: []v1alpha1.CloudProfileSite{{
			Name:       siteName,
			Region:     "west",
			DNSServers: []string{"192.0.2.53"},
			OpenStack: &v1alpha1.OpenStackProfile{
				AuthURL:       authURL,
				Region:        credentials.Region,
				FloatingPools: []v1alpha1.OpenStackFloatingPool{{Name: "public"}},
			},
			Zones: []v1alpha1.SiteZone{{Name: "cloud-a", OpenStack: &v1alpha1.OpenStackZone{AvailabilityZone: "az1"}}},
		}}},
		Config: &v1alpha1.InfrastructureConfig{
			Networks: v1alpha1.Networks{Topology: v1alpha1.TopologyRouted},
			Sites: []v1alpha1.InfrastructureSite{{
				Name:      siteName,
				Nodes:     []string{"10.250.0.0/18"},
				OpenStack: &v1alpha1.OpenStackInfrastructure{FloatingPoolName: "public"},
			}},
		},
		Secret: secret,
	})
	if err != nil {
		return nil, err
	}
	s := site.Find(sites, siteName)
	if s == nil {
		return nil, fmt.Errorf("site %q was not resolved", siteName)
	}
	s.SSHPublicKey = []byte(sshPublicKey)
	return s, nil
}
