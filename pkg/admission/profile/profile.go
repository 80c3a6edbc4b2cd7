// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package profile reads the CloudProfile of a Shoot for the admission webhooks.
package profile

import (
	"context"
	"crypto/sha256"
	"fmt"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	gardenerutils "github.com/gardener/gardener/pkg/utils/gardener"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/lru"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/codec"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
)

// maxDecoded is the size of the cache, enough for all CloudProfiles of a large garden.
const maxDecoded = 100

// decoded caches configurations by the hash of their documents. Decoding one takes longer than the rest of a Shoot's validation.
var decoded = lru.New(maxDecoded)

// Profile is a CloudProfile, or a NamespacedCloudProfile merged into its parent.
type Profile struct {
	// Spec is the specification.
	Spec *gardencorev1beta1.CloudProfileSpec
	// Config is the provider configuration of the specification. It is shared and must not be changed.
	Config *v1alpha1.CloudProfileConfig
}

// Of returns the CloudProfile that the Shoot refers to. The reader is a cache in the webhook server.
func Of(ctx context.Context, reader client.Reader, shoot *gardencorev1beta1.Shoot) (*Profile, error) {
	cloudProfile, err := gardenerutils.GetCloudProfile(ctx, reader, shoot)
	if err != nil {
		return nil, fmt.Errorf("reading the CloudProfile: %w", err)
	}
	if cloudProfile == nil {
		return nil, fmt.Errorf("reading the CloudProfile: Shoot %s refers to an unknown kind", client.ObjectKeyFromObject(shoot))
	}
	config, err := decode(cloudProfile.Spec.ProviderConfig)
	if err != nil {
		return nil, fmt.Errorf("CloudProfile %s: %w", cloudProfile.Name, err)
	}
	return &Profile{Spec: &cloudProfile.Spec, Config: config}, nil
}

func decode(raw *runtime.RawExtension) (*v1alpha1.CloudProfileConfig, error) {
	if raw == nil {
		return codec.Decode[v1alpha1.CloudProfileConfig](raw)
	}
	hash := sha256.Sum256(raw.Raw)
	if config, ok := decoded.Get(hash); ok {
		return config.(*v1alpha1.CloudProfileConfig), nil
	}
	config, err := codec.Decode[v1alpha1.CloudProfileConfig](raw)
	if err != nil {
		return nil, err
	}
	decoded.Add(hash, config)
	return config, nil
}
