// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package sitehealth

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-logr/logr"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/gleak"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"k8s.io/apimachinery/pkg/types"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
)

var _ = Describe("Faults", func() {
	const shoot = "shoot--p--a"
	var (
		played *playedSites
		asking *probers
		told   chan types.NamespacedName
		a      = types.NamespacedName{Namespace: shoot, Name: "a"}
		b      = types.NamespacedName{Namespace: "shoot--p--b", Name: "b"}
		racks  = []string{"racks"}

		power = platform.Fault{Shoot: shoot, Machine: "m-7", Host: "rack-07", Message: "power management error: no answer of the BMC"}
		disk  = platform.Fault{Shoot: shoot, Machine: "m-7", Host: "rack-07", Message: "provisioning error: no disk"}
		other = platform.Fault{Shoot: shoot, Machine: "m-8", Host: "rack-08", Message: "power management error: no answer of the BMC"}
		alien = platform.Fault{Shoot: "shoot--p--b", Machine: "m-9", Host: "rack-09", Message: "power management error: no answer of the BMC"}
	)

	BeforeEach(func() {
		played = &playedSites{answers: map[string]error{}, asked: map[string]int{}, hanging: map[string]bool{},
			faults: map[string][]platform.Fault{}}
		told = make(chan types.NamespacedName, 1000)
		asking = newProbers(logr.Discard(),
			platform.Registry[platform.Probe]{v1alpha1.PlatformMetal: played, v1alpha1.PlatformOpenStack: silentSites{played}},
			timing{interval: 10 * time.Millisecond, refused: 10 * time.Millisecond,
				timeout: 5 * time.Second}, func(n types.NamespacedName) { told <- n })
		ctx, cancel := context.WithCancel(context.Background())
		ended := make(chan struct{})
		go func() { defer close(ended); _ = asking.Start(ctx) }()
		DeferCleanup(func() { cancel(); Eventually(ended).Should(BeClosed()) })
	})

	// heard waits until the controller is called, and returns what it finds then.
	heard := func(infra types.NamespacedName) []siteFaults {
		GinkgoHelper()
		Eventually(told).Should(Receive(Equal(infra)))
		return asking.faults(infra)
	}

	It("are told when they appear, change and end, each once", func() {
		asking.set(a, []site.Site{newSite("racks", "1")}, racks)
		Expect(heard(a)).To(HaveExactElements(And(HaveField("Answered", true), HaveField("Faults", BeEmpty()))))

		played.fault("racks", power, alien)
		Expect(heard(a)).To(HaveExactElements(And(HaveField("Appeared", HaveExactElements(power)),
			HaveField("Faults", HaveExactElements(power)))))
		Expect(asking.faults(a)).To(HaveExactElements(And(HaveField("Appeared", BeEmpty()), HaveField("Faults", HaveExactElements(power)))))

		played.fault("racks", disk, other)
		Expect(heard(a)).To(HaveExactElements(And(HaveField("Appeared", HaveExactElements(disk, other)), HaveField("Gone", BeEmpty()))))
		Consistently(told, "100ms").ShouldNot(Receive())

		played.fault("racks", other)
		Expect(heard(a)).To(HaveExactElements(And(HaveField("Appeared", BeEmpty()), HaveField("Gone", HaveExactElements(disk)),
			HaveField("Faults", HaveExactElements(other)))))
	})

	It("are those of the sites with machines whose platform tells of faults", func() {
		cloud := newSite("cloud", "1")
		cloud.Platform = v1alpha1.PlatformOpenStack
		sites := []site.Site{newSite("hall", "1"), cloud, newSite("racks", "1")}
		played.fault("hall", other)
		asking.set(a, sites, []string{"racks", "cloud"})
		Eventually(func() map[string]answer { return asking.answers(a) }).Should(HaveLen(3))
		Expect(asking.faults(a)).To(HaveExactElements(HaveField("Site", "racks")))
		asking.set(a, sites, []string{"hall"})
		Expect(asking.faults(a)).To(HaveExactElements(And(HaveField("Site", "hall"), HaveField("Appeared", HaveExactElements(other)))))
	})

	It("are kept and not told again when the site is reached in another way", func() {
		played.fault("racks", power)
		asking.set(a, []site.Site{newSite("racks", "1")}, racks)
		Expect(heard(a)).To(HaveExactElements(HaveField("Appeared", HaveLen(1))))

		asking.set(a, []site.Site{newSite("racks", "2")}, racks)
		Expect(asking.faults(a)).To(HaveExactElements(HaveField("Faults", HaveExactElements(power))))
		Expect(heard(a)).To(HaveExactElements(And(HaveField("Answered", true), HaveField("Appeared", BeEmpty()),
			HaveField("Faults", HaveExactElements(power)))))
	})

	It("are not forgotten when the site does not answer, which is said to last", func() {
		played.fault("racks", power)
		asking.set(a, []site.Site{newSite("racks", "1")}, racks)
		Expect(heard(a)).To(HaveExactElements(HaveField("Appeared", HaveLen(1))))

		played.say("racks/1", in("racks", platform.ClassTransient, "refused"))
		first := heard(a)
		Expect(first).To(HaveExactElements(And(HaveField("Err", MatchError(`site "racks": refused`)), HaveField("Gone", BeEmpty()),
			HaveField("Faults", HaveExactElements(power)))))
		played.say("racks/1", in("racks", platform.ClassTransient, "reset"))
		Expect(heard(a)).To(HaveExactElements(And(HaveField("Err", MatchError(`site "racks": reset`)), HaveField("Since", first[0].Since))))

		played.say("racks/1", nil)
		Expect(heard(a)).To(HaveExactElements(And(HaveField("Err", BeNil()), HaveField("Appeared", BeEmpty()),
			HaveField("Faults", HaveExactElements(power)))))
	})

	It("of one site that hangs delay no other", func() {
		played.hanging["slow/1"] = true
		played.fault("racks", power)
		asking.set(a, []site.Site{newSite("racks", "1"), newSite("slow", "1")}, []string{"racks", "slow"})
		Expect(heard(a)).To(HaveExactElements(
			And(HaveField("Site", "racks"), HaveField("Answered", true), HaveField("Appeared", HaveLen(1))),
			And(HaveField("Site", "slow"), HaveField("Answered", false)),
		))
	})

	It("are asked for with each shoot that comes to a site, before anything is said about it", func() {
		played.fault("racks", power, alien)
		asking.timing.interval = 500 * time.Millisecond
		asking.set(a, []site.Site{newSite("racks", "1")}, racks)
		Expect(heard(a)).To(HaveExactElements(HaveField("Appeared", HaveExactElements(power))))
		asking.set(b, []site.Site{newSite("racks", "1")}, racks)
		Expect(asking.faults(b)).To(HaveExactElements(HaveField("Answered", false)))
		Eventually(func() []siteFaults { return asking.faults(b) }).Should(HaveExactElements(And(HaveField("Answered", true),
			HaveField("Faults", HaveExactElements(alien)))))
		Expect(asking.probers).To(HaveLen(1))
	})

	It("are told anew after nobody asked for them", func() {
		played.fault("racks", power)
		asking.set(a, []site.Site{newSite("racks", "1")}, racks)
		Expect(heard(a)).To(HaveExactElements(HaveField("Appeared", HaveLen(1))))
		asking.set(a, []site.Site{newSite("racks", "1")}, nil)
		Expect(asking.faults(a)).To(BeEmpty())
		asking.set(a, []site.Site{newSite("racks", "1")}, racks)
		Expect(asking.faults(a)).To(HaveExactElements(HaveField("Appeared", HaveLen(1))))
		asking.remove(a)
		Expect(asking.faults(a)).To(BeEmpty())
	})

	It("leak nothing when shoots come, change and go", func() {
		running := func() int {
			return len(slices.DeleteFunc(gleak.Goroutines(),
				func(g gleak.Goroutine) bool { return !strings.Contains(g.Backtrace, "(*prober).run") }))
		}
		before := running()
		of := func(i int) types.NamespacedName { return types.NamespacedName{Namespace: fmt.Sprint(i), Name: "a"} }
		for i := range 50 {
			for token := range 5 {
				asking.set(of(i), []site.Site{newSite("racks", fmt.Sprint(i, token))}, racks)
			}
		}
		Expect(asking.probers).To(HaveLen(50))
		for i := range 50 {
			asking.remove(of(i))
		}
		Eventually(running).Should(BeNumerically("<=", before))
	})

	It("are counted", func() {
		played.fault("racks", power, other)
		played.say("down/1", in("down", platform.ClassTransient, "refused"))
		asking.set(a, []site.Site{newSite("racks", "1"), newSite("down", "1"), newSite("hall", "1")}, []string{"racks", "down"})
		Eventually(func() map[string]answer { return asking.answers(a) }).Should(HaveLen(3))
		asking.faults(a)
		Expect(testutil.CollectAndCompare(asking, strings.NewReader(`
# HELP hybrid_machines_faulty Machines of a shoot on a site that something is wrong with.
# TYPE hybrid_machines_faulty gauge
hybrid_machines_faulty{shoot_namespace="shoot--p--a",site="down"} 0
hybrid_machines_faulty{shoot_namespace="shoot--p--a",site="racks"} 2
# HELP hybrid_site_watched 1 if the machines of a shoot on a site are watched for faults, 0 if the site cannot be watched.
# TYPE hybrid_site_watched gauge
hybrid_site_watched{shoot_namespace="shoot--p--a",site="down"} 0
hybrid_site_watched{shoot_namespace="shoot--p--a",site="racks"} 1
`), "hybrid_machines_faulty", "hybrid_site_watched")).To(Succeed())
		asking.remove(a)
		Expect(testutil.CollectAndCount(asking)).To(BeZero())
	})
})
