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

// What a site may answer is limited so that it cannot take the memory that all sites share. A decoder makes much more of `{},{},` than of
// as much text, so it is limited what an answer costs and not how long it is. An answer of the compute API with 1000 servers costs 25 MiB,
// one of a vCenter with as many virtual machines 30 MiB, 100 hosts of an inventory with their hardware 20 MiB and 1 MiB without.
const (
	// maxHeader is how long the header of an answer may be.
	maxHeader = 64 << 10
	// maxCost is what an answer, or each event of a watch, may cost: 10 MiB of text.
	maxCost = 40 << 20
	// maxFaultCost is what an answer may cost that says what went wrong: 512 KiB of text.
	maxFaultCost = 2 << 20
	// maxListCost is what all pages of a list may cost, as far as they are kept, and maxPages how many answers they may take.
	maxListCost = 2 * maxCost
	maxPages    = 200
	// maxItems is how many elements each array of an answer may have, and maxDepth how deep they may be in each other.
	maxItems = 10_000
	maxDepth = 200

	costOfByte    = 4
	costOfValue   = 48
	costOfObject  = 256
	costOfElement = 640
	// costOfItem is that of an object in a list, which is decoded into all the fields that it could have.
	costOfItem = 2 << 10
	itemDepth  = 2
	// costOfKept is that of a byte of JSON with everything in it.
	costOfKept = 8
)

type listKey struct{}

// list is what is left for the pages of a list.
type list struct {
	cost, pages atomic.Int64
}

// OneList returns a context for the requests for all pages of a list: the site may say without end that there is another one.
func OneList(ctx context.Context) context.Context {
	return ContinueList(ctx, "")
}

// OneOperation returns a context for an operation of a library, which does not say which of its requests are for the pages of one list. It
// may make any number of them, and their answers may cost as much as those of a list.
func OneOperation(ctx context.Context) context.Context {
	l := &list{}
	l.pages.Store(math.MinInt64)
	return context.WithValue(ctx, listKey{}, l)
}

// ContinueList is OneList for what goes on with a list of which ListState told how much was read.
func ContinueList(ctx context.Context, state string) context.Context {
	var pages, cost int64
	_, _ = fmt.Sscanf(state, "%d.%d", &pages, &cost) // nothing was read if it is empty
	l := &list{}
	l.pages.Store(pages)
	l.cost.Store(cost)
	return context.WithValue(ctx, listKey{}, l)
}

// IsOneList reports whether the context is for the pages of a list.
func IsOneList(ctx context.Context) bool {
	return ctx.Value(listKey{}) != nil
}

// ListState returns how much was read of the list that the context is for.
func ListState(ctx context.Context) string {
	l := ctx.Value(listKey{}).(*list)
	return fmt.Sprintf("%d.%d", l.pages.Load(), l.cost.Load())
}

// Keep says that only length bytes of JSON are kept of what was read of the list since it returned the state.
func Keep(ctx context.Context, state string, length int) {
	l, before := ctx.Value(listKey{}).(*list), ContinueList(ctx, state).Value(listKey{}).(*list)
	l.cost.Store(before.cost.Load() + int64(length)*costOfKept)
}

func tooMuch(format string, args ...any) error {
	return platform.NewError(platform.ClassTransient, "the answer is not read to its end: "+format, args...)
}

// page counts an answer.
func (l *list) page() error {
	if l.pages.Add(1) > maxPages {
		return tooMuch("the list has more than %d pages", maxPages)
	}
	return nil
}

// limited is the body of an answer.
type limited struct {
	io.Reader
	io.Closer

	list  *list
	xml   bool
	watch bool

	cost, most int64
	depth      int
	items      [maxDepth + 1]int
	// quoted and escaped are about strings, tag, opens and last about elements.
	quoted, escaped bool
	tag, opens      bool
	last            byte
	err             error
}

// limit limits the body of the answer to the request. Requests of SOAP are answered in XML, all others in JSON.
func limit(request *http.Request, response *http.Response, watch bool) {
	l, _ := request.Context().Value(listKey{}).(*list)
	most := int64(maxCost)
	if response.StatusCode >= http.StatusBadRequest {
		most = maxFaultCost
	}
	response.Body = &limited{
		Reader: transform.NewReader(response.Body, encoding.UTF8Validator), Closer: response.Body, list: l, watch: watch, most: most,
		xml: strings.Contains(request.Header.Get("Content-Type"), "xml"),
	}
}

// Read implements io.Reader.
func (l *limited) Read(p []byte) (int, error) {
	if l.err != nil {
		return 0, l.err
	}
	n, err := l.Reader.Read(p)
	if errors.Is(err, encoding.ErrInvalidUTF8) {
		// A decoder would pass on something else in its place.
		err = platform.NewError(platform.ClassTransient, "the answer is not read to its end: it is no UTF-8")
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

// value looks at a byte of JSON.
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

// element looks at a byte of XML.
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
