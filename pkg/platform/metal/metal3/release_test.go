// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package metal3

import (
	"encoding/json"

	metal3v1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/metal/owner"
)

// run makes the host one that is on.
func run(host *metal3v1alpha1.BareMetalHost) {
	host.Spec.Online = true
	host.Spec.AutomatedCleaningMode = metal3v1alpha1.CleaningModeMetadata
}

// stayOn makes the host one that is never switched off.
func stayOn(host *metal3v1alpha1.BareMetalHost) {
	host.Spec.DisablePowerOff = true
	host.Status.PoweredOn = true
}

// relabel takes from the host what the claim wrote beside its consumer.
func relabel(host *metal3v1alpha1.BareMetalHost) {
	host.Labels, host.Annotations = map[string]string{"rack": "r1"}, nil
}

var _ = Describe("Release", func() {
	DescribeTable("should take from a host what it was, and switch it off if that is possible",
		func(online string, changes ...func(*metal3v1alpha1.BareMetalHost)) {
			host := newHost("h", append([]func(*metal3v1alpha1.BareMetalHost){claim, run}, changes...)...)
			Expect(isWanted(host, "metadata")).To(BeTrue())
			patch, err := json.Marshal(newDeprovisionPatch(host, "metadata"))
			Expect(err).NotTo(HaveOccurred())
			Expect(patch).To(MatchJSON(`{
				"metadata": {"resourceVersion": "7"},
				"spec": {"image": null, "userData": null, "metaData": null, "networkData": null, "automatedCleaningMode": "metadata", "online": ` + online + `}
			}`))
			Expect(json.Unmarshal(patch, host)).To(Succeed())
			Expect(isWanted(host, "metadata")).To(BeFalse())
			Expect(isWanted(host, "disabled")).To(BeTrue())
			Expect(isReleasable(host)).To(BeTrue())
		},
		Entry("that can be switched off", "false"),
		Entry("that stays on", "true", stayOn),
	)

	DescribeTable("should free the host of a machine",
		func(ctx SpecContext, changes ...func(*metal3v1alpha1.BareMetalHost)) {
			host := newHost("h", append([]func(*metal3v1alpha1.BareMetalHost){claim, run}, changes...)...)
			i, hosts := newInventory(ctx, newHost("other"), host)
			Expect(i.Find(ctx, "m")).To(HaveField("Name", "h"))
			Expect(i.Find(ctx, "n")).To(BeNil())

			Expect(i.Release(ctx, "m", "metadata")).To(Succeed())
			Expect(hosts.Get(ctx, client.ObjectKeyFromObject(host), host)).To(Succeed())
			Expect(host.Spec.ConsumerRef).To(BeNil())
			Expect(host.Spec.Image).To(BeNil())
			Expect(host.Spec.Online).To(Equal(host.Spec.DisablePowerOff))
			Expect(host.Labels).NotTo(HaveKey(owner.LabelMachine))
			Expect(i.Find(ctx, "m")).To(BeNil())
		},
		Entry("as it was claimed"),
		Entry("that stays on", stayOn),
		Entry("whose labels somebody replaced", relabel),
	)
})
