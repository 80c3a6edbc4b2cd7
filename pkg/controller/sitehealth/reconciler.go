// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package sitehealth

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	extensionscontroller "github.com/gardener/gardener/extensions/pkg/controller"
	v1beta1helper "github.com/gardener/gardener/pkg/api/core/v1beta1/helper"
	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	machinev1alpha1 "github.com/gardener/machine-controller-manager/pkg/apis/machine/v1alpha1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/record"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/controller/operation"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/controller/shootsites"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/eventnote"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
)

// resync is the interval between two reconciliations without a change.
const resync = time.Minute

// reconciler writes the conditions of Infrastructures and Workers.
type reconciler struct {
	client client.Client
	events eventnote.Writer
	// faultEvents records events about faults of machines.
	faultEvents record.EventRecorder
	clock       clock.Clock
	probers     *probers
	inspectors  *inspectors
}

// forget stops asking the sites of the Infrastructure.
func (r *reconciler) forget(infra types.NamespacedName) {
	r.probers.remove(infra)
	r.inspectors.remove(infra)
}

// Reconcile starts probing the sites of an Infrastructure and writes the results. Sites are not probed while the shoot is being deleted,
// migrated or hibernated.
func (r *reconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	infra := &extensionsv1alpha1.Infrastructure{}
	if err := r.client.Get(ctx, request.NamespacedName, infra); err != nil {
		if apierrors.IsNotFound(err) {
			r.forget(request.NamespacedName)
		}
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if infra.DeletionTimestamp != nil || operation.Migrates(infra) {
		r.forget(request.NamespacedName)
		return reconcile.Result{}, nil
	}
	cluster, err := extensionscontroller.GetCluster(ctx, r.client, infra.Namespace)
	if err != nil {
		return reconcile.Result{}, err
	}
	worker, err := r.worker(ctx, infra.Namespace)
	if err != nil {
		return reconcile.Result{}, err
	}
	if extensionscontroller.IsHibernationEnabled(cluster) {
		r.forget(request.NamespacedName)
		return reconcile.Result{}, errors.Join(r.write(ctx, infra, remove), r.writeWorker(ctx, worker, hibernated))
	}

	known, err := r.look(ctx, infra, worker, cluster)
	if err != nil {
		return reconcile.Result{}, err
	}
	r.recordFaults(ctx, worker, known.faults)
	return reconcile.Result{RequeueAfter: resync}, errors.Join(r.write(ctx, infra, known.write), r.writeWorker(ctx, worker, known.writeWorker))
}

// worker returns the shoot's Worker, nil if there is none or it is being deleted or migrated.
func (r *reconciler) worker(ctx context.Context, namespace string) (*extensionsv1alpha1.Worker, error) {
	workers := &extensionsv1alpha1.WorkerList{}
	if err := r.client.List(ctx, workers, client.InNamespace(namespace)); err != nil {
		return nil, fmt.Errorf("listing the Workers: %w", err)
	}
	for i := range workers.Items {
		worker := &workers.Items[i]
		if worker.Spec.Type == v1alpha1.ProviderType && worker.DeletionTimestamp == nil && !operation.Migrates(worker) {
			return worker, nil
		}
	}
	return nil, nil
}

// look returns the health of the sites of the shoot.
func (r *reconciler) look(
	ctx context.Context, infra *extensionsv1alpha1.Infrastructure, worker *extensionsv1alpha1.Worker, cluster *extensionscontroller.Cluster,
) (*health, error) {
	sites, profile, removed, unresolved, err := r.sites(ctx, infra, cluster)
	if err != nil {
		return nil, err
	}
	key := client.ObjectKeyFromObject(infra)
	invalid := r.probers.set(key, sites, sitesOf(worker, sites))
	answers := r.probers.answers(key)
	if cluster.CloudProfile != nil {
		r.inspectors.set(key, sites, offered{spec: &cluster.CloudProfile.Spec, config: profile})
	}

	machines := &machinev1alpha1.MachineList{}
	if err := r.client.List(ctx, machines, client.InNamespace(infra.Namespace)); err != nil {
		return nil, fmt.Errorf("listing the machines: %w", err)
	}
	known := &health{
		defaultSite: defaultSiteOf(cluster), removed: removed, machines: shortagesOf(machines.Items),
		faults: r.probers.faults(key), unresolved: unresolved, differences: r.inspectors.differences(key),
	}
	for i := range sites {
		s := state{name: sites[i].Name}
		answer, answered := answers[s.name]
		switch {
		case invalid[s.name] != nil:
			s.known, s.err = true, invalid[s.name]
		case answered && answer.err != nil:
			s.known, s.err = true, answer.err
		default:
			s.known, s.err = answered, known.machines.sites[s.name]
		}
		known.sites = append(known.sites, s)
	}
	return known, nil
}

// sites returns the sites that the shoot uses, the configuration of its CloudProfile, and the names of removed sites that are not deleted
// yet. unresolved is the error of sites that cannot be resolved.
func (r *reconciler) sites(
	ctx context.Context, infra *extensionsv1alpha1.Infrastructure, cluster *extensionscontroller.Cluster,
) (used []site.Site, profile *v1alpha1.CloudProfileConfig, removed []string, unresolved, err error) {
	input, configErr, err := shootsites.Read(ctx, r.client, shootsites.OfInfrastructure(infra), cluster)
	if err := errors.Join(configErr, err); err != nil {
		return nil, nil, nil, nil, err
	}
	resolved, err := site.Resolve(input.Input)
	if err != nil {
		unresolved = platform.NewError(platform.ClassConfiguration, "%w", err)
	}
	if len(resolved) == 0 {
		return nil, nil, nil, nil, err
	}
	for _, s := range resolved {
		if s.Removed() {
			removed = append(removed, s.Name)
		} else {
			used = append(used, s)
		}
	}
	return used, input.Profile, removed, unresolved, nil
}

// conditionsChange returns the desired conditions.
type conditionsChange func(clock.Clock, []gardencorev1beta1.Condition) []gardencorev1beta1.Condition

// write writes the conditions of an object if they changed, and records events about those of sites.
func (r *reconciler) write(ctx context.Context, object extensionsv1alpha1.Object, change conditionsChange) error {
	unchanged, before := object.DeepCopyObject().(client.Object), object.GetExtensionStatus().GetConditions()
	after := change(r.clock, before)
	if equality.Semantic.DeepEqual(before, after) {
		return nil
	}
	object.GetExtensionStatus().SetConditions(after)
	if err := r.client.Status().Patch(ctx, object, client.MergeFromWithOptions(unchanged, client.MergeFromWithOptimisticLock{})); err != nil {
		return err
	}
	for i := range after {
		r.recordChange(object, v1beta1helper.GetCondition(before, after[i].Type), &after[i])
	}
	return nil
}

// writeWorker writes the conditions of the Worker if there is one.
func (r *reconciler) writeWorker(ctx context.Context, worker *extensionsv1alpha1.Worker, change conditionsChange) error {
	if worker == nil {
		return nil
	}
	return r.write(ctx, worker, change)
}

// recordChange records an event if the availability or the room of a site changed.
func (r *reconciler) recordChange(infra extensionsv1alpha1.Object, before, after *gardencorev1beta1.Condition) {
	name, ok := strings.CutPrefix(string(after.Type), ConditionPrefix)
	if !ok {
		name, ok = strings.CutPrefix(string(after.Type), RoomConditionPrefix)
	}
	if !ok || before != nil && before.Reason == after.Reason {
		return
	}
	action := eventnote.OnSite("Probe", name)
	switch {
	case after.Status == gardencorev1beta1.ConditionFalse:
		r.events.Warning(infra, after.Reason, action, "%s", after.Message)
	case before != nil && before.Status == gardencorev1beta1.ConditionFalse:
		r.events.Normal(infra, after.Reason, action, "site %q: %s", name, after.Message)
	}
}

// defaultSiteOf returns the default site of the shoot, empty if none is set.
func defaultSiteOf(cluster *extensionscontroller.Cluster) string {
	if cluster.Shoot == nil {
		return ""
	}
	config, _ := shootsites.DecodeOptional[v1alpha1.ControlPlaneConfig]("controlPlaneConfig", cluster.Shoot.Spec.Provider.ControlPlaneConfig)
	return config.DefaultSite
}
