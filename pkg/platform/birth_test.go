// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package platform_test

import (
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	. "github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
)

var _ = Describe("Births", func() {
	created := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	now := created.Add(time.Hour)
	after := func(seconds float64) time.Time { return created.Add(time.Duration(seconds * float64(time.Second))) }

	DescribeTable("should have a profile of what can be true",
		func(times BirthTimes, expected string) {
			Expect(times.Profile(created, now).String()).To(Equal(expected))
		},
		Entry("all phases", BirthTimes{BirthClaimed: after(1.9), BirthPowered: after(9), BirthProvisioned: after(20), BirthRegistered: after(64),
			BirthInitialized: after(65), BirthReady: after(90)},
			"claimed=1s,powered=9s,provisioned=20s,registered=1m4s,initialized=1m5s,ready=1m30s"),
		Entry("a node that is ready before it is initialized", BirthTimes{BirthRegistered: after(30), BirthInitialized: after(50),
			BirthReady: after(40)}, "registered=30s,initialized=50s,ready=40s"),
		Entry("nothing", BirthTimes{}, ""),
		Entry("no node", BirthTimes{BirthClaimed: after(1), BirthReady: after(40)}, ""),
		Entry("a node that is older than its Machine, which was restored", BirthTimes{BirthRegistered: after(-3), BirthReady: after(40)}, ""),
		Entry("a node of the future", BirthTimes{BirthRegistered: now.Add(3 * time.Second), BirthReady: after(40)}, ""),
		Entry("times before the Machine", BirthTimes{BirthClaimed: after(-3), BirthPowered: after(-1e6), BirthRegistered: after(30)},
			"registered=30s"),
		Entry("a power-on after the kubelet", BirthTimes{BirthPowered: after(33), BirthProvisioned: after(3000), BirthRegistered: after(30)},
			"registered=30s"),
		Entry("a kubelet whose clock is slow or fast", BirthTimes{BirthRegistered: after(30), BirthInitialized: after(27.9),
			BirthReady: now.Add(3 * time.Second)}, "registered=30s"),
		Entry("rounded times", BirthTimes{BirthClaimed: after(-.5), BirthPowered: after(31), BirthRegistered: after(30),
			BirthInitialized: after(29), BirthReady: now.Add(time.Second)}, "claimed=0s,powered=30s,registered=30s,initialized=30s,ready=1h0m0s"),
		Entry("times at the ends of what a time can be", BirthTimes{BirthClaimed: time.Unix(-1<<62, 0), BirthPowered: time.Unix(1<<62, 0),
			BirthRegistered: after(30), BirthInitialized: time.Unix(1<<62, 0), BirthReady: time.Unix(-1<<62, 0)}, "registered=30s"),
		Entry("a phase that does not exist", BirthTimes{"born": after(1), BirthRegistered: after(30)}, "registered=30s"),
	)

	It("should be read as they are written", func() {
		times := BirthTimes{BirthPowered: after(9), BirthInitialized: after(65)}
		Expect(times.String()).To(Equal("powered=2026-03-01T12:00:09Z,initialized=2026-03-01T12:01:05Z"))
		Expect(ParseBirthTimes(times.String())).To(Equal(times))
		profile := BirthProfile{BirthClaimed: 0, BirthReady: 64 * time.Second}
		Expect(profile.String()).To(Equal("claimed=0s,ready=1m4s"))
		Expect(ParseBirthProfile(profile.String())).To(Equal(profile))
	})

	DescribeTable("should be read from any text without what it does not say",
		func(text string) {
			Expect(ParseBirthTimes(text)).To(BeEmpty())
			Expect(ParseBirthProfile(text)).To(BeEmpty())
		},
		Entry("nothing", ""),
		Entry("separators", ",=,==,=,"),
		Entry("no value", "ready,powered="),
		Entry("another phase", "born=2026-03-01T12:00:09Z,born=9s"),
		Entry("another form of phases and values", " ready=9s,Ready=9s,ready=9,powered=yesterday,claimed=-1s,ready=1h=2h,ready=9999999999h"),
		Entry("a long text", strings.Repeat("ready=x,", 1<<15)),
	)
})
