// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package validator

import (
	"context"
	"fmt"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	v1beta1constants "github.com/gardener/gardener/pkg/apis/core/v1beta1/constants"
	gardenerutils "github.com/gardener/gardener/pkg/utils/gardener"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/admission/credentials"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/validation"
)

// Names of the indexes for usesOf.
const (
	indexProfile = "spec.cloudProfile"
	indexParent  = "spec.parent.name"
)

// Indexes returns the indexes that the validators need.
func Indexes() []credentials.Index {
	return append(credentials.Indexes(), []credentials.Index{
		{Object: &gardencorev1beta1.Shoot{}, Field: indexProfile, Extract: func(object client.Object) []string {
			return []string{profileOf(object.(*gardencorev1beta1.Shoot))}
		}},
		{Object: &gardencorev1beta1.Shoot{}, Field: indexAddressPools, Extract: indexedAddresses},
		{Object: &gardencorev1beta1.NamespacedCloudProfile{}, Field: indexParent, Extract: func(object client.Object) []string {
			return []string{object.(*gardencorev1beta1.NamespacedCloudProfile).Spec.Parent.Name}
		}},
	}...)
}

// usesOf returns what Shoots use of the CloudProfile, directly or through a NamespacedCloudProfile. The reader must be a cache with
// Indexes.
func usesOf(ctx context.Context, reader client.Reader, name string) ([]validation.ProfileUse, error) {
	references := []string{referenceTo(v1beta1constants.CloudProfileReferenceKindCloudProfile, "", name)}
	namespaced := &gardencorev1beta1.NamespacedCloudProfileList{}
	if err := reader.List(ctx, namespaced, client.MatchingFields{indexParent: name}); err != nil {
		return nil, fmt.Errorf("reading the NamespacedCloudProfiles of CloudProfile %s: %w", name, err)
	}
	for _, profile := range namespaced.Items {
		references = append(references,
			referenceTo(v1beta1constants.CloudProfileReferenceKindNamespacedCloudProfile, profile.Namespace, profile.Name))
	}

	var uses []validation.ProfileUse
	for _, reference := range references {
		shoots := &gardencorev1beta1.ShootList{}
		if err := reader.List(ctx, shoots, client.MatchingFields{indexProfile: reference}); err != nil {
			return nil, fmt.Errorf("reading the Shoots of %s: %w", reference, err)
		}
		for i := range shoots.Items {
			uses = append(uses, useOf(&shoots.Items[i]))
		}
	}
	return uses, nil
}

func useOf(shoot *gardencorev1beta1.Shoot) validation.ProfileUse {
	use := validation.ProfileUse{Shoot: client.ObjectKeyFromObject(shoot).String(), Region: shoot.Spec.Region,
		Sites: credentials.SitesOf(shoot), Networks: func() []validation.ShootNetwork {
			infrastructure, err := decode[v1alpha1.InfrastructureConfig](shoot.Spec.Provider.InfrastructureConfig)
			if err != nil || infrastructure == nil {
				infrastructure = &v1alpha1.InfrastructureConfig{}
			}
			return validation.ShootNetworks(infrastructure, shoot.Spec.Networking)
		}}
	for _, pool := range shoot.Spec.Provider.Workers {
		use.Zones = append(use.Zones, pool.Zones...)
	}
	return use
}

// profileOf returns the index value for the CloudProfile or NamespacedCloudProfile of a Shoot of type hybrid, empty for other Shoots.
func profileOf(shoot *gardencorev1beta1.Shoot) string {
	reference := gardenerutils.BuildV1beta1CloudProfileReference(shoot)
	if reference == nil || shoot.Spec.Provider.Type != v1alpha1.ProviderType {
		return ""
	}
	namespace := ""
	if reference.Kind == v1beta1constants.CloudProfileReferenceKindNamespacedCloudProfile {
		namespace = shoot.Namespace
	}
	return referenceTo(reference.Kind, namespace, reference.Name)
}

func referenceTo(kind, namespace, name string) string {
	return kind + " " + namespace + "/" + name
}
