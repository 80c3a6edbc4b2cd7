// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package scaler

import (
	"cmp"
	"time"

	"k8s.io/apimachinery/pkg/util/sets"
)

// Backoff is how long a deployment is not raised again after machines could not be created: Initial at first, twice as long each time that
// this happens again, at most Max, and Initial again if it has not happened for Reset.
type Backoff struct {
	Initial, Max, Reset time.Duration
}

// DefaultBackoff is that of the cluster-autoscaler.
var DefaultBackoff = Backoff{Initial: 5 * time.Minute, Max: 30 * time.Minute, Reset: 3 * time.Hour}

// setback is the last time that machines of a deployment could not be created.
type setback struct {
	at, until time.Time
	duration  time.Duration
}

func (b *setback) holds(now time.Time) bool {
	return b != nil && now.Before(b.until)
}

// request is an increase of a deployment whose nodes are not ready yet.
type request struct {
	increase int
	until    time.Time
}

// hold backs a deployment off.
func (s *Scaler) hold(g *group) {
	if s.setbacks == nil {
		s.setbacks = map[string]*setback{}
	}
	now, last, settings := s.now(), s.setbacks[g.status.Name], cmp.Or(s.Backoff, DefaultBackoff)
	duration := settings.Initial
	switch {
	case last == nil || now.Sub(last.at) >= settings.Reset:
	case last.holds(now):
		duration = last.duration
	default:
		duration = min(2*last.duration, settings.Max)
	}
	s.setbacks[g.status.Name] = &setback{at: now, until: now.Add(duration), duration: duration}
}

// updateRequests ends the requests whose nodes are there, and backs deployments off whose nodes have not come in time.
func (s *Scaler) updateRequests(groups []*group) {
	for _, g := range groups {
		request := s.requests[g.status.Name]
		switch {
		case request == nil:
		case !g.isUpcoming():
			delete(s.requests, g.status.Name)
		case s.now().After(request.until):
			delete(s.requests, g.status.Name)
			s.hold(g)
		}
	}
}

// noteExhausted backs deployments off with machines that were asked for, and are now seen to be exhausted.
func (s *Scaler) noteExhausted(groups []*group) {
	seen := sets.New[string]()
	for _, g := range groups {
		fresh := 0
		for _, m := range g.exhausted {
			seen.Insert(m.Name)
			if !s.exhausted.Has(m.Name) {
				fresh++
			}
		}
		if request := s.requests[g.status.Name]; fresh > 0 && request != nil {
			s.hold(g)
			if request.increase -= fresh; request.increase <= 0 {
				delete(s.requests, g.status.Name)
			}
		}
	}
	s.exhausted = seen
}
