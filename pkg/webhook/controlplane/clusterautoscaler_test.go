// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package controlplane_test

import (
	"encoding/json"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	kubernetesclient "github.com/gardener/gardener/pkg/client/kubernetes"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	gomegatypes "github.com/onsi/gomega/types"
	admissionv1 "k8s.io/api/admission/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	fakeclient "sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/codec"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	. "github.com/gardener/gardener-extension-provider-hybrid/pkg/webhook/controlplane"
)

var _ = Describe("cluster-autoscaler", func() {
	const (
		shoot = "shoot--a--b"
		flag  = "--max-total-unready-percentage=100"
	)

	var (
		pools   []gardencorev1beta1.Worker
		profile *v1alpha1.CloudProfileConfig
		command []string
		name    string
	)

	BeforeEach(func() {
		name, command = "cluster-autoscaler", []string{"./cluster-autoscaler", "--nodes=1:3:shoot--a--b.a"}
		profile = &v1alpha1.CloudProfileConfig{Sites: []v1alpha1.CloudProfileSite{
			{Name: "racks", Zones: []v1alpha1.SiteZone{{Name: "hall-1"}, {Name: "hall-2"}}, Metal: &v1alpha1.MetalProfile{}},
			{Name: "cloud", Zones: []v1alpha1.SiteZone{{Name: "az"}}, OpenStack: &v1alpha1.OpenStackProfile{}},
		}}
	})

	raw := func(object any) runtime.RawExtension {
		content, err := json.Marshal(object)
		Expect(err).NotTo(HaveOccurred())
		return runtime.RawExtension{Raw: content}
	}
	core := func(kind string) metav1.TypeMeta {
		return metav1.TypeMeta{APIVersion: "core.gardener.cloud/v1beta1", Kind: kind}
	}
	pool := func(maximum int32, zones ...string) gardencorev1beta1.Worker {
		return gardencorev1beta1.Worker{Name: zones[0], Maximum: maximum, Zones: zones}
	}

	// review sends the Deployment to the webhook.
	review := func(ctx SpecContext) admission.Response {
		GinkgoHelper()
		config, err := codec.Encode(&v1alpha1.InfrastructureConfig{Sites: []v1alpha1.InfrastructureSite{{Name: "racks"}, {Name: "cloud"}}})
		Expect(err).NotTo(HaveOccurred())
		cloudProfile := &gardencorev1beta1.CloudProfile{TypeMeta: core("CloudProfile")}
		if profile != nil {
			cloudProfile.Spec.ProviderConfig, err = codec.Encode(profile)
			Expect(err).NotTo(HaveOccurred())
		}
		cluster := &extensionsv1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: shoot}, Spec: extensionsv1alpha1.ClusterSpec{
			CloudProfile: raw(cloudProfile),
			Shoot: raw(&gardencorev1beta1.Shoot{TypeMeta: core("Shoot"), Spec: gardencorev1beta1.ShootSpec{
				Provider: gardencorev1beta1.Provider{InfrastructureConfig: config, Workers: pools}}}),
		}}
		webhook, err := New(fakeManager{
			client: fakeclient.NewClientBuilder().WithScheme(kubernetesclient.SeedScheme).WithObjects(cluster).Build()})
		Expect(err).NotTo(HaveOccurred())
		return webhook.Webhook.Handle(ctx, admission.Request{AdmissionRequest: admissionv1.AdmissionRequest{
			Kind: metav1.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"},
			Object: raw(&appsv1.Deployment{
				TypeMeta:   metav1.TypeMeta{APIVersion: "apps/v1", Kind: "Deployment"},
				ObjectMeta: metav1.ObjectMeta{Name: "cluster-autoscaler", Namespace: shoot},
				Spec: appsv1.DeploymentSpec{Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
					Containers: []corev1.Container{{Name: name, Command: command}}}}},
			}),
		}})
	}

	DescribeTable("the limit of unready nodes",
		func(ctx SpecContext, patch gomegatypes.GomegaMatcher, used ...gardencorev1beta1.Worker) {
			pools = used
			response := review(ctx)
			Expect(response.Allowed).To(BeTrue(), "%v", response.Result)
			Expect(string(response.Patch)).To(patch)
		},
		Entry("is off with a pool on several sites", ContainSubstring(flag), pool(3, "hall-1", "az")),
		Entry("is off with pools on several sites", ContainSubstring(flag), pool(3, "hall-1"), pool(3, "az")),
		Entry("is as it was with several zones of one site", BeEmpty(), pool(3, "hall-1", "hall-2")),
		Entry("is as it was if all others are never used", BeEmpty(), pool(3, "hall-1"), pool(0, "az")),
		Entry("is as it was without pools", BeEmpty()),
	)

	It("keeps the flag that is set already, and replaces one with another value", func(ctx SpecContext) {
		pools, command = []gardencorev1beta1.Worker{pool(3, "hall-1", "az")}, []string{"./cluster-autoscaler", flag}
		Expect(review(ctx).Patch).To(BeEmpty())
		command[1] = "--max-total-unready-percentage=45"
		Expect(string(review(ctx).Patch)).To(ContainSubstring(flag))
	})

	It("leaves other containers alone", func(ctx SpecContext) {
		pools, name = []gardencorev1beta1.Worker{pool(3, "hall-1", "az")}, "sidecar"
		Expect(review(ctx).Patch).To(BeEmpty())
	})

	It("is refused if the sites are unknown", func(ctx SpecContext) {
		profile = nil
		response := review(ctx)
		Expect(response.Allowed).To(BeFalse())
		Expect(response.Result.Message).To(ContainSubstring("CloudProfile spec.providerConfig"))
	})
})
