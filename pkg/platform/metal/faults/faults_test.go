// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/metal/client"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/metal/inventory"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/metal/owner"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
)

// script is an inventory that tells of hosts step by step and then fails.
type script struct {
	inventory.Inventory
	steps [][]inventory.Host
	err   error
}

func (s *script) Watch(_ context.Context, changed func([]inventory.Host)) error {
	for _, hosts := range s.steps {
		changed(hosts)
	}
	return s.err
}

var _ = Describe("Faults", func() {
	var (
		sessions *client.Sessions
		racks    *site.Site
		told     [][]platform.Fault
		watch    = func(ctx context.Context, s *script) error {
			told = nil
			part := New(sessions, func(_ *client.Session, kind v1alpha1.MetalInventory, options inventory.Options) (inventory.Inventory, error) {
				Expect(kind).To(Equal(v1alpha1.MetalInventoryMetal3))
				Expect(options).To(Equal(inventory.Options{Owner: owner.Owner{Shoot: "shoot--p--s", Site: "racks"}}))
				return s, nil
			})
			return part.Watch(ctx, racks, func(faults []platform.Fault) { told = append(told, faults) })
		}
	)

	BeforeEach(func() {
		sessions = client.NewSessions()
		DeferCleanup(sessions.Close)
		racks = &site.Site{
			Name: "racks", Shoot: "shoot--p--s", Credentials: site.Credentials{"token": "t0p-s3cret"},
			Profile: &v1alpha1.CloudProfileSite{Metal: &v1alpha1.MetalProfile{Inventory: v1alpha1.MetalInventoryMetal3, Server: "https://127.0.0.1:1", Namespace: "hosts"}},
		}
	})

	It("should be those of machines, told when they change", func(ctx SpecContext) {
		host := func(name, machine, fault string) inventory.Host {
			return inventory.Host{Name: name, Machine: machine, Fault: fault}
		}
		Expect(watch(ctx, &script{steps: [][]inventory.Host{
			{host("rack-07", "b", ""), host("rack-08", "a", "")},
			{host("rack-07", "b", ""), host("rack-08", "a", ""), host("rack-09", "", "no power")},
			{host("rack-07", "b", "no disk"), host("rack-08", "a", "no power")},
			{host("rack-08", "a", "no power"), host("rack-07", "b", "no disk")},
			{host("rack-07", "b", "no power"), host("rack-08", "a", "no power")},
			{},
		}})).To(Succeed())
		Expect(told).To(Equal([][]platform.Fault{
			nil,
			{{Machine: "a", Host: "rack-08", Message: "no power"}, {Machine: "b", Host: "rack-07", Message: "no disk"}},
			{{Machine: "a", Host: "rack-08", Message: "no power"}, {Machine: "b", Host: "rack-07", Message: "no power"}},
			nil,
		}))
	})

	It("should keep the class of what is wrong with a watch, and name the site", func(ctx SpecContext) {
		err := watch(ctx, &script{err: platform.NewError(platform.ClassForbidden, "the credentials may not watch baremetalhosts")})
		Expect(err).To(MatchError(`site "racks": the credentials may not watch baremetalhosts`))
		Expect(platform.ClassOf(err)).To(Equal(platform.ClassForbidden))
	})

	It("should not be watched with incomplete credentials", func(ctx SpecContext) {
		racks.Credentials = nil
		err := watch(ctx, &script{})
		Expect(err).To(MatchError(HavePrefix(`site "racks": credentials: key "clientCertificate" is missing`)))
		Expect(platform.ClassOf(err)).To(Equal(platform.ClassConfiguration))
	})
})
