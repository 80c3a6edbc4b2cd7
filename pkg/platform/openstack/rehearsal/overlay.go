// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package rehearsal

import (
	"encoding/json"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/rehearsal"
)

// overlay is the difference between the objects at the site and those that there would be.
type overlay map[*kind]*layer

// layer is the overlay of one kind. Its objects are never changed but replaced.
type layer struct {
	// objects are those that were read, as they are at the site, and those that do not exist there.
	objects map[string]resource
	// created are the IDs of the objects that do not exist at the site.
	created []string
	// changed are the changed fields of objects by ID.
	changed map[string]resource
	deleted map[string]bool
}

func newOverlay() overlay {
	o := overlay{}
	for _, kind := range kinds {
		o[kind] = &layer{objects: map[string]resource{}, changed: map[string]resource{}, deleted: map[string]bool{}}
	}
	return o
}

// see remembers an object of the site. It returns the object as it would be, nil if it is deleted or replaced.
func (o overlay) see(kind *kind, object resource) resource {
	l, id := o[kind], kind.idOf(object)
	if slices.Contains(l.created, id) {
		return nil
	}
	if len(l.objects) < rehearsal.MaxObjects {
		l.objects[id] = object
	}
	if l.deleted[id] {
		return nil
	}
	return o.view(kind, object)
}

// isGone reports whether the object was deleted or never existed.
func (o overlay) isGone(kind *kind, id string) bool {
	return o[kind].deleted[id] || rehearsal.IsMadeUp(id) && o[kind].objects[id] == nil
}

// current returns the object with the ID as it would be, nil if it is not known.
func (o overlay) current(kind *kind, id string) resource {
	if object := o[kind].objects[id]; object != nil {
		return o.view(kind, object)
	}
	return nil
}

// named returns the object with the ID, which has nothing but that if it is not known.
func (o overlay) named(kind *kind, id string) resource {
	return merged(resource{kind.id: encoded(id)}, o.current(kind, id))
}

func (o overlay) create(kind *kind, object resource) {
	l, id := o[kind], kind.idOf(object)
	l.created, l.objects[id] = append(l.created, id), object
	delete(l.deleted, id)
	delete(l.changed, id)
}

func (o overlay) change(kind *kind, id string, fields resource) {
	o[kind].changed[id] = merged(o[kind].changed[id], fields)
}

func (o overlay) delete(kind *kind, id string) {
	l := o[kind]
	l.created = slices.DeleteFunc(l.created, func(created string) bool { return created == id })
	l.deleted[id] = true
}

// merged returns a copy of the object with the fields.
func merged(object, fields resource) resource {
	result := resource{}
	maps.Copy(result, object)
	maps.Copy(result, fields)
	return result
}

// view returns the object as it would be.
func (o overlay) view(kind *kind, object resource) resource {
	result := merged(object, o[kind].changed[kind.idOf(object)])
	switch kind {
	case portKind:
		if o[serverKind].deleted[result.text("device_id")] {
			// Nova returns the ports that it has not created.
			result["device_id"], result["device_owner"] = encoded(""), encoded("")
		}
	case securityGroupKind:
		result["security_group_rules"] = o.rulesOf(result)
	}
	return result
}

// rulesOf returns the rules of the security group as they would be.
func (o overlay) rulesOf(group resource) json.RawMessage {
	var existing []resource
	_ = json.Unmarshal(group["security_group_rules"], &existing)
	result := []resource{}
	for _, rule := range existing {
		if rule := o.see(ruleKind, rule); rule != nil {
			result = append(result, rule)
		}
	}
	for _, id := range o[ruleKind].created {
		if rule := o[ruleKind].objects[id]; rule.text("security_group_id") == securityGroupKind.idOf(group) {
			result = append(result, rule)
		}
	}
	return encoded(result)
}

const (
	fixedIPs      = "fixed_ips"
	fixedIPSubnet = "subnet_id="
)

// unfiltered are the parameters of lists that do not filter, or match all objects of the project.
var unfiltered = []string{"limit", "offset", "fields", "sort_key", "sort_dir", "project_id", "tenant_id"}

// matching returns the objects that do not exist at the site and match the query.
func (o overlay) matching(kind *kind, query url.Values) ([]resource, error) {
	found := []resource{}
	for _, id := range o[kind].created {
		object := o.current(kind, id)
		matches, err := matchesAll(object, query)
		if err != nil {
			return nil, platform.NewError(platform.ClassConfiguration, "the plan cannot list the objects of kind %s: %w", kind.name, err)
		}
		if matches {
			found = append(found, object)
		}
	}
	return found, nil
}

func matchesAll(object resource, query url.Values) (bool, error) {
	for key, values := range query {
		if slices.Contains(unfiltered, key) {
			continue
		}
		field, known := object[key]
		switch {
		case key == fixedIPs:
			if !hasAddress(field, values) {
				return false, nil
			}
		case !known:
			return false, platform.NewError(platform.ClassConfiguration, "unknown filter %q", key)
		case !slices.Contains(values, object.shown(key)):
			return false, nil
		}
	}
	return true, nil
}

// hasAddress reports whether one of the fixed IPs of a port has all wanted values, such as subnet_id=....
func hasAddress(raw json.RawMessage, wanted []string) bool {
	var addresses []resource
	_ = json.Unmarshal(raw, &addresses)
	return slices.ContainsFunc(addresses, func(address resource) bool {
		return !slices.ContainsFunc(wanted, func(text string) bool {
			field, value, _ := strings.Cut(text, "=")
			return address.text(field) != value
		})
	})
}
