// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package infrastructure

import (
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
)

// recorder keeps the state of the site.
type recorder = platform.Recorder[v1alpha1.VSphereState, *v1alpha1.VSphereState]

func newRecorder(s *site.Site, connection v1alpha1.VSphereConnection, persist platform.Persist) *recorder {
	saved := &v1alpha1.VSphereState{}
	if s.State != nil && s.State.VSphere != nil {
		saved = s.State.VSphere
	} else if s.Removed() {
		saved.Connection = connection
	}
	return platform.NewRecorder[v1alpha1.VSphereState](saved, func(state *v1alpha1.VSphereState) *v1alpha1.SiteState {
		return &v1alpha1.SiteState{Name: s.Name, VSphere: state}
	}, persist)
}
