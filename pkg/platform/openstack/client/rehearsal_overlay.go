// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"encoding/json"
	"maps"
	"net/url"
	"slices"
	"strings"
	"sync"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/rehearsal"
)

// overlay is the difference between the objects at the site and those that there would be. It is safe for concurrent use.
type overlay struct {
	mutex sync.Mutex
	kinds map[*restKind]*layer
}

// layer is the overlay of one kind. Its objects are never changed but replaced.
type layer struct {
	// created are the objects that do not exist at the site.
	created []resource
	// changed are the changed fields of objects at the site by ID.
	changed map[string]resource
	deleted map[string]bool
	// seen are the objects that were read, as they are at the site.
	seen map[string]resource
}

// of returns the layer of the kind. The caller holds the lock.
func (o *overlay) of(kind *restKind) *layer {
	if o.kinds == nil {
		o.kinds = map[*restKind]*layer{}
	}
	if o.kinds[kind] == nil {
		o.kinds[kind] = &layer{changed: map[string]resource{}, deleted: map[string]bool{}, seen: map[string]resource{}}
	}
	return o.kinds[kind]
}

// find returns the object with the ID if it does not exist at the site. gone is true if it does not exist any longer or never did.
func (o *overlay) find(kind *restKind, id string) (created resource, gone bool) {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	l := o.of(kind)
	i := slices.IndexFunc(l.created, func(object resource) bool { return kind.idOf(object) == id })
	if i >= 0 {
		return o.viewLocked(kind, l.created[i]), false
	}
	return nil, l.deleted[id] || rehearsal.IsMadeUp(id)
}

// see remembers an object of the site.
func (o *overlay) see(kind *restKind, object resource) {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	if l := o.of(kind); len(l.seen) < rehearsal.MaxObjects {
		l.seen[kind.idOf(object)] = object
	}
}

// current returns the object with the ID as it would be, nil if it was not read yet.
func (o *overlay) current(kind *restKind, id string) resource {
	if created, _ := o.find(kind, id); created != nil {
		return created
	}
	o.mutex.Lock()
	defer o.mutex.Unlock()
	object := o.of(kind).seen[id]
	if object == nil {
		return nil
	}
	return o.viewLocked(kind, object)
}

func (o *overlay) isDeleted(kind *restKind, id string) bool {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	return o.of(kind).deleted[id]
}

func (o *overlay) create(kind *restKind, object resource) {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	l := o.of(kind)
	l.created = append(l.created, object)
	delete(l.deleted, kind.idOf(object))
}

func (o *overlay) change(kind *restKind, id string, fields resource) {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	l := o.of(kind)
	if i := slices.IndexFunc(l.created, func(object resource) bool { return kind.idOf(object) == id }); i >= 0 {
		l.created[i] = merged(l.created[i], fields)
		return
	}
	l.changed[id] = merged(l.changed[id], fields)
}

func (o *overlay) delete(kind *restKind, id string) {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	l := o.of(kind)
	l.created = slices.DeleteFunc(l.created, func(object resource) bool { return kind.idOf(object) == id })
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
func (o *overlay) view(kind *restKind, object resource) resource {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	return o.viewLocked(kind, object)
}

func (o *overlay) viewLocked(kind *restKind, object resource) resource {
	result := merged(object, o.of(kind).changed[kind.idOf(object)])
	switch kind {
	case portKind:
		if o.of(serverKind).deleted[result.text("device_id")] {
			// Nova returns the ports that it has not created.
			result["device_id"], result["device_owner"] = encoded(""), encoded("")
		}
	case securityGroupKind:
		result["security_group_rules"] = o.rulesOf(result)
	}
	return result
}

// rulesOf returns the rules of the security group as they would be.
func (o *overlay) rulesOf(group resource) json.RawMessage {
	var (
		existing []resource
		l        = o.of(ruleKind)
		result   = []resource{}
	)
	_ = json.Unmarshal(group["security_group_rules"], &existing)
	for _, rule := range existing {
		id := ruleKind.idOf(rule)
		if len(l.seen) < rehearsal.MaxObjects {
			l.seen[id] = rule
		}
		if !l.deleted[id] {
			result = append(result, rule)
		}
	}
	for _, rule := range l.created {
		if rule.text("security_group_id") == securityGroupKind.idOf(group) {
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
func (o *overlay) matching(kind *restKind, query url.Values) ([]resource, error) {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	var found []resource
	for _, object := range o.of(kind).created {
		matches, err := matchesAll(object, query)
		if err != nil {
			return nil, platform.NewError(platform.ClassConfiguration, "the plan cannot list the objects of kind %s: %w", kind.name, err)
		}
		if matches {
			found = append(found, o.viewLocked(kind, object))
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
