// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"context"
	"time"

	machinev1alpha1 "github.com/gardener/machine-controller-manager/pkg/apis/machine/v1alpha1"
	"github.com/gardener/machine-controller-manager/pkg/util/provider/machinecodes/codes"
	"github.com/gardener/machine-controller-manager/pkg/util/provider/metrics"
	corev1 "k8s.io/api/core/v1"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
)

const (
	operationCreate     = "create_machine"
	operationInitialize = "initialize_machine"
	operationDelete     = "delete_machine"
	operationGet        = "get_machine_status"
	operationList       = "list_machines"
)

// call resolves the machine class, runs a call about the machine, which may be nil, counts it by site and operation in the metrics that
// machine-controller-manager has for drivers, and returns its error as machine-controller-manager reads it.
func call[R any](ctx context.Context, d *hybridDriver, operation string, m *machinev1alpha1.Machine, class *machinev1alpha1.MachineClass,
	secret *corev1.Secret, do func(context.Context, *target) (*R, error)) (*R, error) {
	var (
		t        target
		response *R
		start    = time.Now()
	)
	err := d.resolve(&t, class, secret)
	if m != nil {
		t.request.Name, t.request.ProviderID = m.Name, m.Spec.ProviderID
	}
	if err == nil {
		response, err = watched(ctx, d, t.request.Spec.Site, func(ctx context.Context) (*R, error) { return do(ctx, &t) })
	}

	var (
		siteName string
		provider = Provider
		// unreachable is true if there is no room at the site for a new machine, because nobody answers there.
		unreachable bool
	)
	if t.request.Spec != nil {
		siteName = t.request.Spec.Site
		provider += "/" + siteName
	}
	if err != nil {
		if silence := d.stalls.silence(siteName); silence > d.timeouts.Unreachable && isNew(m) &&
			platform.ClassOf(err) == platform.ClassTransient {
			err = platform.NewError(platform.ClassTransient, "the site has not answered for %s: %w", silence.Round(time.Second), err)
			unreachable = true
		}
		failure := toStatus(operation, siteName, err)
		metrics.DriverFailedAPIRequests.WithLabelValues(provider, operation, failure.Code().String()).Inc()
		if unreachable {
			return response, recoded(failure, codes.ResourceExhausted)
		}
		return response, failure
	}
	metrics.DriverAPIRequestDuration.WithLabelValues(provider, operation).Observe(time.Since(start).Seconds())
	return response, nil
}

// isNew reports whether there is nothing yet of the machine that anybody knows of. A site that is unreachable has no room for it: that
// alone makes the cluster-autoscaler try another site at once.
func isNew(m *machinev1alpha1.Machine) bool {
	return m != nil && m.Spec.ProviderID == "" && m.DeletionTimestamp == nil
}

// watched runs a call to a site, and gives it up if the site has stalled.
func watched[R any](ctx context.Context, d *hybridDriver, siteName string, do func(context.Context) (*R, error)) (*R, error) {
	ctx, c, err := d.stalls.begin(ctx, siteName, d.timeouts)
	if err != nil {
		return nil, err
	}
	response, err := platform.Safely(func() (*R, error) { return do(ctx) })
	return response, c.end(ctx, err)
}
