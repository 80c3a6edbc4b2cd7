// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package gardenapi

import (
	"context"

	gardencorev1 "github.com/gardener/gardener/pkg/apis/core/v1"
	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	v1beta1constants "github.com/gardener/gardener/pkg/apis/core/v1beta1/constants"
	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	securityv1alpha1 "github.com/gardener/gardener/pkg/apis/security/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
)

const (
	// Namespace is that of the project, in which the Shoots of the examples are.
	Namespace = "garden-local"
	// Credentials is the name of the Shoots' CredentialsBinding and of its Secret.
	Credentials = "hybrid"
)

// ProviderResources are what the provider is registered for.
func ProviderResources() []gardencorev1beta1.ControllerResource {
	var resources []gardencorev1beta1.ControllerResource
	for _, kind := range []string{extensionsv1alpha1.ControlPlaneResource, extensionsv1alpha1.InfrastructureResource,
		extensionsv1alpha1.WorkerResource} {
		resources = append(resources, gardencorev1beta1.ControllerResource{Kind: kind, Type: v1alpha1.ProviderType})
	}
	return resources
}

// CreateProject creates a project for Shoots, and registers the extensions that Shoots need beside the provider, and those given.
func (g *Garden) CreateProject(ctx context.Context, resources ...gardencorev1beta1.ControllerResource) error {
	if err := g.createNamespace(ctx, Namespace, map[string]string{
		v1beta1constants.GardenRole:  v1beta1constants.GardenRoleProject,
		v1beta1constants.ProjectName: "local",
	}); err != nil {
		return err
	}
	project := &gardencorev1beta1.Project{
		ObjectMeta: metav1.ObjectMeta{Name: "local"},
		Spec:       gardencorev1beta1.ProjectSpec{Namespace: new(Namespace)},
	}
	registration := &gardencorev1beta1.ControllerRegistration{ObjectMeta: metav1.ObjectMeta{Name: "others"}}
	registration.Spec.Resources = resources
	registration.Spec.Deployment = &gardencorev1beta1.ControllerRegistrationDeployment{
		DeploymentRefs: []gardencorev1beta1.DeploymentRef{{Name: "others"}},
	}
	for _, extension := range [][2]string{
		{extensionsv1alpha1.NetworkResource, "calico"},
		{extensionsv1alpha1.NetworkResource, "cilium"},
		{extensionsv1alpha1.OperatingSystemConfigResource, "gardenlinux"},
		{extensionsv1alpha1.OperatingSystemConfigResource, "debian"},
	} {
		registration.Spec.Resources = append(registration.Spec.Resources,
			gardencorev1beta1.ControllerResource{Kind: extension[0], Type: extension[1]})
	}
	deployment := &gardencorev1.ControllerDeployment{
		ObjectMeta: metav1.ObjectMeta{Name: "others"},
		Helm:       &gardencorev1.HelmControllerDeployment{RawChart: []byte("none")},
	}
	for _, object := range []client.Object{project, deployment, registration} {
		if err := g.Client.Create(ctx, object); err != nil {
			return err
		}
	}
	return nil
}

// CreateCredentials creates the credentials of the project's Shoots.
func (g *Garden) CreateCredentials(ctx context.Context, data map[string][]byte) error {
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: Credentials, Namespace: Namespace, Labels: map[string]string{
			v1beta1constants.LabelShootProviderPrefix + v1alpha1.ProviderType: "true",
		}},
		Data: data,
	}
	binding := &securityv1alpha1.CredentialsBinding{
		ObjectMeta:     metav1.ObjectMeta{Name: Credentials, Namespace: Namespace},
		Provider:       securityv1alpha1.CredentialsBindingProvider{Type: v1alpha1.ProviderType},
		CredentialsRef: corev1.ObjectReference{APIVersion: "v1", Kind: "Secret", Namespace: Namespace, Name: Credentials},
	}
	if err := g.Client.Create(ctx, secret); err != nil {
		return err
	}
	return g.Client.Create(ctx, binding)
}

func (g *Garden) createNamespace(ctx context.Context, name string, labels map[string]string) error {
	return client.IgnoreAlreadyExists(g.Client.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}}))
}
