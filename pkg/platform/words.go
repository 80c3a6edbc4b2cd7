// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package platform

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	// maxForeign is how much is told of a text that a site wrote, in bytes.
	maxForeign = 200
	// maxMessage is how long the message of an error of a site may be, in bytes.
	maxMessage = 900
)

// Printable returns what may be told of a text that a site wrote: its beginning, in one line, without what is not printable.
func Printable(text string) string {
	// No more is looked at than can be told: what is dropped may be long.
	text = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case r == utf8.RuneError || !unicode.IsPrint(r):
			return -1
		default:
			return r
		}
	}, cut(text, 4*maxForeign))
	return cut(strings.TrimSpace(text), maxForeign)
}

// Foreign returns err with as much of its text as may be told when a site or a library wrote it: documents, such as answers that cannot
// be decoded, and the queries of requests are left out.
func Foreign(err error) error {
	var request *url.Error
	if errors.As(err, &request) {
		address, _, _ := strings.Cut(request.URL, "?")
		return &foreign{err: err, text: fmt.Sprintf("%s %q: %s", Printable(request.Op), Printable(address), excerpt(request.Err))}
	}
	return &foreign{err: err, text: excerpt(err)}
}

func excerpt(err error) string {
	text := err.Error()
	if document := strings.IndexAny(text, "{<"); document >= 0 {
		text = strings.TrimRight(text[:document], ": ") + ": (document)"
	}
	return Printable(text)
}

type foreign struct {
	err  error
	text string
}

func (f *foreign) Error() string { return f.text }

func (f *foreign) Unwrap() error { return f.err }

// cut returns the text, or as much of it as is no longer than the maximum and an ellipsis.
func cut(text string, maximum int) string {
	if len(text) <= maximum {
		return text
	}
	end := maximum - len("…")
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + "…"
}
