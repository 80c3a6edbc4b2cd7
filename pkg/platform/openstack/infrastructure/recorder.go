// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package infrastructure

import (
	"context"
	"fmt"
	"sync"

	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
)

// recorder keeps the state of a site and persists every change of it before anything else happens.
type recorder struct {
	name    string
	persist platform.Persist

	mutex sync.Mutex
	saved v1alpha1.OpenStackState
}

func newRecorder(s *site.Site, connection v1alpha1.OpenStackConnection, persist platform.Persist) *recorder {
	r := &recorder{name: s.Name, persist: persist}
	if s.State != nil && s.State.OpenStack != nil {
		r.saved = *s.State.OpenStack.DeepCopy()
	} else if s.Removed() {
		r.saved.Connection = connection
	}
	return r
}

// state returns a copy of the state.
func (r *recorder) state() v1alpha1.OpenStackState {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	return *r.saved.DeepCopy()
}

// record changes the state and persists it if it is different then.
func (r *recorder) record(ctx context.Context, change func(*v1alpha1.OpenStackState)) error {
	r.mutex.Lock()
	defer r.mutex.Unlock()

	next := r.saved.DeepCopy()
	change(next)
	if equality.Semantic.DeepEqual(*next, r.saved) {
		return nil
	}
	if err := r.persist(ctx, &v1alpha1.SiteState{Name: r.name, OpenStack: next.DeepCopy()}); err != nil {
		return fmt.Errorf("state cannot be persisted: %w", err)
	}
	r.saved = *next
	return nil
}
