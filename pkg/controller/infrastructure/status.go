// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package infrastructure

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"

	extensionscontroller "github.com/gardener/gardener/extensions/pkg/controller"
	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	"k8s.io/apimachinery/pkg/api/equality"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/codec"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/lists"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/controller/shootsites"
)

// statusWriter writes the status of an Infrastructure. Sites use it concurrently.
type statusWriter struct {
	client client.Client

	mutex sync.Mutex
	infra *extensionsv1alpha1.Infrastructure
	state *v1alpha1.InfrastructureState
}

// persist writes the state of a site.
func (w *statusWriter) persist(ctx context.Context, state *v1alpha1.SiteState) error {
	return w.writeState(ctx, func(sites []v1alpha1.SiteState) []v1alpha1.SiteState {
		i := slices.IndexFunc(sites, func(s v1alpha1.SiteState) bool { return s.Name == state.Name })
		if i < 0 {
			return append(sites, *state)
		}
		sites[i] = *state
		return sites
	})
}

// stateOf returns the state of a site, nil if there is none.
func (w *statusWriter) stateOf(name string) *v1alpha1.SiteState {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	return lists.Find(w.state.Sites, func(s *v1alpha1.SiteState) bool { return s.Name == name })
}

// forget removes the state of a deleted site.
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

// writeResult writes the result, after it has added the status of a site unless that is nil.
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

// writeOrphans writes the objects that a forced deletion left behind.
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

// errorList are errors that sites add concurrently, one for each site.
type errorList struct {
	mutex  sync.Mutex
	bySite map[string]error
}

func (l *errorList) add(site string, err error) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if l.bySite == nil {
		l.bySite = map[string]error{}
	}
	l.bySite[site] = err
}

// errs returns the errors in the order of their messages.
func (l *errorList) errs() []error {
	return slices.SortedFunc(maps.Values(l.bySite), func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
}

// messages returns the messages of the errors in their order.
func (l *errorList) messages() []string {
	return lists.Map(l.errs(), error.Error)
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

// readStatus returns the providerStatus, which is empty before the first reconciliation.
func readStatus(infra *extensionsv1alpha1.Infrastructure) *v1alpha1.InfrastructureStatus {
	status, _ := shootsites.DecodeOptional[v1alpha1.InfrastructureStatus]("status.providerStatus", infra.Status.ProviderStatus)
	return status
}

// result is the result of a reconciliation that may be in progress.
type result struct {
	config  *v1alpha1.InfrastructureConfig
	cluster *extensionscontroller.Cluster
	// earlier is the result of the last reconciliation.
	earlier *v1alpha1.InfrastructureStatus
	// ready are the new statuses of sites by name.
	ready map[string]*v1alpha1.SiteStatus
}

// sites returns the statuses of the sites in the order of the configuration. Sites that are not ready retain their earlier status.
func (r *result) sites() []v1alpha1.SiteStatus {
	var statuses []v1alpha1.SiteStatus
	for _, s := range r.config.Sites {
		if status, ok := r.ready[s.Name]; ok {
			statuses = append(statuses, *status)
		} else if status := findStatus(r.earlier, s.Name); status != nil {
			statuses = append(statuses, *status)
		}
	}
	return statuses
}

func findStatus(status *v1alpha1.InfrastructureStatus, name string) *v1alpha1.SiteStatus {
	return lists.Find(status.Sites, func(s *v1alpha1.SiteStatus) bool { return s.Name == name })
}

// networking returns the networks of the shoot. The node network is the common one with topology Stretched, and the ranges of all sites in
// their order with Routed.
func (r *result) networking() *extensionsv1alpha1.InfrastructureStatusNetworking {
	networking := &extensionsv1alpha1.InfrastructureStatusNetworking{}
	if r.config.Networks.Topology == v1alpha1.TopologyStretched {
		networking.Nodes = slices.Clone(r.config.Networks.Nodes)
	} else {
		for _, s := range r.config.Sites {
			networking.Nodes = append(networking.Nodes, s.Nodes...)
		}
	}
	if shoot := r.cluster.Shoot; shoot != nil && shoot.Spec.Networking != nil {
		if pods := shoot.Spec.Networking.Pods; pods != nil {
			networking.Pods = []string{*pods}
		}
		if services := shoot.Spec.Networking.Services; services != nil {
			networking.Services = []string{*services}
		}
	}
	return networking
}

// egressCIDRs returns the CIDRs of all sites in their order without duplicates. They are empty unless every site has some, because an
// incomplete allow-list would block the other sites' nodes.
func (r *result) egressCIDRs(sites []v1alpha1.SiteStatus) []string {
	if len(sites) < len(r.config.Sites) {
		return nil
	}
	var cidrs []string
	for _, s := range sites {
		if len(s.EgressCIDRs) == 0 {
			return nil
		}
		for _, cidr := range s.EgressCIDRs {
			if !slices.Contains(cidrs, cidr) {
				cidrs = append(cidrs, cidr)
			}
		}
	}
	return cidrs
}
