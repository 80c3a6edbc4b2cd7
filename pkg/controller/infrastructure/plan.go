// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package infrastructure

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"

	extensionscontroller "github.com/gardener/gardener/extensions/pkg/controller"
	v1beta1helper "github.com/gardener/gardener/pkg/api/core/v1beta1/helper"
	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/lists"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/controller/shootsites"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/eventnote"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/rehearsal"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
)

// PlanRequest is what a plan is made from.
type PlanRequest struct {
	// Cluster has the Shoot and the CloudProfile as they will be.
	Cluster *extensionscontroller.Cluster
	// Before has those of the last reconciliation. It is nil if there was none or it is not known.
	Before *extensionscontroller.Cluster
	// Infrastructure is that of the shoot, nil if it does not exist or is not known.
	Infrastructure *extensionsv1alpha1.Infrastructure
	// Secret is that of the shoot.
	Secret *corev1.Secret
	// Machines reads the machines and machine deployments of the shoot, nil without access to them.
	Machines client.Reader
	// Rehearsal are the platforms.
	Rehearsal *rehearsal.Rehearsal
}

// Plan is what the next reconciliation, or the deletion if the Shoot is being deleted, would do.
type Plan struct {
	// Sites are the plans of the sites.
	Sites []v1alpha1.SitePlan
	// Err is why sites are missing in Sites.
	Err error
	// Infrastructure is the Infrastructure afterwards. IDs of objects that do not exist yet are made up.
	Infrastructure *extensionsv1alpha1.Infrastructure
}

// madeUpKey takes the place of the key that Gardener generates.
const madeUpKey = "ssh-rsa planned"

// NewPlan rehearses the reconciliation or deletion of all sites: it does what the controller does, except that platforms record what they
// would change, and that the status stays in memory. It returns an error where the controller does not begin with any site.
func NewPlan(ctx context.Context, request PlanRequest) (*Plan, error) {
	var (
		infra    = desired(request)
		warnings = &siteWarnings{bySite: map[string][]string{}}
		a        = &actuator{
			client: unwritten{}, reader: planReader{request}, events: eventnote.Writer{EventRecorder: warnings}, clock: clock.RealClock{},
			platforms: request.Rehearsal.Infrastructures, siteTimeout: siteTimeout, cutOffTimeout: cutOffTimeout, lookUpTimeout: lookUpTimeout,
			lookUpHost: net.DefaultResolver.LookupNetIP,
		}
		before = infra.DeepCopy()
		plan   *Plan
		err    error
	)
	if request.Cluster.Shoot.DeletionTimestamp != nil || infra.DeletionTimestamp != nil {
		plan, err = a.planDeletion(ctx, infra, request.Cluster)
	} else {
		plan, err = a.planReconciliation(ctx, infra, request)
	}
	if err != nil {
		return nil, err
	}
	for i := range plan.Sites {
		s := &plan.Sites[i]
		s.Notes = append(s.Notes, warnings.of(s.Name)...)
		s.Changes = ChangesOf(request.Rehearsal.Log.Writes(s.Name), objectsOf(before, s.Name), objectsOf(infra, s.Name))
	}
	plan.Infrastructure = infra
	return plan, nil
}

// desired returns the Infrastructure as gardenlet would write it.
func desired(request PlanRequest) *extensionsv1alpha1.Infrastructure {
	shoot := request.Cluster.Shoot
	infra := &extensionsv1alpha1.Infrastructure{ObjectMeta: metav1.ObjectMeta{Name: shoot.Name, Namespace: request.Cluster.ObjectMeta.Name}}
	if request.Infrastructure != nil {
		infra = request.Infrastructure.DeepCopy()
	}
	infra.Spec.Type, infra.Spec.Region = shoot.Spec.Provider.Type, shoot.Spec.Region
	infra.Spec.ProviderConfig = shoot.Spec.Provider.InfrastructureConfig
	switch {
	case !v1beta1helper.ShootEnablesSSHAccess(shoot):
		infra.Spec.SSHPublicKey = nil
	case len(infra.Spec.SSHPublicKey) == 0:
		infra.Spec.SSHPublicKey = []byte(madeUpKey)
	}
	if request.Secret != nil {
		infra.Spec.SecretRef = corev1.SecretReference{Namespace: request.Secret.Namespace, Name: request.Secret.Name}
	}
	return infra
}

func (a *actuator) planReconciliation(ctx context.Context, infra *extensionsv1alpha1.Infrastructure, request PlanRequest) (*Plan, error) {
	r, err := a.reconcileSites(ctx, logr.Discard(), infra, request.Cluster, false)
	if err != nil {
		return nil, err
	}
	plan := &Plan{Err: unresolved(r.resolveErr)}
	for i := range r.sites {
		s := &r.sites[i]
		operation := v1alpha1.SiteOperationReconcile
		if s.Removed() {
			operation = v1alpha1.SiteOperationDelete
		}
		planned := newSitePlan(s, operation, errors.Join(r.errs[i], r.retained.bySite[s.Name], r.removals.failed.bySite[s.Name]))
		if waiting := r.removals.waiting.bySite[s.Name]; waiting != nil {
			planned.Notes = append(planned.Notes, waiting.Error())
		}
		plan.Sites = append(plan.Sites, planned)
	}
	a.planQuotas(ctx, infra.Spec.Region, request, r.sites, plan.Sites)
	return plan, nil
}

func (a *actuator) planDeletion(ctx context.Context, infra *extensionsv1alpha1.Infrastructure,
	cluster *extensionscontroller.Cluster) (*Plan, error) {
	input, _, err := shootsites.Read(ctx, a.reader, shootsites.OfInfrastructure(infra), cluster)
	if err != nil {
		return nil, err
	}
	d := a.deleteSites(ctx, logr.Discard(), infra, cluster, input, a.deleteSite)
	plan := &Plan{Err: unresolved(d.resolveErr)}
	for i := range d.sites {
		planned := newSitePlan(&d.sites[i], v1alpha1.SiteOperationDelete, d.errs[i])
		if d.untouched[i] {
			planned.Notes = append(planned.Notes, "the site has no objects, because it was never accessible")
		}
		plan.Sites = append(plan.Sites, planned)
	}
	return plan, nil
}

func newSitePlan(s *site.Site, operation v1alpha1.SiteOperation, err error) v1alpha1.SitePlan {
	planned := v1alpha1.SitePlan{Name: s.Name, Platform: s.Platform, Operation: operation}
	if err != nil {
		planned.Error = err.Error()
	}
	return planned
}

// objectsOf returns the objects of the site in the state of the Infrastructure.
func objectsOf(infra *extensionsv1alpha1.Infrastructure, name string) []v1alpha1.Orphan {
	state, _ := shootsites.DecodeOptional[v1alpha1.InfrastructureState]("status.state", infra.Status.State)
	found := lists.Find(state.Sites, func(s *v1alpha1.SiteState) bool { return s.Name == name })
	if found == nil {
		return nil
	}
	return found.Objects()
}

// ChangesOf returns what happens to the objects: what is written to each of them, in this order, and then which others are adopted or kept.
func ChangesOf(writes []rehearsal.Write, before, after []v1alpha1.Orphan) []v1alpha1.PlannedChange {
	var changes []v1alpha1.PlannedChange
	find := func(kind, id string) *v1alpha1.PlannedChange {
		return lists.Find(changes, func(c *v1alpha1.PlannedChange) bool { return c.Kind == kind && c.ID == id })
	}
	for _, w := range writes {
		change := find(w.Kind, w.ID)
		if change == nil {
			changes = append(changes, v1alpha1.PlannedChange{Action: w.Action, Kind: w.Kind, Name: w.Name, ID: w.ID})
			change = &changes[len(changes)-1]
		}
		if w.Action != v1alpha1.PlannedActionChange {
			change.Action = w.Action
		}
		change.Fields = append(change.Fields, w.Fields...)
		change.Requests = append(change.Requests, w.PlannedRequest)
	}
	for _, object := range after {
		isKnown := slices.ContainsFunc(before, func(o v1alpha1.Orphan) bool { return o.Kind == object.Kind && o.ID == object.ID })
		change := find(object.Kind, object.ID)
		switch {
		case change == nil && isKnown:
			changes = append(changes, unchanged(v1alpha1.PlannedActionKeep, object))
		case change == nil:
			changes = append(changes, unchanged(v1alpha1.PlannedActionAdopt, object))
		case !isKnown && change.Action == v1alpha1.PlannedActionChange:
			change.Action = v1alpha1.PlannedActionAdopt
		}
	}
	return changes
}

func unchanged(action v1alpha1.PlannedAction, object v1alpha1.Orphan) v1alpha1.PlannedChange {
	return v1alpha1.PlannedChange{Action: action, Kind: object.Kind, Name: object.Name, ID: object.ID}
}

// unwritten is a client for writers of a status, which leaves the status in their objects. It has no other methods.
type unwritten struct{ client.Client }

// Status implements client.StatusClient.
func (unwritten) Status() client.SubResourceWriter { return unwrittenStatus{} }

type unwrittenStatus struct{ client.SubResourceWriter }

// Patch implements client.SubResourceWriter.
func (unwrittenStatus) Patch(context.Context, client.Object, client.Patch, ...client.SubResourcePatchOption) error {
	return nil
}

// planReader reads the Secret and the machines of the request.
type planReader struct{ PlanRequest }

// Get implements client.Reader.
func (r planReader) Get(_ context.Context, key client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	secret, ok := into.(*corev1.Secret)
	if !ok || r.Secret == nil || client.ObjectKeyFromObject(r.Secret) != key {
		return apierrors.NewNotFound(corev1.Resource("secrets"), key.Name)
	}
	r.Secret.DeepCopyInto(secret)
	return nil
}

// List implements client.Reader.
func (r planReader) List(ctx context.Context, into client.ObjectList, options ...client.ListOption) error {
	if r.Machines == nil {
		return errors.New("the objects in the seed are not accessible")
	}
	return r.Machines.List(ctx, into, options...)
}

// siteWarnings keeps the warnings about sites that would be events.
type siteWarnings struct {
	mutex  sync.Mutex
	bySite map[string][]string
}

// Eventf implements events.EventRecorder.
func (w *siteWarnings) Eventf(_, _ runtime.Object, _, reason, action, note string, args ...any) {
	name, ok := strings.CutPrefix(action, eventnote.OnSite(actionLookUp, ""))
	if !ok || reason != reasonSiteWarning {
		return
	}
	w.mutex.Lock()
	defer w.mutex.Unlock()
	w.bySite[name] = append(w.bySite[name], fmt.Sprintf(note, args...))
}

func (w *siteWarnings) of(site string) []string {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	return lists.Map(w.bySite[site], platform.PrintableMessage)
}
