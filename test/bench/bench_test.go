// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/gbytes"

	"github.com/gardener/gardener-extension-provider-hybrid/test/countproxy"
)

var start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func record(run string, from, to int) Record {
	return Record{Run: run, Time: start.Add(time.Duration(from) * time.Millisecond), Duration: time.Duration(to-from) * time.Millisecond}
}

func call(method, path string, status int) Record {
	return Record{Method: method, Path: path, Status: status}
}

var _ = Describe("Counting", func() {
	DescribeTable("values",
		func(count Count, expected float64, records ...Record) {
			Expect(count(records)).To(Equal(expected))
		},
		Entry("requests of the worst run", maxPerRun(requests), 2.0, record("a", 0, 1), record("b", 0, 1), record("b", 0, 1)),
		Entry("parallel requests are one round trip", maxPerRun(roundTrips), 1.0, record("a", 0, 10), record("a", 5, 20), record("a", 9, 12)),
		Entry("requests after one another are several", maxPerRun(roundTrips), 3.0, record("a", 0, 10), record("a", 10, 20), record("a", 9, 30),
			record("a", 20, 25)),
		Entry("medians against the floor", Count(floorRatio), 1.5,
			record("ours-1", 0, 30), record("floor-1", 0, 20),
			record("ours-2", 100, 120), record("ours-2", 110, 130), record("floor-2", 0, 20),
			record("ours-3", 0, 900), record("floor-3", 0, 10)),
		Entry("machines without shared polls", Count(requestsPerMachine), 3.0,
			call(http.MethodGet, "/v2.0/ports?name=a", 200), call(http.MethodPost, "/v2.0/ports", 201), call(http.MethodPost, "/v2.1/servers", 202),
			call(http.MethodGet, "/v2.1/servers/detail?name=x", 200)),
		Entry("a refused server is no machine", Count(requestsPerMachine), 4.0,
			call(http.MethodPost, "/v2.0/ports", 201), call(http.MethodPost, "/v2.1/servers", 503),
			call(http.MethodGet, "/v2.1/servers/1", 200), call(http.MethodPost, "/v2.1/servers", 202)),
	)

	DescribeTable("logs that say nothing",
		func(count Count, records ...Record) {
			_, err := count(records)
			Expect(err).To(HaveOccurred())
		},
		Entry("no requests", maxPerRun(requests)),
		Entry("no floor", Count(floorRatio), record("ours-1", 0, 1)),
		Entry("no machine", Count(requestsPerMachine), call(http.MethodPost, "/v2.0/ports", 201)),
	)
})

var _ = Describe("Figures", func() {
	It("should select all or one", func() {
		Expect(selectFigures("")).To(HaveLen(len(figures)))
		Expect(selectFigures("openstack-infra-noop-requests")).To(ConsistOf(HaveField("ID", "openstack-infra-noop-requests")))
	})

	It("should select by a pattern", func() {
		selected, err := selectFigures("vsphere-list-*")
		Expect(err).NotTo(HaveOccurred())
		Expect(selected).To(And(HaveLen(3), HaveEach(HaveField("ID", HavePrefix("vsphere-list-")))))
		_, err = selectFigures("vsphere-[")
		Expect(err).To(MatchError(ContainSubstring("vsphere-[")))
	})

	It("should list the figures that there are", func() {
		_, err := selectFigures("none")
		for _, figure := range figures {
			Expect(err).To(MatchError(ContainSubstring(figure.ID)))
		}
	})
})

var _ = Describe("Results", func() {
	var (
		dir    string
		figure Figure
	)

	BeforeEach(func() {
		dir = GinkgoT().TempDir()
		figure = Figure{ID: "f", Unit: "requests", Target: new(1.0), Peer: 3, PeerNote: "peers vary", Count: maxPerRun(requests)}
	})

	It("should keep a log that gives the value again", func() {
		records := recordsOf("a", []countproxy.Request{{
			Start: time.Now(), End: time.Now().Add(time.Millisecond), Service: "nova", Method: http.MethodGet, Path: "/servers", Query: "name=a&b=c",
			Kind: countproxy.KindRead, Status: 200, ResponseBytes: 7,
		}})
		result, err := evaluate(figure, Measurement{Records: records, Note: "warm"}, dir)
		Expect(err).NotTo(HaveOccurred())
		Expect(result.Value).To(Equal(1.0))
		Expect(result.Note).To(Equal("warm; peers vary"))
		Expect(result.missed()).To(BeFalse())

		line, err := os.ReadFile(filepath.Join(dir, "f.jsonl"))
		Expect(err).NotTo(HaveOccurred())
		var fields map[string]any
		Expect(json.Unmarshal(line, &fields)).To(Succeed())
		Expect(fields).To(And(HaveKey("time"), HaveKeyWithValue("service", "nova"), HaveKeyWithValue("method", "GET"),
			HaveKeyWithValue("path", "/servers?name=a&b=c"), HaveKeyWithValue("status", 200.0), HaveKeyWithValue("bytes", 7.0)))
		again, err := readLog(filepath.Join(dir, "f.jsonl"))
		Expect(err).NotTo(HaveOccurred())
		Expect(again).To(HaveLen(1))
		Expect(again[0].interval().End).To(BeTemporally("==", records[0].interval().End))
	})

	It("should fail if the log gives another value", func() {
		calls := 0
		figure.Count = func([]Record) (float64, error) { calls++; return float64(calls), nil }
		_, err := evaluate(figure, Measurement{}, dir)
		Expect(err).To(MatchError(ContainSubstring("counting it gives 2, but 1 was measured")))
	})

	It("should fail if the log cannot be counted", func() {
		figure.Count = func([]Record) (float64, error) { return 0, errors.New("empty") }
		_, err := evaluate(figure, Measurement{}, dir)
		Expect(err).To(MatchError("empty"))
	})

	It("should say which targets were missed", func() {
		peer := 3.0
		out := gbytes.NewBuffer()
		Expect(printTable(out,
			[]Result{{ID: "good", Value: 1, Target: new(1.0), Peer: &peer}, {ID: "bad", Value: 1.25, Target: new(1.0)},
				{ID: "only", Value: 7}})).To(Succeed())
		Expect(string(out.Contents())).To(And(
			MatchRegexp(`good +1 +<= 1 +3 .*ok`),
			MatchRegexp(`bad +1.25 +<= 1 +- .*MISSED`),
			MatchRegexp(`only +7 +- +- .*report`),
		))
	})

	It("should write a JSON list", func() {
		path := filepath.Join(dir, "bench.json")
		Expect(writeResults(path,
			[]Result{{ID: "f", Value: 2, Unit: "requests", Target: new(1.0)}, {ID: "g", Value: 3, Unit: "MiB"}})).To(Succeed())
		Expect(os.ReadFile(path)).To(MatchJSON(`[{"id":"f","value":2,"unit":"requests","target":1,"peer":null,"note":""},{"id":"g","value":3,"unit":"MiB","target":null,"peer":null,"note":""}]`))
	})
})
