// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package openstackstub

import (
	"encoding/json"
	"net/http"
	"time"
)

const tokenLifetime = 24 * time.Hour

type tokenRequest struct {
	Auth struct {
		Identity struct {
			Password struct {
				User struct {
					Name     string `json:"name"`
					Password string `json:"password"`
				} `json:"user"`
			} `json:"password"`
		} `json:"identity"`
		Scope struct {
			Project struct {
				Name string `json:"name"`
			} `json:"project"`
		} `json:"scope"`
	} `json:"auth"`
}

type token struct {
	Methods   []string   `json:"methods"`
	User      identity   `json:"user"`
	IssuedAt  string     `json:"issued_at"`
	ExpiresAt string     `json:"expires_at"`
	Project   identity   `json:"project"`
	Roles     []identity `json:"roles"`
	Catalog   []service  `json:"catalog"`
}

// identity is an object of the identity API by ID and name.
type identity struct {
	ID     string    `json:"id"`
	Name   string    `json:"name"`
	Domain *identity `json:"domain,omitempty"`
}

type service struct {
	ID        string     `json:"id"`
	Name      string     `json:"name"`
	Type      string     `json:"type"`
	Endpoints []endpoint `json:"endpoints"`
}

type endpoint struct {
	ID        string `json:"id"`
	Interface string `json:"interface"`
	Region    string `json:"region"`
	RegionID  string `json:"region_id"`
	URL       string `json:"url"`
}

// keystone gives everyone who has a password a token for the project that is asked for.
func (s *Stub) keystone() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v3/auth/tokens", func(w http.ResponseWriter, r *http.Request) {
		request := &tokenRequest{}
		if err := json.NewDecoder(r.Body).Decode(request); err != nil {
			badRequest("%v", err).write(w)
			return
		}
		user, scope := request.Auth.Identity.Password.User, request.Auth.Scope.Project.Name
		if user.Password == "" || scope == "" {
			unauthorized.write(w)
			return
		}
		p, id := s.login(scope)
		result := encoded(http.StatusCreated, named("token", s.token(p, user.Name)))
		result.header = http.Header{"X-Subject-Token": {id}}
		result.write(w)
	})
	return mux
}

func (s *Stub) token(p *project, user string) token {
	domain := &identity{ID: "default", Name: "Default"}
	now := time.Now()
	return token{
		Methods:   []string{"password"},
		User:      identity{ID: fixedID("user " + user), Name: user, Domain: domain},
		IssuedAt:  now.UTC().Format("2006-01-02T15:04:05.000000Z"),
		ExpiresAt: now.Add(tokenLifetime).UTC().Format("2006-01-02T15:04:05.000000Z"),
		Project:   identity{ID: p.id, Name: p.name, Domain: domain},
		Roles:     []identity{{ID: fixedID("member"), Name: "member"}, {ID: fixedID("load-balancer_member"), Name: "load-balancer_member"}},
		Catalog: []service{
			s.service("keystone", "identity", "/v3"),
			s.service("nova", "compute", "/v2.1"),
			s.service("neutron", "network", ""),
			s.service("glance", "image", ""),
		},
	}
}

func (s *Stub) service(name, kind, path string) service {
	result := service{ID: fixedID(name), Name: name, Type: kind, Endpoints: []endpoint{{
		ID: fixedID(name + " public"), Interface: "public", Region: Region, RegionID: Region, URL: s.url(name) + path,
	}}}
	if other := s.settings.Other; other != nil {
		result.Endpoints = append(result.Endpoints, endpoint{
			ID: fixedID(name + " other"), Interface: "public", Region: OtherRegion, RegionID: OtherRegion, URL: other.url(name) + path,
		})
	}
	return result
}
