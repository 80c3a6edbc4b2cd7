// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package validator_test

import (
	"strings"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	securityv1alpha1 "github.com/gardener/gardener/pkg/apis/security/v1alpha1"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	. "github.com/gardener/gardener-extension-provider-hybrid/pkg/admission/validator"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
)

var _ = Describe("Bindings", func() {
	var (
		good = &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "other", Name: "good"},
			Data: map[string][]byte{"cloud.username": []byte("u")}}
		ours = map[string]string{"provider.shoot.gardener.cloud/hybrid": "true"}
		bad  = &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "other", Name: "bad", Labels: ours},
			Data: map[string][]byte{"kubeconfig": []byte("hush")}}
		// internal has the name of another Secret.
		internal = &gardencorev1beta1.InternalSecret{ObjectMeta: metav1.ObjectMeta{Namespace: "other", Name: "good", Labels: ours},
			Data: bad.Data}
		mgr = newManager(good, bad, internal)
	)

	credentialsBinding := func(provider, apiVersion, kind, name string) *securityv1alpha1.CredentialsBinding {
		return &securityv1alpha1.CredentialsBinding{
			ObjectMeta:     metav1.ObjectMeta{Namespace: "garden-local", Name: "b"},
			Provider:       securityv1alpha1.CredentialsBindingProvider{Type: provider},
			CredentialsRef: corev1.ObjectReference{APIVersion: apiVersion, Kind: kind, Namespace: "other", Name: name},
		}
	}
	secretBinding := func(provider, name string) *gardencorev1beta1.SecretBinding {
		return &gardencorev1beta1.SecretBinding{
			ObjectMeta: metav1.ObjectMeta{Namespace: "garden-local", Name: "b"},
			Provider:   &gardencorev1beta1.SecretBindingProvider{Type: provider},
			SecretRef:  corev1.SecretReference{Namespace: "other", Name: name},
		}
	}

	DescribeTable("of credentials and Secrets",
		func(ctx SpecContext, binding client.Object, expected string) {
			validator := NewBindingValidator(mgr)
			err := validator.Validate(ctx, binding, nil)
			if expected == "" {
				Expect(err).NotTo(HaveOccurred())
				return
			}
			Expect(err).To(MatchError(ContainSubstring(expected)))
			Expect(err).NotTo(MatchError(ContainSubstring("hush")))
			Expect(validator.Validate(ctx, binding, binding)).To(Succeed(), "an update changes nothing of it")
		},
		Entry("a Secret", credentialsBinding(v1alpha1.ProviderType, "v1", "Secret", "good"), ""),
		Entry("another provider", credentialsBinding("local", "v1", "Secret", "bad"), ""),
		Entry("a Secret with a kubeconfig", credentialsBinding(v1alpha1.ProviderType, "v1", "Secret", "bad"),
			"credentialsRef.data[kubeconfig]: Invalid value"),
		Entry("an InternalSecret with a kubeconfig",
			credentialsBinding(v1alpha1.ProviderType, "core.gardener.cloud/v1beta1", "InternalSecret",
				"good"), "credentialsRef.data[kubeconfig]: Invalid value"),
		Entry("a WorkloadIdentity", credentialsBinding(v1alpha1.ProviderType, "security.gardener.cloud/v1alpha1", "WorkloadIdentity", "good"),
			"credentialsRef: Forbidden: CredentialsBinding garden-local/b refers to a WorkloadIdentity: "+
				"credentials of type hybrid must be a Secret or an InternalSecret"),
		Entry("a Secret of a SecretBinding", secretBinding(v1alpha1.ProviderType, "good"), ""),
		Entry("another provider of a SecretBinding", secretBinding("local", "bad"), ""),
		Entry("no provider", &gardencorev1beta1.SecretBinding{}, ""),
		Entry("a Secret with a kubeconfig of a SecretBinding", secretBinding(v1alpha1.ProviderType, "bad"),
			"secretRef.data[kubeconfig]: Invalid value"),
		Entry("two providers", secretBinding("hybrid,openstack", "good"),
			`provider.type: Invalid value: "hybrid,openstack": must be hybrid alone`),
	)

	It("tell nothing about a Secret that is not labelled", func(ctx SpecContext) {
		unlabelled := func(names ...string) []client.Object {
			var objects []client.Object
			for _, name := range names {
				objects = append(objects,
					&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "other", Name: name}, Data: map[string][]byte{name: []byte("hush")}})
			}
			return objects
		}
		mgr := newManager(unlabelled("kubeconfig", "password")...)
		var said []string
		for _, name := range []string{"kubeconfig", "password", "none"} {
			for _, err := range []error{
				NewBindingValidator(mgr).Validate(ctx, credentialsBinding(v1alpha1.ProviderType, "v1", "Secret", name), nil),
				NewBindingValidator(mgr).Validate(ctx, secretBinding(v1alpha1.ProviderType, name), nil),
			} {
				Expect(err).To(MatchError(ContainSubstring("provider.shoot.gardener.cloud/hybrid=true")))
				_, message, _ := strings.Cut(err.Error(), "Ref: ")
				said = append(said, message)
			}
		}
		Expect(said).To(HaveEach(said[0]))
	})

	It("are nothing else", func(ctx SpecContext) {
		Expect(NewBindingValidator(mgr).Validate(ctx, good, nil)).To(MatchError(ContainSubstring("*v1.Secret")))
	})
})
