// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package bastion

import (
	"context"
	"errors"
	"net/netip"
	"slices"
	"time"

	extensionscontroller "github.com/gardener/gardener/extensions/pkg/controller"
	"github.com/gardener/gardener/extensions/pkg/controller/bastion"
	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	reconcilerutils "github.com/gardener/gardener/pkg/controllerutils/reconciler"
	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/codec"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/errorcodes"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/eventnote"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
)

const (
	// siteTimeout limits the operation on the site of the bastion. What needs longer is continued with the next reconciliation.
	siteTimeout = 4 * time.Minute
	// admitTimeout limits the change of the rules for the nodes of a site.
	admitTimeout = 30 * time.Second
	// progressInterval is the time between two looks at a bastion that starts.
	progressInterval = 5 * time.Second
)

// Reasons and actions of events.
const (
	reasonProgress    = "BastionInProgress"
	reasonNotAdmitted = "NodesNotReached"
	reasonLeft        = "BastionLeft"
	actionReconcile   = "Reconcile"
	actionDelete      = "Delete"
)

type actuator struct {
	client client.Client
	// reader reads from the API server without a cache.
	reader    client.Reader
	events    eventnote.Writer
	platforms platform.Registry[platform.Bastions]
	// siteTimeout and admitTimeout are the constants, unless a test does not wait so long.
	siteTimeout, admitTimeout time.Duration
}

// NewActuator returns the actuator for Bastions of type hybrid. The reader must not have a cache.
func NewActuator(c client.Client, reader client.Reader, recorder events.EventRecorder,
	platforms platform.Registry[platform.Bastions]) bastion.Actuator {
	return &actuator{client: c, reader: reader, events: eventnote.Writer{EventRecorder: recorder}, platforms: platforms,
		siteTimeout: siteTimeout, admitTimeout: admitTimeout}
}

// Reconcile creates the bastion and lets it reach the nodes of all sites. It succeeds when the bastion runs: nodes of a site that does not
// respond are admitted later.
func (a *actuator) Reconcile(ctx context.Context, log logr.Logger, b *extensionsv1alpha1.Bastion,
	cluster *extensionscontroller.Cluster) error {
	return a.result(b, a.reconcile(ctx, log, b, cluster))
}

// Delete deletes the bastion and closes the nodes of all sites.
func (a *actuator) Delete(ctx context.Context, _ logr.Logger, b *extensionsv1alpha1.Bastion,
	cluster *extensionscontroller.Cluster) error {
	return a.result(b, a.delete(ctx, b, cluster))
}

// ForceDelete is like Delete, but leaves what cannot be deleted and records an event.
func (a *actuator) ForceDelete(ctx context.Context, log logr.Logger, b *extensionsv1alpha1.Bastion,
	cluster *extensionscontroller.Cluster) error {
	if err := a.delete(ctx, b, cluster); err != nil {
		log.Error(err, "Leaving what cannot be deleted of the bastion")
		a.events.Warning(b, reasonLeft, actionDelete,
			"Objects of the bastion may be left, the deletion of the Infrastructure takes them: %v", err)
	}
	return nil
}

// result adds codes to the error, and requeues soon if the bastion is in progress.
func (a *actuator) result(b *extensionsv1alpha1.Bastion, err error) error {
	if platform.IsProgress(err) {
		action := actionReconcile
		if b.DeletionTimestamp != nil {
			action = actionDelete
		}
		a.events.Normal(b, reasonProgress, action, "%v", err)
		return &reconcilerutils.RequeueAfterError{Cause: err, RequeueAfter: progressInterval}
	}
	return errorcodes.WithCodes(err)
}

func (a *actuator) reconcile(ctx context.Context, log logr.Logger, b *extensionsv1alpha1.Bastion,
	cluster *extensionscontroller.Cluster) error {
	f, err := a.read(ctx, b, cluster)
	if err != nil {
		return err
	}
	if err := f.checkInUse(); err != nil {
		return err
	}
	ingress, err := ingressOf(b)
	if err != nil {
		return err
	}
	s, part, err := a.siteOf(f)
	if err != nil {
		return err
	}
	if err := a.record(ctx, b, s.Name); err != nil {
		return err
	}
	created, err := a.ensure(ctx, part, platform.BastionRequest{
		Name: f.name, Site: s, Status: f.SiteStatus(s.Name), UserData: b.Spec.UserData, Ingress: ingress,
		Machine: func() (platform.MachineClassRequest, error) { return f.machine(s) },
	})
	if err != nil {
		return err
	}
	for i, err := range a.admit(ctx, f, func(at *site.Site) []netip.Addr { return sources(created, at.Name != s.Name) }) {
		if err == nil {
			continue
		}
		name := f.Sites[i].Name
		log.Error(err, "The bastion may not reach the nodes of a site", "site", name)
		a.events.Warning(b, reasonNotAdmitted, eventnote.OnSite(actionReconcile, name), "The bastion may not reach the nodes of site %q: %v",
			name, err)
		if platform.ClassOf(err) != platform.ClassConfiguration {
			repeat(ctx)
		}
	}
	return a.patchStatus(ctx, b, func(status *extensionsv1alpha1.BastionStatus) error {
		status.Ingress = &corev1.LoadBalancerIngress{IP: created.Address.String()}
		return nil
	})
}

func (a *actuator) ensure(ctx context.Context, part platform.Bastions, request platform.BastionRequest) (platform.Bastion, error) {
	ctx, cancel := context.WithTimeout(ctx, a.siteTimeout)
	defer cancel()
	answer := await(ctx, platform.Ask(func() (platform.Bastion, error) { return part.Ensure(ctx, request) }))
	return answer.Value, platform.InSite(request.Site.Name, answer.Err)
}

// sources returns the addresses from which the bastion reaches nodes. Other sites may see the address at which it is reached: the router of
// a floating IP translates what it sends to them.
func sources(created platform.Bastion, elsewhere bool) []netip.Addr {
	if !elsewhere || slices.Contains(created.NodeAddresses, created.Address) {
		return created.NodeAddresses
	}
	return append(slices.Clone(created.NodeAddresses), created.Address)
}

// admit lets the addresses of the bastion reach the nodes of all sites, and no others. It returns the errors of the sites in their order.
func (a *actuator) admit(ctx context.Context, f *facts, from func(*site.Site) []netip.Addr) []error {
	ctx, cancel := context.WithTimeout(ctx, a.admitTimeout)
	defer cancel()
	return platform.Each(len(f.Sites), func(i int) error {
		s := &f.Sites[i]
		gate, ok := a.platforms[s.Platform].(platform.BastionGate)
		if !ok || s.Removed() {
			return nil
		}
		err := await(ctx, platform.Ask(func() (struct{}, error) { return struct{}{}, gate.Admit(ctx, s, f.name, from(s)) })).Err
		return platform.InSite(s.Name, err)
	})
}

// await returns the answer, or an error when ctx ends even if the platform ignores it.
func await[T any](ctx context.Context, answers <-chan platform.Answer[T]) platform.Answer[T] {
	select {
	case answer := <-answers:
		return answer
	case <-ctx.Done():
		return platform.Answer[T]{Err: platform.NewError(platform.ClassTransient, "no answer yet: %w", ctx.Err())}
	}
}

// delete deletes the bastion, and closes the nodes of all sites at the same time: neither waits for the other.
func (a *actuator) delete(ctx context.Context, b *extensionsv1alpha1.Bastion, cluster *extensionscontroller.Cluster) error {
	f, err := a.read(ctx, b, cluster)
	if err != nil || f.recorded == "" || f.Infra == nil {
		return err // nothing was created, or the Infrastructure took it with it
	}
	errs := platform.Each(2, func(i int) error {
		if i == 0 {
			return joined(a.admit(ctx, f, func(*site.Site) []netip.Addr { return nil }))
		}
		return a.deleteHost(ctx, f)
	})
	return joined(errs)
}

// joined joins the errors. The result is of progress if all of them are.
func joined(errs []error) error {
	var progress error
	failures := slices.DeleteFunc(slices.Clone(errs), func(err error) bool {
		if platform.IsProgress(err) {
			progress = err
			return true
		}
		return err == nil
	})
	if len(failures) == 0 {
		return progress
	}
	return errors.Join(failures...)
}

// deleteHost deletes the bastion from its site. A site that is not known any longer has nothing of the shoot.
func (a *actuator) deleteHost(ctx context.Context, f *facts) error {
	s := site.Find(f.Sites, f.recorded)
	if s == nil {
		return nil
	}
	part, err := a.platforms.For(s.Platform)
	if err != nil {
		return platform.InSite(s.Name, err)
	}
	ctx, cancel := context.WithTimeout(ctx, a.siteTimeout)
	defer cancel()
	err = await(ctx, platform.Ask(func() (struct{}, error) { return struct{}{}, part.Delete(ctx, s, f.name) })).Err
	return platform.InSite(s.Name, err)
}

// record writes the site to the status before anything is created there.
func (a *actuator) record(ctx context.Context, b *extensionsv1alpha1.Bastion, name string) error {
	return a.patchStatus(ctx, b, func(status *extensionsv1alpha1.BastionStatus) (err error) {
		status.ProviderStatus, err = codec.Encode(&v1alpha1.BastionStatus{Site: name})
		return err
	})
}

// patchStatus changes the status. An unchanged one is not written.
func (a *actuator) patchStatus(ctx context.Context, b *extensionsv1alpha1.Bastion,
	change func(*extensionsv1alpha1.BastionStatus) error) error {
	before := b.DeepCopy()
	if err := change(&b.Status); err != nil {
		return err
	}
	patch := client.MergeFrom(before)
	if data, err := patch.Data(b); err != nil || string(data) == "{}" {
		return err
	}
	return a.client.Status().Patch(ctx, b, patch)
}
