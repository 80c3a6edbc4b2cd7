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

// balance creates a Service of type LoadBalancer, waits until its site has made the load balancer, and deletes it again.
func (d *demo) balance(ctx context.Context) error {
	if d.selection.defaultSite(cloud) != cloud {
		return fmt.Errorf("load balancer is %w: site %s, whose platform has load balancers, is not the default site", errLeftOut, cloud)
	}
	start, s := time.Now(), service()
	if err := d.landscape.Client.Create(ctx, s); err != nil {
		return err
	}
	if err := d.wait(ctx, func(ctx context.Context) (bool, string, error) {
		if err := d.landscape.Client.Get(ctx, client.ObjectKeyFromObject(s), s); err != nil {
			return false, err.Error(), nil
		}
		return len(s.Status.LoadBalancer.Ingress) > 0, "waiting for the load balancer of Service " + s.Name, nil
	}); err != nil {
		return err
	}
	d.screen.print(fmt.Sprintf("    Service %s without a class has the address %s of a load balancer at the default site %s after %.1f s; this OpenStack passes no traffic",
		s.Name, s.Status.LoadBalancer.Ingress[0].IP, cloud, time.Since(start).Seconds()))
	return d.deleteService(ctx)
}

// deleteService deletes the Service and waits until its load balancer is gone.
func (d *demo) deleteService(ctx context.Context) error {
	s := service()
	if err := client.IgnoreNotFound(d.landscape.Client.Delete(ctx, s)); err != nil {
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
