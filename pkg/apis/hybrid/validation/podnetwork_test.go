// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package validation_test

import (
	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/codec"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	. "github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/validation"
)

var _ = Describe("#ValidatePodNetwork", func() {
	oneSite := func() *infrastructure {
		config := newRouted()
		config.Sites = config.Sites[:1]
		return config
	}
	// validate has node networks that carry 1450 bytes.
	validate := func(networkType string, config *infrastructure, providerConfig string, problems ...problem) {
		networking := &gardencorev1beta1.Networking{Type: &networkType}
		if providerConfig != "" {
			networking.ProviderConfig = &runtime.RawExtension{Raw: []byte(providerConfig)}
		}
		Expect(ValidatePodNetwork(networking, config, 1450, field.NewPath("n"))).To(haveProblems(problems))
	}

	It("accepts what it does not know", func() {
		Expect(ValidatePodNetwork(nil, nil, 0, nil)).To(BeEmpty())
		Expect(ValidatePodNetwork(&gardencorev1beta1.Networking{}, nil, 0, nil)).To(BeEmpty())
		validate("other", newRouted(), `{"overlay":{"enabled":false}}`)
		validate("other", newRouted(), `[]`)
	})

	It("accepts one IP family only", func() {
		families := []gardencorev1beta1.IPFamily{gardencorev1beta1.IPFamilyIPv4, gardencorev1beta1.IPFamilyIPv6}
		for _, networkType := range []string{"cilium", "calico", "other"} {
			networking := &gardencorev1beta1.Networking{Type: &networkType, IPFamilies: families[:1],
				ProviderConfig: &runtime.RawExtension{Raw: []byte(`{"vxlan":{"enabled":true}}`)}}
			Expect(ValidatePodNetwork(networking, newRouted(), 0, field.NewPath("n"))).To(BeEmpty())
			networking.IPFamilies = families
			Expect(ValidatePodNetwork(networking, newRouted(), 0, field.NewPath("n"))).To(haveProblems([]problem{{forbidden, "n.ipFamilies"}}))
		}
	})

	It("does not know the MTU of pods if nobody says that of nodes", func() {
		networking := &gardencorev1beta1.Networking{Type: new("cilium"), ProviderConfig: &runtime.RawExtension{Raw: []byte(`{"mtu":9000}`)}}
		Expect(ValidatePodNetwork(networking, newRouted(), 0, nil)).To(BeEmpty())
	})

	DescribeTable("cilium", func(config *infrastructure, providerConfig string, problems ...problem) {
		validate("cilium", config, providerConfig, problems...)
	},
		Entry("nothing", newRouted(), ""),
		Entry("no object", newRouted(), `[]`, problem{invalid, "n.providerConfig"}),
		Entry("overlay", newRouted(), `{"overlay":{"enabled":true}}`),
		Entry("no overlay", newRouted(), `{"overlay":{"enabled":false}}`, problem{forbidden, "n.providerConfig.overlay.enabled"}),
		Entry("no overlay on one site", oneSite(), `{"overlay":{"enabled":false}}`, problem{forbidden, "n.providerConfig.overlay.enabled"}),
		Entry("an overlay that is not said to be on", newRouted(), `{"overlay":{}}`, problem{forbidden, "n.providerConfig.overlay.enabled"}),
		Entry("an overlay that is no object", newRouted(), `{"overlay":true}`, problem{invalid, "n.providerConfig.overlay"}),
		Entry("pod routes over routed sites", newRouted(), `{"overlay":{"enabled":true,"createPodRoutes":true}}`,
			problem{forbidden, "n.providerConfig.overlay.createPodRoutes"}),
		Entry("pod routes in one network", newStretched(), `{"overlay":{"enabled":true,"createPodRoutes":true}}`),
		Entry("Geneve", newRouted(), `{"tunnel":"geneve"}`),
		Entry("no tunnel", newRouted(), `{"tunnel":"disabled"}`, problem{forbidden, "n.providerConfig.tunnel"}),
		Entry("MTU of the nodes", newRouted(), `{"mtu":1450}`),
		Entry("larger MTU", newRouted(), `{"mtu":1451}`, problem{invalid, "n.providerConfig.mtu"}),
		Entry("MTU as a text", newRouted(), `{"mtu":"1400"}`, problem{invalid, "n.providerConfig.mtu"}),
	)

	DescribeTable("calico", func(config *infrastructure, providerConfig string, problems ...problem) {
		validate("calico", config, providerConfig, problems...)
	},
		Entry("nothing on one site", oneSite(), ""),
		Entry("nothing over several sites", newRouted(), "", problem{required, "n.providerConfig.vxlan.enabled"}),
		Entry("VXLAN", newRouted(), `{"vxlan":{"enabled":true}}`),
		Entry("a pool of VXLAN", newStretched(), `{"ipv4":{"pool":"vxlan","mode":"Always"}}`),
		Entry("WireGuard", newRouted(), `{"wireguardEncryption":true}`),
		Entry("IP in IP always", newRouted(), `{"backend":"bird","ipv4":{"mode":"Always"}}`, problem{forbidden, "n.providerConfig.ipv4.mode"}),
		Entry("IP in IP between subnets", newStretched(), `{"ipv4":{"pool":"ipip","mode":"CrossSubnet"}}`,
			problem{forbidden, "n.providerConfig.ipv4.mode"}),
		Entry("IP in IP of old", newRouted(), `{"ipip":"Always"}`, problem{forbidden, "n.providerConfig.ipip"}),
		Entry("IP in IP on one site", oneSite(), `{"ipv4":{"mode":"Always"}}`),
		Entry("no encapsulation", oneSite(), `{"ipv4":{"pool":"vxlan","mode":"Never"}}`, problem{forbidden, "n.providerConfig.ipv4.mode"}),
		Entry("no encapsulation of old", oneSite(), `{"ipip":"Off"}`, problem{forbidden, "n.providerConfig.ipip"}),
		Entry("no backend", newRouted(), `{"backend":"none"}`, problem{forbidden, "n.providerConfig.backend"}),
		Entry("no overlay", newRouted(), `{"overlay":{"enabled":false}}`, problem{forbidden, "n.providerConfig.overlay.enabled"}),
		Entry("pod routes over routed sites", newRouted(), `{"vxlan":{"enabled":true},"overlay":{"enabled":true,"createPodRoutes":true}}`,
			problem{forbidden, "n.providerConfig.overlay.createPodRoutes"}),
		Entry("MTU that VXLAN leaves", newRouted(), `{"vxlan":{"enabled":true},"vethMTU":"1400"}`),
		Entry("larger MTU", newRouted(), `{"vxlan":{"enabled":true},"vethMTU":"1401"}`, problem{invalid, "n.providerConfig.vethMTU"}),
		Entry("MTU as words", newRouted(), `{"vxlan":{"enabled":true},"vethMTU":"auto"}`, problem{invalid, "n.providerConfig.vethMTU"}),
		Entry("VXLAN as a text", newRouted(), `{"vxlan":{"enabled":"yes"}}`, problem{invalid, "n.providerConfig.vxlan.enabled"}),
	)

	It("has no IP in IP with IPv6", func() {
		networking := &gardencorev1beta1.Networking{Type: new("calico"), IPFamilies: []gardencorev1beta1.IPFamily{"IPv6"}}
		Expect(ValidatePodNetwork(networking, newRouted(), 0, nil)).To(BeEmpty())
	})
})

var _ = Describe("#ValidatePodRange", func() {
	spec := func(pods string, mask *int32, maxima ...int32) *gardencorev1beta1.ShootSpec {
		spec := &gardencorev1beta1.ShootSpec{Networking: &gardencorev1beta1.Networking{Pods: &pods}}
		if mask != nil {
			spec.Kubernetes.KubeControllerManager = &gardencorev1beta1.KubeControllerManagerConfig{NodeCIDRMaskSize: mask}
		}
		for _, maximum := range maxima {
			spec.Provider.Workers = append(spec.Provider.Workers, worker{Maximum: maximum})
		}
		return spec
	}
	problems := []problem{{invalid, "spec.kubernetes.kubeControllerManager.nodeCIDRMaskSize"}}

	DescribeTable("new Shoots", func(spec *gardencorev1beta1.ShootSpec, problems ...problem) {
		Expect(ValidatePodRange(PodRangeOf(spec), nil, field.NewPath("spec"))).To(haveProblems(problems))
	},
		Entry("no networking", &gardencorev1beta1.ShootSpec{}),
		Entry("no CIDR", spec("x", nil, 1)),
		Entry("enough", spec("100.96.0.0/22", nil, 3, 1)),
		Entry("not enough", spec("100.96.0.0/22", nil, 3, 2), problems[0]),
		Entry("smaller ranges", spec("100.96.0.0/22", new(int32(25)), 3, 2)),
		Entry("ranges larger than that of all pods", spec("100.96.0.0/25", nil, 1)),
		Entry("IPv6", spec("2001:db8::/56", nil, 256)),
		Entry("not enough of IPv6", spec("2001:db8::/56", nil, 257), problems[0]),
		Entry("very many", spec("2001:db8::/48", new(int32(128)), 1000000)),
	)

	It("adds up the maxima of sites", func() {
		s := spec("100.96.0.0/22", nil, 3)
		config, err := codec.Encode(&v1alpha1.WorkerConfig{Sites: []v1alpha1.WorkerSite{{Name: "a", Maximum: new(int32(3))},
			{Name: "b", Maximum: new(int32(2))}}})
		Expect(err).NotTo(HaveOccurred())
		s.Provider.Workers[0].ProviderConfig = config
		Expect(ValidatePodRange(PodRangeOf(s), nil, field.NewPath("spec"))).To(haveProblems(problems))
	})

	It("lets an old Shoot keep what it has", func() {
		old := PodRangeOf(spec("100.96.0.0/22", nil, 8))
		Expect(ValidatePodRange(PodRangeOf(spec("100.96.0.0/22", nil, 7)), &old, field.NewPath("spec"))).To(BeEmpty())
		Expect(ValidatePodRange(PodRangeOf(spec("100.96.0.0/22", nil, 9)), &old, field.NewPath("spec"))).To(haveProblems(problems))
	})
})
