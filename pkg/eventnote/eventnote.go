// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package eventnote fits what is told in events into the room that the events API has.
package eventnote

import (
	"fmt"
	"strings"
)

// maxLength is what a note may have, in bytes. The API allows 1024.
const maxLength = 1000

// Shorten cuts a note that is too long for the API.
func Shorten(note string) string {
	if len(note) <= maxLength {
		return note
	}
	return strings.ToValidUTF8(note[:maxLength], "") + "…"
}

// List joins items as far as there is room for them in half a note, and says how many are left out.
func List(items []string) string {
	var b strings.Builder
	for i, item := range items {
		if i > 0 && b.Len()+len(item) > maxLength/2 {
			fmt.Fprintf(&b, " and %d more", len(items)-i)
			break
		}
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(item)
	}
	return b.String()
}
