// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package workersites finds out which sites the shoot of a Worker has, for all controllers of Workers.
package workersites

import (
	"context"
	"errors"
	"fmt"

	extensionscontroller "github.com/gardener/gardener/extensions/pkg/controller"
	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/codec"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
)

// Sites are what the documents of a shoot say about its sites.
type Sites struct {
	// Profile is the configuration of the CloudProfile, nil if it cannot be read.
	Profile *v1alpha1.CloudProfileConfig
	// Sites are those that the shoot uses and that are known.
	Sites []site.Site
	// Unresolved says why sites of the shoot are not in Sites.
	Unresolved error
	// Secret is the data of the shoot's Secret.
	Secret map[string][]byte
}

// Read always returns what could be read. The error says what is missing for all sites.
func Read(ctx context.Context, reader client.Reader, worker *extensionsv1alpha1.Worker, cluster *extensionscontroller.Cluster) (*Sites, error) {
	if cluster.CloudProfile == nil || cluster.Shoot == nil {
		return &Sites{}, errors.New("the Cluster has no CloudProfile or no Shoot")
	}
	profile, profileErr := Decode[v1alpha1.CloudProfileConfig]("providerConfig of the CloudProfile", cluster.CloudProfile.Spec.ProviderConfig)
	config, configErr := Decode[v1alpha1.InfrastructureConfig]("infrastructureConfig of the Shoot", cluster.Shoot.Spec.Provider.InfrastructureConfig)

	secret := &corev1.Secret{}
	secretErr := reader.Get(ctx, client.ObjectKey{Namespace: worker.Spec.SecretRef.Namespace, Name: worker.Spec.SecretRef.Name}, secret)
	if secretErr != nil {
		secretErr = fmt.Errorf("reading the credentials: %w", secretErr)
	}

	sites, err := site.Resolve(site.Input{
		Shoot:   cluster.Shoot.Status.TechnicalID,
		Profile: profile,
		Config:  config,
		Secret:  secret.Data,
	})
	s := &Sites{Profile: profile, Sites: sites, Secret: secret.Data}
	if err != nil {
		s.Unresolved = platform.NewError(platform.ClassConfiguration, "%w", err)
	}
	return s, errors.Join(profileErr, configErr, secretErr)
}

// Used returns the sites that have zones of the Worker's pools, in the order of the zones.
func (s *Sites) Used(worker *extensionsv1alpha1.Worker) []site.Site {
	var used []site.Site
	for _, pool := range worker.Spec.Pools {
		for _, zone := range pool.Zones {
			if found, _ := site.FindZone(s.Sites, zone); found != nil && site.Find(used, found.Name) == nil {
				used = append(used, *found)
			}
		}
	}
	return used
}

// Decode decodes a document. The error's class is platform.ClassConfiguration and it says what the document is.
func Decode[T any, P codec.Object[T]](what string, raw *runtime.RawExtension) (P, error) {
	document, err := codec.Decode[T, P](raw)
	if err != nil {
		return nil, platform.NewError(platform.ClassConfiguration, "%s: %w", what, err)
	}
	return document, nil
}
