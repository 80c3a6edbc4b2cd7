// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package platform

import (
	"slices"
	"strings"
	"time"
)

// BirthPhase is a phase of the birth of a machine, from the creation of its Machine to a node that is ready.
type BirthPhase string

const (
	// BirthClaimed ends when the driver knows the ID of the machine.
	BirthClaimed BirthPhase = "claimed"
	// BirthPowered ends when the site has switched the machine on.
	BirthPowered BirthPhase = "powered"
	// BirthProvisioned ends when an inventory has written the image to a host.
	BirthProvisioned BirthPhase = "provisioned"
	// BirthRegistered ends when the kubelet has created the node.
	BirthRegistered BirthPhase = "registered"
	// BirthInitialized ends when the cloud-controller-manager has removed its taint from the node.
	BirthInitialized BirthPhase = "initialized"
	// BirthReady ends when the kubelet has reported that the node is ready.
	BirthReady BirthPhase = "ready"
)

// BirthPhases are all phases in the order in which most machines go through them.
var BirthPhases = []BirthPhase{BirthClaimed, BirthPowered, BirthProvisioned, BirthRegistered, BirthInitialized, BirthReady}

// birthTolerance is the difference between two times that can be due to rounding to seconds, or to clocks that differ.
const birthTolerance = 2 * time.Second

// BirthTimes are when phases ended. Phases that are not known are missing.
type BirthTimes map[BirthPhase]time.Time

// BirthProfile is how long after the creation of the Machine phases ended. Phases that are not known are missing.
type BirthProfile map[BirthPhase]time.Duration

// Profile returns how long after the creation of the Machine each phase ended, in seconds. Neither sites nor nodes are believed: a time in
// the future, before the creation, or before another phase that must be over is left out. The profile is empty unless the node registered
// after the creation: the Machine of an older node was restored.
func (t BirthTimes) Profile(created, now time.Time) BirthProfile {
	profile := BirthProfile{}
	registered, ok := between(t[BirthRegistered], created, now)
	if !ok {
		return profile
	}
	for _, phase := range BirthPhases {
		from, to := created, registered
		if phase == BirthInitialized || phase == BirthReady {
			from, to = registered, now
		}
		if at, ok := between(t[phase], from, to); ok {
			profile[phase] = at.Sub(created).Truncate(time.Second)
		}
	}
	return profile
}

// between returns the time, moved to a bound that it exceeds by no more than the tolerance, and false if it is further away.
func between(at, from, to time.Time) (time.Time, bool) {
	if at.IsZero() || from.Sub(at) > birthTolerance || at.Sub(to) > birthTolerance {
		return time.Time{}, false
	}
	if at.After(to) {
		at = to
	}
	if at.Before(from) {
		at = from
	}
	return at, true
}

// String returns the times in RFC 3339, as ParseBirthTimes reads them.
func (t BirthTimes) String() string {
	return birthText(t, func(at time.Time) string { return at.UTC().Format(time.RFC3339) })
}

// ParseBirthTimes reads times. What it does not understand is missing.
func ParseBirthTimes(text string) BirthTimes {
	return parseBirth(text, func(value string) (time.Time, bool) {
		at, err := time.Parse(time.RFC3339, value)
		return at, err == nil
	})
}

// String returns the profile, such as "claimed=2s,registered=31s,ready=1m4s".
func (p BirthProfile) String() string {
	return birthText(p, time.Duration.String)
}

// ParseBirthProfile reads a profile. What it does not understand is missing.
func ParseBirthProfile(text string) BirthProfile {
	return parseBirth(text, func(value string) (time.Duration, bool) {
		after, err := time.ParseDuration(value)
		return after, err == nil && after >= 0
	})
}

func birthText[V any](values map[BirthPhase]V, format func(V) string) string {
	var parts []string
	for _, phase := range BirthPhases {
		if value, ok := values[phase]; ok {
			parts = append(parts, string(phase)+"="+format(value))
		}
	}
	return strings.Join(parts, ",")
}

func parseBirth[V any](text string, parse func(string) (V, bool)) map[BirthPhase]V {
	values := map[BirthPhase]V{}
	for part := range strings.SplitSeq(text, ",") {
		name, value, _ := strings.Cut(part, "=")
		if phase := BirthPhase(name); slices.Contains(BirthPhases, phase) {
			if parsed, ok := parse(value); ok {
				values[phase] = parsed
			}
		}
	}
	return values
}
