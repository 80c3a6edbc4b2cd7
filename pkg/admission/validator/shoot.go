// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package validator

import (
	"context"
	"errors"
	"slices"

	extensionswebhook "github.com/gardener/gardener/extensions/pkg/webhook"
	v1beta1helper "github.com/gardener/gardener/pkg/api/core/v1beta1/helper"
	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"
	logf "sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/admission/credentials"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/admission/profile"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/lists"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/validation"
)

type shootValidator struct {
	cache client.Reader
	api   client.Reader
}

// NewShootValidator returns a validator of Shoots. CloudProfiles, bindings and other Shoots are read from the manager's cache, which must
// have Indexes. Secrets are not; they are read only when a Shoot is created or its sites or its binding change.
func NewShootValidator(mgr manager.Manager) extensionswebhook.Validator {
	return NewShootValidatorFor(mgr.GetClient(), mgr.GetAPIReader())
}

// NewShootValidatorFor is NewShootValidator with explicit readers. CloudProfiles, bindings and other Shoots are read from cache; Secrets,
// Seeds, and bindings that are not in the cache yet from api.
func NewShootValidatorFor(cache, api client.Reader) extensionswebhook.Validator {
	return &shootValidator{cache: cache, api: api}
}

// Validate validates a Shoot of type hybrid. An update is not refused for mistakes that the old Shoot has too: the CloudProfile or the
// rules may have changed since.
func (v *shootValidator) Validate(ctx context.Context, newObj, oldObj client.Object) error {
	shoot, old, err := typed[*gardencorev1beta1.Shoot](newObj, oldObj)
	if err != nil || !isConcerned(shoot, old) {
		return err
	}

	c := change{new: read(shoot)}
	if old != nil && !v1beta1helper.IsWorkerless(old) {
		c.old = read(old)
		if !c.isRelevant() {
			return nil
		}
	}
	if c.profile, err = profile.Of(ctx, v.cache, shoot); err != nil {
		return err
	}
	allErrs := c.validateInfrastructure()
	allErrs = append(allErrs, c.validateControlPlane()...)
	allErrs = append(allErrs, v.validateAddresses(ctx, &c)...)
	allErrs = append(allErrs, c.validatePools()...)
	allErrs = append(allErrs, validation.Without(c.new.exposureErrors(c.profile), c.compared().exposureErrors(c.profile))...)
	allErrs = append(allErrs, c.validateNetworking()...)
	allErrs = append(allErrs, v.validateCredentials(ctx, &c)...)
	if len(allErrs) == 0 {
		warn(ctx, func() []string { return v.warnings(ctx, &c) })
	}
	return allErrs.ToAggregate()
}

// isConcerned reports whether the Shoot is validated at all. old is nil for a new Shoot. Shoots that are being deleted must always be
// writable, and workerless Shoots use no provider.
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
	allErrs := validation.Without(c.new.podNetworkErrors(c.profile), c.compared().podNetworkErrors(c.profile))
	var before *validation.PodRange
	if c.old != nil {
		before = new(validation.PodRangeOf(&c.old.shoot.Spec))
	}
	return append(allErrs, validation.ValidatePodRange(validation.PodRangeOf(&c.new.shoot.Spec), before, specPath)...)
}

// validateCredentials checks that the Shoot's Secret has the keys that each of its sites needs, when a site or the binding is new. Gardener
// itself reports a binding or Secret that does not exist.
func (v *shootValidator) validateCredentials(ctx context.Context, c *change) field.ErrorList {
	var (
		sites = c.new.sites(c.profile)
		old   = c.old.sites(c.profile)
		added = slices.ContainsFunc(sites, func(s validation.SiteCredentials) bool { return !slices.Contains(old, s) })
		moved = c.old == nil || c.bindingChanged()
	)
	if !added && !moved {
		return nil
	}

	bindingPath := bindingPath(c.new.shoot)
	data, errs := v.credentialsOf(ctx, c.new.shoot, bindingPath)
	if data == nil {
		return errs
	}
	validate := func(sites []validation.SiteCredentials) field.ErrorList {
		names := lists.Map(sites, func(s validation.SiteCredentials) string { return s.Site })
		return append(validation.ValidateCredentials(data, sites, bindingPath),
			validation.ValidateVCenterLogins(data, names, c.profile.Config, bindingPath)...)
	}
	allErrs := validate(sites)
	if !moved {
		return validation.Without(allErrs, validate(old))
	}
	if c.old == nil {
		return allErrs
	}
	oldData, _ := v.credentialsOf(ctx, c.old.shoot, bindingPath)
	if oldData == nil {
		return allErrs
	}
	for _, err := range credentials.ValidateChange(c.old.shoot, oldData, data, c.profile.Config, bindingPath) {
		if !slices.ContainsFunc(allErrs, func(other *field.Error) bool { return other.Field == err.Field }) {
			allErrs = append(allErrs, err)
		}
	}
	return allErrs
}

// credentialsOf returns the data of the Shoot's Secret, nil if there is none.
func (v *shootValidator) credentialsOf(ctx context.Context, shoot *gardencorev1beta1.Shoot, fldPath *field.Path) (map[string][]byte,
	field.ErrorList) {
	data, err := credentials.OfShoot(ctx, v.cache, v.api, shoot)
	switch {
	case err == nil && data == nil:
		return map[string][]byte{}, nil
	case err == nil:
		return data, nil
	case apierrors.IsNotFound(err), errors.Is(err, credentials.ErrNoBinding):
		return nil, nil
	default:
		return nil, field.ErrorList{field.Forbidden(fldPath, err.Error())}
	}
}

func bindingPath(shoot *gardencorev1beta1.Shoot) *field.Path {
	if shoot.Spec.CredentialsBindingName == nil && shoot.Spec.SecretBindingName != nil {
		return specPath.Child("secretBindingName")
	}
	return specPath.Child("credentialsBindingName")
}

// warnings returns the warnings for a Shoot.
func (v *shootValidator) warnings(ctx context.Context, c *change) []string {
	var seed *gardencorev1beta1.Seed
	if name := c.new.shoot.Spec.SeedName; name != nil {
		found := &gardencorev1beta1.Seed{}
		if err := v.api.Get(ctx, client.ObjectKey{Name: *name}, found); err == nil {
			seed = found
		} else {
			logf.FromContext(ctx).Info("Skipping the warnings about the Seed", "seed", *name, "error", err.Error())
		}
	}
	return c.warnings(seed)
}
