// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package validator

import (
	"errors"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/admission/profile"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/codec"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/helper"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/lists"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/validation"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
)

// document is a Shoot with its decoded provider configurations. Methods may be called on nil.
type document struct {
	shoot *gardencorev1beta1.Shoot
	// infrastructure and controlPlane are nil if they are missing or cannot be decoded.
	infrastructure                         *v1alpha1.InfrastructureConfig
	controlPlane                           *v1alpha1.ControlPlaneConfig
	infrastructureError, controlPlaneError error
}

func read(shoot *gardencorev1beta1.Shoot) *document {
	d := &document{shoot: shoot}
	d.infrastructure, d.infrastructureError = decode[v1alpha1.InfrastructureConfig](shoot.Spec.Provider.InfrastructureConfig)
	d.controlPlane, d.controlPlaneError = decode[v1alpha1.ControlPlaneConfig](shoot.Spec.Provider.ControlPlaneConfig)
	return d
}

// decode is codec.Decode, but returns nil for an empty document.
func decode[T any, P codec.Object[T]](raw *runtime.RawExtension) (P, error) {
	config, err := codec.Decode[T, P](raw)
	if errors.Is(err, codec.ErrEmpty) {
		return nil, nil
	}
	return config, err
}

func (d *document) pools() []gardencorev1beta1.Worker {
	return d.shoot.Spec.Provider.Workers
}

func (d *document) infrastructureErrors(p *profile.Profile) field.ErrorList {
	if d == nil {
		return nil
	}
	if err := d.infrastructureError; err != nil {
		return field.ErrorList{field.Invalid(infrastructurePath, "(hidden)", err.Error())}
	}
	allErrs := validation.ValidateInfrastructureConfig(d.infrastructure, p.Config, d.shoot.Spec.Networking, d.shoot.Spec.Region,
		infrastructurePath)
	allErrs = append(allErrs, validation.ValidateAllowed(d.infrastructure, p.Config, infrastructurePath)...)
	allErrs = append(allErrs, validation.ValidateEndpoints(d.infrastructure, p.Config, d.shoot.Spec.Networking, infrastructurePath)...)
	return append(allErrs, validation.ValidateNetworkData(d.infrastructure, p.Config, infrastructurePath)...)
}

// controlPlaneErrors returns nil if the infrastructure cannot be decoded, because the sites are not known then.
func (d *document) controlPlaneErrors(p *profile.Profile) field.ErrorList {
	if d == nil {
		return nil
	}
	if err := d.controlPlaneError; err != nil {
		return field.ErrorList{field.Invalid(controlPlanePath, "(hidden)", err.Error())}
	}
	if d.infrastructure == nil {
		return nil
	}
	allErrs := validation.ValidateControlPlaneConfig(d.controlPlane, d.infrastructure, p.Config, d.shoot.Spec.Networking, controlPlanePath)
	if d.controlPlane == nil {
		return allErrs
	}
	return append(allErrs, validation.ValidateBastion(d.controlPlane.Bastion, d.infrastructure, p.Config,
		controlPlanePath.Child("bastion"))...)
}

func (d *document) exposureErrors(p *profile.Profile) field.ErrorList {
	if d == nil {
		return nil
	}
	return validation.ValidateExposure(d.pools(), d.shoot.Spec.Region, p.Config, workersPath)
}

func (d *document) podNetworkErrors(p *profile.Profile) field.ErrorList {
	if d == nil {
		return nil
	}
	return validation.ValidatePodNetwork(d.shoot.Spec.Networking, d.infrastructure, d.nodeMTU(p), networkingPath)
}

// nodeMTU returns the smallest MTU in bytes that is configured for the node networks of the sites, zero if none is.
func (d *document) nodeMTU(p *profile.Profile) int32 {
	var smallest int32
	// Errors are reported elsewhere. Resolve returns the valid sites in any case.
	sites, _ := site.Resolve(site.Input{Profile: p.Config, Config: d.infrastructure})
	for i := range sites {
		if mtu := sites[i].Network.MTU; mtu > 0 && (smallest == 0 || mtu < smallest) {
			smallest = mtu
		}
	}
	return smallest
}

// sites returns the sites of the Shoot and their platforms, without those that are not in the CloudProfile.
func (d *document) sites(p *profile.Profile) []validation.SiteCredentials {
	if d == nil || d.infrastructure == nil {
		return nil
	}
	var result []validation.SiteCredentials
	for _, used := range d.infrastructure.Sites {
		if s := helper.FindSite(p.Config, used.Name); s != nil {
			if platform, ok := s.Platform(); ok {
				result = append(result, validation.CredentialsOf(&used, platform))
			}
		}
	}
	return result
}

func (d *document) pool(name string) *gardencorev1beta1.Worker {
	if d == nil {
		return nil
	}
	return lists.Find(d.pools(), func(w *gardencorev1beta1.Worker) bool { return w.Name == name })
}
