// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	machinev1alpha1 "github.com/gardener/machine-controller-manager/pkg/apis/machine/v1alpha1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/lists"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/controller/sitehealth"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
)

// notKnown is written where a value is not known.
const notKnown = "not known"

var (
	typeAvailable   = strings.TrimSuffix(sitehealth.ConditionPrefix, siteSeparator)
	typeHasRoom     = strings.TrimSuffix(sitehealth.RoomConditionPrefix, siteSeparator)
	typeQuarantined = strings.TrimSuffix(v1alpha1.ConditionSiteQuarantinedPrefix, siteSeparator)
)

// writeStatus writes the report as text.
func writeStatus(s *screen, report *v1alpha1.StatusReport, now time.Time) {
	shoot := &report.Shoot
	title := []cell{{"Shoot", heading}, {text: strings.TrimPrefix(shoot.Namespace+"/"+shoot.Name, "/")},
		{"(" + shoot.TechnicalID + ")", faint}}
	if shoot.Hibernated {
		title = append(title, cell{"hibernated", unsure})
	}
	if shoot.LastOperation != "" {
		title = append(title, cell{shoot.LastOperation + ", " + age(shoot.LastOperationTime, now) + " ago", faint})
	}
	s.line(0, title...)

	sites := &table{columns: []string{"SITE", "PLATFORM", "STATE", "SINCE", "MACHINES", "ROOM", "REQUESTS", "FAILED", "THROTTLED"}}
	pools := &table{columns: []string{"POOL", "SITE", "WANTED", "RUNNING", "OTHERS"}}
	births := &table{columns: []string{"POOL", "SITE", "BIRTHS"}}
	for _, phase := range platform.BirthPhases {
		births.columns = append(births.columns, strings.ToUpper(string(phase)))
	}
	for i := range report.Sites {
		site := &report.Sites[i]
		addSiteRow(sites, site, now, s.wide)
		for _, pool := range site.Pools {
			addPoolRow(pools, site.Name, &pool)
			addBirthRow(births, site.Name, &pool)
		}
	}
	for _, t := range []*table{pools, births} {
		slices.SortStableFunc(t.rows, func(a, b []cell) int { return cmp.Compare(a[0].text, b[0].text) })
	}
	s.section("", func(s *screen) { s.table(sites) })
	s.section("", func(s *screen) { s.table(pools) })
	if s.wide {
		s.section("Births of machines, median", func(s *screen) { s.table(births) })
	}
	s.section("Conditions", func(s *screen) { writeConditions(s, report, now) })
	s.section("Last errors", func(s *screen) {
		for i := range report.Errors {
			writeError(s, &report.Errors[i], now)
		}
	})
	s.section("Not known", func(s *screen) {
		for _, what := range report.Unknown {
			s.line(2, cell{text: what})
		}
	})
}

// shownOf returns the condition of a site that needs attention most, nil if it was not probed yet.
func shownOf(conditions []v1alpha1.StatusCondition) *v1alpha1.StatusCondition {
	find := func(conditionType string, statuses ...gardencorev1beta1.ConditionStatus) *v1alpha1.StatusCondition {
		return lists.Find(conditions, func(c *v1alpha1.StatusCondition) bool {
			return c.Type == conditionType && (len(statuses) == 0 || slices.Contains(statuses, gardencorev1beta1.ConditionStatus(c.Status)))
		})
	}
	return cmp.Or(find(typeQuarantined, gardencorev1beta1.ConditionTrue), find(typeAvailable, gardencorev1beta1.ConditionFalse),
		find(typeHasRoom, gardencorev1beta1.ConditionFalse), find(typeAvailable))
}

func addSiteRow(t *table, site *v1alpha1.StatusSite, now time.Time, wide bool) {
	state, since := cell{notKnown, unsure}, "-"
	if c := shownOf(site.Conditions); c != nil {
		state, since = cell{c.Reason, styleOf(*c)}, age(&c.Since, now)
	}
	if site.Removed {
		state.text += ", removed"
	}
	requests, failed, throttled := cell{notKnown, unsure}, cell{}, cell{}
	if site.Requests != nil {
		requests = cell{text: strconv.FormatInt(site.Requests.Total, 10)}
		failed = counted(site.Requests.Failed)
		throttled = counted(site.Requests.Throttled)
	}
	var wanted, running int32
	for _, pool := range site.Pools {
		wanted += pool.Wanted
		running += pool.Phases[string(machinev1alpha1.MachineRunning)]
	}
	machines := cell{fmt.Sprintf("%d/%d", running, wanted), good}
	if running != wanted {
		machines.style = unsure
	}
	if len(site.Pools) == 0 {
		machines = cell{}
	}
	t.add(cell{text: site.Name}, cell{text: string(site.Platform)}, state, cell{text: since}, machines, roomOf(site, wide), requests, failed,
		throttled)
}

// roomOf returns the scarcest room of a site, or all of it.
func roomOf(site *v1alpha1.StatusSite, all bool) cell {
	if len(site.Room) == 0 {
		return cell{notKnown, unsure}
	}
	scarcest := slices.MinFunc(site.Room, func(a, b v1alpha1.StatusRoom) int { return cmp.Compare(share(a), share(b)) })
	room := cell{text: roomText(scarcest)}
	if all {
		room.text = strings.Join(lists.Map(site.Room, roomText), ", ")
	}
	if scarcest.Free == 0 {
		room.style = bad
	}
	return room
}

func counted(count int64) cell {
	if count > 0 {
		return cell{strconv.FormatInt(count, 10), unsure}
	}
	return cell{text: "0"}
}

// share returns the free share of the resource.
func share(r v1alpha1.StatusRoom) float64 {
	if r.Total == 0 {
		return 0
	}
	return float64(r.Free) / float64(r.Total)
}

// roomText returns how much is free of what.
func roomText(r v1alpha1.StatusRoom) string {
	name, unit := r.Resource, ""
	free, total := strconv.FormatInt(r.Free, 10), strconv.FormatInt(r.Total, 10)
	if bytes, ok := strings.CutSuffix(r.Resource, "_bytes"); ok {
		name, free, total = bytes, binary(r.Free), binary(r.Total)
	}
	if hertz, ok := strings.CutSuffix(r.Resource, "_hertz"); ok {
		name, unit = hertz, " GHz"
		free, total = strconv.FormatInt(r.Free/1e9, 10), strconv.FormatInt(r.Total/1e9, 10)
	}
	text := fmt.Sprintf("%s of %s%s %s free", free, total, unit, name)
	if of := strings.TrimSpace(r.Zone + " " + r.MachineType); of != "" {
		text += " (" + of + ")"
	}
	return text
}

// binary returns the number of bytes with a unit, rounded down.
func binary(bytes int64) string {
	for _, unit := range []struct {
		size int64
		name string
	}{{1 << 40, "Ti"}, {1 << 30, "Gi"}, {1 << 20, "Mi"}} {
		if bytes >= unit.size {
			return strconv.FormatInt(bytes/unit.size, 10) + unit.name
		}
	}
	return resource.NewQuantity(bytes, resource.BinarySI).String()
}

func addPoolRow(t *table, site string, pool *v1alpha1.StatusPool) {
	running := pool.Phases[string(machinev1alpha1.MachineRunning)]
	style := good
	if running != pool.Wanted {
		style = unsure
	}
	var others []string
	for _, phase := range slices.Sorted(maps.Keys(pool.Phases)) {
		if phase != string(machinev1alpha1.MachineRunning) {
			others = append(others, fmt.Sprintf("%d %s", pool.Phases[phase], phase))
		}
	}
	t.add(cell{text: pool.Name}, cell{text: site}, cell{text: strconv.Itoa(int(pool.Wanted))}, cell{strconv.Itoa(int(running)), style},
		cell{strings.Join(others, ", "), unsure})
}

// addBirthRow adds how long births took if that is known.
func addBirthRow(t *table, site string, pool *v1alpha1.StatusPool) {
	if pool.Births == nil {
		return
	}
	row := []cell{{text: pool.Name}, {text: site}, {text: strconv.FormatInt(pool.Births.Machines, 10)}}
	for _, phase := range platform.BirthPhases {
		after := cell{text: "-"}
		if seconds, ok := pool.Births.Seconds[string(phase)]; ok {
			after.text = duration.HumanDuration(time.Duration(seconds) * time.Second)
		}
		row = append(row, after)
	}
	t.add(row...)
}

// writeConditions writes the conditions that are not well, and in the wide format all.
func writeConditions(s *screen, report *v1alpha1.StatusReport, now time.Time) {
	write := func(of string, conditions []v1alpha1.StatusCondition, quarantinedUntil *metav1.Time) {
		for _, c := range conditions {
			if style := styleOf(c); style != good || s.wide {
				s.line(2, cell{text: cmp.Or(of, c.Object)}, cell{c.Type, heading}, cell{c.Status + ",", style},
					cell{c.Reason + ",", style}, cell{text: "for " + age(&c.Since, now)})
				s.line(4, cell{text: c.Message})
				if c.Type == typeQuarantined && quarantinedUntil != nil {
					s.line(4, cell{text: "It ends at " + quarantinedUntil.UTC().Format(time.RFC3339) + " at the latest."})
				}
			}
		}
	}
	write("", report.Conditions, nil)
	for i := range report.Sites {
		write("site "+report.Sites[i].Name, report.Sites[i].Conditions, report.Sites[i].QuarantinedUntil)
	}
}

// styleOf returns good if the condition needs no attention.
func styleOf(c v1alpha1.StatusCondition) style {
	status := gardencorev1beta1.ConditionStatus(c.Status)
	if c.Type == typeQuarantined {
		status = map[gardencorev1beta1.ConditionStatus]gardencorev1beta1.ConditionStatus{
			gardencorev1beta1.ConditionTrue: gardencorev1beta1.ConditionFalse, gardencorev1beta1.ConditionFalse: gardencorev1beta1.ConditionTrue,
		}[status]
	}
	switch status {
	case gardencorev1beta1.ConditionTrue:
		return good
	case gardencorev1beta1.ConditionFalse:
		return bad
	default:
		return unsure
	}
}

func writeError(s *screen, e *v1alpha1.StatusError, now time.Time) {
	title := []cell{{e.Object, bad}}
	if e.Machines > 1 {
		title = append(title, cell{text: fmt.Sprintf("and %d more", e.Machines-1)})
	}
	if e.Time != nil {
		title = append(title, cell{age(e.Time, now) + " ago", faint})
	}
	s.line(2, title...)
	s.line(4, cell{text: e.Message})
}

// age returns how long ago the time was.
func age(since *metav1.Time, now time.Time) string {
	if since == nil || since.IsZero() {
		return "-"
	}
	return duration.HumanDuration(now.Sub(since.Time))
}
