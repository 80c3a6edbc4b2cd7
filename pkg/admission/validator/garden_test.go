// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package validator_test

import (
	"os"
	"path/filepath"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	securityv1alpha1 "github.com/gardener/gardener/pkg/apis/security/v1alpha1"
	"github.com/gardener/gardener/pkg/client/kubernetes"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	fakeclient "sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/yaml"

	. "github.com/gardener/gardener-extension-provider-hybrid/pkg/admission/validator"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/codec"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
)

const secretName = "hybrid"

// example reads an object from a file of the examples.
func example[T any](file string) *T {
	GinkgoHelper()
	data, err := os.ReadFile(filepath.Join("..", "..", "..", "example", file))
	Expect(err).NotTo(HaveOccurred())
	object := new(T)
	Expect(yaml.UnmarshalStrict(data, object)).To(Succeed())
	return object
}

// garden is what a Shoot on sites of all platforms is validated with.
type garden struct {
	profile *gardencorev1beta1.CloudProfile
	shoot   *gardencorev1beta1.Shoot
	secret  *corev1.Secret
	binding *securityv1alpha1.CredentialsBinding
	others  []client.Object
	// cached are further objects that are cached.
	cached []client.Object
}

func newGarden() *garden {
	GinkgoHelper()
	g := &garden{
		profile: example[gardencorev1beta1.CloudProfile]("cloudprofile-all-platforms.yaml"),
		shoot:   example[gardencorev1beta1.Shoot]("shoot-all-platforms.yaml"),
	}
	g.secret = &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: g.shoot.Namespace, Name: secretName}, Data: map[string][]byte{}}
	for key, value := range example[corev1.Secret](filepath.Join("openstack-vsphere-metal", "30-secret-cloudprovider.yaml")).StringData {
		g.secret.Data[key] = []byte(value)
	}
	g.binding = &securityv1alpha1.CredentialsBinding{
		ObjectMeta:     metav1.ObjectMeta{Namespace: g.shoot.Namespace, Name: *g.shoot.Spec.CredentialsBindingName},
		CredentialsRef: corev1.ObjectReference{APIVersion: "v1", Kind: "Secret", Namespace: g.secret.Namespace, Name: g.secret.Name},
	}
	return g
}

// cache reads CloudProfiles and Shoots.
func (g *garden) cache() client.Client {
	builder := fakeclient.NewClientBuilder().WithScheme(kubernetes.GardenScheme).WithObjects(g.profile).WithObjects(g.cached...)
	for _, index := range Indexes() {
		builder = builder.WithIndex(index.Object, index.Field, index.Extract)
	}
	return builder.Build()
}

// secrets reads bindings and Secrets.
func (g *garden) secrets() client.Client {
	objects := append([]client.Object{}, g.others...)
	if g.binding != nil {
		objects = append(objects, g.binding)
	}
	if g.secret != nil {
		objects = append(objects, g.secret)
	}
	return fakeclient.NewClientBuilder().WithScheme(kubernetes.GardenScheme).WithObjects(objects...).Build()
}

// edit changes a document of the provider API.
func edit[T any, P codec.Object[T]](raw **runtime.RawExtension, change func(P)) {
	GinkgoHelper()
	document, err := codec.Decode[T, P](*raw)
	Expect(err).NotTo(HaveOccurred())
	change(document)
	*raw, err = codec.Encode(document)
	Expect(err).NotTo(HaveOccurred())
}

func editProfile(g *garden, change func(*v1alpha1.CloudProfileConfig)) {
	GinkgoHelper()
	edit(&g.profile.Spec.ProviderConfig, change)
}

func editInfrastructure(shoot *gardencorev1beta1.Shoot, change func(*v1alpha1.InfrastructureConfig)) {
	GinkgoHelper()
	edit(&shoot.Spec.Provider.InfrastructureConfig, change)
}

func editControlPlane(shoot *gardencorev1beta1.Shoot, change func(*v1alpha1.ControlPlaneConfig)) {
	GinkgoHelper()
	edit(&shoot.Spec.Provider.ControlPlaneConfig, change)
}

func editWorker(shoot *gardencorev1beta1.Shoot, pool int, change func(*v1alpha1.WorkerConfig)) {
	GinkgoHelper()
	edit(&shoot.Spec.Provider.Workers[pool].ProviderConfig, change)
}

// broken is a document that cannot be decoded.
func broken() *runtime.RawExtension {
	return &runtime.RawExtension{Raw: []byte(`{"apiVersion":"hybrid.provider.extensions.gardener.cloud/v1","kind":"Old"}`)}
}
