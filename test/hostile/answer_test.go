// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package hostile

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
)

// marker is in all documents of the far end. It may be in no message of ours. The ID of the row follows.
const marker = "FAREND"

// value is what single values of documents are replaced by. Our messages may quote it.
const value = "farvalue"

// attacked is a request that gets a hostile answer.
type attacked struct {
	w   http.ResponseWriter
	r   *http.Request
	row *row
	// good is what the good peer answers, or answered in the good run if the request writes.
	good sample
	// front is the host:port of the far end.
	front string
	// elsewhere are the addresses of another host, with TLS and without.
	elsewhere, plain string
	// again is how often the request was made before.
	again int
}

// sample is an answer of the good peer.
type sample struct {
	status int
	header http.Header
	body   []byte
}

// answer is one way to be hostile.
type answer struct {
	name  string
	write func(*attacked)
	// heavy answers are for the memory: nothing else runs in the process meanwhile.
	heavy bool
	// misleading answers are short and wrong. They are given to each request of each operation, and the others once in each part.
	misleading bool
	// protocols are those that have the answer, all if empty.
	protocols []string
	// redirect answers are given all to the first request of a method, and two of them to the others.
	redirect bool
	// message is the answer of DNS, nil for those of HTTP.
	message func(*attackedMessage)
	// fits says whether the answer of the good peer can be changed in this way. It may be nil.
	fits func(exchange) bool
}

func (a *answer) suits(protocol string) bool {
	if protocol == rfc2136 || a.message != nil {
		return protocol == rfc2136 && a.message != nil
	}
	return len(a.protocols) == 0 || slices.Contains(a.protocols, protocol)
}

// complaint is how faults begin. It may be told of a site.
const complaint = "It is out of order"

func (a *attacked) mark() string {
	return marker + a.row.ID + "X"
}

func (a *attacked) value() string {
	return value + a.row.ID
}

// begin writes the header of a good answer.
func (a *attacked) begin(status int, kind string) {
	header := a.w.Header()
	for key, values := range a.good.header {
		if key != "Content-Length" && key != "Content-Type" && key != "Content-Encoding" {
			header[key] = values
		}
	}
	if a.isLogin() {
		header.Set("X-Subject-Token", "token"+a.row.ID)
	}
	if kind == "" {
		kind = a.good.header.Get("Content-Type")
	}
	header.Set("Content-Type", kind)
	a.w.WriteHeader(status)
}

func (a *attacked) isLogin() bool {
	return strings.HasSuffix(a.r.URL.Path, "/auth/tokens")
}

// success is the status of a good answer that has a body.
func (a *attacked) success() int {
	if a.good.status < 200 || a.good.status > 299 || a.good.status == http.StatusNoContent {
		return http.StatusOK
	}
	return a.good.status
}

func (a *attacked) send(kind string, body []byte) {
	a.begin(a.success(), kind)
	_, _ = a.w.Write(body)
}

func text(name, kind, body string) answer {
	return answer{name: name, misleading: true, write: func(a *attacked) { a.send(kind, []byte(strings.ReplaceAll(body, "MARK", a.mark()))) }}
}

// once returns the answer as one that is given once in each part.
func once(a answer) answer {
	a.misleading = false
	return a
}

const jsonType, xmlType, htmlType = "application/json", "text/xml; charset=utf-8", "text/html"

// answers are all hostile answers of HTTP.
func answers() []answer {
	result := []answer{
		text("nothing", "", ""),
		text("{}", jsonType, "{}"),
		text("null", jsonType, "null"),
		text("[]", jsonType, "[]"),
		once(text("number", jsonType, "4711")),
		{name: "another type", misleading: true, write: func(a *attacked) { a.send("", retyped(a.good.body, a.value())) }},
		{name: "half a document", write: func(a *attacked) { a.send("", half(a.good.body)) }},
		once(text("HTML", htmlType, "<!DOCTYPE html><html><head><title>MARK</title></head><body><p>MARK is out of order</p></body></html>")),
		{name: "invalid UTF-8", write: func(a *attacked) { a.send("", garbled(a.good.body, a.value())) }},
		{name: "body without end", heavy: true, write: endless},
		{name: "10 GiB in gzip", heavy: true, write: gzipped},
		{name: "pages without end", heavy: true, write: pages, fits: listing},
		{name: "next page elsewhere", protocols: []string{openStack},
			write: func(a *attacked) { a.send("", paged(a.good.body, "https://"+a.elsewhere+"/"+a.row.ID, 1)) }, fits: listing},
		{name: "fault of 2 MiB", heavy: true, write: func(a *attacked) { a.fault(http.StatusBadRequest) }},
		{name: "error of 2 MiB", heavy: true, write: func(a *attacked) { a.fault(http.StatusInternalServerError) }},
		{name: "byte by byte", write: drip},
		{name: "silence", write: func(a *attacked) { <-a.r.Context().Done() }},
		{name: "links to plain http", protocols: []string{openStack}, write: func(a *attacked) {
			a.send("", bytes.ReplaceAll(a.good.body, []byte("https://"+a.front), []byte("http://"+a.plain+"/"+a.row.ID)))
		}, fits: func(e exchange) bool { return strings.Contains(string(e.Body), "https://") }},
	}
	for _, soap := range []answer{
		text("SOAP with an empty body", xmlType, envelope("")),
		{name: "SOAP without a returned value", misleading: true, write: func(a *attacked) {
			a.send(xmlType,
				[]byte(envelope(fmt.Sprintf("<%sResponse xmlns=\"urn:vim25\"></%sResponse>", soapMethod(a.row.Shape), soapMethod(a.row.Shape)))))
		}},
		{name: "SOAP with an empty value", misleading: true, write: func(a *attacked) {
			a.send(xmlType,
				[]byte(envelope(fmt.Sprintf("<%sResponse xmlns=\"urn:vim25\"><returnval></returnval></%sResponse>", soapMethod(a.row.Shape),
					soapMethod(a.row.Shape)))))
		}},
	} {
		soap.protocols = []string{vSphere}
		soap.fits = func(e exchange) bool { return strings.HasPrefix(e.Shape, "SOAP ") }
		result = append(result, soap)
	}
	for _, code := range []int{http.StatusMovedPermanently, http.StatusFound, http.StatusTemporaryRedirect, http.StatusPermanentRedirect} {
		for _, plain := range []bool{false, true} {
			name := fmt.Sprintf("%d to another host", code)
			if plain {
				name = fmt.Sprintf("%d to plain http", code)
			}
			result = append(result, answer{name: name, redirect: true, write: func(a *attacked) {
				target := "https://" + a.elsewhere
				if plain {
					target = "http://" + a.plain
				}
				a.w.Header().Set("Location", target+"/"+a.row.ID+a.r.URL.RequestURI())
				a.w.WriteHeader(code)
				fmt.Fprintf(a.w, "<html>%s</html>", a.mark())
			}})
		}
	}
	return result
}

func envelope(body string) string {
	return "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<soapenv:Envelope " +
		"xmlns:soapenv=\"http://schemas.xmlsoap.org/soap/envelope/\"><soapenv:Body>" + body + "</soapenv:Body></soapenv:Envelope>"
}

func half(good []byte) []byte {
	if len(good) < 8 {
		return []byte("{\"a\": [")
	}
	return good[:len(good)/2]
}

var (
	xmlValue  = regexp.MustCompile(`>([^<>\s][^<>]*)<`)
	jsonValue = regexp.MustCompile("(\": *\")")
)

func isXML(body []byte) bool {
	return bytes.HasPrefix(bytes.TrimSpace(body), []byte("<"))
}

// retyped returns the document with other types of what is in it.
func retyped(good []byte, mark string) []byte {
	if isXML(good) {
		return xmlValue.ReplaceAll(good, []byte(">"+mark+"<"))
	}
	var document map[string]json.RawMessage
	if json.Unmarshal(good, &document) != nil || len(document) == 0 {
		return []byte(fmt.Sprintf("{\"value\": [%q]}", mark))
	}
	for key, content := range document {
		switch {
		case bytes.HasPrefix(content, []byte("[")), bytes.HasPrefix(content, []byte("{")):
			document[key] = json.RawMessage(fmt.Sprintf("%q", mark))
		default:
			document[key] = json.RawMessage(fmt.Sprintf("{%q: [1]}", mark))
		}
	}
	result, _ := json.Marshal(document)
	return result
}

// garbled returns the document with texts that are no UTF-8.
func garbled(good []byte, mark string) []byte {
	switch {
	case isXML(good):
		return xmlValue.ReplaceAll(good, []byte(">\xff\xfe"+mark+"<"))
	case len(good) < 8:
		return []byte("{\"a\": \"\xff\xfe" + mark + "\"}")
	default:
		return jsonValue.ReplaceAll(good, []byte("${1}\xff\xfe"+mark))
	}
}

// opening returns the beginning of a document that has what the good one has, of items that do not end.
func (a *attacked) opening() (start, item string) {
	if isXML(a.good.body) {
		method := soapMethod(a.row.Shape)
		return strings.TrimSuffix(envelope("<"+method+"Response xmlns=\"urn:vim25\">"),
			"</soapenv:Body></soapenv:Envelope>"), "<returnval><objects>" + marker + "</objects></returnval>"
	}
	key := listOf(a.good.body)
	if key == "" {
		return "{\"" + a.mark() + "\": [{}", ",{}"
	}
	return "{" + header(a.good.body) + "\"" + key + "\": [{}", ",{}"
}

// header returns what makes a document one of Kubernetes.
func header(body []byte) string {
	var document struct {
		Kind       string `json:"kind"`
		APIVersion string `json:"apiVersion"`
	}
	if json.Unmarshal(body, &document) != nil || document.Kind == "" {
		return ""
	}
	return fmt.Sprintf("\"kind\": %q, \"apiVersion\": %q, ", document.Kind, document.APIVersion)
}

// listOf returns the key of the list in the document, empty if it has none.
func listOf(body []byte) string {
	var document map[string]json.RawMessage
	if json.Unmarshal(body, &document) != nil {
		return ""
	}
	for key, content := range document {
		if bytes.HasPrefix(bytes.TrimSpace(content), []byte("[")) {
			return key
		}
	}
	return ""
}

func listing(e exchange) bool {
	return listOf(e.Body) != "" && e.Method == http.MethodGet || strings.Contains(string(e.Body), "<RetrievePropertiesExResponse") ||
		strings.Contains(string(e.Body), "<ContinueRetrievePropertiesExResponse")
}

func endless(a *attacked) {
	start, item := a.opening()
	a.begin(a.success(), "")
	chunk := []byte(strings.Repeat(item, 32<<10/len(item)))
	if _, err := io.WriteString(a.w, start); err != nil {
		return
	}
	for a.r.Context().Err() == nil {
		if _, err := a.w.Write(chunk); err != nil {
			return
		}
	}
}

// bombs are those that were made, by their items.
var bombs sync.Map

// bomb is a member of gzip that is 16 MiB of the item.
func bomb(item string) []byte {
	if made, ok := bombs.Load(item); ok {
		return made.([]byte)
	}
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	chunk := []byte(strings.Repeat(item, 1<<20/len(item)))
	for range 16 {
		_, _ = w.Write(chunk)
	}
	_ = w.Close()
	bombs.Store(item, packed.Bytes())
	return packed.Bytes()
}

func gzipped(a *attacked) {
	start, item := a.opening()
	a.w.Header().Set("Content-Encoding", "gzip")
	a.begin(a.success(), "")
	w := gzip.NewWriter(a.w)
	_, _ = io.WriteString(w, start)
	if w.Close() != nil {
		return
	}
	member := bomb(item)
	for range 640 {
		if _, err := a.w.Write(member); err != nil || a.r.Context().Err() != nil {
			return
		}
	}
}

// paged returns the page with a link to a next one, and its items repeated.
func paged(good []byte, next string, times int) []byte {
	var document map[string]any
	key := listOf(good)
	if json.Unmarshal(good, &document) != nil || key == "" {
		return good
	}
	items := document[key].([]any)
	if len(items) == 0 {
		items = []any{map[string]any{"id": "6a0f1f5e-0c5a-4d59-8a0b-6f5d6b1d3e21", "name": "page"}}
	}
	var repeated []any
	for range times {
		repeated = append(repeated, items...)
	}
	document[key] = repeated
	document[key+"_links"] = []any{map[string]any{"rel": "next", "href": next}}
	document["next"], document["links"] = next, map[string]any{"next": next}
	if metadata, ok := document["metadata"].(map[string]any); ok {
		metadata["continue"], metadata["remainingItemCount"] = "more", 1
	}
	result, _ := json.Marshal(document)
	return result
}

// pages answers with pages that never end.
func pages(a *attacked) {
	if isXML(a.good.body) {
		a.send(xmlType, []byte(strings.Replace(string(a.good.body), "<returnval>", fmt.Sprintf("<returnval><token>%d</token>", a.again), 1)))
		return
	}
	query := a.r.URL.Query()
	query.Set("marker", fmt.Sprintf("m%d", a.again))
	next := "https://" + a.front + a.r.URL.Path + "?" + query.Encode()
	if path, ok := strings.CutPrefix(a.r.URL.Path, "/glance"); ok {
		next = path + "?" + query.Encode()
	}
	a.send("", paged(a.good.body, next, 256))
}

// fault is a fault of 2 MiB in the form of the protocol. It has something to say in the beginning, which may be told.
func (a *attacked) fault(status int) {
	message := complaint + ". " + strings.Repeat("x", 1024) + strings.Repeat(" "+a.mark(), 2<<20/(len(a.mark())+1))
	if strings.HasPrefix(a.row.Shape, "SOAP ") {
		a.w.Header().Set("Content-Type", xmlType)
		a.w.WriteHeader(http.StatusInternalServerError)
		_, _ = io.WriteString(a.w,
			envelope("<soapenv:Fault><faultcode>ServerFaultCode</faultcode><faultstring>"+message+"</faultstring><detail><SystemErrorFault "+
				"xmlns=\"urn:vim25\"><reason>"+message+"</reason></SystemErrorFault></detail></soapenv:Fault>"))
		return
	}
	body, _ := json.Marshal(map[string]any{
		"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": status, "reason": "BadRequest", "message": message,
		"badRequest": map[string]any{"code": status, "message": message}, "type": "com.vmware.vapi.std.errors.error",
	})
	a.w.Header().Set("Content-Type", jsonType)
	a.w.Header().Set("X-Openstack-Request-Id", "req-"+a.row.ID)
	a.w.WriteHeader(status)
	_, _ = a.w.Write(body)
}

// drip answers with the good document, a byte a second.
func drip(a *attacked) {
	body := a.good.body
	if len(body) == 0 {
		body = []byte("{}")
	}
	a.begin(a.success(), "")
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	for i := range body {
		if _, err := a.w.Write(body[i : i+1]); err != nil {
			return
		}
		_ = http.NewResponseController(a.w).Flush()
		select {
		case <-ticker.C:
		case <-a.r.Context().Done():
			return
		}
	}
}
