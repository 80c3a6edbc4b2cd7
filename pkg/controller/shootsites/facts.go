// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package shootsites

import (
	"context"
	"errors"

	extensionscontroller "github.com/gardener/gardener/extensions/pkg/controller"
	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/lists"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
)

// Facts are what is known about the sites of a shoot without requests to them, for objects that use its Infrastructure.
type Facts struct {
	// Infra is the Infrastructure of the shoot, nil if there is none. The following is empty then.
	Infra   *extensionsv1alpha1.Infrastructure
	Profile *v1alpha1.CloudProfileConfig
	Config  *v1alpha1.ControlPlaneConfig
	Sites   []site.Site
	Status  *v1alpha1.InfrastructureStatus
	// Mistakes are errors of documents that a deletion does not need.
	Mistakes error
}

// ReadFacts returns the facts of the shoot with the namespace. It returns an error if documents cannot be read that every operation needs.
func ReadFacts(ctx context.Context, reader client.Reader, namespace string, cluster *extensionscontroller.Cluster) (Facts, error) {
	if cluster == nil || cluster.Shoot == nil || cluster.CloudProfile == nil {
		return Facts{}, errors.New("the Cluster has no Shoot or no CloudProfile")
	}
	infra, err := FindInfrastructure(ctx, reader, namespace)
	if err != nil || infra == nil {
		return Facts{}, err
	}
	input, configErr, err := Read(ctx, reader, OfInfrastructure(infra), cluster)
	if err != nil {
		return Facts{}, err
	}
	f := Facts{Infra: infra, Profile: input.Profile}
	var sitesErr, settingsErr, statusErr error
	f.Sites, sitesErr = site.Resolve(input.Input)
	f.Config, settingsErr = DecodeOptional[v1alpha1.ControlPlaneConfig]("controlPlaneConfig of the Shoot",
		cluster.Shoot.Spec.Provider.ControlPlaneConfig)
	f.Status, statusErr = DecodeOptional[v1alpha1.InfrastructureStatus]("status.providerStatus of the Infrastructure",
		infra.Status.ProviderStatus)
	if sitesErr != nil && len(f.Sites) == 0 {
		configErr = errors.Join(configErr, platform.NewError(platform.ClassConfiguration, "%w", sitesErr))
	}
	f.Mistakes = errors.Join(configErr, settingsErr, statusErr)
	return f, nil
}

// SiteStatus returns the status of the site's infrastructure, nil if it is not known.
func (f *Facts) SiteStatus(name string) *v1alpha1.SiteStatus {
	if f.Status == nil {
		return nil
	}
	return lists.Find(f.Status.Sites, func(s *v1alpha1.SiteStatus) bool { return s.Name == name })
}
