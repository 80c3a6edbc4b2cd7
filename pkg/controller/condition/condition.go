// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package condition writes conditions of extension objects about failing sites that do not fail the object.
package condition

import (
	"context"
	"errors"
	"strings"

	v1beta1helper "github.com/gardener/gardener/pkg/api/core/v1beta1/helper"
	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/client-go/util/retry"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/errorcodes"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/eventnote"
)

// Write writes the condition with status False, the messages and the codes of the errors, or removes it if there are no messages.
func Write(ctx context.Context, c client.Client, clock clock.Clock, object extensionsv1alpha1.Object,
	conditionType gardencorev1beta1.ConditionType, reason string, messages []string, errs []error) error {
	return Update(ctx, c, object, func(earlier []gardencorev1beta1.Condition) []gardencorev1beta1.Condition {
		if len(messages) == 0 {
			return v1beta1helper.RemoveConditions(earlier, conditionType)
		}
		condition := v1beta1helper.GetOrInitConditionWithClock(clock, earlier, conditionType)
		if condition.Reason != reason {
			condition = v1beta1helper.InitConditionWithClock(clock, conditionType) // Another failure starts at another time.
		}
		return v1beta1helper.MergeConditions(earlier, v1beta1helper.UpdatedConditionWithClock(clock, condition,
			gardencorev1beta1.ConditionFalse, reason, eventnote.Shorten(strings.Join(messages, "; ")), errorcodes.Codes(errors.Join(errs...))...))
	})
}

// Update changes the conditions of the object. The object is updated with all conditions, including those that other writers have changed
// concurrently.
func Update(ctx context.Context, c client.Client, object extensionsv1alpha1.Object,
	change func([]gardencorev1beta1.Condition) []gardencorev1beta1.Condition) error {
	current := object.DeepCopyObject().(extensionsv1alpha1.Object) //nolint:forcetypeassert // It is a copy.
	err := retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		if err := c.Get(ctx, client.ObjectKeyFromObject(object), current); err != nil {
			return err
		}
		before := current.DeepCopyObject().(extensionsv1alpha1.Object) //nolint:forcetypeassert // It is a copy.
		earlier := current.GetExtensionStatus().GetConditions()
		conditions := change(earlier)
		if equality.Semantic.DeepEqual(earlier, conditions) {
			return nil
		}
		current.GetExtensionStatus().SetConditions(conditions)
		return c.Status().Patch(ctx, current, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
	})
	if err != nil {
		return err
	}
	object.GetExtensionStatus().SetConditions(current.GetExtensionStatus().GetConditions())
	return nil
}
