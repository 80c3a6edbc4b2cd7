// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package infrastructure

import (
	"context"
	"fmt"

	extensionscontroller "github.com/gardener/gardener/extensions/pkg/controller"
	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	kubernetesutils "github.com/gardener/gardener/pkg/utils/kubernetes"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/codec"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
)

// read collects what is known about the shoot's sites.
func (a *actuator) read(ctx context.Context, infra *extensionsv1alpha1.Infrastructure, cluster *extensionscontroller.Cluster) (site.Input, error) {
	input := site.Input{Shoot: technicalID(infra, cluster), Pods: podRanges(cluster)}

	var err error
	if input.Profile, err = decode[v1alpha1.CloudProfileConfig]("CloudProfile spec.providerConfig", profileConfig(cluster)); err != nil {
		return input, err
	}
	if input.Config, err = decode[v1alpha1.InfrastructureConfig]("spec.providerConfig", infra.Spec.ProviderConfig); err != nil {
		return input, err
	}
	if input.State, err = readState(infra); err != nil {
		return input, err
	}
	input.Secret, err = a.readSecret(ctx, infra)
	return input, err
}

// readForDeletion collects what is known about the shoot's sites and does without a configuration that cannot be read: what
// exists stands in the state.
func (a *actuator) readForDeletion(ctx context.Context, infra *extensionsv1alpha1.Infrastructure, cluster *extensionscontroller.Cluster) (site.Input, error) {
	input := site.Input{Shoot: technicalID(infra, cluster), Pods: podRanges(cluster)}

	var err error
	if input.State, err = readState(infra); err != nil {
		return input, err
	}
	if input.Secret, err = a.readSecret(ctx, infra); err != nil {
		return input, err
	}
	input.Profile, _ = codec.Decode[v1alpha1.CloudProfileConfig](profileConfig(cluster))
	input.Config, _ = codec.Decode[v1alpha1.InfrastructureConfig](infra.Spec.ProviderConfig)
	return input, nil
}

func profileConfig(cluster *extensionscontroller.Cluster) *runtime.RawExtension {
	if cluster.CloudProfile == nil {
		return nil
	}
	return cluster.CloudProfile.Spec.ProviderConfig
}

func (a *actuator) readSecret(ctx context.Context, infra *extensionsv1alpha1.Infrastructure) (map[string][]byte, error) {
	secret, err := kubernetesutils.GetSecretByReference(ctx, a.client, &corev1.SecretReference{Name: infra.Spec.SecretRef.Name, Namespace: infra.Spec.SecretRef.Namespace})
	if err != nil {
		return nil, fmt.Errorf("spec.secretRef: %w", err)
	}
	return secret.Data, nil
}

func readState(infra *extensionsv1alpha1.Infrastructure) (*v1alpha1.InfrastructureState, error) {
	if infra.Status.State == nil || len(infra.Status.State.Raw) == 0 {
		return &v1alpha1.InfrastructureState{}, nil
	}
	return decode[v1alpha1.InfrastructureState]("status.state", infra.Status.State)
}

func readStatus(infra *extensionsv1alpha1.Infrastructure) *v1alpha1.InfrastructureStatus {
	status, err := codec.Decode[v1alpha1.InfrastructureStatus](infra.Status.ProviderStatus)
	if err != nil {
		return &v1alpha1.InfrastructureStatus{}
	}
	return status
}

func decode[T any, P codec.Object[T]](field string, raw *runtime.RawExtension) (P, error) {
	decoded, err := codec.Decode[T, P](raw)
	if err != nil {
		return nil, platform.NewError(platform.ClassConfiguration, "%s: %w", field, err)
	}
	return decoded, nil
}

func podRanges(cluster *extensionscontroller.Cluster) []string {
	switch shoot := cluster.Shoot; {
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

func technicalID(infra *extensionsv1alpha1.Infrastructure, cluster *extensionscontroller.Cluster) string {
	if cluster.Shoot != nil && cluster.Shoot.Status.TechnicalID != "" {
		return cluster.Shoot.Status.TechnicalID
	}
	return infra.Namespace
}
