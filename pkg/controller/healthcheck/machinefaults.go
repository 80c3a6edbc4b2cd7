// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package healthcheck

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/gardener/gardener/extensions/pkg/controller/healthcheck"
	v1beta1helper "github.com/gardener/gardener/pkg/api/core/v1beta1/helper"
	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	machinev1alpha1 "github.com/gardener/machine-controller-manager/pkg/apis/machine/v1alpha1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/controller/faults"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/errorcodes"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/eventnote"
)

// forever keeps a condition at Progressing. The library makes it False when that time is over.
const forever = time.Duration(math.MaxInt64)

// machineFaults checks that nothing is wrong with the machines of a Worker.
//
// A site that cannot be watched says nothing about the nodes. Gardener makes an Unknown condition False after a while, and looks at
// no node as long as a condition of an extension is not True. So such a site makes the condition Progressing, and only while all
// machines run.
type machineFaults struct {
	client   client.Client
	overview func(context.Context, types.NamespacedName) faults.Overview
}

var _ healthcheck.HealthCheck = &machineFaults{}

// SetLoggerSuffix implements healthcheck.HealthCheck. The check logs nothing: the condition has it all.
func (*machineFaults) SetLoggerSuffix(string, string) {}

// Check implements healthcheck.HealthCheck.
func (m *machineFaults) Check(ctx context.Context, worker types.NamespacedName) (*healthcheck.SingleCheckResult, error) {
	overview := m.overview(ctx, worker)
	unwatched := errors.Join(overview.Unwatched...)
	switch {
	case len(overview.Faults) > 0:
		return &healthcheck.SingleCheckResult{
			Status: gardencorev1beta1.ConditionFalse,
			Detail: eventnote.List(append(overview.Faults, messages(overview.Unwatched)...)),
		}, nil
	case unwatched == nil:
		return &healthcheck.SingleCheckResult{Status: gardencorev1beta1.ConditionTrue}, nil
	}

	running, err := m.allRun(ctx, worker.Namespace)
	if err != nil {
		return nil, err
	}
	if !running {
		return &healthcheck.SingleCheckResult{Status: gardencorev1beta1.ConditionTrue}, nil
	}
	failed, err := m.failed(ctx, worker)
	if err != nil {
		return nil, err
	}
	if failed {
		// The library does not let a condition get from False to Progressing, but from Unknown.
		return nil, unwatched
	}
	return &healthcheck.SingleCheckResult{
		Status:               gardencorev1beta1.ConditionProgressing,
		Detail:               eventnote.List(messages(overview.Unwatched)),
		Codes:                errorcodes.Codes(unwatched),
		ProgressingThreshold: new(forever),
	}, nil
}

// allRun reports whether all machines run, so that there is nothing for Gardener to find out about their nodes.
func (m *machineFaults) allRun(ctx context.Context, namespace string) (bool, error) {
	machines := &machinev1alpha1.MachineList{}
	if err := m.client.List(ctx, machines, client.InNamespace(namespace)); err != nil {
		return false, fmt.Errorf("listing the machines: %w", err)
	}
	return !slices.ContainsFunc(machines.Items, func(machine machinev1alpha1.Machine) bool {
		return machine.Status.CurrentStatus.Phase != machinev1alpha1.MachineRunning
	}), nil
}

// failed reports whether the condition is False.
func (m *machineFaults) failed(ctx context.Context, key types.NamespacedName) (bool, error) {
	worker := &extensionsv1alpha1.Worker{}
	if err := m.client.Get(ctx, key, worker); err != nil {
		return false, fmt.Errorf("reading the Worker: %w", err)
	}
	condition := v1beta1helper.GetCondition(worker.Status.Conditions, gardencorev1beta1.ShootEveryNodeReady)
	return condition != nil && condition.Status == gardencorev1beta1.ConditionFalse, nil
}

func messages(errs []error) []string {
	messages := make([]string, len(errs))
	for i, err := range errs {
		messages[i] = err.Error()
	}
	return messages
}
