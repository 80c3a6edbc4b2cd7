// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/http"
	"path"
	"slices"
	"strings"
	"sync"

	metalv1alpha1 "github.com/ironcore-dev/metal-operator/api/v1alpha1"
	metal3v1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/rehearsal"
)

// rehearsing records requests that would change the inventory. It answers deletions itself, and sends patches as dry runs: the API persists
// nothing, and answers what the object would be, or that the credentials lack a permission. Later reads see the effect, together with what
// the operators of the inventory make of it.
type rehearsing struct {
	next     http.RoundTripper
	site     string
	log      *rehearsal.Log
	describe func(*http.Request) (service, method string)

	mutex sync.Mutex
	// changed are the objects that would be different, by path.
	changed map[string]json.RawMessage
	deleted map[string]bool
}

func newRehearsing(next http.RoundTripper, site, basePath string, log *rehearsal.Log) *rehearsing {
	return &rehearsing{next: next, site: site, log: log, describe: describer(basePath), changed: map[string]json.RawMessage{},
		deleted: map[string]bool{}}
}

// kindNames are the names of kinds by resource.
var kindNames = map[string]string{
	"baremetalhosts": "host", "serverclaims": "server claim", "servers": "server", "secrets": "Secret", "ipaddressclaims": "address claim",
}

// RoundTrip implements http.RoundTripper.
func (r *rehearsing) RoundTrip(request *http.Request) (*http.Response, error) {
	switch method := request.Method; {
	case method == http.MethodGet && !isWatch(request):
		return r.read(request)
	case method == http.MethodGet, method == http.MethodPost && request.URL.Query().Get("dryRun") == metav1.DryRunAll,
		method == http.MethodPost && path.Base(request.URL.Path) == "selfsubjectaccessreviews":
		return r.next.RoundTrip(request)
	case method == http.MethodPatch, method == http.MethodDelete:
		return r.write(request)
	default:
		service, _ := r.describe(request)
		return nil, rehearsal.Refuse(service, method, request.URL.Path)
	}
}

// write records the request, and asks the API for the effect of a patch.
func (r *rehearsing) write(request *http.Request) (*http.Response, error) {
	service, _ := r.describe(request)
	resource := path.Base(path.Dir(request.URL.Path))
	kind, known := kindNames[resource]
	if !known {
		return nil, rehearsal.Refuse(service, request.Method, request.URL.Path)
	}
	w := rehearsal.Write{
		PlannedRequest: v1alpha1.PlannedRequest{Service: service, Method: request.Method, Path: request.URL.Path},
		Site:           r.site, Action: v1alpha1.PlannedActionChange, Kind: kind, ID: strings.TrimPrefix(request.URL.Path, "/"),
		Name: path.Base(request.URL.Path),
	}
	body, err := bodyOf(request)
	if err != nil {
		return nil, err
	}
	if request.Method == http.MethodDelete {
		w.Action = v1alpha1.PlannedActionDelete
	} else if resource != "secrets" {
		w.Fields = fieldsOf(body)
	}
	if err := r.log.Add(w); err != nil {
		return nil, err
	}

	if request.Method == http.MethodDelete {
		// The options of a deletion are in its body, which has precedence over the query.
		r.mutex.Lock()
		defer r.mutex.Unlock()
		r.deleted[request.URL.Path] = true
		content, err := json.Marshal(metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusSuccess})
		return respond(newResponse(request, http.StatusOK), content), err
	}

	sent := request.Clone(request.Context())
	sent.Body, sent.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	query := sent.URL.Query()
	query.Set("dryRun", metav1.DryRunAll)
	sent.URL.RawQuery = query.Encode()
	response, err := r.next.RoundTrip(sent)
	if err != nil || response.StatusCode >= http.StatusMultipleChoices {
		return response, err
	}
	object, err := contentOf(response)
	if err != nil {
		return nil, err
	}
	if resource == "baremetalhosts" {
		if object, err = deprovisioned(object); err != nil {
			return nil, err
		}
	}
	r.mutex.Lock()
	r.changed[request.URL.Path] = object
	r.mutex.Unlock()
	return respond(response, object), nil
}

func bodyOf(request *http.Request) ([]byte, error) {
	if request.Body == nil {
		return nil, nil
	}
	body, err := io.ReadAll(request.Body)
	return body, errors.Join(err, request.Body.Close())
}

func contentOf(response *http.Response) (json.RawMessage, error) {
	content, err := io.ReadAll(response.Body)
	return content, errors.Join(err, response.Body.Close())
}

// respond returns the response with another body.
func respond(response *http.Response, body []byte) *http.Response {
	response.Body, response.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	response.Header.Del("Content-Length")
	return response
}

// fieldsOf returns the fields of the spec that a merge patch changes.
func fieldsOf(patch []byte) []v1alpha1.PlannedField {
	var content struct {
		Spec map[string]json.RawMessage `json:"spec"`
	}
	_ = json.Unmarshal(patch, &content)
	var fields []v1alpha1.PlannedField
	for _, name := range slices.Sorted(maps.Keys(content.Spec)) {
		if value := string(content.Spec[name]); value != "null" {
			fields = append(fields, v1alpha1.PlannedField{Name: "spec." + name, To: value})
		} else {
			fields = append(fields, v1alpha1.PlannedField{Name: "spec." + name})
		}
	}
	return fields
}

// deprovisioned returns the host as baremetal-operator leaves it when it has removed the image.
func deprovisioned(raw json.RawMessage) (json.RawMessage, error) {
	host := &metal3v1alpha1.BareMetalHost{}
	if err := json.Unmarshal(raw, host); err != nil {
		return nil, errNotObject(err)
	}
	if host.Spec.Image != nil {
		return raw, nil
	}
	host.Status.Provisioning.State, host.Status.PoweredOn = metal3v1alpha1.StateAvailable, host.Spec.Online
	host.Status.ErrorType, host.Status.ErrorMessage = "", ""
	return json.Marshal(host)
}

func errNotObject(err error) error {
	return platform.NewError(platform.ClassTransient, "the response of the API cannot be decoded: %w", platform.Foreign(err))
}

// read answers a read of an object or a list.
func (r *rehearsing) read(request *http.Request) (*http.Response, error) {
	r.mutex.Lock()
	changed, deleted := r.changed[request.URL.Path], r.deleted[request.URL.Path]
	touched := len(r.changed)+len(r.deleted) > 0
	r.mutex.Unlock()
	switch {
	case deleted:
		resource := schema.GroupResource{Resource: path.Base(path.Dir(request.URL.Path))}
		status := apierrors.NewNotFound(resource, path.Base(request.URL.Path)).Status()
		status.TypeMeta = metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}
		body, err := json.Marshal(status)
		return respond(newResponse(request, http.StatusNotFound), body), err
	case changed != nil:
		return respond(newResponse(request, http.StatusOK), changed), nil
	}
	response, err := r.next.RoundTrip(request)
	if err != nil || !touched || response.StatusCode != http.StatusOK {
		return response, err
	}
	content, err := contentOf(response)
	if err != nil {
		return nil, err
	}
	if content, err = r.view(request.URL.Path, content); err != nil {
		return nil, err
	}
	return respond(response, content), nil
}

func newResponse(request *http.Request, status int) *http.Response {
	return &http.Response{StatusCode: status, Status: http.StatusText(status), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Content-Type": {runtime.ContentTypeJSON}}, Request: request}
}

// list is a list of objects, or a single one, which has no items.
type list struct {
	metav1.TypeMeta `json:",inline"`
	Metadata        json.RawMessage   `json:"metadata"`
	Items           []json.RawMessage `json:"items"`
}

// view returns the object or the list as it would be.
func (r *rehearsing) view(place string, content json.RawMessage) (json.RawMessage, error) {
	found := list{}
	if err := json.Unmarshal(content, &found); err != nil {
		return nil, errNotObject(err)
	}
	if !strings.HasSuffix(found.Kind, "List") {
		return r.released(place, content)
	}
	items := []json.RawMessage{}
	for _, item := range found.Items {
		object := metav1.PartialObjectMetadata{}
		if err := json.Unmarshal(item, &object); err != nil {
			return nil, errNotObject(err)
		}
		itemPlace := path.Join(place, object.Name)
		r.mutex.Lock()
		changed, deleted := r.changed[itemPlace], r.deleted[itemPlace]
		r.mutex.Unlock()
		if deleted {
			continue
		}
		if changed != nil {
			item = changed
		}
		item, err := r.released(itemPlace, item)
		if err != nil {
			return nil, err
		}
		items = append(items, item)
	}
	found.Items = items
	return json.Marshal(found)
}

// released returns a server as metal-operator leaves it when its claim is deleted, and other objects as they are.
func (r *rehearsing) released(place string, raw json.RawMessage) (json.RawMessage, error) {
	if path.Base(path.Dir(place)) != "servers" {
		return raw, nil
	}
	server := &metalv1alpha1.Server{}
	if err := json.Unmarshal(raw, server); err != nil {
		return nil, errNotObject(err)
	}
	claim := server.Spec.ServerClaimRef
	if claim == nil || !r.isDeletedClaim(claim.Namespace, claim.Name) {
		return raw, nil
	}
	server.Spec.ServerClaimRef = nil
	server.Status.State, server.Status.PowerState = metalv1alpha1.ServerStateAvailable, metalv1alpha1.ServerOffPowerState
	return json.Marshal(server)
}

func (r *rehearsing) isDeletedClaim(namespace, name string) bool {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	suffix := path.Join("/namespaces", namespace, "serverclaims", name)
	return slices.ContainsFunc(slices.Collect(maps.Keys(r.deleted)), func(place string) bool { return strings.HasSuffix(place, suffix) })
}
