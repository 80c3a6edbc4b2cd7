// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package bastion

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"net/netip"

	extensionscontroller "github.com/gardener/gardener/extensions/pkg/controller"
	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/controller/operation"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/controller/shootsites"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
)

// facts are everything that is known about a bastion without requests to sites.
type facts struct {
	shootsites.Facts

	cluster *extensionscontroller.Cluster
	// name is the name of the bastion on sites.
	name string
	// recorded is the name of the site that the bastion is on, empty if nothing was created yet.
	recorded string
}

// read returns an error if documents cannot be read that every operation needs.
func (a *actuator) read(ctx context.Context, b *extensionsv1alpha1.Bastion, cluster *extensionscontroller.Cluster) (*facts, error) {
	ofShoot, err := shootsites.ReadFacts(ctx, a.reader, b.Namespace, cluster)
	if err != nil {
		return nil, err
	}
	recorded, err := shootsites.DecodeOptional[v1alpha1.BastionStatus]("status.providerStatus", b.Status.ProviderStatus)
	if err != nil {
		return nil, err
	}
	return &facts{Facts: ofShoot, cluster: cluster, name: nameOf(shootsites.TechnicalID(b.Namespace, cluster), b.Name),
		recorded: recorded.Site}, nil
}

// checkInUse returns an error if the shoot has no infrastructure that a bastion could be added to.
func (f *facts) checkInUse() error {
	switch {
	case f.Infra == nil:
		return platform.NewError(platform.ClassTransient, "the shoot has no Infrastructure yet")
	case f.Infra.DeletionTimestamp != nil, f.cluster.Shoot.DeletionTimestamp != nil:
		return platform.NewError(platform.ClassConflict, "the shoot is being deleted")
	case operation.Migrates(f.Infra):
		return platform.NewError(platform.ClassConflict, "the control plane of the shoot is moving to another seed")
	default:
		return f.Mistakes
	}
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
