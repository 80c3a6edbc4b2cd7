// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"

	extensionscontroller "github.com/gardener/gardener/extensions/pkg/controller"
	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/controller/differences"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
)

// Deployment is what a ControlPlane is planned from.
type Deployment struct {
	// Reader has the machines and the Secret.
	Reader client.Reader
	// ControlPlane and Cluster describe the shoot.
	ControlPlane *extensionsv1alpha1.ControlPlane
	Cluster      *extensionscontroller.Cluster
}

// service is something that Services or volumes of the shoot use.
type service struct {
	kind, name string
}

// PlanServices returns what Services and volumes of the shoot gain, lose, or get in another way, when after replaces before and all
// machines that after does not have are gone. It sends no requests to sites.
func PlanServices(ctx context.Context, platforms platform.Registry[platform.ControlPlane], before, after Deployment) (
	[]v1alpha1.PlannedService, error) {
	b, err := services(ctx, platforms, before)
	if err != nil {
		return nil, err
	}
	a, err := services(ctx, platforms, after)
	if err != nil {
		return nil, err
	}
	var changes []v1alpha1.PlannedService
	keys := sets.KeySet(b).Union(sets.KeySet(a)).UnsortedList()
	slices.SortFunc(keys, func(x, y service) int { return cmp.Or(cmp.Compare(x.kind, y.kind), cmp.Compare(x.name, y.name)) })
	for _, key := range keys {
		change := v1alpha1.PlannedService{Kind: key.kind, Name: key.name}
		was, existed := b[key]
		is, exists := a[key]
		switch {
		case !existed:
			change.Action = v1alpha1.PlannedActionCreate
		case !exists:
			change.Action = v1alpha1.PlannedActionDelete
		default:
			for _, d := range differences.Between(was, is) {
				change.Fields = append(change.Fields, v1alpha1.PlannedField{Name: d.Path(), From: platform.Printable(string(d.Before)),
					To: platform.Printable(string(d.After))})
			}
			if len(change.Fields) == 0 {
				continue
			}
			change.Action = v1alpha1.PlannedActionChange
		}
		changes = append(changes, change)
	}
	return changes, nil
}

// services returns the load balancers of sites, and the classes of volumes and snapshots, with what determines them.
func services(ctx context.Context, platforms platform.Registry[platform.ControlPlane], d Deployment) (map[service]json.RawMessage, error) {
	plan, err := (&planner{reader: d.Reader, platforms: platforms}).plan(ctx, d.ControlPlane, d.Cluster)
	if err != nil {
		return nil, err
	}
	var (
		found = map[service]json.RawMessage{}
		errs  []error
		add   = func(kind, name string, value any) {
			raw, err := json.Marshal(value)
			found[service{kind, name}], errs = raw, append(errs, err)
		}
	)
	for i := range plan.controllers.Sites {
		if s := &plan.controllers.Sites[i]; s.LoadBalancerMembers() != "" {
			add("LoadBalancers", s.Name, s)
		}
	}
	if plan.controllers.DefaultSite != "" {
		add("DefaultSite", plan.controllers.DefaultSite, plan.controllers.DefaultSite)
	}
	values := plan.storageClassesValues()
	for _, class := range values.StorageClasses {
		add("StorageClass", class.Name, class)
	}
	for _, class := range values.SnapshotClasses {
		add("VolumeSnapshotClass", class.Name, class)
	}
	return found, errors.Join(errs...)
}
