// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package threeplatforms_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/test/countproxy"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/vcenter/control"
	"github.com/gardener/gardener-extension-provider-hybrid/test/specs"
	"github.com/gardener/gardener-extension-provider-hybrid/test/suite"
)

// outage disturbs the sites of some zones.
type outage struct {
	zones      []string
	begin, end func(context.Context) error
	// meanwhile is what else goes on at other sites, if anything is shown.
	meanwhile func(context.Context)
}

// isolated expects that the other sites go on in an outage, that the Worker names the sites that do not, and that these recover.
func isolated(ctx SpecContext, o outage) {
	GinkgoHelper()
	before, sizes := map[string]string{}, map[string]int{}
	var others, sites []string
	for zone, site := range siteOf {
		if slices.Contains(o.zones, zone) {
			maps.Copy(before, specs.Identities(ctx, mixed(), zone))
			sites = append(sites, site)
		} else {
			others = append(others, zone)
		}
	}
	Expect(before).NotTo(BeEmpty())
	Expect(o.begin(ctx)).To(Succeed())
	ended := false
	DeferCleanup(func(ctx SpecContext) {
		if !ended {
			Expect(o.end(ctx)).To(Succeed())
		}
	})
	for _, zone := range o.zones {
		sizes[zone] = specs.Scale(ctx, mixed(), zone, 1)
	}
	specs.ExpectIsolated(ctx, mixed(), others...)
	if o.meanwhile != nil {
		o.meanwhile(ctx)
	}

	since := time.Now()
	changed, err := local.ChangeWorker(ctx, func(*extensionsv1alpha1.Worker) {})
	Expect(err).NotTo(HaveOccurred())
	Eventually(func(g Gomega) {
		g.Expect(local.Seed.Client.Get(ctx, client.ObjectKeyFromObject(changed), changed)).To(Succeed())
		g.Expect(changed.Status.LastError).NotTo(BeNil())
	}).WithContext(ctx).Within(inTime).ProbeEvery(500 * time.Millisecond).Should(Succeed())
	expectOnlyNamed(changed.Status.LastError, sites...)
	message := changed.Status.LastError.Description
	for zone, size := range sizes {
		Expect(mixed().Running(ctx, zone, size)).NotTo(Succeed(), "%s is still disturbed", zone)
	}

	Expect(o.end(ctx)).To(Succeed())
	ended = true
	var recovered time.Duration
	for zone, size := range sizes {
		recovered += specs.ExpectRunning(ctx, mixed(), zone, size, 5*time.Minute)
	}
	Expect(local.Reconciled(ctx, changed, since)).To(Succeed())
	machines := specs.Identities(ctx, mixed(), "")
	for name, id := range before {
		Expect(machines).To(HaveKeyWithValue(name, id), "no machine is lost, and none is replaced")
	}
	Expect(conflicts()).To(BeEmpty())
	for zone := range sizes {
		specs.ExpectRunning(ctx, mixed(), zone, scale(ctx, zone, -1), inTime)
	}
	AddReportEntry("outage", fmt.Sprintf("recovered in %.0f s; the Worker said: %s", recovered.Seconds(), message),
		ReportEntryVisibilityAlways)
}

func outageSpecs() {
	const text = "should go on on the other sites as before, name the sites that do not, and recover without help"
	DescribeTable(text, isolated,
		Entry("while the inventory's API hangs", SpecTimeout(15*time.Minute), outage{
			zones: []string{rack, hall},
			begin: func(context.Context) error {
				return proxy.SetFaults(countproxy.Fault{Service: inventoryService, Action: countproxy.ActionHang})
			},
			end: func(context.Context) error { return proxy.SetFaults() },
		}),
	)
	suite.Nightly("with an inventory that refuses", func() {
		DescribeTable(text, isolated,
			Entry("while its API is down", SpecTimeout(15*time.Minute), outage{
				zones: []string{rack, hall},
				begin: func(context.Context) error { return proxy.TakeDown(inventoryService) },
				end:   func(context.Context) error { return proxy.BringUp(inventoryService) },
			}),
			Entry("while it has revoked the permissions", SpecTimeout(15*time.Minute), outage{
				zones: []string{rack, hall},
				begin: func(ctx context.Context) error { return inventory.Revoke(ctx) },
				end:   func(ctx context.Context) error { return inventory.Grant(ctx) },
			}),
		)
	})
}

func vCenterSpecs() {
	disturbed := func(settings control.Settings) outage {
		return outage{
			zones:     []string{vc},
			begin:     func(ctx context.Context) error { return server.Set(ctx, settings) },
			end:       func(ctx context.Context) error { return server.Set(ctx, control.Settings{}) },
			meanwhile: orphanAndZone,
		}
	}
	DescribeTable("should go on on the other sites as before, name the one that does not, and recover without help",
		func(ctx SpecContext, o outage) {
			isolated(ctx, o)
			setZones(ctx, cloud, vc, rack, hall)
			specs.ExpectRunning(ctx, mixed(), "", 4, inTime)
		},
		Entry("while it is down", SpecTimeout(25*time.Minute), disturbed(control.Settings{Down: true})),
		// A request to it may take a minute.
		Entry("while its answers take too long", SpecTimeout(25*time.Minute), disturbed(control.Settings{Answer: 90 * time.Second})),
	)

	It("should say within seconds that a datastore is full, and go on when it is not any more", func(ctx SpecContext) {
		full := control.Fault{Method: "CloneVM_Task", Type: "NoDiskSpace", InTask: true}
		Expect(server.Set(ctx, control.Settings{Faults: []control.Fault{full}})).To(Succeed())
		DeferCleanup(func(ctx SpecContext) { Expect(server.Set(ctx, control.Settings{})).To(Succeed()) })
		size := scale(ctx, vc, 1)
		code, message := specs.Failure(ctx, mixed(), vc, 30*time.Second)
		Expect(code).To(Equal("ResourceExhausted"), message)
		Expect(message).To(ContainSubstring(`site "vc"`))

		Expect(server.Set(ctx, control.Settings{})).To(Succeed())
		specs.ExpectRunning(ctx, mixed(), vc, size, inTime)
		specs.ExpectRunning(ctx, mixed(), vc, scale(ctx, vc, -1), inTime)
	}, SpecTimeout(12*time.Minute))
}

// orphanAndZone lets a server of OpenStack become an orphan, and adds a zone of OpenStack to the pool, while another site is disturbed.
func orphanAndZone(ctx context.Context) {
	GinkgoHelper()
	orphan(ctx, cloud)
	setZones(ctx, cloud, anotherCloud, vc, rack, hall)
	// The look-ups for all zones of the Worker are made together, and take a minute at most.
	specs.ExpectRunning(ctx, mixed(), anotherCloud, 1, specs.Isolated+time.Minute)
}

// orphan removes a machine object while the driver does not see it, so that its server has none, and waits until the server is gone and
// another machine there.
func orphan(ctx context.Context, zone string) {
	GinkgoHelper()
	machines := specs.Machines(ctx, mixed(), zone)
	m := &machines[0]
	Expect(m.Spec.ProviderID).NotTo(BeEmpty())
	local.Seed.Driver.Pause()
	defer local.Seed.Driver.Resume()
	patch := client.MergeFrom(m.DeepCopy())
	m.Finalizers = nil
	Expect(local.Seed.Client.Patch(ctx, m, patch)).To(Succeed())
	Expect(local.Seed.Client.Delete(ctx, m)).To(Succeed())
	local.Seed.Driver.Resume()

	Eventually(func() ([]string, error) {
		servers, err := local.Inspectors[0].Servers(ctx, m.Name)
		var names []string
		for _, s := range servers {
			names = append(names, s.Name)
		}
		return names, err
	}).WithContext(ctx).Within(specs.Isolated).ProbeEvery(time.Second).Should(BeEmpty())
	specs.ExpectRunning(ctx, mixed(), zone, len(machines), inTime)
}
