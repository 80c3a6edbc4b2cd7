// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package rbacaudit

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
)

// Request is what a user asked a kube-apiserver for.
type Request struct {
	// Verb is the verb as RBAC knows it.
	Verb string
	// APIGroup is the group of the resource, empty for that of Kubernetes' first kinds.
	APIGroup string
	// Resource is the plural name of the kind, with the subresource behind a slash.
	Resource string
	// Namespace is that of the object, empty if it has none or if all namespaces are meant.
	Namespace string
	// Name is that of the object, empty for requests that are about many.
	Name string
	// Forbidden says that the request was refused for want of a permission.
	Forbidden bool
}

// String is a line for a report.
func (r Request) String() string {
	text := r.Verb + " " + kind(r.APIGroup, r.Resource)
	if r.Name != "" {
		text += " " + r.Name
	}
	if r.Namespace != "" {
		text += " in " + r.Namespace
	}
	return text
}

// event is a line of an audit log.
type event struct {
	Stage            string
	Verb             string
	User             identity
	ImpersonatedUser *identity
	ObjectRef        *struct{ Resource, Subresource, APIGroup, Namespace, Name string }
	ResponseStatus   *struct{ Code int }
	Annotations      map[string]string
}

type identity struct{ Username string }

const (
	stageReceived      = "RequestReceived"
	decisionAnnotation = "authorization.k8s.io/decision"
	decisionForbid     = "forbid"
)

// Read returns the requests of a user in an audit log of JSON lines, equal ones once, in the order of the first ones. The last line
// may be incomplete. Requests that are about no object are left out.
func Read(log io.Reader, user string) ([]Request, error) {
	requests, err := ReadAll(log, func(name string) bool { return name == user })
	return requests[user], err
}

// ReadAll is Read for all users of which wanted returns true, by their names.
func ReadAll(log io.Reader, wanted func(user string) bool) (map[string][]Request, error) {
	type key struct {
		user    string
		request Request
	}
	var (
		result  = map[string][]Request{}
		seen    = map[key]struct{}{}
		decoder = json.NewDecoder(log)
	)
	for {
		var e event
		if err := decoder.Decode(&e); errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return result, nil
		} else if err != nil {
			return nil, fmt.Errorf("audit log: %w", err)
		}
		user := e.user()
		if !wanted(user) {
			continue
		}
		for _, request := range e.requests() {
			if _, known := seen[key{user, request}]; !known {
				seen[key{user, request}] = struct{}{}
				result[user] = append(result[user], request)
			}
		}
	}
}

// ReadFile is Read for a file.
func ReadFile(path, user string) ([]Request, error) {
	file, err := os.Open(path) // #nosec G304 -- the audit log of a test
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return Read(file, user)
}

// user is who needed permissions.
func (e event) user() string {
	if e.ImpersonatedUser != nil {
		return e.ImpersonatedUser.Username
	}
	return e.User.Username
}

// requests are what the event needed permissions for, none if it is about no object.
func (e event) requests() []Request {
	if e.Stage == stageReceived || e.ObjectRef == nil || e.ObjectRef.Resource == "" {
		return nil
	}
	r := Request{Verb: e.Verb, APIGroup: e.ObjectRef.APIGroup, Resource: e.ObjectRef.Resource, Namespace: e.ObjectRef.Namespace,
		Name: e.ObjectRef.Name}
	if e.ObjectRef.Subresource != "" {
		r.Resource += "/" + e.ObjectRef.Subresource
	}
	if r.Verb == "create" && e.ObjectRef.Subresource == "" {
		r.Name = "" // RBAC does not know it
	}
	// Webhooks and admission plugins answer 403, too.
	r.Forbidden = e.code() == http.StatusForbidden && e.Annotations[decisionAnnotation] == decisionForbid
	if r.Verb == "patch" && e.code() == http.StatusCreated {
		created := r
		created.Verb, created.Name = "create", ""
		return []Request{r, created}
	}
	return []Request{r}
}

func (e event) code() int {
	if e.ResponseStatus == nil {
		return 0
	}
	return e.ResponseStatus.Code
}

func kind(group, resource string) string {
	if group == "" {
		return resource
	}
	return resource + "." + group
}
