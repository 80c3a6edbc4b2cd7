// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package eventnote_test

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/events"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/eventnote"
)

func TestEventNote(t *testing.T) {
	RegisterFailHandler(Fail)
	RunSpecs(t, "Event Note Suite")
}

var _ = Describe("Notes of events", func() {
	It("should be cut between characters", func() {
		long := eventnote.Shorten("x" + strings.Repeat("ä", 1000))
		Expect(eventnote.Shorten("short")).To(Equal("short"))
		Expect(len(long)).To(BeNumerically("<=", 1024))
		Expect(utf8.ValidString(long)).To(BeTrue())
	})

	DescribeTable("should list what there is room for", func(items []string, expected string) {
		Expect(eventnote.List(items)).To(Equal(expected))
	},
		Entry("nothing", nil, ""),
		Entry("one", []string{"a"}, "a"),
		Entry("two", []string{"a", "b"}, "a, b"),
		Entry("too many", slices.Repeat([]string{strings.Repeat("x", 300)}, 4), strings.Repeat("x", 300)+" and 3 more"),
		Entry("one that is too long", []string{strings.Repeat("x", 600), "b"}, strings.Repeat("x", 600)+" and 1 more"),
	)

	It("should be written for each site with an action of its own", func() {
		recorder := events.NewFakeRecorder(2)
		writer := eventnote.Writer{EventRecorder: recorder}
		writer.Warning(&corev1.Pod{}, "SiteFailed", eventnote.OnSite("Reconcile", "cloud"), "%d %s", 100, strings.Repeat("%", 1000))
		writer.Normal(&corev1.Pod{}, "SiteReady", "Reconcile", "%s", "100%")
		Expect(recorder.Events).To(Receive(And(HavePrefix("Warning SiteFailed 100 %%%"), HaveSuffix("…"))))
		Expect(recorder.Events).To(Receive(Equal("Normal SiteReady 100%")))
		Expect(eventnote.OnSite("Reconcile", "cloud")).NotTo(Equal(eventnote.OnSite("Reconcile", "racks")))
	})
})
