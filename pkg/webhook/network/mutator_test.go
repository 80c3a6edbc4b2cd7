// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package network_test

import (
	"encoding/json"

	extensionswebhook "github.com/gardener/gardener/extensions/pkg/webhook"
	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	v1beta1constants "github.com/gardener/gardener/pkg/apis/core/v1beta1/constants"
	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	"github.com/gardener/gardener/pkg/client/kubernetes"
	"github.com/go-logr/logr"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	fakeclient "sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/codec"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	. "github.com/gardener/gardener-extension-provider-hybrid/pkg/webhook/network"
)

var _ = Describe("Mutator", func() {
	const shoot = "shoot--a--b"

	var (
		profile        *v1alpha1.CloudProfileConfig
		config         *v1alpha1.InfrastructureConfig
		status         *v1alpha1.InfrastructureStatus
		infrastructure *extensionsv1alpha1.Infrastructure
		network        *extensionsv1alpha1.Network
		objects        []client.Object
	)

	BeforeEach(func() {
		profile = &v1alpha1.CloudProfileConfig{Sites: []v1alpha1.CloudProfileSite{
			{Name: "cloud", OpenStack: &v1alpha1.OpenStackProfile{}},
			{Name: "vc", VSphere: &v1alpha1.VSphereProfile{}},
			{Name: "unused", Metal: &v1alpha1.MetalProfile{}, MTU: new(int32(1280))},
		}}
		config = &v1alpha1.InfrastructureConfig{
			Networks: v1alpha1.Networks{Topology: v1alpha1.TopologyRouted},
			Sites:    []v1alpha1.InfrastructureSite{{Name: "cloud", Nodes: []string{"10.0.0.0/24"}}, {Name: "vc", Nodes: []string{"10.0.1.0/24"}}},
		}
		status = &v1alpha1.InfrastructureStatus{}
		infrastructure = &extensionsv1alpha1.Infrastructure{ObjectMeta: metav1.ObjectMeta{Name: "b", Namespace: shoot}}
		network = &extensionsv1alpha1.Network{
			ObjectMeta: metav1.ObjectMeta{Name: "b", Namespace: shoot},
			Spec:       extensionsv1alpha1.NetworkSpec{DefaultSpec: extensionsv1alpha1.DefaultSpec{Type: "calico"}},
		}
		objects = nil
	})

	JustBeforeEach(func() {
		var err error
		if infrastructure != nil {
			infrastructure.Spec.ProviderConfig, err = codec.Encode(config)
			Expect(err).NotTo(HaveOccurred())
			infrastructure.Status.ProviderStatus, err = codec.Encode(status)
			Expect(err).NotTo(HaveOccurred())
			objects = append(objects, infrastructure)
		}
		profileConfig, err := codec.Encode(profile)
		Expect(err).NotTo(HaveOccurred())
		raw := func(object runtime.Object) runtime.RawExtension {
			content, err := json.Marshal(object)
			Expect(err).NotTo(HaveOccurred())
			return runtime.RawExtension{Raw: content}
		}
		core := func(kind string) metav1.TypeMeta {
			return metav1.TypeMeta{APIVersion: "core.gardener.cloud/v1beta1", Kind: kind}
		}
		objects = append(objects, &extensionsv1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: shoot}, Spec: extensionsv1alpha1.ClusterSpec{
			CloudProfile: raw(&gardencorev1beta1.CloudProfile{TypeMeta: core("CloudProfile"),
				Spec: gardencorev1beta1.CloudProfileSpec{ProviderConfig: profileConfig}}),
			Shoot: raw(&gardencorev1beta1.Shoot{TypeMeta: core("Shoot"), ObjectMeta: metav1.ObjectMeta{Name: "b"}}),
		}})
	})

	mutator := func() extensionswebhook.Mutator {
		return NewMutator(fakeclient.NewClientBuilder().WithScheme(kubernetes.SeedScheme).WithObjects(objects...).Build(), logr.Discard())
	}
	set := func(field string) any {
		fields := map[string]any{}
		Expect(json.Unmarshal(network.Spec.ProviderConfig.Raw, &fields)).To(Succeed())
		return fields[field]
	}
	discovered := func(mtu int32) {
		status.Sites = []v1alpha1.SiteStatus{{Name: "cloud", OpenStack: &v1alpha1.OpenStackStatus{NetworkMTU: mtu}}}
	}

	Describe("what all sites carry", func() {
		shows := func(expected string) func(SpecContext) {
			return func(ctx SpecContext) {
				Expect(mutator().Mutate(ctx, network, nil)).To(Succeed())
				Expect(set("vethMTU")).To(Equal(expected))
			}
		}

		It("is that of Ethernet if nobody says anything", shows("1480"))

		When("a platform tells less", func() {
			BeforeEach(func() { discovered(1450) })
			It("is that", shows("1430"))
		})
		When("a platform tells more than another site carries", func() {
			BeforeEach(func() { discovered(8950) })
			It("is that of the other site", shows("1480"))
		})
		When("the CloudProfile says less than the platform", func() {
			BeforeEach(func() {
				discovered(8950)
				profile.Sites[0].MTU, profile.Sites[1].MTU = new(int32(8000)), new(int32(9000))
			})
			It("is what the CloudProfile says", shows("7980"))
		})
		When("the platform tells less than the CloudProfile", func() {
			BeforeEach(func() {
				discovered(1400)
				profile.Sites[0].MTU = new(int32(1450))
			})
			It("is what the platform tells", shows("1380"))
		})
		When("the shoot says something", func() {
			BeforeEach(func() { config.Networks.MTU = new(int32(1300)) })
			It("is that", shows("1280"))
		})
		When("the CloudProfile does not know a site", func() {
			BeforeEach(func() {
				profile.Sites = profile.Sites[1:]
				profile.Sites[0].MTU = new(int32(1400))
			})
			It("is that of the others", shows("1380"))
		})
	})

	DescribeTable("calico",
		func(ctx SpecContext, given string, families []extensionsv1alpha1.IPFamily, expected string) {
			network.Spec.IPFamilies = families
			network.Spec.ProviderConfig = &runtime.RawExtension{Raw: []byte(given)}
			Expect(mutator().Mutate(ctx, network, nil)).To(Succeed())
			Expect(network.Spec.ProviderConfig.Raw).To(MatchJSON(expected))
			again := network.DeepCopy()
			Expect(mutator().Mutate(ctx, again, nil)).To(Succeed())
			Expect(again).To(Equal(network))
		},
		Entry("IP in IP", `{}`, nil, `{"overlay":{"enabled":true},"vethMTU":"1480"}`),
		Entry("VXLAN", `{"vxlan":{"enabled":true}}`, nil, `{"overlay":{"enabled":true},"vethMTU":"1450","vxlan":{"enabled":true}}`),
		Entry("a VXLAN pool", `{"ipv4":{"pool":"vxlan"}}`, nil, `{"ipv4":{"pool":"vxlan"},"overlay":{"enabled":true},"vethMTU":"1450"}`),
		Entry("the VXLAN backend", `{"backend":"vxlan"}`, nil, `{"backend":"vxlan","overlay":{"enabled":true},"vethMTU":"1450"}`),
		Entry("WireGuard", `{"wireguardEncryption":true,"vxlan":{"enabled":true}}`, nil,
			`{"overlay":{"enabled":true},"vethMTU":"1440","vxlan":{"enabled":true},"wireguardEncryption":true}`),
		Entry("IPv6", `{}`, []extensionsv1alpha1.IPFamily{"IPv4", "IPv6"}, `{"overlay":{"enabled":true},"vethMTU":"1430"}`),
		Entry("WireGuard and IPv6", `{"wireguardEncryption":true}`, []extensionsv1alpha1.IPFamily{"IPv6"},
			`{"overlay":{"enabled":true},"vethMTU":"1420","wireguardEncryption":true}`),
		Entry("a smaller value of the user", `{"vethMTU":"1300"}`, nil, `{"overlay":{"enabled":true},"vethMTU":"1300"}`),
		Entry("a larger value of the user", `{"vethMTU":"9000"}`, nil, `{"overlay":{"enabled":true},"vethMTU":"1480"}`),
		Entry("the value that lets each node choose", `{"vethMTU":"0"}`, nil, `{"overlay":{"enabled":true},"vethMTU":"1480"}`),
		Entry("an overlay that is off", `{"overlay":{"enabled":false}}`, nil, `{"overlay":{"enabled":false},"vethMTU":"1480"}`),
		Entry("fields of its own", `{"new":{"a":[1,2.5]},"overlay":{"enabled":true,"x":1}}`, nil,
			`{"new":{"a":[1,2.5]},"overlay":{"enabled":true,"x":1},"vethMTU":"1480"}`),
	)

	DescribeTable("cilium",
		func(ctx SpecContext, given, expected string) {
			network.Spec.Type = "cilium"
			network.Spec.ProviderConfig = &runtime.RawExtension{Raw: []byte(given)}
			Expect(mutator().Mutate(ctx, network, nil)).To(Succeed())
			Expect(network.Spec.ProviderConfig.Raw).To(MatchJSON(expected))
			again := network.DeepCopy()
			Expect(mutator().Mutate(ctx, again, nil)).To(Succeed())
			Expect(again).To(Equal(network))
		},
		Entry("nothing of the user", `{"tunnel":"geneve"}`, `{"mtu":1500,"overlay":{"enabled":true},"tunnel":"geneve"}`),
		Entry("a smaller value of the user", `{"mtu":1300}`, `{"mtu":1300,"overlay":{"enabled":true}}`),
		Entry("a larger value of the user", `{"mtu":9000}`, `{"mtu":1500,"overlay":{"enabled":true}}`),
		Entry("the value that lets each node choose", `{"mtu":0}`, `{"mtu":1500,"overlay":{"enabled":true}}`),
		Entry("an overlay that is off", `{"overlay":{"enabled":false}}`, `{"mtu":1500,"overlay":{"enabled":false}}`),
	)

	It("writes a configuration where there is none", func(ctx SpecContext) {
		network.Spec.Type = "cilium"
		Expect(mutator().Mutate(ctx, network, nil)).To(Succeed())
		Expect(network.Spec.ProviderConfig.Raw).To(MatchJSON(`{"apiVersion":"cilium.networking.extensions.gardener.cloud/v1alpha1",` +
			`"kind":"NetworkConfig","mtu":1500,"overlay":{"enabled":true}}`))
	})

	DescribeTable("what is wrong",
		func(ctx SpecContext, networkType, given, message string) {
			network.Spec.Type = networkType
			network.Spec.ProviderConfig = &runtime.RawExtension{Raw: []byte(given)}
			Expect(mutator().Mutate(ctx, network, nil)).To(MatchError(HavePrefix(message)))
		},
		Entry("no object", "calico", `[]`, "spec.providerConfig: must be an object"),
		Entry("vethMTU as a number", "calico", `{"vethMTU":1400}`, "spec.providerConfig.vethMTU must be a text"),
		Entry("vethMTU as words", "calico", `{"vethMTU":"auto"}`,
			"spec.providerConfig.vethMTU must be the text of a number of bytes between 0 and 65535"),
		Entry("vethMTU below zero", "calico", `{"vethMTU":"-1"}`,
			"spec.providerConfig.vethMTU must be the text of a number of bytes between 0 and 65535"),
		Entry("WireGuard as a text", "calico", `{"wireguardEncryption":"yes"}`, "spec.providerConfig.wireguardEncryption must be true or false"),
		Entry("VXLAN as a text", "calico", `{"vxlan":{"enabled":"yes"}}`, "spec.providerConfig.vxlan.enabled must be true or false"),
		Entry("mtu as a text", "cilium", `{"mtu":"1400"}`, "spec.providerConfig.mtu must be a number of bytes between 0 and 65535"),
		Entry("mtu out of range", "cilium", `{"mtu":70000}`, "spec.providerConfig.mtu must be a number of bytes between 0 and 65535"),
	)

	Describe("what is left alone", func() {
		var old *extensionsv1alpha1.Network

		BeforeEach(func() { old = nil })

		unchanged := func(ctx SpecContext) {
			before := network.DeepCopy()
			var previous client.Object
			if old != nil {
				previous = old
			}
			Expect(mutator().Mutate(ctx, network, previous)).To(Succeed())
			Expect(network).To(Equal(before))
		}

		When("it is of another type", func() {
			BeforeEach(func() { network.Spec.Type = "other" })
			It("stays", unchanged)
		})
		When("it is being deleted", func() {
			BeforeEach(func() { network.DeletionTimestamp = new(metav1.Now()) })
			It("stays", unchanged)
		})
		When("there is no Infrastructure any more", func() {
			BeforeEach(func() { infrastructure = nil })
			It("stays", unchanged)
		})
		When("nothing but annotations changes", func() {
			BeforeEach(func() {
				old = network.DeepCopy()
				network.Annotations = map[string]string{"confirmation.gardener.cloud/deletion": "true"}
				profile.Sites = nil
			})
			It("stays", unchanged)

			DescribeTable("unless gardenlet asks for it", func(ctx SpecContext, operation string) {
				profile.Sites = nil
				network.Annotations[v1beta1constants.GardenerOperation] = operation
				Expect(mutator().Mutate(ctx, network, old)).To(MatchError(ContainSubstring(`site "cloud"`)))
			},
				Entry("to reconcile", v1beta1constants.GardenerOperationReconcile),
				Entry("to restore", v1beta1constants.GardenerOperationRestore),
			)
		})
	})

	It("refuses other objects", func(ctx SpecContext) {
		Expect(mutator().Mutate(ctx, infrastructure, nil)).To(MatchError(ContainSubstring("expected a Network")))
	})
})
