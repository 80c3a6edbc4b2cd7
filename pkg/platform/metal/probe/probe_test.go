// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"context"
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/kubernetes"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/kubernetes/owner"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/metal/client"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/metal/inventory"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
)

// faulty is an inventory that tells of faults.
type faulty struct {
	inventory.Inventory
	faults []platform.Fault
	err    error
	asked  [][]string
}

func (f *faulty) Faults(_ context.Context, shoots []string) ([]platform.Fault, error) {
	f.asked = append(f.asked, shoots)
	return f.faults, f.err
}

var _ = Describe("Probe", func() {
	var (
		sessions *client.Sessions
		racks    *site.Site
		shoots   = []string{"shoot--p--s", "shoot--p--t"}
		probe    = func(ctx context.Context, f *faulty, shoots []string) (platform.Observation, error) {
			part := New(sessions, func(_ *kubernetes.Session, kind v1alpha1.MetalInventory, options inventory.Options) (inventory.Inventory, error) {
				Expect(kind).To(Equal(v1alpha1.MetalInventoryMetal3))
				Expect(options).To(Equal(inventory.Options{Owner: owner.Owner{Site: "racks"}}))
				return f, nil
			})
			return part.Probe(ctx, racks, shoots)
		}
	)

	BeforeEach(func() {
		sessions = client.NewSessions()
		DeferCleanup(sessions.Close)
		racks = &site.Site{
			Name: "racks", Shoot: "shoot--p--s", Credentials: site.Credentials{"token": "t0p-s3cret"},
			Profile: &v1alpha1.CloudProfileSite{Metal: &v1alpha1.MetalProfile{Inventory: v1alpha1.MetalInventoryMetal3,
				Server: "https://127.0.0.1:1", Namespace: "hosts"}},
		}
	})

	It("should have the faults in order", func(ctx SpecContext) {
		a := platform.Fault{Shoot: "shoot--p--s", Machine: "a", Host: "rack-08", Message: "no power"}
		b := platform.Fault{Shoot: "shoot--p--s", Machine: "b", Host: "rack-07", Message: "no disk"}
		c := platform.Fault{Shoot: "shoot--p--t", Machine: "a", Host: "rack-01", Message: "no disk"}
		inventory := &faulty{faults: []platform.Fault{c, b, a}}
		Expect(probe(ctx, inventory, shoots)).To(Equal(platform.Observation{Faults: []platform.Fault{a, b, c}}))
		Expect(inventory.asked).To(Equal([][]string{shoots}))
	})

	It("should ask for many shoots in several requests", func(ctx SpecContext) {
		inventory, many := &faulty{}, make([]string, 2*shootsPerList+1)
		for i := range many {
			many[i] = fmt.Sprint(i)
		}
		Expect(probe(ctx, inventory, many)).To(Equal(platform.Observation{}))
		Expect(inventory.asked).To(HaveExactElements(HaveLen(shootsPerList), HaveLen(shootsPerList), HaveLen(1)))
	})

	It("should keep the class of what is wrong with the inventory, and name the site", func(ctx SpecContext) {
		_, err := probe(ctx, &faulty{err: platform.NewError(platform.ClassForbidden, "the credentials may not list baremetalhosts")}, shoots)
		Expect(err).To(MatchError(`site "racks": the credentials may not list baremetalhosts`))
		Expect(platform.ClassOf(err)).To(Equal(platform.ClassForbidden))
	})

	It("should not be possible with incomplete credentials", func(ctx SpecContext) {
		racks.Credentials = nil
		_, err := probe(ctx, &faulty{}, shoots)
		Expect(err).To(MatchError(HavePrefix(`site "racks": credentials: key "clientCertificate" is missing`)))
		Expect(platform.ClassOf(err)).To(Equal(platform.ClassConfiguration))
	})
})
