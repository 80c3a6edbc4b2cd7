// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package controlplane_test

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
	RunSpecs(t, "vSphere ControlPlane Suite")
}

// east and west are sites at two vCenters.
func east() platform.ControlPlaneSite {
	return newSite("east", "https://vc-east.example.com", "east-1", "east-2")
}

func west() platform.ControlPlaneSite {
	return newSite("west", "https://vc-west.example.com:8443/sdk", "west-1")
}

// newSite returns a site with a certificate, a default storage class and a cluster for each zone, whose tag is its name.
func newSite(name, server string, zones ...string) platform.ControlPlaneSite {
	profile := &v1alpha1.CloudProfileSite{
		Name:   name,
		Region: "europe",
		TLS:    &v1alpha1.TLS{CACert: "-----BEGIN CERTIFICATE-----\n" + name + "\n-----END CERTIFICATE-----\n"},
		VSphere: &v1alpha1.VSphereProfile{
			Server:     server,
			Datacenter: "dc-" + name,
			Topology:   &v1alpha1.VSphereTopology{RegionCategory: "k8s-region", ZoneCategory: "k8s-zone"},
		},
		StorageClasses: []v1alpha1.StorageClass{
			{Name: name + "-gold", Default: true, VSphere: &v1alpha1.VSphereStorageClass{StoragePolicy: "Gold of " + name}},
		},
	}
	status := &v1alpha1.VSphereStatus{OwnerTagID: "urn:tag"}
	for _, zone := range zones {
		profile.Zones = append(profile.Zones,
			v1alpha1.SiteZone{Name: zone, VSphere: &v1alpha1.VSphereZone{ComputeCluster: "c-" + zone, TopologyTag: zone}})
		status.Zones = append(status.Zones,
			v1alpha1.VSphereZoneStatus{Name: zone, Datacenter: "datacenter-2", ComputeCluster: "domain-" + zone, ResourcePool: "resgroup-" + zone,
				Folder: "group-v1"})
	}
	return platform.ControlPlaneSite{
		Site: &site.Site{
			Name:        name,
			Platform:    v1alpha1.PlatformVSphere,
			Shoot:       "shoot--demo--hybrid",
			Profile:     profile,
			Credentials: site.Credentials{"username": "k8s-" + name + "@vsphere.local", "password": "secret-" + name},
		},
		Status: &v1alpha1.SiteStatus{Name: name, VSphere: status},
	}
}

// with returns the site after the change.
func with(s platform.ControlPlaneSite, change func(*platform.ControlPlaneSite)) platform.ControlPlaneSite {
	change(&s)
	return s
}

// vsphere changes the site in the CloudProfile.
func vsphere(s platform.ControlPlaneSite, change func(*v1alpha1.CloudProfileSite)) platform.ControlPlaneSite {
	change(s.Site.Profile)
	return s
}
