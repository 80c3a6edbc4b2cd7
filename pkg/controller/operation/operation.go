// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package operation tells which operation gardenlet does with an extension object.
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

// Last returns the kind of the object's last operation, empty if there was none.
func Last(object extensionsv1alpha1.Object) gardencorev1beta1.LastOperationType {
	if last := object.GetExtensionStatus().GetLastOperation(); last != nil {
		return last.Type
	}
	return ""
}

// Migrates says whether the object is about to leave its seed, or has left it.
func Migrates(object extensionsv1alpha1.Object) bool {
	return object.GetAnnotations()[v1beta1constants.GardenerOperation] == v1beta1constants.GardenerOperationMigrate ||
		Last(object) == gardencorev1beta1.LastOperationTypeMigrate
}

// Asked lets updates pass that may ask for an operation, which those of the status alone do not. Gardener's own predicates let all
// updates pass as long as an operation is asked for: a restoration that fails, whose error stands in the status, would be tried again at
// once and for ever.
func Asked() predicate.Predicate {
	return predicate.Or(predicate.GenerationChangedPredicate{}, predicate.AnnotationChangedPredicate{}, predicate.LabelChangedPredicate{})
}

// Changed lets updates pass that begin another kind of operation, such as the migration to another seed.
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
