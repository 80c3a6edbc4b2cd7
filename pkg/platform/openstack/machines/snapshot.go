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

// maxAge is how old a snapshot may be for a question.
type maxAge time.Duration

const (
	// statusAge is for the status of a machine: one list serves all machines that are asked for within it.
	statusAge = maxAge(5 * time.Second)
	// goneAge is for waiting until a server is gone.
	goneAge = maxAge(300 * time.Millisecond)
	// hostAge is for waiting until a host is found for a server.
	hostAge = maxAge(300 * time.Millisecond)
	// listAge is for the list of all machines, which is asked for once for each machine class.
	listAge = maxAge(15 * time.Second)
	// overlap is how far back changes are asked for again, because a change can become visible later than its time says.
	overlap = 10 * time.Second
	// fullAge is after how long the IDs of all servers are listed, not only what changed.
	fullAge = 5 * time.Minute
	// fullAgeBuilding is the same while servers are being built: one that disappears before a host was found for it does not
	// count as a change.
	fullAgeBuilding = 30 * time.Second
	// maxReads is up to how many servers are read one by one.
	maxReads = 10
)

// snapshot is the list of the servers of one shoot on one site that all calls share.
type snapshot struct {
	compute *gophercloud.ServiceClient
	owner   owner.Owner
	now     func() time.Time
	group   platform.Shared[view]
	// names are those of machines whose servers do not tell them, by the IDs of the servers.
	names sync.Map

	// since, listed and foreign belong to the one refresh at a time. The latter are IDs of servers that only have a similar
	// name.
	since   time.Time
	listed  time.Time
	foreign map[string]bool
	// latest holds the newest view, or nothing while somebody replaces it.
	latest chan versioned
}

type versioned struct {
	view view
	at   time.Time
}

// view are servers by ID. It never changes.
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

// sharers returns the IDs of the other servers that have the port that this one was made with or, if none is known of it, its name.
func (v view) sharers(s *server) []string {
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

// expects reports whether a server was made with the port.
func (v view) expects(port string) bool {
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
	s := &snapshot{compute: compute, owner: o, now: now, foreign: map[string]bool{}, latest: make(chan versioned, 1)}
	s.latest <- versioned{}
	return s
}

// get returns a view that is not older than age. Calls that come during a request share its answer.
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

// forget removes a server of which the API said that it does not exist.
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

// refresh asks for what changed since the last answer, and now and then for the IDs of all. It runs once at a time.
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
	replay(current.view, latest.view, next)
	s.latest <- versioned{view: next, at: start}
	return next, nil
}

// apply changes a view to what the API shows of servers.
func (s *snapshot) apply(v view, found []server) {
	for i := range found {
		switch shown := &found[i]; {
		case shown.Status == statusDeleted:
			delete(v, shown.ID)
		case s.owner.OwnsServer(shown.Metadata):
			v[shown.ID] = shown
		default:
			s.foreign[shown.ID] = true
		}
	}
}

// compare makes a view have the same servers as the list of all IDs. That list does not say whose a server is: one that is not
// known is read. So is one of the view that is not in the list: somebody may have given it a name that does not begin like the others.
func (s *snapshot) compare(ctx context.Context, v view) error {
	ids, err := listIDs(ctx, s.compute, ofShoot(s.owner.Shoot))
	if err != nil {
		return err
	}
	existing := make(map[string]bool, len(ids))
	var unknown []string
	for _, id := range ids {
		existing[id] = true
		if v[id] == nil && !s.foreign[id] {
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
		// An error says nothing about the others, and a server that is not in the view is asked for by its ID.
		if shown, err := getServer(ctx, s.compute, id); err == nil {
			s.apply(v, []server{*shown})
		}
	}
	maps.DeleteFunc(s.foreign, func(id string, _ bool) bool { return !existing[id] })

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

// replay does to a view what was added and forgotten between two others: the answer to a request need not know yet.
func replay(before, after, into view) {
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
