// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package machines

import (
	"context"
	"maps"
	"sync"
	"time"

	"github.com/gophercloud/gophercloud/v2"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/client"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/owner"
)

// maxAge is the maximum age of a snapshot for a query.
type maxAge time.Duration

const (
	// statusAge is for the status of a machine: one list serves all machines that are queried within it.
	statusAge = maxAge(5 * time.Second)
	// goneAge is for waiting until a server is gone.
	goneAge = maxAge(300 * time.Millisecond)
	// hostAge is for waiting until a server is scheduled.
	hostAge = maxAge(300 * time.Millisecond)
	// listAge is for listing all machines, which is requested once per machine class.
	listAge = maxAge(15 * time.Second)
	// overlap is how far back changes are queried again, because a change can become visible later than its timestamp.
	overlap = 10 * time.Second
	// fullAge is how often the IDs of all servers are listed in addition to changes.
	fullAge = 5 * time.Minute
	// fullAgeBuilding replaces fullAge while servers are being built: one that disappears before it is scheduled is not reported as a change.
	fullAgeBuilding = 30 * time.Second
	// maxReads is up to how many servers are read individually.
	maxReads = 10
)

// snapshot is the list of the servers of one shoot on one site, shared by all calls.
type snapshot struct {
	compute *gophercloud.ServiceClient
	owner   owner.Owner
	now     func() time.Time
	group   platform.Shared[view]
	// names are the machine names of servers that do not record them, by server ID.
	names sync.Map

	// since, listed and notOwned are used only by refresh, which runs once at a time. notOwned has the IDs of servers that merely have a
	// similar name.
	since    time.Time
	listed   time.Time
	notOwned map[string]bool
	// latest holds the newest view, or nothing while it is being replaced.
	latest chan versioned
}

type versioned struct {
	view view
	at   time.Time
}

// view maps IDs to servers. It is immutable.
type view map[string]*server

func (v view) byID(id string) *server {
	return v[id]
}

// byName returns the best server of the machine with the name.
func (v view) byName(name string) *server {
	var best *server
	for _, s := range v {
		if s.machineName() == name && !s.gone() && (best == nil || better(s, best) < 0) {
			best = s
		}
	}
	return best
}

// othersOnPort returns the IDs of other servers with the port that this server was created with or, if its port is unknown, with its name.
func (v view) othersOnPort(s *server) []string {
	port := s.Metadata[owner.MetadataPort]
	var ids []string
	for id, other := range v {
		if id != s.ID && !other.gone() &&
			(port != "" && other.Metadata[owner.MetadataPort] == port || port == "" && other.machineName() == s.machineName()) {
			ids = append(ids, id)
		}
	}
	return ids
}

// usesPort reports whether a server was created with the port.
func (v view) usesPort(port string) bool {
	for _, s := range v {
		if !s.gone() && s.Metadata[owner.MetadataPort] == port {
			return true
		}
	}
	return false
}

func (v view) building() bool {
	for _, s := range v {
		if s.Status == statusBuild {
			return true
		}
	}
	return false
}

type snapshotKey owner.Owner

func snapshotOf(session *client.Session, compute *gophercloud.ServiceClient, o owner.Owner) *snapshot {
	return session.Value(snapshotKey(o), func() any { return newSnapshot(compute, o, time.Now) }).(*snapshot)
}

func newSnapshot(compute *gophercloud.ServiceClient, o owner.Owner, now func() time.Time) *snapshot {
	s := &snapshot{compute: compute, owner: o, now: now, notOwned: map[string]bool{}, latest: make(chan versioned, 1)}
	s.latest <- versioned{}
	return s
}

// get returns a view that is not older than age. Concurrent calls share one refresh.
func (s *snapshot) get(ctx context.Context, age maxAge) (view, error) {
	current := <-s.latest
	s.latest <- current
	if !current.at.IsZero() && s.now().Sub(current.at) <= time.Duration(age) {
		return current.view, nil
	}
	return s.group.Do(ctx, "", s.refresh)
}

// add adds a server that was just created.
func (s *snapshot) add(created *server) {
	s.change(func(v view) { v[created.ID] = created })
}

// forget removes a server whose absence was confirmed by the API.
func (s *snapshot) forget(id string) {
	s.change(func(v view) { delete(v, id) })
}

func (s *snapshot) change(change func(view)) {
	current := <-s.latest
	next := view{}
	maps.Copy(next, current.view)
	change(next)
	s.latest <- versioned{view: next, at: current.at}
}

// refresh lists what changed since the last response, and periodically the IDs of all servers. It runs once at a time.
func (s *snapshot) refresh(ctx context.Context) (view, error) {
	options := ofShoot(s.owner.Shoot)
	start := s.now()
	current := <-s.latest
	s.latest <- current
	first := s.since.IsZero()
	if !first {
		options.ChangesSince = s.since.Format(time.RFC3339)
	}
	found, asked, err := listServers(ctx, s.compute, options)
	if err != nil {
		return nil, err
	}

	next := view{}
	if !first {
		maps.Copy(next, current.view)
	}
	s.apply(next, found)
	age := fullAge
	if current.view.building() {
		age = fullAgeBuilding
	}
	switch {
	case first:
		s.listed = start
	case start.Sub(s.listed) > age:
		if err := s.compare(ctx, next); err != nil {
			return nil, err
		}
		s.listed = start
	}
	if !asked.IsZero() {
		s.since = asked.Add(-overlap)
	}
	latest := <-s.latest
	applyPending(current.view, latest.view, next)
	s.latest <- versioned{view: next, at: start}
	return next, nil
}

// apply updates a view with servers reported by the API.
func (s *snapshot) apply(v view, found []server) {
	for i := range found {
		switch shown := &found[i]; {
		case shown.Status == statusDeleted:
			delete(v, shown.ID)
		case s.owner.OwnsServer(shown.Metadata):
			v[shown.ID] = shown
		default:
			s.notOwned[shown.ID] = true
		}
	}
}

// compare aligns a view with the list of all IDs. That list does not show who owns a server, so unknown servers are read. So are servers of
// the view that are not in the list: they may have been renamed.
func (s *snapshot) compare(ctx context.Context, v view) error {
	ids, err := listIDs(ctx, s.compute, ofShoot(s.owner.Shoot))
	if err != nil {
		return err
	}
	existing := make(map[string]bool, len(ids))
	var unknown []string
	for _, id := range ids {
		existing[id] = true
		if v[id] == nil && !s.notOwned[id] {
			unknown = append(unknown, id)
		}
	}
	var missing []string
	for id := range v {
		if !existing[id] {
			missing = append(missing, id)
		}
	}
	maps.DeleteFunc(v, func(id string, _ *server) bool { return !existing[id] })
	for _, id := range missing[:min(len(missing), maxReads)] {
		// An error says nothing about the others, and a server that is missing in the view is read by its ID.
		if shown, err := getServer(ctx, s.compute, id); err == nil {
			s.apply(v, []server{*shown})
		}
	}
	maps.DeleteFunc(s.notOwned, func(id string, _ bool) bool { return !existing[id] })

	if len(unknown) > maxReads {
		found, _, err := listServers(ctx, s.compute, ofShoot(s.owner.Shoot))
		s.apply(v, found)
		return err
	}
	for _, id := range unknown {
		shown, err := getServer(ctx, s.compute, id)
		switch {
		case client.IsNotFound(err):
		case err != nil:
			return err
		default:
			s.apply(v, []server{*shown})
		}
	}
	return nil
}

// applyPending applies what was added to and removed from the latest view during a refresh, which the response may not reflect yet.
func applyPending(before, after, into view) {
	for id, added := range after {
		if before[id] == nil && into[id] == nil {
			into[id] = added
		}
	}
	for id := range before {
		if after[id] == nil {
			delete(into, id)
		}
	}
}
