// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package machines

import (
	"context"
	"maps"
	"net/http"
	"regexp"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"
	"github.com/gophercloud/gophercloud/v2/pagination"
	"golang.org/x/sync/singleflight"

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
	goneAge = maxAge(time.Second)
	// listAge is for the list of all machines, which is asked for once for each machine class.
	listAge = maxAge(15 * time.Second)
	// overlap is how far back changes are asked for again, because a change can become visible later than its time says.
	overlap = 10 * time.Second
	// fullAge is after how long everything is listed again, not only what changed.
	fullAge = 5 * time.Minute
	// fullAgeBuilding is the same while servers are being built: one that disappears before a host was found for it does not
	// count as a change.
	fullAgeBuilding = 30 * time.Second
)

// snapshot is the list of the servers of one shoot on one site that all calls share.
type snapshot struct {
	compute *gophercloud.ServiceClient
	owner   owner.Owner
	now     func() time.Time
	group   singleflight.Group

	// since and listed belong to the one refresh at a time.
	since  time.Time
	listed time.Time
	// latest holds the newest view, or nothing while somebody replaces it.
	latest chan versioned
}

type versioned struct {
	view view
	at   time.Time
}

// view are servers by ID. It never changes.
type view map[string]*servers.Server

func (v view) byID(id string) *servers.Server {
	return v[id]
}

func (v view) byName(name string) *servers.Server {
	for _, server := range v {
		if server.Name == name {
			return server
		}
	}
	return nil
}

func (v view) building() bool {
	for _, server := range v {
		if server.Status == statusBuild {
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
	s := &snapshot{compute: compute, owner: o, now: now, latest: make(chan versioned, 1)}
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

	results := s.group.DoChan("", func() (any, error) { return s.refresh(context.WithoutCancel(ctx)) })
	select {
	case result := <-results:
		if result.Err != nil {
			return nil, result.Err
		}
		return result.Val.(view), nil
	case <-ctx.Done():
		return nil, client.Classify(ctx.Err())
	}
}

// add adds a server that was just created.
func (s *snapshot) add(server *servers.Server) {
	s.change(func(v view) { v[server.ID] = server })
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

// refresh asks for what changed since the last answer, and for everything now and then. It runs once at a time.
func (s *snapshot) refresh(ctx context.Context) (view, error) {
	options := servers.ListOpts{Name: "^" + regexp.QuoteMeta(s.owner.Shoot) + "-"}
	start := s.now()
	current := <-s.latest
	s.latest <- current
	age := fullAge
	if current.view.building() {
		age = fullAgeBuilding
	}
	full := start.Sub(s.listed) > age || s.since.IsZero()
	if !full {
		options.ChangesSince = s.since.Format(time.RFC3339)
	}

	found, asked, err := listServersAt(ctx, s.compute, options)
	if err != nil {
		return nil, err
	}

	next := view{}
	if full {
		s.listed = start
	} else {
		maps.Copy(next, current.view)
	}
	for i := range found {
		server := &found[i]
		switch {
		case gone(server):
			delete(next, server.ID)
		case s.owner.OwnsServer(server.Metadata):
			next[server.ID] = server
		}
	}
	if !asked.IsZero() {
		s.since = asked.Add(-overlap)
	}
	latest := <-s.latest
	replay(current.view, latest.view, next)
	s.latest <- versioned{view: next, at: start}
	return next, nil
}

// replay does to a view what was added and forgotten between two others: the answer to a request need not know yet.
func replay(before, after, into view) {
	for id, server := range after {
		if before[id] == nil && into[id] == nil {
			into[id] = server
		}
	}
	for id := range before {
		if after[id] == nil {
			delete(into, id)
		}
	}
}

// gone reports whether a server of an answer to changes-since does not exist any more.
func gone(server *servers.Server) bool {
	return server.Status == "DELETED" || server.Status == "SOFT_DELETED"
}

func listServers(ctx context.Context, compute *gophercloud.ServiceClient, options servers.ListOpts) ([]servers.Server, error) {
	found, _, err := listServersAt(ctx, compute, options)
	return found, err
}

// listServersAt also returns when the request was made by the clock of the API; zero if the API did not say.
func listServersAt(ctx context.Context, compute *gophercloud.ServiceClient, options servers.ListOpts) (found []servers.Server, asked time.Time, err error) {
	err = servers.List(compute, options).EachPage(ctx, func(_ context.Context, page pagination.Page) (bool, error) {
		if p, ok := page.(servers.ServerPage); ok && found == nil {
			if date, err := http.ParseTime(p.Header.Get("Date")); err == nil {
				asked = date
			}
		}
		extracted, err := servers.ExtractServers(page)
		found = append(found, extracted...)
		return true, err
	})
	if client.IsNotFound(err) {
		// What is not found is the API, which says nothing about a server.
		return nil, asked, platform.NewError(platform.ClassTransient, "servers cannot be listed: %w", err)
	}
	return found, asked, client.Classify(err)
}
