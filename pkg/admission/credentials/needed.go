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
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/validation"
)

// Need is a site whose credentials a Shoot needs.
type Need struct {
	validation.SiteCredentials

	// Why is the reason, a part of a sentence that begins with the Shoot.
	Why string
}

// Needed returns the sites that the Shoot needs credentials for, in the order of the CloudProfile: those that it lists, and those that
// data has keys of while objects of a removed site may be left. The latter may have left the CloudProfile, too. Which sites have objects
// stands in the seed; Unsettled says when there may be some. config may be nil, and nothing is needed then.
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

// sitesOf returns the sites of the CloudProfile, and behind them those that only data has complete credentials of.
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

// ValidateChange checks that what the Shoot needs of the old data is in the new data too. A site whose old credentials were not
// complete is not checked. Messages name keys, never values. fldPath is the path of the data.
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

// validateLogins checks that the CSI driver for vSphere can log in with the new data for the sites that the Shoot lists, if it could with
// the old.
func validateLogins(shoot *gardencorev1beta1.Shoot, oldData, newData map[string][]byte, config *v1alpha1.CloudProfileConfig,
	fldPath *field.Path) field.ErrorList {
	listed := SitesOf(shoot)
	known := sets.New[string]()
	for _, err := range validation.ValidateVCenterLogins(oldData, listed, config, fldPath) {
		known.Insert(err.Error())
	}
	var allErrs field.ErrorList
	for _, err := range validation.ValidateVCenterLogins(newData, listed, config, fldPath) {
		if !known.Has(err.Error()) {
			err.Detail += fmt.Sprintf("; Shoot %s uses the site", client.ObjectKeyFromObject(shoot))
			allErrs = append(allErrs, err)
		}
	}
	return allErrs
}

// SitesOf returns the names of the sites that the Shoot lists. What else its infrastructureConfig has is not looked at, so that it is
// read when it does not decode any more.
func SitesOf(shoot *gardencorev1beta1.Shoot) []string {
	config := struct {
		Sites []struct {
			Name string `json:"name"`
		} `json:"sites"`
	}{}
	raw := shoot.Spec.Provider.InfrastructureConfig
	if raw == nil || json.Unmarshal(raw.Raw, &config) != nil {
		return nil
	}
	names := make([]string, len(config.Sites))
	for i, site := range config.Sites {
		names[i] = site.Name
	}
	return names
}

// Unsettled returns why the Shoot may have objects on sites that it does not list, and nothing if it has none. The garden knows that there
// are none when the last operation succeeded and the conditions are good: the extension keeps EveryNodeReady from being True as long as a
// removed site waits.
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
		return "it is hibernated, so that its conditions are not checked"
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

// ofSite returns the keys of the site alone.
func ofSite(data map[string][]byte, site string) map[string][]byte {
	keys := map[string][]byte{}
	for key, value := range data {
		if strings.HasPrefix(key, site+".") {
			keys[key] = value
		}
	}
	return keys
}
