// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/rehearsal"
)

// write is a request that would change the site.
type write struct {
	*rehearsing
	target
	request *http.Request
	body    []byte
	record  rehearsal.Write
}

// perform records the request, changes the overlay, and returns the answer.
func (w *write) perform() (*http.Response, error) {
	if w.kind == nil {
		return nil, rehearsal.Refuse(w.record.Service, w.record.Method, w.record.Path)
	}
	switch kind, method := w.kind, w.request.Method; {
	case method == http.MethodPost && w.id == "" && kind.created != 0:
		return w.create()
	case method == http.MethodPut && w.id != "" && w.action == "":
		return w.update()
	case method == http.MethodPut && w.id != "" && w.action == "tags":
		return w.replaceTags()
	case method == http.MethodPut && kind == routerKind && w.action == "add_router_interface":
		return w.addInterface()
	case method == http.MethodPut && kind == routerKind && w.action == "remove_router_interface":
		return w.removeInterface()
	case method == http.MethodDelete && w.id != "" && w.action == "",
		method == http.MethodPost && kind == serverKind && w.action == "action" && bytes.Contains(w.body, []byte(`"forceDelete"`)):
		return w.delete()
	default:
		return nil, rehearsal.Refuse(w.record.Service, w.record.Method, w.record.Path)
	}
}

// about completes the record with the object.
func (w *write) about(action v1alpha1.PlannedAction, kind *restKind, object resource, fields ...v1alpha1.PlannedField) error {
	w.record.Action, w.record.Kind, w.record.ID, w.record.Name = action, kind.name, kind.idOf(object), object.text(kind.nameField)
	w.record.Fields = fields
	return w.log.Add(w.record)
}

// decodeField returns the field of the body with the name.
func decodeField[T any](body []byte, name string) (T, error) {
	var (
		content map[string]T
		none    T
	)
	if err := json.Unmarshal(body, &content); err != nil {
		return none, platform.NewError(platform.ClassConfiguration, "a request of the plan cannot be decoded: %w", err)
	}
	return content[name], nil
}

// create makes up the object, or several rules of a security group.
func (w *write) create() (*http.Response, error) {
	if w.kind == ruleKind {
		return w.createRules()
	}
	asked, err := decodeField[resource](w.body, w.kind.singular)
	if err != nil {
		return nil, err
	}
	object := merged(w.kind.defaults, asked)
	if w.kind.id == "id" {
		object["id"] = encoded(w.log.NewID(w.site, w.kind.name))
	}
	w.overlay.create(w.kind, object)
	if w.kind == securityGroupKind {
		for _, etherType := range []string{"IPv4", "IPv6"} {
			w.overlay.create(ruleKind, resource{"id": encoded(w.log.NewID(w.site, ruleKind.name)), "security_group_id": object["id"],
				"direction": encoded("egress"), "ethertype": encoded(etherType)})
		}
	}
	if err := w.about(v1alpha1.PlannedActionCreate, w.kind, object); err != nil {
		return nil, err
	}
	return respond(w.request, w.kind.created, map[string]resource{w.kind.singular: w.overlay.view(w.kind, object)})
}

// createRules makes up rules, which are changes of their security group.
func (w *write) createRules() (*http.Response, error) {
	asked, err := decodeField[[]resource](w.body, w.kind.plural)
	if err != nil {
		return nil, err
	}
	if len(asked) == 0 {
		return nil, rehearsal.Refuse(w.record.Service, w.record.Method, w.record.Path)
	}
	var fields []v1alpha1.PlannedField
	for i := range asked {
		asked[i]["id"] = encoded(w.log.NewID(w.site, ruleKind.name))
		w.overlay.create(ruleKind, asked[i])
		fields = append(fields, v1alpha1.PlannedField{Name: "rule", To: describeRule(asked[i])})
	}
	if err := w.about(v1alpha1.PlannedActionChange, securityGroupKind, w.groupOf(asked[0]), fields...); err != nil {
		return nil, err
	}
	return respond(w.request, w.kind.created, map[string][]resource{w.kind.plural: asked})
}

// groupOf returns the security group of a rule.
func (w *write) groupOf(rule resource) resource {
	id := rule.text("security_group_id")
	if group := w.overlay.current(securityGroupKind, id); group != nil {
		return group
	}
	return resource{"id": encoded(id)}
}

// describeRule returns a rule in one line.
func describeRule(rule resource) string {
	parts := []string{rule.shown("direction"), rule.shown("ethertype")}
	if protocol := rule.shown("protocol"); protocol != "" {
		parts = append(parts, protocol)
	}
	if first, last := rule.shown("port_range_min"), rule.shown("port_range_max"); first == last && first != "" {
		parts = append(parts, first)
	} else if first != "" {
		parts = append(parts, first+"-"+last)
	}
	if remote := rule.shown("remote_ip_prefix") + rule.shown("remote_group_id"); remote != "" {
		parts = append(parts, "remote "+remote)
	}
	return strings.Join(parts, " ")
}

// load returns the object with the ID as it would be, which it reads if necessary. It returns the response of the site if it has no such
// object.
func (w *write) load() (resource, *http.Response, error) {
	if current := w.overlay.current(w.kind, w.id); current != nil && !w.overlay.isDeleted(w.kind, w.id) {
		return current, nil, nil
	}
	request := at(w.request, func(u *url.URL) { u.Path = strings.TrimSuffix(u.Path, "/"+w.action) })
	response, err := w.get(request, target{kind: w.kind, id: w.id})
	if err != nil || response.StatusCode != http.StatusOK {
		return nil, response, err
	}
	if err := response.Body.Close(); err != nil {
		return nil, nil, err
	}
	return w.overlay.current(w.kind, w.id), nil, nil
}

// update changes fields of the object.
func (w *write) update() (*http.Response, error) {
	changes, err := decodeField[resource](w.body, w.kind.singular)
	if err != nil {
		return nil, err
	}
	object, response, err := w.change(changes)
	if object == nil {
		return response, err
	}
	return respond(w.request, http.StatusOK, map[string]resource{w.kind.singular: object})
}

// change changes the object and records that. It returns the changed object, or the response that it does not exist.
func (w *write) change(changes resource) (resource, *http.Response, error) {
	before, response, err := w.load()
	if before == nil {
		if err == nil {
			err = w.about(v1alpha1.PlannedActionChange, w.kind, resource{w.kind.id: encoded(w.id)})
		}
		return nil, response, err
	}
	w.overlay.change(w.kind, w.id, changes)
	var fields []v1alpha1.PlannedField
	for _, name := range slices.Sorted(maps.Keys(changes)) {
		if from, to := before.shown(name), changes.shown(name); from != to {
			fields = append(fields, v1alpha1.PlannedField{Name: name, From: from, To: to})
		}
	}
	return merged(before, changes), nil, w.about(v1alpha1.PlannedActionChange, w.kind, before, fields...)
}

func (w *write) replaceTags() (*http.Response, error) {
	tags, err := decodeField[json.RawMessage](w.body, "tags")
	if err != nil {
		return nil, err
	}
	changes := resource{"tags": tags}
	object, response, err := w.change(changes)
	if object == nil {
		return response, err
	}
	return respond(w.request, http.StatusOK, changes)
}

// routerInterface is the request to add or remove an interface of a router, and the answer to it.
type routerInterface struct {
	ID        string `json:"id,omitempty"`
	SubnetID  string `json:"subnet_id"`
	PortID    string `json:"port_id,omitempty"`
	NetworkID string `json:"network_id,omitempty"`
}

// interfaceOwner is the device owner of the port of a router in a subnet.
const interfaceOwner = "network:router_interface"

func (w *write) addInterface() (*http.Response, error) {
	asked := routerInterface{}
	if err := json.Unmarshal(w.body, &asked); err != nil {
		return nil, err
	}
	subnet := w.overlay.current(subnetKind, asked.SubnetID)
	port := merged(portKind.defaults, resource{
		"id": encoded(w.log.NewID(w.site, portKind.name)), "name": encoded(""), "description": encoded(""),
		"device_id": encoded(w.id), "device_owner": encoded(interfaceOwner), "network_id": encoded(subnet.text("network_id")),
		fixedIPs: encoded([]map[string]string{{"subnet_id": asked.SubnetID, "ip_address": subnet.text("gateway_ip")}}),
	})
	w.overlay.create(portKind, port)
	asked.ID, asked.PortID, asked.NetworkID = w.id, portKind.idOf(port), subnet.text("network_id")
	if err := w.recordInterface(v1alpha1.PlannedField{Name: "interface", To: subnetName(subnet, asked.SubnetID)}); err != nil {
		return nil, err
	}
	return respond(w.request, http.StatusOK, asked)
}

// recordInterface records that the interfaces of the router change.
func (w *write) recordInterface(field v1alpha1.PlannedField) error {
	router := w.overlay.current(routerKind, w.id)
	if router == nil {
		router = resource{"id": encoded(w.id)}
	}
	return w.about(v1alpha1.PlannedActionChange, routerKind, router, field)
}

func subnetName(subnet resource, id string) string {
	if name := subnet.text("name"); name != "" {
		return fmt.Sprintf("subnet %s (%s)", name, id)
	}
	return "subnet " + id
}

// removeInterface deletes the port of the router in the subnet.
func (w *write) removeInterface() (*http.Response, error) {
	asked := routerInterface{}
	if err := json.Unmarshal(w.body, &asked); err != nil {
		return nil, err
	}
	field := v1alpha1.PlannedField{Name: "interface", From: subnetName(w.overlay.current(subnetKind, asked.SubnetID), asked.SubnetID)}
	if err := w.recordInterface(field); err != nil {
		return nil, err
	}
	response, err := w.list(at(w.request, func(u *url.URL) {
		u.Path, _, _ = strings.Cut(u.Path, "/"+routerKind.collection+"/")
		u.Path += "/" + portKind.collection
		u.RawQuery = url.Values{"device_id": {w.id}, fixedIPs: {fixedIPSubnet + asked.SubnetID}}.Encode()
	}), target{kind: portKind})
	if err != nil || response.StatusCode != http.StatusOK {
		return response, err
	}
	var content map[string]json.RawMessage
	if err := decodeBody(response, &content); err != nil {
		return nil, err
	}
	found, err := portKind.unwrap(content[portKind.plural])
	if err != nil {
		return nil, err
	}
	if len(found) == 0 {
		return notFound(w.request)
	}
	for _, port := range found {
		w.overlay.delete(portKind, portKind.idOf(port))
	}
	asked.ID, asked.PortID = w.id, portKind.idOf(found[0])
	return respond(w.request, http.StatusOK, asked)
}

// delete deletes the object. A rule is a part of its security group.
func (w *write) delete() (*http.Response, error) {
	current, gone := w.overlay.current(w.kind, w.id), w.overlay.isDeleted(w.kind, w.id)
	if current == nil {
		current = resource{w.kind.id: encoded(w.id)}
	}
	w.overlay.delete(w.kind, w.id)
	var err error
	if w.kind == ruleKind {
		err = w.about(v1alpha1.PlannedActionChange, securityGroupKind, w.groupOf(current),
			v1alpha1.PlannedField{Name: "rule", From: describeRule(current)})
	} else {
		err = w.about(v1alpha1.PlannedActionDelete, w.kind, current)
	}
	switch {
	case err != nil:
		return nil, err
	case gone && w.action == "":
		return notFound(w.request)
	case w.action != "":
		return respond(w.request, http.StatusAccepted, nil)
	default:
		return respond(w.request, http.StatusNoContent, nil)
	}
}
