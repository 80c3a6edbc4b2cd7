// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package validator_test

import (
	"context"
	"encoding/json"

	gardenletconfigv1alpha1 "github.com/gardener/gardener/pkg/apis/config/gardenlet/v1alpha1"
	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	seedmanagementv1alpha1 "github.com/gardener/gardener/pkg/apis/seedmanagement/v1alpha1"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	. "github.com/gardener/gardener-extension-provider-hybrid/pkg/admission/validator"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/codec"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
)

var _ = Describe("ManagedSeeds", func() {
	var (
		g      *garden
		spec   gardencorev1beta1.SeedSpec
		config *v1alpha1.SeedConfig
	)

	BeforeEach(func() {
		g = newGarden()
		spec = gardencorev1beta1.SeedSpec{
			Provider: gardencorev1beta1.SeedProvider{Type: v1alpha1.ProviderType, Region: "west", Zones: []string{"cloud-a", "vc-1"}},
			Settings: &gardencorev1beta1.SeedSettings{LoadBalancerServices: &gardencorev1beta1.SeedSettingLoadBalancerServices{}},
		}
		config = &v1alpha1.SeedConfig{EtcdVolumes: []v1alpha1.EtcdVolume{{Zones: []string{"vc-1"}, StorageClassName: "own"}}}
	})

	managedSeed := func() *seedmanagementv1alpha1.ManagedSeed {
		GinkgoHelper()
		var err error
		if config != nil {
			spec.Provider.ProviderConfig, err = codec.Encode(config)
			Expect(err).NotTo(HaveOccurred())
		}
		raw, err := json.Marshal(&gardenletconfigv1alpha1.GardenletConfiguration{
			TypeMeta:   metav1.TypeMeta{APIVersion: "gardenlet.config.gardener.cloud/v1alpha1", Kind: "GardenletConfiguration"},
			SeedConfig: &gardenletconfigv1alpha1.SeedConfig{SeedTemplate: gardencorev1beta1.SeedTemplate{Spec: spec}}})
		Expect(err).NotTo(HaveOccurred())
		return &seedmanagementv1alpha1.ManagedSeed{ObjectMeta: metav1.ObjectMeta{Name: g.shoot.Name, Namespace: g.shoot.Namespace},
			Spec: seedmanagementv1alpha1.ManagedSeedSpec{Shoot: &seedmanagementv1alpha1.Shoot{Name: g.shoot.Name},
				Gardenlet: seedmanagementv1alpha1.GardenletConfig{Config: runtime.RawExtension{Raw: raw}}}}
	}
	answer := func(ctx context.Context, object *seedmanagementv1alpha1.ManagedSeed, old client.Object) admission.Response {
		return WithWarnings(admission.HandlerFunc(func(ctx context.Context, _ admission.Request) admission.Response {
			if err := NewManagedSeedValidator(newManager(g.shoot, g.profile)).Validate(ctx, object, old); err != nil {
				return admission.Denied(err.Error())
			}
			return admission.Allowed("")
		})).Handle(ctx, admission.Request{})
	}
	const (
		path     = "spec.gardenlet.config.seedConfig.spec."
		latency  = path + `provider.zones: the zones are at sites ["cloud" "vc"]: `
		balancer = path + `settings.loadBalancerServices: site "cloud" serves the load balancers of zone "vc-1", which is at site "vc", too: `
	)

	DescribeTable("are accepted with warnings",
		func(ctx SpecContext, change func(), expected ...string) {
			change()
			response := answer(ctx, managedSeed(), nil)
			Expect(response.Allowed).To(BeTrue(), "%v", response.Result)
			Expect(response.Warnings).To(HaveLen(len(expected)))
			for i, text := range expected {
				Expect(response.Warnings[i]).To(HavePrefix(text))
			}
		},
		Entry("of two sites", func() {}, latency, balancer),
		Entry("of one site", func() { spec.Provider.Zones, config = []string{"cloud-a"}, nil }),
		Entry("of etcds without a class", func() { config.EtcdVolumes[0].Roles = []v1alpha1.EtcdRole{v1alpha1.EtcdRoleMain} }, latency,
			path+`provider.zones: zone "vc-1" is at site "vc", and providerConfig.etcdVolumes has no storage class for etcds of role "events" there`,
			balancer),
		Entry("of load balancers of another controller", func() { spec.Settings.LoadBalancerServices.Class = new("example.com/own") }, latency),
		Entry("of a Shoot of another provider", func() { g.shoot.Spec.Provider.Type = "other" }),
		Entry("of a Seed of another provider", func() { spec.Provider.Type = "other" }),
		Entry("of a Shoot that cannot be decoded", func() { g.shoot.Spec.Provider.InfrastructureConfig = broken() }),
		Entry("of one gateway for all zones", func() {
			spec.Settings.LoadBalancerServices.ExternalTrafficPolicy = new(corev1.ServiceExternalTrafficPolicyLocal)
			spec.Settings.LoadBalancerServices.ZonalIngress = &gardencorev1beta1.SeedSettingLoadBalancerServicesZonalIngress{Enabled: new(false)}
		}, latency, balancer),
	)

	DescribeTable("are refused",
		func(ctx SpecContext, change func(), expected string) {
			change()
			response := answer(ctx, managedSeed(), nil)
			Expect(response.Allowed).To(BeFalse())
			Expect(response.Result.Message).To(ContainSubstring(path + expected))
			Expect(answer(ctx, managedSeed(), managedSeed()).Allowed).To(BeTrue(), "nothing changes")
		},
		Entry("with an unknown zone", func() { config.EtcdVolumes[0].Zones[0] = "d" }, "provider.providerConfig.etcdVolumes[0].zones[0]"),
		Entry("with a document that cannot be decoded", func() { config, spec.Provider.ProviderConfig = nil, broken() },
			"provider.providerConfig"),
		Entry("with the class of another site", func() {
			config.EtcdVolumes[0].StorageClassName = "cinder-ssd"
		}, "provider.providerConfig.etcdVolumes[0].storageClassName"),
		Entry("with an unknown site for load balancers", func() {
			spec.Settings.LoadBalancerServices.Class = new(v1alpha1.LoadBalancerClassPrefix + "d")
		}, "settings.loadBalancerServices.class"),
		Entry("with a load balancer without members", func() {
			spec.Settings.LoadBalancerServices.Zones = []gardencorev1beta1.SeedSettingLoadBalancerServicesZones{{Name: "vc-1",
				ExternalTrafficPolicy: new(corev1.ServiceExternalTrafficPolicyLocal)}}
		}, "settings.loadBalancerServices.externalTrafficPolicy"),
		Entry("with backups that are not valid", func() {
			spec.Backup = &gardencorev1beta1.Backup{Provider: v1alpha1.ProviderType, CredentialsRef: &corev1.ObjectReference{Name: "backup"}}
		}, "backup.providerConfig"),
	)

	It("are Gardener's to refuse without a Seed", func(ctx SpecContext) {
		object := managedSeed()
		object.Spec.Gardenlet.Config = runtime.RawExtension{Raw: []byte("{}")}
		Expect(answer(ctx, object, nil).Allowed).To(BeTrue())
		object = managedSeed()
		g.shoot.Name = "other"
		Expect(answer(ctx, object, nil).Allowed).To(BeTrue())
	})
})
