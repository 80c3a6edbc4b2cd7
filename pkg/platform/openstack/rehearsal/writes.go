// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package rehearsal

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/routers"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/rehearsal"
)

// write records the request, changes the overlay, and returns the answer.
func (c *call) write() (*http.Response, error) {
	switch {
	case c.kind == nil:
	case c.Method == http.MethodPost && c.id == "" && c.kind == ruleKind:
		return c.createRules()
	case c.Method == http.MethodPost && c.id == "" && c.kind.created != 0:
		return c.create()
	case c.Method == http.MethodPut && c.id != "" && (c.action == "" || c.action == "tags"):
		return c.update()
	case c.Method == http.MethodPut && c.kind == routerKind && c.action == "add_router_interface":
		return c.addInterface()
	case c.Method == http.MethodPut && c.kind == routerKind && c.action == "remove_router_interface":
		return c.removeInterface()
	case c.Method == http.MethodDelete && c.id != "" && c.action == "":
		return c.delete(http.StatusNoContent)
	case c.Method == http.MethodPost && c.kind == serverKind && c.action == "action" && bytes.Contains(c.Content, []byte(`"forceDelete"`)):
		return c.delete(http.StatusAccepted)
	}
	return nil, c.Refuse(c.service)
}

// record adds the write to the object.
func (c *call) record(action v1alpha1.PlannedAction, kind *kind, object resource, fields ...v1alpha1.PlannedField) error {
	return c.Record(c.service, rehearsal.Write{Action: action, Kind: kind.name, ID: kind.idOf(object), Name: nameOf(object), Fields: fields})
}

func (c *call) newID(kind *kind) json.RawMessage {
	return encoded(c.site.NewID(kind.name))
}

// create makes up the object.
func (c *call) create() (*http.Response, error) {
	asked, err := rehearsal.Field[resource](c.Call, c.kind.singular)
	if err != nil {
		return nil, err
	}
	object := merged(c.kind.defaults, asked)
	if c.kind.id == "id" {
		object["id"] = c.newID(c.kind)
	}
	c.overlay.create(c.kind, object)
	if c.kind == securityGroupKind {
		for _, etherType := range []string{"IPv4", "IPv6"} {
			c.overlay.create(ruleKind, resource{"id": c.newID(ruleKind), "security_group_id": object["id"], "direction": encoded("egress"),
				"ethertype": encoded(etherType)})
		}
	}
	if err := c.record(v1alpha1.PlannedActionCreate, c.kind, object); err != nil {
		return nil, err
	}
	return c.Respond(c.kind.created, map[string]resource{c.kind.singular: c.view(c.kind, object)})
}

// createRules makes up rules, which are changes of their security group.
func (c *call) createRules() (*http.Response, error) {
	created, err := rehearsal.Field[[]resource](c.Call, ruleKind.plural)
	if err != nil {
		return nil, err
	}
	if len(created) == 0 {
		return nil, c.Refuse(c.service)
	}
	var fields []v1alpha1.PlannedField
	for i := range created {
		created[i] = merged(created[i], resource{"id": c.newID(ruleKind)})
		c.overlay.create(ruleKind, created[i])
		fields = append(fields, v1alpha1.PlannedField{Name: "rule", To: describeRule(created[i])})
	}
	group := c.named(securityGroupKind, created[0].text("security_group_id"))
	if err := c.record(v1alpha1.PlannedActionChange, securityGroupKind, group, fields...); err != nil {
		return nil, err
	}
	return c.Respond(ruleKind.created, map[string][]resource{ruleKind.plural: created})
}

// describeRule returns a rule in one line.
func describeRule(rule resource) string {
	text := rule.shown("direction") + " " + rule.shown("ethertype")
	if protocol := rule.shown("protocol"); protocol != "" {
		text += " " + protocol
	}
	if first, last := rule.shown("port_range_min"), rule.shown("port_range_max"); first == last && first != "" {
		text += " " + first
	} else if first != "" {
		text += " " + first + "-" + last
	}
	if remote := rule.shown("remote_ip_prefix") + rule.shown("remote_group_id"); remote != "" {
		text += " remote " + remote
	}
	return text
}

// update changes fields of the object, or its tags.
func (c *call) update() (*http.Response, error) {
	changes, err := resource{}, error(nil)
	if c.action == "tags" {
		changes["tags"], err = rehearsal.Field[json.RawMessage](c.Call, "tags")
	} else {
		changes, err = rehearsal.Field[resource](c.Call, c.kind.singular)
	}
	if err != nil {
		return nil, err
	}
	before, err := c.load(true)
	if err != nil {
		return nil, errors.Join(c.record(v1alpha1.PlannedActionChange, c.kind, resource{c.kind.id: encoded(c.id)}), err)
	}
	c.change(c.kind, c.id, changes)
	var fields []v1alpha1.PlannedField
	for _, name := range slices.Sorted(maps.Keys(changes)) {
		if from, to := before.shown(name), changes.shown(name); from != to {
			fields = append(fields, v1alpha1.PlannedField{Name: name, From: from, To: to})
		}
	}
	if err := c.record(v1alpha1.PlannedActionChange, c.kind, before, fields...); err != nil {
		return nil, err
	}
	if c.action == "tags" {
		return c.Respond(http.StatusOK, changes)
	}
	return c.Respond(http.StatusOK, map[string]resource{c.kind.singular: merged(before, changes)})
}

// addInterface creates the port of the router in the subnet.
func (c *call) addInterface() (*http.Response, error) {
	subnetID, err := rehearsal.Field[string](c.Call, "subnet_id")
	if err != nil {
		return nil, err
	}
	subnet := c.named(subnetKind, subnetID)
	port := merged(portKind.defaults, resource{
		"id": c.newID(portKind), "name": encoded(""), "description": encoded(""),
		"device_id": encoded(c.id), "device_owner": encoded("network:router_interface"), "network_id": encoded(subnet.text("network_id")),
		fixedIPs: encoded([]map[string]string{{"subnet_id": subnetID, "ip_address": subnet.text("gateway_ip")}}),
	})
	c.overlay.create(portKind, port)
	if err := c.recordInterface(v1alpha1.PlannedField{Name: "interface", To: describeSubnet(subnet)}); err != nil {
		return nil, err
	}
	return c.Respond(http.StatusOK, routers.InterfaceInfo{ID: c.id, SubnetID: subnetID, PortID: portKind.idOf(port)})
}

// recordInterface records that the interfaces of the router change.
func (c *call) recordInterface(field v1alpha1.PlannedField) error {
	return c.record(v1alpha1.PlannedActionChange, routerKind, c.named(routerKind, c.id), field)
}

func describeSubnet(subnet resource) string {
	id := subnetKind.idOf(subnet)
	if name := subnet.text("name"); name != "" {
		return "subnet " + name + " (" + id + ")"
	}
	return "subnet " + id
}

// removeInterface deletes the ports of the router in the subnet.
func (c *call) removeInterface() (*http.Response, error) {
	subnetID, err := rehearsal.Field[string](c.Call, "subnet_id")
	if err != nil {
		return nil, err
	}
	subnet := c.named(subnetKind, subnetID)
	if err := c.recordInterface(v1alpha1.PlannedField{Name: "interface", From: describeSubnet(subnet)}); err != nil {
		return nil, err
	}
	found, _, err := c.list(portKind, at(c.Request, func(u *url.URL) {
		u.Path, _, _ = strings.Cut(u.Path, "/"+routerKind.collection+"/")
		u.Path += "/" + portKind.collection
		u.RawQuery = url.Values{"device_id": {c.id}, fixedIPs: {fixedIPSubnet + subnetID}}.Encode()
	}))
	if err != nil {
		return nil, err
	}
	if len(found) == 0 {
		return nil, c.notFound()
	}
	for _, port := range found {
		c.overlay.delete(portKind, portKind.idOf(port))
	}
	return c.Respond(http.StatusOK, routers.InterfaceInfo{ID: c.id, SubnetID: subnetID, PortID: portKind.idOf(found[0])})
}

// delete deletes the object. A rule is a part of its security group.
func (c *call) delete(status int) (*http.Response, error) {
	current, isGone := c.named(c.kind, c.id), c.overlay[c.kind].deleted[c.id]
	c.overlay.delete(c.kind, c.id)
	var err error
	if c.kind == ruleKind {
		err = c.record(v1alpha1.PlannedActionChange, securityGroupKind, c.named(securityGroupKind, current.text("security_group_id")),
			v1alpha1.PlannedField{Name: "rule", From: describeRule(current)})
	} else {
		err = c.record(v1alpha1.PlannedActionDelete, c.kind, current)
	}
	if err == nil && isGone && c.action == "" {
		err = c.notFound()
	}
	if err != nil {
		return nil, err
	}
	return c.Respond(status, nil)
}
