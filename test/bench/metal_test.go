// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"net/http"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	metalclient "github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/metal/client"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/metal/inventories"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/metal/machines"
)

// inRun is a request to the inventory in a run.
func inRun(run, method, path string, status int) Record {
	return Record{Run: run, Method: method, Path: "/apis/metal3.io/v1alpha1/namespaces/hosts/" + path, Status: status}
}

var _ = Describe("Bare metal", func() {
	DescribeTable("values",
		func(count Count, expected float64, records ...Record) {
			Expect(count(records)).To(Equal(expected))
		},
		Entry("requests for each host that was claimed, also those that were refused", Count(requestsPerClaim), 3.0,
			inRun(runClaim, http.MethodGet, "baremetalhosts?labelSelector=a", 200),
			inRun(runClaim, http.MethodPost, "secrets", 201), inRun(runClaim, http.MethodPatch, "baremetalhosts/a", 409),
			inRun(runClaim, http.MethodPatch, "baremetalhosts/b", 200),
			inRun(runClaim, http.MethodPost, "secrets", 201), inRun(runClaim, http.MethodPatch, "baremetalhosts/c", 200),
			inRun(runIdle, http.MethodGet, "baremetalhosts?watch=true", 200)),
		Entry("a host that is patched again is one host", Count(requestsPerClaim), 2.0,
			inRun(runClaim, http.MethodPatch, "baremetalhosts/b", 200), inRun(runClaim, http.MethodPatch, "baremetalhosts/b", 200)),
		Entry("idle requests only", Count(requestsPerMinute), 0.5,
			inRun(runClaim, http.MethodPost, "secrets", 201), inRun(runIdle, http.MethodGet, "baremetalhosts?watch=true", 200),
			sample(runIdle, quantityMinutes, 2)),
		Entry("no idle requests", Count(requestsPerMinute), 0.0, sample(runIdle, quantityMinutes, 2)),
		Entry("means of together and alone", Count(overAlone), 1.1,
			sample(alonePrefix+"1", quantityWall, 9), sample(togetherPrefix+"2", quantityWall, 10),
			sample(togetherPrefix+"3", quantityWall, 12), sample(alonePrefix+"4", quantityWall, 11)),
		Entry("the slowest site", Count(overSlowest), 1.2,
			sample(alonePrefix+siteName, quantityWall, 3), sample(alonePrefix+metalSiteName, quantityWall, 10),
			sample(togetherPrefix+siteName, quantityWall, 12), sample(togetherPrefix+metalSiteName, quantityWall, 11)),
		Entry("the site that the others slow down most", Count(overWorstSite), 4.0,
			sample(alonePrefix+siteName, quantityWall, 3), sample(alonePrefix+metalSiteName, quantityWall, 10),
			sample(togetherPrefix+siteName, quantityWall, 12), sample(togetherPrefix+metalSiteName, quantityWall, 11)),
	)

	DescribeTable("logs that say nothing",
		func(count Count, records ...Record) {
			_, err := count(records)
			Expect(err).To(HaveOccurred())
		},
		Entry("no claimed host", Count(requestsPerClaim), inRun(runClaim, http.MethodPatch, "baremetalhosts/a", 409)),
		Entry("no idle time", Count(requestsPerMinute), inRun(runIdle, http.MethodGet, "baremetalhosts", 200)),
		Entry("nothing alone", Count(overAlone), sample(togetherPrefix+"1", quantityWall, 9)),
		Entry("not all sites alone", Count(overSlowest), sample(alonePrefix+siteName, quantityWall, 9),
			sample(togetherPrefix+siteName, quantityWall, 9), sample(togetherPrefix+metalSiteName, quantityWall, 9)),
		Entry("not all sites together", Count(overWorstSite), sample(alonePrefix+siteName, quantityWall, 9)),
		Entry("other sites together", Count(overWorstSite), sample(alonePrefix+siteName, quantityWall, 9),
			sample(togetherPrefix+metalSiteName, quantityWall, 9)),
		Entry("nothing together", Count(overAlone), sample(alonePrefix+"1", quantityWall, 9)),
	)

	It("should sum up requests by their resource", func() {
		Expect(calls([]Record{
			inRun(runClaim, http.MethodGet, "baremetalhosts?watch=true", 200), inRun(runClaim, http.MethodPatch, "baremetalhosts/a", 200),
			{Method: http.MethodPost, Path: "/api/v1/namespaces/hosts/secrets"}, inRun(runClaim, http.MethodPatch, "baremetalhosts/b", 200),
			{Method: http.MethodGet, Path: "/apis/metal3.io/v1alpha1"},
		})).To(Equal("1 watch baremetalhosts, 2 PATCH baremetalhosts, 1 POST secrets, 1 GET /apis/metal3.io/v1alpha1"))
		Expect(calls(nil)).To(Equal("no requests"))
	})

	It("should take as long as the slowest site", func() {
		w := wave{metalSiteName: 3 * time.Second, siteName: 2 * time.Second}
		Expect(w.last()).To(Equal(3 * time.Second))
		Expect(w.String()).To(Equal("cloud 2.0 s, racks 3.0 s"))
	})

	It("should fill the inventory with hosts that the product claims, and see each request", func(ctx SpecContext) {
		s, err := newMetalSite(ctx, metalShoot)
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(func() { Expect(s.close()).To(Succeed()) })
		Expect(s.populate(ctx, 2)).To(Succeed())
		Expect(s.sizeOfHost(ctx)).To(BeNumerically(">", 8))

		sessions := metalclient.NewSessions()
		DeferCleanup(sessions.Close)
		product := machines.New(sessions, inventories.Open)
		request := platform.MachineRequest{Name: metalShoot + "-a", Spec: s.spec, Credentials: s.site.Credentials,
			UserData: []byte("#cloud-config\n")}
		records, err := s.record(ctx, runClaim, func(ctx context.Context) error {
			_, err := product.Create(ctx, request)
			return err
		})
		Expect(err).NotTo(HaveOccurred())
		Expect(calls(records)).To(Equal("1 watch baremetalhosts, 1 GET baremetalhosts, 1 POST secrets, 1 PATCH baremetalhosts"))
		Expect(requestsPerClaim(records)).To(Equal(4.0))

		request.Name = metalShoot + "-b"
		Expect(product.Create(ctx, request)).Error().NotTo(HaveOccurred())
		request.Name = metalShoot + "-c"
		_, err = product.Create(ctx, request)
		Expect(platform.ClassOf(err)).To(Equal(platform.ClassExhausted), "%v", err)
	}, NodeTimeout(2*time.Minute))
})
