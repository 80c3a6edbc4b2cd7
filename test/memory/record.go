// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package memory

import (
	"encoding/json"
	"os"
	"path/filepath"
	"time"
)

// Record is what the processes of a shoot's control plane had in memory.
type Record struct {
	// Time is when the last sample was taken.
	Time time.Time `json:"time"`
	// Sites are the sites of the shoot.
	Sites []string `json:"sites"`
	// Nodes is how many nodes the shoot had at most.
	Nodes int `json:"nodes"`
	// Containers are the containers whose processes were sampled.
	Containers []Container `json:"containers"`
}

// Container is what a container requests and what its process had in memory.
type Container struct {
	// Deployment is the name of the container's Deployment.
	Deployment string `json:"deployment"`
	// Name is the name of the container.
	Name string `json:"name"`
	// RequestMiB is what the container requests.
	RequestMiB float64 `json:"requestMiB"`
	// Samples is how many samples there are.
	Samples int `json:"samples"`
	// Resident is all memory of the process, Anonymous what belongs to no file.
	Resident  Figures `json:"resident"`
	Anonymous Figures `json:"anonymous"`
}

// Figures are those of all samples.
type Figures struct {
	// PeakMiB is the largest value.
	PeakMiB float64 `json:"peakMiB"`
	// Percentile95MiB is the 95th percentile.
	Percentile95MiB float64 `json:"percentile95MiB"`
}

// RequestsTooLittle reports whether the process had more memory that the kernel cannot drop than its container requests, in more than
// 5 of 100 samples.
func (c Container) RequestsTooLittle() bool {
	return c.RequestMiB < c.Anonymous.Percentile95MiB
}

// Write writes the record to a file.
func (r *Record) Write(path string) error {
	content, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		return err
	}
	return os.WriteFile(path, append(content, '\n'), 0o600)
}

// Read reads the record of a file.
func Read(path string) (*Record, error) {
	content, err := os.ReadFile(path) // #nosec G304 -- the landscape's own file
	if err != nil {
		return nil, err
	}
	r := &Record{}
	return r, json.Unmarshal(content, r)
}
