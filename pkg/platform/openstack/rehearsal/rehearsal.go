// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package rehearsal rehearses requests to OpenStack: it sends those that change nothing. Others are recorded, and answered as if the site
// had accepted them: later reads see their effect. Values that the site chooses, such as addresses, are missing in answers.
package rehearsal

import (
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/gophercloud/gophercloud/v2"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/rehearsal"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/transport"
)

// Wrap rehearses the requests of sessions with the log.
func Wrap(log *rehearsal.Log) transport.Wrap {
	return func(siteName string, describe transport.Describer, next http.RoundTripper) http.RoundTripper {
		site, overlay := &rehearsal.Site{Name: siteName, Log: log}, newOverlay()
		return site.RoundTripper(next, func(c *rehearsal.Call) (*http.Response, error) {
			service, _ := describe(c.Request)
			kind, id, action := targetOf(service, c.URL.Path)
			return (&call{Call: c, overlay: overlay, site: site, service: service, kind: kind, id: id, action: action}).answer()
		})
	}
}

// call is a request, and what it is about.
type call struct {
	*rehearsal.Call
	overlay
	site       *rehearsal.Site
	service    string
	kind       *kind
	id, action string
}

func (c *call) answer() (*http.Response, error) {
	isRead := c.Method == http.MethodGet || c.Method == http.MethodHead
	switch {
	case c.service == "identity" && c.Method == http.MethodPost && strings.HasSuffix(c.URL.Path, "/auth/tokens"), isRead && c.kind == nil:
		return c.Pass()
	case isRead && c.id == "":
		return c.answerList()
	case isRead:
		return c.get()
	default:
		return c.write()
	}
}

// notFound is the answer about an object that does not exist.
func (c *call) notFound() error {
	return c.Fail(http.StatusNotFound, map[string]map[string]string{
		"NeutronError": {"type": "NotFound", "message": c.URL.Path + " does not exist after the requests of the plan"}})
}

// get answers a read of one object, or of something that belongs to it.
func (c *call) get() (*http.Response, error) {
	isPlanned := slices.Contains(c.overlay[c.kind].created, c.id)
	switch {
	case c.action == "":
		object, err := c.load(isPlanned)
		if err != nil {
			return nil, err
		}
		return c.Respond(http.StatusOK, map[string]resource{c.kind.singular: object})
	case isPlanned, c.isGone(c.kind, c.id):
		return nil, c.notFound()
	default:
		return c.Pass()
	}
}

// load returns the object as it would be. It reads the object from the site unless what is known of it suffices.
func (c *call) load(suffices bool) (resource, error) {
	if c.isGone(c.kind, c.id) {
		return nil, c.notFound()
	}
	if current := c.current(c.kind, c.id); current != nil && suffices {
		return current, nil
	}
	var content map[string]resource
	if err := c.Ask(at(c.Request, func(u *url.URL) { u.Path = strings.TrimSuffix(u.Path, "/"+c.action) }), &content); err != nil {
		return nil, err
	}
	if content[c.kind.singular] == nil {
		return nil, platform.NewError(platform.ClassTransient, "the response of the %s API lacks the %s", c.service, c.kind.name)
	}
	if object := c.see(c.kind, content[c.kind.singular]); object != nil {
		return object, nil
	}
	return nil, c.notFound()
}

// answerList answers a list.
func (c *call) answerList() (*http.Response, error) {
	found, links, err := c.list(c.kind, c.Request)
	if err != nil {
		return nil, err
	}
	content := map[string]json.RawMessage{c.kind.plural: c.kind.wrap(found)}
	if links != nil {
		content[c.kind.plural+"_links"] = links
	}
	return c.Respond(http.StatusOK, content)
}

// list returns a page of a list, and the links to others. Objects that do not exist yet are on its first page. A page whose objects are all
// deleted is skipped, because an empty page ends a list.
func (c *call) list(kind *kind, request *http.Request) (found []resource, links json.RawMessage, err error) {
	found = []resource{}
	if query := request.URL.Query(); !query.Has("marker") && (query.Get("offset") == "" || query.Get("offset") == "0") {
		if found, err = c.matching(kind, query); err != nil {
			return nil, nil, err
		}
	}
	for next := withoutMadeUp(request); next != nil; {
		var content map[string]json.RawMessage
		if err := c.Ask(next, &content); err != nil {
			return nil, nil, err
		}
		listed, err := kind.unwrap(content[kind.plural])
		if err != nil {
			return nil, nil, err
		}
		for _, object := range listed {
			if object := c.see(kind, object); object != nil {
				found = append(found, object)
			}
		}
		links = content[kind.plural+"_links"]
		if len(found) > 0 || len(listed) == 0 {
			break
		}
		if next, err = nextPage(next, links); err != nil {
			return nil, nil, err
		}
	}
	return found, links, nil
}

// withoutMadeUp returns the request without the IDs in its query that no site knows. It returns nil if nothing at the site matches the
// query.
func withoutMadeUp(request *http.Request) *http.Request {
	query := request.URL.Query()
	for key, values := range query {
		known := slices.DeleteFunc(slices.Clone(values), func(value string) bool {
			return rehearsal.IsMadeUp(strings.TrimPrefix(value, fixedIPSubnet))
		})
		if len(known) == 0 || len(known) < len(values) && key == fixedIPs {
			return nil
		}
		query[key] = known
	}
	return at(request, func(u *url.URL) { u.RawQuery = query.Encode() })
}

// at returns a GET request like the given one, at another address.
func at(request *http.Request, change func(*url.URL)) *http.Request {
	result := request.Clone(request.Context())
	result.Method, result.Body, result.ContentLength = http.MethodGet, nil, 0
	result.Header.Del("Content-Type")
	change(result.URL)
	return result
}

// nextPage returns the request for the next page of a list, nil if there is none.
func nextPage(request *http.Request, raw json.RawMessage) (*http.Request, error) {
	var links []gophercloud.Link
	if raw != nil {
		if err := json.Unmarshal(raw, &links); err != nil {
			return nil, platform.NewError(platform.ClassTransient, "the links to other pages are invalid: %w", platform.Foreign(err))
		}
	}
	link, err := gophercloud.ExtractNextURL(links)
	if err != nil || link == "" {
		return nil, err
	}
	next, err := url.Parse(link)
	if err != nil {
		return nil, platform.NewError(platform.ClassTransient, "the link to the next page is invalid: %w", platform.Foreign(err))
	}
	return at(request, func(u *url.URL) { *u = *next }), nil
}
