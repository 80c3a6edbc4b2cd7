// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package hostile

import (
	"bytes"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
)

// shaper tells which requests are the same one in different runs.
type shaper struct{}

var (
	variable = []struct {
		pattern *regexp.Regexp
		with    string
	}{
		{regexp.MustCompile("shoot--h--[a-z0-9]+"), "SHOOT"},
		{regexp.MustCompile(`/host-[12]\b`), "/HOST"},
		{regexp.MustCompile(`\bsite[a-z0-9]+`), "SITE"},
		{regexp.MustCompile(`SITE-[0-9a-f]{16}\b`), "SITE-HASH"},
		{regexp.MustCompile("[0-9a-fA-F]{8}(-|%2D)[0-9a-fA-F]{4}(-|%2D)[0-9a-fA-F]{4}(-|%2D)[0-9a-fA-F]{4}(-|%2D)[0-9a-fA-F]{12}"), "ID"},
		{regexp.MustCompile(`\b[0-9a-f]{32}\b`), "ID"},
		{regexp.MustCompile("urn:vmomi:[A-Za-z]+:ID:GLOBAL"), "URN"},
	}
	soapBody = regexp.MustCompile(`<(?:[a-zA-Z]+:)?Body[^>]*>\s*<(?:[a-zA-Z0-9]+:)?([A-Za-z_]+)`)
	soapThis = regexp.MustCompile("<_this[^>]* type=\"([A-Za-z]+)\"")
	soapKind = regexp.MustCompile("<type[^>]*>([A-Za-z]+)</type>")
	soapPath = regexp.MustCompile("<pathSet[^>]*>([A-Za-z.]+)</pathSet>")
)

func (shaper) shape(r *http.Request, body []byte) string {
	if bytes.Contains(body, []byte("Envelope")) {
		return soapShape(body)
	}
	result := r.Method + " " + r.URL.Path
	for _, v := range variable {
		result = v.pattern.ReplaceAllString(result, v.with)
	}
	if keys := slices.Sorted(maps.Keys(r.URL.Query())); len(keys) > 0 {
		result += "?" + strings.Join(slices.DeleteFunc(keys, func(key string) bool { return key == "marker" || key == "continue" }), "&")
	}
	if action := r.URL.Query().Get("~action"); action != "" {
		result += "=" + action
	}
	return strings.TrimSuffix(result, "?")
}

func soapShape(body []byte) string {
	parts := []string{"SOAP", first(soapBody, body)}
	if this := first(soapThis, body); this != "" && this != "PropertyCollector" {
		parts = append(parts, this)
	}
	var of []string
	for _, pattern := range []*regexp.Regexp{soapKind, soapPath} {
		for _, match := range pattern.FindAllSubmatch(body, 8) {
			of = append(of, string(match[1]))
		}
	}
	slices.Sort(of)
	of = slices.Compact(of)
	return strings.Join(append(parts, of...), " ")
}

func first(pattern *regexp.Regexp, body []byte) string {
	if match := pattern.FindSubmatch(body); match != nil {
		return string(match[1])
	}
	return ""
}

func soapMethod(shape string) string {
	if parts := strings.Fields(shape); len(parts) > 1 {
		return parts[1]
	}
	return "Call"
}

var soapReads = regexp.MustCompile("^SOAP (Retrieve|ContinueRetrieve|Find|CreateFilter|CreateCollector|WaitFor|Check|" +
	"Destroy(PropertyFilter|PropertyCollector|View|Collector)|CreateContainerView|CreateListView|ModifyListView|" +
	"Current|Login|Logout|SessionIsActive|Pbm|Query|Get|Cancel|VslmQuery|HostQuery)")

// writes says whether the request changes something at the far end.
func writes(method, shape string) bool {
	if strings.HasPrefix(shape, "SOAP ") {
		return !soapReads.MatchString(shape)
	}
	switch {
	case method == methodQuery:
		return false
	case method == http.MethodGet, method == http.MethodHead, strings.HasSuffix(shape, "/auth/tokens"):
		return false
	case strings.HasSuffix(shape, "selfsubjectaccessreviews"), strings.HasSuffix(shape, "selfsubjectrulesreviews"):
		return false
	case method == http.MethodPost &&
		(strings.Contains(shape, "/com/vmware/cis/session") || strings.Contains(shape, "/api/session") ||
			strings.Contains(shape, "~action=list") || strings.Contains(shape, "~action=find")):
		return false
	default:
		return true
	}
}

func deletes(shape string) bool {
	return strings.HasPrefix(shape, http.MethodDelete) || strings.HasPrefix(shape, "SOAP Destroy") ||
		strings.HasPrefix(shape, "SOAP PowerOff") ||
		strings.HasPrefix(shape, "SOAP Unregister") || strings.Contains(shape, "remove_router_interface")
}
