// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package dns

import (
	"strings"
	"sync"
	"time"
)

// zoneTTL is for how long a found zone is remembered. The status of a DNSRecord remembers its own for ever.
const zoneTTL = 10 * time.Minute

// Zone is a zone of a service.
type Zone struct {
	// ID is what the service calls the zone, and status.zone of a DNSRecord holds.
	ID string
	// Name is the canonical name of the zone.
	Name string
}

// In reports whether the canonical name is the zone's or below it.
func In(name, zone string) bool {
	return name == zone || strings.HasSuffix(name, "."+zone)
}

// Longest returns the zone with the longest name that the canonical name is in, and false if there is none.
func Longest(zones []Zone, name string) (Zone, bool) {
	var (
		longest Zone
		found   bool
	)
	for _, zone := range zones {
		if In(name, zone.Name) && (!found || len(zone.Name) > len(longest.Name)) {
			longest, found = zone, true
		}
	}
	return longest, found
}

// Parents returns the name and those above it, the longest first, without the root.
func Parents(name string) []string {
	var parents []string
	for name != "" && name != "." {
		parents = append(parents, name)
		_, name, _ = strings.Cut(name, ".")
	}
	return parents
}

// Cache remembers things about zones for a while. It is safe for concurrent use.
type Cache[T any] struct {
	mutex   sync.Mutex
	entries map[string]cached[T]
}

type cached[T any] struct {
	value T
	until time.Time
}

// Get returns what is remembered for the key, and false if nothing is.
func (c *Cache[T]) Get(key string) (T, bool) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	entry, ok := c.entries[key]
	if !ok || time.Now().After(entry.until) {
		var none T
		return none, false
	}
	return entry.value, true
}

// Put remembers a value, and forgets all that are too old.
func (c *Cache[T]) Put(key string, value T) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	now := time.Now()
	if c.entries == nil {
		c.entries = map[string]cached[T]{}
	}
	for k, entry := range c.entries {
		if now.After(entry.until) {
			delete(c.entries, k)
		}
	}
	c.entries[key] = cached[T]{value: value, until: now.Add(zoneTTL)}
}

// Forget forgets what is remembered for the key.
func (c *Cache[T]) Forget(key string) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	delete(c.entries, key)
}
