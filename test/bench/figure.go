// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"strings"
)

// Figure is something that is measured.
type Figure struct {
	// ID names the figure.
	ID string
	// Unit is what the value counts.
	Unit string
	// Target is the highest value that is accepted.
	Target float64
	// Peer is what other providers need for the same job; zero if there is no such number.
	Peer float64
	// PeerNote says more about the peer's number.
	PeerNote string
	// Measure does the job and returns the requests that it took.
	Measure func(context.Context, *Bed) (Measurement, error)
	// Count computes the value from the requests.
	Count Count
}

// Measurement is what a figure was measured from.
type Measurement struct {
	// Records are the requests.
	Records []Record
	// Note says what a reader should know beside the value.
	Note string
}

// figures are all figures. To add one, add an entry.
var figures = []Figure{
	{
		ID: "openstack-infra-noop-requests", Unit: "requests", Target: 7, Peer: 13,
		Measure: measureNoop, Count: maxPerRun(requests),
	},
	{
		ID: "openstack-infra-noop-roundtrips", Unit: "serial round trips", Target: 2, Peer: 9,
		Measure: measureNoopRoundTrips, Count: maxPerRun(roundTrips),
	},
	{
		ID: "openstack-infra-noop-wall-ratio", Unit: "x floor", Target: 1.3,
		Measure: measureNoopWall, Count: floorRatio,
	},
	{
		ID: "openstack-machine-create-requests", Unit: "requests per machine", Target: 4, Peer: 10,
		PeerNote: "the peer needs one more for each 10 s of boot",
		Measure:  measureMachineCreate, Count: requestsPerMachine,
	},
}

// selectFigures returns the figure with the ID, or all figures if it is empty.
func selectFigures(id string) ([]Figure, error) {
	if id == "" {
		return figures, nil
	}
	var ids []string
	for _, figure := range figures {
		if figure.ID == id {
			return []Figure{figure}, nil
		}
		ids = append(ids, figure.ID)
	}
	return nil, fmt.Errorf("there is no figure %q; there are: %s", id, strings.Join(ids, ", "))
}
