// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package metal3

import (
	"sync"
	"time"

	metalclient "github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/metal/client"
)

// watchLag is for how long a watch may not show that a host was claimed.
const watchLag = 30 * time.Second

// reservations are the hosts that this process is claiming, so that its own claims do not compete.
type reservations struct {
	mutex sync.Mutex
	// claiming are the hosts that are being claimed.
	claiming map[string]struct{}
	// claimed says when hosts were claimed whose claim a watch may not show yet.
	claimed map[string]time.Time
}

type reservationsKey struct{}

func reservationsOf(session *metalclient.Session) *reservations {
	return session.Value(reservationsKey{}, func() any {
		return &reservations{claiming: map[string]struct{}{}, claimed: map[string]time.Time{}}
	}).(*reservations)
}

// reserve reserves the host unless somebody has, or has claimed it a moment ago. What was claimed does not matter if it is known that
// the host is free now.
func (r *reservations) reserve(host string, isFree bool) bool {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if _, ok := r.claiming[host]; ok {
		return false
	}
	if at, ok := r.claimed[host]; ok && !isFree && time.Since(at) < watchLag {
		return false
	}
	delete(r.claimed, host)
	r.claiming[host] = struct{}{}
	return true
}

// release ends the reservation of the host.
func (r *reservations) release(host string, claimed bool) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	delete(r.claiming, host)
	if claimed {
		r.claimed[host] = time.Now()
	}
}
