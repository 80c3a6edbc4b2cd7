// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package webhooks_test

import (
	"context"
	"encoding/json"
	"time"

	druidcorev1alpha1 "github.com/gardener/etcd-druid/api/core/v1alpha1"
	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	v1beta1constants "github.com/gardener/gardener/pkg/apis/core/v1beta1/constants"
	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	resourcesv1alpha1 "github.com/gardener/gardener/pkg/apis/resources/v1alpha1"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/codec"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/test/charts/rbacaudit"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape"
)

// etcd returns a StatefulSet as etcd-druid writes it for gardenlet.
func etcd(namespace, name string) *appsv1.StatefulSet {
	labels := druidcorev1alpha1.GetDefaultLabels(metav1.ObjectMeta{Name: name})
	return &appsv1.StatefulSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: labels},
		Spec: appsv1.StatefulSetSpec{
			PodManagementPolicy: appsv1.ParallelPodManagement, Replicas: new(int32(3)), Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{
				Containers: []corev1.Container{{Name: "etcd", Image: "etcd:v3"}}}},
			VolumeClaimTemplates: []corev1.PersistentVolumeClaim{{ObjectMeta: metav1.ObjectMeta{Name: "data"}, Spec: claimSpec()}},
		},
	}
}

func claimSpec() corev1.PersistentVolumeClaimSpec {
	return corev1.PersistentVolumeClaimSpec{AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
		Resources: corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("10Gi")}}}
}

var _ = Describe("seedprovider", Ordered, func() {
	const (
		onSeed    = "shoot--local--etcd"
		elsewhere = "shoot--local--elsewhere"
	)

	BeforeAll(func(ctx SpecContext) {
		workloads, err := landscape.NewWorkloads(GinkgoT().TempDir(), seed.Cluster, landscape.DefaultBinaries())
		Expect(err).NotTo(HaveOccurred())
		Expect(workloads.ControllerManager.Start()).To(Succeed())
		DeferCleanup(func(ctx SpecContext) { workloads.ControllerManager.Stop(ctx) })
		Expect(writer.Client.Create(ctx, &storagev1.StorageClass{
			ObjectMeta:  metav1.ObjectMeta{Name: "default", Annotations: map[string]string{"storageclass.kubernetes.io/is-default-class": "true"}},
			Provisioner: "example.test/none", VolumeBindingMode: new(storagev1.VolumeBindingWaitForFirstConsumer),
		})).To(Succeed())

		config, err := codec.Encode(&v1alpha1.SeedConfig{EtcdVolumes: []v1alpha1.EtcdVolume{
			{Zones: []string{"cloud-a", "cloud-b"}, StorageClassName: "cloud-fast"},
			{Zones: []string{"vcenter-a"}, StorageClassName: "vsan", Capacity: new(resource.MustParse("30Gi"))},
		}})
		Expect(err).NotTo(HaveOccurred())
		raw, err := json.Marshal(&gardencorev1beta1.Seed{TypeMeta: metav1.TypeMeta{APIVersion: "core.gardener.cloud/v1beta1", Kind: "Seed"},
			Spec: gardencorev1beta1.SeedSpec{Provider: gardencorev1beta1.SeedProvider{Type: "hybrid", ProviderConfig: config}}})
		Expect(err).NotTo(HaveOccurred())
		for name, provider := range map[string]string{onSeed: "hybrid", elsewhere: "other"} {
			Expect(writer.Client.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name,
				Labels:      map[string]string{v1beta1constants.LabelSeedProvider: provider, v1beta1constants.LabelShootProvider: "other"},
				Annotations: map[string]string{resourcesv1alpha1.HighAvailabilityConfigZones: "cloud-a,cloud-b,vcenter-a"}}})).To(Succeed())
			cluster := &extensionsv1alpha1.Cluster{}
			read("30-cluster.yaml", cluster)
			cluster.Name, cluster.Spec.Seed = name, &runtime.RawExtension{Raw: raw}
			Expect(writer.Client.Create(ctx, cluster)).To(Succeed())
		}
	})

	// volumes are the storage classes and capacities of an etcd's members.
	volumes := func(ctx context.Context, g Gomega, namespace, name string) []string {
		GinkgoHelper()
		claims := &corev1.PersistentVolumeClaimList{}
		g.Expect(writer.Client.List(ctx, claims, client.InNamespace(namespace),
			client.MatchingLabels(druidcorev1alpha1.GetDefaultLabels(metav1.ObjectMeta{Name: name})))).To(Succeed())
		var texts []string
		for _, claim := range claims.Items {
			texts = append(texts, claim.Name+" "+*claim.Spec.StorageClassName+" "+claim.Spec.Resources.Requests.Storage().String())
		}
		return texts
	}

	It("should give the members of an etcd the volumes of their sites, and nothing to other StatefulSets", func(ctx SpecContext) {
		other := etcd(onSeed, "prometheus")
		other.Spec.Selector.MatchLabels = map[string]string{"app": "prometheus"}
		other.Spec.Template.Labels = other.Spec.Selector.MatchLabels
		for _, object := range []client.Object{etcd(onSeed, "etcd-main"), etcd(elsewhere, "etcd-main"), other} {
			Expect(writer.Client.Create(ctx, object)).To(Succeed())
		}
		Eventually(func(g Gomega) {
			g.Expect(volumes(ctx, g, onSeed, "etcd-main")).To(ConsistOf("data-etcd-main-0 cloud-fast 10Gi", "data-etcd-main-1 cloud-fast 10Gi",
				"data-etcd-main-2 vsan 30Gi"))
			g.Expect(volumes(ctx, g, elsewhere, "etcd-main")).To(ConsistOf("data-etcd-main-0 default 10Gi", "data-etcd-main-1 default 10Gi",
				"data-etcd-main-2 default 10Gi"))
			claim := &corev1.PersistentVolumeClaim{}
			g.Expect(writer.Client.Get(ctx, client.ObjectKey{Namespace: onSeed, Name: "data-prometheus-2"}, claim)).To(Succeed())
			g.Expect(claim.Spec.StorageClassName).To(HaveValue(Equal("default")))
		}).WithTimeout(time.Minute).Should(Succeed())
	})

	It("should give a member that lost its volume one of the same site", func(ctx SpecContext) {
		claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: onSeed, Name: "data-etcd-main-2"}}
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: onSeed, Name: "etcd-main-2"}}
		By("waiting until its controller has created the pod, which it does after the claim")
		Eventually(func() error {
			return writer.Client.Get(ctx, client.ObjectKeyFromObject(pod), pod)
		}).WithTimeout(time.Minute).Should(Succeed())
		Expect(writer.Client.Get(ctx, client.ObjectKeyFromObject(claim), claim)).To(Succeed())
		uid := claim.UID
		Expect(writer.Client.Delete(ctx, claim)).To(Succeed())
		Expect(writer.Client.Delete(ctx, pod)).To(Succeed())
		Expect(client.IgnoreNotFound(writer.Client.Patch(ctx, claim, client.RawPatch("application/merge-patch+json",
			[]byte(`{"metadata":{"finalizers":null}}`))))).To(Succeed())
		Eventually(func(g Gomega) {
			g.Expect(writer.Client.Get(ctx, client.ObjectKeyFromObject(claim), claim)).To(Succeed())
			g.Expect(claim.UID).NotTo(Equal(uid))
			g.Expect(volumes(ctx, g, onSeed, "etcd-main")).To(ContainElement("data-etcd-main-2 vsan 30Gi"))
		}).WithTimeout(time.Minute).Should(Succeed())
	})

	It("should need its permissions", func() {
		unused, err := seed.UnusedPermissions()
		Expect(err).NotTo(HaveOccurred())
		Expect(rbacaudit.Webhooks.Missing(unused)).To(BeEmpty())
	})

	It("should let new members wait while it is down, and nothing else", func(ctx SpecContext) {
		claim := func(namespace string, labels map[string]string) *corev1.PersistentVolumeClaim {
			return &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "data-etcd-events-0", Labels: labels},
				Spec: claimSpec()}
		}
		labels := druidcorev1alpha1.GetDefaultLabels(metav1.ObjectMeta{Name: "etcd-events"})
		seed.Extension.Stop(ctx)
		DeferCleanup(func(ctx SpecContext) {
			Expect(seed.Extension.Start()).To(Succeed())
			Eventually(func() error { return writer.Client.Create(ctx, claim(onSeed, labels), client.DryRunAll) }).
				WithTimeout(20 * time.Second).WithPolling(200 * time.Millisecond).Should(Succeed())
		})
		Expect(writer.Client.Create(ctx, claim(onSeed, labels), client.DryRunAll)).To(MatchError(
			ContainSubstring(`failed calling webhook "seedprovider.hybrid.extensions.gardener.cloud"`)))
		for _, object := range []client.Object{
			claim(elsewhere, labels), claim(onSeed, map[string]string{"app": "prometheus"}), etcd(onSeed, "etcd-events"),
			&druidcorev1alpha1.Etcd{ObjectMeta: metav1.ObjectMeta{Namespace: onSeed, Name: "etcd-events"}, Spec: druidcorev1alpha1.EtcdSpec{
				Selector: &metav1.LabelSelector{MatchLabels: labels}, Labels: labels, Replicas: 3}},
		} {
			Expect(writer.Client.Create(ctx, object, client.DryRunAll)).To(Succeed(), "%T", object)
		}
	})
})
