// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package control

import (
	"time"
)

// PathJournal returns the Requests that arrived since the last call and keeps the following ones. Nothing is kept before the first
// call. It waits for the requests in flight.
const PathJournal = "/journal"

// Request is a request as the vCenter saw it.
type Request struct {
	// Start is when it arrived.
	Start time.Time
	// Duration is how long its answer took.
	Duration time.Duration
	// Service is vim25, vapi, pbm, ...
	Service string
	// Method is that of SOAP, or that of HTTP with the path.
	Method string
	// Status is that of the answer.
	Status int
	// Bytes is the size of the answer's body.
	Bytes int
}
