// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package validator

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	gardenerutils "github.com/gardener/gardener/pkg/utils/gardener"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/admission/profile"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/validation"
)

// change is a Shoot before and after a write.
type change struct {
	// old is nil for a new Shoot.
	old, new *document
	// profile is the CloudProfile of the new Shoot.
	profile *profile.Profile
	// overlaps are the addresses of load balancers of the new Shoot that are in use elsewhere.
	overlaps field.ErrorList
}

// compared returns the old Shoot, whose mistakes are tolerated. It is nil for a new Shoot and after a change of the CloudProfile or region.
func (c *change) compared() *document {
	if c.old == nil || c.profileChanged() {
		return nil
	}
	return c.old
}

// added returns the errors of the new Shoot that the compared one does not have. Errors of a site match wherever the site is in the list.
func (c *change) added(errs, before field.ErrorList) field.ErrorList {
	known := c.compared().bySite(before)
	var result field.ErrorList
	for i, err := range c.new.bySite(errs) {
		if len(validation.Without(field.ErrorList{err}, known)) > 0 {
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

// isRelevant reports whether a field changed that is validated here. Other updates must pass even if the CloudProfile can no longer be
// read.
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

// bySite returns the errors with the names of sites instead of their indexes, which change when other sites are added or removed.
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

// sameJSON reports whether two documents are equal, regardless of the order of their fields. Nil equals an empty document.
func sameJSON(a, b *runtime.RawExtension) bool {
	if a == nil || b == nil {
		return (a == nil || len(a.Raw) == 0) && (b == nil || len(b.Raw) == 0)
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

func samePool(a, b *gardencorev1beta1.Worker) bool {
	if !sameJSON(a.ProviderConfig, b.ProviderConfig) {
		return false
	}
	one, other := *a, *b
	one.ProviderConfig, other.ProviderConfig = nil, nil
	return equality.Semantic.DeepEqual(one, other)
}

// sameMachines reports whether the machines of a pool and their zones stay the same.
func sameMachines(a, b *gardencorev1beta1.Worker) bool {
	return equality.Semantic.DeepEqual(a.Zones, b.Zones) &&
		a.Machine.Type == b.Machine.Type &&
		equality.Semantic.DeepEqual(a.Machine.Image, b.Machine.Image) &&
		equality.Semantic.DeepEqual(a.Volume, b.Volume) &&
		equality.Semantic.DeepEqual(a.DataVolumes, b.DataVolumes)
}

// under returns the errors of a field and its children.
func under(fldPath *field.Path, errs field.ErrorList) field.ErrorList {
	return slices.DeleteFunc(slices.Clone(errs), func(err *field.Error) bool {
		rest, ok := strings.CutPrefix(err.Field, fldPath.String())
		return !ok || rest != "" && rest[0] != '.' && rest[0] != '['
	})
}
