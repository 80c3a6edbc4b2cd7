// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package infrastructure

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	v1beta1helper "github.com/gardener/gardener/pkg/api/core/v1beta1/helper"
	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	"k8s.io/utils/clock"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/errorcodes"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/eventnote"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
)

// preflights are the results of validations by name of the site. Sites add them concurrently.
type preflights struct {
	mutex   sync.Mutex
	results map[string]preflightResult
}

// preflightResult is the result of the validation of a site.
type preflightResult struct {
	platform.Findings
	// err is why the site, or a part of it, could not be validated.
	err error
}

func (p *preflights) add(site string, findings platform.Findings, err error) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if p.results == nil {
		p.results = map[string]preflightResult{}
	}
	p.results[site] = preflightResult{findings, err}
}

// write returns the conditions with those of the sites that were validated, and without those of sites that no longer exist.
func (p *preflights) write(clock clock.Clock, conditions []gardencorev1beta1.Condition,
	sites []site.Site) []gardencorev1beta1.Condition {
	conditions = slices.DeleteFunc(slices.Clone(conditions), func(condition gardencorev1beta1.Condition) bool {
		name, ok := strings.CutPrefix(string(condition.Type), v1alpha1.ConditionSitePreflightPrefix)
		return ok && !slices.ContainsFunc(sites, func(s site.Site) bool { return s.Name == name && !s.Removed() })
	})
	for _, name := range slices.Sorted(maps.Keys(p.results)) {
		result := p.results[name]
		status, reason, message := result.verdict()
		condition := v1beta1helper.GetOrInitConditionWithClock(clock, conditions,
			gardencorev1beta1.ConditionType(v1alpha1.ConditionSitePreflightPrefix+name))
		conditions = v1beta1helper.MergeConditions(conditions, v1beta1helper.UpdatedConditionWithClock(clock, condition, status, reason, message,
			errorcodes.Codes(errors.Join(result.Err(), result.err))...))
	}
	return conditions
}

// verdict returns what the condition of the site says: failures first, then checks that could not be made, then warnings.
func (r preflightResult) verdict() (status gardencorev1beta1.ConditionStatus, reason, message string) {
	var messages []string
	status, reason = gardencorev1beta1.ConditionTrue, v1alpha1.ReasonPreflightPassed
	if r.err != nil {
		status, reason = gardencorev1beta1.ConditionProgressing, v1alpha1.ReasonPreflightIncomplete
	}
	for _, state := range []platform.CheckState{platform.Failed, platform.Unknown, platform.Warning} {
		for i := range r.Found {
			found := &r.Found[i]
			if found.State != state || found.Cause != "" {
				continue
			}
			messages = append(messages, found.Check.ID+": "+found.Message())
			switch {
			case state == platform.Failed:
				status, reason = gardencorev1beta1.ConditionFalse, v1alpha1.ReasonPreflightFailed
			case state == platform.Unknown && status == gardencorev1beta1.ConditionTrue:
				status, reason = gardencorev1beta1.ConditionProgressing, v1alpha1.ReasonPreflightIncomplete
			}
		}
	}
	if len(messages) == 0 {
		return status, reason, fmt.Sprintf("All %d checks are fine.", len(r.Checks))
	}
	return status, reason, eventnote.Shorten(strings.Join(messages, "; "))
}
