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
	// Value is the measured value.
	Value float64 `json:"value"`
	// Unit is what the value counts.
	Unit string `json:"unit"`
	// Target is the highest value that is accepted, nil if the value is only reported.
	Target *float64 `json:"target"`
	// Peer is what other providers need for the same job, nil if there is no such number.
	Peer *float64 `json:"peer"`
	// Note says what a reader should know beside the value.
	Note string `json:"note"`
}

// missed reports whether the value is above the target.
func (r Result) missed() bool {
	return r.Target != nil && r.Value > *r.Target
}

// evaluate writes the log of the figure and computes the value, once from what was measured and once from the written log.
func evaluate(figure Figure, measurement Measurement, logDir string) (Result, error) {
	value, err := figure.Count(measurement.Records)
	if err != nil {
		return Result{}, err
	}
	path := filepath.Join(logDir, figure.ID+".jsonl")
	if err := writeLog(path, measurement.Records); err != nil {
		return Result{}, err
	}
	written, err := readLog(path)
	if err != nil {
		return Result{}, err
	}
	again, err := figure.Count(written)
	if err != nil {
		return Result{}, fmt.Errorf("%s: %w", path, err)
	}
	if again != value {
		return Result{}, fmt.Errorf("%s: counting it gives %v, but %v was measured", path, again, value)
	}

	result := Result{ID: figure.ID, Value: value, Unit: figure.Unit, Target: figure.Target, Note: measurement.Note}
	if figure.Peer > 0 {
		result.Peer = &figure.Peer
	}
	if figure.PeerNote != "" {
		result.Note = strings.Join([]string{result.Note, figure.PeerNote}, "; ")
	}
	return result, nil
}

// printTable prints the results as an aligned table.
func printTable(out io.Writer, results []Result) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "FIGURE\tVALUE\tTARGET\tPEER\tUNIT\tRESULT\tNOTE")
	for _, result := range results {
		target, peer, verdict := "-", "-", "report"
		if result.Target != nil {
			target, verdict = "<= "+format(*result.Target), "ok"
		}
		if result.Peer != nil {
			peer = format(*result.Peer)
		}
		if result.missed() {
			verdict = "MISSED"
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n",
			result.ID, format(result.Value), target, peer, result.Unit, verdict, result.Note)
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
