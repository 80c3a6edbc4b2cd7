// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package shootsites reads what the objects of a shoot say about its sites. It is the only reader of them for controllers and webhooks.
package shootsites

import (
	"context"
	"errors"
	"fmt"

	extensionscontroller "github.com/gardener/gardener/extensions/pkg/controller"
	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	kubernetesutils "github.com/gardener/gardener/pkg/utils/kubernetes"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/codec"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/lists"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
)

// Source refers to the documents that are not in the Cluster.
type Source struct {
	// Namespace is the namespace of the shoot in the seed.
	Namespace string
	// Config is the InfrastructureConfig, and Field its name in errors.
	Config *runtime.RawExtension
	Field  string
	// State is the InfrastructureState. It may be nil.
	State *runtime.RawExtension
	// Secret is the shoot's Secret.
	Secret corev1.SecretReference
}

// FindInfrastructure returns the Infrastructure of type hybrid in the namespace, nil if there is none.
func FindInfrastructure(ctx context.Context, reader client.Reader, namespace string) (*extensionsv1alpha1.Infrastructure, error) {
	infras := &extensionsv1alpha1.InfrastructureList{}
	if err := reader.List(ctx, infras, client.InNamespace(namespace)); err != nil {
		return nil, fmt.Errorf("listing Infrastructures: %w", err)
	}
	return lists.Find(infras.Items, func(i *extensionsv1alpha1.Infrastructure) bool { return i.Spec.Type == v1alpha1.ProviderType }), nil
}

// OfInfrastructure returns the Source in an Infrastructure.
func OfInfrastructure(infra *extensionsv1alpha1.Infrastructure) Source {
	return Source{
		Namespace: infra.Namespace,
		Config:    infra.Spec.ProviderConfig,
		Field:     "spec.providerConfig",
		State:     infra.Status.State,
		Secret:    infra.Spec.SecretRef,
	}
}

// OfShoot returns the Source in the Cluster's Shoot.
func OfShoot(namespace string, secret corev1.SecretReference, cluster *extensionscontroller.Cluster) Source {
	source := Source{Namespace: namespace, Field: "infrastructureConfig of the Shoot", Secret: secret}
	if cluster.Shoot != nil {
		source.Config = cluster.Shoot.Spec.Provider.InfrastructureConfig
	}
	return source
}

// Input is what is known about the sites of a shoot.
type Input struct {
	site.Input
	// SecretVersion changes whenever the credentials change. It does not reveal them.
	SecretVersion string
}

// Read returns everything that could be read, also beside errors. configErr is about the CloudProfile and the configuration, err about the
// state and the Secret.
func Read(ctx context.Context, reader client.Reader, source Source, cluster *extensionscontroller.Cluster) (input Input, configErr,
	err error) {
	input.Input, configErr = Configured(source, cluster)
	input.Pods = Pods(cluster.Shoot)
	var stateErr error
	input.State, stateErr = DecodeOptional[v1alpha1.InfrastructureState]("status.state", source.State)
	secret, secretErr := kubernetesutils.GetSecretByReference(ctx, reader, &source.Secret)
	if secretErr != nil {
		secretErr = fmt.Errorf("spec.secretRef: %w", secretErr)
	} else {
		input.Secret, input.SecretVersion = secret.Data, string(secret.UID)+"/"+secret.ResourceVersion
	}
	return input, configErr, errors.Join(stateErr, secretErr)
}

// Configured returns what the CloudProfile, the Shoot and the configuration say, without the state, the Secret and pod ranges.
func Configured(source Source, cluster *extensionscontroller.Cluster) (site.Input, error) {
	input := site.Input{Shoot: TechnicalID(source.Namespace, cluster)}
	var profileErr, configErr error
	input.Profile, profileErr = Profile(cluster)
	input.Config, configErr = Decode[v1alpha1.InfrastructureConfig](source.Field, source.Config)
	return input, errors.Join(profileErr, configErr)
}

// Profile returns the configuration in the Cluster's CloudProfile.
func Profile(cluster *extensionscontroller.Cluster) (*v1alpha1.CloudProfileConfig, error) {
	var raw *runtime.RawExtension
	if cluster.CloudProfile != nil {
		raw = cluster.CloudProfile.Spec.ProviderConfig
	}
	return Decode[v1alpha1.CloudProfileConfig]("CloudProfile spec.providerConfig", raw)
}

// TechnicalID returns the technical ID of the shoot, which defaults to the namespace.
func TechnicalID(namespace string, cluster *extensionscontroller.Cluster) string {
	if cluster.Shoot != nil && cluster.Shoot.Status.TechnicalID != "" {
		return cluster.Shoot.Status.TechnicalID
	}
	return namespace
}

// Pods returns the shoot's pod ranges, one per IP family. The Shoot may be nil.
func Pods(shoot *gardencorev1beta1.Shoot) []string {
	switch {
	case shoot == nil:
		return nil
	case shoot.Status.Networking != nil && len(shoot.Status.Networking.Pods) > 0:
		return shoot.Status.Networking.Pods
	case shoot.Spec.Networking != nil && shoot.Spec.Networking.Pods != nil:
		return []string{*shoot.Spec.Networking.Pods}
	default:
		return nil
	}
}

// Decode decodes a document. The error is of platform.ClassConfiguration and begins with what.
func Decode[T any, P codec.Object[T]](what string, raw *runtime.RawExtension) (P, error) {
	document, err := codec.Decode[T, P](raw)
	if err != nil {
		return nil, platform.NewError(platform.ClassConfiguration, "%s: %w", what, err)
	}
	return document, nil
}

// DecodeOptional is Decode for a document that may be missing. It never returns a nil document.
func DecodeOptional[T any, P codec.Object[T]](what string, raw *runtime.RawExtension) (P, error) {
	document, err := Decode[T, P](what, raw)
	if err == nil {
		return document, nil
	}
	if errors.Is(err, codec.ErrEmpty) {
		err = nil
	}
	return P(new(T)), err
}
