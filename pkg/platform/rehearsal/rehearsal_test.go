// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package rehearsal

import (
	"strings"
	"testing"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
)

func TestRehearsal(t *testing.T) {
	RegisterFailHandler(Fail)
	RunSpecs(t, "Rehearsal Suite")
}

var _ = Describe("Log", func() {
	It("should return the writes of a site in their order", func() {
		log := &Log{}
		for _, w := range []Write{{Site: "a", ID: "1"}, {Site: "b", ID: "2"}, {Site: "a", ID: "3"}} {
			Expect(log.Add(w)).To(Succeed())
		}
		Expect(log.Writes("a")).To(HaveExactElements(HaveField("ID", "1"), HaveField("ID", "3")))
		Expect(log.Writes("c")).To(BeEmpty())
	})

	It("should make texts of a site printable and short", func() {
		log := &Log{}
		Expect(log.Add(Write{Site: "a", Name: "x\x1b[31m", Fields: []v1alpha1.PlannedField{{From: strings.Repeat("x", 1000), To: "a\nb"}}})).
			To(Succeed())
		written := log.Writes("a")[0]
		Expect(written.Name).To(Equal("x[31m"))
		Expect(len(written.Fields[0].From)).To(BeNumerically("<=", 200))
		Expect(written.Fields[0].To).To(Equal("a b"))
	})

	It("should not grow without end", func() {
		log := &Log{}
		for range maxWrites {
			Expect(log.Add(Write{})).To(Succeed())
		}
		Expect(log.Add(Write{})).To(MatchError(ContainSubstring("20000 requests")))
	})

	It("should make up an ID once for each site and kind", func() {
		log := &Log{}
		Expect([]string{log.NewID("a", "key pair"), log.NewID("a", "key pair"), log.NewID("a", "router"), log.NewID("b", "key pair")}).
			To(Equal([]string{"planned:key-pair-1", "planned:key-pair-2", "planned:router-1", "planned:key-pair-1"}))
		Expect(IsMadeUp(log.NewID("a", "router"))).To(BeTrue())
		Expect(IsMadeUp("5b1e0e0c-3c5c-4f43-9b0a-0d5d1f2f7c8a")).To(BeFalse())
	})

	It("should name the request that is refused", func() {
		err := Refuse("network", "POST", "/v2.0/trunks")
		Expect(err).To(MatchError(ContainSubstring("POST /v2.0/trunks of the network API, which was not sent")))
		Expect(platform.ClassOf(err)).To(Equal(platform.ClassConfiguration))
	})
})
