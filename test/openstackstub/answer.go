// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package openstackstub

import (
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"k8s.io/apimachinery/pkg/util/uuid"
)

// answer is what a request is answered with.
type answer struct {
	status int
	header http.Header
	body   []byte
}

var unauthorized = encoded(http.StatusUnauthorized, named("error", failure{
	Code: http.StatusUnauthorized, Title: "Unauthorized", Message: "The request you have made requires authentication.",
}))

type failure struct {
	Code    int    `json:"code"`
	Title   string `json:"title,omitempty"`
	Message string `json:"message"`
}

type link struct {
	Rel  string `json:"rel"`
	Href string `json:"href"`
}

// named is a value as the member of an object, which is how most answers look.
func named[T any](name string, value T) map[string]T {
	return map[string]T{name: value}
}

// encoded is an answer with a body.
func encoded[T any](status int, value T) answer {
	body, err := json.Marshal(value)
	if err != nil {
		return answer{status: http.StatusInternalServerError}
	}
	return answer{status: status, body: body}
}

// notFound says that the object of a request is not there.
func notFound(r *http.Request) answer {
	return encoded(http.StatusNotFound,
		named("itemNotFound", failure{Code: http.StatusNotFound, Message: r.URL.Path + " could not be found."}))
}

type neutronFailure struct {
	Type    string `json:"type"`
	Message string `json:"message"`
	Detail  string `json:"detail"`
}

// notFoundNeutron says the same in the words of Neutron.
func notFoundNeutron(r *http.Request) answer {
	return encoded(http.StatusNotFound, named("NeutronError", neutronFailure{Type: "NotFound", Message: r.URL.Path + " could not be found."}))
}

// badRequest says what the stub cannot do.
func badRequest(format string, args ...any) answer {
	return encoded(http.StatusBadRequest, named("badRequest", failure{Code: http.StatusBadRequest, Message: fmt.Sprintf(format, args...)}))
}

// decode reads the member of an object.
func decode[T any](r *http.Request, name string, into *T) error {
	body := map[string]json.RawMessage{}
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
		return err
	}
	content, ok := body[name]
	if !ok {
		return fmt.Errorf("the request has no %q", name)
	}
	return json.Unmarshal(content, into)
}

func (a answer) write(w http.ResponseWriter) {
	for name, values := range a.header {
		w.Header()[name] = values
	}
	if a.body != nil {
		w.Header().Set("Content-Type", "application/json")
	}
	w.WriteHeader(a.status)
	_, _ = w.Write(a.body)
}

func newID() string {
	return string(uuid.NewUUID())
}

// timestamp is a time as the services write it.
func timestamp(t time.Time) string {
	return t.UTC().Format("2006-01-02T15:04:05Z")
}
