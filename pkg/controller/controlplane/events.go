// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"context"
	"errors"
	"maps"
	"slices"

	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/controller/condition"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/eventnote"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
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

// warnOfSites tells of each site why there is no plan, and of what is wrong beside them.
func (a *actuator) warnOfSites(cp *extensionsv1alpha1.ControlPlane, err error) {
	failures := map[string][]error{}
	collectFailures(err, failures)
	for _, site := range slices.Sorted(maps.Keys(failures)) {
		reason, action, failure := reasonSiteFailed, eventnote.OnSite(actionReconcile, site), errors.Join(failures[site]...)
		if site == "" {
			reason, action = reasonControlPlaneFailed, actionReconcile
		}
		a.events.Warn(cp, reason, action, "%v", failure)
	}
}

// tellMistakes tells in a condition which sites keep what was deployed for them, and why.
func (a *actuator) tellMistakes(ctx context.Context, cp *extensionsv1alpha1.ControlPlane, mistakes error) error {
	var messages []string
	if mistakes != nil {
		messages = append(messages, mistakes.Error())
	}
	return condition.Write(ctx, a.client, a.clock, cp, v1alpha1.ConditionSitesReconciled, v1alpha1.ReasonSitesStay, messages,
		[]error{mistakes})
}

// warnOfLeftOut tells of the sites that nothing is deployed for.
func (a *actuator) warnOfLeftOut(cp *extensionsv1alpha1.ControlPlane, p *plan) {
	for _, name := range p.leftOut {
		a.events.Warn(cp, reasonSiteLeftOut, eventnote.OnSite(actionReconcile, name),
			"site %q has no cloud controllers yet: it is not in the status of the Infrastructure, and has no machines", name)
	}
}

// collectFailures adds the parts of an error by the names of their sites, which are empty for those that are about none.
func collectFailures(err error, failures map[string][]error) {
	if joined, ok := err.(interface{ Unwrap() []error }); ok { // only err itself can be split
		for _, part := range joined.Unwrap() {
			collectFailures(part, failures)
		}
		return
	}
	var (
		classified *platform.Error
		site       string
	)
	if errors.As(err, &classified) {
		site = classified.Site
	}
	failures[site] = append(failures[site], err)
}

// splitCredentialsErrors returns the parts of an error that are about the credentials of a site, and all others.
func splitCredentialsErrors(err error) (ofCredentials, others []error) {
	failures := map[string][]error{}
	if err != nil {
		collectFailures(err, failures)
	}
	for _, site := range slices.Sorted(maps.Keys(failures)) {
		for _, failure := range failures[site] {
			var mistake *platform.CredentialsError
			if site != "" && errors.As(failure, &mistake) {
				ofCredentials = append(ofCredentials, failure)
			} else {
				others = append(others, failure)
			}
		}
	}
	return ofCredentials, others
}
