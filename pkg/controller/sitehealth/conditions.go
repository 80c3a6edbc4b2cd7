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

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/errorcodes"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/eventnote"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
)

// ConditionPrefix and the name of a site are the type of the condition of that site.
const ConditionPrefix = "SiteAvailable-"

// grace is how long a site may not tell of faults before the condition of the Worker says so.
const grace = time.Minute

// Reasons of the conditions of sites.
const (
	// ReasonAvailable means that nothing is wrong.
	ReasonAvailable = "SiteAvailable"
	// ReasonUnreachable means that the site does not answer as it should.
	ReasonUnreachable = "SiteUnreachable"
	// ReasonUnauthorized means that the site refuses the credentials, or what they are needed for.
	ReasonUnauthorized = "SiteUnauthorized"
	// ReasonMisconfigured means that the site cannot be asked with its configuration.
	ReasonMisconfigured = "SiteMisconfigured"
	// ReasonQuota means that a quota is used up.
	ReasonQuota = "SiteQuotaUsedUp"
	// ReasonExhausted means that the site has no capacity left for machines that are wanted.
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
	// known is false until the site answered, or did not in time.
	known bool
	// err is what is wrong with it.
	err error
}

// down reports whether the site can do nothing for the shoot. A site without room for more machines can.
func (s state) down() bool {
	return s.known && !slices.Contains([]string{ReasonAvailable, ReasonQuota, ReasonExhausted}, reasonOf(s.err))
}

// health is what is known about the sites of a shoot.
type health struct {
	sites []state
	// defaultSite is the name of the site that the shoot cannot do without.
	defaultSite string
	// removed are the names of the sites that the shoot does not use any more and that are not deleted.
	removed []string
	// machines are what machines wait for.
	machines shortages
	// faults are those of the Worker's machines.
	faults []siteFaults
	// unresolved says why sites are not in sites, nil if all are.
	unresolved error
}

// write returns the conditions with those about sites as they are now, and leaves the others as they are. The condition of a site
// that has not answered yet stays as it was.
func (h health) write(clock clock.Clock, conditions []gardencorev1beta1.Condition) []gardencorev1beta1.Condition {
	set := func(conditionType gardencorev1beta1.ConditionType, status gardencorev1beta1.ConditionStatus, reason, message string,
		codes ...gardencorev1beta1.ErrorCode) {
		conditions = merge(clock, conditions, conditionType, status, reason, message, codes...)
	}

	var wanted []gardencorev1beta1.ConditionType
	for _, s := range h.sites {
		conditionType := gardencorev1beta1.ConditionType(ConditionPrefix + s.name)
		wanted = append(wanted, conditionType)
		switch {
		case s.known && s.err == nil:
			set(conditionType, gardencorev1beta1.ConditionTrue, ReasonAvailable, "The site answers and has room.")
		case s.known:
			set(conditionType, gardencorev1beta1.ConditionFalse, reasonOf(s.err), s.err.Error(), errorcodes.Codes(s.err)...)
		}
	}
	conditions = slices.DeleteFunc(slices.Clone(conditions), func(condition gardencorev1beta1.Condition) bool {
		return strings.HasPrefix(string(condition.Type), ConditionPrefix) && !slices.Contains(wanted, condition.Type)
	})

	status, reason, message, codes := h.controlPlane(v1beta1helper.GetCondition(conditions, v1alpha1.ConditionSitesReconciled))
	set(gardencorev1beta1.ShootControlPlaneHealthy, status, reason, message, codes...)
	status, reason, message, codes = h.nodes(v1beta1helper.GetCondition(conditions, v1alpha1.ConditionRemovedSitesDeleted))
	set(gardencorev1beta1.ShootEveryNodeReady, status, reason, message, codes...)
	return conditions
}

// controlPlane says which sites the control plane of the shoot can do nothing with. That is a failure if the default site or all
// sites are among them. Sites that answer and cannot be reconciled are told if there are no others.
func (h health) controlPlane(staying *gardencorev1beta1.Condition) (gardencorev1beta1.ConditionStatus, string, string,
	[]gardencorev1beta1.ErrorCode) {
	var down []error
	failed := false
	for _, s := range h.sites {
		if s.down() {
			down = append(down, s.err)
			failed = failed || s.name == h.defaultSite
		}
	}
	if len(down) == 0 && staying != nil {
		return gardencorev1beta1.ConditionProgressing, "SitesNotReconciled", staying.Message, staying.Codes
	}
	if len(down) == 0 {
		return gardencorev1beta1.ConditionTrue, "SitesAvailable", "All sites answer.", nil
	}
	status, reason := gardencorev1beta1.ConditionProgressing, "SitesUnavailable"
	if failed || len(down) == len(h.sites) {
		status = gardencorev1beta1.ConditionFalse
	}
	err := errors.Join(down...)
	return status, reason, list(down), errorcodes.Codes(err)
}

// nodes says which sites have no room for machines that are wanted, and which are removed and not deleted. Gardener looks at no node
// while the condition is not True. So a lack of room is told only while nothing is wrong with other machines. Removed sites are
// always told, because the admission webhooks let their credentials go when the condition is True; the message has the machines then,
// and why sites cannot be deleted.
func (h health) nodes(removal *gardencorev1beta1.Condition) (gardencorev1beta1.ConditionStatus, string, string,
	[]gardencorev1beta1.ErrorCode) {
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
				fmt.Errorf("site %q: the shoot does not use it any more, and needs its credentials until all of its objects are deleted", name))
		}
		codes := errorcodes.Codes(errors.Join(short...))
		if removal != nil && removal.Reason == v1alpha1.ReasonDeletionFailed {
			left = append(left, errors.New(removal.Message))
			codes = append(codes, removal.Codes...)
		}
		left = append(left, short...)
		for _, machine := range h.machines.others {
			if !slices.Contains(h.removed, machine.site) {
				left = append(left, machine.err)
			}
		}
		return gardencorev1beta1.ConditionProgressing, "RemovedSitesLeft", list(left), codes
	}
	if len(short) == 0 || len(h.machines.others) > 0 {
		return gardencorev1beta1.ConditionTrue, "SitesHaveRoom", "No machine alone waits for room on a site.", nil
	}
	return gardencorev1beta1.ConditionProgressing, "SitesWithoutRoom", list(short), errorcodes.Codes(errors.Join(short...))
}

// writeWorker returns the conditions of the Worker with that about its machines as it is now.
func (h health) writeWorker(clock clock.Clock, conditions []gardencorev1beta1.Condition) []gardencorev1beta1.Condition {
	status, reason, message, codes := h.faulty(clock.Now())
	if status == "" {
		return conditions
	}
	return merge(clock, conditions, gardencorev1beta1.ShootEveryNodeReady, status, reason, message, codes...)
}

// faulty says which machines have faults. The status is empty if that is not known yet. A site that does not tell of faults says nothing
// about the nodes, and Gardener looks at no node while the condition is not True. So such a site makes the condition Progressing, and only
// while all machines run.
func (h health) faulty(now time.Time) (gardencorev1beta1.ConditionStatus, string, string, []gardencorev1beta1.ErrorCode) {
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
		return gardencorev1beta1.ConditionFalse, healthcheck.ReasonUnsuccessful, sentence(list(append(faults, silent...))), nil
	case waiting:
		return "", "", "", nil
	case len(silent) == 0, len(h.machines.sites) > 0, len(h.machines.others) > 0:
		return gardencorev1beta1.ConditionTrue, healthcheck.ReasonSuccessful, "All health checks successful", nil
	}
	return gardencorev1beta1.ConditionProgressing, healthcheck.ReasonProgressing, sentence(list(silent)), errorcodes.Codes(errors.Join(silent...))
}

// hibernated returns the conditions of the Worker of a shoot that has no machines on purpose.
func hibernated(clock clock.Clock, conditions []gardencorev1beta1.Condition) []gardencorev1beta1.Condition {
	return merge(clock, conditions, gardencorev1beta1.ShootEveryNodeReady, gardencorev1beta1.ConditionTrue, healthcheck.ReasonSuccessful,
		"Shoot is hibernated")
}

func merge(
	clock clock.Clock, conditions []gardencorev1beta1.Condition, conditionType gardencorev1beta1.ConditionType,
	status gardencorev1beta1.ConditionStatus, reason, message string, codes ...gardencorev1beta1.ErrorCode,
) []gardencorev1beta1.Condition {
	condition := v1beta1helper.GetOrInitConditionWithClock(clock, conditions, conditionType)
	return v1beta1helper.MergeConditions(conditions,
		v1beta1helper.UpdatedConditionWithClock(clock, condition, status, reason, message, codes...))
}

// remove returns the conditions without those about sites.
func remove(_ clock.Clock, conditions []gardencorev1beta1.Condition) []gardencorev1beta1.Condition {
	return slices.DeleteFunc(slices.Clone(conditions), func(condition gardencorev1beta1.Condition) bool {
		return strings.HasPrefix(string(condition.Type), ConditionPrefix) ||
			condition.Type == gardencorev1beta1.ShootControlPlaneHealthy || condition.Type == gardencorev1beta1.ShootEveryNodeReady
	})
}

func sentence(text string) string {
	return strings.TrimSuffix(text, ".") + "."
}

func list(errs []error) string {
	messages := make([]string, len(errs))
	for i, err := range errs {
		messages[i] = err.Error()
	}
	return eventnote.List(messages)
}
