// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package infrastructure

import (
	"context"
	"errors"
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

// input is what is known about the shoot's sites.
type input struct {
	site.Input
	// secretVersion is another one for other credentials. It says nothing about them.
	secretVersion string
}

// read collects what is known about the shoot's sites.
func (a *actuator) read(ctx context.Context, infra *extensionsv1alpha1.Infrastructure, cluster *extensionscontroller.Cluster) (input, error) {
	input := newInput(infra, cluster)

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
	err = a.readSecret(ctx, infra, &input)
	return input, err
}

// readForDeletion collects what is known about the shoot's sites and does without a configuration that cannot be read: what
// exists stands in the state. What was read is returned beside the error, too.
func (a *actuator) readForDeletion(ctx context.Context, infra *extensionsv1alpha1.Infrastructure, cluster *extensionscontroller.Cluster) (input, error) {
	input := newInput(infra, cluster)
	input.Profile, _ = codec.Decode[v1alpha1.CloudProfileConfig](profileConfig(cluster))
	input.Config, _ = codec.Decode[v1alpha1.InfrastructureConfig](infra.Spec.ProviderConfig)

	state, stateErr := readState(infra)
	input.State = state
	return input, errors.Join(stateErr, a.readSecret(ctx, infra, &input))
}

func newInput(infra *extensionsv1alpha1.Infrastructure, cluster *extensionscontroller.Cluster) input {
	return input{Input: site.Input{Shoot: technicalID(infra, cluster), Pods: podRanges(cluster)}}
}

func profileConfig(cluster *extensionscontroller.Cluster) *runtime.RawExtension {
	if cluster.CloudProfile == nil {
		return nil
	}
	return cluster.CloudProfile.Spec.ProviderConfig
}

// readSecret asks the API server and no cache: credentials that were just rotated must not be missed, because nothing starts
// another reconciliation when the cache has them.
func (a *actuator) readSecret(ctx context.Context, infra *extensionsv1alpha1.Infrastructure, input *input) error {
	secret, err := kubernetesutils.GetSecretByReference(ctx, a.reader, &corev1.SecretReference{Name: infra.Spec.SecretRef.Name, Namespace: infra.Spec.SecretRef.Namespace})
	if err != nil {
		return fmt.Errorf("spec.secretRef: %w", err)
	}
	input.Secret = secret.Data
	input.secretVersion = string(secret.UID) + "/" + secret.ResourceVersion
	return nil
}

func readState(infra *extensionsv1alpha1.Infrastructure) (*v1alpha1.InfrastructureState, error) {
	if infra.Status.State == nil || len(infra.Status.State.Raw) == 0 {
		return &v1alpha1.InfrastructureState{}, nil
	}
	state, err := decode[v1alpha1.InfrastructureState]("status.state", infra.Status.State)
	if err != nil {
		return &v1alpha1.InfrastructureState{}, err
	}
	return state, nil
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
