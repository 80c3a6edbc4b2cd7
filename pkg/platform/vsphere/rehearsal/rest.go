// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package rehearsal

import (
	"cmp"
	"net/http"
	"slices"
	"strings"

	"github.com/vmware/govmomi/vapi/rest"
	"github.com/vmware/govmomi/vapi/tags"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/lists"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/rehearsal"
)

const (
	sessionPath = rest.Path + "/com/vmware/cis/session"
	taggingPath = rest.Path + "/com/vmware/cis/tagging/"
	// urn is the prefix of IDs of tags and categories. The client takes others for names.
	urn = "urn:"
)

// tagObject is a tag, or a category, which has no category ID.
type tagObject struct {
	tags.Tag
	Cardinality     string   `json:"cardinality,omitempty"`
	AssociableTypes []string `json:"associable_types,omitempty"`
}

// taggedObject is an object in the REST API.
type taggedObject struct {
	Type string `json:"type"`
	ID   string `json:"id"`
}

func (o taggedObject) reference() types.ManagedObjectReference {
	return types.ManagedObjectReference{Type: o.Type, Value: o.ID}
}

// value is the answer of the API.
type value[T any] struct {
	Value T `json:"value"`
}

// restCall is a request to the API for tags.
type restCall struct {
	*rehearsal.Call
	*rehearsing
	id string
}

// answer answers a request to the REST API. Of that, only tags are written.
func (r *rehearsing) answer(c *rehearsal.Call) (*http.Response, error) {
	resource, isTagging := strings.CutPrefix(c.URL.Path, taggingPath)
	if strings.HasPrefix(c.URL.Path, sessionPath) || !isTagging && c.Method == http.MethodGet {
		return c.Pass()
	}
	resource, id, _ := strings.Cut(resource, "/id:")
	call := &restCall{Call: c, rehearsing: r, id: id}
	switch method := strings.TrimSpace(c.Method + " " + resource + " " + c.URL.Query().Get("~action")); {
	case method == "GET category" && id == "", method == "POST tag list-tags-for-category":
		return call.list()
	case method == "GET category", method == "GET tag" && id != "":
		return call.get()
	case method == "POST tag-association list-attached-tags":
		return call.listAttachedTags()
	case method == "POST tag-association list-attached-objects":
		return call.listAttachedObjects()
	case method == "POST category":
		return call.create("tag category")
	case method == "POST tag":
		return call.create("tag")
	case method == "POST tag-association attach":
		return call.attach()
	case method == "DELETE tag" && id != "":
		return call.deleteTag()
	default:
		return nil, c.Refuse("vapi")
	}
}

// ask sends the request about the object with the ID and returns the value of the response. There is none about objects that do not exist.
func ask[T any](c *restCall, id string) (T, error) {
	var answer value[T]
	if isMadeUp(id) {
		return answer.Value, nil
	}
	err := c.Ask(c.Request, &answer)
	return answer.Value, err
}

func isMadeUp(id string) bool {
	return rehearsal.IsMadeUp(strings.TrimPrefix(id, urn))
}

// respond returns the response with the value unless there is an error.
func respond[T any](c *restCall, content T, err error) (*http.Response, error) {
	if err != nil {
		return nil, err
	}
	return c.Respond(http.StatusOK, value[T]{content})
}

// record adds the write.
func (c *restCall) record(action v1alpha1.PlannedAction, kind, id, name string, fields ...v1alpha1.PlannedField) error {
	return c.Record("vapi", rehearsal.Write{PlannedRequest: v1alpha1.PlannedRequest{Path: c.URL.RequestURI()}, Action: action, Kind: kind,
		ID: id, Name: name, Fields: fields})
}

// remaining returns the IDs of tags and categories that were not deleted.
func (c *restCall) remaining(ids []string) []string {
	return slices.DeleteFunc(append([]string{}, ids...), func(id string) bool { return c.destroyed[tagReference(id)] })
}

func tagReference(id string) types.ManagedObjectReference {
	return types.ManagedObjectReference{Type: "tag", Value: id}
}

// list answers a list of the categories, or of the tags of the category with the ID.
func (c *restCall) list() (*http.Response, error) {
	ids, err := ask[[]string](c, c.id)
	for _, created := range c.tags {
		if created.CategoryID == c.id {
			ids = append(ids, created.ID)
		}
	}
	return respond(c, c.remaining(ids), err)
}

// get answers a read of a tag or a category.
func (c *restCall) get() (*http.Response, error) {
	created := lists.Find(c.tags, func(t *tagObject) bool { return t.ID == c.id })
	switch {
	case c.destroyed[tagReference(c.id)], created == nil && isMadeUp(c.id):
		return c.Respond(http.StatusNotFound, value[string]{"it does not exist after the requests of the plan"})
	case created != nil:
		return respond(c, created, nil)
	}
	object, err := ask[tagObject](c, c.id)
	c.remember(namedObject{object: tagReference(object.ID)}, object.Name)
	return respond(c, object, err)
}

// listAttachedTags answers which tags an object has.
func (c *restCall) listAttachedTags() (*http.Response, error) {
	object, err := rehearsal.Field[taggedObject](c.Call, "object_id")
	if err != nil {
		return nil, err
	}
	ids, err := ask[[]string](c, object.ID)
	return respond(c, c.remaining(append(ids, c.attached[object.reference()]...)), err)
}

// listAttachedObjects answers which objects have a tag.
func (c *restCall) listAttachedObjects() (*http.Response, error) {
	objects, err := ask[[]taggedObject](c, c.id)
	for object, ids := range c.attached {
		if slices.Contains(ids, c.id) {
			objects = append(objects, taggedObject{object.Type, object.Value})
		}
	}
	return respond(c, append([]taggedObject{}, objects...), err)
}

// create creates a tag or a category.
func (c *restCall) create(kind string) (*http.Response, error) {
	created, err := rehearsal.Field[tagObject](c.Call, "create_spec")
	if err != nil {
		return nil, err
	}
	created.ID = urn + c.NewID(kind)
	c.tags = append(c.tags, created)
	c.names[namedObject{object: tagReference(created.ID)}] = created.Name
	return respond(c, created.ID, c.record(v1alpha1.PlannedActionCreate, kind, created.ID, created.Name))
}

// attach attaches the tag to an object, which is a change of that.
func (c *restCall) attach() (*http.Response, error) {
	tagged, err := rehearsal.Field[taggedObject](c.Call, "object_id")
	if err != nil {
		return nil, err
	}
	object := tagged.reference()
	c.attached[object] = append(c.attached[object], c.id)
	return respond(c, struct{}{}, c.record(v1alpha1.PlannedActionChange, kindNames[object.Type], object.Value, c.nameOf(object),
		v1alpha1.PlannedField{Name: "tag", To: c.tagName()}))
}

func (c *restCall) deleteTag() (*http.Response, error) {
	c.destroyed[tagReference(c.id)] = true
	return respond(c, struct{}{}, c.record(v1alpha1.PlannedActionDelete, "tag", c.id, c.tagName()))
}

// tagName returns the name of the tag, or its ID if that was not read.
func (c *restCall) tagName() string {
	return cmp.Or(c.nameOf(tagReference(c.id)), c.id)
}
