// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package openstackstub

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
)

// zoneCount is the number of availability zones: az1, az2 and so on.
const zoneCount = 3

type flavor struct {
	ID       string `json:"id"`
	Name     string `json:"name"`
	RAM      int    `json:"ram"`
	Disk     int    `json:"disk"`
	VCPUs    int    `json:"vcpus"`
	IsPublic bool   `json:"os-flavor-access:is_public"`
}

func newFlavor(name string) flavor {
	return flavor{ID: fixedID("flavor " + name), Name: name, RAM: 2048, Disk: 20, VCPUs: 1, IsPublic: true}
}

type keyPair struct {
	Name        string `json:"name"`
	PublicKey   string `json:"public_key"`
	Fingerprint string `json:"fingerprint"`
}

type serverGroup struct {
	ID      string   `json:"id"`
	Name    string   `json:"name"`
	Policy  string   `json:"policy"`
	Members []string `json:"members"`
}

type availabilityZone struct {
	Name  string `json:"zoneName"`
	State struct {
		Available bool `json:"available"`
	} `json:"zoneState"`
}

type limits struct {
	Rate     []string       `json:"rate"`
	Absolute map[string]int `json:"absolute"`
}

func (s *Stub) nova() http.Handler {
	mux := http.NewServeMux()
	current := func() version {
		v := s.versionOf("nova", "v2.1", "/v2.1/")
		v.Version, v.MinVersion = "2.93", "2.1"
		return v
	}
	versions(mux, http.StatusOK, func() []version { return []version{current()} })
	mux.HandleFunc("GET /v2.1/{$}", func(w http.ResponseWriter, _ *http.Request) {
		encoded(http.StatusOK, named("version", current())).write(w)
	})
	s.handle(mux, "GET /v2.1/flavors/detail", func(p *project, _ *http.Request) answer {
		return encoded(http.StatusOK, named("flavors", p.flavors))
	})
	s.handle(mux, "GET /v2.1/limits", func(p *project, _ *http.Request) answer {
		return encoded(http.StatusOK, named("limits", limits{Rate: []string{}, Absolute: map[string]int{
			"maxTotalInstances": 10000, "maxTotalCores": 100000, "maxTotalRAMSize": 100000000, "maxServerGroups": 1000,
			"maxTotalKeypairs":   1000,
			"totalInstancesUsed": len(p.servers), "totalCoresUsed": len(p.servers), "totalRAMUsed": len(p.servers) * 2048,
		}}))
	})
	s.handle(mux, "GET /v2.1/os-availability-zone", func(*project, *http.Request) answer {
		zones := make([]availabilityZone, 0, zoneCount)
		for i := range zoneCount {
			zone := availabilityZone{Name: fmt.Sprintf("az%d", i+1)}
			zone.State.Available = true
			zones = append(zones, zone)
		}
		return encoded(http.StatusOK, named("availabilityZoneInfo", zones))
	})
	s.serveKeyPairs(mux)
	s.serveServerGroups(mux)
	s.serveServers(mux)
	return mux
}

func (s *Stub) serveKeyPairs(mux *http.ServeMux) {
	s.handle(mux, "GET /v2.1/os-keypairs/{name}", func(p *project, r *http.Request) answer {
		pair, ok := p.keyPairs[r.PathValue("name")]
		if !ok {
			return notFound(r)
		}
		return encoded(http.StatusOK, named("keypair", pair))
	})
	s.handle(mux, "GET /v2.1/os-keypairs", func(p *project, _ *http.Request) answer {
		pairs := []map[string]keyPair{}
		for _, name := range slices.Sorted(maps.Keys(p.keyPairs)) {
			pairs = append(pairs, map[string]keyPair{"keypair": p.keyPairs[name]})
		}
		return encoded(http.StatusOK, named("keypairs", pairs))
	})
	s.handle(mux, "POST /v2.1/os-keypairs", func(p *project, r *http.Request) answer {
		var pair keyPair
		if err := decode(r, "keypair", &pair); err != nil {
			return badRequest("%v", err)
		}
		if _, ok := p.keyPairs[pair.Name]; ok {
			message := fmt.Sprintf("Key pair '%s' already exists.", pair.Name)
			return encoded(http.StatusConflict, named("conflictingRequest", failure{Code: http.StatusConflict, Message: message}))
		}
		pair.Fingerprint = macOf(pair.PublicKey)
		p.keyPairs[pair.Name] = pair
		return encoded(http.StatusOK, named("keypair", pair))
	})
}

func (s *Stub) serveServerGroups(mux *http.ServeMux) {
	s.handle(mux, "GET /v2.1/os-server-groups", func(p *project, r *http.Request) answer {
		offset, _ := strconv.Atoi(r.URL.Query().Get("offset"))
		limit, _ := strconv.Atoi(r.URL.Query().Get("limit"))
		from := min(offset, len(p.serverGroups))
		page := p.serverGroups[from:min(from+cmp.Or(limit, maxPage), len(p.serverGroups))]
		return encoded(http.StatusOK, named("server_groups", slices.Concat([]serverGroup{}, page)))
	})
	s.handle(mux, "POST /v2.1/os-server-groups", func(p *project, r *http.Request) answer {
		group := serverGroup{ID: newID(), Members: []string{}}
		if err := decode(r, "server_group", &group); err != nil {
			return badRequest("%v", err)
		}
		p.serverGroups = append(p.serverGroups, group)
		return encoded(http.StatusOK, named("server_group", group))
	})
	s.handle(mux, "DELETE /v2.1/os-server-groups/{id}", func(p *project, r *http.Request) answer {
		p.serverGroups = slices.DeleteFunc(p.serverGroups, func(g serverGroup) bool { return g.ID == r.PathValue("id") })
		return answer{status: http.StatusNoContent}
	})
}
