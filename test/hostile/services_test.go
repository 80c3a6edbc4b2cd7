// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package hostile

import (
	"net/netip"
	"strings"

	cinderdriver "k8s.io/cloud-provider-openstack/pkg/csi/cinder"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	drivers "github.com/gardener/gardener-extension-provider-hybrid/pkg/csi"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/csi/cinder"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/dns"
	openstackclient "github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/client"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/registry/extension"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/transport"
	vsphereclient "github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/vsphere/client"
)

// What is here is how our code is put together, which is not the same in all of its versions.

// dnsServices are the DNS services, which may be on loopback here.
func dnsServices() dns.Registry {
	return extension.DNS(&transport.Guard{Allowed: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}})
}

// cinderController is the controller of the CSI driver with the configuration in the file.
func cinderController(s *subject, file string) *cinder.Controller {
	return cinder.NewController(cinderdriver.NewDriver(&cinderdriver.DriverOpts{WithTopology: true, ClusterID: s.Shoot}),
		drivers.NewClouds([]string{file}, openstackclient.Shared(), cinder.Connect), s.Shoot)
}

// vSphereConnection is how the site is reached.
func vSphereConnection(s *subject) v1alpha1.VSphereConnection {
	return vsphereclient.ConnectionOf(s.site().Profile, "")
}

// quoted is the text as a value in the configuration of the CSI driver.
func quoted(text string) string {
	return "\"" + strings.NewReplacer("\\", "\\\\", "\"", "\\\"", "\n", "\\n").Replace(text) + "\""
}
