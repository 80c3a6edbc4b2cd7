// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package client

import (
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

// restKind is a kind of objects that is written to, and how its API shows it.
type restKind struct {
	service, collection, plural, singular string
	// name is the name of the kind.
	name string
	// id is the field with the ID, nameField the one with the name.
	id, nameField string
	// wrapped means that each item of a list is the only field of an object.
	wrapped bool
	// created is the status of the response to a creation, zero if no flow creates such objects.
	created int
	// defaults are the fields that the service adds.
	defaults resource
}

// newKind returns a kind of the networking API.
func newKind(collection, singular, name string, defaults resource) *restKind {
	return &restKind{service: "network", collection: collection, plural: strings.ReplaceAll(collection, "-", "_"), singular: singular,
		name: name, id: "id", nameField: "name", created: http.StatusCreated, defaults: defaults}
}

var (
	noItems = json.RawMessage("[]")

	networkKind = newKind("networks", "network", "network",
		resource{"tags": noItems, "subnets": noItems, "router:external": encoded(false), "shared": encoded(false)})
	subnetKind        = newKind("subnets", "subnet", "subnet", resource{"tags": noItems, "dns_nameservers": noItems})
	routerKind        = newKind("routers", "router", "router", resource{"tags": noItems, "routes": noItems})
	portKind          = newKind("ports", "port", "port", resource{"tags": noItems})
	securityGroupKind = newKind("security-groups", "security_group", "security group", resource{"tags": noItems})
	ruleKind          = newKind("security-group-rules", "security_group_rule", "security group rule", nil)
	floatingIPKind    = &restKind{service: "network", collection: "floatingips", plural: "floatingips", singular: "floatingip",
		name: "floating IP", id: "id", nameField: "floating_ip_address"}
	keyPairKind = &restKind{service: "compute", collection: "os-keypairs", plural: "keypairs", singular: "keypair", name: "key pair",
		id: "name", nameField: "name", wrapped: true, created: http.StatusCreated}
	serverKind = &restKind{service: "compute", collection: "servers", plural: "servers", singular: "server", name: "server", id: "id",
		nameField: "name"}
	serverGroupKind = &restKind{service: "compute", collection: "os-server-groups", plural: "server_groups", singular: "server_group",
		name: "server group", id: "id", nameField: "name"}
	loadBalancerKind = &restKind{service: "load-balancer", collection: "loadbalancers", plural: "loadbalancers", singular: "loadbalancer",
		name: "load balancer", id: "id", nameField: "name"}
	shareNetworkKind = &restKind{service: "shared-file-system", collection: "share-networks", plural: "share_networks",
		singular: "share_network", name: "share network", id: "id", nameField: "name", created: http.StatusOK}

	restKinds = []*restKind{networkKind, subnetKind, routerKind, portKind, securityGroupKind, ruleKind, floatingIPKind, keyPairKind,
		serverKind, serverGroupKind, loadBalancerKind, shareNetworkKind}
)

func (k *restKind) idOf(object resource) string {
	return object.text(k.id)
}

// item is an item of a list of wrapped objects.
type item map[string]resource

// unwrap decodes the objects of a list.
func (k *restKind) unwrap(raw json.RawMessage) ([]resource, error) {
	var (
		objects []resource
		items   []item
		err     error
	)
	if k.wrapped {
		err = json.Unmarshal(raw, &items)
	} else {
		err = json.Unmarshal(raw, &objects)
	}
	if err != nil {
		return nil, platform.NewError(platform.ClassTransient, "the list of the %s API cannot be decoded", k.service)
	}
	for _, i := range items {
		objects = append(objects, i[k.singular])
	}
	return objects, nil
}

// wrap encodes the objects of a list.
func (k *restKind) wrap(objects []resource) (json.RawMessage, error) {
	if !k.wrapped {
		return json.Marshal(objects)
	}
	items := make([]item, len(objects))
	for i := range objects {
		items[i] = item{k.singular: objects[i]}
	}
	return json.Marshal(items)
}

// target is what a request is about: a kind's collection, one of its objects, or an action of that.
type target struct {
	kind       *restKind
	id, action string
}

// targetOf returns the target of a path. It has no kind if that is not known.
func targetOf(service, path string) target {
	segments := strings.Split(strings.Trim(path, "/"), "/")
	for _, kind := range restKinds {
		i := slices.Index(segments, kind.collection)
		if kind.service != service || i < 0 {
			continue
		}
		t := target{kind: kind}
		rest := segments[i+1:]
		if len(rest) > 0 && rest[0] != "detail" {
			t.id, t.action = rest[0], strings.Join(rest[1:], "/")
		}
		return t
	}
	return target{}
}
