// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package metal3

import (
	"encoding/json"

	metal3v1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/kubernetes/owner"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/metal/inventory"
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
			Expect(isWanted(host, "m", "metadata")).To(BeTrue())
			patch, err := json.Marshal(newDeprovisionPatch(host, "m", "metadata"))
			Expect(err).NotTo(HaveOccurred())
			Expect(patch).To(MatchJSON(`{
				"metadata": {"resourceVersion": "7"},
				"spec": {"image": null, "userData": null, "metaData": null, "networkData": null, "automatedCleaningMode": "metadata",
					"online": ` + online + `}
			}`))
			Expect(json.Unmarshal(patch, host)).To(Succeed())
			Expect(isWanted(host, "m", "metadata")).To(BeFalse())
			Expect(isWanted(host, "m", "disabled")).To(BeTrue())
			Expect(isReleasable(host)).To(BeTrue())
		},
		Entry("that can be switched off", "false"),
		Entry("that stays on", "true", stayOn),
	)

	DescribeTable("should free the host of a machine",
		func(ctx SpecContext, changes ...func(*metal3v1alpha1.BareMetalHost)) {
			host := newHost("h", append([]func(*metal3v1alpha1.BareMetalHost){claim, run}, changes...)...)
			i, hosts := newInventory(ctx, newHost("other"), host)
			Expect(i.Find(ctx, "m", "")).To(HaveField("Name", "h"))
			Expect(i.Find(ctx, "n", "")).To(BeNil())

			Expect(i.Release(ctx, "m", "", "metadata")).To(BeFalse())
			Expect(hosts.Get(ctx, client.ObjectKeyFromObject(host), host)).To(Succeed())
			Expect(host.Spec.ConsumerRef).To(BeNil())
			Expect(host.Spec.Image).To(BeNil())
			Expect(host.Spec.Online).To(Equal(host.Spec.DisablePowerOff))
			Expect(host.Labels).NotTo(HaveKey(owner.LabelMachine))
			Expect(i.Find(ctx, "m", "")).To(BeNil())
		},
		Entry("as it was claimed"),
		Entry("that stays on", stayOn),
		Entry("whose labels somebody replaced", relabel),
	)

	DescribeTable("should give back the network data that the operator wrote",
		func(ctx SpecContext, operators *corev1.SecretReference, template, expected string) {
			host := newHost("h", func(h *metal3v1alpha1.BareMetalHost) { h.Spec.NetworkData = operators })
			i, hosts := newInventory(ctx, host)
			Expect(hosts.Get(ctx, client.ObjectKeyFromObject(host), host)).To(Succeed())
			request := &inventory.Claim{Machine: "m", Selection: inventory.Selection{Cleaning: "metadata"}}
			change := func(patch any) {
				raw, err := json.Marshal(patch)
				Expect(err).NotTo(HaveOccurred())
				Expect(hosts.Patch(ctx, host, client.RawPatch(types.MergePatchType, raw))).To(Succeed())
			}
			change(claimPatch(host, shoot, request, inventory.Data{NetworkData: []byte(template)}))
			Expect(host.Spec.NetworkData).To(Equal(&corev1.SecretReference{Namespace: "hosts", Name: expected}))
			change(claimPatch(host, shoot, request, inventory.Data{NetworkData: []byte(template)}))

			Expect(i.Release(ctx, "m", "", "metadata")).To(BeFalse())
			Expect(hosts.Get(ctx, client.ObjectKeyFromObject(host), host)).To(Succeed())
			Expect(host.Spec.NetworkData).To(Equal(operators))
			Expect(host.Annotations).NotTo(HaveKey(owner.AnnotationNetworkData))
		},
		Entry("if the site has no template", &corev1.SecretReference{Namespace: "hosts", Name: "operators"}, "", "operators"),
		Entry("if the site has a template", &corev1.SecretReference{Namespace: "hosts", Name: "operators"}, "t", "m"),
		Entry("if there was none", nil, "t", "m"),
	)

	It("should leave a host whose consumer was taken away and that its operator has given an image since", func(ctx SpecContext) {
		host := newHost("h", claim, run, func(h *metal3v1alpha1.BareMetalHost) {
			h.Spec.ConsumerRef, h.Spec.UserData = nil, nil
			h.Spec.Image.URL = "http://operators"
		})
		i, hosts := newInventory(ctx, host)
		Expect(hosts.Get(ctx, client.ObjectKeyFromObject(host), host)).To(Succeed())
		before := host.DeepCopy()
		Expect(i.Find(ctx, "m", "")).To(BeNil())
		Expect(i.Machines(ctx)).To(BeEmpty())
		Expect(i.Release(ctx, "m", "metal3://hosts/h/m", "metadata")).To(BeFalse())
		Expect(hosts.Get(ctx, client.ObjectKeyFromObject(host), host)).To(Succeed())
		Expect(host).To(Equal(before))
	})
})

// twin makes the host a copy of another one: whoever copies a manifest copies labels and consumer, too.
func twin(host *metal3v1alpha1.BareMetalHost) {
	claim(host)
	run(host)
}

var _ = Describe("Two hosts that are the same machine", func() {
	DescribeTable("should leave the one that the provider ID does not name",
		func(ctx SpecContext, changes ...func(*metal3v1alpha1.BareMetalHost)) {
			a, b := newHost("a", twin), newHost("b", append([]func(*metal3v1alpha1.BareMetalHost){twin}, changes...)...)
			i, hosts := newInventory(ctx, a, b)
			before := a.DeepCopy()
			Expect(hosts.Get(ctx, client.ObjectKeyFromObject(a), before)).To(Succeed())

			Expect(i.Release(ctx, "m", "metal3://hosts/b/m", "metadata")).To(BeTrue(), "the other one needs the Secret and the address")
			Expect(hosts.Get(ctx, client.ObjectKeyFromObject(a), a)).To(Succeed())
			Expect(a).To(Equal(before))
			Expect(hosts.Get(ctx, client.ObjectKeyFromObject(b), b)).To(Succeed())
			Expect(b.Spec.ConsumerRef).To(BeNil())

			Expect(i.Release(ctx, "m", "metal3://hosts/a/m", "metadata")).To(BeFalse())
		},
		Entry("as it was copied"),
		Entry("with other labels", relabel),
	)

	It("should be left without a provider ID, as nobody knows which one is meant", func(ctx SpecContext) {
		i, hosts := newInventory(ctx, newHost("a", twin), newHost("b", twin))
		for _, err := range []error{
			second(i.Release(ctx, "m", "", "metadata")),
			second(i.Find(ctx, "m", "")),
			second(i.Claim(ctx, inventory.Claim{Machine: "m"})),
		} {
			Expect(platform.ClassOf(err)).To(Equal(platform.ClassConflict))
			Expect(err).To(MatchError(And(ContainSubstring(`"a"`), ContainSubstring(`"b"`))))
		}
		list := &metal3v1alpha1.BareMetalHostList{}
		Expect(hosts.List(ctx, list)).To(Succeed())
		Expect(list.Items).To(HaveEach(HaveField("Spec.ConsumerRef", Not(BeNil()))))
	})
})

// second is the error of a call.
func second[T any](_ T, err error) error { return err }
