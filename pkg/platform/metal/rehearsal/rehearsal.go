// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package rehearsal rehearses requests to the inventory of bare-metal sites: it records those that would change something. It answers
// deletions itself, and sends patches as dry runs: the API persists nothing, and answers what the object would be, or that the credentials
// lack a permission. Later reads see the effect, together with what the operators of the inventory make of it.
package rehearsal

import (
	"encoding/json"
	"maps"
	"net/http"
	"path"
	"slices"
	"strings"

	jsonpatch "github.com/evanphx/json-patch/v5"
	metalv1alpha1 "github.com/ironcore-dev/metal-operator/api/v1alpha1"
	metal3v1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	staticv1alpha1 "github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/static/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/rehearsal"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/transport"
)

// Wrap rehearses the requests of sessions with the log.
func Wrap(log *rehearsal.Log) transport.Wrap {
	return func(siteName string, describe transport.Describer, next http.RoundTripper) http.RoundTripper {
		r := &rehearsing{describe: describe, changed: map[string]json.RawMessage{}, deleted: map[string]bool{}}
		site := &rehearsal.Site{Name: siteName, Log: log}
		return site.RoundTripper(next, r.answer)
	}
}

// rehearsing is the rehearsal at an inventory.
type rehearsing struct {
	describe transport.Describer
	// changed are the objects that would be different, by path.
	changed map[string]json.RawMessage
	deleted map[string]bool
}

// kindNames are the names of kinds by resource.
var kindNames = map[string]string{
	"baremetalhosts": "host", "statichosts": "host", "serverclaims": "server claim", "servers": "server",
	"secrets": "Secret", "ipaddressclaims": "address claim",
}

func (r *rehearsing) answer(c *rehearsal.Call) (*http.Response, error) {
	resource, query := path.Base(path.Dir(c.URL.Path)), c.URL.Query()
	service, _ := r.describe(c.Request)
	switch kind := kindNames[resource]; {
	case c.Method == http.MethodGet && query.Get("watch") == "true",
		c.Method == http.MethodPost && query.Get("dryRun") == metav1.DryRunAll,
		c.Method == http.MethodPost && path.Base(c.URL.Path) == "selfsubjectaccessreviews":
		return c.Pass()
	case c.Method == http.MethodGet:
		return r.read(c)
	case c.Method == http.MethodPatch && kind != "":
		return r.patch(c, service, resource)
	case c.Method == http.MethodDelete && kind != "":
		// The options of a deletion are in its body, which has precedence over the query.
		if err := c.Record(service, newWrite(c, v1alpha1.PlannedActionDelete, kind)); err != nil {
			return nil, err
		}
		r.deleted[c.URL.Path] = true
		return c.Respond(http.StatusOK, metav1.Status{TypeMeta: statusType, Status: metav1.StatusSuccess})
	default:
		return nil, c.Refuse(service)
	}
}

var statusType = metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}

func newWrite(c *rehearsal.Call, action v1alpha1.PlannedAction, kind string) rehearsal.Write {
	return rehearsal.Write{Action: action, Kind: kind, ID: strings.TrimPrefix(c.URL.Path, "/"), Name: path.Base(c.URL.Path)}
}

// patch records the request, and asks the API for its effect.
func (r *rehearsing) patch(c *rehearsal.Call, service, resource string) (*http.Response, error) {
	w := newWrite(c, v1alpha1.PlannedActionChange, kindNames[resource])
	if resource != "secrets" {
		w.Fields = fieldsOf(c.Content)
	}
	if err := c.Record(service, w); err != nil {
		return nil, err
	}
	if object := r.changed[c.URL.Path]; object != nil && resource == "statichosts" {
		// The API knows neither the change before nor the release, and thus refuses to free the host.
		return r.merge(c, object)
	}
	query := c.URL.Query()
	query.Set("dryRun", metav1.DryRunAll)
	sent := c.Clone(c.Context())
	sent.URL.RawQuery = query.Encode()
	var object json.RawMessage
	err := c.Ask(sent, &object)
	switch {
	case err != nil:
	case resource == "baremetalhosts":
		object, err = deprovisioned(object)
	case resource == "statichosts":
		object, err = released(object)
	}
	if err != nil {
		return nil, err
	}
	r.changed[c.URL.Path] = object
	return c.Respond(http.StatusOK, object)
}

// merge applies the merge patch to the object.
func (r *rehearsing) merge(c *rehearsal.Call, object json.RawMessage) (*http.Response, error) {
	object, err := jsonpatch.MergePatch(object, c.Content)
	if err != nil {
		return nil, platform.NewError(platform.ClassConfiguration, "the patch cannot be applied: %w", err)
	}
	r.changed[c.URL.Path] = object
	return c.Respond(http.StatusOK, object)
}

// fieldsOf returns the fields of the spec that a merge patch changes.
func fieldsOf(patch []byte) (fields []v1alpha1.PlannedField) {
	var content struct {
		Spec map[string]json.RawMessage `json:"spec"`
	}
	_ = json.Unmarshal(patch, &content)
	for _, name := range slices.Sorted(maps.Keys(content.Spec)) {
		value := string(content.Spec[name])
		if value == "null" {
			value = ""
		}
		fields = append(fields, v1alpha1.PlannedField{Name: "spec." + name, To: value})
	}
	return fields
}

// decode decodes an object of the API.
func decode(raw json.RawMessage, into any) error {
	if err := json.Unmarshal(raw, into); err != nil {
		return platform.NewError(platform.ClassTransient, "the response of the API cannot be decoded: %w", platform.Foreign(err))
	}
	return nil
}

// deprovisioned returns the host as baremetal-operator leaves it when it has removed the image.
func deprovisioned(raw json.RawMessage) (json.RawMessage, error) {
	host := &metal3v1alpha1.BareMetalHost{}
	if err := decode(raw, host); err != nil || host.Spec.Image != nil {
		return raw, err
	}
	host.Status.Provisioning.State, host.Status.PoweredOn = metal3v1alpha1.StateAvailable, host.Spec.Online
	host.Status.ErrorType, host.Status.ErrorMessage = "", ""
	return json.Marshal(host)
}

// released returns the static host as its operator leaves it when it has no user data.
func released(raw json.RawMessage) (json.RawMessage, error) {
	host := &staticv1alpha1.StaticHost{}
	if err := decode(raw, host); err != nil || host.Spec.UserDataSecretRef != nil {
		return raw, err
	}
	host.Status.Phase, host.Status.Provisioned = staticv1alpha1.PhaseAvailable, nil
	return json.Marshal(host)
}

// list is a list of objects, or a single one, which has no items.
type list struct {
	metav1.TypeMeta `json:",inline"`
	Metadata        json.RawMessage   `json:"metadata"`
	Items           []json.RawMessage `json:"items"`
}

// read answers a read of an object or a list.
func (r *rehearsing) read(c *rehearsal.Call) (*http.Response, error) {
	place := c.URL.Path
	switch {
	case r.deleted[place]:
		status := apierrors.NewNotFound(schema.GroupResource{Resource: path.Base(path.Dir(place))}, path.Base(place)).Status()
		status.TypeMeta = statusType
		return c.Respond(http.StatusNotFound, status)
	case r.changed[place] != nil:
		return c.Respond(http.StatusOK, r.changed[place])
	case len(r.changed)+len(r.deleted) == 0:
		return c.Pass()
	}
	var (
		content json.RawMessage
		found   list
	)
	if err := c.Ask(c.Request, &content); err != nil {
		return nil, err
	}
	if err := decode(content, &found); err != nil {
		return nil, err
	}
	if !strings.HasSuffix(found.Kind, "List") {
		content, err := r.unclaimed(place, content)
		if err != nil {
			return nil, err
		}
		return c.Respond(http.StatusOK, content)
	}
	items := []json.RawMessage{}
	for _, item := range found.Items {
		object := metav1.PartialObjectMetadata{}
		if err := decode(item, &object); err != nil {
			return nil, err
		}
		place := path.Join(place, object.Name)
		if changed := r.changed[place]; changed != nil {
			item = changed
		}
		item, err := r.unclaimed(place, item)
		if err != nil {
			return nil, err
		}
		if !r.deleted[place] {
			items = append(items, item)
		}
	}
	found.Items = items
	return c.Respond(http.StatusOK, found)
}

// unclaimed returns a server as metal-operator leaves it when its claim is deleted, and other objects as they are.
func (r *rehearsing) unclaimed(place string, raw json.RawMessage) (json.RawMessage, error) {
	if path.Base(path.Dir(place)) != "servers" {
		return raw, nil
	}
	server := &metalv1alpha1.Server{}
	if err := decode(raw, server); err != nil {
		return nil, err
	}
	claim := server.Spec.ServerClaimRef
	if claim == nil || !slices.ContainsFunc(slices.Collect(maps.Keys(r.deleted)), func(deleted string) bool {
		return strings.HasSuffix(deleted, path.Join("/namespaces", claim.Namespace, "serverclaims", claim.Name))
	}) {
		return raw, nil
	}
	server.Spec.ServerClaimRef = nil
	server.Status.State, server.Status.PowerState = metalv1alpha1.ServerStateAvailable, metalv1alpha1.ServerOffPowerState
	return json.Marshal(server)
}
