// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package rehearsal records the requests that would change a site. Sessions of a platform that are opened with a Log send reads to the
// site, and neither send nor forget a write: it is recorded, and answered in such a way that later reads see its effect. The flows of a
// platform do not know that they are rehearsed, so that a plan is what a reconciliation does.
package rehearsal

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
)

const (
	// MaxObjects is the maximum number of objects of a kind that a session remembers for the names and fields of later writes.
	MaxObjects = 10000
	// maxWrites is the maximum number of writes of a rehearsal.
	maxWrites = 20000
	// prefix is that of the IDs of objects that do not exist.
	prefix = "planned:"
)

// Write is a request that would have changed a site.
type Write struct {
	v1alpha1.PlannedRequest
	// Site is the name of the site.
	Site string
	// Action is what the request does to the object: it creates, changes, or deletes it.
	Action v1alpha1.PlannedAction
	// Kind, ID and Name are those of the object.
	Kind, ID, Name string
	// Fields are the fields that the request changes.
	Fields []v1alpha1.PlannedField
}

// Log holds the writes of a rehearsal. It is safe for concurrent use.
type Log struct {
	mutex  sync.Mutex
	writes []Write
	ids    map[[2]string]int
}

// Add adds a write. It returns an error if there are too many.
func (l *Log) Add(w Write) error {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if len(l.writes) == maxWrites {
		return platform.NewError(platform.ClassTransient, "the plan ends after %d requests", maxWrites)
	}
	w.Name = platform.Printable(w.Name)
	for i := range w.Fields {
		w.Fields[i].From, w.Fields[i].To = platform.Printable(w.Fields[i].From), platform.Printable(w.Fields[i].To)
	}
	l.writes = append(l.writes, w)
	return nil
}

// Writes returns the writes at the site in their order.
func (l *Log) Writes(site string) []Write {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return slices.DeleteFunc(slices.Clone(l.writes), func(w Write) bool { return w.Site != site })
}

// NewID returns an ID for an object of the kind that does not exist.
func (l *Log) NewID(site, kind string) string {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if l.ids == nil {
		l.ids = map[[2]string]int{}
	}
	key := [2]string{site, kind}
	l.ids[key]++
	return fmt.Sprintf("%s%s-%d", prefix, strings.ReplaceAll(kind, " ", "-"), l.ids[key])
}

// IsMadeUp reports whether the ID is that of an object that does not exist.
func IsMadeUp(id string) bool {
	return strings.HasPrefix(id, prefix)
}

// Refuse returns the error for a request that may change the site in an unknown way. It was not sent.
func Refuse(service, method, path string) error {
	return platform.NewError(platform.ClassConfiguration, "the plan does not know the effect of %s %s of the %s API, which was not sent",
		platform.Printable(method), platform.Printable(path), service)
}

// Rehearsal are the parts of platforms that record what they would change.
type Rehearsal struct {
	// Log has the requests.
	Log *Log
	// Infrastructures and MachineClasses are the parts.
	Infrastructures platform.Registry[platform.Infrastructure]
	MachineClasses  platform.Registry[platform.MachineClasses]
	// Close ends the sessions of the parts.
	Close func()
}
