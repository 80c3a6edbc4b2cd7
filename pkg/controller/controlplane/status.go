// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	"k8s.io/apimachinery/pkg/api/equality"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/codec"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/controller/condition"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/controller/shootsites"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/eventnote"
)

// Reasons of events.
const (
	reasonControlPlaneFailed = "ControlPlaneFailed"
	reasonSiteFailed         = "SiteFailed"
	reasonSiteLeftOut        = "SiteLeftOut"
	reasonConfigurationStays = "ConfigurationStays"
	actionReconcile          = "Reconcile"
	actionDelete             = "Delete"
)

// recordFailures records one event for the errors of each site, and one for the errors that are not about a site.
func (a *actuator) recordFailures(cp *extensionsv1alpha1.ControlPlane, err error) {
	failures := failuresBySite(err)
	for _, site := range slices.Sorted(maps.Keys(failures)) {
		reason, action, failure := reasonSiteFailed, eventnote.OnSite(actionReconcile, site), errors.Join(failures[site]...)
		if site == "" {
			reason, action = reasonControlPlaneFailed, actionReconcile
		}
		a.events.Warning(cp, reason, action, "%v", failure)
	}
}

// writeCondition reports in a condition which sites keep what was deployed for them, and why.
func (a *actuator) writeCondition(ctx context.Context, cp *extensionsv1alpha1.ControlPlane, mistakes error) error {
	var messages []string
	if mistakes != nil {
		messages = append(messages, mistakes.Error())
	}
	return condition.Write(ctx, a.client, a.clock, cp, v1alpha1.ConditionSitesReconciled, v1alpha1.ReasonSitesStay, messages,
		[]error{mistakes})
}

// recordLeftOut records events about the sites that nothing is deployed for.
func (a *actuator) recordLeftOut(cp *extensionsv1alpha1.ControlPlane, p *plan) {
	for _, name := range p.leftOut {
		a.events.Warning(cp, reasonSiteLeftOut, eventnote.OnSite(actionReconcile, name),
			"site %q has no cloud controllers yet: it has no machines and is not in the status of the Infrastructure", name)
	}
}

// writeState writes the sites that something is deployed for. It is called before the deployment, so that no site is lost.
func (a *actuator) writeState(ctx context.Context, cp *extensionsv1alpha1.ControlPlane, state *v1alpha1.ControlPlaneState) error {
	raw, err := codec.Encode(state)
	if err != nil {
		return err
	}
	before := cp.DeepCopy()
	if earlier, err := shootsites.DecodeOptional[v1alpha1.ControlPlaneState]("status.state", cp.Status.State); err == nil &&
		equality.Semantic.DeepEqual(earlier.Sites, state.Sites) {
		return nil
	}
	cp.Status.State = raw
	if err := a.client.Status().Patch(ctx, cp, client.MergeFrom(before)); err != nil {
		return fmt.Errorf("writing the state of the ControlPlane: %w", err)
	}
	return nil
}
