// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package infrastructure

import (
	"fmt"

	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	corev1 "k8s.io/api/core/v1"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/eventnote"
)

// Reasons of events.
const (
	reasonSiteFailed  = "SiteFailed"
	reasonSiteReady   = "SiteReady"
	reasonSiteWarning = "SiteWarning"
	reasonSiteDeleted = "SiteDeleted"
	reasonSiteInUse   = "SiteInUse"
	reasonOrphansLeft = "OrphansLeft"
	actionReconcile   = "Reconcile"
	actionDelete      = "Delete"
	actionLookUp      = "LookUp"
)

// onSite returns the action of an event about one site. The recorder makes one event of those with equal reasons and actions.
func onSite(action, name string) string {
	return action + "-" + name
}

func (a *actuator) warn(infra *extensionsv1alpha1.Infrastructure, reason, action, format string, args ...any) {
	a.recorder.Eventf(infra, nil, corev1.EventTypeWarning, reason, action, "%s", eventnote.Shorten(fmt.Sprintf(format, args...)))
}

func (a *actuator) tell(infra *extensionsv1alpha1.Infrastructure, reason, action, format string, args ...any) {
	a.recorder.Eventf(infra, nil, corev1.EventTypeNormal, reason, action, "%s", eventnote.Shorten(fmt.Sprintf(format, args...)))
}
