// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package validator

import (
	"context"
	"fmt"

	extensionswebhook "github.com/gardener/gardener/extensions/pkg/webhook"
	v1beta1helper "github.com/gardener/gardener/pkg/api/core/v1beta1/helper"
	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/admission/profile"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/validation"
)

var (
	specPath           = field.NewPath("spec")
	networkingPath     = specPath.Child("networking")
	providerPath       = specPath.Child("provider")
	infrastructurePath = providerPath.Child("infrastructureConfig")
	controlPlanePath   = providerPath.Child("controlPlaneConfig")
	workersPath        = providerPath.Child("workers")
)

type shootValidator struct {
	cache client.Reader
	api   client.Reader
}

// NewShootValidator returns a validator of Shoots. CloudProfiles and bindings are read from the manager's cache. Secrets are not; they are
// read only when a Shoot is created or its sites or its binding change.
func NewShootValidator(mgr manager.Manager) extensionswebhook.Validator {
	return NewShootValidatorFor(mgr.GetClient(), mgr.GetAPIReader())
}

// NewShootValidatorFor is NewShootValidator with a reader of CloudProfiles and bindings, which should be a cache, and one that reads Secrets,
// Seeds, and bindings that the cache does not have yet from the API.
func NewShootValidatorFor(cache, api client.Reader) extensionswebhook.Validator {
	return &shootValidator{cache: cache, api: api}
}

// Validate validates a Shoot of type hybrid, and what changed of it. What was wrong before and is not touched stays allowed: a CloudProfile
// may have changed, or the rules.
func (v *shootValidator) Validate(ctx context.Context, newObj, oldObj client.Object) error {
	shoot, ok := newObj.(*gardencorev1beta1.Shoot)
	if !ok {
		return fmt.Errorf("a Shoot was expected, it is a %T", newObj)
	}
	var old *gardencorev1beta1.Shoot
	if oldObj != nil {
		if old, ok = oldObj.(*gardencorev1beta1.Shoot); !ok {
			return fmt.Errorf("a Shoot was expected as the old object, it is a %T", oldObj)
		}
	}
	if !isConcerned(shoot, old) {
		return nil
	}

	c := change{new: read(shoot)}
	if old != nil && !v1beta1helper.IsWorkerless(old) {
		c.old = read(old)
		if !c.isRelevant() {
			return nil
		}
	}
	var err error
	if c.profile, err = profile.Of(ctx, v.cache, shoot); err != nil {
		return err
	}
	allErrs := c.validateInfrastructure()
	allErrs = append(allErrs, c.validateControlPlane()...)
	allErrs = append(allErrs, c.validatePools()...)
	allErrs = append(allErrs, c.validateNetworking()...)
	allErrs = append(allErrs, v.validateCredentials(ctx, &c)...)
	if len(allErrs) == 0 {
		warn(ctx, func() []string { return v.warnings(ctx, &c) })
	}
	return allErrs.ToAggregate()
}

// isConcerned returns whether there is anything to say about a Shoot. old is nil if it is a new one. Shoots that are being deleted must
// always be writable, and Shoots without workers have nothing of a provider.
func isConcerned(shoot, old *gardencorev1beta1.Shoot) bool {
	switch {
	case shoot.Spec.Provider.Type != v1alpha1.ProviderType, shoot.DeletionTimestamp != nil, v1beta1helper.IsWorkerless(shoot):
		return false
	case old != nil:
		return !equality.Semantic.DeepEqual(old.Spec, shoot.Spec)
	default:
		return true
	}
}

func (c *change) validateInfrastructure() field.ErrorList {
	allErrs := c.added(c.new.infrastructureErrors(c.profile), c.compared().infrastructureErrors(c.profile))
	if c.old == nil || c.old.infrastructure == nil || c.new.infrastructure == nil {
		return allErrs
	}
	allErrs = append(allErrs,
		validation.ValidateInfrastructureConfigUpdate(c.old.infrastructure, c.new.infrastructure, c.new.shoot.Spec.Networking,
			infrastructurePath)...)
	allErrs = append(allErrs,
		validation.ValidateReplacedSites(c.old.infrastructure, c.new.infrastructure, c.profile.Config, infrastructurePath)...)
	return append(allErrs,
		validation.ValidateRemovedSites(c.old.infrastructure, c.new.infrastructure, c.new.pools(), c.profile.Config, infrastructurePath)...)
}

func (c *change) validateControlPlane() field.ErrorList {
	return c.added(c.new.controlPlaneErrors(c.profile), c.compared().controlPlaneErrors(c.profile))
}

func (c *change) validateNetworking() field.ErrorList {
	allErrs := without(c.new.podNetworkErrors(c.profile), c.compared().podNetworkErrors(c.profile))
	var before *validation.PodRange
	if c.old != nil {
		before = new(validation.PodRangeOf(&c.old.shoot.Spec))
	}
	return append(allErrs, validation.ValidatePodRange(validation.PodRangeOf(&c.new.shoot.Spec), before, specPath)...)
}
