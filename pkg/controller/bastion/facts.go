// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package bastion

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/netip"

	extensionscontroller "github.com/gardener/gardener/extensions/pkg/controller"
	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/lists"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/controller/operation"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/controller/shootsites"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
)

// facts are everything that is known about a bastion without requests to sites.
type facts struct {
	cluster *extensionscontroller.Cluster
	// name is the name of the bastion on sites.
	name string
	// recorded is the name of the site that the bastion is on, empty if nothing was created yet.
	recorded string
	// infra is the Infrastructure of the shoot, nil if there is none. The following is empty then.
	infra   *extensionsv1alpha1.Infrastructure
	profile *v1alpha1.CloudProfileConfig
	config  *v1alpha1.ControlPlaneConfig
	sites   []site.Site
	status  *v1alpha1.InfrastructureStatus
	// mistakes are errors of documents that a deletion does not need.
	mistakes error
}

// read returns an error if documents cannot be read that every operation needs.
func (a *actuator) read(ctx context.Context, b *extensionsv1alpha1.Bastion, cluster *extensionscontroller.Cluster) (*facts, error) {
	if cluster == nil || cluster.Shoot == nil || cluster.CloudProfile == nil {
		return nil, errors.New("the Cluster has no Shoot or no CloudProfile")
	}
	f := &facts{cluster: cluster, name: nameOf(shootsites.TechnicalID(b.Namespace, cluster), b.Name)}
	recorded, err := shootsites.DecodeOptional[v1alpha1.BastionStatus]("status.providerStatus", b.Status.ProviderStatus)
	if err != nil {
		return nil, err
	}
	f.recorded = recorded.Site

	if f.infra, err = shootsites.FindInfrastructure(ctx, a.reader, b.Namespace); err != nil || f.infra == nil {
		return f, err
	}
	input, configErr, err := shootsites.Read(ctx, a.reader, shootsites.OfInfrastructure(f.infra), cluster)
	if err != nil {
		return nil, err
	}
	f.profile = input.Profile
	var sitesErr, settingsErr, statusErr error
	f.sites, sitesErr = site.Resolve(input.Input)
	f.config, settingsErr = shootsites.DecodeOptional[v1alpha1.ControlPlaneConfig]("controlPlaneConfig of the Shoot",
		cluster.Shoot.Spec.Provider.ControlPlaneConfig)
	f.status, statusErr = shootsites.DecodeOptional[v1alpha1.InfrastructureStatus]("status.providerStatus of the Infrastructure",
		f.infra.Status.ProviderStatus)
	if sitesErr != nil && len(f.sites) == 0 {
		configErr = errors.Join(configErr, platform.NewError(platform.ClassConfiguration, "%w", sitesErr))
	}
	f.mistakes = errors.Join(configErr, settingsErr, statusErr)
	return f, nil
}

// checkInUse returns an error if the shoot has no infrastructure that a bastion could be added to.
func (f *facts) checkInUse() error {
	switch {
	case f.infra == nil:
		return platform.NewError(platform.ClassTransient, "the shoot has no Infrastructure yet")
	case f.infra.DeletionTimestamp != nil, f.cluster.Shoot.DeletionTimestamp != nil:
		return platform.NewError(platform.ClassConflict, "the shoot is being deleted")
	case operation.Migrates(f.infra):
		return platform.NewError(platform.ClassConflict, "the control plane of the shoot is moving to another seed")
	default:
		return f.mistakes
	}
}

// siteStatus returns the status of the site's infrastructure, nil if it is not known.
func (f *facts) siteStatus(name string) *v1alpha1.SiteStatus {
	if f.status == nil {
		return nil
	}
	return lists.Find(f.status.Sites, func(s *v1alpha1.SiteStatus) bool { return s.Name == name })
}

const (
	// maxName is the maximum length of a host name.
	maxName = 63
	// hashLength is the number of hexadecimal digits of the hash in names that are too long.
	hashLength = 8
)

// nameOf returns the name of the bastion on sites.
func nameOf(shoot, bastion string) string {
	name := shoot + "-bastion-" + bastion
	if len(name) <= maxName {
		return name
	}
	sum := sha256.Sum256([]byte(name))
	return name[:maxName-hashLength-1] + "-" + hex.EncodeToString(sum[:])[:hashLength]
}

// ingressOf returns the ranges from which the bastion is reached.
func ingressOf(b *extensionsv1alpha1.Bastion) ([]netip.Prefix, error) {
	var result []netip.Prefix
	for i, ingress := range b.Spec.Ingress {
		prefix, err := netip.ParsePrefix(ingress.IPBlock.CIDR)
		if err != nil {
			return nil, platform.NewError(platform.ClassConfiguration, "spec.ingress[%d].ipBlock.cidr: %q must be a CIDR", i,
				platform.Printable(ingress.IPBlock.CIDR))
		}
		if len(ingress.IPBlock.Except) > 0 {
			return nil, platform.NewError(platform.ClassConfiguration, "spec.ingress[%d].ipBlock.except: is not supported", i)
		}
		result = append(result, prefix.Masked())
	}
	return result, nil
}
