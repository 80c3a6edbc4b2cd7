// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package mutator

import (
	"context"
	"fmt"

	extensionswebhook "github.com/gardener/gardener/extensions/pkg/webhook"
	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/codec"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
)

type shoot struct{}

// NewShootMutator returns a mutator of Shoots whose spec is new or changed. It skips documents that cannot be decoded.
func NewShootMutator() extensionswebhook.Mutator {
	return &shoot{}
}

// Mutate implements extensionswebhook.Mutator.
func (s *shoot) Mutate(_ context.Context, newObject, oldObject client.Object) error {
	newShoot, ok := newObject.(*gardencorev1beta1.Shoot)
	if !ok {
		return fmt.Errorf("expected a Shoot, got %T", newObject)
	}
	oldShoot, _ := oldObject.(*gardencorev1beta1.Shoot)
	if newShoot.Spec.Provider.Type != v1alpha1.ProviderType || newShoot.DeletionTimestamp != nil ||
		oldShoot != nil && equality.Semantic.DeepEqual(oldShoot.Spec, newShoot.Spec) {
		return nil
	}
	isNew := oldShoot == nil
	if isNew {
		oldShoot = &gardencorev1beta1.Shoot{}
	}

	providerPath := field.NewPath("spec", "provider")
	if err := setNodeRanges(newShoot, oldShoot, providerPath.Child("infrastructureConfig")); err != nil {
		return err
	}
	if err := enableOverlay(newShoot.Spec.Networking, isNew); err != nil {
		return err
	}
	for i := range newShoot.Spec.Provider.Workers {
		if err := setWorkerDefaults(&newShoot.Spec.Provider.Workers[i]); err != nil {
			return fmt.Errorf("%s: %w", providerPath.Child("workers").Index(i).Child("providerConfig"), err)
		}
	}
	return nil
}

// decode returns false if the document cannot be decoded, which validation reports.
func decode[T any, P codec.Object[T]](raw *runtime.RawExtension) (P, bool) {
	document, err := codec.Decode[T, P](raw)
	return document, err == nil
}
