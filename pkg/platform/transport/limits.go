// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"strings"
	"sync/atomic"

	"golang.org/x/text/encoding"
	"golang.org/x/text/transform"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
)

// Responses of a site are limited so that it cannot exhaust the memory that all sites share. A decoder needs far more memory for `{},{},`
// than for plain text of the same length, so the limit is on estimated cost, not on length. A compute API response with 1000 servers costs
// 25 MiB, a vCenter response with as many virtual machines 30 MiB, 100 inventory hosts cost 20 MiB with hardware details and 1 MiB without.
const (
	// maxHeader limits the size of response headers.
	maxHeader = 64 << 10
	// maxCost limits the cost of a response or of each event of a watch: 10 MiB of text.
	maxCost = 40 << 20
	// maxFaultCost limits the cost of an error response: 512 KiB of text.
	maxFaultCost = 2 << 20
	// maxListCost limits the cost of all pages of a list, as far as they are kept, and maxPages their number.
	maxListCost = 2 * maxCost
	maxPages    = 200
	// maxItems limits the elements of each array in a response, and maxDepth its nesting.
	maxItems = 10_000
	maxDepth = 200

	costOfByte    = 4
	costOfValue   = 48
	costOfObject  = 256
	costOfElement = 640
	// costOfItem is added for an object in a list, which is decoded into all fields that it could have.
	costOfItem = 2 << 10
	itemDepth  = 2
	// costOfKept is the cost per byte of decoded JSON that is kept.
	costOfKept = 8
)

type listKey struct{}

// list tracks what the pages of a list have cost so far.
type list struct {
	cost, pages atomic.Int64
}

// OneList returns a context for the requests for all pages of a list: a site could announce further pages endlessly.
func OneList(ctx context.Context) context.Context {
	return ContinueList(ctx, "")
}

// OneOperation returns a context for an operation of a library that does not reveal which requests belong to one list. It may send any
// number of requests; their responses may cost as much as those of one list.
func OneOperation(ctx context.Context) context.Context {
	l := &list{}
	l.pages.Store(math.MinInt64)
	return context.WithValue(ctx, listKey{}, l)
}

// ContinueList is OneList for continuing a list with a state returned by ListState.
func ContinueList(ctx context.Context, state string) context.Context {
	var pages, cost int64
	_, _ = fmt.Sscanf(state, "%d.%d", &pages, &cost) // nothing was read if it is empty
	l := &list{}
	l.pages.Store(pages)
	l.cost.Store(cost)
	return context.WithValue(ctx, listKey{}, l)
}

// IsOneList reports whether the context belongs to a list.
func IsOneList(ctx context.Context) bool {
	return ctx.Value(listKey{}) != nil
}

// ListState returns how much of the context's list has been read.
func ListState(ctx context.Context) string {
	l := ctx.Value(listKey{}).(*list)
	return fmt.Sprintf("%d.%d", l.pages.Load(), l.cost.Load())
}

// Keep records that only length bytes of JSON are kept of what was read since ListState returned the state.
func Keep(ctx context.Context, state string, length int) {
	l, before := ctx.Value(listKey{}).(*list), ContinueList(ctx, state).Value(listKey{}).(*list)
	l.cost.Store(before.cost.Load() + int64(length)*costOfKept)
}

// KeptState returns the state of a list after a page of which only length bytes of JSON are kept. before and after are the states that
// ListState returned before and after the page.
func KeptState(before, after string, length int) string {
	ctx := ContinueList(context.Background(), after)
	Keep(ctx, before, length)
	return ListState(ctx)
}

func tooMuch(format string, args ...any) error {
	return platform.NewError(platform.ClassTransient, "the response is rejected: "+format, args...)
}

// page counts a response.
func (l *list) page() error {
	if l.pages.Add(1) > maxPages {
		return tooMuch("the list has more than %d pages", maxPages)
	}
	return nil
}

// limited is the limited body of a response.
type limited struct {
	io.Reader
	io.Closer

	list  *list
	xml   bool
	watch bool

	cost, most int64
	depth      int
	items      [maxDepth + 1]int
	// quoted and escaped track JSON strings; tag, opens and last track XML elements.
	quoted, escaped bool
	tag, opens      bool
	last            byte
	err             error
}

// limit limits the body of the response. SOAP requests are answered in XML, and all others in JSON unless xml is true.
func limit(request *http.Request, response *http.Response, watch, xml bool) {
	l, _ := request.Context().Value(listKey{}).(*list)
	most := int64(maxCost)
	if response.StatusCode >= http.StatusBadRequest {
		most = maxFaultCost
	}
	response.Body = &limited{
		Reader: transform.NewReader(response.Body, encoding.UTF8Validator), Closer: response.Body, list: l, watch: watch, most: most,
		xml: xml || strings.Contains(request.Header.Get("Content-Type"), "xml"),
	}
}

// Read implements io.Reader.
func (l *limited) Read(p []byte) (int, error) {
	if l.err != nil {
		return 0, l.err
	}
	n, err := l.Reader.Read(p)
	if errors.Is(err, encoding.ErrInvalidUTF8) {
		// A decoder would silently replace invalid bytes.
		err = platform.NewError(platform.ClassTransient, "the response is rejected: it is not valid UTF-8")
	}
	if l.err = l.count(p[:n]); l.err != nil {
		return 0, l.err
	}
	return n, err
}

func (l *limited) count(p []byte) error {
	before := l.cost
	for _, c := range p {
		l.cost += costOfByte
		if l.xml {
			l.element(c)
		} else {
			l.value(c)
		}
		switch {
		case l.depth > maxDepth:
			return tooMuch("it is nested deeper than %d", maxDepth)
		case l.items[l.depth] > maxItems:
			return tooMuch("a list in it has more than %d elements", maxItems)
		case l.cost > l.most:
			return tooMuch("it is larger than %d KiB, or has as many elements", l.most/costOfByte>>10)
		}
	}
	if l.list != nil && l.list.cost.Add(l.cost-before) > maxListCost {
		return tooMuch("the pages of the list are larger than %d MiB, or have as many elements", maxListCost/costOfByte>>20)
	}
	return nil
}

// value processes a byte of JSON.
func (l *limited) value(c byte) {
	switch {
	case l.escaped:
		l.escaped = false
	case l.quoted:
		l.escaped, l.quoted = c == '\\', c != '"'
	case c == '"':
		l.quoted = true
	case c == ',':
		l.cost += costOfValue
		l.items[l.depth]++
	case c == '{', c == '[':
		l.cost += costOfObject
		if c == '{' && l.depth == itemDepth {
			l.cost += costOfItem
		}
		l.open()
	case c == '}', c == ']':
		if l.depth = max(0, l.depth-1); l.depth == 0 && l.watch {
			l.cost = 0
		}
	}
}

// element processes a byte of XML.
func (l *limited) element(c byte) {
	switch {
	case c == '=':
		l.cost += costOfValue
	case c == '<':
		l.tag, l.opens = true, false
	case l.tag && l.last == '<':
		if l.opens = c != '/' && c != '?' && c != '!'; l.opens {
			l.cost += costOfElement
			l.items[l.depth]++
			l.open()
		} else if c == '/' {
			l.depth = max(0, l.depth-1)
		}
	case l.tag && c == '>':
		if l.opens && l.last == '/' {
			l.depth--
		}
		l.tag = false
	}
	l.last = c
}

func (l *limited) open() {
	if l.depth++; l.depth <= maxDepth {
		l.items[l.depth] = 0
	}
}
