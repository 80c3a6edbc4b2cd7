// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package statichost makes static hosts machines, and machines static hosts. Before a host is touched, its status says so; what is to be
// done next follows from the status and from what the host says, so that the process may end at any time.
package statichost

import (
	"context"
	"time"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	utilwait "k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/static/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/eventnote"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/statichost/host"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/statichost/ssh"
)

const (
	// Name is the name of the controller.
	Name = "static-host-operator"
	// pollInterval is the time between two looks at a task.
	pollInterval = 5 * time.Second
	// jitter is the part of an interval that is added at random.
	jitter = 0.2
)

// Options configure the reconciler.
type Options struct {
	// SecretNamespace is the namespace of the Secrets for SSH.
	SecretNamespace string
	// MaxConcurrentHosts is the number of hosts that are reconciled at the same time.
	MaxConcurrentHosts int
	// RefreshInterval is how often a host on which nothing is to be done is observed.
	RefreshInterval time.Duration
	// MinBackOff and MaxBackOff limit the time until a host is tried again.
	MinBackOff, MaxBackOff time.Duration
	// Limits are how long what is done on a host may take.
	Limits host.Limits
}

// Host is a connection to a host.
type Host interface {
	Observe(ctx context.Context) (*host.Observation, error)
	Baseline(ctx context.Context, claim string) error
	Provision(ctx context.Context, claim, baseline, hash, node string, userData []byte) error
	Release(ctx context.Context, claim, baseline string, empty []string, hook string) error
	Proof(ctx context.Context, claim, baseline string) error
	Forget(ctx context.Context, claim string) error
	Close()
}

// Connect connects to a host.
type Connect func(ctx context.Context, target ssh.Target, sudoPassword string) (Host, error)

// Reconciler reconciles static hosts.
type Reconciler struct {
	client  client.Client
	reader  client.Reader
	events  eventnote.Writer
	connect Connect
	options Options
	backOff workqueue.TypedRateLimiter[types.NamespacedName]
	// doubtful has a slot for each host that did not answer and may be tried: they may use half of the workers, so that the others wait
	// for none of them.
	doubtful chan struct{}
	now      func() time.Time
}

// AddToManager adds a controller with a reconciler to the manager.
func AddToManager(mgr manager.Manager, options Options) error {
	connect := func(ctx context.Context, target ssh.Target, sudoPassword string) (Host, error) {
		return host.Connect(ctx, target, sudoPassword, options.Limits)
	}
	// The cache may be older than what was done on a host.
	r := NewReconciler(mgr.GetClient(), mgr.GetAPIReader(), mgr.GetEventRecorder(Name), connect, options)
	return builder.ControllerManagedBy(mgr).Named(Name).
		For(&v1alpha1.StaticHost{}, builder.WithPredicates(predicate.Or(predicate.GenerationChangedPredicate{},
			predicate.AnnotationChangedPredicate{}))).
		WithOptions(controller.Options{MaxConcurrentReconciles: options.MaxConcurrentHosts}).
		Complete(r)
}

// NewReconciler returns a reconciler.
func NewReconciler(c client.Client, reader client.Reader, recorder events.EventRecorder, connect Connect, options Options) *Reconciler {
	return &Reconciler{client: c, reader: reader, events: eventnote.Writer{EventRecorder: recorder}, connect: connect, options: options,
		backOff:  workqueue.NewTypedItemExponentialFailureRateLimiter[types.NamespacedName](options.MinBackOff, options.MaxBackOff),
		doubtful: make(chan struct{}, max(1, options.MaxConcurrentHosts/2)),
		now:      time.Now,
	}
}

// Reconcile implements reconcile.Reconciler.
func (r *Reconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	h := &v1alpha1.StaticHost{}
	if err := r.reader.Get(ctx, request.NamespacedName, h); err != nil {
		r.backOff.Forget(request.NamespacedName)
		forgetMetrics(request.NamespacedName)
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	w := &work{Reconciler: r, host: h, before: h.DeepCopy()}
	wait, err := w.do(ctx)
	setMetrics(h)
	if apierrors.IsConflict(err) { // the host was changed meanwhile, and is read again
		return reconcile.Result{RequeueAfter: time.Second}, nil
	}
	return reconcile.Result{RequeueAfter: wait}, err
}

// work is one look at a host.
type work struct {
	*Reconciler
	host *v1alpha1.StaticHost
	// before is what the API server has.
	before *v1alpha1.StaticHost
	// connection is nil until the host was observed.
	connection Host
	seen       *host.Observation
}

// do returns after which time the host is to be looked at again, 0 if it need not be.
func (w *work) do(ctx context.Context) (time.Duration, error) {
	done, err := w.settle(ctx)
	if done || err != nil {
		return 0, err
	}
	if w.host.Spec.Maintenance {
		w.unknown("Maintenance", "The host is in maintenance, and is not connected to.")
		return 0, w.persist(ctx)
	}
	if wait := w.fresh(); wait > 0 {
		return wait, w.persist(ctx)
	}
	if !w.isReachable() {
		select {
		case w.doubtful <- struct{}{}:
			defer func() { <-w.doubtful }()
		default:
			return utilwait.Jitter(time.Second, 1), nil
		}
	}
	reached, err := w.observe(ctx)
	if w.connection != nil {
		defer w.connection.Close()
	}
	if err != nil || !reached {
		return w.later(), firstOf(err, w.persist(ctx))
	}
	wait, err := w.act(ctx)
	if problem := failureOf(err); problem != nil {
		w.unreachable(problem)
		return w.later(), w.persist(ctx)
	}
	if err == nil {
		err = w.persist(ctx)
	}
	return wait, err
}

// settle does what needs no connection: the finalizer, and phases that follow from the spec. It reports whether the host is gone.
func (w *work) settle(ctx context.Context) (bool, error) {
	h, s := w.host, &w.host.Status
	if h.DeletionTimestamp != nil {
		switch s.Phase {
		case "", v1alpha1.PhasePending, v1alpha1.PhaseAvailable, v1alpha1.PhaseDirty:
			return true, w.patch(ctx, func() { controllerutil.RemoveFinalizer(h, v1alpha1.Finalizer) })
		}
	} else if !controllerutil.ContainsFinalizer(h, v1alpha1.Finalizer) {
		if err := w.patch(ctx, func() { controllerutil.AddFinalizer(h, v1alpha1.Finalizer) }); err != nil {
			return false, err
		}
	}
	_, retry := h.Annotations[v1alpha1.AnnotationRetry]
	switch s.Phase {
	case "":
		s.Phase = v1alpha1.PhasePending
	case v1alpha1.PhaseProvisioning, v1alpha1.PhaseProvisioned:
		if !w.isWanted() {
			if err := w.release(ctx); err != nil {
				return false, err
			}
		}
	case v1alpha1.PhaseDirty:
		if retry {
			if s.Provisioned == nil {
				s.Provisioned = w.stranger()
			}
			if err := w.release(ctx); err != nil {
				return false, err
			}
		}
	}
	if !retry {
		return false, nil
	}
	// Only now, so that a conflict or the end of the process loses no retry.
	return false, w.patch(ctx, func() { delete(h.Annotations, v1alpha1.AnnotationRetry) })
}

// isWanted reports whether a machine wants the host: that of the status, or any if the status has no machine.
func (w *work) isWanted() bool {
	ref, p := w.host.Spec.ConsumerRef, w.host.Status.Provisioned
	return ref != nil && w.host.Spec.UserDataSecretRef != nil && (p == nil || p.Machine == ref.Name && p.Shoot == ref.Namespace)
}

// fresh returns for how long nothing is to be done.
func (w *work) fresh() time.Duration {
	s := w.host.Status
	switch s.Phase {
	case v1alpha1.PhaseProvisioning, v1alpha1.PhaseReleasing:
		return 0
	case v1alpha1.PhasePending, v1alpha1.PhaseAvailable:
		if w.isWanted() {
			return 0
		}
	}
	if !w.isReachable() || s.ObservedGeneration != w.host.Generation || s.LastContact == nil {
		return 0
	}
	return s.LastContact.Add(w.options.RefreshInterval).Sub(w.now())
}

// later returns when a host that cannot be worked on is tried again.
func (w *work) later() time.Duration {
	return utilwait.Jitter(w.backOff.When(client.ObjectKeyFromObject(w.host)), jitter)
}

// refresh returns after which time a host on which nothing is to be done is observed again.
func (w *work) refresh() time.Duration {
	return utilwait.Jitter(w.options.RefreshInterval, jitter)
}

// patch changes the metadata of the host. It fails with a conflict if the host was changed meanwhile.
func (w *work) patch(ctx context.Context, change func()) error {
	status := w.host.Status.DeepCopy()
	patch := client.MergeFromWithOptions(w.host.DeepCopy(), client.MergeFromWithOptimisticLock{})
	change()
	err := w.client.Patch(ctx, w.host, patch)
	w.before = w.host.DeepCopy()
	w.host.Status = *status
	return client.IgnoreNotFound(err)
}

// persist writes the status. It fails with a conflict if the host was changed meanwhile.
func (w *work) persist(ctx context.Context) error {
	w.host.Status.ObservedGeneration = w.host.Generation
	if apiequality.Semantic.DeepEqual(w.before.Status, w.host.Status) {
		return nil
	}
	if err := w.client.Status().Update(ctx, w.host); err != nil {
		return err
	}
	w.tell(w.before.Status, w.host.Status)
	w.before = w.host.DeepCopy()
	return nil
}

func firstOf(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
