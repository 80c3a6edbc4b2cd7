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

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/codec"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
)

const (
	operationCreate     = "create_machine"
	operationInitialize = "initialize_machine"
	operationDelete     = "delete_machine"
	operationGet        = "get_machine_status"
	operationList       = "list_machines"
)

// userDataKey is the key of the user data in the secret of a machine class.
const userDataKey = "userData"

// target is the platform of a call and the request to it.
type target struct {
	machines platform.Machines
	request  platform.MachineRequest
}

// call resolves the machine class and runs the call, which may be about a machine. It records the call by site and operation in the
// metrics of machine-controller-manager for drivers, and returns its error as a status of machine-controller-manager.
func call[R any](ctx context.Context, d *hybridDriver, operation string, m *machinev1alpha1.Machine, class *machinev1alpha1.MachineClass,
	secret *corev1.Secret, do func(context.Context, *target) (*R, error)) (*R, error) {
	var (
		t        target
		response *R
		start    = time.Now()
		siteName string
		provider = Provider
	)
	err := d.resolve(&t, class, secret)
	if t.request.Spec != nil {
		siteName = t.request.Spec.Site
		provider += "/" + siteName
	}
	if m != nil {
		t.request.Name, t.request.ProviderID = m.Name, m.Spec.ProviderID
	}
	if err == nil {
		err = checkQuarantine(operation, m, class, start)
	}
	if err == nil {
		response, err = guarded(ctx, d, siteName, func(ctx context.Context) (*R, error) { return do(ctx, &t) })
	}
	if err == nil {
		metrics.DriverAPIRequestDuration.WithLabelValues(provider, operation).Observe(time.Since(start).Seconds())
		return response, nil
	}

	silence := d.bulkhead.silence(siteName)
	unreachable := silence > d.timeouts.Unreachable && isNew(m) && platform.ClassOf(err) == platform.ClassTransient
	if unreachable {
		err = platform.NewError(platform.ClassTransient, "the site has not responded for %s: %w", silence.Round(time.Second), err)
	}
	failure := toStatus(operation, siteName, err)
	metrics.DriverFailedAPIRequests.WithLabelValues(provider, operation, failure.Code().String()).Inc()
	if unreachable {
		return response, recoded(failure, codes.ResourceExhausted)
	}
	return response, failure
}

// isNew returns whether no part of the machine is known to exist. An unreachable site counts as one without capacity for it: only then
// does the cluster-autoscaler try another site at once.
func isNew(m *machinev1alpha1.Machine) bool {
	return m != nil && m.Spec.ProviderID == "" && m.DeletionTimestamp == nil
}

// guarded runs a call to a site, and cancels it if too many calls wait for the site.
func guarded[R any](ctx context.Context, d *hybridDriver, siteName string, do func(context.Context) (*R, error)) (*R, error) {
	ctx, c, err := d.bulkhead.begin(ctx, siteName)
	if err != nil {
		return nil, err
	}
	response, err := platform.Safely(func() (*R, error) { return do(ctx) })
	return response, c.end(err)
}

// resolve completes the target. It sets the spec before any other error can occur, so that errors and metrics name the site.
func (d *hybridDriver) resolve(t *target, class *machinev1alpha1.MachineClass, secret *corev1.Secret) error {
	if class.Provider != Provider {
		return platform.NewError(platform.ClassConfiguration, "machine class %q is for provider %q, but this driver is for %q", class.Name,
			class.Provider, Provider)
	}
	spec, err := codec.Decode[v1alpha1.MachineProviderSpec](&class.ProviderSpec)
	if err != nil {
		return platform.NewError(platform.ClassConfiguration, "provider spec of machine class %q: %w", class.Name, err)
	}
	t.request.Spec = spec
	name, ok := spec.Platform()
	if !ok {
		return platform.NewError(platform.ClassConfiguration, "provider spec of machine class %q must have the block of exactly one platform",
			class.Name)
	}
	if t.machines, err = d.machines.For(name); err != nil {
		return err
	}
	if secret == nil {
		return platform.NewError(platform.ClassConfiguration, "machine class %q must have a secret", class.Name)
	}
	t.request.Credentials = site.CredentialsOf(spec.Site, secret.Data)
	return nil
}
