// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package shoot

import (
	"context"
	"fmt"
	"time"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	v1beta1constants "github.com/gardener/gardener/pkg/apis/core/v1beta1/constants"
	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	machinev1alpha1 "github.com/gardener/machine-controller-manager/pkg/apis/machine/v1alpha1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const probe = 500 * time.Millisecond

// Create creates an Infrastructure or a Worker and waits until it is reconciled successfully.
func (s *Shoot) Create(ctx context.Context, object extensionsv1alpha1.Object) error {
	since := time.Now()
	if err := s.Seed.Client.Create(ctx, object); err != nil {
		return err
	}
	return s.Reconciled(ctx, object, since)
}

// ChangeWorker changes the Worker and lets it be reconciled. Reconciled waits for the end, Time says since when.
func (s *Shoot) ChangeWorker(ctx context.Context, change func(*extensionsv1alpha1.Worker)) (*extensionsv1alpha1.Worker, error) {
	worker := &extensionsv1alpha1.Worker{ObjectMeta: metav1.ObjectMeta{Name: "hybrid", Namespace: s.Name}}
	return worker, retry.RetryOnConflict(retry.DefaultRetry, func() error {
		if err := s.Seed.Client.Get(ctx, client.ObjectKeyFromObject(worker), worker); err != nil {
			return err
		}
		change(worker)
		metav1.SetMetaDataAnnotation(&worker.ObjectMeta, v1beta1constants.GardenerOperation, v1beta1constants.GardenerOperationReconcile)
		return s.Seed.Client.Update(ctx, worker)
	})
}

// Reconciled waits until the object was reconciled successfully since a time. Errors that it shows meanwhile are in the error
// if ctx ends first.
func (s *Shoot) Reconciled(ctx context.Context, object extensionsv1alpha1.Object, since time.Time) error {
	// The annotation is gone a moment before the operation begins. An operation that ended in the second of since may be the one before.
	seen := ""
	return s.wait(ctx, func(ctx context.Context) (bool, string, error) {
		if err := s.Seed.Client.Get(ctx, client.ObjectKeyFromObject(object), object); err != nil {
			return false, "", err
		}
		before := seen
		seen = object.GetResourceVersion()
		status := object.GetExtensionStatus()
		last := status.GetLastOperation()
		_, asked := object.GetAnnotations()[v1beta1constants.GardenerOperation]
		if asked || last == nil || last.LastUpdateTime.Time.Before(since.Truncate(time.Second)) {
			return false, "not begun", nil
		}
		if last.LastUpdateTime.Time.Equal(since.Truncate(time.Second)) && seen != before {
			return false, "perhaps not begun", nil
		}
		message := last.Description
		if failure := status.GetLastError(); failure != nil {
			message = failure.Description
		}
		return last.State == gardencorev1beta1.LastOperationStateSucceeded, message, nil
	})
}

// Delete deletes an object and waits until it is gone.
func (s *Shoot) Delete(ctx context.Context, object extensionsv1alpha1.Object) error {
	if err := s.Seed.Client.Delete(ctx, object); err != nil {
		return err
	}
	return s.wait(ctx, func(ctx context.Context) (bool, string, error) {
		err := s.Seed.Client.Get(ctx, client.ObjectKeyFromObject(object), object)
		if apierrors.IsNotFound(err) {
			return true, "", nil
		}
		message := "still there"
		if failure := object.GetExtensionStatus().GetLastError(); failure != nil {
			message = failure.Description
		}
		return false, message, err
	})
}

// wait probes until done, a process ended by itself, or ctx ends.
func (s *Shoot) wait(ctx context.Context, done func(context.Context) (bool, string, error)) error {
	var message string
	err := wait.PollUntilContextCancel(ctx, probe, true, func(ctx context.Context) (ok bool, err error) {
		if err := s.Seed.Check(); err != nil {
			return false, err
		}
		ok, message, err = done(ctx)
		return ok, err
	})
	if err != nil && message != "" {
		return fmt.Errorf("%w: %s", err, message)
	}
	return err
}

// Machines are the machines of the shoot by name.
func (s *Shoot) Machines(ctx context.Context) (map[string]machinev1alpha1.Machine, error) {
	list := &machinev1alpha1.MachineList{}
	if err := s.Seed.Client.List(ctx, list, client.InNamespace(s.Name)); err != nil {
		return nil, err
	}
	result := map[string]machinev1alpha1.Machine{}
	for _, machine := range list.Items {
		result[machine.Name] = machine
	}
	return result, nil
}
