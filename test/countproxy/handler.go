// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package countproxy

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"
)

var (
	hopHeaders = []string{"Connection", "Keep-Alive", "Proxy-Connection", "Te", "Trailer", "Transfer-Encoding", "Upgrade"}
	urlHeaders = []string{"Location", "Content-Location", "Link"}
)

// handler is the proxy in front of one service.
type handler struct {
	proxy     *Proxy
	service   string
	upstream  *url.URL
	transport *http.Transport
	signed    bool
}

// answer is what the service answered.
type answer struct {
	status int
	header http.Header
	body   []byte
}

func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	entry := &Request{
		Service: h.service,
		Method:  r.Method,
		Path:    r.URL.Path,
		Query:   r.URL.RawQuery,
		Pattern: patternOf(r),
		Kind:    kindOf(r),
		Client:  clientOf(r),
	}
	if c, ok := r.Context().Value(connectionKey{}).(*connection); ok {
		entry.NewConnection = !c.used.Swap(true)
	}
	delay, fault := h.proxy.begin(entry)
	finish := sync.OnceFunc(func() { h.proxy.finish(entry) })
	defer func() {
		finish()
		if entry.Status == 0 {
			panic(http.ErrAbortHandler)
		}
	}()

	body, err := io.ReadAll(r.Body)
	if err != nil || !wait(r.Context(), delay) {
		return
	}
	entry.RequestBytes = len(body)
	entry.Operation, entry.Object = operationOf(r, body)
	if fault != nil && !fault.After {
		fault.answer(w, r, entry)
		return
	}

	if isWatch(r) && fault == nil {
		h.stream(w, r, entry, finish)
		return
	}
	response, err := h.forward(r, body)
	if err != nil {
		if !errors.Is(err, context.Canceled) {
			entry.Status, entry.End = http.StatusBadGateway, time.Now()
			http.Error(w, err.Error(), entry.Status)
		}
		return
	}
	entry.ServiceStatus, entry.ResponseBytes = response.status, len(response.body)
	if fault != nil {
		fault.answer(w, r, entry)
		return
	}
	h.reply(w, r, response, entry)
}

func (h *handler) forward(r *http.Request, body []byte) (*answer, error) {
	response, err := h.send(r, body)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	data, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, err
	}
	return &answer{status: response.StatusCode, header: response.Header, body: data}, nil
}

// send sends a request on. The caller closes the body of the response.
func (h *handler) send(r *http.Request, body []byte) (*http.Response, error) {
	target := *r.URL
	target.Scheme, target.Host = h.upstream.Scheme, h.upstream.Host
	request, err := http.NewRequestWithContext(r.Context(), r.Method, target.String(), bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header = r.Header.Clone()
	if h.signed {
		request.Host = r.Host
	}
	for _, name := range hopHeaders {
		request.Header.Del(name)
	}
	request.Header.Set("Accept-Encoding", "identity")

	response, err := h.transport.RoundTrip(request)
	if err != nil {
		return nil, err
	}
	for _, name := range hopHeaders {
		response.Header.Del(name)
	}
	return response, nil
}

func (h *handler) reply(w http.ResponseWriter, r *http.Request, response *answer, entry *Request) {
	header := w.Header()
	for name, values := range response.header {
		header[name] = values
	}
	for _, name := range urlHeaders {
		for i, value := range header[name] {
			header[name][i] = h.proxy.Rewrite(value)
		}
	}
	if skew := h.proxy.skewOf(h.service); skew != 0 {
		header.Set("Date", time.Now().Add(skew).UTC().Format(http.TimeFormat))
	}
	body := response.body
	if contentType := header.Get("Content-Type"); strings.Contains(contentType, "json") || strings.Contains(contentType, "xml") {
		body = []byte(h.proxy.Rewrite(string(body)))
	}
	if r.Method != http.MethodHead {
		header.Del("Content-Length")
		if response.status != http.StatusNoContent && response.status != http.StatusNotModified {
			header.Set("Content-Length", strconv.Itoa(len(body)))
		}
	}
	entry.Status, entry.End = response.status, time.Now()
	w.WriteHeader(response.status)
	_, _ = w.Write(body)
}

func (r *rule) answer(w http.ResponseWriter, request *http.Request, entry *Request) {
	switch r.Action {
	case ActionStatus:
		for name, values := range r.Header {
			w.Header()[name] = values
		}
		if w.Header().Get("Content-Type") == "" {
			w.Header().Set("Content-Type", "application/json")
		}
		entry.Status, entry.End = r.Status, time.Now()
		w.WriteHeader(r.Status)
		_, _ = io.WriteString(w, r.Body)
	case ActionCall:
		r.Call(*entry)
		reset(w)
	case ActionReset:
		reset(w)
	case ActionHang:
		<-request.Context().Done()
	case ActionAnswer:
		entry.Status = http.StatusOK
		r.Answer(w, request)
	}
}

func reset(w http.ResponseWriter) {
	if c, _, err := http.NewResponseController(w).Hijack(); err == nil {
		if tcp, ok := c.(*net.TCPConn); ok {
			_ = tcp.SetLinger(0)
		}
		_ = c.Close()
	}
}

func (p *Proxy) begin(entry *Request) (time.Duration, *rule) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.seq++
	p.inFlight++
	entry.Seq, entry.Label, entry.InFlight, entry.Start = p.seq, p.label, p.inFlight, time.Now()
	return p.decide(entry)
}

func (p *Proxy) finish(entry *Request) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if entry.End.IsZero() {
		entry.End = time.Now()
	}
	p.inFlight--
	p.requests = append(p.requests, *entry)
	p.done.Broadcast()
}

// wait reports whether the time passed before the client gave up.
func wait(ctx context.Context, delay time.Duration) bool {
	if delay <= 0 {
		return ctx.Err() == nil
	}
	timer := time.NewTimer(delay)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
