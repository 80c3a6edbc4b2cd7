// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package infrastructure

import (
	"fmt"
	"strings"

	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	corev1 "k8s.io/api/core/v1"
)

// Reasons of events.
const (
	reasonSiteFailed   = "SiteFailed"
	reasonSiteReady    = "SiteReady"
	reasonSiteWarning  = "SiteWarning"
	reasonSiteDeleted  = "SiteDeleted"
	reasonSiteInUse    = "SiteInUse"
	reasonOrphansLeft  = "OrphansLeft"
	actionReconcile    = "Reconcile"
	actionDelete       = "Delete"
	actionLookUp       = "LookUp"
	maxEventNoteLength = 1000
)

func (a *actuator) warn(infra *extensionsv1alpha1.Infrastructure, reason, action, format string, args ...any) {
	a.recorder.Eventf(infra, nil, corev1.EventTypeWarning, reason, action, "%s", shorten(fmt.Sprintf(format, args...)))
}

func (a *actuator) tell(infra *extensionsv1alpha1.Infrastructure, reason, action, format string, args ...any) {
	a.recorder.Eventf(infra, nil, corev1.EventTypeNormal, reason, action, "%s", shorten(fmt.Sprintf(format, args...)))
}

// shorten cuts what the API server would refuse as too long.
func shorten(note string) string {
	if len(note) <= maxEventNoteLength {
		return note
	}
	return strings.ToValidUTF8(note[:maxEventNoteLength], "") + "…"
}

// listed joins the items as far as a note of an event holds them, and says how many others there are.
func listed(items []string) string {
	const room = maxEventNoteLength / 2
	var b strings.Builder
	for i, item := range items {
		if i > 0 && b.Len()+len(item) > room {
			fmt.Fprintf(&b, " and %d more", len(items)-i)
			break
		}
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(item)
	}
	return b.String()
}
