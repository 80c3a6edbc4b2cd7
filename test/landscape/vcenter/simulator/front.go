// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/vmware/govmomi/vim25/soap"

	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/vcenter/control"
)

const restSessionHeader = "vmware-api-session-id"

// soapMethod finds the method in a SOAP request.
var soapMethod = regexp.MustCompile(`<(?:\w+:)?Body[^>]*><(?:\w+:)?(\w+)`)

// notAuthenticated is the answer to a call in a session that ended. The simulator itself lets some calls pass without one.
const notAuthenticated = `<?xml version="1.0" encoding="UTF-8"?>
<soapenv:Envelope xmlns:soapenv="http://schemas.xmlsoap.org/soap/envelope/"
 xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"><soapenv:Body>
<soapenv:Fault><faultcode>ServerFaultCode</faultcode><faultstring>The session is not authenticated.</faultstring>
<detail>
<NotAuthenticatedFault xmlns="urn:vim25" xsi:type="NotAuthenticated"><privilegeId>System.View</privilegeId></NotAuthenticatedFault></detail>
</soapenv:Fault></soapenv:Body></soapenv:Envelope>`

// frontHandler is before the simulator: it counts and delays requests and ends sessions.
type frontHandler struct {
	disturber *disturber
	next      http.Handler
	entrance  *entrance

	mutex  sync.Mutex
	counts control.Counts
	used   map[string]time.Time
	ended  map[string]bool
}

func newFront(d *disturber, next http.Handler) *frontHandler {
	return &frontHandler{disturber: d, next: next, counts: control.Counts{}, used: map[string]time.Time{}, ended: map[string]bool{}}
}

// ServeHTTP implements http.Handler.
func (f *frontHandler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.UserAgent() == control.Inspector {
		f.next.ServeHTTP(w, r)
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	service, method := describe(r, body)
	f.count(service + " " + method)

	settings := f.disturber.current()
	if settings.Answer > 0 {
		timer := time.NewTimer(settings.Answer)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-r.Context().Done():
			return
		}
	}
	if service == "vapi" {
		f.serveREST(w, r, settings)
		return
	}
	if !f.isAuthenticated(r, method, settings.Idle) {
		if method == "RetrievePropertiesEx" { // is no fault without a session, but all properties are missing
			r.Header.Del("Cookie")
			f.next.ServeHTTP(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/xml")
		w.WriteHeader(http.StatusInternalServerError)
		_, _ = io.WriteString(w, notAuthenticated)
		return
	}
	if f.disturber.failTask(w, method, body) {
		return
	}
	f.next.ServeHTTP(w, r)
	f.noteLogin(w.Header())
}

// isAuthenticated reports whether a SOAP call is in a session or needs none.
func (f *frontHandler) isAuthenticated(r *http.Request, method string, idle time.Duration) bool {
	if method == "Login" || strings.HasSuffix(method, "RetrieveServiceContent") || r.Method == http.MethodGet {
		return true
	}
	cookie, err := r.Cookie(soap.SessionCookieName)
	return err == nil && !f.hasEnded(cookie.Value, idle)
}

func (f *frontHandler) serveREST(w http.ResponseWriter, r *http.Request, settings control.Settings) {
	isLogin := strings.HasSuffix(r.URL.Path, "/com/vmware/cis/session") && r.URL.RawQuery == "" && r.Method == http.MethodPost
	if id := r.Header.Get(restSessionHeader); id != "" && f.hasEnded(id, settings.Idle) && !isLogin {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	if name := f.disturber.fault(r.URL.Path, false); name != "" {
		status, err := strconv.Atoi(name)
		if err != nil {
			status = http.StatusInternalServerError
		}
		w.WriteHeader(status)
		return
	}
	f.next.ServeHTTP(w, r)
}

func (f *frontHandler) count(name string) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	f.counts[name]++
}

// hasEnded reports whether the session ended, and notes that it was used if not.
func (f *frontHandler) hasEnded(session string, idle time.Duration) bool {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	if last, ok := f.used[session]; ok && idle > 0 && time.Since(last) > idle {
		f.ended[session] = true
	}
	f.used[session] = time.Now()
	return f.ended[session]
}

// noteLogin notes the session that an answer begins.
func (f *frontHandler) noteLogin(answer http.Header) {
	for _, cookie := range (&http.Response{Header: answer}).Cookies() {
		if cookie.Name == soap.SessionCookieName {
			f.hasEnded(cookie.Value, 0)
		}
	}
}

// control returns the handler of the control port.
func (f *frontHandler) control() *http.ServeMux {
	mux := http.NewServeMux()
	mux.HandleFunc("POST "+control.PathSettings, func(w http.ResponseWriter, r *http.Request) {
		var settings control.Settings
		if err := json.NewDecoder(r.Body).Decode(&settings); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		f.disturber.apply(settings)
		if err := f.entrance.set(!settings.Down); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
		}
	})
	mux.HandleFunc("POST "+control.PathCounts, func(w http.ResponseWriter, _ *http.Request) {
		f.mutex.Lock()
		defer f.mutex.Unlock()
		_ = json.NewEncoder(w).Encode(f.counts)
		f.counts = control.Counts{}
	})
	mux.HandleFunc("POST "+control.PathActed, func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(f.disturber.acted())
	})
	mux.HandleFunc("POST "+control.PathAge, func(w http.ResponseWriter, r *http.Request) {
		var age time.Duration
		if err := json.NewDecoder(r.Body).Decode(&age); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		f.mutex.Lock()
		defer f.mutex.Unlock()
		for session, last := range f.used {
			f.used[session] = last.Add(-age)
		}
	})
	mux.HandleFunc("POST "+control.PathEndSessions, func(http.ResponseWriter, *http.Request) {
		f.mutex.Lock()
		defer f.mutex.Unlock()
		for session := range f.used {
			f.ended[session] = true
		}
	})
	return mux
}

// describe returns the service and method of a request.
func describe(r *http.Request, body []byte) (service, method string) {
	path := r.URL.Path
	if strings.HasPrefix(path, "/rest") || strings.HasPrefix(path, "/api") {
		if action := r.URL.Query().Get("~action"); action != "" {
			path += "?" + action
		}
		return "vapi", r.Method + " " + path
	}
	method = r.Method + " " + path
	if match := soapMethod.FindSubmatch(body); match != nil {
		method = string(match[1])
	}
	if strings.HasPrefix(path, "/sdk") {
		return "vim25", method
	}
	return strings.Split(strings.TrimPrefix(path, "/"), "/")[0], method
}
