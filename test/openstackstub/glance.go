// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package openstackstub

import (
	"net/http"
	"slices"
	"strings"
)

type image struct {
	ID              string   `json:"id"`
	Name            string   `json:"name"`
	Status          string   `json:"status"`
	Visibility      string   `json:"visibility"`
	DiskFormat      string   `json:"disk_format"`
	ContainerFormat string   `json:"container_format"`
	Size            int      `json:"size"`
	MinDisk         int      `json:"min_disk"`
	MinRAM          int      `json:"min_ram"`
	Tags            []string `json:"tags"`
	CreatedAt       string   `json:"created_at"`
	UpdatedAt       string   `json:"updated_at"`
	Self            string   `json:"self"`
	Schema          string   `json:"schema"`
}

func newImage(name string) image {
	id := fixedID("image " + name)
	return image{
		ID: id, Name: name, Status: "active", Visibility: "public", DiskFormat: "raw", ContainerFormat: "bare", Size: 1024, Tags: []string{},
		CreatedAt: "2026-01-01T00:00:00Z", UpdatedAt: "2026-01-01T00:00:00Z", Self: "/v2/images/" + id, Schema: "/v2/schemas/image",
	}
}

func (s *Stub) glance() http.Handler {
	mux := http.NewServeMux()
	versions(mux, http.StatusMultipleChoices, func() []version { return []version{s.versionOf("glance", "v2.15", "/v2/")} })
	s.handle(mux, "GET /v2/images", func(p *project, r *http.Request) answer {
		query := r.URL.Query()
		found := slices.DeleteFunc(slices.Clone(p.images), func(i image) bool {
			name, id := query.Get("name"), query.Get("id")
			return name != "" && i.Name != name || id != "" && !slices.Contains(strings.Split(strings.TrimPrefix(id, "in:"), ","), i.ID)
		})
		return encoded(http.StatusOK, struct {
			Images []image `json:"images"`
			Schema string  `json:"schema"`
			First  string  `json:"first"`
		}{found, "/v2/schemas/images", "/v2/images"})
	})
	s.handle(mux, "GET /v2/images/{id}", func(p *project, r *http.Request) answer {
		i := slices.IndexFunc(p.images, func(i image) bool { return i.ID == r.PathValue("id") })
		if i < 0 {
			return notFound(r)
		}
		return encoded(http.StatusOK, p.images[i])
	})
	return mux
}
