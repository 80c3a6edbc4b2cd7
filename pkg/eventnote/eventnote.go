// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package eventnote writes events whose notes fit into the room that the events API has.
package eventnote

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
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

// Writer writes events about objects.
type Writer struct{ events.EventRecorder }

// Warn writes a warning.
func (w Writer) Warn(about runtime.Object, reason, action, format string, args ...any) {
	w.Eventf(about, nil, corev1.EventTypeWarning, reason, action, "%s", Shorten(fmt.Sprintf(format, args...)))
}

// Tell writes what is as it should be.
func (w Writer) Tell(about runtime.Object, reason, action, format string, args ...any) {
	w.Eventf(about, nil, corev1.EventTypeNormal, reason, action, "%s", Shorten(fmt.Sprintf(format, args...)))
}

// OnSite is the action of an event about one site. A recorder makes one event of those with equal reasons and actions.
func OnSite(action, name string) string {
	return action + "-" + name
}
