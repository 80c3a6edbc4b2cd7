// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package hostile

import (
	"bytes"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"time"
)

// The addresses of the far end. One listener has all of them, and the name that is asked for decides.
const (
	goodHost, badHost, otherHost = "127.0.0.1", "127.0.0.2", "127.0.0.3"
)

// exchange is a request of the good run and its answer.
type exchange struct {
	Shape  string
	Method string
	Status int
	Header http.Header
	Body   []byte
}

func (e *exchange) writes() bool {
	return writes(e.Method, e.Shape)
}

// peer is a good far end. It answers with addresses that begin with https:// and the host of the request.
type peer interface {
	http.Handler
}

// front is the far end of a row: the good peer, but for one request.
type front struct {
	peer   peer
	server *http.Server
	// listener is that of DNS.
	listener net.Listener
	port     string
	row      *row
	shapes   shaper
	places   *places

	mutex     sync.Mutex
	exchanges []exchange
	written   []string
	hits      int
	// asked is closed when the row's request is made for the first time.
	asked chan struct{}
}

// newFront starts a far end. Without a row it is good, and records.
func newFront(p peer, shapes shaper, r *row, to *places) (*front, error) {
	listener, port, err := newPort()
	if err != nil {
		return nil, err
	}
	f := &front{peer: p, port: port, row: r, shapes: shapes, places: to, asked: make(chan struct{})}
	if zone, ok := p.(*dnsPeer); ok {
		f.listener = listener
		go f.serveDNS(zone)
		return f, nil
	}
	f.server = &http.Server{Handler: f, ErrorLog: quiet, ReadHeaderTimeout: requestTimeout * 10,
		TLSConfig: &tls.Config{Certificates: []tls.Certificate{to.pair}, MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"}}}
	go func() { _ = f.server.ServeTLS(listener, "", "") }()
	return f, nil
}

// ports are those of all far ends. What an earlier row left in the background must not reach a later one.
var ports struct {
	mutex sync.Mutex
	used  map[string]bool
}

// newPort returns a listener at a port that no far end had before.
func newPort() (net.Listener, string, error) {
	ports.mutex.Lock()
	defer ports.mutex.Unlock()
	if ports.used == nil {
		ports.used = map[string]bool{}
	}
	for {
		listener, err := net.Listen("tcp4", "0.0.0.0:0")
		if err != nil {
			return nil, "", err
		}
		_, port, _ := net.SplitHostPort(listener.Addr().String())
		if !ports.used[port] {
			ports.used[port] = true
			return listener, port, nil
		}
		_ = listener.Close()
	}
}

func (f *front) close() {
	if c, ok := f.peer.(io.Closer); ok {
		_ = c.Close()
	}
	if f.listener != nil {
		_ = f.listener.Close()
		return
	}
	_ = f.server.Close()
}

func (f *front) good() string { return net.JoinHostPort(goodHost, f.port) }
func (f *front) bad() string  { return net.JoinHostPort(badHost, f.port) }

func (f *front) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !strings.HasPrefix(r.Host, badHost) {
		f.peer.ServeHTTP(w, r)
		return
	}
	body, _ := io.ReadAll(r.Body)
	r.Body = io.NopCloser(bytes.NewReader(body))
	shape := f.shapes.shape(r, body)
	attack := f.row != nil && f.row.Shape == shape
	if attack {
		again := f.hit()
		a := &attacked{w: w, r: r, row: f.row, front: f.bad(), elsewhere: f.places.secure(), plain: f.places.plain(), again: again}
		if writes(r.Method, shape) {
			a.good = sample{status: f.row.good.Status, header: f.row.good.Header, body: f.localized(f.row.good.Body)}
		} else {
			recorder := httptest.NewRecorder()
			r.Header.Del("Accept-Encoding")
			f.peer.ServeHTTP(recorder, r)
			a.good = sample{status: recorder.Code, header: recorder.Header(), body: recorder.Body.Bytes()}
		}
		f.row.answer.write(a)
		return
	}
	if r.URL.Query().Get("watch") == "true" {
		f.record(exchange{Shape: shape, Method: r.Method, Status: http.StatusOK, Header: http.Header{"Content-Type": {jsonType}},
			Body: []byte(watchSample)})
		f.peer.ServeHTTP(w, r)
		return
	}
	recorder := httptest.NewRecorder()
	r.Header.Del("Accept-Encoding")
	f.peer.ServeHTTP(recorder, r)
	f.record(exchange{Shape: shape, Method: r.Method, Status: recorder.Code, Header: recorder.Header().Clone(),
		Body: bytes.Clone(recorder.Body.Bytes())})
	for key, values := range recorder.Header() {
		w.Header()[key] = values
	}
	w.WriteHeader(recorder.Code)
	_, _ = w.Write(recorder.Body.Bytes())
}

const watchSample = "{\"type\": \"MODIFIED\", \"object\": {\"kind\": \"Status\", \"apiVersion\": \"v1\", \"message\": \"ended\"}}\n"

// localized returns the document of the good run as if it came from here.
func (f *front) localized(body []byte) []byte {
	if f.row.recordedAt == "" {
		return body
	}
	return bytes.ReplaceAll(body, []byte(f.row.recordedAt), []byte(f.bad()))
}

func (f *front) record(e exchange) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	f.exchanges = append(f.exchanges, e)
	if e.writes() && e.Status < 400 {
		f.written = append(f.written, e.Shape)
	}
}

// hit counts the row's request, and returns how often it was made.
func (f *front) hit() int {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	if f.hits++; f.hits == 1 {
		close(f.asked)
	}
	return f.hits
}

// await waits for the row's request, which may be made in the background when the operation has returned.
func (f *front) await(limit time.Duration) {
	select {
	case <-f.asked:
	case <-time.After(limit):
	}
}

// taken returns what was recorded.
func (f *front) taken() (exchanges []exchange, written []string, hits int) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	return f.exchanges, f.written, f.hits
}
