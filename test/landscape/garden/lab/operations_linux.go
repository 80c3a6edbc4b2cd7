// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	v1beta1constants "github.com/gardener/gardener/pkg/apis/core/v1beta1/constants"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/garden"
)

const pollPeriod = time.Second

// Get reads the shoot.
func (s *Shoot) Get(ctx context.Context) (*gardencorev1beta1.Shoot, error) {
	shoot := &gardencorev1beta1.Shoot{}
	return shoot, s.lab.Client.Get(ctx, client.ObjectKey{Namespace: garden.Namespace, Name: s.name}, shoot)
}

// Change changes the shoot. Wait waits until it is reconciled.
func (s *Shoot) Change(ctx context.Context, change func(*gardencorev1beta1.Shoot) error) error {
	return retry.RetryOnConflict(retry.DefaultRetry, func() error {
		shoot, err := s.Get(ctx)
		if err != nil {
			return err
		}
		if err := change(shoot); err != nil {
			return err
		}
		return s.lab.Client.Update(ctx, shoot)
	})
}

// Ask asks for an operation of the shoot, such as reconcile. Wait waits until it is done.
func (s *Shoot) Ask(ctx context.Context, operation string) error {
	return s.Change(ctx, func(shoot *gardencorev1beta1.Shoot) error {
		metav1.SetMetaDataAnnotation(&shoot.ObjectMeta, v1beta1constants.GardenerOperation, operation)
		return nil
	})
}

// Wait waits until the current generation of the shoot is reconciled successfully, since a time at the earliest. It tells each
// progress, among which are errors, after which gardenlet tries again.
func (s *Shoot) Wait(ctx context.Context, since time.Time, tell func(string)) error {
	return s.lab.wait(ctx, tell, func(ctx context.Context) (bool, string, error) {
		shoot, err := s.Get(ctx)
		if err != nil {
			return false, "", err
		}
		last := shoot.Status.LastOperation
		_, asked := shoot.Annotations[v1beta1constants.GardenerOperation]
		if last == nil || asked || last.LastUpdateTime.Time.Before(since.Truncate(time.Second)) {
			return false, "waiting for gardenlet", nil
		}
		if last.State == gardencorev1beta1.LastOperationStateFailed {
			return false, "", errors.New(describe(shoot))
		}
		current := shoot.Status.ObservedGeneration == shoot.Generation
		return last.State == gardencorev1beta1.LastOperationStateSucceeded && current, describe(shoot), nil
	})
}

// WaitCreated waits until the shoot is created. gardenlet may begin to reconcile it at once, as it completes its specification meanwhile.
func (s *Shoot) WaitCreated(ctx context.Context, tell func(string)) error {
	return s.lab.wait(ctx, tell, func(ctx context.Context) (bool, string, error) {
		shoot, err := s.Get(ctx)
		if err != nil {
			return false, "", err
		}
		switch last := shoot.Status.LastOperation; {
		case last == nil:
			return false, "waiting for gardenlet", nil
		case last.Type == gardencorev1beta1.LastOperationTypeReconcile:
			return true, "Create Succeeded (100%), and it is reconciled again", nil
		default:
			return last.State == gardencorev1beta1.LastOperationStateSucceeded, describe(shoot), nil
		}
	})
}

// describe is the last operation of a shoot, or with what errors it ended.
func describe(shoot *gardencorev1beta1.Shoot) string {
	last := shoot.Status.LastOperation
	text := fmt.Sprintf("%s %s (%d%%)", last.Type, last.State, last.Progress)
	if last.State == gardencorev1beta1.LastOperationStateProcessing {
		return text + ": " + last.Description // errors are those of the attempt before
	}
	for _, e := range shoot.Status.LastErrors {
		text += "; " + strings.TrimSpace(e.Description)
	}
	return text
}

// Delete deletes the shoot and waits until it is gone.
func (s *Shoot) Delete(ctx context.Context, tell func(string)) error {
	if err := s.Change(ctx, func(shoot *gardencorev1beta1.Shoot) error {
		metav1.SetMetaDataAnnotation(&shoot.ObjectMeta, v1beta1constants.ConfirmationDeletion, "true")
		return nil
	}); err != nil {
		return err
	}
	shoot, err := s.Get(ctx)
	if err != nil {
		return err
	}
	if err := s.lab.Client.Delete(ctx, shoot); err != nil {
		return err
	}
	return s.lab.wait(ctx, tell, func(ctx context.Context) (bool, string, error) {
		shoot, err := s.Get(ctx)
		if apierrors.IsNotFound(err) {
			return true, "gone", nil
		}
		if err != nil || shoot.Status.LastOperation == nil {
			return false, "waiting for gardenlet", err
		}
		return false, describe(shoot), nil
	})
}

// WaitSeed waits until a seed can have shoots.
func (l *Lab) WaitSeed(ctx context.Context, name string, tell func(string)) error {
	return l.wait(ctx, tell, func(ctx context.Context) (bool, string, error) {
		seed := &gardencorev1beta1.Seed{}
		if err := l.Client.Get(ctx, client.ObjectKey{Name: name}, seed); err != nil {
			return false, "waiting for gardenlet", client.IgnoreNotFound(err)
		}
		last := seed.Status.LastOperation
		if last == nil || last.State != gardencorev1beta1.LastOperationStateSucceeded {
			return false, "seed is being prepared", nil
		}
		kinds := []gardencorev1beta1.ConditionType{gardencorev1beta1.GardenletReady, gardencorev1beta1.SeedExtensionsReady}
		if seed.Spec.Backup != nil {
			kinds = append(kinds, gardencorev1beta1.SeedBackupBucketsReady)
		}
		for _, kind := range kinds {
			ready := false
			for _, c := range seed.Status.Conditions {
				if c.Type == kind && c.Status == gardencorev1beta1.ConditionTrue {
					ready = true
				}
			}
			if !ready {
				return false, fmt.Sprintf("seed is not %s", kind), nil
			}
		}
		return true, "seed is ready", nil
	})
}

// wait asks every second until done, a process of the garden ended by itself, or ctx ends, and tells what is new.
func (l *Lab) wait(ctx context.Context, tell func(string), done func(context.Context) (bool, string, error)) error {
	last := ""
	err := wait.PollUntilContextCancel(ctx, pollPeriod, true, func(ctx context.Context) (bool, error) {
		if err := l.Check(); err != nil {
			return false, err
		}
		ok, message, err := done(ctx)
		if message != "" && message != last {
			last = message
			tell(message)
		}
		return ok, err
	})
	if err != nil && last != "" {
		return fmt.Errorf("%w; last: %s", err, last)
	}
	return err
}

// InGarden are the objects that the garden keeps of the shoot beside the Shoot itself, for people.
func (s *Shoot) InGarden(ctx context.Context) ([]string, error) {
	var result []string
	if entry, err := s.backupEntry(ctx); err != nil {
		return nil, err
	} else if entry != nil {
		result = append(result, "BackupEntry "+entry.Name)
	}
	for _, list := range []client.ObjectList{
		&gardencorev1beta1.ShootStateList{}, &gardencorev1beta1.InternalSecretList{}, &corev1.SecretList{}, &corev1.ConfigMapList{},
	} {
		if err := s.lab.Client.List(ctx, list, client.InNamespace(garden.Namespace)); err != nil {
			return nil, err
		}
		if err := meta.EachListItem(list, func(o runtime.Object) error {
			object, err := meta.Accessor(o)
			if err != nil {
				return err
			}
			_, state := o.(*gardencorev1beta1.ShootState)
			if state && object.GetName() == s.name || strings.HasPrefix(object.GetName(), s.name+".") {
				result = append(result, fmt.Sprintf("%T %s", o, object.GetName()))
			}
			return nil
		}); err != nil {
			return nil, err
		}
	}
	return result, nil
}
