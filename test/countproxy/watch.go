// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package countproxy

import (
	"io"
	"net/http"
	"time"
)

// isWatch reports whether the answer to a request to a Kubernetes API goes on until one of both sides ends it.
func isWatch(r *http.Request) bool {
	watch := r.URL.Query().Get("watch")
	return watch == "true" || watch == "1"
}

// stream passes the answer to a watch on as it comes. For the log, and for who waits for requests in flight, the request is finished
// when the answer begins.
func (h *handler) stream(w http.ResponseWriter, r *http.Request, entry *Request, finish func()) {
	response, err := h.send(r, nil)
	if err != nil {
		entry.Status, entry.End = http.StatusBadGateway, time.Now()
		http.Error(w, err.Error(), entry.Status)
		return
	}
	defer response.Body.Close()
	for name, values := range response.Header {
		w.Header()[name] = values
	}
	entry.ServiceStatus, entry.Status, entry.End = response.StatusCode, response.StatusCode, time.Now()
	finish()
	w.WriteHeader(response.StatusCode)
	_, _ = io.Copy(flushed{w}, response.Body)
}

// flushed sends each piece at once.
type flushed struct{ http.ResponseWriter }

func (f flushed) Write(p []byte) (int, error) {
	n, err := f.ResponseWriter.Write(p)
	if err != nil {
		return n, err
	}
	return n, http.NewResponseController(f.ResponseWriter).Flush()
}
