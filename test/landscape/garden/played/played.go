// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package played does what others' operators do in a seed, as far as gardenlet waits for it: etcd-druid (with a real etcd and
// etcd-backup-restore), prometheus-operator, load balancers, and the extensions for operating systems,
// networks and DNS records.
package played

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const period = 500 * time.Millisecond

// Operators are those of a seed.
type Operators struct {
	// Client accesses the seed. It reads typed objects from a cache.
	Client client.Client
	// Types are the types of extensions that are reported as done.
	Types []string
	// Balancers are the first three bytes of the addresses of load balancers, such as 10.240.100.
	Balancers string
	// Log receives what is not possible.
	Log logr.Logger
	// WithoutFinalSnapshots says that backups are copied without waiting for a final snapshot, as an operator does by hand.
	WithoutFinalSnapshots atomic.Bool

	cancel   context.CancelFunc
	group    sync.WaitGroup
	balancer int
}

// Start plays the operators until Stop.
func (o *Operators) Start(ctx context.Context) {
	ctx, o.cancel = context.WithCancel(context.WithoutCancel(ctx))
	o.group.Go(func() { o.run(ctx) })
}

// Stop ends it.
func (o *Operators) Stop() {
	if o.cancel != nil {
		o.cancel()
		o.group.Wait()
	}
}

func (o *Operators) run(ctx context.Context) {
	ticker := time.NewTicker(period)
	defer ticker.Stop()
	for {
		for _, part := range []func(context.Context) error{o.syncBalancers, o.syncEtcds, o.syncCopies, o.syncMonitoring, o.syncExtensions} {
			if err := part(ctx); err != nil && ctx.Err() == nil {
				o.Log.Info("What is played in the seed is not up to date", "reason", err.Error())
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// list lists all objects of a kind, none if the seed does not know the kind yet.
func (o *Operators) list(ctx context.Context, list client.ObjectList) error {
	err := o.Client.List(ctx, list)
	if meta.IsNoMatchError(err) {
		return nil
	}
	return err
}

// syncBalancers gives an address to each Service that wants a load balancer.
func (o *Operators) syncBalancers(ctx context.Context) error {
	list := &corev1.ServiceList{}
	if err := o.list(ctx, list); err != nil {
		return err
	}
	var errs []error
	for i := range list.Items {
		service := &list.Items[i]
		if service.Spec.Type != corev1.ServiceTypeLoadBalancer || len(service.Status.LoadBalancer.Ingress) > 0 {
			continue
		}
		o.balancer++
		before := service.DeepCopy()
		service.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: fmt.Sprintf("%s.%d", o.Balancers, o.balancer)}}
		errs = append(errs, o.Client.Status().Patch(ctx, service, client.MergeFrom(before)))
	}
	return errors.Join(errs...)
}
