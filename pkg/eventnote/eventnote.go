// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package eventnote writes events whose notes fit into the events API.
package eventnote

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
)

// maxLength is the maximum length of a note in bytes. The API allows 1024.
const maxLength = 1000

// Shorten truncates a note that is too long for the API.
func Shorten(note string) string {
	if len(note) <= maxLength {
		return note
	}
	return strings.ToValidUTF8(note[:maxLength], "") + "…"
}

// List joins items up to half the length of a note, and appends how many are omitted.
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

// Warning writes an event of type Warning.
func (w Writer) Warning(about runtime.Object, reason, action, format string, args ...any) {
	w.Eventf(about, nil, corev1.EventTypeWarning, reason, action, "%s", Shorten(fmt.Sprintf(format, args...)))
}

// Normal writes an event of type Normal.
func (w Writer) Normal(about runtime.Object, reason, action, format string, args ...any) {
	w.Eventf(about, nil, corev1.EventTypeNormal, reason, action, "%s", Shorten(fmt.Sprintf(format, args...)))
}

// OnSite returns the action of an event about one site. Recorders merge events with equal reasons and actions.
func OnSite(action, name string) string {
	return action + "-" + name
}
