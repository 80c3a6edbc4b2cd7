// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/vcenter/control"
)

// journal keeps what requests there were, once somebody has asked for it.
type journal struct {
	next http.Handler

	mutex    sync.Mutex
	changed  *sync.Cond
	keeps    bool
	inFlight int
	requests []control.Request
}

func newJournal(next http.Handler) *journal {
	j := &journal{next: next}
	j.changed = sync.NewCond(&j.mutex)
	return j
}

// ServeHTTP implements http.Handler.
func (j *journal) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.UserAgent() == control.Inspector || !j.begin() {
		j.next.ServeHTTP(w, r)
		return
	}
	request := control.Request{Start: time.Now()}
	answer := &measuredAnswer{ResponseWriter: w, status: http.StatusOK}
	defer func() {
		request.Duration, request.Status, request.Bytes = time.Since(request.Start), answer.status, answer.bytes
		j.end(request)
	}()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	request.Service, request.Method = describe(r, body)
	j.next.ServeHTTP(answer, r)
}

func (j *journal) begin() bool {
	j.mutex.Lock()
	defer j.mutex.Unlock()
	if j.keeps {
		j.inFlight++
	}
	return j.keeps
}

func (j *journal) end(request control.Request) {
	j.mutex.Lock()
	defer j.mutex.Unlock()
	j.inFlight--
	j.requests = append(j.requests, request)
	j.changed.Broadcast()
}

// serve answers with the requests since the last call.
func (j *journal) serve(w http.ResponseWriter, _ *http.Request) {
	j.mutex.Lock()
	defer j.mutex.Unlock()
	for j.inFlight > 0 {
		j.changed.Wait()
	}
	_ = json.NewEncoder(w).Encode(j.requests)
	j.requests, j.keeps = nil, true
}

// measuredAnswer notes the status and the size of an answer.
type measuredAnswer struct {
	http.ResponseWriter

	status, bytes int
}

// WriteHeader implements http.ResponseWriter.
func (a *measuredAnswer) WriteHeader(status int) {
	a.status = status
	a.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter.
func (a *measuredAnswer) Write(data []byte) (int, error) {
	n, err := a.ResponseWriter.Write(data)
	a.bytes += n
	return n, err
}

// Unwrap lets http.ResponseController reach the connection.
func (a *measuredAnswer) Unwrap() http.ResponseWriter {
	return a.ResponseWriter
}
