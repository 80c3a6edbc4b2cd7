// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"net/http"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/gardener/gardener-extension-provider-hybrid/test/countproxy"
)

func at(seconds float64, service string, status int) Record {
	return Record{Time: start.Add(time.Duration(seconds * float64(time.Second))), Service: service, Status: status, Duration: time.Millisecond,
		Kind: countproxy.KindRead}
}

var _ = Describe("Samples", func() {
	DescribeTable("values",
		func(count Count, expected float64, records ...Record) {
			Expect(count(records)).To(BeNumerically("~", expected, 1e-9))
		},
		Entry("the worst of one quantity", worst("a"), 3.0, sample("1", "a", 2), sample("2", "a", 3), sample("2", "b", 9), at(0, "a", 200)),
		Entry("the median of one quantity", middle("a"), 2.0, sample("1", "a", 1), sample("2", "a", 9), sample("3", "a", 2), sample("3", "b", 9)),
		Entry("requests without samples", maxPerRun(requests), 1.0, at(0, "nova", 200), sample("", "a", 1)),
		Entry("bytes of the worst run", maxPerRun(megabytes), 1.5,
			Record{Run: "a", Bytes: 1_000_000}, Record{Run: "a", Bytes: 500_000}, Record{Run: "b", Bytes: 700_000}),
		Entry("logins", Count(logins), 2.0, Record{Kind: countproxy.KindAuth}, Record{Kind: countproxy.KindAuth},
			Record{Kind: countproxy.KindRead}),
		Entry("no login", Count(logins), 0.0, Record{Kind: countproxy.KindRead}),
		Entry("no server lost", Count(lostServers), 0.0, sample("503", quantityDifference, 0), call(http.MethodDelete, "/v2.0/ports/1", 204)),
		Entry("servers deleted, missing or too many", Count(lostServers), 3.0,
			sample("503", quantityDifference, 2), sample("429", quantityDifference, 0), call(http.MethodDelete, "/v2.1/servers/1", 204)),
		Entry("requests before the pause is over", Count(earlyRequests), 1.0,
			at(0, "nova", 429), at(0.05, "nova", 200), at(1, "nova", 200), at(1, "neutron", 200), at(2.1, "nova", 200)),
		Entry("the pause obeyed", Count(earlyRequests), 0.0, at(0, "nova", 200), at(1, "nova", 429), at(3.1, "nova", 200)),
		Entry("the delay of the slowest wave", Count(faultDelay), 4.0,
			sample(undisturbed, quantityWave, 5), sample("503", quantityWave, 6), sample("429", quantityWave, 9)),
		Entry("no delay", Count(faultDelay), 0.0, sample(undisturbed, quantityWave, 5), sample("503", quantityWave, 4)),
	)

	DescribeTable("the time in which a part of the requests is answered",
		func(part float64, count int, expected float64) {
			records := []Record{sample("1", "a", 1)}
			for i := range count {
				records = append(records, Record{Kind: countproxy.KindWrite, Duration: time.Duration(count-i) * time.Millisecond})
			}
			Expect(latency(part)(records)).To(BeNumerically("~", expected, 1e-9))
		},
		Entry("most of 100", 0.99, 100, 99.0),
		Entry("most of 1,000", 0.99, 1000, 990.0),
		Entry("half", 0.5, 100, 50.0),
		Entry("the only one", 0.99, 1, 1.0),
	)

	It("should take the worst of all paths", func() {
		var records []Record
		for i := range 100 {
			records = append(records, Record{Path: "mutate", Duration: time.Millisecond},
				Record{Path: "validate", Duration: time.Duration(i+1) * 10 * time.Millisecond})
		}
		Expect(worstPath(latency(0.99))(records)).To(BeNumerically("~", 990, 1e-9))
		Expect(latency(0.99)(records)).To(BeNumerically("~", 980, 1e-9))
		_, err := worstPath(latency(0.99))([]Record{sample("1", "b", 1)})
		Expect(err).To(HaveOccurred())
	})

	DescribeTable("logs that say nothing",
		func(count Count, records ...Record) {
			_, err := count(records)
			Expect(err).To(HaveOccurred())
		},
		Entry("no sample of the quantity to take the worst of", worst("a"), sample("1", "b", 1)),
		Entry("no sample of the quantity to take the median of", middle("a"), sample("1", "b", 1)),
		Entry("no request that could be a login", Count(logins), sample("1", "b", 1)),
		Entry("no count of servers", Count(lostServers), call(http.MethodDelete, "/v2.1/servers/1", 204)),
		Entry("no request that was answered", latency(0.99), sample("1", "b", 1)),
		Entry("no refused request", Count(earlyRequests), at(0, "nova", 503)),
		Entry("no undisturbed wave", Count(faultDelay), sample("503", quantityWave, 1)),
		Entry("no disturbed wave", Count(faultDelay), sample(undisturbed, quantityWave, 1)),
	)

	It("should measure once what several figures are counted from", func(ctx SpecContext) {
		calls := 0
		do := func(context.Context, *Bed) (Measurement, error) {
			calls++
			return Measurement{Note: "measured"}, nil
		}
		bed := newBed(GinkgoWriter)
		for range 2 {
			Expect(shared(do)(ctx, bed)).To(HaveField("Note", "measured"))
		}
		Expect(calls).To(Equal(1))
	})

	It("should try once what several figures are counted from", func(ctx SpecContext) {
		calls := 0
		do := func(context.Context, *Bed) (Measurement, error) {
			calls++
			return Measurement{}, errors.New("down")
		}
		bed := newBed(GinkgoWriter)
		for range 2 {
			_, err := shared(do)(ctx, bed)
			Expect(err).To(MatchError("down"))
		}
		Expect(calls).To(Equal(1))
	})

	It("should let each kind of request meet each kind of fault once", func() {
		Expect(together()).To(HaveLen(len(kinds)))
		var all []countproxy.Fault
		for _, s := range together() {
			Expect(s.faults).To(HaveLen(len(targets)))
			all = append(all, s.faults...)
		}
		var alone []countproxy.Fault
		for _, s := range apart() {
			Expect(s.faults).To(HaveLen(1))
			alone = append(alone, s.faults...)
		}
		Expect(alone).To(Equal(all))
		Expect(all).To(HaveEach(And(HaveField("Times", 1), HaveField("Path", Not(BeEmpty())), HaveField("Action", Not(BeEmpty())))))
	})
})
