// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package metal

import (
	"context"
)

// Operation is what an operator does with the hardware of a BareMetalHost.
type Operation string

const (
	// Register is the first look at the hardware.
	Register Operation = "register"
	// Provision is writing the image.
	Provision Operation = "provision"
	// Deprovision is cleaning.
	Deprovision Operation = "deprovision"
)

const pausedAnnotation = "baremetalhost.metal3.io/paused"

// annotation is what makes the played hardware fail in an operation.
func (o Operation) annotation() string {
	return "landscape/" + string(o) + "-error"
}

// FailHardware lets an operation with the hardware of a BareMetalHost fail with a message until HealHardware. The operator tries
// again after a minute at the earliest, and then after twice the time before.
func (i *Inventory) FailHardware(ctx context.Context, name string, operation Operation, message string) error {
	return i.annotateHost(ctx, name, map[string]any{operation.annotation(): message})
}

// HealHardware lets all operations succeed again. The operator tries at once.
func (i *Inventory) HealHardware(ctx context.Context, name string) error {
	return i.annotateHost(ctx, name, map[string]any{Register.annotation(): nil, Provision.annotation(): nil, Deprovision.annotation(): nil})
}

// SetHostError gives a BareMetalHost an error that its operator does not take away until ClearHostError.
func (i *Inventory) SetHostError(ctx context.Context, name, message string) error {
	if err := i.PauseHost(ctx, name); err != nil {
		return err
	}
	status := map[string]any{"errorMessage": message, "errorType": "registration error", "operationalStatus": "error"}
	return i.patchStatus(ctx, object(metal3, kindHost, Namespace, name), status)
}

// ClearHostError takes away the error of SetHostError.
func (i *Inventory) ClearHostError(ctx context.Context, name string) error {
	status := map[string]any{"errorMessage": "", "errorType": nil, "operationalStatus": "OK"}
	if err := i.patchStatus(ctx, object(metal3, kindHost, Namespace, name), status); err != nil {
		return err
	}
	return i.ResumeHost(ctx, name)
}

// PauseHost lets the operator leave a BareMetalHost alone.
func (i *Inventory) PauseHost(ctx context.Context, name string) error {
	return i.annotateHost(ctx, name, map[string]any{pausedAnnotation: "landscape"})
}

// ResumeHost lets the operator care for a BareMetalHost again.
func (i *Inventory) ResumeHost(ctx context.Context, name string) error {
	return i.annotateHost(ctx, name, map[string]any{pausedAnnotation: nil})
}

// SetServerState replaces the state of a Server. The operator leaves a server alone whose state is Error.
func (i *Inventory) SetServerState(ctx context.Context, name, state string) error {
	return i.patchStatus(ctx, object(ironCore, kindServer, "", name), map[string]any{"state": state})
}

// PauseBMCs lets the BMCs of all servers hang until ResumeBMCs.
func (i *Inventory) PauseBMCs() {
	i.mutex.Lock()
	defer i.mutex.Unlock()
	for _, process := range i.bmcs {
		process.Pause()
	}
}

// ResumeBMCs lets paused BMCs go on.
func (i *Inventory) ResumeBMCs() {
	i.mutex.Lock()
	defer i.mutex.Unlock()
	for _, process := range i.bmcs {
		process.Resume()
	}
}

func (i *Inventory) annotateHost(ctx context.Context, name string, annotations map[string]any) error {
	fields := map[string]any{"metadata": map[string]any{"annotations": annotations}}
	return i.patch(ctx, object(metal3, kindHost, Namespace, name), fields)
}
