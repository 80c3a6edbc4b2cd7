// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"
)

// Result is a measured figure.
type Result struct {
	// ID names the figure.
	ID string `json:"id"`
	// Value is the measured value, nil if it could not be measured.
	Value *float64 `json:"value"`
	// Unit is what the value counts.
	Unit string `json:"unit"`
	// Target is the highest value that is accepted, nil if the value is only reported.
	Target *float64 `json:"target"`
	// Floor is the lowest value that the APIs permit, zero if nobody counted it.
	Floor float64 `json:"floor,omitempty"`
	// Peer is what another provider needs for the same job, nil if there is no such number.
	Peer *float64 `json:"peer"`
	// PeerSource says where the peer's number is from.
	PeerSource peerSource `json:"peerSource,omitempty"`
	// PeerOf is the peer's name and version.
	PeerOf string `json:"peerOf,omitempty"`
	// PeerRounds is how often the peer was measured in this run.
	PeerRounds int `json:"peerRounds,omitempty"`
	// Note says what a reader should know beside the value.
	Note string `json:"note"`
	// Error says why there is no value.
	Error string `json:"error,omitempty"`
}

// missed reports whether the value is above the target.
func (r Result) missed() bool {
	return r.Target != nil && r.Value != nil && *r.Value > *r.Target
}

// failure is the result of a figure that could not be measured.
func failure(figure Figure, err error) Result {
	r := Result{ID: figure.ID, Unit: figure.Unit, Target: figure.Target, Floor: figure.Floor, Error: err.Error()}
	r.addKnownPeer(figure.Peer)
	return r
}

// evaluate writes the logs of the figure and computes the values, ours and the peer's.
func evaluate(figure Figure, measurement Measurement, logDir string) (Result, error) {
	value, err := count(figure.Count, filepath.Join(logDir, figure.ID+".jsonl"), measurement.Records)
	if err != nil {
		return Result{}, err
	}
	result := Result{
		ID: figure.ID, Value: &value, Unit: figure.Unit, Target: figure.Target, Floor: figure.Floor, Note: measurement.Note,
	}
	return result, result.addPeer(figure, measurement.Peer, logDir)
}

// peerLog is the file with the peer's requests.
func peerLog(logDir, id string) string {
	return filepath.Join(logDir, id+".peer.jsonl")
}

// count writes a log and computes its value, once from what was measured and once from the written log.
func count(of Count, path string, records []Record) (float64, error) {
	value, err := of(records)
	if err != nil {
		return 0, err
	}
	if err := writeLog(path, records); err != nil {
		return 0, err
	}
	written, err := readLog(path)
	if err != nil {
		return 0, err
	}
	again, err := of(written)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", path, err)
	}
	if again != value {
		return 0, fmt.Errorf("%s: counting it gives %v, but %v was measured", path, again, value)
	}
	return value, nil
}

// printTable prints the results as an aligned table.
func printTable(out io.Writer, results []Result) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "FIGURE\tVALUE\tTARGET\tFLOOR\tPEER\tUNIT\tRESULT\tPEER IS\tNOTE")
	for _, result := range results {
		value, target, floor, peer, verdict, note := "-", "-", "-", "-", "report", result.Note
		if result.Target != nil {
			target, verdict = "<= "+format(*result.Target), "ok"
		}
		if result.Peer != nil {
			peer = format(*result.Peer)
		}
		if result.Floor > 0 {
			floor = format(result.Floor)
		}
		if result.Value != nil {
			value = format(*result.Value)
		}
		if result.missed() {
			verdict = "MISSED"
		}
		if result.Error != "" {
			verdict, note = "FAILED", result.Error
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n",
			result.ID, value, target, floor, peer, result.Unit, verdict, result.peerOf(), strings.ReplaceAll(note, "\n", ", "))
	}
	return table.Flush()
}

func format(value float64) string {
	return strings.TrimRight(strings.TrimRight(fmt.Sprintf("%.2f", value), "0"), ".")
}

// writeResults writes the results as a JSON list.
func writeResults(path string, results []Result) error {
	data, err := json.MarshalIndent(results, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(data, '\n'), 0o600)
}
