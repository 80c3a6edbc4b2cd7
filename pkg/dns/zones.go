// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package dns

import (
	"strings"
	"sync"
	"time"
)

// zoneTTL is how long a found zone is cached. The status of a DNSRecord keeps its zone forever.
const zoneTTL = 10 * time.Minute

// Zone is a zone of a service.
type Zone struct {
	// ID is the ID of the zone, as in status.zone of a DNSRecord.
	ID string
	// Name is the canonical name of the zone.
	Name string
}

// In reports whether the canonical name equals the zone's name or is below it.
func In(name, zone string) bool {
	return name == zone || strings.HasSuffix(name, "."+zone)
}

// Longest returns the zone with the longest name that contains the canonical name, and false if there is none.
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

// Parents returns the name and its parents, the longest first, without the root.
func Parents(name string) []string {
	var parents []string
	for name != "" && name != "." {
		parents = append(parents, name)
		_, name, _ = strings.Cut(name, ".")
	}
	return parents
}

// Cache caches values about zones. It is safe for concurrent use.
type Cache[T any] struct {
	mutex   sync.Mutex
	entries map[string]cached[T]
}

type cached[T any] struct {
	value T
	until time.Time
}

// Get returns the cached value for the key, and false if there is none.
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

// Put caches a value and evicts expired ones.
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

// Forget evicts the value for the key.
func (c *Cache[T]) Forget(key string) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	delete(c.entries, key)
}
