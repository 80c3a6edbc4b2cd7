// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package infrastructure

import (
	"context"
	"errors"
	"net/netip"
	"time"

	"github.com/go-logr/logr"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

var _ = Describe("The API of a site", func() {
	const problem = `site "a": spec.providerConfig.sites[0].name: the API of the site is at a, whose address is 10.250.0.9, which is in the ` +
		`range 10.250.0.0/18 of the Shoot's nodes: Gardener's NetworkPolicies keep the control plane from the Shoot's own ranges; choose ` +
		`ranges without this address`
	var f *fixture

	BeforeEach(func() {
		f = newFixture()
		f.order("a", "b")
	})

	// reconcile reconciles with names that have the addresses.
	reconcile := func(ctx context.Context, addresses ...string) error {
		GinkgoHelper()
		f.start(ctx)
		f.actuator.lookUpHost = func(ctx context.Context, _, host string) ([]netip.Addr, error) {
			deadline, ok := ctx.Deadline()
			Expect(ok).To(BeTrue())
			Expect(time.Until(deadline)).To(BeNumerically("<=", hostTimeout))
			if host != "a" {
				return nil, errors.New("no such host")
			}
			var found []netip.Addr
			for _, address := range addresses {
				found = append(found, netip.MustParseAddr(address))
			}
			return found, nil
		}
		return f.actuator.Reconcile(ctx, logr.Discard(), f.infra, f.cluster)
	}

	It("stops a new site whose name has an address in the shoot's own ranges, and no other", func(ctx SpecContext) {
		Expect(reconcile(ctx, "10.250.0.9")).To(MatchError(problem))
		Expect(f.platform.reconciled).To(ConsistOf("b"))
	})

	It("may have another address that can be reached, or none", func(ctx SpecContext) {
		Expect(reconcile(ctx, "10.250.0.9", "10.9.0.9")).To(Succeed())
		Expect(reconcile(ctx)).To(Succeed())
	})

	It("stops a new site with such an address", func(ctx SpecContext) {
		f.profile.Sites[indexOf(f.profile, "a")].OpenStack.AuthURL = "https://100.96.0.9"
		Expect(reconcile(ctx)).To(MatchError(ContainSubstring("the API of the site is at 100.96.0.9, which is in the range 100.96.0.0/11 of " +
			"the Shoot's pods")))
	})

	It("is reported in an event for a site that has objects", func(ctx SpecContext) {
		f.setState(stateOf("a", "network-of-a"))
		Expect(reconcile(ctx, "10.250.0.9")).To(Succeed())
		Expect(f.platform.reconciled).To(ConsistOf("a", "b"))
		Expect(f.events()).To(ContainElement(And(HavePrefix(`Warning SiteWarning site "a": the API of the site is at a, whose address is `),
			ContainSubstring("10.250.0.9"))))
	})
})
