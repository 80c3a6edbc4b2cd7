// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package sitehealth

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-logr/logr"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"k8s.io/apimachinery/pkg/types"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
)

// playedSites answer as they are told.
type playedSites struct {
	mutex    sync.Mutex
	answers  map[string]error
	observed platform.Observation
	faults   map[string][]platform.Fault
	asked    map[string]int
	hanging  map[string]bool
}

func (p *playedSites) Probe(ctx context.Context, s *site.Site, shoots []string) (platform.Observation, error) {
	name := s.Name + "/" + s.Credentials["token"]
	p.mutex.Lock()
	p.asked[name]++
	answer, hangs, observed := p.answers[name], p.hanging[name], p.observed
	for _, fault := range p.faults[s.Name] {
		if slices.Contains(shoots, fault.Shoot) && answer == nil {
			observed.Faults = append(observed.Faults, fault)
		}
	}
	p.mutex.Unlock()
	if hangs {
		<-ctx.Done()
		return platform.Observation{}, ctx.Err()
	}
	return observed, answer
}

func (*playedSites) ReportsFaults() {}

// silentSites report no faults.
type silentSites struct{ played *playedSites }

func (s silentSites) Probe(ctx context.Context, of *site.Site, shoots []string) (platform.Observation, error) {
	return s.played.Probe(ctx, of, shoots)
}

func (p *playedSites) fault(name string, faults ...platform.Fault) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.faults[name] = faults
}

func (p *playedSites) say(name string, err error) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.answers[name] = err
}

func (p *playedSites) times(name string) func() int {
	return func() int {
		p.mutex.Lock()
		defer p.mutex.Unlock()
		return p.asked[name]
	}
}

func newSite(name, token string) site.Site {
	return site.Site{Name: name, Platform: v1alpha1.PlatformMetal, Profile: &v1alpha1.CloudProfileSite{Name: name},
		Credentials: site.Credentials{"token": token}}
}

var _ = Describe("Probers", func() {
	var (
		played *playedSites
		asking *probers
		told   chan types.NamespacedName
		a      = types.NamespacedName{Namespace: "shoot--p--a", Name: "a"}
		b      = types.NamespacedName{Namespace: "shoot--p--b", Name: "b"}
	)

	BeforeEach(func() {
		played = &playedSites{answers: map[string]error{}, asked: map[string]int{}, hanging: map[string]bool{},
			faults: map[string][]platform.Fault{}}
		told = make(chan types.NamespacedName, 100)
		asking = newProbers(logr.Discard(), platform.Registry[platform.Probe]{v1alpha1.PlatformMetal: played},
			timing{interval: 10 * time.Millisecond, refused: time.Hour, timeout: 5 * time.Second}, func(n types.NamespacedName) { told <- n })
		ctx, cancel := context.WithCancel(context.Background())
		ended := make(chan struct{})
		go func() { defer close(ended); _ = asking.Start(ctx) }()
		DeferCleanup(func() { cancel(); Eventually(ended).Should(BeClosed()) })
	})

	answer := func(infra types.NamespacedName, name string) func() error {
		return func() error {
			last, ok := asking.answers(infra)[name]
			if !ok {
				return errors.New("no answer yet")
			}
			return last.err
		}
	}

	It("tells of faults and of their ends, each once", func() {
		Expect(asking.set(a, []site.Site{newSite("racks", "1")}, nil)).To(BeEmpty())
		Eventually(told).Should(Receive(Equal(a)))
		Expect(answer(a, "racks")()).To(Succeed())

		played.say("racks/1", in("racks", platform.ClassTransient, "refused"))
		Eventually(told).Should(Receive(Equal(a)))
		Expect(answer(a, "racks")()).To(MatchError(`site "racks": refused`))
		Consistently(told, "100ms").ShouldNot(Receive())

		played.say("racks/1", nil)
		Eventually(told).Should(Receive(Equal(a)))
		Expect(answer(a, "racks")()).To(Succeed())
	})

	It("asks once for all shoots with equal credentials, until the last is gone", func() {
		asking.set(a, []site.Site{newSite("racks", "1")}, nil)
		asking.set(b, []site.Site{newSite("racks", "1")}, nil)
		Expect(asking.probers).To(HaveLen(1))
		Eventually(answer(b, "racks")).Should(Succeed())

		asking.remove(a)
		Expect(asking.answers(a)).To(BeEmpty())
		before := played.times("racks/1")()
		Eventually(played.times("racks/1")).Should(BeNumerically(">", before))

		asking.remove(b)
		Expect(asking.probers).To(BeEmpty())
	})

	It("asks at once with changed credentials", func() {
		played.say("racks/1", in("racks", platform.ClassUnauthenticated, "401"))
		asking.set(a, []site.Site{newSite("racks", "1")}, nil)
		Eventually(answer(a, "racks")).Should(MatchError(ContainSubstring("401")))
		Consistently(played.times("racks/1"), "100ms").Should(Equal(1), "refused credentials are not tried again soon")

		asking.set(a, []site.Site{newSite("racks", "2")}, nil)
		Eventually(answer(a, "racks")).Should(Succeed())
		Expect(asking.probers).To(HaveLen(1))
	})

	It("does not let a site that hangs delay another", func() {
		played.hanging["slow/1"] = true
		asking.set(a, []site.Site{newSite("slow", "1"), newSite("racks", "1")}, nil)
		Eventually(answer(a, "racks"), "2s", "1ms").Should(Succeed())
		Eventually(answer(a, "slow")).Should(MatchError(`site "slow": no answer within 5s`))
	})

	It("does not ask sites that left", func() {
		asking.set(a, []site.Site{newSite("racks", "1"), newSite("hall", "1")}, nil)
		Eventually(answer(a, "hall")).Should(Succeed())
		asking.set(a, []site.Site{newSite("racks", "1")}, nil)
		Expect(asking.answers(a)).NotTo(HaveKey("hall"))
		Expect(asking.probers).To(HaveLen(1))
	})

	It("says which sites cannot be asked", func() {
		odd := newSite("odd", "1")
		odd.Platform = "mainframe"
		dropped := newSite("dropped", "1")
		dropped.Profile = nil
		unaskable := asking.set(a, []site.Site{odd, dropped, newSite("racks", "1")}, nil)
		Expect(unaskable).To(HaveLen(2))
		Expect(unaskable["odd"]).To(MatchError(ContainSubstring(`site "odd": platform "mainframe" is not supported`)))
		Expect(unaskable["dropped"]).To(MatchError(`site "dropped": the site is not in the CloudProfile`))
		Eventually(answer(a, "racks")).Should(Succeed())
	})

	It("has metrics", func() {
		played.observed = platform.Observation{
			Quotas:     []platform.Quota{{Resource: platform.ResourceCores, Used: 9, Limit: 10}},
			Capacities: []platform.Capacity{{Zone: "north", Resource: platform.ResourceCPU, Total: 3e9, Free: 1e9}},
		}
		played.say("racks/1", in("racks", platform.ClassQuota, "full"))
		played.say("lost/1", in("lost", platform.ClassTransient, "refused"))
		asking.set(a, []site.Site{newSite("racks", "1"), newSite("hall", "1"), newSite("lost", "1")}, nil)
		Eventually(answer(a, "racks")).Should(HaveOccurred())
		Eventually(answer(a, "lost")).Should(HaveOccurred())
		Eventually(answer(a, "hall")).Should(Succeed())
		Expect(testutil.CollectAndCompare(asking, strings.NewReader(`
# HELP hybrid_site_available 1 if a site answers a shoot and accepts its credentials and configuration, 0 if not.
# TYPE hybrid_site_available gauge
hybrid_site_available{shoot_namespace="shoot--p--a",site="hall"} 1
hybrid_site_available{shoot_namespace="shoot--p--a",site="lost"} 0
hybrid_site_available{shoot_namespace="shoot--p--a",site="racks"} 1
# HELP hybrid_site_cpu_capacity_hertz Capacity of cpu of a zone of a site for all who use it.
# TYPE hybrid_site_cpu_capacity_hertz gauge
hybrid_site_cpu_capacity_hertz{shoot_namespace="shoot--p--a",site="hall",zone="north"} 3e+09
hybrid_site_cpu_capacity_hertz{shoot_namespace="shoot--p--a",site="lost",zone="north"} 3e+09
hybrid_site_cpu_capacity_hertz{shoot_namespace="shoot--p--a",site="racks",zone="north"} 3e+09
# HELP hybrid_site_cpu_free_hertz Free part of the capacity of cpu of a zone of a site.
# TYPE hybrid_site_cpu_free_hertz gauge
hybrid_site_cpu_free_hertz{shoot_namespace="shoot--p--a",site="hall",zone="north"} 1e+09
hybrid_site_cpu_free_hertz{shoot_namespace="shoot--p--a",site="lost",zone="north"} 1e+09
hybrid_site_cpu_free_hertz{shoot_namespace="shoot--p--a",site="racks",zone="north"} 1e+09
# HELP hybrid_site_quota_cores_limit Limit of the quota of cores of the account of a shoot on a site.
# TYPE hybrid_site_quota_cores_limit gauge
hybrid_site_quota_cores_limit{shoot_namespace="shoot--p--a",site="hall"} 10
hybrid_site_quota_cores_limit{shoot_namespace="shoot--p--a",site="lost"} 10
hybrid_site_quota_cores_limit{shoot_namespace="shoot--p--a",site="racks"} 10
# HELP hybrid_site_quota_cores_used Used part of the quota of cores of the account of a shoot on a site.
# TYPE hybrid_site_quota_cores_used gauge
hybrid_site_quota_cores_used{shoot_namespace="shoot--p--a",site="hall"} 9
hybrid_site_quota_cores_used{shoot_namespace="shoot--p--a",site="lost"} 9
hybrid_site_quota_cores_used{shoot_namespace="shoot--p--a",site="racks"} 9
# HELP hybrid_site_unavailable_reason 1 for the reason why a site is not available to a shoot.
# TYPE hybrid_site_unavailable_reason gauge
hybrid_site_unavailable_reason{reason="SiteUnreachable",shoot_namespace="shoot--p--a",site="lost"} 1
`))).To(Succeed())
	})
})
