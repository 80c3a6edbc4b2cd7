// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package admission_test

import (
	"context"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	securityv1alpha1 "github.com/gardener/gardener/pkg/apis/security/v1alpha1"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/gardenapi"
)

var _ = beforeWebhooks(func(ctx context.Context) {
	for _, object := range []client.Object{
		&gardencorev1beta1.InternalSecret{ObjectMeta: metav1.ObjectMeta{Namespace: gardenapi.Namespace, Name: "odd", Labels: providerLabels},
			Data: map[string][]byte{"kubeconfig": []byte(secretText)}},
		&gardencorev1beta1.InternalSecret{ObjectMeta: metav1.ObjectMeta{Namespace: gardenapi.Namespace, Name: "good"}, Data: credentials()},
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: gardenapi.Namespace, Name: "good"}, Data: credentials()},
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: gardenapi.Namespace, Name: "another"},
			Data: map[string][]byte{"kubeconfig": []byte(secretText)}},
		&securityv1alpha1.WorkloadIdentity{
			ObjectMeta: metav1.ObjectMeta{Namespace: gardenapi.Namespace, Name: "identity"},
			Spec: securityv1alpha1.WorkloadIdentitySpec{Audiences: []string{"test"},
				TargetSystem: securityv1alpha1.TargetSystem{Type: v1alpha1.ProviderType}},
		},
	} {
		Expect(garden.Client.Create(ctx, object)).To(Succeed())
	}
})

func newCredentialsBinding(name, apiVersion, kind, credentials string) *securityv1alpha1.CredentialsBinding {
	return &securityv1alpha1.CredentialsBinding{
		ObjectMeta:     metav1.ObjectMeta{Namespace: gardenapi.Namespace, Name: name},
		Provider:       securityv1alpha1.CredentialsBindingProvider{Type: v1alpha1.ProviderType},
		CredentialsRef: corev1.ObjectReference{APIVersion: apiVersion, Kind: kind, Namespace: gardenapi.Namespace, Name: credentials},
	}
}

func newSecretBinding(provider, secret string) *gardencorev1beta1.SecretBinding {
	return &gardencorev1beta1.SecretBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: gardenapi.Namespace, Name: "new"},
		Provider:   &gardencorev1beta1.SecretBindingProvider{Type: provider},
		SecretRef:  corev1.SecretReference{Namespace: gardenapi.Namespace, Name: secret},
	}
}

var _ = Describe("Bindings", func() {
	const coreVersion = "core.gardener.cloud/v1beta1"

	DescribeTable("are refused",
		func(ctx SpecContext, binding client.Object, fieldPath, reason string) {
			refuseCreation(ctx, binding, fieldPath, reason)
		},
		Entry("a Secret with a kubeconfig", newCredentialsBinding("new", "v1", "Secret", "odd"), "data[kubeconfig]", "must be <site>.<key>"),
		Entry("an InternalSecret with a kubeconfig", newCredentialsBinding("new", coreVersion, "InternalSecret", "odd"), "data[kubeconfig]",
			"must be <site>.<key>"),
		// Gardener asks us about a copy that has the label, for those who may read the Secret.
		Entry("a Secret of which nobody said that it is ours", newCredentialsBinding("new", "v1", "Secret", "another"), "data[kubeconfig]",
			"must be <site>.<key>"),
		Entry("a WorkloadIdentity", newCredentialsBinding("new", "security.gardener.cloud/v1alpha1", "WorkloadIdentity", "identity"),
			"credentialsRef", "credentials of type hybrid must be a Secret or an InternalSecret"),
		Entry("a SecretBinding of a Secret with a kubeconfig", newSecretBinding(v1alpha1.ProviderType, "odd"), "data[kubeconfig]",
			"must be <site>.<key>"),
		Entry("a SecretBinding of two types", newSecretBinding("hybrid,openstack", "good"), "provider.type", "must be hybrid alone"),
	)

	DescribeTable("are accepted",
		func(ctx SpecContext, binding client.Object) {
			Expect(garden.Client.Create(ctx, binding, client.DryRunAll)).To(Succeed())
		},
		Entry("a Secret", newCredentialsBinding("new", "v1", "Secret", "good")),
		Entry("an InternalSecret", newCredentialsBinding("new", coreVersion, "InternalSecret", "good")),
		Entry("a SecretBinding", newSecretBinding(v1alpha1.ProviderType, "good")),
		Entry("of another type", newSecretBinding("other", "good")),
	)

	It("can be labelled", func(ctx SpecContext) {
		binding := current(ctx, newCredentialsBinding(gardenapi.Credentials, "v1", "Secret", gardenapi.Credentials))
		binding.Labels["a"] = "b"
		Expect(garden.Client.Update(ctx, binding, client.DryRunAll)).To(Succeed())
	})
})
