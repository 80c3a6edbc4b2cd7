// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package partition_test

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/gardener/gardener-extension-provider-hybrid/test/partitions"
	"github.com/gardener/gardener-extension-provider-hybrid/test/specs"
	"github.com/gardener/gardener-extension-provider-hybrid/test/suite"
)

const (
	cloud, vc, racks, hall = partitions.SiteOpenStack, partitions.SiteVSphere, partitions.SiteMetal3, partitions.SiteIronCore

	// together is how many rows happen at the same time.
	together = 12
)

// on is the number of machines of sites.
type on map[string]int

// representative are the rows of each merge: each value of each dimension occurs.
var representative = []partitions.Row{
	{ID: "off", Machines: on{vc: 3}, Site: vc, Share: 0, Back: partitions.BackNever, Expect: partitions.ExpectMCM},
	{ID: "vcmcm", Machines: on{vc: 3}, Site: vc, Share: 60, Restart: partitions.RestartMCM, Reconcile: true, Back: partitions.BackLater,
		Expect: partitions.ExpectKept},
	{ID: "dead", Machines: on{racks: 3}, Site: racks, Dead: true, APIDown: true, Share: 60, Back: partitions.BackLater,
		Expect: partitions.ExpectDeadReplaced},
	{ID: "begun", Machines: on{racks: 3}, Site: racks, Begun: true, APIDown: true, Share: 60, Back: partitions.BackLater,
		Expect: partitions.ExpectDeletionWaits},
	{ID: "hall", Machines: on{hall: 2}, Site: hall, Share: 60, Reconcile: true, Back: partitions.BackNever, Expect: partitions.ExpectKept},
	{ID: "cover", Machines: on{vc: 10}, Site: vc, Nodes: 3, Share: 30, Back: partitions.BackLater, Expect: partitions.ExpectKept},
	{ID: "below", Machines: on{vc: 10}, Site: vc, Nodes: 3, Share: 60, Back: partitions.BackNever, Expect: partitions.ExpectMCM},
	{ID: "flap", Machines: on{vc: 5}, Site: vc, Nodes: 3, Share: 60, Flaps: 2, Back: partitions.BackLater, Expect: partitions.ExpectKept},
	{ID: "one", Machines: on{racks: 3}, Site: racks, Nodes: 1, Share: 60, Back: partitions.BackNever, Expect: partitions.ExpectMCM},
	{ID: "expire", Machines: on{racks: 3}, Site: racks, Share: 60, Back: partitions.BackAfterMaximum, Expect: partitions.ExpectExpired},
	{ID: "every", Machines: on{vc: 2, racks: 2}, APIDown: true, Share: 60, Restart: partitions.RestartExtension, Back: partitions.BackLater,
		Expect: partitions.ExpectKept},
	{ID: "down", Machines: on{vc: 3}, Site: vc, APIDown: true, Share: 60, Restart: partitions.RestartExtension, Reconcile: true,
		Back: partitions.BackNever, Expect: partitions.ExpectKept},
}

// all are the rows of all combinations of what happens, on the platforms in turn. Those with the same restart follow each other.
func all() []partitions.Row {
	var rows []partitions.Row
	sites := []on{{vc: 3}, {racks: 3}, {hall: 2}}
	expectations := map[partitions.Back]partitions.Expectation{partitions.BackLater: partitions.ExpectKept,
		partitions.BackNever: partitions.ExpectKept, partitions.BackAfterMaximum: partitions.ExpectExpired}
	for _, restart := range []partitions.Restart{"", partitions.RestartMCM, partitions.RestartExtension} {
		for _, back := range []partitions.Back{partitions.BackLater, partitions.BackAfterMaximum, partitions.BackNever} {
			for _, down := range []bool{false, true} {
				for _, reconcile := range []bool{false, true} {
					for _, every := range []bool{false, true} {
						n := len(rows)
						row := partitions.Row{ID: "n" + strconv.Itoa(n), Machines: sites[n/2%len(sites)], APIDown: down, Share: 60, Restart: restart,
							Reconcile: reconcile, Back: back, Expect: expectations[back]}
						if every {
							row.Machines = on{vc: 2, racks: 2}
						}
						rows = append(rows, row)
					}
				}
			}
		}
	}
	return rows
}

// onOpenStack are rows of the night on OpenStack.
var onOpenStack = []partitions.Row{
	{ID: "oall", Machines: on{cloud: 2}, Site: cloud, Share: 60, Back: partitions.BackLater, Expect: partitions.ExpectKept},
	{ID: "odown", Machines: on{cloud: 2}, Site: cloud, APIDown: true, Share: 60, Restart: partitions.RestartMCM, Reconcile: true,
		Back: partitions.BackLater, Expect: partitions.ExpectKept},
	{ID: "odead", Machines: on{cloud: 3}, Site: cloud, Dead: true, Share: 60, Back: partitions.BackLater,
		Expect: partitions.ExpectDeadReplaced},
	{ID: "obegun", Machines: on{cloud: 3}, Site: cloud, Begun: true, APIDown: true, Share: 60, Back: partitions.BackLater,
		Expect: partitions.ExpectDeletionWaits},
	{ID: "ooff", Machines: on{cloud: 2}, Site: cloud, Share: 0, Back: partitions.BackNever, Expect: partitions.ExpectMCM},
	{ID: "oexpire", Machines: on{cloud: 2}, Site: cloud, Share: 60, Back: partitions.BackAfterMaximum, Expect: partitions.ExpectExpired},
	{ID: "oevery", Machines: on{cloud: 1, vc: 1}, APIDown: true, Share: 60, Restart: partitions.RestartExtension,
		Back: partitions.BackNever, Expect: partitions.ExpectKept},
}

// start starts a lab that ends with the container.
func start(ctx SpecContext, rows []partitions.Row) {
	GinkgoHelper()
	options := partitions.Options{Dir: GinkgoT().TempDir(), Binaries: binaries, Progress: GinkgoWriter, Grace: timing.Grace}
	if slices.ContainsFunc(rows, func(r partitions.Row) bool { return r.Machines[cloud] > 0 }) {
		options.Bed = specs.OpenStack(ctx)
	}
	var err error
	lab, err = partitions.Start(ctx, options)
	DeferCleanup(func() { Expect(lab.Stop()).To(Succeed()) })
	Expect(err).NotTo(HaveOccurred())
}

// partitionSpecs let rows happen at the same time, and then there is a spec for each of them.
func partitionSpecs(rows ...partitions.Row) {
	var of map[string]partitions.Outcome

	BeforeAll(func(ctx SpecContext) {
		start(ctx, rows)
		var err error
		of, err = lab.Run(ctx, timing, rows...)
		Expect(err).NotTo(HaveOccurred())
		for _, row := range rows {
			outcomes = append(outcomes, of[row.ID])
		}
	}, NodeTimeout(35*time.Minute))

	for _, row := range rows {
		It(fmt.Sprintf("should show that %s: %s", row.Expect, row.Text()), func() {
			out := of[row.ID]
			AddReportEntry("outcome", fmt.Sprintf("%+v", out), ReportEntryVisibilityFailureOrVerbose)
			expectOutcome(out)
		})
	}
}

func expectOutcome(out partitions.Outcome) {
	GinkgoHelper()
	Expect(out.Problems).To(BeEmpty())
	if out.Row.Expect == partitions.ExpectMCM {
		Expect(out.Quarantined).To(BeZero(), "there is no quarantine")
		Expect(out.Gone).NotTo(BeEmpty(), "machine-controller-manager replaces machines")
		Expect(out.Before.Requests).To(BeNumerically(">", 0), "the API of the site is asked to")
		Expect(out.Before.Pods).To(And(BeNumerically(">", 0), BeNumerically("<=", len(out.Gone))), "one drain may have just begun")
		return
	}

	Expect(out.Quarantined).To(And(BeNumerically(">", 0), BeNumerically("<", timing.Grace+timing.Health)))
	Expect(out.Before).To(Equal(partitions.Losses{}), "nothing is lost under quarantine")
	switch out.Row.Expect {
	case partitions.ExpectKept:
		Expect(out.After).To(Equal(partitions.Losses{}))
		if out.Row.Back == partitions.BackLater {
			Expect(out.Reason).To(Equal("QuarantineRecovered"))
		} else {
			Expect(out.Ended).To(BeZero())
		}
	case partitions.ExpectDeletionWaits:
		Expect(out.Reason).To(Equal("QuarantineRecovered"))
		Expect(out.After.Servers).To(Equal(1), "the deletion goes on after the end")
		Expect(out.Gone).To(Or(BeEmpty(), HaveExactElements(out.Dead)), "machine-controller-manager may not be done with the machine")
	case partitions.ExpectDeadReplaced:
		Expect(out.Reason).To(Equal("QuarantineRecovered"))
		Expect(out.Gone).To(HaveExactElements(out.Dead))
		Expect(out.After.Servers).To(Equal(1))
		Expect(out.Replaced).To(BeNumerically("<", timing.Health))
	case partitions.ExpectExpired:
		Expect(out.Reason).To(Equal("QuarantineExpired"))
		Expect(out.Ended - out.Quarantined).To(BeNumerically("~", timing.Maximum, 5*time.Second))
		Expect(out.Gone).NotTo(BeEmpty(), "machine-controller-manager replaces machines again")
	}
}

// chosen are the rows whose IDs match the regular expression in $PARTITIONS_ROWS.
func chosen(rows []partitions.Row) []partitions.Row {
	pattern := regexp.MustCompile(os.Getenv(rowsVariable))
	return slices.DeleteFunc(slices.Clone(rows), func(r partitions.Row) bool { return !pattern.MatchString(r.ID) })
}

var _ = Describe("Sites that are cut off", Ordered, ContinueOnFailure, func() { partitionSpecs(chosen(representative)...) })

var _ = suite.Nightly("Sites that are cut off in all ways", func() {
	for rows := range slices.Chunk(chosen(all()), together) {
		Context("from "+rows[0].ID+" on", Ordered, ContinueOnFailure, func() { partitionSpecs(rows...) })
	}
	Context("on OpenStack", Ordered, ContinueOnFailure, func() { partitionSpecs(chosen(onOpenStack)...) })
})
