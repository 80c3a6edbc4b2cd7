// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package platform

import (
	"context"
	"fmt"
	"sync"

	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
)

// State is the state of a site of one platform.
type State[T any] interface {
	*T
	DeepCopy() *T
}

// Recorder keeps the state of a site and persists each change before it returns. It is safe for concurrent use.
type Recorder[T any, S State[T]] struct {
	persist Persist
	site    string
	place   func(*v1alpha1.SiteState) **T

	mutex sync.Mutex
	saved *T
}

// NewRecorder returns a recorder with the state of the site. place is where the platform's part of it is. Without that, the state of a
// removed site is the given one, and that of others is empty.
func NewRecorder[T any, S State[T]](s *site.Site, ofRemoved *T, place func(*v1alpha1.SiteState) **T, persist Persist) *Recorder[T, S] {
	saved := new(T)
	if s.State != nil && *place(s.State) != nil {
		saved = *place(s.State)
	} else if s.Removed() {
		saved = ofRemoved
	}
	return &Recorder[T, S]{persist: persist, site: s.Name, place: place, saved: S(saved).DeepCopy()}
}

// State returns a copy of the state.
func (r *Recorder[T, S]) State() T {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	return *S(r.saved).DeepCopy()
}

// Record changes the state and persists it if it differs. The state is unchanged if that fails.
func (r *Recorder[T, S]) Record(ctx context.Context, change func(*T)) error {
	r.mutex.Lock()
	defer r.mutex.Unlock()

	next := S(r.saved).DeepCopy()
	change(next)
	if equality.Semantic.DeepEqual(next, r.saved) {
		return nil
	}
	state := &v1alpha1.SiteState{Name: r.site}
	*r.place(state) = S(next).DeepCopy()
	if err := r.persist(ctx, state); err != nil {
		return fmt.Errorf("state cannot be persisted: %w", err)
	}
	r.saved = next
	return nil
}
