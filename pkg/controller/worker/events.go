// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package worker

import (
	"fmt"
	"strings"
)

// maxEventNote is how long the note of an event may be, in bytes. The API server allows a bit more.
const maxEventNote = 1000

// shorten cuts what the API server would refuse as too long.
func shorten(note string) string {
	if len(note) <= maxEventNote {
		return note
	}
	return strings.ToValidUTF8(note[:maxEventNote], "") + "…"
}

// enumerate joins the items as far as the note of an event has room for them, and says how many others there are.
func enumerate(items []string) string {
	var b strings.Builder
	for i, item := range items {
		if i > 0 && b.Len()+len(item) > maxEventNote/2 {
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
