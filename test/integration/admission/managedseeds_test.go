// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package admission_test

import (
	"context"
	"encoding/json"
	"time"

	gardenletconfigv1alpha1 "github.com/gardener/gardener/pkg/apis/config/gardenlet/v1alpha1"
	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	securityv1alpha1 "github.com/gardener/gardener/pkg/apis/security/v1alpha1"
	seedmanagementv1alpha1 "github.com/gardener/gardener/pkg/apis/seedmanagement/v1alpha1"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/gardenapi"
)

// The Shoot of the example for ManagedSeeds is in the namespace garden, with what it needs there.
var _ = beforeWebhooks(func(ctx context.Context) {
	const namespace = "garden"
	Expect(garden.Client.Create(ctx, &gardencorev1beta1.Project{ObjectMeta: metav1.ObjectMeta{Name: namespace},
		Spec: gardencorev1beta1.ProjectSpec{Namespace: new(namespace)}})).To(Succeed())
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: gardenapi.Credentials, Namespace: namespace}, Data: credentials()}
	binding := &securityv1alpha1.CredentialsBinding{ObjectMeta: secret.ObjectMeta,
		Provider:       securityv1alpha1.CredentialsBindingProvider{Type: v1alpha1.ProviderType},
		CredentialsRef: corev1.ObjectReference{APIVersion: "v1", Kind: "Secret", Namespace: namespace, Name: secret.Name}}
	shoot := newShoot(allPlatforms)
	shoot.Namespace, shoot.Name = namespace, "all-platforms"
	onMetalLB(func(c *v1alpha1.MetalLB) {
		c.AddressPools[0].CIDRs, c.AddressPools[1].CIDRs = []string{"10.250.246.0/24"}, []string{"192.0.2.96-192.0.2.111"}
	})(shoot)
	shoot.Spec.DNS = &gardencorev1beta1.DNS{Domain: new("seed.example.test"), Providers: []gardencorev1beta1.DNSProvider{{
		Type: new("hybrid-designate"), Primary: new(true), CredentialsRef: &autoscalingv1.CrossVersionObjectReference{APIVersion: "v1",
			Kind: "Secret", Name: "dns"}}}}
	shoot.Spec.Kubernetes.VerticalPodAutoscaler = &gardencorev1beta1.VerticalPodAutoscaler{Enabled: true}
	for _, object := range []client.Object{secret, binding, shoot} {
		Eventually(func() error { return garden.Client.Create(ctx, object) }).WithTimeout(10 * time.Second).Should(Succeed())
	}
})

var _ = Describe("ManagedSeeds", func() {
	type seedChange = change[gardencorev1beta1.SeedSpec]

	managedSeed := func(change seedChange) *seedmanagementv1alpha1.ManagedSeed {
		GinkgoHelper()
		object := read[seedmanagementv1alpha1.ManagedSeed]("50-managedseed.yaml")
		config := &gardenletconfigv1alpha1.GardenletConfiguration{}
		Expect(json.Unmarshal(object.Spec.Gardenlet.Config.Raw, config)).To(Succeed())
		change(&config.SeedConfig.Spec)
		raw, err := json.Marshal(config)
		Expect(err).NotTo(HaveOccurred())
		object.Spec.Gardenlet.Config = runtime.RawExtension{Raw: raw}
		return object
	}
	config := func(change func(*v1alpha1.SeedConfig)) seedChange {
		return func(spec *gardencorev1beta1.SeedSpec) { edit(&spec.Provider.ProviderConfig, change) }
	}
	const path = "spec.gardenlet.config.seedConfig.spec."

	It("have the defaults of Gardener for a Shoot of the provider, with backups of it, and warn of what depends on one site",
		func(ctx SpecContext) {
			warned, said := newWarned()
			object := managedSeed(func(*gardencorev1beta1.SeedSpec) {})
			Expect(warned.Create(ctx, object, client.DryRunAll)).To(Succeed())
			given := &gardenletconfigv1alpha1.GardenletConfiguration{}
			Expect(json.Unmarshal(object.Spec.Gardenlet.Config.Raw, given)).To(Succeed())
			Expect(given.SeedConfig.Spec.Backup.Provider).To(Equal("hybrid"))
			Expect(given.SeedConfig.Spec.Provider.Type).To(Equal("hybrid"))
			Expect(said.all()).To(ConsistOf(
				ContainSubstring(path+`provider.zones: the zones are at sites ["cloud" "racks" "vc"]: etcds of shoots with failure tolerance "zone"`),
				ContainSubstring(`site "cloud" serves the load balancers of zone "vc-1", which is at site "vc", too`),
				ContainSubstring(`site "cloud" serves the load balancers of zone "rack-1", which is at site "racks", too`),
			))
		})

	It("warn of zones whose etcds would get volumes of another site, with the zones that Gardener sets", func(ctx SpecContext) {
		warned, said := newWarned()
		object := managedSeed(func(spec *gardencorev1beta1.SeedSpec) { spec.Provider.Zones, spec.Provider.ProviderConfig = nil, nil })
		Expect(warned.Create(ctx, object, client.DryRunAll)).To(Succeed())
		Expect(said.all()).To(ContainElement(ContainSubstring(`zone "rack-1" is at site "racks", and providerConfig.etcdVolumes has no storage ` +
			`class for etcds of role "main" there`)))
	})

	It("warn of nothing at one site", func(ctx SpecContext) {
		warned, said := newWarned()
		object := managedSeed(func(spec *gardencorev1beta1.SeedSpec) {
			spec.Provider.Zones, spec.Provider.ProviderConfig = []string{"cloud-a"}, nil
		})
		Expect(warned.Create(ctx, object, client.DryRunAll)).To(Succeed())
		Expect(said.all()).To(BeEmpty())
	})

	DescribeTable("are refused",
		func(ctx SpecContext, change seedChange, fieldPath, reason string) {
			refuseCreation(ctx, managedSeed(change), path+fieldPath, reason)
		},
		refused("with backups without TLS", func(spec *gardencorev1beta1.SeedSpec) {
			edit(&spec.Backup.ProviderConfig, func(c *v1alpha1.BackupBucketConfig) { c.S3.Endpoint = "http://s3.example.test" })
		}, "backup.providerConfig.s3.endpoint", "must have the scheme https"),
		refused("with a Secret for backups that has other keys", func(spec *gardencorev1beta1.SeedSpec) {
			spec.Backup.CredentialsRef.Name = "backup-other"
		}, "backup.credentialsRef", "must have exactly the keys"),
		refused("with a document of another kind", func(spec *gardencorev1beta1.SeedSpec) {
			spec.Provider.ProviderConfig = spec.Backup.ProviderConfig
		}, "provider.providerConfig", "it is of kind BackupBucketConfig"),
		refused("with volumes in a zone that the seed does not have", config(func(c *v1alpha1.SeedConfig) { c.EtcdVolumes[0].Zones[0] = "d" }),
			"provider.providerConfig.etcdVolumes[0].zones[0]", "supported values"),
		refused("with the storage class of another site",
			config(func(c *v1alpha1.SeedConfig) { c.EtcdVolumes[1].StorageClassName = "cinder-ssd" }),
			"provider.providerConfig.etcdVolumes[1].storageClassName",
			`has volumes at site "cloud" only, but zone "vc-1" is at site "vc"`),
		refused("with one storage class for all sites", config(func(c *v1alpha1.SeedConfig) { c.EtcdVolumes[0].Zones = nil }),
			"provider.providerConfig.etcdVolumes[0].storageClassName", `zone "rack-1" is at site "racks"`),
		refused("with load balancers at a site that the Shoot does not have", func(spec *gardencorev1beta1.SeedSpec) {
			spec.Settings.LoadBalancerServices.Class = new(v1alpha1.LoadBalancerClassPrefix + "none")
		}, "settings.loadBalancerServices.class", "supported values"),
		refused("with load balancers without members", func(spec *gardencorev1beta1.SeedSpec) {
			spec.Settings.LoadBalancerServices.ExternalTrafficPolicy = new(corev1.ServiceExternalTrafficPolicyLocal)
		}, "settings.loadBalancerServices.externalTrafficPolicy", `the load balancer of zone "vc-1" would have no members`),
	)

	It("refer to Seeds that are validated alike", func(ctx SpecContext) {
		seed, _ := seedExample()
		seed.Name = "new"
		seed.Spec.Provider.Zones = []string{"cloud-a"}
		seed.Spec.Provider.ProviderConfig = &runtime.RawExtension{Raw: []byte(
			`{"apiVersion":"hybrid.provider.extensions.gardener.cloud/v1alpha1","kind":"SeedConfig",` +
				`"etcdVolumes":[{"zones":["cloud-b"],"storageClassName":"a"}]}`)}
		refuseCreation(ctx, seed, "spec.provider.providerConfig.etcdVolumes[0].zones[0]", "supported values")
	})
})
