// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package openstackstub

import (
	"cmp"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"time"
)

// maxPage is how many servers Nova returns at once if it is not told otherwise.
const maxPage = 1000

type serverRequest struct {
	Name             string            `json:"name"`
	Flavor           string            `json:"flavorRef"`
	Image            string            `json:"imageRef"`
	AvailabilityZone string            `json:"availability_zone"`
	KeyName          string            `json:"key_name"`
	Metadata         map[string]string `json:"metadata"`
	Networks         []struct {
		Port string `json:"port"`
	} `json:"networks"`
}

type createdServer struct {
	ID             string      `json:"id"`
	Links          []link      `json:"links"`
	DiskConfig     string      `json:"OS-DCF:diskConfig"`
	SecurityGroups []reference `json:"security_groups"`
	AdminPass      string      `json:"adminPass"`
}

// serverPage is a page of a list, with a link to the next page if there may be one.
type serverPage[T any] struct {
	Servers []T    `json:"servers"`
	Links   []link `json:"servers_links,omitempty"`
}

func (s *Stub) serveServers(mux *http.ServeMux) {
	s.handle(mux, "GET /v2.1/servers", func(p *project, r *http.Request) answer {
		return listServers(s.url("nova"), p, r, func(server *server, _ time.Time) serverSummary { return server.summary(s.url("nova")) })
	})
	s.handle(mux, "GET /v2.1/servers/detail", func(p *project, r *http.Request) answer {
		return listServers(s.url("nova"), p, r, func(server *server, now time.Time) serverDetail { return server.detail(s.url("nova"), p, now) })
	})
	s.handle(mux, "GET /v2.1/servers/{id}", func(p *project, r *http.Request) answer {
		found := p.server(r.PathValue("id"))
		if found == nil {
			return notFound(r)
		}
		return encoded(http.StatusOK, named("server", found.detail(s.url("nova"), p, time.Now())))
	})
	s.handle(mux, "POST /v2.1/servers", s.createServer)
	s.handle(mux, "DELETE /v2.1/servers/{id}", func(p *project, r *http.Request) answer {
		found := p.server(r.PathValue("id"))
		if found == nil {
			return notFound(r)
		}
		found.deleted = time.Now()
		if port := p.ports.get(found.portID); port != nil {
			port.DeviceID, port.DeviceOwner = "", ""
		}
		return answer{status: http.StatusNoContent}
	})
}

// server returns the server with the ID unless it is deleted.
func (p *project) server(id string) *server {
	i := slices.IndexFunc(p.servers, func(s *server) bool { return s.id == id && s.deleted.IsZero() })
	if i < 0 {
		return nil
	}
	return p.servers[i]
}

func (s *Stub) createServer(p *project, r *http.Request) answer {
	var request serverRequest
	if err := decode(r, "server", &request); err != nil {
		return badRequest("%v", err)
	}
	if len(request.Networks) != 1 {
		return badRequest("the stub has servers with one port, not with %d", len(request.Networks))
	}
	port := p.ports.get(request.Networks[0].Port)
	if port == nil || port.DeviceID != "" {
		return badRequest("port %q is not free", request.Networks[0].Port)
	}
	created := &server{
		id: newID(), name: request.Name, flavor: request.Flavor, image: request.Image, zone: request.AvailabilityZone,
		keyName: request.KeyName, metadata: request.Metadata, portID: port.ID, created: time.Now(), bootDelay: p.bootDelay,
	}
	for _, ip := range port.FixedIPs {
		created.addresses = append(created.addresses, address{Version: 4, Address: ip.Address, Type: "fixed", MAC: port.MAC})
	}
	port.DeviceID, port.DeviceOwner = created.id, "compute:"+created.zone
	p.servers = append(p.servers, created)
	return encoded(http.StatusAccepted, named("server", createdServer{
		ID: created.id, Links: linksOf(s.url("nova"), "servers", created.id), DiskConfig: "MANUAL", AdminPass: newID(),
		SecurityGroups: []reference{{Name: "default"}},
	}))
}

// listServers filters, sorts by age and cuts a page as Nova does.
func listServers[T any](base string, p *project, r *http.Request, show func(*server, time.Time) T) answer {
	now := time.Now()
	query := r.URL.Query()
	matches, err := serverFilter(query, now)
	if err != nil {
		return badRequest("%v", err)
	}
	found := slices.DeleteFunc(slices.Clone(p.servers), func(s *server) bool { return !matches(s) })
	slices.SortStableFunc(found, func(a, b *server) int { return cmp.Or(b.created.Compare(a.created), cmp.Compare(b.id, a.id)) })

	if marker := query.Get("marker"); marker != "" {
		i := slices.IndexFunc(found, func(s *server) bool { return s.id == marker })
		if i < 0 {
			return badRequest("marker [%s] not found", marker)
		}
		found = found[i+1:]
	}
	limit, _ := strconv.Atoi(query.Get("limit"))
	limit = min(cmp.Or(limit, maxPage), maxPage)

	page := serverPage[T]{Servers: []T{}}
	for _, server := range found[:min(limit, len(found))] {
		page.Servers = append(page.Servers, show(server, now))
	}
	if len(page.Servers) == limit {
		query.Set("marker", found[limit-1].id)
		page.Links = []link{{Rel: "next", Href: base + r.URL.Path + "?" + query.Encode()}}
	}
	return encoded(http.StatusOK, page)
}

// serverFilter understands a regular expression for the name, and since when servers changed. Deleted servers are shown only
// as a change.
func serverFilter(query url.Values, now time.Time) (func(*server) bool, error) {
	for key := range query {
		if !slices.Contains([]string{"name", "changes-since", "status", "limit", "marker"}, key) {
			return nil, errUnknownFilter(key)
		}
	}
	name, err := regexp.Compile(query.Get("name"))
	if err != nil {
		return nil, err
	}
	var since time.Time
	if value := query.Get("changes-since"); value != "" {
		if since, err = time.Parse(time.RFC3339, value); err != nil {
			return nil, err
		}
	}
	status := query.Get("status")
	return func(s *server) bool {
		switch {
		case !name.MatchString(s.name), status != "" && s.status(now) != status:
			return false
		case since.IsZero():
			return s.deleted.IsZero()
		default:
			return !s.updated(now).Truncate(time.Second).Before(since)
		}
	}, nil
}

// Active returns the first address of each active server of a project by its ID.
func (s *Stub) Active(projectName string) map[string]string {
	s.mutex.Lock()
	p := s.projects[projectName]
	s.mutex.Unlock()
	result := map[string]string{}
	if p == nil {
		return result
	}
	p.mutex.Lock()
	defer p.mutex.Unlock()
	now := time.Now()
	for _, server := range p.servers {
		if server.status(now) == "ACTIVE" && len(server.addresses) > 0 {
			result[server.id] = server.addresses[0].Address
		}
	}
	return result
}
