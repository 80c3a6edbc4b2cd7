// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"sync"
	"time"

	metal3api "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"github.com/metal3-io/baremetal-operator/pkg/provisioner"
	"github.com/metal3-io/baremetal-operator/pkg/provisioner/fixture"
	"k8s.io/apimachinery/pkg/types"
)

// Annotations of a host that let its hardware fail, with the message as value.
const (
	annotationRegister    = "landscape/register-error"
	annotationProvision   = "landscape/provision-error"
	annotationDeprovision = "landscape/deprovision-error"
)

// annotationProvisionTime of a host is how long writing an image to it takes, if it is not as long as for others.
const annotationProvisionTime = "landscape/provision-time"

// lookInterval is the time between two looks at an operation that takes no time.
const lookInterval = 100 * time.Millisecond

// hardware plays the hardware of all hosts.
type hardware struct {
	provision, deprovision time.Duration

	mutex    sync.Mutex
	machines map[types.UID]*machine
}

// machine is the hardware of one host.
type machine struct {
	fixture fixture.Fixture
	// done is when the current operation ends.
	done time.Time
}

// NewProvisioner implements provisioner.Factory.
func (h *hardware) NewProvisioner(ctx context.Context, host provisioner.HostData,
	publish provisioner.EventPublisher) (provisioner.Provisioner, error) {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	if h.machines == nil {
		h.machines = map[types.UID]*machine{}
	}
	m := h.machines[host.ObjectMeta.UID]
	if m == nil {
		m = &machine{}
		h.machines[host.ObjectMeta.UID] = m
	}
	inner, err := m.fixture.NewProvisioner(ctx, host, publish)
	return &operation{Provisioner: inner, machine: m, hardware: h, annotations: host.ObjectMeta.Annotations}, err
}

// operation is what the operator does with one host.
type operation struct {
	provisioner.Provisioner

	machine     *machine
	hardware    *hardware
	annotations map[string]string
}

// Register fails if the host's annotation says so.
func (o *operation) Register(ctx context.Context, data provisioner.ManagementAccessData, changed, restart bool) (provisioner.Result, string,
	error) {
	if message := o.annotations[annotationRegister]; message != "" {
		return provisioner.Result{ErrorMessage: message}, "", nil
	}
	result, id, err := o.Provisioner.Register(ctx, data, changed, restart)
	return soon(result), id, err
}

// InspectHardware takes no time.
func (o *operation) InspectHardware(ctx context.Context, data provisioner.InspectData, restart, refresh, forceReboot bool) (
	provisioner.Result, bool, *metal3api.HardwareDetails, error,
) {
	result, started, details, err := o.Provisioner.InspectHardware(ctx, data, restart, refresh, forceReboot)
	return soon(result), started, details, err
}

// Adopt takes no time.
func (o *operation) Adopt(ctx context.Context, data provisioner.AdoptData, restart bool) (provisioner.Result, error) {
	result, err := o.Provisioner.Adopt(ctx, data, restart)
	return soon(result), err
}

// Provision reads what the host boots with, as Ironic does, and then takes its time.
func (o *operation) Provision(ctx context.Context, data provisioner.ProvisionData, forceReboot bool) (provisioner.Result, error) {
	if message := o.annotations[annotationProvision]; message != "" {
		return provisioner.Result{ErrorMessage: message}, nil
	}
	for _, read := range []func(context.Context) (string, error){data.HostConfig.UserData, data.HostConfig.MetaData,
		data.HostConfig.NetworkData} {
		if _, err := read(ctx); err != nil {
			return provisioner.Result{}, err
		}
	}
	result, err := o.Provisioner.Provision(ctx, data, forceReboot)
	return o.wait(result, o.provisionTime()), err
}

// provisionTime is how long writing an image to the host takes.
func (o *operation) provisionTime() time.Duration {
	if own, err := time.ParseDuration(o.annotations[annotationProvisionTime]); err == nil {
		return own
	}
	return o.hardware.provision
}

// Deprovision takes its time.
func (o *operation) Deprovision(ctx context.Context, restart bool, mode metal3api.AutomatedCleaningMode) (provisioner.Result, error) {
	if message := o.annotations[annotationDeprovision]; message != "" {
		return provisioner.Result{ErrorMessage: message}, nil
	}
	result, err := o.Provisioner.Deprovision(ctx, restart, mode)
	return o.wait(result, o.hardware.deprovision), err
}

// soon makes the second look come soon.
func soon(result provisioner.Result) provisioner.Result {
	result.RequeueAfter = min(result.RequeueAfter, lookInterval)
	return result
}

// wait makes the fixture's operation, which is over at the second look, take so long.
func (o *operation) wait(result provisioner.Result, duration time.Duration) provisioner.Result {
	if result.Dirty {
		o.machine.done = time.Now().Add(duration)
	}
	if left := time.Until(o.machine.done); left > 0 {
		return provisioner.Result{Dirty: true, RequeueAfter: left}
	}
	return provisioner.Result{}
}
