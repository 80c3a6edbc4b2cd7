// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
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
		Entry("shared polls for each machine", Count(pollsPerMachine), 0.5,
			call(http.MethodGet, "/v2.1/servers/detail?name=x", 200), call(http.MethodPost, "/v2.1/servers", 202),
			call(http.MethodPost, "/v2.1/servers", 202)),
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
		Entry("polls and no machine", Count(pollsPerMachine), call(http.MethodGet, "/v2.1/servers/detail", 200)),
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
		figure = Figure{ID: "f", Unit: "requests", Target: new(1.0), Floor: 0.5, Count: maxPerRun(requests),
			Peer: &Peer{Value: 3, Source: sourceRecorded, Of: "p v1", Note: "peers vary"}}
	})

	It("should keep a log that gives the value again", func() {
		records := recordsOf("a", []countproxy.Request{{
			Start: time.Now(), End: time.Now().Add(time.Millisecond), Service: "nova", Method: http.MethodGet, Path: "/servers", Query: "name=a&b=c",
			Kind: countproxy.KindRead, Status: 200, ResponseBytes: 7,
		}})
		result, err := evaluate(figure, Measurement{Records: records, Note: "warm"}, dir)
		Expect(err).NotTo(HaveOccurred())
		Expect(result.Value).To(HaveValue(Equal(1.0)))
		Expect(result.Note).To(Equal("warm; peer: peers vary"))
		Expect(result.Peer).To(HaveValue(Equal(3.0)))
		Expect(result).To(And(HaveField("PeerSource", sourceRecorded), HaveField("PeerOf", "p v1"), HaveField("PeerRounds", 0)))
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

	It("should count the peer's requests as ours", func() {
		peer := []Record{record("a", 0, 1), record("a", 0, 1)}
		result, err := evaluate(figure,
			Measurement{Records: peer[:1], Peer: &PeerRun{Of: "p v2", Rounds: 1, Records: peer, Note: "slow"}, Note: "warm"}, dir)
		Expect(err).NotTo(HaveOccurred())
		Expect(result.Peer).To(HaveValue(Equal(2.0)))
		Expect(result.peerOf()).To(Equal("p v2, measured, 1 round"))
		Expect(result.Note).To(Equal("warm; peer: slow"))
		Expect(readLog(peerLog(dir, "f"))).To(HaveLen(2))
		_, err = evaluate(figure, Measurement{Records: peer, Peer: &PeerRun{Of: "p v2", Rounds: 1}}, dir)
		Expect(err).To(MatchError("peer: the log is empty"))
	})

	It("should say why a peer was not measured", func() {
		result, err := evaluate(figure, Measurement{Records: []Record{record("a", 0, 1)}, Peer: &PeerRun{Err: errors.New("no proxy")}}, dir)
		Expect(err).NotTo(HaveOccurred())
		Expect(result.peerOf()).To(Equal("p v1, recorded"))
		Expect(result.Note).To(Equal("the peer was not measured: no proxy; peer: peers vary"))
	})

	It("should keep the results of the others when one fails", func(ctx SpecContext) {
		broken := Figure{ID: "broken", Measure: func(context.Context, *Bed) (Measurement, error) { return Measurement{}, errors.New("down") }}
		figure.Measure = func(context.Context, *Bed) (Measurement, error) {
			return Measurement{Records: []Record{record("a", 0, 1)}}, nil
		}
		results, err := measureAll(ctx, newBed(GinkgoWriter), []Figure{broken, figure}, dir)
		Expect(err).To(MatchError("broken: down"))
		Expect(results).To(HaveExactElements(And(HaveField("ID", "broken"), HaveField("Error", "down"), HaveField("Value", BeNil())),
			And(HaveField("ID", "f"), HaveField("Value", HaveValue(Equal(1.0))))))
	})

	It("should not go on after an interrupt", func(ctx SpecContext) {
		ended, cancel := context.WithCancel(ctx)
		cancel()
		results, err := measureAll(ended, newBed(GinkgoWriter), []Figure{figure}, dir)
		Expect(results).To(BeEmpty())
		Expect(err).To(MatchError(context.Canceled))
	})

	It("should read lines that are longer than usual, and say which line is too long", func() {
		path := filepath.Join(dir, "long.jsonl")
		Expect(writeLog(path, []Record{{Path: strings.Repeat("a", 1<<20)}})).To(Succeed())
		Expect(readLog(path)).To(HaveLen(1))
		Expect(writeLog(path, []Record{{}, {Path: strings.Repeat("a", maxLine)}})).To(Succeed())
		_, err := readLog(path)
		Expect(err).To(MatchError(And(ContainSubstring("long.jsonl, line 2"), ContainSubstring("token too long"))))
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
			[]Result{
				{ID: "good", Value: new(1.0), Target: new(1.0), Floor: 0.5, Peer: &peer, PeerSource: sourceMeasured, PeerOf: "p v1", PeerRounds: 5},
				{ID: "bad", Value: new(1.25), Target: new(1.0)}, {ID: "only", Value: new(7.0)},
				failure(Figure{ID: "broken", Target: new(1.0), Peer: &Peer{Value: 9, Source: sourceRead, Of: "q v2"}}, errors.New("down")),
			})).To(Succeed())
		Expect(string(out.Contents())).To(And(
			MatchRegexp(`good +1 +<= 1 +0.5 +3 .*ok +p v1, measured, 5 rounds`),
			MatchRegexp(`bad +1.25 +<= 1 +- +- .*MISSED`),
			MatchRegexp(`only +7 +- +- +- .*report`),
			MatchRegexp(`broken +- +<= 1 +- +9 .*FAILED +q v2, read +down`),
		))
	})

	It("should write a JSON list", func() {
		path := filepath.Join(dir, "bench.json")
		Expect(writeResults(path,
			[]Result{{ID: "f", Value: new(2.0), Unit: "requests", Target: new(1.0)}, {ID: "g", Value: new(3.0), Unit: "MiB"},
				{ID: "h", Peer: new(4.0), PeerSource: sourceMeasured, PeerOf: "p v1", PeerRounds: 5, Floor: 1, Error: "down"}})).To(Succeed())
		Expect(os.ReadFile(path)).To(MatchJSON(`[
			{"id":"f","value":2,"unit":"requests","target":1,"peer":null,"note":""},
			{"id":"g","value":3,"unit":"MiB","target":null,"peer":null,"note":""},
			{"id":"h","value":null,"unit":"","target":null,"floor":1,"peer":4,"peerSource":"measured","peerOf":"p v1","peerRounds":5,
			"note":"","error":"down"}]`))
	})
})
