// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package credentials_test

import (
	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/admission/credentials"
)

var _ = Describe("#OfShoot", func() {
	internalSecret := &gardencorev1beta1.InternalSecret{ObjectMeta: meta(namespace, "internal"),
		Data: map[string][]byte{"racks.token": []byte("internal")}}
	reader := newReader(
		newSecret(namespace, "mine", "mine"), newSecret("other", "shared", "shared"), internalSecret,
		newBinding("secret", "v1", "Secret", namespace, "mine"),
		newBinding("shared", "v1", "Secret", "other", "shared"),
		newBinding("internal", "core.gardener.cloud/v1beta1", "InternalSecret", namespace, "internal"),
		newBinding("identity", "security.gardener.cloud/v1alpha1", "WorkloadIdentity", namespace, "identity"),
		newBinding("gone", "v1", "Secret", namespace, "gone"),
		newSecretBinding("secret", namespace, "mine"),
		newSecretBinding("gone", namespace, "gone"),
	)
	// empty is a cache that has seen nothing yet.
	empty := newReader()
	credentialsBinding := func(name string) *gardencorev1beta1.Shoot {
		return newShoot("s", func(spec *gardencorev1beta1.ShootSpec) { spec.CredentialsBindingName = new(name) })
	}
	secretBinding := func(name string) *gardencorev1beta1.Shoot {
		return newShoot("s", func(spec *gardencorev1beta1.ShootSpec) { spec.SecretBindingName = new(name) })
	}

	DescribeTable("finds",
		func(ctx SpecContext, shoot *gardencorev1beta1.Shoot, value string) {
			Expect(credentials.OfShoot(ctx, empty, reader, shoot)).To(HaveKeyWithValue("racks.token", []byte(value)))
		},
		Entry("a Secret", credentialsBinding("secret"), "mine"),
		Entry("a Secret of another namespace", credentialsBinding("shared"), "shared"),
		Entry("an InternalSecret", credentialsBinding("internal"), "internal"),
		Entry("the Secret of a SecretBinding", secretBinding("secret"), "mine"),
	)

	DescribeTable("does not find",
		func(ctx SpecContext, shoot *gardencorev1beta1.Shoot) {
			_, err := credentials.OfShoot(ctx, empty, reader, shoot)
			Expect(apierrors.IsNotFound(err)).To(BeTrue(), "%v", err)
		},
		Entry("the CredentialsBinding", credentialsBinding("none")),
		Entry("the SecretBinding", secretBinding("none")),
		Entry("the Secret of a CredentialsBinding", credentialsBinding("gone")),
		Entry("the Secret of a SecretBinding", secretBinding("gone")),
	)

	It("reads a binding from the cache if it is there", func(ctx SpecContext) {
		cache := newReader(newBinding("old", "v1", "Secret", namespace, "mine"))
		Expect(credentials.OfShoot(ctx, cache, reader, credentialsBinding("old"))).To(HaveKeyWithValue("racks.token", []byte("mine")))
	})

	It("refuses other credentials", func(ctx SpecContext) {
		_, err := credentials.OfShoot(ctx, empty, reader, credentialsBinding("identity"))
		Expect(err).To(MatchError("CredentialsBinding garden-local/identity refers to a WorkloadIdentity: credentials of type hybrid must be a " +
			"Secret or an InternalSecret"))
	})

	It("says when there is no binding", func(ctx SpecContext) {
		_, err := credentials.OfShoot(ctx, empty, reader, newShoot("s", func(*gardencorev1beta1.ShootSpec) {}))
		Expect(err).To(MatchError(credentials.ErrNoBinding))
	})
})

var _ = Describe("#ShootsOf", func() {
	shoot := func(name, provider, credentialsBinding, secretBinding string) *gardencorev1beta1.Shoot {
		return newShoot(name, func(spec *gardencorev1beta1.ShootSpec) {
			spec.Provider.Type = provider
			if credentialsBinding != "" {
				spec.CredentialsBindingName = new(credentialsBinding)
			}
			if secretBinding != "" {
				spec.SecretBindingName = new(secretBinding)
			}
		})
	}
	elsewhere := shoot("elsewhere", "hybrid", "secret", "")
	elsewhere.Namespace = "garden-elsewhere"
	reader := newReader(
		newBinding("secret", "v1", "Secret", "other", "shared"),
		newBinding("internal", "core.gardener.cloud/v1beta1", "InternalSecret", "other", "shared"),
		newSecretBinding("secret", "other", "shared"),
		shoot("one", "hybrid", "secret", ""), shoot("two", "hybrid", "", "secret"), shoot("three", "hybrid", "internal", ""),
		shoot("of-another-provider", "local", "secret", ""), shoot("without", "hybrid", "", ""), elsewhere,
	)

	DescribeTable("finds Shoots through all bindings",
		func(ctx SpecContext, secret client.Object, names ...string) {
			shoots, err := credentials.ShootsOf(ctx, reader, secret)
			Expect(err).NotTo(HaveOccurred())
			var found []string
			for _, shoot := range shoots {
				found = append(found, shoot.Name)
			}
			Expect(found).To(ConsistOf(names))
		},
		Entry("of a Secret", newSecret("other", "shared", ""), "one", "two"),
		Entry("of an InternalSecret of the same name", &gardencorev1beta1.InternalSecret{ObjectMeta: meta("other", "shared")}, "three"),
		Entry("of a Secret of the same name in another namespace", newSecret(namespace, "shared", "")),
	)

	It("knows no other credentials", func(ctx SpecContext) {
		_, err := credentials.ShootsOf(ctx, reader, &corev1.ConfigMap{})
		Expect(err).To(HaveOccurred())
	})
})
