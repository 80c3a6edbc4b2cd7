// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package metal_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/metal/inventories"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/metal/machineclasses"
)

var _ = Describe("MachineClasses", func() {
	for _, kind := range kinds {
		Context(string(kind), Ordered, ContinueOnFailure, func() {
			var (
				r       *room
				request platform.MachineClassRequest
				platf   platform.MachineClasses
			)

			BeforeAll(func(ctx SpecContext) { r = newRoom(ctx, kind, 2) })

			BeforeEach(func(ctx SpecContext) {
				s := r.site(ctx)
				platf = machineclasses.New(newSessions(), inventories.Open)
				request = platform.MachineClassRequest{
					Site: s, Zone: &s.Profile.Zones[0], MachineType: s.MachineTypes["small"], Pool: "batch", Minimum: 2,
					Image: &v1alpha1.SiteMachineImage{Metal: &v1alpha1.MetalImage{URL: "registry.example.com/os:1"}},
				}
			})

			It("should refuse a rolling update that would wait for a host for ever, and no other", func(ctx SpecContext) {
				spec := &v1alpha1.MachineProviderSpec{}
				request.Rolling = &platform.Rolling{MaxSurge: intstr.FromInt(1), MaxUnavailable: intstr.FromInt(0)}
				err := platf.Resolve(ctx, request, spec)
				Expect(err).To(MatchError(And(HavePrefix(`site "racks": pool "batch" cannot be rolled in zone "rack-1"`),
					ContainSubstring(`only 2 hosts match "rack=`+r.rack+`,size=s"`))))
				Expect(platform.ClassOf(err)).To(Equal(platform.ClassConfiguration))
				Expect(spec.Metal).To(BeNil())

				request.Minimum = 1
				Expect(platf.Resolve(ctx, request, spec)).To(Succeed())
				Expect(spec.Metal.HostSelector.MatchLabels).To(Equal(map[string]string{rackLabel: r.rack, "size": "s"}))
			})

			It("should fail with the class of the problem if the inventory cannot be asked", func(ctx SpecContext) {
				DeferCleanup(func(ctx SpecContext) { Expect(landscape.Grant(ctx)).To(Succeed()) })
				Expect(landscape.Revoke(ctx)).To(Succeed())
				err := platf.Resolve(ctx, request, &v1alpha1.MachineProviderSpec{})
				Expect(platform.ClassOf(err)).To(Equal(platform.ClassForbidden), "%v", err)
			})
		})
	}
})
