// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package preflight_test

import (
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gardener/gardener-extension-provider-hybrid/test/countproxy"
	"github.com/gardener/gardener-extension-provider-hybrid/test/sitefaults"
)

// patience is how long a site may take to answer a request in specs in which sites do not answer.
const patience = 5 * time.Second

// impatient are good documents whose sites get little time.
func impatient() *documents {
	d := goodDocuments()
	for i := range d.config.Sites {
		d.config.Sites[i].RequestTimeout = &metav1.Duration{Duration: patience}
	}
	return d
}

// judgeSites returns what is wrong if some sites were disturbed: these must be told of, and nothing of the others.
func judgeSites(r *result, disturbed []string) []string {
	var problems []string
	for _, site := range disturbed {
		if len(r.found(site, failed, unknown)) == 0 {
			problems = append(problems, site+" is not told of")
		}
	}
	for _, f := range r.found("", failed, unknown, warning) {
		if !slices.ContainsFunc(f.Sites, func(site string) bool { return slices.Contains(disturbed, site) }) {
			problems = append(problems, fmt.Sprintf("false alarm: %v", f))
		}
	}
	if r.code != 1 && r.code != 2 {
		problems = append(problems, fmt.Sprintf("the exit code is %d", r.code))
	}
	return problems
}

var _ = Describe("hybridctl preflight, while sites fail,", func() {
	It("should tell which, whatever the fault is, and all about the others", func(ctx SpecContext) {
		faults, problems := bed.Faults(), []string(nil)
		for len(faults) > 0 {
			// One of OpenStack, and one of another site: the third is well.
			round := faults[:1]
			if i := slices.IndexFunc(faults, func(f sitefaults.Fault) bool { return f.Sites[0] != round[0].Sites[0] }); i > 0 {
				round = []sitefaults.Fault{faults[0], faults[i]}
				faults = slices.Delete(slices.Clone(faults), i, i+1)
			}
			faults = faults[1:]
			var names, disturbed []string
			for _, fault := range round {
				names, disturbed = append(names, fault.Name), append(disturbed, fault.Sites...)
				Expect(fault.Begin(ctx)).To(Succeed())
			}
			r := preflight(ctx, impatient())
			for _, fault := range round {
				Expect(fault.End(ctx)).To(Succeed())
			}
			AddReportEntry(strings.Join(names, ", "), fmt.Sprintf("%.1f s", r.took.Seconds()), ReportEntryVisibilityAlways)
			for _, problem := range judgeSites(r, disturbed) {
				problems = append(problems, strings.Join(names, ", ")+": "+problem)
			}
		}
		Expect(problems).To(BeEmpty())
		Expect(preflight(ctx, goodDocuments()).code).To(Equal(0), "when all faults are over")
	}, NodeTimeout(10*time.Minute))
})

// far are the sites behind a service of the proxies.
type far struct {
	name  string
	sites []string
}

var fars = []far{{"OpenStack", []string{cloudSite}}, {sitefaults.VCenterService, []string{vcSite}},
	{sitefaults.InventoryService, []string{racksSite, hallSite}}}

// hostile are the kinds of answers of test/hostile. elsewhere is another host.
func hostile(elsewhere string) []countproxy.Fault {
	text := func(name, kind, body string) countproxy.Fault {
		return countproxy.Fault{Name: name, Action: countproxy.ActionStatus, Status: http.StatusOK,
			Header: http.Header{"Content-Type": {kind}}, Body: body}
	}
	answer := func(name string, answer http.HandlerFunc) countproxy.Fault {
		return countproxy.Fault{Name: name, Action: countproxy.ActionAnswer, Answer: answer}
	}
	faults := []countproxy.Fault{
		text("nothing", "application/json", ""),
		text("{}", "application/json", "{}"),
		text("null", "application/json", "null"),
		text("[]", "application/json", "[]"),
		text("half a document", "application/json", `{"token": {"catalog": [{"type": "comp`),
		text("HTML", "text/html", "<!DOCTYPE html><html><body><p>It is out of order</p></body></html>"),
		text("garbage", "application/json", "{\"a\": \"\xff\xfe\x00\x1b[2J"),
		{Name: "error of 2 MiB", Action: countproxy.ActionStatus, Status: http.StatusInternalServerError,
			Body: strings.Repeat("It is out of order. ", 100_000)},
		{Name: "silence", Action: countproxy.ActionHang},
		{Name: "cut", Action: countproxy.ActionReset},
		answer("body without end", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			for piece := `{"a": [0`; r.Context().Err() == nil; piece = strings.Repeat(",0", 16<<10) {
				if _, err := io.WriteString(w, piece); err != nil {
					return
				}
			}
		}),
		answer("10 GiB in gzip", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("Content-Encoding", "gzip")
			packed := gzip.NewWriter(w)
			zeros := make([]byte, 1<<20)
			for i := 0; i < 10<<10 && r.Context().Err() == nil; i++ {
				if _, err := packed.Write(zeros); err != nil {
					return
				}
			}
			_ = packed.Close()
		}),
		answer("byte by byte", func(w http.ResponseWriter, r *http.Request) {
			ticker := time.NewTicker(time.Second)
			defer ticker.Stop()
			for {
				if _, err := io.WriteString(w, " "); err != nil || http.NewResponseController(w).Flush() != nil {
					return
				}
				select {
				case <-ticker.C:
				case <-r.Context().Done():
					return
				}
			}
		}),
	}
	for _, code := range []int{http.StatusMovedPermanently, http.StatusFound, http.StatusTemporaryRedirect, http.StatusPermanentRedirect} {
		faults = append(faults, countproxy.Fault{Name: fmt.Sprintf("%d to another host", code), Action: countproxy.ActionStatus, Status: code,
			Header: http.Header{"Location": {elsewhere}}})
	}
	return faults
}

var _ = Describe("hybridctl preflight, at hostile sites,", func() {
	It("should tell which they are, and all about the others", func(ctx SpecContext) {
		var strayed atomic.Int32
		elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { strayed.Add(1) }))
		DeferCleanup(elsewhere.Close)
		DeferCleanup(func() {
			Expect(bed.Cloud.SetFaults()).To(Succeed())
			Expect(bed.Others.SetFaults()).To(Succeed())
		})
		var problems []string
		for i, fault := range hostile(elsewhere.URL) {
			// Two of three are hostile, each time others.
			disturbed := disturb(ctx, i%len(fars), fault)
			r := preflight(ctx, impatient())
			AddReportEntry(fault.Name, fmt.Sprintf("%.1f s", r.took.Seconds()), ReportEntryVisibilityAlways)
			for _, problem := range judgeSites(r, disturbed) {
				problems = append(problems, fault.Name+": "+problem)
			}
			if text := r.stdout + r.stderr; len(text) > 256<<10 || strings.ContainsAny(text, "\x1b\x00") {
				problems = append(problems, fmt.Sprintf("%s: %d bytes are told, or what cannot be printed", fault.Name, len(text)))
			}
		}
		Expect(problems).To(BeEmpty())
		Expect(strayed.Load()).To(BeZero(), "requests that followed a redirect to another host")
	}, NodeTimeout(10*time.Minute))
})

// disturb lets all sites but those of one far end answer in a way, and returns their names.
func disturb(_ context.Context, spared int, fault countproxy.Fault) []string {
	GinkgoHelper()
	var (
		disturbed     []string
		cloud, others []countproxy.Fault
	)
	for i, f := range fars {
		if i == spared {
			continue
		}
		disturbed = append(disturbed, f.sites...)
		if i == 0 {
			cloud = append(cloud, fault)
			continue
		}
		of := fault
		of.Service = f.name
		others = append(others, of)
	}
	Expect(bed.Cloud.SetFaults(cloud...)).To(Succeed())
	Expect(bed.Others.SetFaults(others...)).To(Succeed())
	return disturbed
}
