// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package metal_test

import (
	"net/netip"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/rand"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	metalclient "github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/metal/client"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/metal"
)

// kinds are the inventories that the platform's parts are shown with.
var kinds = []v1alpha1.MetalInventory{v1alpha1.MetalInventoryMetal3, v1alpha1.MetalInventoryIronCore}

// room is a zone with hosts that no other spec uses.
type room struct {
	kind v1alpha1.MetalInventory
	rack string
}

// newRoom makes a zone with hosts of a machine type. They can be claimed with any cleaning.
func newRoom(ctx SpecContext, kind v1alpha1.MetalInventory, hosts int) *room {
	GinkgoHelper()
	r := &room{kind: kind, rack: "rack-" + rand.String(5)}
	batch := metal.Batch{Prefix: r.rack, Count: hosts, Labels: map[string]string{rackLabel: r.rack, "size": "s"}, Retain: true}
	create := landscape.MakeHosts
	if kind == v1alpha1.MetalInventoryIronCore {
		create = landscape.MakeServers
	}
	names, err := create(ctx, batch)
	Expect(err).NotTo(HaveOccurred())
	Expect(names).To(HaveLen(hosts))
	if kind == v1alpha1.MetalInventoryIronCore {
		for _, name := range names {
			Eventually(ctx, server(ctx, name), soon).Should(HaveField("On", false))
		}
	}
	return r
}

func matching(key, value string) *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchLabels: map[string]string{key: value}}
}

// site is the site of a new shoot with the zone.
func (r *room) site(ctx SpecContext) *site.Site {
	GinkgoHelper()
	token, err := landscape.Token(ctx)
	Expect(err).NotTo(HaveOccurred())
	return &site.Site{
		Name: "racks", Platform: v1alpha1.PlatformMetal, Shoot: newShoot(), Credentials: token.SiteCredentials(),
		Profile: profile(r.kind, v1alpha1.SiteZone{Name: "rack-1", Metal: &v1alpha1.MetalZone{HostSelector: matching(rackLabel, r.rack)}}),
		MachineTypes: map[string]*v1alpha1.SiteMachineType{
			"small": {Name: "racks", Metal: &v1alpha1.MetalMachineType{HostSelector: matching("size", "s")}},
			"large": {Name: "racks", Metal: &v1alpha1.MetalMachineType{HostSelector: matching("size", "xl")}},
		},
		Config: &v1alpha1.InfrastructureSite{Name: "racks"},
		Network: site.Network{
			Nodes:   []netip.Prefix{netip.MustParsePrefix("10.250.128.0/18")},
			Gateway: netip.MustParseAddr("10.250.0.1"),
		},
	}
}

// newSessions are the sessions of a process that just started. They end with the spec.
func newSessions() *metalclient.Sessions {
	sessions := metalclient.NewSessions()
	DeferCleanup(sessions.Close)
	return sessions
}
