// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package countproxy

import (
	"slices"
	"time"
)

// Interval is the time that a request took.
type Interval struct {
	// Start and End are the first and the last moment.
	Start, End time.Time
}

// RoundTrips is the length of the longest chain of requests that do not overlap in time. It is the number of round trips on the
// critical path if each of them takes about as long.
func RoundTrips(requests []Interval) int {
	byEnd := slices.SortedFunc(slices.Values(requests), func(a, b Interval) int { return a.End.Compare(b.End) })
	var (
		serial int
		free   time.Time
	)
	for _, request := range byEnd {
		if serial == 0 || !request.Start.Before(free) {
			serial++
			free = request.End
		}
	}
	return serial
}

// Span is the time from the first start to the last end.
func Span(requests []Interval) time.Duration {
	if len(requests) == 0 {
		return 0
	}
	first, last := requests[0].Start, requests[0].End
	for _, request := range requests {
		if request.Start.Before(first) {
			first = request.Start
		}
		if request.End.After(last) {
			last = request.End
		}
	}
	return last.Sub(first)
}

// Intervals are the intervals of the requests.
func Intervals(requests []Request) []Interval {
	intervals := make([]Interval, 0, len(requests))
	for _, entry := range requests {
		intervals = append(intervals, Interval{Start: entry.Start, End: entry.End})
	}
	return intervals
}
