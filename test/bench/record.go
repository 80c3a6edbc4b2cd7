// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/gardener/gardener-extension-provider-hybrid/test/countproxy"
)

// Record is a request in the log of a figure, or a sample.
type Record struct {
	// Time is when the request arrived at the proxy.
	Time time.Time `json:"time"`
	// Run is the repetition that the request belongs to.
	Run string `json:"run"`
	// Service is the name of the service, or the quantity of a sample.
	Service string `json:"service"`
	// Method is the method of the request.
	Method string `json:"method"`
	// Path is the path of the request with its query.
	Path string `json:"path"`
	// Kind is auth, discovery, read or write, or sample if it is no request.
	Kind countproxy.Kind `json:"kind"`
	// Status is the status of the answer, zero if there was none.
	Status int `json:"status"`
	// Bytes is the size of the answer's body.
	Bytes int `json:"bytes"`
	// Duration is how long the request took, in nanoseconds.
	Duration time.Duration `json:"duration"`
	// Value is what was measured, for a sample.
	Value float64 `json:"value,omitempty"`
}

// kindSample is the kind of a record that is no request but something else that was measured.
const kindSample countproxy.Kind = "sample"

// maxLine is the longest line of a log, in bytes. Queries that name many objects are long.
const maxLine = 16 << 20

// sample returns a measured value of a quantity as a record.
func sample(run, quantity string, value float64) Record {
	return Record{Time: time.Now().Round(0), Run: run, Service: quantity, Kind: kindSample, Value: value}
}

// recordsOf returns the requests of a run as records.
func recordsOf(run string, requests []countproxy.Request) []Record {
	records := make([]Record, 0, len(requests))
	for _, r := range requests {
		path := r.Path
		if r.Query != "" {
			path += "?" + r.Query
		}
		records = append(records, Record{
			Time:     r.Start.Round(0),
			Run:      run,
			Service:  r.Service,
			Method:   r.Method,
			Path:     path,
			Kind:     r.Kind,
			Status:   r.Status,
			Bytes:    r.ResponseBytes,
			Duration: r.End.Sub(r.Start),
		})
	}
	return records
}

func (r Record) interval() countproxy.Interval {
	return countproxy.Interval{Start: r.Time, End: r.Time.Add(r.Duration)}
}

// writeLog writes a line of JSON for each record.
func writeLog(path string, records []Record) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		return err
	}
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	defer file.Close()
	writer := bufio.NewWriter(file)
	encoder := json.NewEncoder(writer)
	encoder.SetEscapeHTML(false)
	for _, record := range records {
		if err := encoder.Encode(record); err != nil {
			return err
		}
	}
	if err := writer.Flush(); err != nil {
		return err
	}
	return file.Close()
}

// readLog reads what writeLog wrote.
func readLog(path string) ([]Record, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	var records []Record
	scanner := bufio.NewScanner(file)
	scanner.Buffer(nil, maxLine)
	for scanner.Scan() {
		var record Record
		if err := json.Unmarshal(scanner.Bytes(), &record); err != nil {
			return nil, fmt.Errorf("%s, line %d: %w", path, len(records)+1, err)
		}
		records = append(records, record)
	}
	if err := scanner.Err(); err != nil {
		return nil, fmt.Errorf("%s, line %d: %w", path, len(records)+1, err)
	}
	return records, nil
}
