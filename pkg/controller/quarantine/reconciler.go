// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package quarantine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	extensionscontroller "github.com/gardener/gardener/extensions/pkg/controller"
	extensionsworkercontroller "github.com/gardener/gardener/extensions/pkg/controller/worker"
	v1beta1helper "github.com/gardener/gardener/pkg/api/core/v1beta1/helper"
	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	machinev1alpha1 "github.com/gardener/machine-controller-manager/pkg/apis/machine/v1alpha1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/controller/condition"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/controller/operation"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/controller/shootsites"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/controller/sitehealth"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/eventnote"
)

// resync is the interval between two reconciliations during a quarantine, so that new machine sets are held, too.
const resync = time.Minute

// reconciler records and ends quarantines, and holds the machines of their sites.
type reconciler struct {
	client client.Client
	events eventnote.Writer
	clock  clock.Clock
}

// shoot is what the quarantines of a shoot depend on.
type shoot struct {
	infra       *extensionsv1alpha1.Infrastructure
	cluster     *extensionscontroller.Cluster
	profile     *v1alpha1.CloudProfileConfig
	workers     extensionsv1alpha1.WorkerList
	machines    machinev1alpha1.MachineList
	deployments machinev1alpha1.MachineDeploymentList
	sets        machinev1alpha1.MachineSetList
	classes     machinev1alpha1.MachineClassList
}

// Reconcile decides about the sites of an Infrastructure, records the decisions in its conditions, and makes the objects of the machines
// follow the conditions. While an Infrastructure is being deleted or migrated, there are no machines that could be kept.
func (r *reconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	infra := &extensionsv1alpha1.Infrastructure{}
	if err := r.client.Get(ctx, request.NamespacedName, infra); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if infra.DeletionTimestamp != nil || operation.Migrates(infra) {
		return reconcile.Result{}, nil
	}
	s, err := r.read(ctx, infra)
	if err != nil {
		return reconcile.Result{}, err
	}
	known := s.facts()
	if err := r.record(ctx, s, known); err != nil {
		return reconcile.Result{}, err
	}
	return reconcile.Result{RequeueAfter: r.requeueAfter(infra, known)}, r.hold(ctx, s, known)
}

func (r *reconciler) read(ctx context.Context, infra *extensionsv1alpha1.Infrastructure) (*shoot, error) {
	cluster, err := extensionscontroller.GetCluster(ctx, r.client, infra.Namespace)
	if err != nil {
		return nil, err
	}
	s := &shoot{infra: infra, cluster: cluster}
	if s.profile, err = shootsites.Profile(cluster); err != nil {
		return nil, err
	}
	for _, list := range []client.ObjectList{&s.workers, &s.machines, &s.deployments, &s.sets, &s.classes} {
		if err := r.client.List(ctx, list, client.InNamespace(infra.Namespace)); err != nil {
			return nil, fmt.Errorf("listing %T: %w", list, err)
		}
	}
	return s, nil
}

// facts returns the facts about all sites that have machines or a condition, by their names.
func (s *shoot) facts() map[string]facts {
	contacts, timeouts := contactsOf(s.machines.Items), healthTimeouts(s.deployments.Items)
	names := slices.Collect(maps.Keys(contacts))
	for i := range s.infra.Status.Conditions {
		if name, ok := strings.CutPrefix(string(s.infra.Status.Conditions[i].Type), v1alpha1.ConditionSiteQuarantinedPrefix); ok {
			names = append(names, name)
		}
	}
	known := map[string]facts{}
	for _, name := range names {
		settings := condition.QuarantineSettings(s.profile, name)
		available := v1beta1helper.GetCondition(s.infra.Status.Conditions, gardencorev1beta1.ConditionType(sitehealth.ConditionPrefix+name))
		known[name] = facts{
			site:          name,
			settings:      settings,
			contacts:      contacts[name],
			unreachable:   available != nil && available.Reason == sitehealth.ReasonUnreachable,
			othersLost:    areOthersLost(contacts, name),
			healthTimeout: cmp.Or(timeouts[name], defaultHealthTimeout),
			off:           s.off(name, settings),
		}
	}
	return known
}

// off returns why the site must not be in quarantine, empty if it may be.
func (s *shoot) off(name string, settings v1alpha1.Quarantine) string {
	ended := strings.Split(s.cluster.Shoot.Annotations[v1alpha1.AnnotationEndQuarantine], ",")
	switch {
	case s.cluster.Shoot.DeletionTimestamp != nil:
		return "the shoot is being deleted"
	case extensionscontroller.IsHibernationEnabled(s.cluster):
		return "the shoot is hibernated"
	case *settings.Share == 0:
		return "the CloudProfile disables it"
	case slices.ContainsFunc(ended, func(site string) bool { return strings.TrimSpace(site) == name }):
		return "annotation " + v1alpha1.AnnotationEndQuarantine + " of the Shoot ends it. The site is not quarantined again until the " +
			"annotation is removed"
	}
	return ""
}

// areOthersLost returns whether the shoot has machines on other sites, and all of these are lost.
func areOthersLost(contacts map[string][]contact, name string) bool {
	others := 0
	for site := range contacts {
		if site == name {
			continue
		}
		if len(losses(contacts[site])) < len(contacts[site]) {
			return false
		}
		others += len(contacts[site])
	}
	return others > 0
}

// record writes the conditions if they changed, and events about these changes.
func (r *reconciler) record(ctx context.Context, s *shoot, known map[string]facts) error {
	before := s.infra.DeepCopy()
	earlier := before.Status.Conditions
	changed := map[string]*verdict{}
	conditions := slices.Clone(earlier)
	for name, f := range known {
		conditionType := gardencorev1beta1.ConditionType(v1alpha1.ConditionSiteQuarantinedPrefix + name)
		old := v1beta1helper.GetCondition(earlier, conditionType)
		v := f.decide(r.clock.Now(), old)
		if v == nil {
			conditions = v1beta1helper.RemoveConditions(conditions, conditionType)
			continue
		}
		conditions = v1beta1helper.MergeConditions(conditions, v1beta1helper.UpdatedConditionWithClock(r.clock,
			v1beta1helper.GetOrInitConditionWithClock(r.clock, earlier, conditionType), v.status, v.reason, v.message))
		if old == nil || old.Reason != v.reason {
			changed[name] = v
		}
	}
	if equality.Semantic.DeepEqual(earlier, conditions) {
		return nil
	}
	s.infra.Status.Conditions = conditions
	if err := r.client.Status().Patch(ctx, s.infra, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(changed)) {
		r.announce(s, name, changed[name])
	}
	return nil
}

// announce writes events about the Infrastructure and the Worker.
func (r *reconciler) announce(s *shoot, name string, v *verdict) {
	objects := []client.Object{s.infra}
	for i := range s.workers.Items {
		objects = append(objects, &s.workers.Items[i])
	}
	write := r.events.Normal
	if v.reason == v1alpha1.ReasonSiteCutOff || v.reason == v1alpha1.ReasonQuarantineExpired {
		write = r.events.Warning
	}
	for _, object := range objects {
		write(object, v.reason, eventnote.OnSite("Quarantine", name), "%s", v.message)
	}
}

// hold makes the deployments, sets and classes of the machines, including those of old machines, follow the conditions.
func (r *reconciler) hold(ctx context.Context, s *shoot, known map[string]facts) error {
	held := holds{}
	for name, since := range condition.Quarantines(s.infra.Status.Conditions) {
		held[name] = hold{until: known[name].until(since), duration: known[name].settings.MaximumDuration.Duration}
	}
	pools := map[string]*extensionsv1alpha1.WorkerPool{}
	for i := range s.workers.Items {
		for j := range s.workers.Items[i].Spec.Pools {
			pools[s.workers.Items[i].Spec.Pools[j].Name] = &s.workers.Items[i].Spec.Pools[j]
		}
	}

	var errs []error
	disabled := map[string]*bool{}
	for i := range s.deployments.Items {
		deployment := &s.deployments.Items[i]
		errs = append(errs, patch(ctx, r.client, deployment, func() { held.holdDeployment(deployment, pools) }))
		if configuration := deployment.Spec.Template.Spec.MachineConfiguration; configuration != nil {
			disabled[deployment.Name] = configuration.DisableHealthTimeout
		}
	}
	for i := range s.sets.Items {
		set := &s.sets.Items[i]
		errs = append(errs, patch(ctx, r.client, set, func() {
			held.holdSet(set, disabled[set.Labels[extensionsworkercontroller.LabelKeyMachineDeploymentName]])
		}))
	}
	for i := range s.classes.Items {
		class := &s.classes.Items[i]
		errs = append(errs, patch(ctx, r.client, class, func() { held.holdClass(class) }))
	}
	return errors.Join(errs...)
}

// patch patches the object if change changes it. Objects that are gone are ignored.
func patch[T client.Object](ctx context.Context, c client.Client, object T, change func()) error {
	before := object.DeepCopyObject().(client.Object) //nolint:forcetypeassert // It is a copy.
	change()
	if equality.Semantic.DeepEqual(before, object) {
		return nil
	}
	return client.IgnoreNotFound(c.Patch(ctx, object, client.MergeFrom(before)))
}

// requeueAfter returns when to decide again, zero if no site is in quarantine.
func (r *reconciler) requeueAfter(infra *extensionsv1alpha1.Infrastructure, known map[string]facts) time.Duration {
	var after time.Duration
	now := r.clock.Now()
	for name := range condition.Quarantines(infra.Status.Conditions) {
		current := v1beta1helper.GetCondition(infra.Status.Conditions,
			gardencorev1beta1.ConditionType(v1alpha1.ConditionSiteQuarantinedPrefix+name))
		next := min(max(known[name].next(now, current).Sub(now), time.Millisecond), resync)
		if after == 0 || next < after {
			after = next
		}
	}
	return after
}
