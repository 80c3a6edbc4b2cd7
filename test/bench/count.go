// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/gardener/gardener-extension-provider-hybrid/test/countproxy"
)

// The runs of a comparison with the floor have these prefixes.
const (
	oursPrefix  = "ours-"
	floorPrefix = "floor-"
)

// Count computes the value of a figure from its log.
type Count func([]Record) (float64, error)

// runs are the records by their run, in the order of the runs' names.
func runs(records []Record) ([]string, map[string][]Record) {
	byRun := map[string][]Record{}
	for _, record := range records {
		byRun[record.Run] = append(byRun[record.Run], record)
	}
	return slices.Sorted(maps.Keys(byRun)), byRun
}

func intervals(records []Record) []countproxy.Interval {
	result := make([]countproxy.Interval, 0, len(records))
	for _, record := range records {
		result = append(result, record.interval())
	}
	return result
}

// requestsOf are the records that are requests.
func requestsOf(records []Record) []Record {
	return slices.DeleteFunc(slices.Clone(records), func(r Record) bool { return r.Kind == kindSample })
}

// maxPerRun counts the requests of each run and returns the worst.
func maxPerRun(count func([]Record) float64) Count {
	return func(records []Record) (float64, error) {
		if len(records) == 0 {
			return 0, errors.New("the log is empty")
		}
		worst := 0.0
		_, byRun := runs(records)
		for _, run := range byRun {
			worst = max(worst, count(requestsOf(run)))
		}
		return worst, nil
	}
}

// requests is the number of requests.
func requests(records []Record) float64 {
	return float64(len(records))
}

// megabytes is the size of the answers' bodies.
func megabytes(records []Record) float64 {
	total := 0
	for _, record := range records {
		total += record.Bytes
	}
	return float64(total) / 1e6
}

// worst returns the highest sample of a quantity.
func worst(quantity string) Count {
	return func(records []Record) (float64, error) {
		values := samplesOf(records, quantity)
		if len(values) == 0 {
			return 0, fmt.Errorf("the log has no %s", quantity)
		}
		return slices.Max(values), nil
	}
}

// middle returns the median sample of a quantity.
func middle(quantity string) Count {
	return func(records []Record) (float64, error) {
		values := samplesOf(records, quantity)
		if len(values) == 0 {
			return 0, fmt.Errorf("the log has no %s", quantity)
		}
		return median(values), nil
	}
}

func samplesOf(records []Record, quantity string) []float64 {
	var values []float64
	for _, record := range records {
		if record.Kind == kindSample && record.Service == quantity {
			values = append(values, record.Value)
		}
	}
	return values
}

// latency returns the time, in ms, in which so large a part of the requests was answered.
func latency(part float64) Count {
	return func(records []Record) (float64, error) {
		answered := requestsOf(records)
		if len(answered) == 0 {
			return 0, errors.New("the log has no requests")
		}
		durations := make([]time.Duration, 0, len(answered))
		for _, record := range answered {
			durations = append(durations, record.Duration)
		}
		slices.Sort(durations)
		index := int(math.Ceil(part*float64(len(durations)))) - 1
		return durations[max(index, 0)].Seconds() * 1e3, nil
	}
}

// worstPath returns the value of the path whose requests have the highest one.
func worstPath(count Count) Count {
	return func(records []Record) (float64, error) {
		byPath := map[string][]Record{}
		for _, record := range requestsOf(records) {
			byPath[record.Path] = append(byPath[record.Path], record)
		}
		if len(byPath) == 0 {
			return 0, errors.New("the log has no requests")
		}
		worst := 0.0
		for path, own := range byPath {
			value, err := count(own)
			if err != nil {
				return 0, fmt.Errorf("%s: %w", path, err)
			}
			worst = max(worst, value)
		}
		return worst, nil
	}
}

// logins is the number of requests for a token.
func logins(records []Record) (float64, error) {
	if len(requestsOf(records)) == 0 {
		return 0, errors.New("the log has no requests")
	}
	count := 0
	for _, record := range records {
		if record.Kind == countproxy.KindAuth {
			count++
		}
	}
	return float64(count), nil
}

// roundTrips is the number of requests on the critical path.
func roundTrips(records []Record) float64 {
	return float64(countproxy.RoundTrips(intervals(records)))
}

// floorRatio is the median time of our runs divided by that of the floor's runs.
func floorRatio(records []Record) (float64, error) {
	var ours, floor []time.Duration
	_, byRun := runs(records)
	for name, run := range byRun {
		span := countproxy.Span(intervals(run))
		switch {
		case strings.HasPrefix(name, oursPrefix):
			ours = append(ours, span)
		case strings.HasPrefix(name, floorPrefix):
			floor = append(floor, span)
		}
	}
	if len(ours) == 0 || len(ours) != len(floor) {
		return 0, fmt.Errorf("the log has %d runs of ours and %d of the floor", len(ours), len(floor))
	}
	return float64(median(ours)) / float64(median(floor)), nil
}

// requestsPerMachine is the number of requests, without the shared list of servers, for each server that was created.
func requestsPerMachine(records []Record) (float64, error) {
	polls, created := pollsAndServers(records)
	if created == 0 {
		return 0, errors.New("the log has no created server")
	}
	return float64(len(records)-polls) / float64(created), nil
}

// pollsPerMachine is the number of shared lists of servers for each server that was created.
func pollsPerMachine(records []Record) (float64, error) {
	polls, created := pollsAndServers(records)
	if created == 0 {
		return 0, errors.New("the log has no created server")
	}
	return float64(polls) / float64(created), nil
}

// pollsAndServers counts the shared lists of servers and the servers that were created.
func pollsAndServers(records []Record) (polls, created int) {
	for _, record := range records {
		switch {
		case isSharedPoll(record):
			polls++
		case record.Method == http.MethodPost && strings.HasSuffix(record.Path, "/servers") && record.Status == http.StatusAccepted:
			created++
		}
	}
	return polls, created
}

// isSharedPoll reports whether one request answers for all machines of the shoot.
func isSharedPoll(record Record) bool {
	path, _, _ := strings.Cut(record.Path, "?")
	return record.Method == http.MethodGet && strings.HasSuffix(path, "/servers/detail")
}

func median[T time.Duration | float64](values []T) T {
	sorted := slices.Sorted(slices.Values(values))
	middle := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[middle]
	}
	return (sorted[middle-1] + sorted[middle]) / 2
}

func mean(values []float64) float64 {
	sum := 0.0
	for _, value := range values {
		sum += value
	}
	return sum / float64(len(values))
}
