// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package quarantine

import (
	"fmt"
	"slices"
	"time"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
)

// facts are what the quarantine of a site depends on.
type facts struct {
	site     string
	settings v1alpha1.Quarantine
	// contacts are those of the shoot's machines on the site.
	contacts []contact
	// unreachable is true if the site's API does not answer.
	unreachable bool
	// othersLost is true if the machines of all other sites of the shoot are lost.
	othersLost bool
	// healthTimeout is after which time machine-controller-manager replaces an unhealthy machine of the site.
	healthTimeout time.Duration
	// off is why the site must not be in quarantine, empty if it may be.
	off string
}

// verdict is what the condition says.
type verdict struct {
	status          gardencorev1beta1.ConditionStatus
	reason, message string
}

// decide returns the condition of the site, nil if it must not exist. before is the present condition, nil if there is none.
func (f facts) decide(now time.Time, before *gardencorev1beta1.Condition) *verdict {
	var ended time.Time
	switch {
	case before == nil:
	case before.Status == gardencorev1beta1.ConditionTrue:
		return f.goOn(now, before)
	default:
		ended = before.LastTransitionTime.Time
	}
	switch {
	case f.off == "" && f.isCutOff(ended):
		return f.cutOff(now)
	case before == nil, len(f.contacts) == 0:
		return nil
	}
	return &verdict{before.Status, before.Reason, before.Message}
}

// goOn returns what follows from a quarantine.
func (f facts) goOn(now time.Time, before *gardencorev1beta1.Condition) *verdict {
	start := before.LastTransitionTime.Time
	switch {
	case f.off != "":
		return f.over(v1alpha1.ReasonQuarantineEnded, f.off)
	case !now.Before(f.until(start)):
		return f.over(v1alpha1.ReasonQuarantineExpired, fmt.Sprintf("it reached its maximum duration of %s. Machines that are "+
			"still lost are replaced", f.settings.MaximumDuration.Duration))
	case !f.recovers():
		return f.cutOff(start)
	case before.Reason == v1alpha1.ReasonSiteRecovering && !now.Before(f.recovered(now, before)):
		return f.over(v1alpha1.ReasonQuarantineRecovered, fmt.Sprintf("its machines have been back for %s. Machines that are "+
			"still lost are replaced", f.healthTimeout))
	}
	return &verdict{gardencorev1beta1.ConditionTrue, v1alpha1.ReasonSiteRecovering, fmt.Sprintf("Site %q is back. Its machines are kept "+
		"until %s after the last of them came back, but no longer than until %s.", f.site, f.healthTimeout, format(f.until(start)))}
}

func (f facts) cutOff(start time.Time) *verdict {
	return &verdict{gardencorev1beta1.ConditionTrue, v1alpha1.ReasonSiteCutOff, fmt.Sprintf("Site %q is cut off: the kubelets of at least "+
		"%d %% of its machines do not report. Its machines are neither replaced nor deleted until they do, but no longer than until %s. To end "+
		"this earlier, add the site to annotation %s of the Shoot and reconcile it.", f.site, *f.settings.Share, format(f.until(start)),
		v1alpha1.AnnotationEndQuarantine)}
}

func (f facts) over(reason, why string) *verdict {
	return &verdict{gardencorev1beta1.ConditionFalse, reason,
		fmt.Sprintf("The quarantine of site %q is over: %s.", f.site, why)}
}

// until returns when a quarantine is over in any case.
func (f facts) until(start time.Time) time.Time {
	return start.Add(f.settings.MaximumDuration.Duration)
}

// isCutOff returns whether so many of the machines that were running were lost within the window that the site, and not its machines, must
// be the cause. The window is anywhere in the past, because the extension may have been down. Machines that were lost before do not count,
// nor do windows that begin before the end of the last quarantine.
func (f facts) isCutOff(ended time.Time) bool {
	lost := losses(f.contacts)
	for before, first := range lost {
		if !first.After(ended) {
			continue
		}
		count := 0
		for _, at := range lost[before:] {
			if at.Sub(first) <= f.settings.Window.Duration {
				count++
			}
		}
		if f.reachesShare(count, len(f.contacts)-before) &&
			(count >= int(*f.settings.MinimumMachines) || f.unreachable || f.othersLost) {
			return true
		}
	}
	return false
}

// recovers returns whether the share of lost machines is small again. Machines that are terminating are not observed, so they only count if
// there are no others.
func (f facts) recovers() bool {
	observed := slices.DeleteFunc(slices.Clone(f.contacts), func(c contact) bool { return c.terminating })
	if len(observed) == 0 {
		observed = f.contacts
	}
	return !f.reachesShare(len(losses(observed)), len(observed))
}

// reachesShare returns whether so many of all machines reach the share.
func (f facts) reachesShare(count, all int) bool {
	return count > 0 && count*100 >= int(*f.settings.Share)*all
}

// recovered returns when a recovering site is well: one health timeout after the last machine is back. By then machine-controller-manager
// has seen all machines that are back, and would otherwise replace the others at once. Times in the future are those of nodes whose clocks
// are wrong.
func (f facts) recovered(now time.Time, condition *gardencorev1beta1.Condition) time.Time {
	last := condition.LastUpdateTime.Time
	for _, c := range f.contacts {
		if c.ready.After(last) && !c.ready.After(now) {
			last = c.ready
		}
	}
	return last.Add(f.healthTimeout)
}

// next returns when the decision changes without a change of the facts.
func (f facts) next(now time.Time, condition *gardencorev1beta1.Condition) time.Time {
	until := f.until(condition.LastTransitionTime.Time)
	if recovered := f.recovered(now, condition); condition.Reason == v1alpha1.ReasonSiteRecovering && recovered.Before(until) {
		return recovered
	}
	return until
}

func format(t time.Time) string {
	return t.UTC().Format(time.RFC3339)
}
