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
	// maxForeign is the maximum length of a text from a site in a message, in bytes.
	maxForeign = 200
	// maxMessage is the maximum length of an error message of a site, in bytes.
	maxMessage = 900
)

// Printable returns a text from a site in a form that is safe in messages: truncated, in one line, without unprintable characters.
func Printable(text string) string {
	return printable(text, maxForeign)
}

// PrintableMessage is Printable for a text that may be as long as the message of an error.
func PrintableMessage(text string) string {
	return printable(text, maxMessage)
}

func printable(text string, maximum int) string {
	// Truncate first, because the text may be long.
	text = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case r == utf8.RuneError || !unicode.IsPrint(r):
			return -1
		default:
			return r
		}
	}, cut(text, 4*maximum))
	return cut(strings.TrimSpace(text), maximum)
}

// Foreign returns err, which comes from a site or a library, with a text that is safe in messages. It omits documents, such as responses
// that cannot be decoded, and the queries of requests.
func Foreign(err error) error {
	var request *url.Error
	if errors.As(err, &request) {
		address, _, _ := strings.Cut(request.URL, "?")
		return Reworded(err, fmt.Sprintf("%s %q: %s", Printable(request.Op), Printable(address), excerpt(request.Err)))
	}
	return Reworded(err, excerpt(err))
}

// Reworded returns err with another text.
func Reworded(err error, text string) error {
	return &foreign{err: err, text: text}
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

// cut truncates the text to the maximum length, including an ellipsis.
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
