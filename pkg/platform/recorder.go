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
)

// State is the state of a site of one platform.
type State[T any] interface {
	*T
	DeepCopy() *T
}

// Recorder keeps the state of a site and persists each change before it returns. It is safe for concurrent use.
type Recorder[T any, S State[T]] struct {
	persist Persist
	site    func(*T) *v1alpha1.SiteState

	mutex sync.Mutex
	saved *T
}

// NewRecorder returns a recorder with an initial state. site converts the state of the platform to that of the site.
func NewRecorder[T any, S State[T]](saved *T, site func(*T) *v1alpha1.SiteState, persist Persist) *Recorder[T, S] {
	return &Recorder[T, S]{persist: persist, site: site, saved: S(saved).DeepCopy()}
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
	if err := r.persist(ctx, r.site(S(next).DeepCopy())); err != nil {
		return fmt.Errorf("state cannot be persisted: %w", err)
	}
	r.saved = next
	return nil
}
