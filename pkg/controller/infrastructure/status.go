// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package infrastructure

import (
	"context"
	"slices"
	"sync"

	v1beta1helper "github.com/gardener/gardener/pkg/api/core/v1beta1/helper"
	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/codec"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
)

// statusWriter writes the state of all sites into the status of one Infrastructure. Sites use it at the same time.
type statusWriter struct {
	client client.Client

	mutex sync.Mutex
	infra *extensionsv1alpha1.Infrastructure
	state *v1alpha1.InfrastructureState
}

// persist returns how a site writes its state.
func (w *statusWriter) persist() platform.Persist {
	return func(ctx context.Context, state *v1alpha1.SiteState) error {
		return w.writeState(ctx, func(sites []v1alpha1.SiteState) []v1alpha1.SiteState {
			i := slices.IndexFunc(sites, func(s v1alpha1.SiteState) bool { return s.Name == state.Name })
			if i < 0 {
				return append(sites, *state)
			}
			sites[i] = *state
			return sites
		})
	}
}

// stateOf returns what is known of a site, nil if that is nothing.
func (w *statusWriter) stateOf(name string) *v1alpha1.SiteState {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	for i := range w.state.Sites {
		if w.state.Sites[i].Name == name {
			return &w.state.Sites[i]
		}
	}
	return nil
}

// forget removes a site whose objects are gone.
func (w *statusWriter) forget(ctx context.Context, name string) error {
	return w.writeState(ctx, func(sites []v1alpha1.SiteState) []v1alpha1.SiteState {
		return slices.DeleteFunc(sites, func(s v1alpha1.SiteState) bool { return s.Name == name })
	})
}

func (w *statusWriter) writeState(ctx context.Context, change func([]v1alpha1.SiteState) []v1alpha1.SiteState) error {
	w.mutex.Lock()
	defer w.mutex.Unlock()

	next := w.state.DeepCopy()
	next.Sites = change(next.Sites)
	if equality.Semantic.DeepEqual(next, w.state) {
		return nil
	}
	raw, err := codec.Encode(next)
	if err != nil {
		return err
	}
	if err := w.patch(ctx, func(status *extensionsv1alpha1.InfrastructureStatus) { status.State = raw }); err != nil {
		return err
	}
	w.state = next
	return nil
}

// writeResult writes what the sites came to so far, with another one if it is not nil.
func (w *statusWriter) writeResult(ctx context.Context, r *result, ready *v1alpha1.SiteStatus) error {
	w.mutex.Lock()
	defer w.mutex.Unlock()

	if ready != nil {
		r.ready[ready.Name] = ready
	}
	sites := r.sites()
	raw, err := codec.Encode(&v1alpha1.InfrastructureStatus{Sites: sites})
	if err != nil {
		return err
	}
	return w.patch(ctx, func(status *extensionsv1alpha1.InfrastructureStatus) {
		status.ProviderStatus = raw
		status.Networking = r.networking()
		status.EgressCIDRs = r.egressCIDRs(sites)
	})
}

// writeOrphans writes what a forced deletion leaves behind.
func (w *statusWriter) writeOrphans(ctx context.Context, earlier *v1alpha1.InfrastructureStatus, orphans []v1alpha1.Orphan) error {
	w.mutex.Lock()
	defer w.mutex.Unlock()

	next := earlier.DeepCopy()
	next.Orphans = orphans
	raw, err := codec.Encode(next)
	if err != nil {
		return err
	}
	return w.patch(ctx, func(status *extensionsv1alpha1.InfrastructureStatus) { status.ProviderStatus = raw })
}

// writeCondition writes the condition, or removes those of its type if it is nil. Others write conditions at the same time.
func (w *statusWriter) writeCondition(ctx context.Context, conditionType gardencorev1beta1.ConditionType, condition *gardencorev1beta1.Condition) error {
	w.mutex.Lock()
	defer w.mutex.Unlock()

	current := &extensionsv1alpha1.Infrastructure{}
	err := retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		if err := w.client.Get(ctx, client.ObjectKeyFromObject(w.infra), current); err != nil {
			return err
		}
		before := current.DeepCopy()
		current.Status.Conditions = v1beta1helper.RemoveConditions(current.Status.Conditions, conditionType)
		if condition != nil {
			current.Status.Conditions = append(current.Status.Conditions, *condition)
		}
		if equality.Semantic.DeepEqual(before.Status.Conditions, current.Status.Conditions) {
			return nil
		}
		return w.client.Status().Patch(ctx, current, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
	})
	if err != nil {
		return err
	}
	w.infra.Status.Conditions = current.Status.Conditions
	return nil
}

func (w *statusWriter) patch(ctx context.Context, change func(*extensionsv1alpha1.InfrastructureStatus)) error {
	before := w.infra.DeepCopy()
	change(&w.infra.Status)
	patch := client.MergeFrom(before)
	if data, err := patch.Data(w.infra); err != nil || string(data) == "{}" {
		return err
	}
	if err := w.client.Status().Patch(ctx, w.infra, patch); err != nil {
		before.DeepCopyInto(w.infra)
		return err
	}
	return nil
}
