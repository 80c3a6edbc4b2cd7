// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package returnhome

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	machinev1alpha1 "github.com/gardener/machine-controller-manager/pkg/apis/machine/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	// annotationMove is the annotation of a machine deployment that a machine is moving to, or that a move to has failed. It is a move.
	annotationMove = "hybrid.provider.extensions.gardener.cloud/return-home"
	// annotationReturned is the annotation of a machine deployment that has given machines back. It is the list of times when their moves
	// began: the last one, and all within an hour before it.
	annotationReturned = "hybrid.provider.extensions.gardener.cloud/returned-home"

	minBackoff = 10 * time.Minute
	maxBackoff = 4 * time.Hour
)

// move is the move of a machine to a machine deployment.
type move struct {
	// Begun is when the replicas of the machine deployment were raised. It is nil if no machine is moving.
	Begun *metav1.Time `json:"begun,omitempty"`
	// From is the name of the machine deployment that gives a machine back.
	From string `json:"from,omitempty"`
	// Replicas are the raised replicas.
	Replicas int32 `json:"replicas,omitempty"`
	// Failures is the number of consecutive moves that failed.
	Failures int `json:"failures,omitempty"`
	// RetryAfter is the time before which no other move begins.
	RetryAfter *metav1.Time `json:"retryAfter,omitempty"`
}

// failed returns the move after another failure.
func (m move) failed(now time.Time) move {
	backoff := min(minBackoff<<min(m.Failures, 10), maxBackoff)
	return move{Failures: m.Failures + 1, RetryAfter: &metav1.Time{Time: now.Add(backoff)}}
}

// value returns the value of the annotation, empty if there is nothing to remember.
func (m move) value() string {
	if m == (move{}) {
		return ""
	}
	encoded, _ := json.Marshal(m)
	return string(encoded)
}

// moveOf returns the move in the annotation. An annotation that cannot be decoded is ignored.
func moveOf(d *machinev1alpha1.MachineDeployment) move {
	m := move{}
	if err := json.Unmarshal([]byte(d.Annotations[annotationMove]), &m); err != nil {
		return move{}
	}
	return m
}

// returnedOf returns the times in the annotation. Those that cannot be parsed are ignored.
func returnedOf(d *machinev1alpha1.MachineDeployment) []time.Time {
	var times []time.Time
	for text := range strings.SplitSeq(d.Annotations[annotationReturned], ",") {
		if at, err := time.Parse(time.RFC3339, text); err == nil {
			times = append(times, at)
		}
	}
	return times
}

// returnedValue returns the value of the annotation after another move.
func returnedValue(earlier []time.Time, begun time.Time) string {
	texts := []string{}
	for _, at := range append(slices.Clone(earlier), begun) {
		if begun.Sub(at) < time.Hour {
			texts = append(texts, at.UTC().Format(time.RFC3339))
		}
	}
	return strings.Join(texts, ",")
}
