// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package credentials_test

import (
	"testing"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	securityv1alpha1 "github.com/gardener/gardener/pkg/apis/security/v1alpha1"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	fakeclient "sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/admission/credentials"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
)

func TestCredentials(t *testing.T) {
	RegisterFailHandler(Fail)
	RunSpecs(t, "Admission Credentials Suite")
}

const namespace = "garden-local"

var scheme = runtime.NewScheme()

func init() {
	utilruntime.Must(corev1.AddToScheme(scheme))
	utilruntime.Must(gardencorev1beta1.AddToScheme(scheme))
	utilruntime.Must(securityv1alpha1.AddToScheme(scheme))
}

// newReader returns a reader with the indexes of a cache.
func newReader(objects ...client.Object) client.Reader {
	builder := fakeclient.NewClientBuilder().WithScheme(scheme).WithObjects(objects...)
	for _, index := range credentials.Indexes() {
		builder = builder.WithIndex(index.Object, index.Field, index.Extract)
	}
	return builder.Build()
}

func meta(namespace, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: namespace, Name: name}
}

func newSecret(namespace, name, value string) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: meta(namespace, name), Data: map[string][]byte{"racks.token": []byte(value)}}
}

func newBinding(name, apiVersion, kind, credentialsNamespace, credentials string) *securityv1alpha1.CredentialsBinding {
	return &securityv1alpha1.CredentialsBinding{
		ObjectMeta:     meta(namespace, name),
		Provider:       securityv1alpha1.CredentialsBindingProvider{Type: v1alpha1.ProviderType},
		CredentialsRef: corev1.ObjectReference{APIVersion: apiVersion, Kind: kind, Namespace: credentialsNamespace, Name: credentials},
	}
}

func newSecretBinding(name, secretNamespace, secret string) *gardencorev1beta1.SecretBinding {
	return &gardencorev1beta1.SecretBinding{ObjectMeta: meta(namespace, name),
		SecretRef: corev1.SecretReference{Namespace: secretNamespace, Name: secret}}
}

func newShoot(name string, change func(*gardencorev1beta1.ShootSpec)) *gardencorev1beta1.Shoot {
	shoot := &gardencorev1beta1.Shoot{ObjectMeta: meta(namespace, name)}
	shoot.Spec.Provider.Type = v1alpha1.ProviderType
	change(&shoot.Spec)
	return shoot
}
