// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

func service() *corev1.Service {
	return &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "demo", Namespace: metav1.NamespaceDefault},
		Spec: corev1.ServiceSpec{
			Type:     corev1.ServiceTypeLoadBalancer,
			Selector: map[string]string{"app": "demo"},
			Ports:    []corev1.ServicePort{{Name: "http", Port: 80, TargetPort: intstr.FromInt32(8080), Protocol: corev1.ProtocolTCP}},
		},
	}
}

// balances reports whether the default site has load balancers of its own.
func (d *demo) balances() bool {
	return d.selection.keeps(cloud)
}

// createService creates a Service of type LoadBalancer without a class and does not wait: the steps after this take longer.
func (d *demo) createService(ctx context.Context) error {
	if !d.balances() {
		return nil
	}
	return d.landscape.Client.Create(ctx, service())
}

// waitBalancer waits until the default site has made the load balancer, and lets the Service go again.
func (d *demo) waitBalancer(ctx context.Context) error {
	if !d.balances() {
		return fmt.Errorf("a load balancer is %w: site %s, whose platform has them, is not in the shoot", errLeftOut, cloud)
	}
	s := service()
	if err := d.wait(ctx, func(ctx context.Context) (bool, string, error) {
		if err := d.landscape.Client.Get(ctx, client.ObjectKeyFromObject(s), s); err != nil {
			return false, err.Error(), nil
		}
		return len(s.Status.LoadBalancer.Ingress) > 0, "waiting for the load balancer of Service " + s.Name, nil
	}); err != nil {
		return err
	}
	events := &corev1.EventList{}
	if err := d.landscape.Client.List(ctx, events, client.InNamespace(s.Namespace),
		client.MatchingFields{"involvedObject.name": s.Name}); err != nil {
		return err
	}
	d.screen.print(fmt.Sprintf("    Service %s without a class has the address %s at the default site %s%s; this OpenStack passes no traffic",
		s.Name, s.Status.LoadBalancer.Ingress[0].IP, cloud, after(events.Items, s.CreationTimestamp.Time)))
	return d.landscape.Client.Delete(ctx, s)
}

// after says how long after start a load balancer was made.
func after(events []corev1.Event, start time.Time) string {
	for _, event := range events {
		if event.Reason == "EnsuredLoadBalancer" {
			return fmt.Sprintf(" after %.0f s", event.FirstTimestamp.Sub(start).Seconds())
		}
	}
	return ""
}

// deleteService deletes the Service and waits until its load balancer is gone, as gardenlet does before it deletes machines. It does
// not wait while it cleans up after a failure: the Infrastructure deletes what Services leave.
func (d *demo) deleteService(ctx context.Context) error {
	s := service()
	if err := client.IgnoreNotFound(d.landscape.Client.Delete(ctx, s)); err != nil || d.cleaning {
		return err
	}
	return d.wait(ctx, func(ctx context.Context) (bool, string, error) {
		err := d.landscape.Client.Get(ctx, client.ObjectKeyFromObject(s), s)
		if err != nil && !apierrors.IsNotFound(err) {
			return false, err.Error(), nil
		}
		return err != nil, "waiting until the load balancer of Service " + s.Name + " is gone", nil
	})
}
