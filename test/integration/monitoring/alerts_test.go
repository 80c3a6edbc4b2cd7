// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package monitoring_test

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	prometheusv1 "github.com/prometheus/client_golang/api/prometheus/v1"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/test/countproxy"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/metal"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/vcenter"
	"github.com/gardener/gardener-extension-provider-hybrid/test/partitions"
)

const (
	// fires limits how long an alert may take after its fault, and stops how long after its end, on a busy machine.
	fires = 5 * time.Minute
	stops = 2 * time.Minute
	look  = 200 * time.Millisecond
)

// expected is an alert that a fault makes fire.
type expected struct {
	alert  string
	labels map[string]string
	// of is the Prometheus that has the alert.
	of *prometheus
	// fired and stopped are how long it took.
	fired, stopped time.Duration
}

// await waits until the alert fires or does not, and returns how long after start that was.
func (e *expected) await(ctx context.Context, firing bool, start time.Time) time.Duration {
	GinkgoHelper()
	within := stops
	if firing {
		within = fires
	}
	Eventually(e.of.firing).WithContext(ctx).WithArguments(e.alert, e.labels).Within(within).ProbeEvery(look).Should(Equal(firing), "%s %v",
		e.alert, e.labels)
	return time.Since(start)
}

// fault is what goes wrong.
type fault struct {
	// name is what has happened.
	name       string
	begin, end func(context.Context) error
	alerts     []*expected
	// next happens afterwards, nil if nothing does.
	next *fault
}

// each does the same with all alerts of a fault at the same time.
func (f *fault) each(do func(*expected)) {
	var group sync.WaitGroup
	for _, e := range f.alerts {
		group.Go(func() {
			defer GinkgoRecover()
			do(e)
		})
	}
	group.Wait()
}

// happen lets the fault begin, waits for its alerts, and for their end after its end.
func (f *fault) happen(ctx context.Context) {
	GinkgoHelper()
	begun := time.Now()
	Expect(f.begin(ctx)).To(Succeed(), f.name)
	f.each(func(e *expected) { e.fired = e.await(ctx, true, begun) })
	ended := time.Now()
	Expect(f.end(ctx)).To(Succeed(), f.name)
	f.each(func(e *expected) { e.stopped = e.await(ctx, false, ended) })
	if f.next != nil {
		f.next.happen(ctx)
	}
}

// faults are those that concern a part of the shoots, all of which happen at the same time.
func faults() []*fault {
	of := func(p *prometheus, alert string, pairs ...string) *expected {
		labels := map[string]string{}
		for pair := range slices.Chunk(pairs, 2) {
			labels[pair[0]] = pair[1]
		}
		return &expected{alert: alert, labels: labels, of: p}
	}
	ofShoot := func(alert, name, site string, pairs ...string) *expected {
		return of(aggregate, alert, append([]string{"shoot_namespace", shoots[name].Name, "site", site}, pairs...)...)
	}
	bucket := &failingBucket{}
	all := []*fault{
		{
			name: "the vCenter of a shoot answers 2 seconds late",
			begin: func(context.Context) error {
				return shoots[down].Proxy.SetFaults(countproxy.Fault{Service: partitions.VCenterService, Action: countproxy.ActionDelay,
					Delay: 2 * time.Second})
			},
			end:    func(context.Context) error { return shoots[down].Proxy.SetFaults() },
			alerts: []*expected{of(aggregate, "HybridSiteRequestsSlow", "site", vc, "api", "vim25")},
			next: &fault{
				name: "the vCenter of a shoot that wants machines is down",
				begin: func(ctx context.Context) error {
					if err := shoots[down].Proxy.TakeDown(partitions.VCenterService); err != nil {
						return err
					}
					if err := scale(ctx, down, vc, 4); err != nil {
						return err
					}
					return reconcile(ctx, shoots[down])
				},
				end: func(ctx context.Context) error {
					if err := scale(ctx, down, vc, -4); err != nil {
						return err
					}
					if err := shoots[down].Proxy.BringUp(partitions.VCenterService); err != nil {
						return err
					}
					return reconcile(ctx, shoots[down])
				},
				alerts: []*expected{
					of(aggregate, "HybridSiteUnreachable", "site", vc),
					of(aggregate, "HybridSitesFailing", "shoot_namespace", shoots[down].Name, "kind", "Infrastructure", "reason", "SitesStay"),
					of(shootwide, "SiteRequestsFailing", "site", vc, "job", "machine-controller-manager-provider-hybrid"),
				},
			},
		},
		{
			name:  "the inventory is down",
			begin: func(context.Context) error { return shoots[unreachable].Proxy.TakeDown(partitions.InventoryService) },
			end:   func(context.Context) error { return shoots[unreachable].Proxy.BringUp(partitions.InventoryService) },
			alerts: []*expected{
				of(aggregate, "HybridSiteNotWatched", "site", hall),
				of(aggregate, "HybridSiteRequestsFailing", "site", hall),
			},
		},
		{
			name:   "the password is wrong",
			begin:  func(ctx context.Context) error { return setPassword(ctx, shoots[unauthorized], "wrong") },
			end:    func(ctx context.Context) error { return setPassword(ctx, shoots[unauthorized], vcenter.Password) },
			alerts: []*expected{ofShoot("HybridSiteRefusesShoot", unauthorized, vc, "reason", "SiteUnauthorized")},
		},
		{
			name: "the kubelets of a site are cut off",
			begin: func(context.Context) error {
				shoots[cut].CutSite(racks)
				return nil
			},
			end: func(context.Context) error {
				shoots[cut].Mend()
				return nil
			},
			alerts: []*expected{ofShoot("HybridSiteQuarantined", cut, racks), ofShoot("HybridMachinesMissing", cut, racks)},
		},
		{
			name:  "two machines more are wanted than there are hosts for",
			begin: func(ctx context.Context) error { return scale(ctx, full, racks, 2) },
			end:   func(ctx context.Context) error { return scale(ctx, full, racks, -2) },
			alerts: []*expected{
				ofShoot("HybridSiteWithoutRoom", full, racks, "reason", "SiteExhausted"),
				ofShoot("HybridMachinesFailed", full, racks, "phase", "CrashLoopBackOff"),
			},
		},
		hostFault(ofShoot),
		{
			name:  "95 of 100 cores of a quota are used",
			begin: func(context.Context) error { return setCores(95, 100) },
			end:   func(context.Context) error { return setCores(5, 100) },
			alerts: []*expected{of(aggregate, "HybridSiteQuotaAlmostUsedUp", "shoot_namespace", withoutMachines.Name, "site", cloud,
				"resource", "cores")},
		},
		{
			name:   "a site does not have the network of the CloudProfile",
			begin:  func(ctx context.Context) error { return changeNetwork(ctx, "missing") },
			end:    func(ctx context.Context) error { return changeNetwork(ctx, "DC0_DVPG0") },
			alerts: []*expected{of(aggregate, "HybridCloudProfileDrift", "site", vc, "state", "Missing")},
		},
		{
			name: "a BackupBucket without a Secret is reconciled every second", begin: bucket.create, end: bucket.delete,
			alerts: []*expected{of(aggregate, "HybridReconciliationsFailing", "controller", "backupbucket")},
		},
	}
	all = append(all, slowRequests())
	for name, alert := range map[string]string{
		"cloud-controller-manager": "CloudControllerManagerDown", "csi-snapshot-controller": "CSISnapshotControllerDown",
		"csi-cinder-controller": "CSICinderControllerDown", "csi-manila-controller": "CSIManilaControllerDown",
		"csi-vsphere-controller": "CSIVSphereControllerDown",
	} {
		set := func(down bool) func(context.Context) error {
			return func(context.Context) error {
				played[name].down.Store(down)
				return nil
			}
		}
		f := &fault{name: "the endpoint of " + name + ", which is played, does not answer", begin: set(true), end: set(false),
			alerts: []*expected{of(shootwide, alert)}}
		if name == "csi-vsphere-controller" {
			f.alerts = append(f.alerts, of(shootwide, "CSIVSphereSyncerDown"))
		}
		all = append(all, f)
	}
	return all
}

// hostFault is a host with a fault, and one that takes long to provision.
func hostFault(ofShoot func(alert, name, site string, pairs ...string) *expected) *fault {
	var used string
	return &fault{
		name: "the hardware of a host fails, and another takes long to provision",
		begin: func(ctx context.Context) (err error) {
			if used, err = hostOf(ctx, hosts, true); err != nil {
				return err
			}
			free, err := hostOf(ctx, hosts, false)
			if err != nil {
				return err
			}
			if err := lab.Inventory.PauseHost(ctx, free); err != nil { // The driver leaves it alone, too.
				return err
			}
			labels := map[string]string{"rack": shoots[hosts].Name, "size": "s"}
			if _, err := lab.Inventory.MakeHosts(ctx, metal.Batch{Prefix: "slow", Count: 1, Labels: labels, Provisioning: fires}); err != nil {
				return err
			}
			if err := lab.Inventory.FailHardware(ctx, used, metal.Register, "power supply is broken"); err != nil {
				return err
			}
			return scale(ctx, hosts, racks, 1)
		},
		end: func(ctx context.Context) error {
			if err := lab.Inventory.HealHardware(ctx, used); err != nil {
				return err
			}
			return scale(ctx, hosts, racks, -1)
		},
		alerts: []*expected{ofShoot("HybridMachinesFaulty", hosts, racks), ofShoot("HybridMachinesStuck", hosts, racks, "phase", "Pending")},
	}
}

// slowRequests are requests of the played cloud-controller-manager. The driver sends too few requests in a range of 10 seconds.
func slowRequests() *fault {
	var group sync.WaitGroup
	stop := func() {}
	return &fault{
		name: "a request of cloud-controller-manager, which is played, takes 3 seconds",
		begin: func(ctx context.Context) error {
			ctx, stop = context.WithCancel(ctx)
			group.Go(func() {
				wait.UntilWithContext(ctx, func(context.Context) {
					platform.RequestDuration.WithLabelValues(cloud, "compute", http.MethodGet, "200").Observe(3)
				}, look)
			})
			return nil
		},
		end: func(context.Context) error {
			stop()
			group.Wait()
			return nil
		},
		alerts: []*expected{{alert: "SiteRequestsSlow", labels: map[string]string{"site": cloud, "job": "cloud-controller-manager"},
			of: shootwide}},
	}
}

// scale adds machines to the pool of a shoot at a site, or removes them.
func scale(ctx context.Context, name, site string, by int32) error {
	_, err := shoots[name].Pool(site).Scale(ctx, map[string]string{vc: "vc-1", racks: "rack-1"}[site], by)
	return err
}

// elsewhere are the alerts that only the unit tests of the rules show, with the reason.
var elsewhere = map[string]string{
	"HybridWebhookFailing": "the webhooks answer, whatever they are sent",
	"HybridWebhookSlow":    "the webhooks ask no site that could be slow",
}

var _ = Describe("Alerts on real faults", Ordered, func() {
	var (
		began    time.Time
		happened []*fault
	)

	It("should reach all targets", func(ctx SpecContext) {
		for _, p := range []*prometheus{seed, aggregate, shootwide} {
			Eventually(p.unwell).WithContext(ctx).Within(time.Minute).Should(BeEmpty(), p.process.Name)
		}
	})

	It("should not fire while all is well", func(ctx SpecContext) {
		for _, p := range []*prometheus{aggregate, shootwide} {
			Eventually(p.all).WithContext(ctx).Within(stops).ProbeEvery(look).Should(BeEmpty(), p.process.Name)
		}
	})

	It("should fire on their faults and stop afterwards", func(ctx SpecContext) {
		began = time.Now()
		happened = faults()
		var group sync.WaitGroup
		for _, f := range happened {
			group.Go(func() {
				defer GinkgoRecover()
				f.happen(ctx)
			})
		}
		group.Wait()
	}, SpecTimeout(fires+stops+time.Minute))

	It("should fire when what tells about sites is down", func(ctx SpecContext) {
		f := &fault{
			name: "the extension and the driver are killed",
			begin: func(context.Context) error {
				lab.Seed.Extension.Kill()
				shoots[down].Driver.Kill()
				return nil
			},
			end: func(context.Context) error {
				if err := lab.Seed.Extension.Start(); err != nil {
					return err
				}
				return shoots[down].Driver.Start()
			},
			alerts: []*expected{{alert: "HybridExtensionDown", of: aggregate}, {alert: "MachineDriverDown", of: shootwide}},
		}
		happened = append(happened, f)
		f.happen(ctx)
	}, SpecTimeout(fires+stops))

	It("should stop all", func(ctx SpecContext) {
		for _, p := range []*prometheus{aggregate, shootwide} {
			Eventually(p.all).WithContext(ctx).Within(stops).ProbeEvery(look).Should(BeEmpty(), p.process.Name)
		}
	})

	It("should be all alerts", func() {
		var shown, alerts []string
		for _, f := range happened {
			for ; f != nil; f = f.next {
				for _, e := range f.alerts {
					shown = append(shown, e.alert)
				}
			}
		}
		for _, rules := range slices.Concat(ofSeed.rules["aggregate"], ofShoot.rules["shoot"]) {
			for _, group := range rules.Spec.Groups {
				for _, rule := range group.Rules {
					alerts = append(alerts, rule.Alert)
				}
			}
		}
		Expect(slices.AppendSeq(shown, maps.Keys(elsewhere))).To(ConsistOf(alerts))
	})

	It("should be seen in the dashboards", func(ctx SpecContext) {
		expectShown(ctx, seed, ofSeed.dashboards, began, "controller_runtime_webhook")
		// No cloud-controller-manager initializes nodes here.
		expectShown(ctx, shootwide, ofShoot.dashboards, began, "mcm_cloud_api_driver_requests_failed_total|hybrid_machine_birth_seconds")
	})

	AfterAll(func() {
		var b strings.Builder
		b.WriteString("\n| alert | fault | fires after | stops after |\n|---|---|---|---|\n")
		for _, f := range happened {
			for ; f != nil; f = f.next {
				for _, e := range f.alerts {
					fmt.Fprintf(&b, "| %s | %s | %.0f s | %.0f s |\n", e.alert, f.name, e.fired.Seconds(), e.stopped.Seconds())
				}
			}
		}
		AddReportEntry("alerts", b.String(), ReportEntryVisibilityAlways)
	})
})

// all are the alerts that fire, without drift of sites that do not have all that the CloudProfile of example/ names.
func (p *prometheus) all(ctx context.Context) ([]string, error) {
	found, err := p.Alerts(ctx)
	var names []string
	for _, a := range found.Alerts {
		if a.State == prometheusv1.AlertStateFiring && (a.Labels["alertname"] != "HybridCloudProfileDrift" || a.Labels["site"] == vc) {
			names = append(names, a.Labels.String())
		}
	}
	return names, err
}
