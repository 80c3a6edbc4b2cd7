// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package condition

import (
	"strings"
	"time"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/helper"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
)

// Quarantines returns since when sites are in quarantine, by their names. conditions are those of the Infrastructure.
func Quarantines(conditions []gardencorev1beta1.Condition) map[string]time.Time {
	since := map[string]time.Time{}
	for i := range conditions {
		name, ok := strings.CutPrefix(string(conditions[i].Type), v1alpha1.ConditionSiteQuarantinedPrefix)
		if ok && conditions[i].Status == gardencorev1beta1.ConditionTrue {
			since[name] = conditions[i].LastTransitionTime.Time
		}
	}
	return since
}

// QuarantineSettings returns the settings for the quarantine of a site, which are the defaults if the CloudProfile does not have the site.
// The profile may be nil.
func QuarantineSettings(profile *v1alpha1.CloudProfileConfig, site string) v1alpha1.Quarantine {
	defaulted := &v1alpha1.CloudProfileConfig{Sites: make([]v1alpha1.CloudProfileSite, 1)}
	if known := helper.FindSite(profile, site); known != nil {
		known.DeepCopyInto(&defaulted.Sites[0])
	}
	v1alpha1.SetCloudProfileConfigDefaults(defaulted)
	return *defaulted.Sites[0].Quarantine
}
