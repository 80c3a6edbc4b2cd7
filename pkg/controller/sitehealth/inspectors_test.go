// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package sitehealth

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	"github.com/go-logr/logr"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/discovery"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
)

// playedOffers are sites that have zones.
type playedOffers struct {
	mutex   sync.Mutex
	zones   map[string][]string
	failing map[string]bool
	hanging map[string]bool
	asked   map[string]int
}

func (p *playedOffers) set(site string, zones ...string) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.zones[site] = zones
}

func (p *playedOffers) fail(site string, fails bool) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.failing = map[string]bool{site: fails}
}

func (p *playedOffers) times(site string) int {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	return p.asked[site]
}

// Discover implements platform.Discovery. A site that hangs ignores its context.
func (p *playedOffers) Discover(_ context.Context, s *site.Site) (platform.Offer, error) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if p.asked == nil {
		p.asked = map[string]int{}
	}
	p.asked[s.Name]++
	if p.hanging[s.Name] {
		p.mutex.Unlock()
		defer p.mutex.Lock()
		<-make(chan struct{})
	}
	if p.failing[s.Name] {
		return platform.Offer{}, errors.New("down")
	}
	offer := platform.Offer{}
	for _, zone := range p.zones[s.Name] {
		offer.Add(platform.Object{Kind: platform.KindZone, Name: zone})
	}
	return offer, nil
}

// References implements platform.Discovery.
func (p *playedOffers) References(part platform.ProfilePart) []platform.Reference {
	if part.Zone == nil {
		return nil
	}
	return []platform.Reference{{Kinds: []platform.ObjectKind{platform.KindZone}, Field: "name", Name: part.Zone.Name}}
}

// begun returns inspectors that have started and end with the spec.
func begun(offers *playedOffers, interval time.Duration, changed func(types.NamespacedName)) *inspectors {
	if changed == nil {
		changed = func(types.NamespacedName) {}
	}
	i := newInspectors(logr.Discard(), platform.Registry[platform.Discovery]{v1alpha1.PlatformMetal: offers}, interval, changed)
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() { defer close(ended); _ = i.Start(ctx) }()
	DeferCleanup(func() {
		stop()
		if len(offers.hanging) == 0 {
			Eventually(ended).Should(BeClosed())
		}
	})
	return i
}

var _ = Describe("Inspectors", func() {
	const interval = 20 * time.Millisecond
	var (
		a, b    = types.NamespacedName{Namespace: "shoot--p--a", Name: "a"}, types.NamespacedName{Namespace: "shoot--p--b", Name: "b"}
		offers  *playedOffers
		profile offered
	)
	sitesOf := func(names ...string) []site.Site {
		var sites []site.Site
		for _, name := range names {
			s := v1alpha1.CloudProfileSite{Name: name, Metal: &v1alpha1.MetalProfile{}, Zones: []v1alpha1.SiteZone{{Name: name + "-1"}}}
			sites = append(sites, site.Site{Name: name, Platform: v1alpha1.PlatformMetal, Profile: &s})
			profile.config.Sites = append(profile.config.Sites, s)
		}
		return sites
	}
	BeforeEach(func() {
		offers = &playedOffers{zones: map[string][]string{"racks": {"racks-1", "other"}, "hall": {}}}
		profile = offered{spec: &gardencorev1beta1.CloudProfileSpec{}, config: &v1alpha1.CloudProfileConfig{}}
	})

	It("should tell drift of each site when it changes, and keep it while the site does not answer", func(ctx SpecContext) {
		changes := make(chan types.NamespacedName, 100)
		i := begun(offers, interval, func(infra types.NamespacedName) { changes <- infra })
		i.set(a, sitesOf("racks", "hall"), profile)
		Eventually(ctx, func() map[string][]discovery.Difference { return i.differences(a) }).Should(And(
			HaveKeyWithValue("racks", BeEmpty()), HaveKeyWithValue("hall", ConsistOf(HaveField("State", v1alpha1.DifferenceMissing)))))
		Expect(changes).To(HaveLen(2))
		Expect(testutil.CollectAndCompare(i, strings.NewReader(`
# HELP hybrid_cloudprofile_differences Differences between the CloudProfile of a shoot and what a site offers that should be removed.
# TYPE hybrid_cloudprofile_differences gauge
hybrid_cloudprofile_differences{shoot_namespace="shoot--p--a",site="hall",state="Changed"} 0
hybrid_cloudprofile_differences{shoot_namespace="shoot--p--a",site="hall",state="Deprecated"} 0
hybrid_cloudprofile_differences{shoot_namespace="shoot--p--a",site="hall",state="Missing"} 1
hybrid_cloudprofile_differences{shoot_namespace="shoot--p--a",site="racks",state="Changed"} 0
hybrid_cloudprofile_differences{shoot_namespace="shoot--p--a",site="racks",state="Deprecated"} 0
hybrid_cloudprofile_differences{shoot_namespace="shoot--p--a",site="racks",state="Missing"} 0
`))).To(Succeed())

		offers.fail("hall", true)
		before := offers.times("hall")
		Eventually(ctx, func() int { return offers.times("hall") }).Should(BeNumerically(">", before+1))
		Expect(i.differences(a)["hall"]).To(HaveLen(1))
		offers.fail("hall", false)
		offers.set("hall", "hall-1")
		Eventually(ctx, func() []discovery.Difference { return i.differences(a)["hall"] }).Should(BeEmpty())
		Expect(changes).To(HaveLen(3), "nothing else has changed")
	})

	It("should ask once for shoots with the same CloudProfile and credentials, and again for others", func(ctx SpecContext) {
		i := begun(offers, time.Hour, nil)
		sites := sitesOf("racks")
		i.set(a, sites, profile)
		i.set(b, sites, profile)
		Expect(i.inspectors).To(HaveLen(1))
		changed := profile
		changed.spec = &gardencorev1beta1.CloudProfileSpec{ProviderConfig: &runtime.RawExtension{Raw: []byte("{}")}}
		i.set(b, sites, changed)
		Expect(i.inspectors).To(HaveLen(2))
		sites[0].Credentials = site.Credentials{"token": "2"}
		i.set(b, sites, changed)
		Expect(i.inspectors).To(HaveLen(2))
		i.remove(a)
		i.remove(b)
		Expect(i.inspectors).To(BeEmpty())
		Expect(i.shoots).To(BeEmpty())
		Expect(offers.times("racks")).To(BeZero(), "the first time is chosen at random")
	})

	It("should not delay a site by another that does not answer", func(ctx SpecContext) {
		offers.hanging = map[string]bool{"hall": true}
		i := begun(offers, interval, nil)
		i.set(a, sitesOf("hall", "racks"), profile)
		Eventually(ctx, func() int { return offers.times("racks") }).Should(BeNumerically(">", 3))
		Expect(offers.times("hall")).To(Equal(1))
		Expect(i.differences(a)).To(HaveKey("racks"))
		Expect(i.differences(a)).NotTo(HaveKey("hall"))
	})

	It("should compare nothing if that is disabled, or has no CloudProfile", func() {
		i := begun(offers, 0, nil)
		i.set(a, sitesOf("racks"), profile)
		Expect(i.inspectors).To(BeEmpty())
		i = begun(offers, time.Hour, nil)
		i.set(a, sitesOf("racks"), offered{})
		Expect(i.inspectors).To(BeEmpty())
	})
})
