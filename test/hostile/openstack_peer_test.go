// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package hostile

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/uuid"
)

// openStackPeer is a project of an OpenStack that does what it is told: all services, with the little that our code needs of each.
type openStackPeer struct {
	project string

	mutex   sync.Mutex
	objects map[string][]object
	tokens  map[string]bool
	next    int
}

type object map[string]any

func (o object) text(key string) string {
	value, _ := o[key].(string)
	return value
}

// kinds are the collections: what an object of each is called, and what it has from the beginning.
var kinds = map[string]struct {
	singular string
	defaults object
}{
	"networks": {"network",
		object{"status": "ACTIVE", "mtu": 1450, "port_security_enabled": true, "subnets": []any{}, "tags": []any{}, "router:external": false,
			"shared": false}},
	"subnets": {"subnet", object{"tags": []any{}, "dns_nameservers": []any{}, "host_routes": []any{}}},
	"routers": {"router", object{"status": "ACTIVE", "tags": []any{}, "routes": []any{}}},
	"ports": {"port",
		object{"status": "ACTIVE", "tags": []any{}, "device_id": "", "device_owner": "", "mac_address": "fa:16:3e:00:00:01",
			"security_groups": []any{}, "allowed_address_pairs": []any{}}},
	"security-groups":      {"security_group", object{"tags": []any{}, "stateful": true}},
	"security-group-rules": {"security_group_rule", object{}},
	"floatingips":          {"floatingip", object{"status": "ACTIVE", "tags": []any{}}},
	"rbac-policies":        {"rbac_policy", object{}},
	"servers":              {"server", object{}},
	"os-keypairs":          {"keypair", object{"fingerprint": "00:11"}},
	"os-server-groups":     {"server_group", object{"members": []any{}}},
	"volumes": {"volume",
		object{"status": "available", "attachments": []any{}, "metadata": object{}, "availability_zone": "nova", "bootable": "false",
			"multiattach": false, "created_at": "2026-01-01T00:00:00.000000", "updated_at": "2026-01-01T00:00:00.000000"}},
	"snapshots": {"snapshot",
		object{"status": "available", "metadata": object{}, "created_at": "2026-01-01T00:00:00.000000",
			"updated_at": "2026-01-01T00:00:00.000000"}},
	"loadbalancers": {"loadbalancer",
		object{"provisioning_status": "ACTIVE", "operating_status": "ONLINE", "provider": "amphora", "listeners": []any{}, "pools": []any{},
			"tags": []any{}}},
	"listeners": {"listener",
		object{"provisioning_status": "ACTIVE", "operating_status": "ONLINE", "tags": []any{}, "allowed_cidrs": []any{}}},
	"pools": {"pool",
		object{"provisioning_status": "ACTIVE", "operating_status": "ONLINE", "members": []any{}, "tags": []any{}}},
	"healthmonitors": {"healthmonitor", object{"provisioning_status": "ACTIVE", "operating_status": "ONLINE"}},
	"share-networks": {"share_network",
		object{"share_network_subnets": []any{}, "created_at": "2026-01-01T00:00:00.000000", "updated_at": nil}},
	"zones": {"", object{"status": "ACTIVE", "type": "PRIMARY"}},
	"recordsets": {"",
		object{"status": "ACTIVE", "created_at": "2026-01-01T00:00:00.000000", "updated_at": "2026-01-01T00:00:00.000000"}},
}

func newOpenStackPeer(project string) *openStackPeer {
	p := &openStackPeer{project: project, objects: map[string][]object{}, tokens: map[string]bool{}}
	public := p.add("networks", object{"name": "public", "router:external": true})
	subnet := p.add("subnets",
		object{"name": "public", "network_id": public["id"], "cidr": "172.24.0.0/16", "ip_version": 4, "gateway_ip": "172.24.0.1"})
	public["subnets"] = []any{subnet["id"]}
	p.objects["flavors"] = []object{{"id": fixedID("flavor"), "name": "m1.small", "ram": 4096, "disk": 20, "vcpus": 2,
		"os-flavor-access:is_public": true}}
	p.objects["images"] = []object{{
		"id": fixedID("image"), "name": "gardenlinux", "status": "active", "visibility": "public", "disk_format": "raw",
		"container_format": "bare", "size": 1024,
		"min_disk": 0, "min_ram": 0, "tags": []any{}, "created_at": "2026-01-01T00:00:00Z", "updated_at": "2026-01-01T00:00:00Z",
	}}
	p.objects["types"] = []object{{"id": fixedID("type"), "name": "ssd", "is_public": true, "extra_specs": object{}}}
	p.objects["zones"] = []object{{"id": fixedID("zone"), "name": "example.test.", "status": "ACTIVE", "type": "PRIMARY"}}
	return p
}

func fixedID(name string) string {
	sum := sha256.Sum256([]byte(name))
	return fmt.Sprintf("%x-%x-%x-%x-%x", sum[:4], sum[4:6], sum[6:8], sum[8:10], sum[10:16])
}

func projectID(name string) string {
	return strings.ReplaceAll(fixedID("project "+name), "-", "")
}

func (p *openStackPeer) add(kind string, o object) object {
	for key, value := range kinds[kind].defaults {
		if _, ok := o[key]; !ok {
			o[key] = value
		}
	}
	o["id"] = string(uuid.NewUUID())
	o["project_id"], o["tenant_id"] = projectID(p.project), projectID(p.project)
	if o["description"] == nil {
		o["description"] = ""
	}
	if o["created_at"] == nil {
		o["created_at"] = "2026-01-01T00:00:00Z"
	}
	if _, ok := o["updated_at"]; !ok {
		o["updated_at"] = "2026-01-01T00:00:00Z"
	}
	p.objects[kind] = append(p.objects[kind], o)
	return o
}

func (p *openStackPeer) find(kind, id string) object {
	for _, o := range p.objects[kind] {
		if o.text("id") == id || kind == "os-keypairs" && o.text("name") == id {
			return o
		}
	}
	return nil
}

func reply(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", jsonType)
	w.Header().Set("X-Openstack-Request-Id", "req-1")
	w.WriteHeader(status)
	if body != nil {
		_ = json.NewEncoder(w).Encode(body)
	}
}

func (p *openStackPeer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	base := "https://" + r.Host
	service, rest, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	if service == "keystone" {
		p.login(w, r, base)
		return
	}
	if p.version(w, service, rest, base) {
		return
	}
	if !p.tokens[r.Header.Get("X-Auth-Token")] {
		reply(w, http.StatusUnauthorized, object{"error": object{"code": 401, "message": "The request you have made requires authentication."}})
		return
	}
	parts := strings.Split(strings.Trim(rest, "/"), "/")[1:] // the version
	if service == "manila" || service == "cinder" {
		parts = slices.DeleteFunc(parts, func(part string) bool { return part == projectID(p.project) })
	}
	if service == "octavia" && len(parts) > 0 && parts[0] == "lbaas" {
		parts = parts[1:]
	}
	p.serve(w, r, service, parts)
}

func (p *openStackPeer) login(w http.ResponseWriter, r *http.Request, base string) {
	if !strings.HasSuffix(r.URL.Path, "/auth/tokens") {
		reply(w, http.StatusOK,
			object{"version": object{"id": "v3.14", "status": "stable", "links": []any{object{"rel": "self", "href": base + "/keystone/v3/"}}}})
		return
	}
	var body any
	_ = json.NewDecoder(r.Body).Decode(&body)
	if raw, _ := json.Marshal(body); !strings.Contains(string(raw), secretPassword) {
		reply(w, http.StatusUnauthorized, object{"error": object{"code": 401, "message": "The request you have made requires authentication."}})
		return
	}
	token := string(uuid.NewUUID())
	p.tokens[token] = true
	w.Header().Set("X-Subject-Token", token)
	domain := object{"id": "default", "name": "Default"}
	var catalog []any
	for _, s := range [][3]string{
		{"keystone", "identity", "/v3"}, {"nova", "compute", "/v2.1"}, {"neutron", "network", ""}, {"glance", "image", ""},
		{"cinder", "block-storage", "/v3/" + projectID(p.project)}, {"octavia", "load-balancer", ""}, {"manila", "shared-file-system",
			"/v2"}, {"designate", "dns", ""},
	} {
		catalog = append(catalog, object{"id": fixedID(s[0]), "name": s[0], "type": s[1], "endpoints": []any{object{
			"id": fixedID(s[0] + "public"), "interface": "public", "region": "RegionOne", "region_id": "RegionOne", "url": base + "/" + s[0] + s[2],
		}}})
	}
	now := time.Now().UTC()
	reply(w, http.StatusCreated, object{"token": object{
		"methods": []any{"password"}, "user": object{"id": "u", "name": "u", "domain": domain}, "project": object{"id": projectID(p.project),
			"name": p.project, "domain": domain},
		"issued_at": now.Format("2006-01-02T15:04:05.000000Z"), "expires_at": now.Add(24 * time.Hour).Format("2006-01-02T15:04:05.000000Z"),
		"roles": []any{object{"id": "m", "name": "member"}, object{"id": "l", "name": "load-balancer_member"}}, "catalog": catalog,
	}})
}

// version answers what a service is asked without a path.
func (p *openStackPeer) version(w http.ResponseWriter, service, rest, base string) bool {
	self := func(path string) []any { return []any{object{"rel": "self", "href": base + "/" + service + path}} }
	known := map[string]object{
		"nova":      {"id": "v2.1", "status": "CURRENT", "version": "2.93", "min_version": "2.1", "links": self("/v2.1/")},
		"neutron":   {"id": "v2.0", "status": "CURRENT", "links": self("/v2.0/")},
		"glance":    {"id": "v2.15", "status": "CURRENT", "links": self("/v2/")},
		"cinder":    {"id": "v3.0", "status": "CURRENT", "version": "3.70", "min_version": "3.0", "links": self("/v3/")},
		"octavia":   {"id": "v2.26", "status": "CURRENT", "links": self("/v2")},
		"manila":    {"id": "v2.0", "status": "CURRENT", "version": "2.78", "min_version": "2.0", "links": self("/v2/")},
		"designate": {"id": "v2", "status": "CURRENT", "links": self("/v2")},
	}[service]
	switch rest {
	case "":
		versions := []any{known}
		if service == "octavia" {
			versions = []any{object{"id": "v2.0", "status": "SUPPORTED", "links": self("/v2")}, known}
		}
		reply(w, http.StatusOK, object{"versions": versions})
		return true
	case "v2.1/", "v2.1", "v3/", "v3", "v2/", "v2", "v2.0/", "v2.0":
		reply(w, http.StatusOK, object{"version": known, "versions": []any{known}, "resources": []any{}})
		return true
	}
	return false
}

func (p *openStackPeer) serve(w http.ResponseWriter, r *http.Request, service string, parts []string) {
	notFound := func() {
		message := r.URL.Path + " could not be found."
		reply(w, http.StatusNotFound,
			object{"itemNotFound": object{"code": 404, "message": message}, "NeutronError": object{"type": "NotFound", "message": message}})
	}
	var body map[string]any
	_ = json.NewDecoder(r.Body).Decode(&body)
	path := strings.Join(parts, "/")
	switch {
	case p.special(w, r, service, path, parts, body):
		return
	case len(parts) == 0:
		notFound()
		return
	}
	kind := parts[0]
	if service == "designate" && len(parts) > 2 {
		kind, parts = "recordsets", parts[2:]
	}
	if service == "octavia" && len(parts) > 2 {
		p.members(w, r, parts, body)
		return
	}
	k := kinds[kind]
	plural := strings.ReplaceAll(kind, "-", "_")
	show := func(o object) any {
		if k.singular == "" || service == "glance" {
			return o
		}
		return object{k.singular: p.shown(kind, o)}
	}
	id := ""
	if len(parts) > 1 && parts[1] != "detail" {
		id = parts[1]
	}
	switch {
	case r.Method == http.MethodGet && id == "":
		found := []any{}
		for _, o := range p.objects[kind] {
			if matches(o, r.URL.Query()) {
				shown := any(p.shown(kind, o))
				if kind == "os-keypairs" {
					shown = object{"keypair": shown}
				}
				found = append(found, shown)
			}
		}
		key := map[string]string{"os-keypairs": "keypairs", "os-server-groups": "server_groups", "types": "volume_types"}[kind]
		if key == "" {
			key = plural
		}
		reply(w, http.StatusOK, object{key: found})
	case r.Method == http.MethodPost && id == "":
		content := body
		if k.singular != "" {
			content, _ = body[k.singular].(map[string]any)
		}
		if list, ok := body[plural].([]any); ok {
			var made []any
			for _, one := range list {
				made = append(made, p.create(kind, one.(map[string]any)))
			}
			reply(w, http.StatusCreated, object{plural: made})
			return
		}
		if content == nil {
			reply(w, http.StatusBadRequest, object{"badRequest": object{"message": "no " + k.singular}})
			return
		}
		reply(w, created(service), show(p.create(kind, content)))
	case p.find(kind, id) == nil:
		notFound()
	case len(parts) > 2 && parts[2] == "tags":
		p.find(kind, id)["tags"] = body["tags"]
		reply(w, http.StatusOK, body)
	case r.Method == http.MethodGet:
		reply(w, http.StatusOK, show(p.find(kind, id)))
	case r.Method == http.MethodDelete:
		p.remove(kind, id)
		reply(w, deleted(service, kind), nil)
	case r.Method == http.MethodPut, r.Method == http.MethodPatch:
		o := p.find(kind, id)
		content := body
		if k.singular != "" {
			content, _ = body[k.singular].(map[string]any)
		}
		for key, value := range content {
			o[key] = value
		}
		reply(w, http.StatusOK, show(o))
	default:
		notFound()
	}
}

func created(service string) int {
	switch service {
	case "nova":
		return http.StatusOK
	case "cinder", "designate":
		return http.StatusAccepted
	case "manila":
		return http.StatusOK
	}
	return http.StatusCreated
}

func deleted(service, kind string) int {
	switch {
	case service == "cinder", service == "designate", kind == "os-keypairs", service == "manila":
		return http.StatusAccepted
	}
	return http.StatusNoContent
}

// matches understands equality with the fields that an object has, and ignores others.
func matches(o object, query map[string][]string) bool {
	if offset := query["offset"]; len(offset) > 0 && offset[0] != "0" || len(query["marker"]) > 0 {
		return false
	}
	for key, wanted := range query {
		value, ok := o[key]
		if !ok {
			continue
		}
		if list, isList := value.([]any); isList {
			if key == "tags" &&
				!slices.ContainsFunc(list, func(one any) bool { return slices.Contains(strings.Split(wanted[0], ","), fmt.Sprint(one)) }) {
				return false
			}
			continue
		}
		if key == "name" && strings.ContainsAny(wanted[0], "^*$") {
			if !strings.Contains(fmt.Sprint(value), strings.Trim(wanted[0], "^*$")) {
				return false
			}
			continue
		}
		text := fmt.Sprint(value)
		if !slices.Contains(wanted, text) && !strings.Contains(wanted[0], "in:") {
			return false
		}
	}
	return true
}

func (p *openStackPeer) create(kind string, content map[string]any) object {
	o := p.add(kind, content)
	switch kind {
	case "networks":
		o["subnets"] = []any{}
	case "subnets":
		if network := p.find("networks", o.text("network_id")); network != nil {
			network["subnets"] = append(network["subnets"].([]any), o["id"])
		}
		prefix, err := netip.ParsePrefix(o.text("cidr"))
		if err == nil && o.text("gateway_ip") == "" {
			o["gateway_ip"] = prefix.Masked().Addr().Next().String()
		}
	case "security-groups":
		o["security_group_rules"] = []any{}
		for _, version := range []string{"IPv4", "IPv6"} {
			p.create("security-group-rules", object{"security_group_id": o["id"], "direction": "egress", "ethertype": version})
		}
	case "security-group-rules":
		for _, key := range []string{"protocol", "port_range_min", "port_range_max", "remote_group_id", "remote_ip_prefix"} {
			if _, ok := o[key]; !ok {
				o[key] = nil
			}
		}
		if group := p.find("security-groups", o.text("security_group_id")); group != nil {
			group["security_group_rules"] = append(group["security_group_rules"].([]any), o)
		}
	case "ports":
		p.address(o)
	case "routers":
		if gateway, ok := o["external_gateway_info"].(map[string]any); ok {
			gateway["enable_snat"] = true
			gateway["external_fixed_ips"] = []any{object{"subnet_id": p.objects["subnets"][0]["id"], "ip_address": "172.24.1.2"}}
		}
	case "servers":
		p.boot(o)
	case "loadbalancers":
		p.next++
		o["vip_address"] = fmt.Sprintf("10.250.1.%d", p.next)
		port := p.create("ports",
			object{"network_id": o["vip_network_id"], "device_owner": "Octavia", "device_id": "lb-" + o.text("id"),
				"fixed_ips": []any{map[string]any{"subnet_id": o["vip_subnet_id"], "ip_address": o["vip_address"]}}})
		o["vip_port_id"] = port["id"]
		list, _ := o["listeners"].([]any)
		for _, one := range list {
			listener := object(one.(map[string]any))
			pool, _ := listener["default_pool"].(map[string]any)
			delete(listener, "default_pool")
			listener["loadbalancer_id"] = o["id"]
			p.create("listeners", listener)
			if pool == nil {
				continue
			}
			members, _ := pool["members"].([]any)
			monitor, _ := pool["healthmonitor"].(map[string]any)
			delete(pool, "members")
			delete(pool, "healthmonitor")
			pool["listener_id"], pool["loadbalancer_id"] = listener["id"], o["id"]
			made := p.create("pools", pool)
			for _, member := range members {
				p.add("members of "+made.text("id"), object(member.(map[string]any)))
			}
			if monitor != nil {
				monitor["pool_id"] = made["id"]
				p.create("healthmonitors", monitor)
			}
		}
	case "listeners":
		o["loadbalancers"] = []any{object{"id": o["loadbalancer_id"]}}
	case "pools":
		o["loadbalancers"] = []any{object{"id": o["loadbalancer_id"]}}
		o["listeners"] = []any{object{"id": o["listener_id"]}}
		if listener := p.find("listeners", o.text("listener_id")); listener != nil {
			listener["default_pool_id"] = o["id"]
			if o.text("loadbalancer_id") == "" {
				o["loadbalancers"] = listener["loadbalancers"]
			}
		}
	case "healthmonitors":
		if pool := p.find("pools", o.text("pool_id")); pool != nil {
			pool["healthmonitor_id"] = o["id"]
		}
	case "floatingips":
		p.next++
		o["floating_ip_address"] = fmt.Sprintf("172.24.2.%d", p.next)
	case "recordsets":
		o["zone_id"] = fixedID("zone")
	}
	return o
}

func (p *openStackPeer) address(port object) {
	list, _ := port["fixed_ips"].([]any)
	for _, one := range list {
		fixed := one.(map[string]any)
		subnet := p.find("subnets", fmt.Sprint(fixed["subnet_id"]))
		if fixed["ip_address"] != nil && fixed["ip_address"] != "" || subnet == nil {
			continue
		}
		p.next++
		prefix := netip.MustParsePrefix(subnet.text("cidr"))
		bytes := prefix.Masked().Addr().As4()
		bytes[2], bytes[3] = 2, byte(p.next)
		fixed["ip_address"] = netip.AddrFrom4(bytes).String()
	}
}

func (p *openStackPeer) boot(o object) {
	o["status"], o["OS-EXT-STS:vm_state"], o["OS-EXT-STS:power_state"], o["OS-EXT-STS:task_state"] = "ACTIVE", "active", 1, nil
	o["created"], o["updated"], o["hostId"] = time.Now().UTC().Format(time.RFC3339), time.Now().UTC().Format(time.RFC3339), "host"
	o["OS-EXT-AZ:availability_zone"], o["flavor"], o["image"] = o["availability_zone"], object{"id": o["flavorRef"],
		"original_name": "m1.small"}, object{"id": o["imageRef"]}
	o["os-extended-volumes:volumes_attached"], o["security_groups"] = []any{}, []any{object{"name": "default"}}
	if o["metadata"] == nil {
		o["metadata"] = object{}
	}
	addresses := []any{}
	networks, _ := o["networks"].([]any)
	for _, one := range networks {
		network, _ := one.(map[string]any)
		port := p.find("ports", fmt.Sprint(network["port"]))
		if port == nil {
			continue
		}
		port["device_id"], port["device_owner"] = o["id"], "compute:nova"
		list, _ := port["fixed_ips"].([]any)
		for _, fixed := range list {
			addresses = append(addresses,
				object{"version": 4, "addr": fixed.(map[string]any)["ip_address"], "OS-EXT-IPS:type": "fixed",
					"OS-EXT-IPS-MAC:mac_addr": port["mac_address"]})
		}
	}
	o["addresses"] = object{"net": addresses}
}

func (p *openStackPeer) shown(kind string, o object) object {
	if kind == "servers" || kind != "loadbalancers" {
		return o
	}
	var listeners []any
	for _, l := range p.objects["listeners"] {
		if l.text("loadbalancer_id") == o.text("id") {
			listeners = append(listeners, object{"id": l["id"]})
		}
	}
	o["listeners"] = listeners
	return o
}

func (p *openStackPeer) remove(kind, id string) {
	keep := func(of string, gone func(object) bool) { p.objects[of] = slices.DeleteFunc(p.objects[of], gone) }
	switch kind {
	case "servers":
		for _, port := range p.objects["ports"] {
			if port.text("device_id") == id {
				port["device_id"], port["device_owner"] = "", ""
			}
		}
	case "loadbalancers":
		keep("ports", func(o object) bool { return o.text("device_id") == "lb-"+id })
		keep("listeners", func(o object) bool { return o.text("loadbalancer_id") == id })
		p.objects["pools"], p.objects["healthmonitors"] = nil, nil
	case "security-groups":
		keep("security-group-rules", func(o object) bool { return o.text("security_group_id") == id })
	case "security-group-rules":
		for _, group := range p.objects["security-groups"] {
			rules := group["security_group_rules"].([]any)
			group["security_group_rules"] = slices.DeleteFunc(rules, func(rule any) bool { return rule.(object).text("id") == id })
		}
	}
	keep(kind, func(o object) bool { return o.text("id") == id || kind == "os-keypairs" && o.text("name") == id })
}

// special answers requests that are about no collection.
func (p *openStackPeer) special(w http.ResponseWriter, r *http.Request, service, path string, parts []string, body map[string]any) bool {
	last := ""
	if len(parts) > 0 {
		last = parts[len(parts)-1]
	}
	usage := object{"limit": 1000, "used": 1, "reserved": 0, "in_use": 1}
	switch {
	case service == "nova" && path == "limits":
		reply(w, http.StatusOK, object{"limits": object{"rate": []any{}, "absolute": object{
			"maxTotalInstances": 1000, "maxTotalCores": 1000, "maxTotalRAMSize": 10000000, "maxServerGroups": 1000, "totalInstancesUsed": 1,
			"totalCoresUsed": 1, "totalRAMUsed": 1024,
		}}})
	case service == "nova" && path == "os-availability-zone":
		reply(w, http.StatusOK, object{"availabilityZoneInfo": []any{object{"zoneName": "az1", "zoneState": object{"available": true}}}})
	case service == "nova" && last == "os-interface":
		found := []any{}
		for _, port := range p.objects["ports"] {
			if port.text("device_id") == parts[1] {
				found = append(found,
					object{"port_id": port["id"], "net_id": port["network_id"], "port_state": "ACTIVE", "fixed_ips": port["fixed_ips"],
						"mac_addr": port["mac_address"]})
			}
		}
		reply(w, http.StatusOK, object{"interfaceAttachments": found})
	case service == "nova" && len(parts) > 2 && parts[2] == "os-volume_attachments":
		p.attachments(w, r, parts, body)
	case service == "nova" && last == "migrations":
		reply(w, http.StatusOK, object{"migrations": []any{}})
	case service == "neutron" && parts[0] == "quotas":
		quota := object{}
		for _, name := range []string{"network", "subnet", "port", "router", "security_group", "floatingip", "security_group_rule"} {
			quota[name] = usage
		}
		reply(w, http.StatusOK, object{"quota": quota})
	case service == "neutron" && parts[0] == "extensions":
		reply(w, http.StatusOK, object{"extensions": []any{}})
	case last == "add_router_interface":
		subnet := p.find("subnets", fmt.Sprint(body["subnet_id"]))
		port := p.create("ports",
			object{"network_id": subnet["network_id"], "device_id": parts[1], "device_owner": "network:router_interface",
				"fixed_ips": []any{map[string]any{"subnet_id": subnet["id"], "ip_address": subnet["gateway_ip"]}}})
		reply(w, http.StatusOK, object{"id": parts[1], "port_id": port["id"], "subnet_id": subnet["id"]})
	case last == "remove_router_interface":
		p.objects["ports"] = slices.DeleteFunc(p.objects["ports"], func(o object) bool { return o.text("device_id") == parts[1] })
		reply(w, http.StatusOK, object{"id": parts[1], "subnet_id": body["subnet_id"]})
	case service == "cinder" && parts[0] == "os-quota-sets":
		quota := object{"id": "q"}
		for _, name := range []string{"volumes", "gigabytes", "snapshots", "backups", "per_volume_gigabytes", "backup_gigabytes", "groups"} {
			quota[name] = usage
		}
		reply(w, http.StatusOK, object{"quota_set": quota})
	case service == "cinder" && last == "action":
		if volume := p.find("volumes", parts[1]); volume != nil {
			if extend, ok := body["os-extend"].(map[string]any); ok {
				volume["size"] = extend["new_size"]
			}
		}
		reply(w, http.StatusAccepted, nil)
	case service == "cinder" && path == "limits":
		reply(w, http.StatusOK,
			object{"limits": object{"rate": []any{},
				"absolute": object{"maxTotalVolumes": 1000, "maxTotalVolumeGigabytes": 10000, "totalVolumesUsed": 1, "totalGigabytesUsed": 1}}})
	case service == "octavia" && (path == "providers" || path == "flavors"):
		reply(w, http.StatusOK, object{path: []any{object{"name": "amphora", "description": "d"}}})
	case service == "octavia" && parts[0] == "quotas":
		reply(w, http.StatusOK, object{"quota": object{"load_balancer": 100, "listener": 100, "pool": 100, "member": 100, "healthmonitor": 100}})
	default:
		return false
	}
	return true
}

func (p *openStackPeer) attachments(w http.ResponseWriter, r *http.Request, parts []string, body map[string]any) {
	server := p.find("servers", parts[1])
	if server == nil {
		reply(w, http.StatusNotFound, object{"itemNotFound": object{"code": 404, "message": "no server"}})
		return
	}
	attached, _ := server["volumes"].([]any)
	switch r.Method {
	case http.MethodPost:
		content := body["volumeAttachment"].(map[string]any)
		id := fmt.Sprint(content["volumeId"])
		attachment := object{"id": id, "volumeId": id, "serverId": parts[1], "device": "/dev/vdb"}
		server["volumes"] = append(attached, attachment)
		if volume := p.find("volumes", id); volume != nil {
			volume["status"], volume["attachments"] = "in-use", []any{object{"id": id, "attachment_id": id, "server_id": parts[1], "volume_id": id,
				"device": "/dev/vdb"}}
		}
		reply(w, http.StatusOK, object{"volumeAttachment": attachment})
	case http.MethodDelete:
		server["volumes"] = []any{}
		if volume := p.find("volumes", parts[3]); volume != nil {
			volume["status"], volume["attachments"] = "available", []any{}
		}
		reply(w, http.StatusAccepted, nil)
	default:
		reply(w, http.StatusOK, object{"volumeAttachments": append([]any{}, attached...)})
	}
}

// members are those of a pool.
func (p *openStackPeer) members(w http.ResponseWriter, r *http.Request, parts []string, body map[string]any) {
	if len(parts) == 3 && parts[2] == "status" || parts[0] != "pools" {
		reply(w, http.StatusNotFound, nil)
		return
	}
	pool := p.find("pools", parts[1])
	if pool == nil {
		reply(w, http.StatusNotFound, object{"faultstring": "no pool"})
		return
	}
	key := "members of " + parts[1]
	switch r.Method {
	case http.MethodPut:
		p.objects[key] = nil
		list, _ := body["members"].([]any)
		for _, one := range list {
			p.add(key, object(one.(map[string]any)))
		}
		reply(w, http.StatusAccepted, nil)
	case http.MethodGet:
		found := []any{}
		for _, o := range p.objects[key] {
			found = append(found, o)
		}
		reply(w, http.StatusOK, object{"members": found})
	default:
		reply(w, http.StatusNotFound, nil)
	}
}
