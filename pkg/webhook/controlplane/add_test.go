// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package controlplane_test

import (
	"encoding/json"

	extensionswebhook "github.com/gardener/gardener/extensions/pkg/webhook"
	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	kubernetesclient "github.com/gardener/gardener/pkg/client/kubernetes"
	"github.com/go-logr/logr"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	admissionv1 "k8s.io/api/admission/v1"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	fakeclient "sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	. "github.com/gardener/gardener-extension-provider-hybrid/pkg/webhook/controlplane"
)

// fakeManager is a manager with a client.
type fakeManager struct {
	manager.Manager

	client client.Client
}

func (m fakeManager) GetClient() client.Client   { return m.client }
func (m fakeManager) GetScheme() *runtime.Scheme { return kubernetesclient.SeedScheme }
func (m fakeManager) GetLogger() logr.Logger     { return logr.Discard() }

var _ = Describe("Webhook", func() {
	const shoot = "shoot--a--b"

	raw := func(object any) runtime.RawExtension {
		content, err := json.Marshal(object)
		Expect(err).NotTo(HaveOccurred())
		return runtime.RawExtension{Raw: content}
	}

	It("works for shoots of our type, on what gardenlet marks", func() {
		webhook, err := New(fakeManager{})
		Expect(err).NotTo(HaveOccurred())
		Expect(webhook.Target).To(Equal(extensionswebhook.TargetSeed))
		Expect(webhook.NamespaceSelector.MatchExpressions).To(ConsistOf(metav1.LabelSelectorRequirement{
			Key: "shoot.gardener.cloud/provider", Operator: metav1.LabelSelectorOpIn, Values: []string{"hybrid"},
		}))
		Expect(webhook.ObjectSelector.MatchLabels).To(Equal(map[string]string{
			"provider.extensions.gardener.cloud/mutated-by-controlplane-webhook": "true"}))
	})

	It("reads nothing but the Shoot of a Cluster", func(ctx SpecContext) {
		cluster := &extensionsv1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: shoot}, Spec: extensionsv1alpha1.ClusterSpec{
			CloudProfile: raw(map[string]string{"kind": "Unknown"}),
			Seed:         new(raw(map[string]string{"kind": "Unknown"})),
			Shoot:        raw(&gardencorev1beta1.Shoot{TypeMeta: metav1.TypeMeta{APIVersion: "core.gardener.cloud/v1beta1", Kind: "Shoot"}}),
		}}
		reader := fakeclient.NewClientBuilder().WithScheme(kubernetesclient.SeedScheme).WithObjects(cluster).Build()
		webhook, err := New(fakeManager{client: reader})
		Expect(err).NotTo(HaveOccurred())
		deployment := &appsv1.Deployment{
			TypeMeta:   metav1.TypeMeta{APIVersion: "apps/v1", Kind: "Deployment"},
			ObjectMeta: metav1.ObjectMeta{Name: "machine-controller-manager", Namespace: shoot},
		}
		response := webhook.Webhook.Handle(ctx, admission.Request{AdmissionRequest: admissionv1.AdmissionRequest{
			Kind: metav1.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}, Object: raw(deployment),
		}})
		Expect(response.Allowed).To(BeTrue(), "%v", response.Result)
		Expect(response.Patch).To(ContainSubstring("machine-controller-manager-provider-hybrid"))
	})
})
