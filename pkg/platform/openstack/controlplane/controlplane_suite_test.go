// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"testing"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
)

func TestControlPlane(t *testing.T) {
	RegisterFailHandler(Fail)
	RunSpecs(t, "Platform OpenStack ControlPlane Suite")
}

const shootID = "shoot--local--hybrid"

// newSite returns a site with two zones in one availability zone and one in another.
func newSite(name string) platform.ControlPlaneSite {
	return platform.ControlPlaneSite{
		Site: &site.Site{
			Name:  name,
			Shoot: shootID,
			Profile: &v1alpha1.CloudProfileSite{
				Name: name,
				OpenStack: &v1alpha1.OpenStackProfile{
					AuthURL: "https://" + name + ".example.com/v3",
					Region:  "RegionOne",
					FloatingPools: []v1alpha1.OpenStackFloatingPool{
						{Name: "other", LoadBalancerClasses: []v1alpha1.OpenStackLoadBalancerClass{{Name: "of-other"}}},
						{Name: "public", LoadBalancerClasses: []v1alpha1.OpenStackLoadBalancerClass{{Name: "of-public", FloatingNetworkID: "own-network"}}},
					},
				},
				StorageClasses: []v1alpha1.StorageClass{
					{Name: name + "-hdd", OpenStack: &v1alpha1.OpenStackStorageClass{}},
					{Name: name + "-ssd", OpenStack: &v1alpha1.OpenStackStorageClass{Type: "ceph-ssd", AvailabilityZone: "cinder-az"}},
				},
				Zones: []v1alpha1.SiteZone{
					{Name: name + "-b", OpenStack: &v1alpha1.OpenStackZone{AvailabilityZone: "nova2"}},
					{Name: name + "-a", OpenStack: &v1alpha1.OpenStackZone{AvailabilityZone: "nova"}},
					{Name: name + "-c", OpenStack: &v1alpha1.OpenStackZone{AvailabilityZone: "nova"}},
				},
			},
			Config: &v1alpha1.InfrastructureSite{Name: name, OpenStack: &v1alpha1.OpenStackInfrastructure{FloatingPoolName: "public"}},
			Credentials: site.Credentials{
				"domainName": "Default", "tenantName": "project", "username": "user", "password": "secret",
			},
		},
		Status: &v1alpha1.SiteStatus{Name: name,
			OpenStack: &v1alpha1.OpenStackStatus{SubnetID: "nodes", FloatingNetworkID: "network", FloatingSubnetID: "subnet"}},
	}
}
