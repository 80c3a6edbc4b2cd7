// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package profile reads the CloudProfile of a Shoot for the admission webhooks.
package profile

import (
	"context"
	"fmt"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	gardenerutils "github.com/gardener/gardener/pkg/utils/gardener"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/codec"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
)

// Profile is a CloudProfile, or a NamespacedCloudProfile merged into its parent.
type Profile struct {
	// Spec is the specification.
	Spec *gardencorev1beta1.CloudProfileSpec
	// Config is the provider configuration of the specification.
	Config *v1alpha1.CloudProfileConfig
}

// Of returns the CloudProfile that the Shoot refers to. It asks the reader only, which is a cache in the webhook server.
func Of(ctx context.Context, reader client.Reader, shoot *gardencorev1beta1.Shoot) (*Profile, error) {
	cloudProfile, err := gardenerutils.GetCloudProfile(ctx, reader, shoot)
	if err != nil {
		return nil, fmt.Errorf("reading the CloudProfile: %w", err)
	}
	if cloudProfile == nil {
		return nil, fmt.Errorf("reading the CloudProfile: Shoot %s refers to an unknown kind", client.ObjectKeyFromObject(shoot))
	}
	config, err := codec.Decode[v1alpha1.CloudProfileConfig](cloudProfile.Spec.ProviderConfig)
	if err != nil {
		return nil, fmt.Errorf("CloudProfile %s: %w", cloudProfile.Name, err)
	}
	return &Profile{Spec: &cloudProfile.Spec, Config: config}, nil
}
