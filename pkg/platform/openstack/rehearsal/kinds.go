// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package rehearsal

import (
	"cmp"
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
)

// resource is an object of a service as its API shows it.
type resource map[string]json.RawMessage

// text returns the value of a field if it is a string.
func (r resource) text(field string) string {
	var text string
	_ = json.Unmarshal(r[field], &text)
	return text
}

// shown returns the value of a field for people.
func (r resource) shown(field string) string {
	raw := r[field]
	if string(raw) == "null" {
		return ""
	}
	if text := r.text(field); text != "" {
		return text
	}
	return string(raw)
}

// encoded returns the value as a field. It must be a string, a number, a bool, or a struct, slice or map of these.
func encoded(value any) json.RawMessage {
	raw, _ := json.Marshal(value)
	return raw
}

// kind is a kind of objects that is written to, and how its API shows it.
type kind struct {
	service, collection, plural, singular string
	// name is the name of the kind, and id the field with the ID.
	name, id string
	// wrapped means that each item of a list is the only field of an object.
	wrapped bool
	// created is the status of the response to a creation, zero if no flow creates such objects.
	created int
	// defaults are the fields that the service adds.
	defaults resource
}

func newKind(service, collection, name string, created int, defaults resource) *kind {
	plural := strings.ReplaceAll(strings.TrimPrefix(collection, "os-"), "-", "_")
	return &kind{service: service, collection: collection, plural: plural, singular: strings.TrimSuffix(plural, "s"), name: name, id: "id",
		created: created, defaults: defaults}
}

func newWrappedKind(service, collection, name string, created int) *kind {
	k := newKind(service, collection, name, created, nil)
	k.id, k.wrapped = "name", true
	return k
}

var (
	noItems = json.RawMessage("[]")

	networkKind = newKind("network", "networks", "network", http.StatusCreated,
		resource{"tags": noItems, "subnets": noItems, "router:external": encoded(false), "shared": encoded(false)})
	subnetKind        = newKind("network", "subnets", "subnet", http.StatusCreated, resource{"tags": noItems, "dns_nameservers": noItems})
	routerKind        = newKind("network", "routers", "router", http.StatusCreated, resource{"tags": noItems, "routes": noItems})
	portKind          = newKind("network", "ports", "port", http.StatusCreated, resource{"tags": noItems})
	securityGroupKind = newKind("network", "security-groups", "security group", http.StatusCreated, resource{"tags": noItems})
	ruleKind          = newKind("network", "security-group-rules", "security group rule", http.StatusCreated, nil)
	floatingIPKind    = newKind("network", "floatingips", "floating IP", 0, nil)
	keyPairKind       = newWrappedKind("compute", "os-keypairs", "key pair", http.StatusCreated)
	serverKind        = newKind("compute", "servers", "server", 0, nil)
	serverGroupKind   = newKind("compute", "os-server-groups", "server group", 0, nil)
	loadBalancerKind  = newKind("load-balancer", "loadbalancers", "load balancer", 0, nil)
	shareNetworkKind  = newKind("shared-file-system", "share-networks", "share network", http.StatusOK, nil)

	kinds = []*kind{networkKind, subnetKind, routerKind, portKind, securityGroupKind, ruleKind, floatingIPKind, keyPairKind, serverKind,
		serverGroupKind, loadBalancerKind, shareNetworkKind}
)

func (k *kind) idOf(object resource) string {
	return object.text(k.id)
}

func nameOf(object resource) string {
	return cmp.Or(object.text("name"), object.text("floating_ip_address"))
}

// unwrap decodes the objects of a list.
func (k *kind) unwrap(raw json.RawMessage) (objects []resource, err error) {
	if k.wrapped {
		var items []map[string]resource
		err = json.Unmarshal(raw, &items)
		for _, item := range items {
			objects = append(objects, item[k.singular])
		}
	} else {
		err = json.Unmarshal(raw, &objects)
	}
	if err != nil {
		return nil, platform.NewError(platform.ClassTransient, "the list of the %s API cannot be decoded", k.service)
	}
	return objects, nil
}

// wrap encodes the objects of a list.
func (k *kind) wrap(objects []resource) json.RawMessage {
	if !k.wrapped {
		return encoded(objects)
	}
	items := make([]map[string]resource, len(objects))
	for i := range objects {
		items[i] = map[string]resource{k.singular: objects[i]}
	}
	return encoded(items)
}

// targetOf returns what the request with the path is about: a kind's collection, one of its objects, or an action of that. It returns no
// kind if that is not known.
func targetOf(service, path string) (found *kind, id, action string) {
	segments := strings.Split(strings.Trim(path, "/"), "/")
	for _, kind := range kinds {
		i := slices.Index(segments, kind.collection)
		if kind.service != service || i < 0 {
			continue
		}
		if rest := segments[i+1:]; len(rest) > 0 && rest[0] != "detail" {
			id, action = rest[0], strings.Join(rest[1:], "/")
		}
		return kind, id, action
	}
	return nil, "", ""
}
