// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package metal_test

import (
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/rehearsal"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
	"github.com/gardener/gardener-extension-provider-hybrid/test/countproxy"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/pki"
)

// behindProxy lets a site be reached through a proxy, which ends with the spec.
func behindProxy(s *site.Site) *countproxy.Proxy {
	GinkgoHelper()
	authority, err := pki.NewAuthority()
	Expect(err).NotTo(HaveOccurred())
	pair, err := authority.Server("proxy")
	Expect(err).NotTo(HaveOccurred())
	proxy, err := countproxy.New(countproxy.Service{
		Name: "inventory", Upstream: landscape.Server(), CA: landscape.CA(), Certificate: pair.Certificate, Key: pair.Key,
	})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(proxy.Close)
	s.Profile.Metal.Server, s.Profile.TLS = proxy.URL("inventory"), &v1alpha1.TLS{CACert: authority.PEM}
	return proxy
}

// countedWrites are the methods and paths of requests that change something. A release that waits repeats some of them.
func countedWrites(requests []countproxy.Request) sets.Set[string] {
	result := sets.New[string]()
	for _, r := range requests {
		if r.Kind == countproxy.KindWrite && !strings.Contains(r.Query, "dryRun=All") {
			result.Insert(r.Method + " " + r.Path)
		}
	}
	return result
}

func plannedWrites(log *rehearsal.Log) sets.Set[string] {
	result := sets.New[string]()
	for _, w := range log.Writes("racks") {
		result.Insert(w.Method + " " + w.Path)
	}
	return result
}
