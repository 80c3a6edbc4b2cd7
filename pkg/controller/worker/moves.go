// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package worker

import (
	"context"
	"errors"

	v1beta1helper "github.com/gardener/gardener/pkg/api/core/v1beta1/helper"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
)

// refuseMoves gives zones an error that belong to another site than the machines that they have, if the pool is updated in place.
// Such a pool's machines are never replaced: with a class of the new site they would be looked for where they are not.
//
// Of machines to be restored no class is known but its name, so that a class of the new site would be all that they have, in any pool.
func (d *delegate) refuseMoves(ctx context.Context, p *plan) error {
	var errs []error
	p.zones(func(pool *pool, z *zone) {
		if others := d.formerSites[z.deploymentName].Clone().Delete(z.siteName, ""); z.err == nil && others.Len() > 0 {
			z.err = platform.InSite(z.siteName, platform.NewError(platform.ClassConfiguration,
				"the zone has machines to be restored on sites %q; it must be a zone of that site until they are replaced", sets.List(others)))
			z.site = nil
		}
		if z.err != nil || !v1beta1helper.IsUpdateStrategyInPlace(pool.spec.UpdateStrategy) {
			return
		}
		kept, err := d.findKept(ctx, z)
		if err != nil {
			errs = append(errs, err)
			return
		}
		if kept == nil {
			return
		}
		before := kept.deployment.Spec.Template.Spec.NodeTemplateSpec.Labels[v1alpha1.LabelSite]
		if before == "" || before == z.siteName {
			return
		}
		z.err = platform.InSite(z.siteName, platform.NewError(platform.ClassConfiguration,
			"the zone was part of site %q, and machines that are updated in place cannot move", before))
		z.site = nil
	})
	return errors.Join(errs...)
}
