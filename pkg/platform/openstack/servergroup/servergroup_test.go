// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package servergroup_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/owner"
	. "github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/servergroup"
)

type group struct {
	ID     string `json:"id"`
	Name   string `json:"name"`
	Policy string `json:"policy"`
}

// compute is a compute API on loopback that has the groups, and at most so many at once. Like the real one it answers in pages
// without links.
func compute(groups *[]group, maxLimit ...int) *gophercloud.ServiceClient {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer GinkgoRecover()
		Expect(r.Header.Get("X-OpenStack-Nova-API-Version")).To(Equal("2.64"))
		w.Header().Set("Content-Type", "application/json")
		if r.Method == http.MethodPost {
			var body struct {
				Group group `json:"server_group"`
			}
			Expect(json.NewDecoder(r.Body).Decode(&body)).To(Succeed())
			body.Group.ID = fmt.Sprintf("created-%d", len(*groups))
			*groups = append(*groups, body.Group)
			Expect(json.NewEncoder(w).Encode(map[string]any{"server_group": body.Group})).To(Succeed())
			return
		}
		limit, err := strconv.Atoi(r.URL.Query().Get("limit"))
		Expect(err).NotTo(HaveOccurred())
		for _, most := range maxLimit {
			limit = min(limit, most)
		}
		offset, _ := strconv.Atoi(r.URL.Query().Get("offset"))
		from := min(offset, len(*groups))
		Expect(json.NewEncoder(w).Encode(map[string]any{"server_groups": (*groups)[from:min(from+limit, len(*groups))]})).To(Succeed())
	}))
	DeferCleanup(s.Close)
	return &gophercloud.ServiceClient{ProviderClient: &gophercloud.ProviderClient{}, Endpoint: s.URL + "/", Type: "compute"}
}

var _ = Describe("ServerGroup", func() {
	ours := owner.Owner{Shoot: "shoot--local--a", Site: "cloud"}

	DescribeTable("should find ours among any number of others",
		func(ctx SpecContext, others int) {
			groups := []group{}
			for i := range others {
				groups = append(groups, group{ID: fmt.Sprint(i), Name: fmt.Sprintf("%s-pool-%08x", ours.Name(), i), Policy: "affinity"})
			}
			groups = append(groups, group{ID: "ours", Name: ours.ServerGroupName("pool", "affinity"), Policy: "affinity"})

			Expect(List(ctx, compute(&groups),
				ours)).To(HaveExactElements(ServerGroup{ID: "ours", Name: ours.ServerGroupName("pool", "affinity"), Policy: "affinity"}))
		},
		Entry("none", 0),
		Entry("as many as fill a page with ours", 499),
		Entry("a full page", 500),
		Entry("many pages", 1234),
	)

	It("should find ours on a site that returns fewer at once than it is asked for", func(ctx SpecContext) {
		groups := make([]group, 250)
		for i := range groups {
			groups[i] = group{ID: fmt.Sprint(i), Name: "foreign", Policy: "affinity"}
		}
		groups = append(groups, group{ID: "ours", Name: ours.ServerGroupName("pool", "affinity"), Policy: "affinity"})
		Expect(Ensure(ctx, compute(&groups, 100), ours, "pool", "affinity")).To(HaveField("ID", "ours"))
		Expect(groups).To(HaveLen(251))
	})

	It("should come to an end on a site that returns the same page again and again", func(ctx SpecContext) {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write([]byte(`{"server_groups": [{"id": "1", "name": "foreign", "policy": "affinity"}]}`))
		}))
		DeferCleanup(s.Close)
		c := &gophercloud.ServiceClient{ProviderClient: &gophercloud.ProviderClient{}, Endpoint: s.URL + "/", Type: "compute"}
		Expect(List(ctx, c, ours)).To(BeEmpty())
	}, SpecTimeout(time.Minute))

	It("should create a server group once, and one for each policy", func(ctx SpecContext) {
		groups := []group{}
		c := compute(&groups)
		first, err := Ensure(ctx, c, ours, "pool", "affinity")
		Expect(err).NotTo(HaveOccurred())
		Expect(Ensure(ctx, c, ours, "pool", "affinity")).To(Equal(first))
		Expect(Ensure(ctx, c, ours, "pool", "soft-affinity")).NotTo(Equal(first))
		Expect(groups).To(HaveLen(2))
	})

	It("should adopt the same one of two that an interrupted creation left", func(ctx SpecContext) {
		name := ours.ServerGroupName("pool", "affinity")
		groups := []group{{ID: "b", Name: name, Policy: "affinity"}, {ID: "a", Name: name, Policy: "affinity"}}
		Expect(Ensure(ctx, compute(&groups), ours, "pool", "affinity")).To(HaveField("ID", "a"))
	})
})
