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
type recorder = platform.Recorder[v1alpha1.MetalState, *v1alpha1.MetalState]

func newRecorder(s *site.Site, connection v1alpha1.MetalConnection, cleaning string, persist platform.Persist) *recorder {
	saved := &v1alpha1.MetalState{}
	if s.State != nil && s.State.Metal != nil {
		saved = s.State.Metal
	} else if s.Removed() {
		saved.Connection, saved.Cleaning = connection, cleaning
	}
	return platform.NewRecorder[v1alpha1.MetalState](saved, func(state *v1alpha1.MetalState) *v1alpha1.SiteState {
		return &v1alpha1.SiteState{Name: s.Name, Metal: state}
	}, persist)
}
