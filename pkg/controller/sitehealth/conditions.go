// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package sitehealth

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/gardener/gardener/extensions/pkg/controller/healthcheck"
	v1beta1helper "github.com/gardener/gardener/pkg/api/core/v1beta1/helper"
	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	"k8s.io/utils/clock"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/lists"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/discovery"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/errorcodes"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/eventnote"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
)

// ConditionPrefix is the prefix of the types of the conditions of sites. The name of the site follows.
const ConditionPrefix = "SiteAvailable-"

// RoomConditionPrefix is the prefix of the types of the conditions that say whether sites have room for machines. The name of the site
// follows.
const RoomConditionPrefix = "SiteHasRoom-"

// SyncConditionPrefix is the prefix of the types of the conditions that say whether sites have what the CloudProfile says. The name of the
// site follows.
const SyncConditionPrefix = "CloudProfileInSync-"

// Reasons of the conditions about CloudProfiles.
const (
	// ReasonInSync means that the site has what the CloudProfile says.
	ReasonInSync = "CloudProfileInSync"
	// ReasonDrift means that the site does not have what the CloudProfile says.
	ReasonDrift = "CloudProfileDrift"
)

// grace is how long a site may report no faults before the condition of the Worker shows that.
const grace = time.Minute

// Reasons of the conditions of sites.
const (
	// ReasonAvailable means that the site is available.
	ReasonAvailable = "SiteAvailable"
	// ReasonHasRoom means that no quota of the site is used up, and that no machine waits for its capacity.
	ReasonHasRoom = "SiteHasRoom"
	// ReasonUnreachable means that the site does not answer, or answers with unexpected errors.
	ReasonUnreachable = "SiteUnreachable"
	// ReasonUnauthorized means that the site refuses the credentials, or that they lack permissions.
	ReasonUnauthorized = "SiteUnauthorized"
	// ReasonMisconfigured means that the configuration of the site is invalid.
	ReasonMisconfigured = "SiteMisconfigured"
	// ReasonQuota means that a quota is used up.
	ReasonQuota = "SiteQuotaUsedUp"
	// ReasonExhausted means that the site has no capacity left for desired machines.
	ReasonExhausted = "SiteExhausted"
)

var reasons = map[platform.Class]string{
	platform.ClassUnauthenticated: ReasonUnauthorized,
	platform.ClassForbidden:       ReasonUnauthorized,
	platform.ClassConfiguration:   ReasonMisconfigured,
	platform.ClassNotFound:        ReasonMisconfigured,
	platform.ClassQuota:           ReasonQuota,
	platform.ClassExhausted:       ReasonExhausted,
}

func reasonOf(err error) string {
	if err == nil {
		return ReasonAvailable
	}
	if reason, ok := reasons[platform.ClassOf(err)]; ok {
		return reason
	}
	return ReasonUnreachable
}

// state is what is known about a site.
type state struct {
	name string
	// known is false until the first probe has ended.
	known bool
	// err is nil if the site is available and has room.
	err error
}

// down reports whether the site is unusable.
func (s state) down() bool {
	return s.known && !isUsable(s.err)
}

// isUsable reports whether a site with the error is usable: one without room for more machines is.
func isUsable(err error) bool {
	return slices.Contains([]string{ReasonAvailable, ReasonQuota, ReasonExhausted}, reasonOf(err))
}

// health is the health of the sites of a shoot.
type health struct {
	sites []state
	// defaultSite is the name of the default site.
	defaultSite string
	// removed are the names of removed sites that are not deleted yet.
	removed []string
	// machines are the shortages of machines.
	machines shortages
	// faults are the faults of the Worker's machines.
	faults []siteFaults
	// unresolved is the error of sites that cannot be resolved.
	unresolved error
	// differences are those between the CloudProfile and the sites that were compared with it.
	differences map[string][]discovery.Difference
}

// verdict is what a condition says.
type verdict struct {
	status          gardencorev1beta1.ConditionStatus
	reason, message string
	codes           []gardencorev1beta1.ErrorCode
}

// failed is the verdict of an error.
func failed(err error) verdict {
	return verdict{gardencorev1beta1.ConditionFalse, reasonOf(err), err.Error(), errorcodes.Codes(err)}
}

// write returns the conditions of the Infrastructure with up-to-date conditions about sites. The condition of a site that was not probed
// yet does not change.
func (h health) write(clock clock.Clock, conditions []gardencorev1beta1.Condition) []gardencorev1beta1.Condition {
	var wanted []gardencorev1beta1.ConditionType
	for _, s := range h.sites {
		available, room := gardencorev1beta1.ConditionType(ConditionPrefix+s.name), gardencorev1beta1.ConditionType(RoomConditionPrefix+s.name)
		wanted = append(wanted, available, room)
		if !s.known {
			continue
		}
		if s.down() {
			conditions = merge(clock, conditions, available, failed(s.err))
			continue // Whether it has room cannot be known.
		}
		conditions = merge(clock, conditions, available, verdict{gardencorev1beta1.ConditionTrue, ReasonAvailable, "The site answers.", nil})
		has := verdict{gardencorev1beta1.ConditionTrue, ReasonHasRoom, "No quota is used up, and no machine waits for capacity.", nil}
		if s.err != nil {
			has = failed(s.err)
		}
		conditions = merge(clock, conditions, room, has)
	}
	for _, s := range h.sites {
		conditionType := gardencorev1beta1.ConditionType(SyncConditionPrefix + s.name)
		wanted = append(wanted, conditionType)
		if differences, compared := h.differences[s.name]; compared {
			conditions = merge(clock, conditions, conditionType, inSync(s.name, differences))
		}
	}
	conditions = slices.DeleteFunc(slices.Clone(conditions), func(condition gardencorev1beta1.Condition) bool {
		return isOfSite(condition.Type) && !slices.Contains(wanted, condition.Type)
	})

	conditions = merge(clock, conditions, gardencorev1beta1.ShootControlPlaneHealthy,
		h.controlPlane(v1beta1helper.GetCondition(conditions, v1alpha1.ConditionSitesReconciled)))
	return merge(clock, conditions, gardencorev1beta1.ShootEveryNodeReady,
		h.nodes(v1beta1helper.GetCondition(conditions, v1alpha1.ConditionRemovedSitesDeleted), quarantined(conditions)))
}

// isOfSite reports whether a condition is about one site.
func isOfSite(conditionType gardencorev1beta1.ConditionType) bool {
	return slices.ContainsFunc([]string{ConditionPrefix, RoomConditionPrefix, SyncConditionPrefix}, func(prefix string) bool {
		return strings.HasPrefix(string(conditionType), prefix)
	})
}

// inSync reports the drift of a site.
func inSync(site string, differences []discovery.Difference) verdict {
	var drift []error
	for _, difference := range differences {
		if difference.Drift {
			drift = append(drift, fmt.Errorf("site %q: %s", site, discovery.Text(difference)))
		}
	}
	if len(drift) == 0 {
		return verdict{gardencorev1beta1.ConditionTrue, ReasonInSync, "The site has what the CloudProfile says.", nil}
	}
	return verdict{gardencorev1beta1.ConditionFalse, ReasonDrift, sentence(list(drift)), nil}
}

// controlPlane reports the sites that are unusable. The condition is False if the default site or all sites are. If none is, it reports the
// sites that are available but cannot be reconciled.
func (h health) controlPlane(staying *gardencorev1beta1.Condition) verdict {
	var down []error
	failed := false
	for _, s := range h.sites {
		if s.down() {
			down = append(down, s.err)
			failed = failed || s.name == h.defaultSite
		}
	}
	if len(down) == 0 && staying != nil {
		return verdict{gardencorev1beta1.ConditionProgressing, "SitesNotReconciled", staying.Message, staying.Codes}
	}
	if len(down) == 0 {
		return verdict{gardencorev1beta1.ConditionTrue, "SitesAvailable", "All sites answer.", nil}
	}
	status := gardencorev1beta1.ConditionProgressing
	if failed || len(down) == len(h.sites) {
		status = gardencorev1beta1.ConditionFalse
	}
	return verdict{status, "SitesUnavailable", list(down), errorcodes.Codes(errors.Join(down...))}
}

// nodes reports the sites that are in quarantine or lack capacity for desired machines, and removed sites that are not deleted yet.
// Gardener does not check nodes while the condition is not True, so a lack of capacity is only reported while all other machines are
// running. The nodes of a site in quarantine are not ready, so that the condition would be False anyway. Removed sites are always
// reported, because the admission webhooks allow to remove their credentials when the condition is True; the message then also has the
// other machines and why sites cannot be deleted.
func (h health) nodes(removal *gardencorev1beta1.Condition, quarantined []error) verdict {
	var short []error
	for _, s := range h.sites {
		if err := h.machines.sites[s.name]; err != nil {
			short = append(short, err)
		}
	}
	if len(h.removed) > 0 {
		left := make([]error, 0, len(h.removed)+len(short)+len(h.machines.others))
		for _, name := range h.removed {
			left = append(left,
				fmt.Errorf("site %q: it was removed from the shoot, which needs its credentials until all of its objects are deleted", name))
		}
		codes := errorcodes.Codes(errors.Join(short...))
		if removal != nil && removal.Reason == v1alpha1.ReasonDeletionFailed {
			left = append(left, errors.New(removal.Message))
			codes = append(codes, removal.Codes...)
		}
		left = append(append(left, quarantined...), short...)
		for _, machine := range h.machines.others {
			if !slices.Contains(h.removed, machine.site) {
				left = append(left, machine.err)
			}
		}
		return verdict{gardencorev1beta1.ConditionProgressing, "RemovedSitesLeft", list(left), codes}
	}
	if len(quarantined) > 0 {
		return verdict{gardencorev1beta1.ConditionFalse, "SitesQuarantined", list(quarantined), nil}
	}
	if len(short) == 0 || len(h.machines.others) > 0 {
		return verdict{gardencorev1beta1.ConditionTrue, "SitesHaveRoom", "No machine is only waiting for capacity of a site.", nil}
	}
	return verdict{gardencorev1beta1.ConditionProgressing, "SitesWithoutRoom", list(short), errorcodes.Codes(errors.Join(short...))}
}

// quarantined returns what the conditions of the Infrastructure say about sites in quarantine.
func quarantined(conditions []gardencorev1beta1.Condition) []error {
	var messages []error
	for i := range conditions {
		if strings.HasPrefix(string(conditions[i].Type), v1alpha1.ConditionSiteQuarantinedPrefix) &&
			conditions[i].Status == gardencorev1beta1.ConditionTrue {
			messages = append(messages, errors.New(strings.TrimSuffix(conditions[i].Message, ".")))
		}
	}
	return messages
}

// writeWorker returns the conditions of the Worker with an up-to-date condition about its machines.
func (h health) writeWorker(clock clock.Clock, conditions []gardencorev1beta1.Condition) []gardencorev1beta1.Condition {
	if v, known := h.faulty(clock.Now()); known {
		conditions = merge(clock, conditions, gardencorev1beta1.ShootEveryNodeReady, v)
	}
	return conditions
}

// faulty reports the machines with faults. It returns false if that is not known yet. A site that reports no faults makes the condition
// Progressing, but only while all machines are running, because Gardener does not check nodes while the condition is not True.
func (h health) faulty(now time.Time) (verdict, bool) {
	var (
		faults, silent []error
		waiting        bool
	)
	for _, f := range h.faults {
		for _, fault := range f.Faults {
			faults = append(faults, errors.New(note(f.Site, fault)))
		}
		if f.Err != nil && now.Sub(f.Since) >= grace {
			silent = append(silent, fmt.Errorf("%w (its machines are not watched for faults)", f.Err))
		}
		waiting = waiting || !f.Answered
	}
	if h.unresolved != nil {
		silent = append(silent, h.unresolved)
	}
	switch {
	case len(faults) > 0:
		return verdict{gardencorev1beta1.ConditionFalse, healthcheck.ReasonUnsuccessful, sentence(list(append(faults, silent...))), nil}, true
	case waiting:
		return verdict{}, false
	case len(silent) == 0, len(h.machines.sites) > 0, len(h.machines.others) > 0:
		return verdict{gardencorev1beta1.ConditionTrue, healthcheck.ReasonSuccessful, "All health checks successful", nil}, true
	}
	return verdict{gardencorev1beta1.ConditionProgressing, healthcheck.ReasonProgressing, sentence(list(silent)),
		errorcodes.Codes(errors.Join(silent...))}, true
}

// hibernated returns the conditions of the Worker of a hibernated shoot.
func hibernated(clock clock.Clock, conditions []gardencorev1beta1.Condition) []gardencorev1beta1.Condition {
	return merge(clock, conditions, gardencorev1beta1.ShootEveryNodeReady,
		verdict{gardencorev1beta1.ConditionTrue, healthcheck.ReasonSuccessful, "Shoot is hibernated", nil})
}

func merge(clock clock.Clock, conditions []gardencorev1beta1.Condition, conditionType gardencorev1beta1.ConditionType,
	v verdict) []gardencorev1beta1.Condition {
	condition := v1beta1helper.GetOrInitConditionWithClock(clock, conditions, conditionType)
	return v1beta1helper.MergeConditions(conditions,
		v1beta1helper.UpdatedConditionWithClock(clock, condition, v.status, v.reason, v.message, v.codes...))
}

// remove returns the conditions without those of this controller.
func remove(_ clock.Clock, conditions []gardencorev1beta1.Condition) []gardencorev1beta1.Condition {
	return slices.DeleteFunc(slices.Clone(conditions), func(condition gardencorev1beta1.Condition) bool {
		return isOfSite(condition.Type) || condition.Type == gardencorev1beta1.ShootControlPlaneHealthy ||
			condition.Type == gardencorev1beta1.ShootEveryNodeReady
	})
}

func sentence(text string) string {
	return strings.TrimSuffix(text, ".") + "."
}

func list(errs []error) string {
	return eventnote.List(lists.Map(errs, error.Error))
}
