// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package operation determines the operation that gardenlet runs on an extension object.
package operation

import (
	"slices"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	v1beta1constants "github.com/gardener/gardener/pkg/apis/core/v1beta1/constants"
	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
)

// Classes returns those of the configured extension classes that controllers of objects of shoots support.
func Classes(configured []extensionsv1alpha1.ExtensionClass) []extensionsv1alpha1.ExtensionClass {
	return slices.DeleteFunc(slices.Clone(configured), func(class extensionsv1alpha1.ExtensionClass) bool {
		return class != extensionsv1alpha1.ExtensionClassShoot
	})
}

// Last returns the type of the object's last operation, empty if there was none.
func Last(object extensionsv1alpha1.Object) gardencorev1beta1.LastOperationType {
	if last := object.GetExtensionStatus().GetLastOperation(); last != nil {
		return last.Type
	}
	return ""
}

// Migrates returns whether the object is being migrated to another seed, or was migrated.
func Migrates(object extensionsv1alpha1.Object) bool {
	return object.GetAnnotations()[v1beta1constants.GardenerOperation] == v1beta1constants.GardenerOperationMigrate ||
		Last(object) == gardencorev1beta1.LastOperationTypeMigrate
}

// Asked passes updates that may request an operation, which updates of the status do not. Gardener's own predicates pass all updates while
// an operation is requested: a failing restoration, which writes its error into the status, would be retried at once and forever.
func Asked() predicate.Predicate {
	return predicate.Or(predicate.GenerationChangedPredicate{}, predicate.AnnotationChangedPredicate{}, predicate.LabelChangedPredicate{})
}

// Changed passes updates to another type of operation, such as a migration.
func Changed() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, ok := e.ObjectOld.(extensionsv1alpha1.Object)
		if !ok {
			return false
		}
		after, ok := e.ObjectNew.(extensionsv1alpha1.Object)
		return ok && Last(before) != Last(after)
	}}
}
