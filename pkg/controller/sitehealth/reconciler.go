// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package sitehealth

import (
	"context"
	"fmt"
	"strings"
	"time"

	extensionscontroller "github.com/gardener/gardener/extensions/pkg/controller"
	v1beta1helper "github.com/gardener/gardener/pkg/api/core/v1beta1/helper"
	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	machinev1alpha1 "github.com/gardener/machine-controller-manager/pkg/apis/machine/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/codec"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/controller/operation"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/eventnote"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
)

// resync is after how long an Infrastructure is looked at again without a reason.
const resync = time.Minute

// reconciler writes the conditions of Infrastructures.
type reconciler struct {
	client  client.Client
	events  eventnote.Writer
	clock   clock.Clock
	probers *probers
}

// Reconcile lets the sites of an Infrastructure be asked and writes what they said. Nobody is asked while the shoot is deleted, moves
// to another seed or is hibernated.
func (r *reconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	infra := &extensionsv1alpha1.Infrastructure{}
	if err := r.client.Get(ctx, request.NamespacedName, infra); err != nil {
		if apierrors.IsNotFound(err) {
			r.probers.remove(request.NamespacedName)
		}
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if infra.DeletionTimestamp != nil || operation.Migrates(infra) {
		r.probers.remove(request.NamespacedName)
		return reconcile.Result{}, nil
	}
	cluster, err := extensionscontroller.GetCluster(ctx, r.client, infra.Namespace)
	if err != nil {
		return reconcile.Result{}, err
	}
	if extensionscontroller.IsHibernationEnabled(cluster) {
		r.probers.remove(request.NamespacedName)
		return reconcile.Result{}, r.write(ctx, infra, remove)
	}

	known, err := r.look(ctx, infra, cluster)
	if err != nil {
		return reconcile.Result{}, err
	}
	err = r.write(ctx, infra, func(conditions []gardencorev1beta1.Condition) []gardencorev1beta1.Condition {
		return known.write(r.clock, conditions)
	})
	return reconcile.Result{RequeueAfter: resync}, err
}

// look returns what is known about the sites of the shoot.
func (r *reconciler) look(ctx context.Context, infra *extensionsv1alpha1.Infrastructure, cluster *extensionscontroller.Cluster) (*health, error) {
	sites, removed, err := r.sites(ctx, infra, cluster)
	if err != nil {
		return nil, err
	}
	key := client.ObjectKeyFromObject(infra)
	unaskable := r.probers.set(key, sites)
	answers := r.probers.answers(key)

	machines := &machinev1alpha1.MachineList{}
	if err := r.client.List(ctx, machines, client.InNamespace(infra.Namespace)); err != nil {
		return nil, fmt.Errorf("listing the machines: %w", err)
	}
	known := &health{defaultSite: defaultSiteOf(cluster), removed: removed, machines: shortagesOf(machines.Items)}
	for i := range sites {
		s := state{name: sites[i].Name}
		answer, answered := answers[s.name]
		switch {
		case unaskable[s.name] != nil:
			s.known, s.err = true, unaskable[s.name]
		case answered && answer.err != nil:
			s.known, s.err = true, answer.err
		default:
			s.known, s.err = answered, known.machines.sites[s.name]
		}
		known.sites = append(known.sites, s)
	}
	return known, nil
}

// sites returns the sites that the shoot uses, and the names of those that it does not use any more and that are not deleted. Those
// whose platform nobody knows are told about by the Infrastructure's controller.
func (r *reconciler) sites(ctx context.Context, infra *extensionsv1alpha1.Infrastructure, cluster *extensionscontroller.Cluster) ([]site.Site, []string, error) {
	input := site.Input{Shoot: infra.Namespace}
	var err error
	if input.Config, err = codec.Decode[v1alpha1.InfrastructureConfig](infra.Spec.ProviderConfig); err != nil {
		return nil, nil, fmt.Errorf("spec.providerConfig: %w", err)
	}
	if cluster.CloudProfile != nil {
		if input.Profile, err = codec.Decode[v1alpha1.CloudProfileConfig](cluster.CloudProfile.Spec.ProviderConfig); err != nil {
			return nil, nil, fmt.Errorf("CloudProfile spec.providerConfig: %w", err)
		}
	}
	if infra.Status.State != nil && len(infra.Status.State.Raw) > 0 {
		if input.State, err = codec.Decode[v1alpha1.InfrastructureState](infra.Status.State); err != nil {
			return nil, nil, fmt.Errorf("status.state: %w", err)
		}
	}
	secret := &corev1.Secret{}
	if err := r.client.Get(ctx, client.ObjectKey{Namespace: infra.Spec.SecretRef.Namespace, Name: infra.Spec.SecretRef.Name}, secret); err != nil {
		return nil, nil, fmt.Errorf("spec.secretRef: %w", err)
	}
	input.Secret = secret.Data
	resolved, err := site.Resolve(input)
	if len(resolved) == 0 && err != nil {
		return nil, nil, err
	}
	var (
		used    []site.Site
		removed []string
	)
	for _, s := range resolved {
		if s.Removed() {
			removed = append(removed, s.Name)
			continue
		}
		used = append(used, s)
	}
	return used, removed, nil
}

// write writes the conditions unless they are as they were, and tells of those of sites that changed.
func (r *reconciler) write(ctx context.Context, infra *extensionsv1alpha1.Infrastructure, change func([]gardencorev1beta1.Condition) []gardencorev1beta1.Condition) error {
	before := infra.DeepCopy()
	infra.Status.Conditions = change(infra.Status.Conditions)
	if equality.Semantic.DeepEqual(before.Status.Conditions, infra.Status.Conditions) {
		return nil
	}
	if err := r.client.Status().Patch(ctx, infra, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})); err != nil {
		return err
	}
	for i := range infra.Status.Conditions {
		r.tell(infra, v1beta1helper.GetCondition(before.Status.Conditions, infra.Status.Conditions[i].Type), &infra.Status.Conditions[i])
	}
	return nil
}

// tell writes an event if something is wrong with a site since now, or is not any more.
func (r *reconciler) tell(infra *extensionsv1alpha1.Infrastructure, before, after *gardencorev1beta1.Condition) {
	name, ok := strings.CutPrefix(string(after.Type), ConditionPrefix)
	if !ok || before != nil && before.Reason == after.Reason {
		return
	}
	action := eventnote.OnSite("Probe", name)
	switch {
	case after.Status == gardencorev1beta1.ConditionFalse:
		r.events.Warn(infra, after.Reason, action, "%s", after.Message)
	case before != nil && before.Status == gardencorev1beta1.ConditionFalse:
		r.events.Tell(infra, after.Reason, action, "site %q: %s", name, after.Message)
	}
}

// defaultSiteOf returns the site that the shoot cannot do without: the one that the shoot owner named. With one site that is this
// one anyhow.
func defaultSiteOf(cluster *extensionscontroller.Cluster) string {
	if cluster.Shoot == nil {
		return ""
	}
	config, err := codec.Decode[v1alpha1.ControlPlaneConfig](cluster.Shoot.Spec.Provider.ControlPlaneConfig)
	if err != nil {
		return ""
	}
	return config.DefaultSite
}
