// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"context"
	"time"

	machinev1alpha1 "github.com/gardener/machine-controller-manager/pkg/apis/machine/v1alpha1"
	"github.com/gardener/machine-controller-manager/pkg/util/provider/metrics"
	corev1 "k8s.io/api/core/v1"
)

const (
	operationCreate     = "create_machine"
	operationInitialize = "initialize_machine"
	operationDelete     = "delete_machine"
	operationGet        = "get_machine_status"
	operationList       = "list_machines"
)

// call resolves the machine class, runs a call, counts it by site and operation in the metrics that
// machine-controller-manager has for drivers, and returns its error as machine-controller-manager reads it.
func call[R any](ctx context.Context, d *hybridDriver, operation string, class *machinev1alpha1.MachineClass, secret *corev1.Secret, do func(context.Context, *target) (*R, error)) (*R, error) {
	var (
		t        target
		response *R
		start    = time.Now()
	)
	err := d.resolve(&t, class, secret)
	if err == nil {
		response, err = watched(ctx, d, t.request.Spec.Site, func(ctx context.Context) (*R, error) { return do(ctx, &t) })
	}

	var (
		siteName string
		provider = Provider
	)
	if t.request.Spec != nil {
		siteName = t.request.Spec.Site
		provider += "/" + siteName
	}
	if err != nil {
		failure := toStatus(operation, siteName, err)
		metrics.DriverFailedAPIRequests.WithLabelValues(provider, operation, failure.Code().String()).Inc()
		return nil, failure
	}
	metrics.DriverAPIRequestDuration.WithLabelValues(provider, operation).Observe(time.Since(start).Seconds())
	return response, nil
}

// watched runs a call to a site, and gives it up if the site has stalled.
func watched[R any](ctx context.Context, d *hybridDriver, siteName string, do func(context.Context) (*R, error)) (*R, error) {
	ctx, c, err := d.stalls.begin(ctx, siteName, d.timeouts)
	if err != nil {
		return nil, err
	}
	response, err := do(ctx)
	return response, c.end(ctx, err)
}
