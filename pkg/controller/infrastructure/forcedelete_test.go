// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package infrastructure

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/go-logr/logr"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
)

var _ = Describe("ForceDelete", func() {
	var f *fixture

	BeforeEach(func() {
		f = newFixture()
		f.order("a", "b")
		f.setState(stateOf("a", "n"), stateOf("b", "n"))
	})

	force := func(ctx context.Context) *v1alpha1.InfrastructureStatus {
		GinkgoHelper()
		f.start(ctx)
		Expect(f.actuator.ForceDelete(ctx, logr.Discard(), f.infra, f.cluster)).To(Succeed())
		_, _, status := f.stored(ctx)
		return status
	}

	It("should leave nothing to tell if everything is gone", func(ctx SpecContext) {
		status := force(ctx)
		Expect(f.platform.deleted).To(HaveLen(2))
		Expect(status.Orphans).To(BeEmpty())
		Expect(f.events()).To(BeEmpty())
	})

	It("should delete the others, and list what a site refused to delete and why", func(ctx SpecContext) {
		f.infra.Status.ProviderStatus = encode(&v1alpha1.InfrastructureStatus{Sites: []v1alpha1.SiteStatus{*statusFor("b", "n")}})
		f.platform.delete["a"] = fail(platform.ClassConflict)
		f.platform.orphans["a"] = func(context.Context) ([]v1alpha1.Orphan, error) {
			return []v1alpha1.Orphan{{Site: "a", Kind: "port", ID: "p", Name: "port-of-a", Reason: "has an owner"},
				{Site: "a", Kind: "network", ID: "n"}}, nil
		}
		status := force(ctx)
		Expect(f.platform.deleted).To(HaveKey("b"))
		Expect(status.Orphans).To(Equal([]v1alpha1.Orphan{
			{Site: "a", Kind: "port", ID: "p", Name: "port-of-a", Reason: "has an owner"},
			{Site: "a", Kind: "network", ID: "n", Reason: `site "a": refused`},
		}))
		Expect(status.Sites).To(HaveLen(1), "the rest of the status stays")
		Expect(f.events()).To(ConsistOf(`Warning SiteFailed site "a": refused`,
			`Warning OrphansLeft site "a": 2 left behind: port p (port-of-a), network n`))
	})

	It("should wait for a site that is still deleting", func(ctx SpecContext) {
		attempts := 0
		f.platform.delete["a"] = func(context.Context, *site.Site, platform.Persist) error {
			if attempts++; attempts < 3 {
				return errors.Join(platform.NewProgress("host 1 is deprovisioning"), platform.NewProgress("host 2 is deprovisioning"))
			}
			return nil
		}
		Expect(force(ctx).Orphans).To(BeEmpty())
		Expect(attempts).To(Equal(3))
		Expect(f.events()).To(BeEmpty())
	})

	It("should give up a site that is still deleting when its time is over, and say what it waited for", func(ctx SpecContext) {
		f.start(ctx)
		f.actuator.siteTimeout = 10 * time.Millisecond
		f.platform.delete["a"] = func(ctx context.Context, _ *site.Site, _ platform.Persist) error {
			if err := ctx.Err(); err != nil {
				return err
			}
			return platform.NewProgress("host 1 is deprovisioning")
		}
		f.platform.orphans["a"] = func(context.Context) ([]v1alpha1.Orphan, error) {
			return []v1alpha1.Orphan{{Site: "a", Kind: "host", ID: "1"}}, nil
		}
		Expect(f.actuator.ForceDelete(ctx, logr.Discard(), f.infra, f.cluster)).To(Succeed())
		_, _, status := f.stored(ctx)
		Expect(status.Orphans).To(ConsistOf(
			v1alpha1.Orphan{Site: "a", Kind: "host", ID: "1", Reason: `site "a": host 1 is deprovisioning`}))
	})

	It("should list what the state knows of a site that cannot be looked at", func(ctx SpecContext) {
		f.platform.delete["a"] = failWithoutAccess(platform.ClassUnauthenticated)
		f.platform.orphans["a"] = func(context.Context) ([]v1alpha1.Orphan, error) {
			return nil, platform.NewError(platform.ClassUnauthenticated, "no login")
		}
		status := force(ctx)
		Expect(status.Orphans).To(ConsistOf(v1alpha1.Orphan{Site: "a", Kind: "network", ID: "n", Reason: "no login"}))
		Expect(f.events()).To(ContainElement(`Warning OrphansLeft site "a": 1 left behind: network n`))
	})

	It("should tell of each site with orphans", func(ctx SpecContext) {
		for _, name := range []string{"a", "b"} {
			f.platform.delete[name] = fail(platform.ClassTransient)
			f.platform.orphans[name] = func(context.Context) ([]v1alpha1.Orphan, error) {
				return []v1alpha1.Orphan{{Site: name, Kind: "network", ID: "n"}}, nil
			}
		}
		Expect(force(ctx).Orphans).To(HaveLen(2))
		Expect(f.events()).To(ContainElements(
			`Warning OrphansLeft site "a": 1 left behind: network n`, `Warning OrphansLeft site "b": 1 left behind: network n`))
	})

	It("should join what a site told and what the state knows if the site told only a part", func(ctx SpecContext) {
		f.platform.delete["a"] = fail(platform.ClassTransient)
		f.platform.orphans["a"] = func(context.Context) ([]v1alpha1.Orphan, error) {
			return []v1alpha1.Orphan{{Site: "a", Kind: "server", ID: "s"}}, errors.New("half of it is away")
		}
		Expect(force(ctx).Orphans).To(Equal([]v1alpha1.Orphan{
			{Site: "a", Kind: "server", ID: "s", Reason: `site "a": refused`},
			{Site: "a", Kind: "network", ID: "n", Reason: "half of it is away"},
		}))
	})

	It("should name the site if nothing is known of it", func(ctx SpecContext) {
		f.setState(stateOf("b", "n"))
		f.platform.delete["a"] = fail(platform.ClassTransient)
		f.platform.orphans["a"] = func(context.Context) ([]v1alpha1.Orphan, error) { return nil, errors.New("away") }
		Expect(force(ctx).Orphans).To(ConsistOf(v1alpha1.Orphan{Site: "a", Kind: "site", Reason: "away"}))
	})

	It("should not name a site in which nothing was ever made", func(ctx SpecContext) {
		f.setState(stateOf("b", "n"))
		f.platform.delete["a"] = failWithoutAccess(platform.ClassUnauthenticated)
		f.platform.orphans["a"] = func(context.Context) ([]v1alpha1.Orphan, error) { return nil, errors.New("no login") }
		Expect(force(ctx).Orphans).To(BeEmpty())
	})

	It("should name a site of the state whose platform nobody knows", func(ctx SpecContext) {
		f.setState(stateOf("a", "n"), &v1alpha1.SiteState{Name: "odd"})
		Expect(force(ctx).Orphans).To(ConsistOf(And(HaveField("Site", "odd"), HaveField("Kind", "site"),
			HaveField("Reason", ContainSubstring("state.sites")))))
		Expect(f.platform.deleted).To(HaveLen(2))
	})

	It("should give up a site that hangs, when it deletes and when it lists", func(ctx SpecContext) {
		hang := func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
		f.platform.delete["a"] = func(ctx context.Context, _ *site.Site, _ platform.Persist) error { return hang(ctx) }
		f.platform.orphans["a"] = func(ctx context.Context) ([]v1alpha1.Orphan, error) { return nil, hang(ctx) }
		f.start(ctx)
		f.actuator.siteTimeout, f.actuator.lookUpTimeout = 10*time.Millisecond, 10*time.Millisecond
		Expect(f.actuator.ForceDelete(ctx, logr.Discard(), f.infra, f.cluster)).To(Succeed())
		_, _, status := f.stored(ctx)
		Expect(status.Orphans).To(ConsistOf(v1alpha1.Orphan{Site: "a", Kind: "network", ID: "n", Reason: "context deadline exceeded"}))
	})

	It("should go on without the Secret", func(ctx SpecContext) {
		f.secret.Name = "other"
		force(ctx)
		Expect(f.platform.deleted).To(HaveLen(2))
	})

	It("should go on with the configuration if the state cannot be read", func(ctx SpecContext) {
		f.infra.Status.State = raw(`{"kind": "FlowState"}`)
		f.start(ctx)
		Expect(f.actuator.ForceDelete(ctx, logr.Discard(), f.infra, f.cluster)).To(Succeed())
		Expect(f.platform.deleted).To(HaveLen(2))
	})

	It("should succeed if the status cannot be written", func(ctx SpecContext) {
		f.platform.delete["a"] = fail(platform.ClassTransient)
		f.platform.orphans["a"] = func(context.Context) ([]v1alpha1.Orphan, error) {
			return []v1alpha1.Orphan{{Site: "a", Kind: "server", ID: "s"}}, nil
		}
		f.patchErr = errors.New("the API server is away")
		f.start(ctx)
		Expect(f.actuator.ForceDelete(ctx, logr.Discard(), f.infra, f.cluster)).To(Succeed())
		Expect(f.events()).To(ContainElement(HavePrefix("Warning OrphansLeft")))
	})

	It("should cut a long list in the event, never in the status", func(ctx SpecContext) {
		f.platform.delete["a"] = fail(platform.ClassTransient)
		f.platform.orphans["a"] = func(context.Context) ([]v1alpha1.Orphan, error) {
			var orphans []v1alpha1.Orphan
			for i := range 200 {
				orphans = append(orphans, v1alpha1.Orphan{Site: "a", Kind: "server", ID: fmt.Sprintf("id-%d", i), Name: strings.Repeat("n", 50)})
			}
			return orphans, nil
		}
		Expect(force(ctx).Orphans).To(HaveLen(200))
		Expect(f.events()).To(ContainElement(And(
			HavePrefix(`Warning OrphansLeft site "a": 200 left behind: server id-0 (`),
			MatchRegexp(` and \d+ more$`),
			WithTransform(func(s string) int { return len(s) }, BeNumerically("<", 1000)),
		)))
	})
})
