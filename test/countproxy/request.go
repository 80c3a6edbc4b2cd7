// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package countproxy

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"
)

// Kind says what a request is for.
type Kind string

const (
	// KindAuth is a request for a token.
	KindAuth Kind = "auth"
	// KindDiscovery is a request for a version document.
	KindDiscovery Kind = "discovery"
	// KindRead is any other request that changes nothing.
	KindRead Kind = "read"
	// KindWrite is any other request.
	KindWrite Kind = "write"
)

// Request is one request as the proxy saw it.
type Request struct {
	// Seq is the number of the request in the order of arrival.
	Seq int
	// Label is the proxy's label when the request arrived.
	Label string
	// Start is when the request arrived and End when its answer was ready to be sent.
	Start, End time.Time
	// Service is the name of the service.
	Service string
	// Method, Path and Query are those of the request.
	Method, Path, Query string
	// Pattern is the method and path with IDs replaced by {id}, and the sorted keys of the query.
	Pattern string
	// Kind says what the request is for.
	Kind Kind
	// Operation is the name of the operation of a SOAP request, and Object the type and ID of its object. They are empty for others.
	Operation, Object string
	// Client is the name of the program that sent the request, from its User-Agent.
	Client string
	// Status is the status of the answer, zero if there was none.
	Status int
	// ServiceStatus is the status that the service answered with, even if the client got something else; zero if it did not
	// get the request.
	ServiceStatus int
	// RequestBytes and ResponseBytes are the sizes of the bodies; the latter as the service sent it.
	RequestBytes, ResponseBytes int
	// NewConnection is true for the first request of a connection.
	NewConnection bool
	// InFlight is the number of requests in flight when this one had arrived.
	InFlight int
	// Fault is the name of the fault that answered, empty if the service did.
	Fault string
}

var (
	idPattern   = regexp.MustCompile(`[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}|\b[0-9a-f]{32}\b`)
	rootPattern = regexp.MustCompile(`^/(v[0-9]+(\.[0-9]+)?/?)?$`)
)

func kindOf(request *http.Request) Kind {
	switch request.Method {
	case http.MethodPost:
		if strings.HasSuffix(request.URL.Path, "/auth/tokens") {
			return KindAuth
		}
	case http.MethodGet, http.MethodHead, http.MethodOptions:
		if rootPattern.MatchString(request.URL.Path) {
			return KindDiscovery
		}
		return KindRead
	}
	return KindWrite
}

// clientOf returns the first product of the User-Agent without its version.
func clientOf(request *http.Request) string {
	product, _, _ := strings.Cut(request.UserAgent(), " ")
	name, _, _ := strings.Cut(product, "/")
	return name
}

// operationOf returns the name of the first element of the body of a SOAP message, and the object that the element names first.
func operationOf(request *http.Request, body []byte) (operation, object string) {
	if request.Header.Get("Soapaction") == "" {
		return "", ""
	}
	decoder, inBody := xml.NewDecoder(bytes.NewReader(body)), false
	for {
		token, err := decoder.Token()
		if err != nil {
			return operation, ""
		}
		element, ok := token.(xml.StartElement)
		switch {
		case !ok:
		case operation != "":
			this := struct {
				Type string `xml:"type,attr"`
				ID   string `xml:",chardata"`
			}{}
			if element.Name.Local != "_this" || decoder.DecodeElement(&this, &element) != nil {
				return operation, ""
			}
			return operation, this.Type + ":" + this.ID
		case inBody:
			operation = element.Name.Local
		default:
			inBody = element.Name.Local == "Body"
		}
	}
}

func patternOf(request *http.Request) string {
	pattern := request.Method + " " + idPattern.ReplaceAllString(request.URL.Path, "{id}")
	var keys []string
	for key, values := range request.URL.Query() {
		if len(values) > 1 {
			key = fmt.Sprintf("%s*%d", key, len(values))
		}
		keys = append(keys, key)
	}
	if len(keys) == 0 {
		return pattern
	}
	slices.Sort(keys)
	return pattern + "?" + strings.Join(keys, "&")
}
