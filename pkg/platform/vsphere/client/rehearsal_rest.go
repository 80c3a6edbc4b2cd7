// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/vmware/govmomi/vapi/tags"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/lists"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/rehearsal"
)

// taggingPath is the path of the API for tags.
const taggingPath = "/rest/com/vmware/cis/tagging/"

// rehearsingREST is like rehearsing, for the REST API. Of that, only tags are written.
type rehearsingREST struct {
	next  http.RoundTripper
	vim   *rehearsing
	mutex sync.Mutex
	// categories and tags are those that do not exist.
	categories []tags.Category
	tags       []tags.Tag
	// deleted are the IDs of deleted tags.
	deleted map[string]bool
	// attached are the IDs of the tags that were attached to objects.
	attached map[types.ManagedObjectReference][]string
	// names are the names of tags and categories that were read, by ID.
	names map[string]string
}

func newRehearsingREST(next http.RoundTripper, vim *rehearsing) *rehearsingREST {
	return &rehearsingREST{next: next, vim: vim, deleted: map[string]bool{}, attached: map[types.ManagedObjectReference][]string{},
		names: map[string]string{}}
}

// taggedObject is an object in the REST API.
type taggedObject struct {
	Type string `json:"type"`
	ID   string `json:"id"`
}

func (o taggedObject) reference() types.ManagedObjectReference {
	return types.ManagedObjectReference{Type: o.Type, Value: o.ID}
}

// RoundTrip implements http.RoundTripper.
func (r *rehearsingREST) RoundTrip(request *http.Request) (*http.Response, error) {
	resource, ok := strings.CutPrefix(request.URL.Path, taggingPath)
	if strings.HasPrefix(request.URL.Path, restSessionPath) || !ok && request.Method == http.MethodGet {
		return r.next.RoundTrip(request)
	}
	call := restCall{rehearsingREST: r, request: request}
	resource, call.id, _ = strings.Cut(resource, "/id:")
	switch method := strings.TrimSpace(request.Method + " " + resource + " " + request.URL.Query().Get("~action")); {
	case method == "GET category" && call.id == "":
		return call.listIDs(r.categoryIDs)
	case method == "GET category":
		return get(&call, r.categories, func(c *tags.Category) (string, string) { return c.ID, c.Name })
	case method == "GET tag" && call.id != "":
		return get(&call, r.tags, func(t *tags.Tag) (string, string) { return t.ID, t.Name })
	case method == "POST tag list-tags-for-category":
		return call.listIDs(r.tagIDs)
	case method == "POST tag-association list-attached-tags":
		return call.listAttachedTags()
	case method == "POST tag-association list-attached-objects":
		return call.listAttachedObjects()
	case method == "POST category":
		return call.createCategory()
	case method == "POST tag":
		return call.createTag()
	case method == "POST tag-association attach":
		return call.attach()
	case method == "DELETE tag" && call.id != "":
		return call.deleteTag()
	default:
		return nil, rehearsal.Refuse("vapi", request.Method, request.URL.Path)
	}
}

// restCall is a request to the API for tags.
type restCall struct {
	*rehearsingREST
	request *http.Request
	id      string
}

// value is the answer of the API.
type value[T any] struct {
	Value T `json:"value"`
}

// respond returns the response to a request that was not sent.
func (c *restCall) respond(status int, content any) (*http.Response, error) {
	body, err := json.Marshal(content)
	if err != nil {
		return nil, err
	}
	return &http.Response{
		StatusCode: status, Status: http.StatusText(status), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(bytes.NewReader(body)), Request: c.request,
	}, nil
}

// ask sends the request and returns the value of the response. It returns the response if it has none.
func ask[T any](c *restCall) (found T, failed *http.Response, err error) {
	response, err := c.next.RoundTrip(c.request)
	if err != nil || response.StatusCode != http.StatusOK {
		return found, response, err
	}
	var answer value[T]
	err = json.NewDecoder(response.Body).Decode(&answer)
	if err := errors.Join(err, response.Body.Close()); err != nil {
		return found, nil, platform.NewError(platform.ClassTransient, "the response about tags cannot be decoded: %w", platform.Foreign(err))
	}
	return answer.Value, nil, nil
}

// read decodes the body of the request, and leaves it to be read again.
func read[T any](c *restCall) (content T, err error) {
	if c.request.Body == nil {
		return content, nil
	}
	body, err := io.ReadAll(c.request.Body)
	if err := errors.Join(err, c.request.Body.Close()); err != nil {
		return content, err
	}
	c.request = c.request.Clone(c.request.Context())
	c.request.Body = io.NopCloser(bytes.NewReader(body))
	return content, json.Unmarshal(body, &content)
}

// record adds the write.
func (c *restCall) record(action v1alpha1.PlannedAction, kind, id, name string, fields ...v1alpha1.PlannedField) error {
	path := c.request.URL.Path
	if c.request.URL.RawQuery != "" {
		path += "?" + c.request.URL.RawQuery
	}
	return c.vim.log.Add(rehearsal.Write{
		PlannedRequest: v1alpha1.PlannedRequest{Service: "vapi", Method: c.request.Method, Path: path},
		Site:           c.vim.site, Action: action, Kind: kind, ID: id, Name: name, Fields: fields,
	})
}

// urn is the prefix of IDs of tags and categories. The client takes others for names.
const urn = "urn:"

func (c *restCall) newID(kind string) string {
	return urn + c.vim.log.NewID(c.vim.site, kind)
}

func isMadeUpTag(id string) bool {
	return rehearsal.IsMadeUp(strings.TrimPrefix(id, urn))
}

// listIDs answers a list of IDs, to which created adds those of objects that do not exist.
func (c *restCall) listIDs(created func(category string) []string) (*http.Response, error) {
	var ids []string
	if !isMadeUpTag(c.id) {
		var failed *http.Response
		var err error
		if ids, failed, err = ask[[]string](c); failed != nil || err != nil {
			return failed, err
		}
	}
	c.mutex.Lock()
	ids = slices.DeleteFunc(append(ids, created(c.id)...), func(id string) bool { return c.deleted[id] })
	c.mutex.Unlock()
	return c.respond(http.StatusOK, value[[]string]{append([]string{}, ids...)})
}

func (r *rehearsingREST) categoryIDs(string) (ids []string) {
	for _, category := range r.categories {
		ids = append(ids, category.ID)
	}
	return ids
}

func (r *rehearsingREST) tagIDs(category string) (ids []string) {
	for _, tag := range r.tags {
		if tag.CategoryID == category {
			ids = append(ids, tag.ID)
		}
	}
	return ids
}

// get answers a read of a tag or a category, which may be a created one.
func get[T any](c *restCall, created []T, describe func(*T) (id, name string)) (*http.Response, error) {
	c.mutex.Lock()
	found := lists.Find(created, func(object *T) bool {
		id, _ := describe(object)
		return id == c.id
	})
	gone := c.deleted[c.id] || found == nil && isMadeUpTag(c.id)
	c.mutex.Unlock()
	switch {
	case gone:
		return c.respond(http.StatusNotFound, value[string]{"it does not exist after the requests of the plan"})
	case found != nil:
		return c.respond(http.StatusOK, value[*T]{found})
	}
	object, failed, err := ask[T](c)
	if failed != nil || err != nil {
		return failed, err
	}
	c.mutex.Lock()
	if id, name := describe(&object); len(c.names) < rehearsal.MaxObjects {
		c.names[id] = name
	}
	c.mutex.Unlock()
	return c.respond(http.StatusOK, value[T]{object})
}

// listAttachedTags answers which tags an object has.
func (c *restCall) listAttachedTags() (*http.Response, error) {
	asked, err := read[struct {
		Object taggedObject `json:"object_id"`
	}](c)
	if err != nil {
		return nil, err
	}
	ids := []string{}
	if !rehearsal.IsMadeUp(asked.Object.ID) {
		known, failed, err := ask[[]string](c)
		if failed != nil || err != nil {
			return failed, err
		}
		ids = append(ids, known...)
	}
	c.mutex.Lock()
	defer c.mutex.Unlock()
	ids = slices.DeleteFunc(append(ids, c.attached[asked.Object.reference()]...), func(id string) bool { return c.deleted[id] })
	return c.respond(http.StatusOK, value[[]string]{ids})
}

// listAttachedObjects answers which objects have a tag.
func (c *restCall) listAttachedObjects() (*http.Response, error) {
	objects := []taggedObject{}
	if !isMadeUpTag(c.id) {
		known, failed, err := ask[[]taggedObject](c)
		if failed != nil || err != nil {
			return failed, err
		}
		objects = append(objects, known...)
	}
	c.mutex.Lock()
	defer c.mutex.Unlock()
	for object, ids := range c.attached {
		if slices.Contains(ids, c.id) {
			objects = append(objects, taggedObject{object.Type, object.Value})
		}
	}
	return c.respond(http.StatusOK, value[[]taggedObject]{objects})
}

func (c *restCall) createCategory() (*http.Response, error) {
	asked, err := read[struct {
		Category tags.Category `json:"create_spec"`
	}](c)
	if err != nil {
		return nil, err
	}
	asked.Category.ID = c.newID("tag category")
	c.mutex.Lock()
	c.categories = append(c.categories, asked.Category)
	c.mutex.Unlock()
	if err := c.record(v1alpha1.PlannedActionCreate, "tag category", asked.Category.ID, asked.Category.Name); err != nil {
		return nil, err
	}
	return c.respond(http.StatusOK, value[string]{asked.Category.ID})
}

func (c *restCall) createTag() (*http.Response, error) {
	asked, err := read[struct {
		Tag tags.Tag `json:"create_spec"`
	}](c)
	if err != nil {
		return nil, err
	}
	asked.Tag.ID = c.newID("tag")
	c.mutex.Lock()
	c.tags = append(c.tags, asked.Tag)
	c.mutex.Unlock()
	if err := c.record(v1alpha1.PlannedActionCreate, "tag", asked.Tag.ID, asked.Tag.Name); err != nil {
		return nil, err
	}
	return c.respond(http.StatusOK, value[string]{asked.Tag.ID})
}

// attach attaches the tag to an object, which is a change of that.
func (c *restCall) attach() (*http.Response, error) {
	asked, err := read[struct {
		Object taggedObject `json:"object_id"`
	}](c)
	if err != nil {
		return nil, err
	}
	object := asked.Object.reference()
	c.mutex.Lock()
	c.attached[object] = append(c.attached[object], c.id)
	c.mutex.Unlock()
	err = c.record(v1alpha1.PlannedActionChange, kindNames[object.Type], object.Value, c.vim.nameOf(object),
		v1alpha1.PlannedField{Name: "tag", To: c.tagName()})
	if err != nil {
		return nil, err
	}
	return c.respond(http.StatusOK, struct{}{})
}

func (c *restCall) deleteTag() (*http.Response, error) {
	name := c.tagName()
	c.mutex.Lock()
	c.deleted[c.id] = true
	c.mutex.Unlock()
	if err := c.record(v1alpha1.PlannedActionDelete, "tag", c.id, name); err != nil {
		return nil, err
	}
	return c.respond(http.StatusOK, struct{}{})
}

// tagName returns the name of the tag, or its ID if that was not read.
func (c *restCall) tagName() string {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if created := lists.Find(c.tags, func(t *tags.Tag) bool { return t.ID == c.id }); created != nil {
		return created.Name
	}
	return cmp.Or(c.names[c.id], c.id)
}
