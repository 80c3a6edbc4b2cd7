// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package plan_test

import (
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/lists"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/test/countproxy"
)

// madeUp matches the ID of an object that does not exist yet.
var madeUp = regexp.MustCompile(`(urn:)?planned:[a-z-]+-[0-9]+`)

// plannedRequests are the methods and paths of all requests of a plan.
func plannedRequests(sites []v1alpha1.SitePlan) []string {
	var requests []string
	for _, site := range sites {
		for _, change := range site.Changes {
			for _, request := range change.Requests {
				requests = append(requests, request.Method+" "+request.Path)
			}
		}
	}
	return requests
}

// harmless are the operations of the SOAP API that change nothing.
var harmless = []string{
	"RetrieveServiceContent", "Login", "Logout", "CurrentTime", "RetrievePropertiesEx", "ContinueRetrievePropertiesEx",
	"FindByInventoryPath", "FindChild", "FindAllByUuid", "FetchUserPrivilegeOnEntities", "QueryEvents", "CreateContainerView", "DestroyView",
}

// countedWrites are the methods and paths of those requests that the proxies saw with the label and that may change something.
func countedWrites(label string) []string {
	var requests []string
	for _, proxy := range proxies {
		for _, r := range proxy.Requests(label) {
			switch {
			case r.Service == vcenterService && r.Operation != "":
				if !slices.Contains(harmless, r.Operation) {
					requests = append(requests, r.Operation+" "+r.Object)
				}
			case r.Service == vcenterService:
				isRead := r.Method == http.MethodGet || r.Method == http.MethodHead || strings.Contains(r.Query, "~action=list-")
				if !isRead && !strings.HasSuffix(r.Path, "/session") {
					requests = append(requests, r.Method+" "+strings.TrimSuffix(r.Path+"?"+r.Query, "?"))
				}
			case r.Kind == countproxy.KindWrite:
				requests = append(requests, r.Method+" "+r.Path)
			}
		}
	}
	return requests
}

// difference returns the requests that only one side has, nothing if there is a way to map made-up IDs to real ones, each to another one,
// so that both sides are equal.
func difference(planned, counted []string) []string {
	left := slices.Clone(counted)
	var open, missing []string
	for _, request := range planned {
		i := slices.Index(left, request)
		switch {
		case i >= 0:
			left = slices.Delete(left, i, i+1)
		case madeUp.MatchString(request):
			open = append(open, request)
		default:
			missing = append(missing, "only planned: "+request)
		}
	}
	// What has the most candidates comes last.
	slices.SortFunc(open, func(a, b string) int { return strings.Compare(kindOfRequest(a), kindOfRequest(b)) })
	if len(missing) == 0 && len(open) == len(left) && assign(open, left, map[string]string{}) {
		return nil
	}
	for _, request := range open {
		missing = append(missing, "only planned: "+request)
	}
	for _, request := range left {
		missing = append(missing, "only counted: "+request)
	}
	return missing
}

func kindOfRequest(request string) string { return madeUp.ReplaceAllString(request, "") }

// assign reports whether each planned request has a counted one of its own, so that each made-up ID has one real ID.
func assign(planned, counted []string, ids map[string]string) bool {
	if len(planned) == 0 {
		return true
	}
	names := madeUp.FindAllString(planned[0], -1)
	pattern := regexp.MustCompile("^" + strings.Join(lists.Map(madeUp.Split(planned[0], -1), regexp.QuoteMeta), "([^/?]+)") + "$")
	for i, candidate := range counted {
		match := pattern.FindStringSubmatch(candidate)
		if match == nil {
			continue
		}
		next, fits := maps.Clone(ids), true
		for j, name := range names {
			if known, ok := next[name]; ok {
				fits = fits && known == match[j+1]
			} else {
				fits = fits && !slices.Contains(slices.Collect(maps.Values(next)), match[j+1])
				next[name] = match[j+1]
			}
		}
		if fits && assign(planned[1:], slices.Delete(slices.Clone(counted), i, i+1), next) {
			return true
		}
	}
	return false
}

// summary describes the changes of a plan in one line each.
func summary(sites []v1alpha1.SitePlan) []string {
	var lines []string
	for _, site := range sites {
		for _, change := range site.Changes {
			if change.Action == v1alpha1.PlannedActionKeep {
				continue
			}
			line := fmt.Sprintf("%s %s %s", site.Name, change.Action, change.Kind)
			if change.Action == v1alpha1.PlannedActionChange || change.Action == v1alpha1.PlannedActionAdopt {
				names := map[string]bool{}
				for _, field := range change.Fields {
					names[field.Name] = true
				}
				if len(names) > 0 {
					line += " " + strings.Join(slices.Sorted(maps.Keys(names)), " ")
				}
			}
			lines = append(lines, line)
		}
	}
	return lines
}

var _ = DescribeTable("Comparison of requests", func(planned, counted []string, expected ...string) {
	Expect(difference(planned, counted)).To(ConsistOf(expected))
},
	Entry("should find equal ones", []string{"POST /n", "PUT /n/planned:n-1", "PUT /n/planned:n-2"},
		[]string{"PUT /n/b", "PUT /n/a", "POST /n"}),
	Entry("should map an ID once", []string{"PUT /n/planned:n-1", "PUT /n/planned:n-1/tags"}, []string{"PUT /n/a", "PUT /n/b/tags"},
		"only planned: PUT /n/planned:n-1", "only planned: PUT /n/planned:n-1/tags", "only counted: PUT /n/a", "only counted: PUT /n/b/tags"),
	Entry("should find what is missing", []string{"POST /n"}, []string{"DELETE /n/a"}, "only planned: POST /n", "only counted: DELETE /n/a"),
	Entry("should count", []string{"POST /n"}, []string{"POST /n", "POST /n"}, "only counted: POST /n"),
)
