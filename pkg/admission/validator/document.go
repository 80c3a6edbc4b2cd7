// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package validator

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	gardenerutils "github.com/gardener/gardener/pkg/utils/gardener"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/admission/profile"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/codec"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/validation"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
)

// document is a Shoot with its configurations of the provider.
type document struct {
	shoot *gardencorev1beta1.Shoot
	// infrastructure is nil if there is none or if it cannot be read, and the same is true of controlPlane.
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

// decode is codec.Decode without an error if there is nothing to decode.
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
	return append(allErrs, validation.ValidateAllowed(d.infrastructure, p.Config, infrastructurePath)...)
}

// controlPlaneErrors are none if the infrastructure cannot be read: which sites there are is not known then.
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
	return validation.ValidateControlPlaneConfig(d.controlPlane, d.infrastructure, p.Config, d.shoot.Spec.Networking, controlPlanePath)
}

func (d *document) podNetworkErrors(p *profile.Profile) field.ErrorList {
	if d == nil {
		return nil
	}
	return validation.ValidatePodNetwork(d.shoot.Spec.Networking, d.infrastructure, d.carried(p), networkingPath)
}

// carried returns the smallest MTU that is said of the sites' node networks, in bytes; zero if nothing is.
func (d *document) carried(p *profile.Profile) int32 {
	var smallest int32
	// Mistakes are told elsewhere. The sites that could be resolved are returned beside the error.
	sites, _ := site.Resolve(site.Input{Profile: p.Config, Config: d.infrastructure})
	for i := range sites {
		if mtu := sites[i].Network.MTU; mtu > 0 && (smallest == 0 || mtu < smallest) {
			smallest = mtu
		}
	}
	return smallest
}

// sites returns the sites that the Shoot uses and their platforms. Sites that the CloudProfile does not have are left out.
func (d *document) sites(p *profile.Profile) []validation.SiteCredentials {
	if d == nil || d.infrastructure == nil {
		return nil
	}
	platforms := map[string]v1alpha1.Platform{}
	for i := range p.Config.Sites {
		if platform, ok := p.Config.Sites[i].Platform(); ok {
			platforms[p.Config.Sites[i].Name] = platform
		}
	}
	var result []validation.SiteCredentials
	for _, used := range d.infrastructure.Sites {
		if platform, ok := platforms[used.Name]; ok {
			result = append(result, validation.SiteCredentials{Site: used.Name, Platform: platform})
		}
	}
	return result
}

// bySite returns the errors with the names of sites in their fields. The index of a site changes when another one comes or goes.
func (d *document) bySite(errs field.ErrorList) field.ErrorList {
	if d == nil {
		return errs
	}
	named := map[string]string{}
	add := func(sitesPath *field.Path, index int, name string) {
		named[sitesPath.Index(index).String()] = sitesPath.Key(name).String()
	}
	if d.infrastructure != nil {
		for i, site := range d.infrastructure.Sites {
			add(infrastructurePath.Child("sites"), i, site.Name)
		}
	}
	if d.controlPlane != nil {
		for i, site := range d.controlPlane.Sites {
			add(controlPlanePath.Child("sites"), i, site.Name)
		}
	}
	result := make(field.ErrorList, len(errs))
	for i, err := range errs {
		renamed := *err
		site, rest, _ := strings.Cut(err.Field, "]")
		if name, ok := named[site+"]"]; ok {
			renamed.Field = name + rest
		}
		result[i] = &renamed
	}
	return result
}

// change is a Shoot before and after a write.
type change struct {
	// old is nil if the Shoot is a new one.
	old, new *document
	// profile is the CloudProfile of the new Shoot.
	profile *profile.Profile
}

// compared returns the old Shoot, whose mistakes may stay; nil if there is none or if it had another CloudProfile.
func (c *change) compared() *document {
	if c.old == nil || c.profileChanged() {
		return nil
	}
	return c.old
}

// added returns the errors of the new Shoot that are not among those of the compared one. A mistake of a site is the same at any place of
// the list.
func (c *change) added(errs, before field.ErrorList) field.ErrorList {
	known := c.compared().bySite(before)
	var result field.ErrorList
	for i, err := range c.new.bySite(errs) {
		if len(without(field.ErrorList{err}, known)) > 0 {
			result = append(result, errs[i])
		}
	}
	return result
}

func (c *change) profileChanged() bool {
	before, after := gardenerutils.BuildV1beta1CloudProfileReference(c.old.shoot), gardenerutils.BuildV1beta1CloudProfileReference(c.new.shoot)
	return !equality.Semantic.DeepEqual(before, after) || c.old.shoot.Spec.Region != c.new.shoot.Spec.Region
}

func (c *change) bindingChanged() bool {
	oldSpec, newSpec := &c.old.shoot.Spec, &c.new.shoot.Spec
	return !equality.Semantic.DeepEqual(oldSpec.CredentialsBindingName, newSpec.CredentialsBindingName) ||
		!equality.Semantic.DeepEqual(oldSpec.SecretBindingName, newSpec.SecretBindingName)
}

// isRelevant returns whether something changed that is validated here. It is false for what Gardener, or somebody else, changes in a
// Shoot whose CloudProfile may not even be readable any more.
func (c *change) isRelevant() bool {
	oldSpec, newSpec := &c.old.shoot.Spec, &c.new.shoot.Spec
	if c.profileChanged() || c.bindingChanged() ||
		!sameJSON(oldSpec.Provider.InfrastructureConfig, newSpec.Provider.InfrastructureConfig) ||
		!sameJSON(oldSpec.Provider.ControlPlaneConfig, newSpec.Provider.ControlPlaneConfig) ||
		!equality.Semantic.DeepEqual(oldSpec.Networking, newSpec.Networking) ||
		!equality.Semantic.DeepEqual(oldSpec.Kubernetes.KubeControllerManager, newSpec.Kubernetes.KubeControllerManager) ||
		len(oldSpec.Provider.Workers) != len(newSpec.Provider.Workers) {
		return true
	}
	for i := range newSpec.Provider.Workers {
		if !samePool(&oldSpec.Provider.Workers[i], &newSpec.Provider.Workers[i]) {
			return true
		}
	}
	return false
}

// without returns the errors that are not among those of before. What is supported does not tell two errors apart.
func without(errs, before field.ErrorList) field.ErrorList {
	if len(errs) == 0 || len(before) == 0 {
		return errs
	}
	key := func(err *field.Error) string {
		if err.Type == field.ErrorTypeNotSupported {
			return field.NotSupported(field.NewPath(err.Field), err.BadValue, []string{}).Error()
		}
		return err.Error()
	}
	known := sets.New[string]()
	for _, err := range before {
		known.Insert(key(err))
	}
	var result field.ErrorList
	for _, err := range errs {
		if !known.Has(key(err)) {
			result = append(result, err)
		}
	}
	return result
}

// sameJSON returns whether two documents are the same, whatever the order of their fields.
func sameJSON(a, b *runtime.RawExtension) bool {
	if a == nil || b == nil {
		return isEmpty(a) && isEmpty(b)
	}
	if bytes.Equal(a.Raw, b.Raw) {
		return true
	}
	var one, other any
	if json.Unmarshal(a.Raw, &one) != nil || json.Unmarshal(b.Raw, &other) != nil {
		return false
	}
	return equality.Semantic.DeepEqual(one, other)
}

func isEmpty(raw *runtime.RawExtension) bool {
	return raw == nil || len(raw.Raw) == 0
}
