// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package openstackstub

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

type errUnknownFilter string

func (e errUnknownFilter) Error() string {
	return fmt.Sprintf("the stub does not filter by %q", string(e))
}

// common is what all objects of Neutron have.
type common struct {
	ID          string   `json:"id"`
	Name        string   `json:"name"`
	Description string   `json:"description"`
	TenantID    string   `json:"tenant_id"`
	ProjectID   string   `json:"project_id"`
	Tags        []string `json:"tags"`
	CreatedAt   string   `json:"created_at"`
	UpdatedAt   string   `json:"updated_at"`
	Revision    int      `json:"revision_number"`
}

// base returns what all objects have.
func (c *common) base() *common {
	return c
}

// object is an object of Neutron.
type object interface {
	base() *common
	// field returns the values of a field that only objects of this kind can be filtered by, and whether there is such a field.
	field(name string) ([]string, bool)
}

// collection holds the objects of one kind.
type collection[T object] struct {
	objects []T
}

// add adds the object, with an ID if it has none.
func (c *collection[T]) add(o T, projectID string) {
	base, now := o.base(), timestamp(time.Now())
	base.ID, base.TenantID, base.ProjectID, base.CreatedAt, base.UpdatedAt, base.Tags = cmp.Or(base.ID,
		newID()), projectID, projectID, now, now, []string{}
	c.objects = append(c.objects, o)
}

// get returns the object with the ID, and nil if there is none.
func (c *collection[T]) get(id string) (found T) {
	if i := slices.IndexFunc(c.objects, func(o T) bool { return o.base().ID == id }); i >= 0 {
		return c.objects[i]
	}
	return found
}

func (c *collection[T]) has(id string) bool {
	return slices.ContainsFunc(c.objects, func(o T) bool { return o.base().ID == id })
}

func (c *collection[T]) remove(id string) {
	c.objects = slices.DeleteFunc(c.objects, func(o T) bool { return o.base().ID == id })
}

// list returns the objects that have one of the wanted values in each field.
func (c *collection[T]) list(query url.Values) ([]T, error) {
	result := []T{}
	for _, o := range c.objects {
		matches, err := matchesAll(o, query)
		if err != nil {
			return nil, err
		}
		if matches {
			result = append(result, o)
		}
	}
	return result, nil
}

func matchesAll(o object, query url.Values) (bool, error) {
	for key, wanted := range query {
		values, known := fieldOf(o, key)
		if !known {
			return false, errUnknownFilter(key)
		}
		if !slices.ContainsFunc(values, func(value string) bool { return slices.Contains(wanted, value) }) {
			return false, nil
		}
	}
	return true, nil
}

func fieldOf(o object, name string) ([]string, bool) {
	base := o.base()
	switch name {
	case "id":
		return []string{base.ID}, true
	case "name":
		return []string{base.Name}, true
	case "description":
		return []string{base.Description}, true
	case "project_id", "tenant_id":
		return []string{base.ProjectID}, true
	case "tags":
		return []string{strings.Join(base.Tags, ",")}, true
	default:
		return o.field(name)
	}
}

// kind says how the objects of a collection are read, tagged and deleted.
type kind[T object] struct {
	singular, path string
	of             func(*project) *collection[T]
}

// serve registers what all kinds of objects have.
func serve[T object](s *Stub, mux *http.ServeMux, k kind[T]) {
	plural := strings.ReplaceAll(k.path, "-", "_")
	s.handle(mux, "GET /v2.0/"+k.path, func(p *project, r *http.Request) answer {
		found, err := k.of(p).list(r.URL.Query())
		if err != nil {
			return badRequest("%v", err)
		}
		return encoded(http.StatusOK, named(plural, found))
	})
	s.handle(mux, "GET /v2.0/"+k.path+"/{id}", func(p *project, r *http.Request) answer {
		if !k.of(p).has(r.PathValue("id")) {
			return notFoundNeutron(r)
		}
		return encoded(http.StatusOK, named(k.singular, k.of(p).get(r.PathValue("id"))))
	})
	s.handle(mux, "DELETE /v2.0/"+k.path+"/{id}", func(p *project, r *http.Request) answer {
		if !k.of(p).has(r.PathValue("id")) {
			return notFoundNeutron(r)
		}
		k.of(p).remove(r.PathValue("id"))
		return answer{status: http.StatusNoContent}
	})
	s.handle(mux, "PUT /v2.0/"+k.path+"/{id}/tags", func(p *project, r *http.Request) answer {
		if !k.of(p).has(r.PathValue("id")) {
			return notFoundNeutron(r)
		}
		base := k.of(p).get(r.PathValue("id")).base()
		if err := decode(r, "tags", &base.Tags); err != nil {
			return badRequest("%v", err)
		}
		return encoded(http.StatusOK, named("tags", base.Tags))
	})
}
