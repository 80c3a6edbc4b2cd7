// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package credentials

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	v1beta1helper "github.com/gardener/gardener/pkg/api/core/v1beta1/helper"
	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/helper"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/lists"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/validation"
)

// Need is a site whose credentials a Shoot needs.
type Need struct {
	validation.SiteCredentials

	// Why is the reason: a phrase that follows the name of the Shoot.
	Why string
}

// Needed returns the sites whose credentials the Shoot needs, in the order of the CloudProfile: those that it lists and, while removed
// sites may still have objects (see Unsettled), all other sites in data, even if they are no longer in the CloudProfile. Only the seed
// knows which removed sites have objects. Needed returns nil if config is nil.
func Needed(shoot *gardencorev1beta1.Shoot, data map[string][]byte, config *v1alpha1.CloudProfileConfig) []Need {
	if config == nil {
		return nil
	}
	var (
		needs     []Need
		listed    = SitesOf(shoot)
		unsettled = Unsettled(shoot)
	)
	for _, site := range sitesOf(config, data) {
		need := Need{SiteCredentials: site}
		switch {
		case slices.Contains(listed, site.Site):
			need.Why = "uses the site"
		case unsettled != "" && len(ofSite(data, site.Site)) > 0:
			need.Why = "may have objects on the site: " + unsettled
		default:
			continue
		}
		needs = append(needs, need)
	}
	return needs
}

// sitesOf returns the sites of the CloudProfile, followed by other sites with complete credentials in data.
func sitesOf(config *v1alpha1.CloudProfileConfig, data map[string][]byte) []validation.SiteCredentials {
	var sites []validation.SiteCredentials
	for i := range config.Sites {
		if platform, ok := config.Sites[i].Platform(); ok {
			sites = append(sites, validation.SiteCredentials{Site: config.Sites[i].Name, Platform: platform})
		}
	}
	seen := sets.New[string]()
	for _, key := range slices.Sorted(maps.Keys(data)) {
		name, _, _ := strings.Cut(key, ".")
		if seen.Has(name) || helper.FindSite(config, name) != nil {
			continue
		}
		seen.Insert(name)
		if platform, ok := validation.PlatformOfCredentials(ofSite(data, name), name); ok {
			sites = append(sites, validation.SiteCredentials{Site: name, Platform: platform})
		}
	}
	return sites
}

// ValidateChange checks that the new data keeps the credentials that the Shoot needs. Sites whose old credentials are incomplete are not
// checked. Messages name keys, never values. fldPath is the path of the data.
func ValidateChange(shoot *gardencorev1beta1.Shoot, oldData, newData map[string][]byte, config *v1alpha1.CloudProfileConfig,
	fldPath *field.Path) field.ErrorList {
	var allErrs field.ErrorList
	for _, need := range Needed(shoot, oldData, config) {
		sites := []validation.SiteCredentials{need.SiteCredentials}
		if len(validation.ValidateCredentials(ofSite(oldData, need.Site), sites, fldPath)) > 0 {
			continue
		}
		for _, err := range validation.ValidateCredentials(ofSite(newData, need.Site), sites, fldPath) {
			err.Detail += fmt.Sprintf("; Shoot %s %s", client.ObjectKeyFromObject(shoot), need.Why)
			allErrs = append(allErrs, err)
		}
	}
	return append(allErrs, validateLogins(shoot, oldData, newData, config, fldPath)...)
}

// validateLogins checks that the vSphere CSI driver accepts the new logins of the sites that the Shoot lists, unless it rejected the old
// ones too.
func validateLogins(shoot *gardencorev1beta1.Shoot, oldData, newData map[string][]byte, config *v1alpha1.CloudProfileConfig,
	fldPath *field.Path) field.ErrorList {
	listed := SitesOf(shoot)
	allErrs := validation.Without(validation.ValidateVCenterLogins(newData, listed, config, fldPath),
		validation.ValidateVCenterLogins(oldData, listed, config, fldPath))
	for _, err := range allErrs {
		err.Detail += fmt.Sprintf("; Shoot %s uses the site", client.ObjectKeyFromObject(shoot))
	}
	return allErrs
}

// SitesOf returns the names of the sites that the Shoot lists. It ignores all other fields, so that it works for an infrastructureConfig
// that can no longer be decoded.
func SitesOf(shoot *gardencorev1beta1.Shoot) []string {
	type site struct {
		Name string `json:"name"`
	}
	config := struct {
		Sites []site `json:"sites"`
	}{}
	raw := shoot.Spec.Provider.InfrastructureConfig
	if raw == nil || json.Unmarshal(raw.Raw, &config) != nil {
		return nil
	}
	return lists.Map(config.Sites, func(s site) string { return s.Name })
}

// Unsettled returns why the Shoot may have objects on sites that it does not list, empty if it has none. It has none if the last operation
// succeeded and its conditions are True: the extension keeps EveryNodeReady from being True until removed sites are deleted.
func Unsettled(shoot *gardencorev1beta1.Shoot) string {
	operation := shoot.Status.LastOperation
	switch {
	case shoot.DeletionTimestamp != nil:
		return "it is being deleted"
	case operation == nil:
		return ""
	case shoot.Status.ObservedGeneration < shoot.Generation:
		return "its last change is not reconciled yet"
	case v1beta1helper.ShootConfinesSpecUpdateRollout(shoot.Spec.Maintenance):
		return "its changes may be waiting for its maintenance time window"
	case operation.State != gardencorev1beta1.LastOperationStateSucceeded:
		return fmt.Sprintf("its last operation %s has not succeeded", operation.Type)
	case shoot.Status.IsHibernated:
		return "it is hibernated, so its conditions are not checked"
	}
	for _, conditionType := range []gardencorev1beta1.ConditionType{gardencorev1beta1.ShootControlPlaneHealthy,
		gardencorev1beta1.ShootEveryNodeReady} {
		condition := v1beta1helper.GetCondition(shoot.Status.Conditions, conditionType)
		if condition == nil || condition.Status != gardencorev1beta1.ConditionTrue {
			return fmt.Sprintf("its condition %s is not True", conditionType)
		}
	}
	return ""
}

// ofSite returns the entries of the site.
func ofSite(data map[string][]byte, site string) map[string][]byte {
	entries := maps.Clone(data)
	maps.DeleteFunc(entries, func(key string, _ []byte) bool { return !strings.HasPrefix(key, site+".") })
	return entries
}
