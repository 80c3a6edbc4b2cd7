// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package platform

import (
	"sync"
	"time"
)

var lastAnswers sync.Map

// Answered notes that a site has answered a request now, whatever it answered. The transport of requests calls it: an operation that
// takes many requests does not show that the site works before it ends.
func Answered(site string) {
	lastAnswers.Store(site, time.Now())
}

// LastAnswer returns when a site answered a request of this process last, the zero time if it has answered none.
func LastAnswer(site string) time.Time {
	last, _ := lastAnswers.Load(site)
	at, _ := last.(time.Time)
	return at
}
