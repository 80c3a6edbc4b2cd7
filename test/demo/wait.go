// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	machinev1alpha1 "github.com/gardener/machine-controller-manager/pkg/apis/machine/v1alpha1"
	"github.com/gardener/machine-controller-manager/pkg/util/provider/machinecodes/codes"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/errorcodes"
)

const (
	waitPeriod  = time.Second
	waitTimeout = 5 * time.Minute
)

// wait looks every second whether done is true, shows the table and what done says is missing, and fails if that takes too
// long, if a process of the landscape ends or if a machine fails.
func (d *demo) wait(ctx context.Context, done func(context.Context) (bool, string, error)) error {
	ctx, cancel := context.WithTimeoutCause(ctx, waitTimeout, fmt.Errorf("not done after %s", waitTimeout))
	defer cancel()
	defer d.screen.show(nil, "")
	ticker := time.NewTicker(waitPeriod)
	defer ticker.Stop()
	start, missing := time.Now(), ""
	for {
		if err := errors.Join(d.landscape.Check(), d.machinesHealthy(ctx)); err != nil && ctx.Err() == nil {
			return err
		}
		ok, now, err := done(ctx)
		if err != nil && ctx.Err() == nil {
			return err
		}
		if ctx.Err() == nil {
			missing, _, _ = strings.Cut(now, "\n")
		}
		d.screen.show(d.table(ctx), fmt.Sprintf("%3.0f s: %s", time.Since(start).Seconds(), missing))
		if ok {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w; last: %s", context.Cause(ctx), missing)
		case <-ticker.C:
		}
	}
}

// machinesHealthy returns an error if a machine failed: nothing in the demo may make a machine fail but a site that is full. A
// machine that is being deleted counts as failed as long as its host is cleaned.
func (d *demo) machinesHealthy(ctx context.Context) error {
	if d.cleaning {
		return nil
	}
	sets := &machinev1alpha1.MachineSetList{}
	if err := d.landscape.Client.List(ctx, sets, client.InNamespace(namespace)); err != nil {
		return nil // kube-apiserver's own problems show elsewhere
	}
	var errs []error
	for _, set := range sets.Items {
		if set.Status.FailedMachines == nil {
			continue
		}
		for _, m := range *set.Status.FailedMachines {
			if m.LastOperation.ErrorCode != codes.ResourceExhausted.String() && !errorcodes.IsProgress(m.LastOperation.Description) {
				errs = append(errs, fmt.Errorf("machine %s failed: %s", m.Name, m.LastOperation.Description))
			}
		}
	}
	return errors.Join(errs...)
}

// get reads the shoot's Infrastructure, ControlPlane or Worker.
func (d *demo) get(ctx context.Context, object client.Object) error {
	return d.landscape.Client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: d.example.object}, object)
}

// waitReconciled waits until the extension has reconciled the current generation of object with success.
func (d *demo) waitReconciled(ctx context.Context, object extensionsv1alpha1.Object) error {
	return d.wait(ctx, func(ctx context.Context) (bool, string, error) {
		if err := d.get(ctx, object); err != nil {
			return false, err.Error(), nil
		}
		status := object.GetExtensionStatus()
		if lastError := status.GetLastError(); lastError != nil {
			return false, "", fmt.Errorf("lastError: %s %s", strings.TrimSpace(lastError.Description), codesOf(lastError))
		}
		operation := status.GetLastOperation()
		if operation == nil || object.GetAnnotations()[operationAnnotation] != "" || status.GetObservedGeneration() != object.GetGeneration() {
			return false, "waiting for the extension", nil
		}
		return operation.State == gardencorev1beta1.LastOperationStateSucceeded, fmt.Sprintf("%s is %s, %d %%", operation.Type, operation.State,
			operation.Progress), nil
	})
}

func codesOf(e *gardencorev1beta1.LastError) string {
	if len(e.Codes) == 0 {
		return ""
	}
	return fmt.Sprint(e.Codes)
}
