// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package seedprovider_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	"github.com/gardener/gardener/pkg/client/kubernetes"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	fakeclient "sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/codec"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	. "github.com/gardener/gardener-extension-provider-hybrid/pkg/webhook/seedprovider"
)

var _ = Describe("SeedProvider", func() {
	const namespace = "shoot--a--b"

	// twoSites are volumes in zones a1 and a2 of one site and b1 of another.
	twoSites := &v1alpha1.SeedConfig{EtcdVolumes: []v1alpha1.EtcdVolume{
		{Roles: []v1alpha1.EtcdRole{v1alpha1.EtcdRoleMain}, Zones: []string{"a1", "a2"}, StorageClassName: "fast-a",
			Capacity: new(resource.MustParse("30Gi"))},
		{Zones: []string{"a1", "a2"}, StorageClassName: "a"},
		{Zones: []string{"b1"}, StorageClassName: "b"},
	}}
	reader := func(config *v1alpha1.SeedConfig, zones string, claims ...client.Object) client.Client {
		seed := &gardencorev1beta1.Seed{TypeMeta: metav1.TypeMeta{APIVersion: "core.gardener.cloud/v1beta1", Kind: "Seed"}}
		if config != nil {
			raw, err := codec.Encode(config)
			Expect(err).NotTo(HaveOccurred())
			seed.Spec.Provider.ProviderConfig = raw
		}
		raw, err := json.Marshal(seed)
		Expect(err).NotTo(HaveOccurred())
		object := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}
		if zones != "" {
			object.Annotations = map[string]string{"high-availability-config.resources.gardener.cloud/zones": zones}
		}
		return fakeclient.NewClientBuilder().WithScheme(kubernetes.SeedScheme).WithObjects(object,
			&extensionsv1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: namespace},
				Spec: extensionsv1alpha1.ClusterSpec{Seed: &runtime.RawExtension{Raw: raw}}}).WithObjects(claims...).Build()
	}
	claim := func(etcd string, ordinal int, class string) *corev1.PersistentVolumeClaim {
		return &corev1.PersistentVolumeClaim{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: fmt.Sprintf("data-%s-%d", etcd, ordinal), Labels: map[string]string{
				"app.kubernetes.io/managed-by": "etcd-druid", "app.kubernetes.io/part-of": etcd}},
			Spec: corev1.PersistentVolumeClaimSpec{StorageClassName: &class, Resources: corev1.VolumeResourceRequirements{
				Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("25Gi")}}},
		}
	}
	mutated := func(c client.Client, object, old client.Object) error {
		return NewMutator(c, c).Mutate(GinkgoT().Context(), object, old)
	}

	DescribeTable("should give each zone its share of the members, in whichever order their claims are created",
		func(zones string, existing map[int]string, expected ...string) {
			for _, order := range [][]int{{0, 1, 2}, {2, 1, 0}, {1, 2, 0}, {1, 0, 2}} {
				// created concurrently, each request sees no other, or each sees those before
				for _, concurrent := range []bool{false, true} {
					var claims []client.Object
					for ordinal, class := range existing {
						claims = append(claims, claim("etcd-main", ordinal, class))
					}
					classes := maps.Clone(existing)
					if classes == nil {
						classes = map[int]string{}
					}
					for _, ordinal := range order[:] {
						if _, ok := existing[ordinal]; ok || ordinal >= len(expected) {
							continue
						}
						object := claim("etcd-main", ordinal, "default")
						Expect(mutated(reader(twoSites, zones, claims...), object, nil)).To(Succeed())
						classes[ordinal] = *object.Spec.StorageClassName
						if !concurrent {
							claims = append(claims, object)
						}
					}
					Expect(slices.Collect(func(yield func(string) bool) {
						for i := range expected {
							if !yield(classes[i]) {
								return
							}
						}
					})).To(Equal(expected))
				}
			}
		},
		Entry("three zones of two sites", "a1,a2,b1", nil, "fast-a", "fast-a", "b"),
		Entry("one zone, one member", "b1", nil, "b"),
		Entry("one zone, three members", "a2", nil, "fast-a", "fast-a", "fast-a"),
		Entry("a shoot that gets two more members", "a1,a2,b1", map[int]string{0: "b"}, "b", "fast-a", "fast-a"),
		Entry("a member that lost its volume", "a1,a2,b1", map[int]string{1: "b", 2: "fast-a"}, "fast-a", "b", "fast-a"),
		Entry("a member that lost its volume, in one zone", "b1", map[int]string{1: "b", 2: "b"}, "b", "b", "b"),
		Entry("a member with a class of its own", "a1,a2,b1", map[int]string{0: "other"}, "other", "fast-a", "b"),
	)

	It("should have a class and a capacity for each role, and change nothing else", func() {
		object, expected := claim("etcd-main", 0, "default"), claim("etcd-main", 0, "fast-a")
		expected.Spec.Resources.Requests[corev1.ResourceStorage] = resource.MustParse("30Gi")
		Expect(mutated(reader(twoSites, "a1"), object, nil)).To(Succeed())
		Expect(object).To(Equal(expected))

		object = claim("etcd-events", 0, "default")
		Expect(mutated(reader(twoSites, "a1"), object, nil)).To(Succeed())
		Expect(object).To(Equal(claim("etcd-events", 0, "a")))

		object = claim("etcd-main", 0, "default")
		object.Spec = corev1.PersistentVolumeClaimSpec{}
		everywhere := &v1alpha1.SeedConfig{EtcdVolumes: []v1alpha1.EtcdVolume{{Capacity: new(resource.MustParse("8Gi"))}}}
		Expect(mutated(reader(everywhere, ""), object, nil)).To(Succeed())
		Expect(object.Spec).To(Equal(corev1.PersistentVolumeClaimSpec{Resources: corev1.VolumeResourceRequirements{
			Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("8Gi")}}}))
	})

	DescribeTable("should not change",
		func(config *v1alpha1.SeedConfig, zones string, object *corev1.PersistentVolumeClaim, old client.Object) {
			before := object.DeepCopy()
			Expect(mutated(reader(config, zones), object, old)).To(Succeed())
			Expect(object).To(Equal(before))
		},
		Entry("a claim that exists", twoSites, "a1", claim("etcd-main", 0, "default"), claim("etcd-main", 0, "default")),
		Entry("a zone that is not configured", twoSites, "c1", claim("etcd-main", 0, "default"), nil),
		Entry("a control plane without zones", twoSites, "", claim("etcd-main", 0, "default"), nil),
		Entry("an etcd that is not one of a shoot", twoSites, "a1", claim("etcd-own", 0, "default"), nil),
		Entry("a claim that is not of a member", twoSites, "a1", claim("etcd-main", 1000, "default"), nil),
		Entry("a Seed without a configuration", nil, "a1", claim("etcd-main", 0, "default"), nil),
		Entry("a Seed without volumes", &v1alpha1.SeedConfig{}, "a1", claim("etcd-main", 0, "default"), nil),
	)

	It("should say what cannot be read", func() {
		object := claim("etcd-main", 0, "default")
		object.Namespace = "other"
		Expect(mutated(reader(twoSites, "a1"), object, nil)).To(MatchError(ContainSubstring("could not read Cluster other")))
		Expect(mutated(reader(twoSites, "a1"), &corev1.Pod{}, nil)).To(MatchError(ContainSubstring("expected a PersistentVolumeClaim")))

		c := reader(nil, "a1")
		cluster := &extensionsv1alpha1.Cluster{}
		Expect(c.Get(GinkgoT().Context(), client.ObjectKey{Name: namespace}, cluster)).To(Succeed())
		cluster.Spec.Seed.Raw = []byte(`{"apiVersion":"core.gardener.cloud/v1beta1","kind":"Seed","metadata":{"name":"s"},` +
			`"spec":{"provider":{"providerConfig":{"kind":"Other"}}}}`)
		Expect(c.Update(GinkgoT().Context(), cluster)).To(Succeed())
		Expect(mutated(c, claim("etcd-main", 0, "default"), nil)).To(MatchError(ContainSubstring("spec.provider.providerConfig of Seed s")))
	})
})
