// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package threeplatforms_test

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/gardener/gardener-extension-provider-hybrid/test/countproxy"
	"github.com/gardener/gardener-extension-provider-hybrid/test/specs"
)

// random is what is different in the names of machines of one deployment, and what tells hosts of one batch apart.
var random = regexp.MustCompile(`-[0-9a-z]{5}-[0-9a-z]{5}$|-[0-9]+$`)

func crashSpecs() {
	DescribeTable("should come to the same if that is right after one of its writes to the inventory",
		func(ctx SpecContext, zone string) {
			var table []string
			defer func() { AddReportEntry("crashes", strings.Join(table, "\n"), ReportEntryVisibilityAlways) }()
			before := inInventory(ctx)
			// What has released an address goes when its provider has seen that.
			expectInventory := func(expected []string, because ...any) {
				GinkgoHelper()
				Eventually(func() []string { return inInventory(ctx) }).WithContext(ctx).Within(3*time.Minute).Should(Equal(expected), because...)
			}

			create, row := change(ctx, zone, 1, 0)
			table = append(table, row)
			with := inInventory(ctx)
			Expect(with).NotTo(Equal(before))
			remove, row := change(ctx, zone, -1, 0)
			table = append(table, row)
			expectInventory(before)
			Expect(create).NotTo(BeZero())
			Expect(remove).NotTo(BeZero())

			for k := 1; k <= max(create, remove); k++ {
				_, row := change(ctx, zone, 1, min(k, create))
				table = append(table, row)
				expectInventory(with, "created, killed after write %d", k)
				_, row = change(ctx, zone, -1, min(k, remove))
				table = append(table, row)
				expectInventory(before, "deleted, killed after write %d", k)
			}
			Expect(conflicts()).To(BeEmpty())
		},
		Entry("a host of Metal3", SpecTimeout(20*time.Minute), rack),
		Entry("a server of IronCore", SpecTimeout(20*time.Minute), hall),
	)
}

// change adds a machine in a zone or removes one, while the driver is killed after its kth write to the inventory and started
// again, or never if k is 0. It returns the number of the driver's writes and a line that tells what happened.
func change(ctx context.Context, zone string, by int32, k int) (writes int, row string) {
	GinkgoHelper()
	const kill = "kill"
	driver, restarted := local.Seed.Driver, make(chan error, 1)
	var after countproxy.Request
	if k > 0 {
		Expect(proxy.SetFaults(countproxy.Fault{
			Name: kill, Client: driver.Name, Kind: countproxy.KindWrite, Skip: k - 1, Times: 1, Action: countproxy.ActionCall, After: true,
			Call: func(r countproxy.Request) {
				after = r
				driver.Kill()
				restarted <- driver.Start()
			},
		})).To(Succeed())
	}
	label := fmt.Sprintf("%s %+d %d", zone, by, time.Now().UnixNano())
	proxy.SetLabel(label)
	took := specs.ExpectRunning(ctx, mixed(), zone, scale(ctx, zone, by), 5*time.Minute)
	Eventually(func() []string { return pending(ctx) }).WithContext(ctx).Within(3 * time.Minute).Should(BeEmpty())
	if k > 0 {
		Expect(proxy.Acted(kill)).To(Equal(1), "the driver has not written %d times", k)
		Expect(<-restarted).To(Succeed())
		Expect(proxy.SetFaults()).To(Succeed())
	}
	for _, r := range proxy.Requests(label) {
		if r.Client == driver.Name && r.Kind == countproxy.KindWrite {
			writes++
		}
	}
	if k == 0 {
		return writes, fmt.Sprintf("%s %+d: %d writes, %.0f s", zone, by, writes, took.Seconds())
	}
	return writes, fmt.Sprintf("%s %+d: killed after write %d, %s, %d; %.0f s", zone, by, k, random.ReplaceAllString(after.Pattern, "-*"),
		after.ServiceStatus, took.Seconds())
}

// pending are the hosts that their operators still clean.
func pending(ctx context.Context) []string {
	GinkgoHelper()
	hosts, err := inventory.Hosts(ctx)
	Expect(err).NotTo(HaveOccurred())
	var names []string
	for name, host := range hosts {
		if host.State != "available" && host.State != "provisioned" {
			names = append(names, name+" "+host.State)
		}
	}
	return names
}

// inInventory is all that the shoot has in the inventory, without what is different for each machine and without saying which hosts
// it has.
func inInventory(ctx context.Context) []string {
	GinkgoHelper()
	objects, err := inventory.Objects(ctx, local.Name)
	Expect(err).NotTo(HaveOccurred())
	var lines []string
	for _, o := range objects {
		lines = append(lines, o.Kind+" "+random.ReplaceAllString(o.Name, "-*"))
	}
	return slices.Sorted(slices.Values(append(lines, fmt.Sprintf("%d hosts are used", len(consumers(ctx))))))
}
