// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"strings"
)

// peerSource says where a peer's number is from.
type peerSource string

const (
	// sourceMeasured is a number that was measured in the same run, in turns with ours.
	sourceMeasured peerSource = "measured"
	// sourceRecorded is a number that was measured once, in another run: it stands where the peer cannot be run.
	sourceRecorded peerSource = "recorded"
	// sourceComputed is a number that was computed from such numbers.
	sourceComputed peerSource = "computed"
	// sourceRead is a number in the peer's source code.
	sourceRead peerSource = "read"
)

// The peers. docs/development/benchmarks.md says when and how their numbers were found.
const (
	peerExtension = "gardener-extension-provider-openstack v1.57.0"
	peerOpenStack = "machine-controller-manager-provider-openstack v0.26.0"
	peerVSphere   = "machine-controller-manager-provider-vsphere v0.23.0"
	peerRetry     = "machine-controller-manager v0.62.1, its MediumRetry"
	peerMCM       = "machine-controller-manager v0.62.1 without quarantine"
	peerCreation  = "machine-controller-manager v0.62.1, its creation timeout"
	peerProcesses = "prototype with a process for each of two platforms"
	peerQueue     = "prototype with one queue for all sites"
	peerCharts    = "charts of three Gardener extensions"
)

// Peer is what another provider needs for the same job, as far as it was not measured in this run.
type Peer struct {
	// Value is the number.
	Value float64
	// Source says where it is from.
	Source peerSource
	// Of is the peer's name and version.
	Of string
	// Note says more about the number.
	Note string
}

// PeerRun is a job that a peer did in turns with ours.
type PeerRun struct {
	// Of is the peer's name and version.
	Of string
	// Rounds is how often the peer did the job.
	Rounds int
	// Records are its requests and samples.
	Records []Record
	// Note says more about the run.
	Note string
	// Err says why the peer did not do the job.
	Err error
}

// addPeer adds what is known of the figure's peer: what was measured in this run, or else what was known before.
func (r *Result) addPeer(figure Figure, run *PeerRun, logDir string) error {
	if figure.Peer == nil {
		return nil
	}
	if run != nil && run.Err == nil {
		value, err := count(figure.Count, peerLog(logDir, figure.ID), run.Records)
		if err != nil {
			return fmt.Errorf("peer: %w", err)
		}
		r.Peer, r.PeerSource, r.PeerOf, r.PeerRounds = &value, sourceMeasured, run.Of, run.Rounds
		r.addNote("peer", run.Note)
		return nil
	}
	if run != nil {
		reason, _, _ := strings.Cut(run.Err.Error(), "\n")
		r.addNote("the peer was not measured", reason)
	}
	r.addKnownPeer(figure.Peer)
	return nil
}

// addKnownPeer adds what was known of a peer before.
func (r *Result) addKnownPeer(known *Peer) {
	if known != nil {
		r.Peer, r.PeerSource, r.PeerOf = &known.Value, known.Source, known.Of
		r.addNote("peer", known.Note)
	}
}

func (r *Result) addNote(about, text string) {
	if text != "" {
		r.Note = strings.TrimPrefix(r.Note+"; "+about+": "+text, "; ")
	}
}

// peerOf describes where the peer's number is from in a few words.
func (r *Result) peerOf() string {
	switch {
	case r.Peer == nil:
		return "-"
	case r.PeerRounds == 1:
		return fmt.Sprintf("%s, %s, 1 round", r.PeerOf, r.PeerSource)
	case r.PeerRounds > 0:
		return fmt.Sprintf("%s, %s, %d rounds", r.PeerOf, r.PeerSource, r.PeerRounds)
	default:
		return fmt.Sprintf("%s, %s", r.PeerOf, r.PeerSource)
	}
}
