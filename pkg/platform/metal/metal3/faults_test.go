// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package metal3

import (
	metal3v1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/kubernetes/owner"
)

var _ = Describe("Faults", func() {
	It("should be those of hosts that are machines of the shoots on the site", func(ctx SpecContext) {
		faulty := func(host *metal3v1alpha1.BareMetalHost) {
			host.Status.ErrorType, host.Status.ErrorMessage = metal3v1alpha1.PowerManagementError, "no answer"
		}
		claimedBy := func(o owner.Owner, machine string) func(*metal3v1alpha1.BareMetalHost) {
			return func(host *metal3v1alpha1.BareMetalHost) {
				host.Labels, host.Spec.ConsumerRef = o.MachineLabels(machine), new(o.Reference(machine))
			}
		}
		other := owner.Owner{Shoot: "shoot--p--other", Site: shoot.Site}
		stranger := owner.Owner{Shoot: "shoot--p--stranger", Site: shoot.Site}
		elsewhere := owner.Owner{Shoot: shoot.Shoot, Site: "elsewhere"}
		i, _ := newInventory(ctx,
			newHost("a", claimedBy(shoot, "m-a"), faulty), newHost("b", claimedBy(shoot, "m-b")), newHost("c", faulty),
			newHost("d", claimedBy(other, "m-d"), faulty), newHost("e", claimedBy(stranger, "m-e"), faulty), newHost("f",
				claimedBy(elsewhere, "m-f"), faulty),
			newHost("g", claimedBy(shoot, "m-g"), faulty, annotate(metal3v1alpha1.PausedAnnotation)),
			newHost("h", claimedBy(shoot, "m-h"), faulty, func(host *metal3v1alpha1.BareMetalHost) { host.Spec.ConsumerRef.Name = "another" }),
		)
		Expect(i.Faults(ctx, []string{shoot.Shoot, other.Shoot})).To(ConsistOf(
			platform.Fault{Shoot: shoot.Shoot, Machine: "m-a", Host: "a", Message: "power management error: no answer"},
			platform.Fault{Shoot: other.Shoot, Machine: "m-d", Host: "d", Message: "power management error: no answer"},
		))
		Expect(i.Faults(ctx, []string{"shoot--p--none"})).To(BeEmpty())
		_, err := i.Faults(ctx, []string{"no label"})
		Expect(platform.ClassOf(err)).To(Equal(platform.ClassConfiguration))
	})
})
