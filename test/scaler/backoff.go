// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package scaler

import (
	"cmp"
	"time"

	"k8s.io/apimachinery/pkg/util/sets"
)

// Backoff says how long a deployment is left alone whose site is exhausted: Initial at first, twice as long each time that more
// machines cannot be created afterwards, Max at most, and Initial again after Reset without that.
type Backoff struct {
	Initial, Max, Reset time.Duration
}

// DefaultBackoff is that of the cluster-autoscaler.
var DefaultBackoff = Backoff{Initial: 5 * time.Minute, Max: 30 * time.Minute, Reset: 3 * time.Hour}

// setback is the last time that the site of a deployment was exhausted.
type setback struct {
	at, until time.Time
	duration  time.Duration
	// machines are the names of those that were seen to be exhausted.
	machines sets.Set[string]
}

func (b *setback) holds(now time.Time) bool {
	return b != nil && now.Before(b.until)
}

// hold notes the exhausted machines of a deployment, lets it alone for a while if one of them is new, and returns the end of that.
func (s *Scaler) hold(g *group) time.Time {
	if s.setbacks == nil {
		s.setbacks = map[string]*setback{}
	}
	now, last, settings := s.now(), s.setbacks[g.status.Name], cmp.Or(s.Backoff, DefaultBackoff)
	names := sets.New[string]()
	for _, m := range g.exhausted {
		names.Insert(m.Name)
	}
	if last == nil || !last.holds(now) && !last.machines.IsSuperset(names) {
		duration := settings.Initial
		if last != nil && now.Sub(last.at) < settings.Reset {
			duration = min(2*last.duration, settings.Max)
		}
		last = &setback{at: now, until: now.Add(duration), duration: duration}
	}
	last.machines = names
	s.setbacks[g.status.Name] = last
	return last.until
}
