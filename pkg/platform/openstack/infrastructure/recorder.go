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
type recorder = platform.Recorder[v1alpha1.OpenStackState, *v1alpha1.OpenStackState]

func newRecorder(s *site.Site, connection v1alpha1.OpenStackConnection, persist platform.Persist) *recorder {
	saved := &v1alpha1.OpenStackState{}
	if s.State != nil && s.State.OpenStack != nil {
		saved = s.State.OpenStack
	} else if s.Removed() {
		saved.Connection = connection
	}
	return platform.NewRecorder[v1alpha1.OpenStackState](saved, func(state *v1alpha1.OpenStackState) *v1alpha1.SiteState {
		return &v1alpha1.SiteState{Name: s.Name, OpenStack: state}
	}, persist)
}
