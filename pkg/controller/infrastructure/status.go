// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package infrastructure

import (
	"context"
	"slices"
	"strings"
	"sync"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/codec"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/controller/condition"
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

// writeCondition writes the condition with status False, or removes it if there are no messages.
func (w *statusWriter) writeCondition(ctx context.Context, clock clock.Clock, conditionType gardencorev1beta1.ConditionType, reason string,
	messages []string, errs []error) error {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	return condition.Write(ctx, w.client, clock, w.infra, conditionType, reason, messages, errs)
}

// problems are the errors of sites that do not stop the others. Sites add them at the same time.
type problems struct {
	mutex sync.Mutex
	errs  []error
}

func (p *problems) add(err error) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.errs = append(p.errs, err)
}

// messages returns what the errors say, in an order that is always the same.
func (p *problems) messages() []string {
	slices.SortFunc(p.errs, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	messages := make([]string, len(p.errs))
	for i, err := range p.errs {
		messages[i] = err.Error()
	}
	return messages
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

// readStatus returns what the sites came to, which is nothing before the first reconciliation.
func readStatus(infra *extensionsv1alpha1.Infrastructure) *v1alpha1.InfrastructureStatus {
	status, err := codec.Decode[v1alpha1.InfrastructureStatus](infra.Status.ProviderStatus)
	if err != nil {
		return &v1alpha1.InfrastructureStatus{}
	}
	return status
}
