// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package openstackstub

import (
	"net/http"
)

// version is an entry of a service's version document.
type version struct {
	ID         string `json:"id"`
	Status     string `json:"status"`
	Version    string `json:"version,omitempty"`
	MinVersion string `json:"min_version,omitempty"`
	Links      []link `json:"links"`
}

func (s *Stub) versionOf(service, id, path string) version {
	return version{ID: id, Status: "CURRENT", Links: []link{{Rel: "self", Href: s.url(service) + path}}}
}

// versions serves the document with all versions of a service.
func versions(mux *http.ServeMux, status int, entries func() []version) {
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		encoded(status, named("versions", entries())).write(w)
	})
}
