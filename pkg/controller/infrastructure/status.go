// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package infrastructure

import (
	"context"
	"slices"
	"sync"

	extensionscontroller "github.com/gardener/gardener/extensions/pkg/controller"
	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	"k8s.io/apimachinery/pkg/api/equality"
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

// writeResult writes what the sites came to and the node network of the whole shoot, as Gardener reads it.
func (w *statusWriter) writeResult(ctx context.Context, config *v1alpha1.InfrastructureConfig, cluster *extensionscontroller.Cluster, sites []v1alpha1.SiteStatus) error {
	w.mutex.Lock()
	defer w.mutex.Unlock()

	raw, err := codec.Encode(&v1alpha1.InfrastructureStatus{Sites: sites})
	if err != nil {
		return err
	}
	return w.patch(ctx, func(status *extensionsv1alpha1.InfrastructureStatus) {
		status.ProviderStatus = raw
		status.Networking = networking(config, cluster)
	})
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

// networking is the node network: for Stretched the one network, for Routed the ranges of all sites in their order.
func networking(config *v1alpha1.InfrastructureConfig, cluster *extensionscontroller.Cluster) *extensionsv1alpha1.InfrastructureStatusNetworking {
	result := &extensionsv1alpha1.InfrastructureStatusNetworking{}
	if config.Networks.Topology == v1alpha1.TopologyStretched {
		result.Nodes = slices.Clone(config.Networks.Nodes)
	} else {
		for _, s := range config.Sites {
			result.Nodes = append(result.Nodes, s.Nodes...)
		}
	}
	if cluster.Shoot != nil && cluster.Shoot.Spec.Networking != nil {
		if pods := cluster.Shoot.Spec.Networking.Pods; pods != nil {
			result.Pods = []string{*pods}
		}
		if services := cluster.Shoot.Spec.Networking.Services; services != nil {
			result.Services = []string{*services}
		}
	}
	return result
}
