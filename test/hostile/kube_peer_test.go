// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package hostile

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/client-go/kubernetes/scheme"
)

// kubePeer is the API of an inventory that does what it is told, in memory, with two hosts of each kind. It plays the operators,
// which are done at once.
type kubePeer struct {
	mutex    sync.Mutex
	changed  *sync.Cond
	version  int
	objects  map[string]object
	versions []kubeEvent
}

// kubeEvent is a change of an object.
type kubeEvent struct {
	version  int
	resource string
	Type     string `json:"type"`
	Object   object `json:"object"`
}

// kubeResources are what is served: group and version, and the kind by the name of the resource.
var kubeResources = map[string]map[string]string{
	"api/v1":                           {"secrets": "Secret", "namespaces": "Namespace"},
	"apis/metal3.io/v1alpha1":          {"baremetalhosts": "BareMetalHost"},
	"apis/metal.ironcore.dev/v1alpha1": {"servers": "Server", "serverclaims": "ServerClaim"},
	"apis/ipam.cluster.x-k8s.io/v1beta1": {"ipaddressclaims": "IPAddressClaim", "ipaddresses": "IPAddress",
		"inclusterippools": "InClusterIPPool"},
	"apis/ipam.cluster.x-k8s.io/v1beta2": {"ipaddressclaims": "IPAddressClaim", "ipaddresses": "IPAddress",
		"inclusterippools": "InClusterIPPool"},
	"apis/authorization.k8s.io/v1": {"selfsubjectaccessreviews": "SelfSubjectAccessReview"},
}

func newKubePeer() *kubePeer {
	p := &kubePeer{objects: map[string]object{}}
	p.changed = sync.NewCond(&p.mutex)
	for _, name := range []string{"kube-system", "default", hostNamespace} {
		p.put("namespaces", object{"apiVersion": "v1", "kind": "Namespace", "metadata": object{"name": name}}, "ADDED")
	}
	for i := range 2 {
		name := fmt.Sprintf("host-%d", i+1)
		labels := object{"rack": "r1", "size": "s"}
		p.put("baremetalhosts", object{
			"apiVersion": "metal3.io/v1alpha1", "kind": "BareMetalHost", "metadata": object{"name": name, "namespace": hostNamespace,
				"labels": labels},
			"spec": object{"online": false, "bootMACAddress": fmt.Sprintf("02:00:00:00:00:0%d", i), "automatedCleaningMode": "metadata"},
		}, "ADDED")
		p.put("servers", object{
			"apiVersion": "metal.ironcore.dev/v1alpha1", "kind": "Server", "metadata": object{"name": name, "labels": labels},
			"spec": object{"reclaimPolicy": "Retain", "systemUUID": string(uuid.NewUUID())}, "status": object{"state": "Available",
				"powerState": "Off", "networkInterfaces": []any{
					object{"name": "eth0", "macAddress": fmt.Sprintf("02:00:00:00:01:0%d", i), "carrierStatus": "up", "ips": []any{"10.250.0.9"}},
				}},
		}, "ADDED")
	}
	return p
}

func keyOf(resource string, o object) string {
	metadata := o["metadata"].(object)
	return resource + "/" + metadata.text("namespace") + "/" + metadata.text("name")
}

// put stores the object, after the operators have seen it.
func (p *kubePeer) put(resource string, o object, kind string) {
	metadata := o["metadata"].(object)
	if metadata.text("uid") == "" {
		metadata["uid"], metadata["creationTimestamp"] = string(uuid.NewUUID()), "2026-01-01T00:00:00Z"
	}
	p.version++
	metadata["resourceVersion"] = strconv.Itoa(p.version)
	p.operate(resource, o)
	p.objects[keyOf(resource, o)] = o
	p.tell(resource, o, kind)
}

func (p *kubePeer) tell(resource string, o object, kind string) {
	p.versions = append(p.versions, kubeEvent{version: p.version, resource: resource, Type: kind, Object: clone(o)})
	p.changed.Broadcast()
}

func clone(o object) object {
	raw, _ := json.Marshal(o)
	return parse(raw)
}

func parse(raw []byte) object {
	var result map[string]any
	_ = json.Unmarshal(raw, &result)
	return typed(result)
}

// typed makes objects of all maps.
func typed(of map[string]any) object {
	result := object{}
	for key, value := range of {
		if inner, ok := value.(map[string]any); ok {
			value = typed(inner)
		}
		result[key] = value
	}
	return result
}

func (o object) at(key string) object {
	inner, ok := o[key].(object)
	if !ok {
		inner = object{}
		o[key] = inner
	}
	return inner
}

// operate is what the operators do.
func (p *kubePeer) operate(resource string, o object) {
	switch resource {
	case "baremetalhosts":
		status := o.at("status")
		status["operationalStatus"], status["poweredOn"] = "OK", o.at("spec")["online"]
		status["hardware"] = object{"nics": []any{object{"name": "eth0", "mac": "02:00:00:00:00:00", "ip": "10.250.0.9"}}}
		if image, ok := o.at("spec")["image"].(object); ok {
			status["provisioning"] = object{"state": "provisioned", "ID": "i", "image": image}
		} else {
			status["provisioning"] = object{"state": "available", "ID": ""}
		}
	case "serverclaims":
		server := p.objects["servers//"+o.at("spec").at("serverRef").text("name")]
		if server == nil {
			return
		}
		metadata := o.at("metadata")
		server.at("spec")["serverClaimRef"] = object{"apiVersion": "metal.ironcore.dev/v1alpha1", "kind": "ServerClaim",
			"namespace": metadata["namespace"], "name": metadata["name"], "uid": metadata["uid"]}
		server.at("status")["state"], server.at("status")["powerState"] = "Reserved", o.at("spec")["power"]
		o.at("status")["phase"] = "Bound"
		p.put("servers", server, "MODIFIED")
	}
}

func (p *kubePeer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Authorization") != "Bearer "+secretToken {
		p.refuse(w, http.StatusUnauthorized, "Unauthorized", "Unauthorized")
		return
	}
	p.mutex.Lock()
	defer p.mutex.Unlock()
	path := strings.Trim(r.URL.Path, "/")
	if p.discover(w, path) {
		return
	}
	parts := strings.Split(path, "/")
	from := 2
	if parts[0] == "apis" {
		from = 3
	}
	version := strings.Join(parts[:min(from, len(parts))], "/")
	parts = parts[min(from, len(parts)):]
	namespace := ""
	if len(parts) > 2 && parts[0] == "namespaces" {
		namespace, parts = parts[1], parts[2:]
	}
	kind := ""
	if len(parts) > 0 {
		kind = kubeResources[version][parts[0]]
	}
	if kind == "" {
		http.Error(w, "404 page not found", http.StatusNotFound)
		return
	}
	body, _ := io.ReadAll(r.Body)
	if len(parts) == 1 {
		p.collection(w, r, version, parts[0], kind, namespace, body)
		return
	}
	p.single(w, r, parts[0], kind, namespace, parts[1], body)
}

func (p *kubePeer) refuse(w http.ResponseWriter, code int, reason, message string) {
	p.answer(w, code, object{"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code, "reason": reason, "message": message})
}

func (p *kubePeer) answer(w http.ResponseWriter, code int, body any) {
	w.Header().Set("Content-Type", jsonType)
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(body)
}

func (p *kubePeer) discover(w http.ResponseWriter, path string) bool {
	switch path {
	case "api":
		p.answer(w, http.StatusOK, object{"kind": "APIVersions", "versions": []any{"v1"}})
		return true
	case "apis":
		groups := []any{}
		for version := range kubeResources {
			if parts := strings.Split(version, "/"); len(parts) == 3 && version != "apis/ipam.cluster.x-k8s.io/v1beta2" {
				groups = append(groups, groupOf(parts[1], parts[2]))
			}
		}
		p.answer(w, http.StatusOK, object{"kind": "APIGroupList", "apiVersion": "v1", "groups": groups})
		return true
	}
	if resources, ok := kubeResources[path]; ok {
		var list []any
		for name, kind := range resources {
			list = append(list,
				object{"name": name, "kind": kind, "namespaced": name != "servers" && name != "namespaces" && name != "selfsubjectaccessreviews",
					"verbs": []any{"get", "list", "watch", "create", "patch", "delete"}})
		}
		version := strings.TrimPrefix(strings.TrimPrefix(path, "apis/"), "api/")
		p.answer(w, http.StatusOK, object{"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": version, "resources": list})
		return true
	}
	for version := range kubeResources {
		if parts := strings.Split(version, "/"); len(parts) == 3 && path == "apis/"+parts[1] {
			group := groupOf(parts[1], parts[2])
			group["kind"], group["apiVersion"] = "APIGroup", "v1"
			p.answer(w, http.StatusOK, group)
			return true
		}
	}
	return false
}

func groupOf(name, version string) object {
	served := object{"groupVersion": name + "/" + version, "version": version}
	return object{"name": name, "versions": []any{served}, "preferredVersion": served}
}

func (p *kubePeer) collection(w http.ResponseWriter, r *http.Request, version, resource, kind, namespace string, body []byte) {
	if r.Method == http.MethodPost {
		o := decoded(body)
		if kind == "SelfSubjectAccessReview" {
			o["status"] = object{"allowed": true}
			p.answer(w, http.StatusCreated, o)
			return
		}
		o.at("metadata")["namespace"] = namespace
		if p.objects[keyOf(resource, o)] != nil {
			p.refuse(w, http.StatusConflict, "AlreadyExists", "it exists")
			return
		}
		p.put(resource, o, "ADDED")
		p.answer(w, http.StatusCreated, o)
		return
	}
	selector, err := labels.Parse(r.URL.Query().Get("labelSelector"))
	if err != nil || r.Method != http.MethodGet {
		p.refuse(w, http.StatusBadRequest, "BadRequest", "bad request")
		return
	}
	selected := func(o object) bool {
		of := labels.Set{}
		metadata := o["metadata"].(object)
		for key, value := range metadata.at("labels") {
			of[key] = fmt.Sprint(value)
		}
		return (namespace == "" || metadata.text("namespace") == namespace) && selector.Matches(of)
	}
	if r.URL.Query().Get("watch") != "" {
		p.watch(w, r, resource, selected)
		return
	}
	items := []any{}
	var names []string
	for key := range p.objects {
		names = append(names, key)
	}
	slices.Sort(names)
	for _, key := range names {
		if o := p.objects[key]; strings.HasPrefix(key, resource+"/") && selected(o) {
			items = append(items, o)
		}
	}
	list := object{"kind": kind + "List", "apiVersion": strings.TrimPrefix(strings.TrimPrefix(version, "apis/"), "api/"),
		"metadata": object{"resourceVersion": strconv.Itoa(p.version)}, "items": items}
	if strings.Contains(r.Header.Get("Accept"), "as=PartialObjectMetadataList") {
		list["kind"], list["apiVersion"] = "PartialObjectMetadataList", "meta.k8s.io/v1"
		for i := range items {
			items[i] = object{"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": items[i].(object)["metadata"]}
		}
	}
	p.answer(w, http.StatusOK, list)
}

// decoded understands JSON and protobuf.
func decoded(body []byte) object {
	if o, _, err := scheme.Codecs.UniversalDeserializer().Decode(body, nil, nil); err == nil {
		if content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o); err == nil {
			raw, _ := json.Marshal(content)
			return parse(raw)
		}
	}
	return parse(body)
}

func (p *kubePeer) watch(w http.ResponseWriter, r *http.Request, resource string, selected func(object) bool) {
	since, _ := strconv.Atoi(r.URL.Query().Get("resourceVersion"))
	w.Header().Set("Content-Type", jsonType)
	w.WriteHeader(http.StatusOK)
	flusher, _ := w.(http.Flusher)
	stop := make(chan struct{})
	defer close(stop)
	go func() {
		select {
		case <-r.Context().Done():
		case <-stop:
		}
		p.mutex.Lock()
		defer p.mutex.Unlock()
		p.changed.Broadcast()
	}()
	next := 0
	for r.Context().Err() == nil {
		for ; next < len(p.versions); next++ {
			event := p.versions[next]
			if event.version > since && event.resource == resource && selected(event.Object) {
				_ = json.NewEncoder(w).Encode(event)
			}
		}
		if flusher != nil {
			flusher.Flush()
		}
		p.changed.Wait()
	}
}

func (p *kubePeer) single(w http.ResponseWriter, r *http.Request, resource, kind, namespace, name string, body []byte) {
	key := resource + "/" + namespace + "/" + name
	o := p.objects[key]
	if o == nil {
		p.answer(w, http.StatusNotFound, object{
			"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 404, "reason": "NotFound", "message": resource + " \"" + name +
				"\" not found",
			"details": object{"name": name, "kind": resource},
		})
		return
	}
	switch r.Method {
	case http.MethodGet:
		p.answer(w, http.StatusOK, o)
	case http.MethodDelete:
		delete(p.objects, key)
		p.version++
		p.tell(resource, o, "DELETED")
		if server := p.objects["servers//"+o.at("spec").at("serverRef").text("name")]; kind == "ServerClaim" && server != nil {
			delete(server.at("spec"), "serverClaimRef")
			server.at("status")["state"], server.at("status")["powerState"] = "Released", "Off"
			p.put("servers", server, "MODIFIED")
		}
		p.answer(w, http.StatusOK, object{"kind": "Status", "apiVersion": "v1", "status": "Success"})
	case http.MethodPatch, http.MethodPut:
		change := decoded(body)
		if version := change.at("metadata").text("resourceVersion"); version != "" && version != o.at("metadata").text("resourceVersion") {
			p.refuse(w, http.StatusConflict, "Conflict", "it was changed")
			return
		}
		delete(change.at("metadata"), "resourceVersion")
		o = clone(o)
		merge(o, change)
		p.put(resource, o, "MODIFIED")
		p.answer(w, http.StatusOK, o)
	default:
		p.refuse(w, http.StatusMethodNotAllowed, "MethodNotAllowed", "no")
	}
}

func merge(into, change object) {
	for key, value := range change {
		switch content := value.(type) {
		case nil:
			delete(into, key)
		case object:
			merge(into.at(key), content)
		default:
			into[key] = value
		}
	}
}
