// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync/atomic"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/limits"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/routers"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
)

var _ = Describe("Calls", func() {
	compute := func(ctx context.Context, serve http.HandlerFunc) *gophercloud.ServiceClient {
		session, err := NewSessions().Get(ctx, "cloud", newCloud(serve).connection(), credentials())
		Expect(err).NotTo(HaveOccurred())
		service, err := session.Compute(ctx)
		Expect(err).NotTo(HaveOccurred())
		return service
	}
	beTransient := func(text string) OmegaMatcher {
		return SatisfyAll(MatchError(ContainSubstring(text)), WithTransform(platform.ClassOf, Equal(platform.ClassTransient)))
	}

	DescribeTable("should not take an answer for an object that has none",
		func(ctx SpecContext, body string) {
			service := compute(ctx, func(w http.ResponseWriter, _ *http.Request) { answer(w, http.StatusOK, body) })
			_, err := Extracted(limits.Get(ctx, service, nil).Extract())
			Expect(err).To(HaveOccurred())
			Expect(platform.ClassOf(err)).To(Equal(platform.ClassTransient))
			_, err = Extracted(servers.Get(ctx, service, "1").Extract())
			Expect(err).To(HaveOccurred())
			Expect(platform.ClassOf(err)).To(Equal(platform.ClassTransient))
			_, err = Extracted(routers.Get(ctx, service, "1").Extract())
			Expect(err).To(HaveOccurred())
			_, err = List(ctx, servers.List(service, nil), servers.ExtractServers)
			Expect(err).To(HaveOccurred())
			Expect(platform.ClassOf(err)).To(Equal(platform.ClassTransient))
		},
		Entry(nil, ``),
		Entry(nil, ` [] `),
		Entry(nil, `{ }`),
		Entry(nil, `<html>`),
		Entry(nil, `"servers"`),
		Entry(nil, `{}`),
		Entry(nil, `null`),
		Entry(nil, `{"server": null, "limits": null, "router": null}`),
		Entry(nil, `{"server": {}, "router": {}}`),
	)

	It("should return an object that is there", func(ctx SpecContext) {
		service := compute(ctx, func(w http.ResponseWriter, _ *http.Request) { answer(w, http.StatusOK, `{"server": {"id": "1"}}`) })
		Expect(Extracted(servers.Get(ctx, service, "1").Extract())).To(HaveField("ID", "1"))
	})

	It("should follow no pages without end", func(ctx SpecContext) {
		var asked atomic.Int32
		service := compute(ctx, func(w http.ResponseWriter, r *http.Request) {
			asked.Add(1)
			answer(w, http.StatusOK,
				fmt.Sprintf(`{"servers": [{"id": "1"}], "servers_links": [{"rel": "next", "href": "http://%s%s"}]}`, r.Host, r.URL.Path))
		})
		_, err := List(ctx, servers.List(service, nil), servers.ExtractServers)
		Expect(err).To(beTransient("the list has more than 200 pages"))
		Expect(asked.Load()).To(BeEquivalentTo(200))
	})

	It("should give nobody else the token", func(ctx SpecContext) {
		var reached atomic.Bool
		other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached.Store(true) }))
		DeferCleanup(other.Close)
		service := compute(ctx, func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/compute/v2.1/servers/detail" {
				w.Header().Set("Location", other.URL)
				w.WriteHeader(http.StatusTemporaryRedirect)
				return
			}
			answer(w, http.StatusOK, fmt.Sprintf(`{"servers": [{"id": "1"}], "servers_links": [{"rel": "next", "href": %q}]}`, other.URL))
		})
		_, err := List(ctx, servers.List(service, nil), servers.ExtractServers)
		Expect(err).To(MatchError(ContainSubstring("which does not belong to the site")))
		Expect(platform.ClassOf(err)).To(Equal(platform.ClassConfiguration))
		_, err = Extracted(servers.Get(ctx, service, "1").Extract())
		Expect(err).To(beTransient("redirects to another address (307)"))
		Expect(reached.Load()).To(BeFalse())
	})

	It("should begin a list anew whose next page is marked by what went", func(ctx SpecContext) {
		goes := 2
		service := compute(ctx, func(w http.ResponseWriter, r *http.Request) {
			switch {
			case r.URL.Query().Has("marker") && goes == 0:
				answer(w, http.StatusOK, `{"servers": [{"id": "2"}]}`)
				return
			case r.URL.RawQuery != "":
				goes--
				answer(w, http.StatusBadRequest, `{"badRequest": {"code": 400, "message": "marker [1] not found"}}`)
				return
			}
			answer(w, http.StatusOK,
				fmt.Sprintf(`{"servers": [{"id": "1"}], "servers_links": [{"rel": "next", "href": "http://%s%s?marker=1"}]}`, r.Host, r.URL.Path))
		})
		_, err := List(ctx, servers.List(service, nil), servers.ExtractServers)
		Expect(err).To(beTransient("400 marker [1] not found"))
		goes = 1
		Expect(List(ctx, servers.List(service, nil), servers.ExtractServers)).To(HaveExactElements(HaveField("ID", "1"), HaveField("ID", "2")))
		goes = 2
		_, err = List(ctx, servers.List(service, servers.ListOpts{Name: "x"}), servers.ExtractServers)
		Expect(platform.ClassOf(err)).To(Equal(platform.ClassConfiguration))
	})

	DescribeTable("should believe that something is not found",
		func(ctx SpecContext, code int, body string, header, value string, believed bool) {
			service := compute(ctx, func(w http.ResponseWriter, _ *http.Request) {
				if header != "" {
					w.Header().Set(header, value)
				}
				answer(w, code, body)
			})
			err := servers.Delete(ctx, service, "1").ExtractErr()
			Expect(IsNotFound(err)).To(Equal(believed), "%v", err)
			var response gophercloud.ErrUnexpectedResponseCode
			Expect(errors.As(err, &response)).To(Equal(believed), "libraries must not find the code either")
			if !believed {
				Expect(Classify(err)).To(beTransient("is not a response of the compute API"))
			}
		},
		Entry("of Nova", 404, `{"itemNotFound": {"code": 404, "message": "Instance 1 could not be found."}}`, "", "", true),
		Entry("of Neutron", 404, `{"NeutronError": {"type": "NetworkNotFound", "message": "Network 1 could not be found."}}`, "", "", true),
		Entry("of Designate", 404, `{"code": 404, "type": "zone_not_found", "message": "Could not find Zone"}`, "", "", true),
		Entry("with the ID of the request", 404, `<html>`, requestIDHeader, "req-1", true),
		Entry("gone", 410, ``, requestIDHeader, "req-1", true),
		Entry("not of a proxy", 404, `<html>404 page not found</html>`, "", "", false),
		Entry("not of a gateway", 404, `{"message":"no Route matched with those values"}`, "", "", false),
		Entry("not of another gateway", 404, `{"error": {"code": 404, "message": "Not Found"}}`, "Server", "gateway", false),
		Entry("not of a gateway that says gone", 410, `{"message":"Gone"}`, "", "", false),
	)
})
