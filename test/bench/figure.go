// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"path"
	"reflect"
	"strings"
)

// Figure is something that is measured.
type Figure struct {
	// ID names the figure.
	ID string
	// Unit is what the value counts.
	Unit string
	// Target is the highest value that is accepted; nil if the value is only reported.
	Target *float64
	// Floor is the lowest value that the APIs permit; zero if nobody counted it.
	Floor float64
	// Peer is what another provider needs for the same job; nil if there is no such number.
	Peer *Peer
	// Measure does the job and returns the requests that it took and the samples.
	Measure measure
	// Count computes the value from the records.
	Count Count
}

// measure does a job.
type measure func(context.Context, *Bed) (Measurement, error)

// shared returns what the first call returned, also if it failed, for figures that are counted from the same job.
func shared(do measure) measure {
	return func(ctx context.Context, b *Bed) (Measurement, error) {
		key := reflect.ValueOf(do).Pointer()
		if o, ok := b.measured[key]; ok {
			return o.measurement, o.err
		}
		m, err := do(ctx, b)
		b.measured[key] = outcome{measurement: m, err: err}
		return m, err
	}
}

// outcome is what a measure returned.
type outcome struct {
	measurement Measurement
	err         error
}

// Measurement is what a figure was measured from.
type Measurement struct {
	// Records are the requests and the samples.
	Records []Record
	// Peer is what the peer needed for the same job in the same run; nil if no peer can be run.
	Peer *PeerRun
	// Note says what a reader should know beside the value.
	Note string
}

// figures are all figures. To add one, add an entry.
var figures = []Figure{
	{
		ID: "openstack-infra-noop-requests", Unit: "requests", Target: new(7.0), Floor: 6,
		Peer:    &Peer{Value: 13, Source: sourceRecorded, Of: peerExtension},
		Measure: measureNoop, Count: maxPerRun(requests),
	},
	{
		ID: "openstack-infra-noop-roundtrips", Unit: "serial round trips", Target: new(2.0), Floor: 1,
		Peer:    &Peer{Value: 9, Source: sourceRecorded, Of: peerExtension},
		Measure: measureNoopRoundTrips, Count: maxPerRun(roundTrips),
	},
	{
		ID: "openstack-infra-noop-parallel-ratio", Unit: "x its reads at once", Target: new(1.3),
		Measure: measureNoopWall, Count: floorRatio,
	},
	{
		ID: "openstack-machine-create-requests", Unit: "requests per machine", Target: new(4.0), Floor: 3,
		Peer:    &Peer{Value: 10, Source: sourceRecorded, Of: peerOpenStack, Note: "with the peer's own polls, one more for each 10 s of boot"},
		Measure: shared(measureMachineCreate), Count: requestsPerMachine,
	},
	{
		ID: "openstack-machine-create-lists", Unit: "lists of servers per machine",
		Measure: shared(measureMachineCreate), Count: pollsPerMachine,
	},
	{
		ID: "openstack-machine-delete-requests", Unit: "requests per machine", Target: new(4.0), Floor: 2,
		Peer:    &Peer{Value: 10, Source: sourceRecorded, Of: peerOpenStack},
		Measure: shared(measureMachineDelete), Count: maxPerRun(requests),
	},
	{
		ID: "openstack-machine-delete-wall-s", Unit: "s", Target: new(1.0),
		Peer:    &Peer{Value: 10, Source: sourceRecorded, Of: peerOpenStack},
		Measure: shared(measureMachineDelete), Count: middle(quantityWall),
	},
	{
		ID: "openstack-create-to-running-overhead-s", Unit: "s", Target: new(2.0),
		Peer:    &Peer{Value: 9, Source: sourceComputed, Of: peerOpenStack, Note: "time of the call less that until the server was active"},
		Measure: measureOverhead, Count: worst(quantityOverhead),
	},
	{
		ID: "openstack-faults-servers-lost", Unit: "servers", Target: new(0.0),
		Measure: shared(measureFaults), Count: lostServers,
	},
	{
		ID: "openstack-faults-early-requests", Unit: "requests before Retry-After is over", Target: new(0.0),
		Measure: shared(measureFaults), Count: earlyRequests,
	},
	{
		ID: "openstack-faults-delay-s", Unit: "s", Target: new(10.0),
		Peer:    &Peer{Value: 180, Source: sourceRead, Of: peerRetry},
		Measure: measureFaultDelay, Count: faultDelay,
	},
	{
		ID: "openstack-orphan-pass-requests", Unit: "requests", Target: new(3.0), Floor: 1,
		Peer:    &Peer{Value: 72, Source: sourceComputed, Of: peerOpenStack, Note: "9 lists of 8 requests"},
		Measure: shared(measureOrphans), Count: maxPerRun(requests),
	},
	{
		ID: "openstack-orphan-pass-cpu-ms", Unit: "ms", Target: new(100.0),
		Peer:    &Peer{Value: 13000, Source: sourceComputed, Of: peerOpenStack, Note: "9 times one list"},
		Measure: shared(measureOrphans), Count: worst(quantityCPU),
	},
	{
		ID: "openstack-orphan-pass-bytes", Unit: "MB", Target: new(0.5),
		Peer:    &Peer{Value: 67, Source: sourceComputed, Of: peerOpenStack, Note: "9 times one list"},
		Measure: shared(measureOrphans), Count: maxPerRun(megabytes),
	},
	{
		ID: "openstack-sockets-after-500-calls", Unit: "connections", Target: new(8.0),
		Peer:    &Peer{Value: 1000, Source: sourceComputed, Of: peerOpenStack, Note: "500 times the 2 that each of 50 lists left"},
		Measure: measureSockets, Count: worst(quantityConnections),
	},
	{
		ID: "driver-rss-mib-300-machines", Unit: "MiB",
		Measure: measureDriverMemory, Count: worst(quantityMemory),
	},
	{
		ID: "hybrid-250-shoots-noop-logins", Unit: "logins", Target: new(5.0), Floor: 5,
		Peer:    &Peer{Value: 500, Source: sourceComputed, Of: peerExtension, Note: "250 times the 2 of one reconciliation"},
		Measure: shared(measureManyShoots), Count: logins,
	},
	{
		ID: "extension-rss-mib", Unit: "MiB",
		Measure: shared(measureManyShoots), Count: worst(quantityMemory),
	},
	{
		ID: "webhook-p99-ms-200rps", Unit: "ms", Target: new(50.0),
		Measure: measureWebhooks, Count: latency(reviewedPart),
	},
	{
		ID: "admission-p99-ms", Unit: "ms", Target: new(20.0),
		Measure: measureAdmission, Count: worstPath(latency(reviewedPart)),
	},
	{
		ID: "vsphere-machine-create-requests", Unit: "requests", Target: new(15.0),
		Peer:    &Peer{Value: 75, Source: sourceRecorded, Of: peerVSphere},
		Measure: measureVSphereCreate, Count: maxPerRun(requests),
	},
	{
		ID: "vsphere-get-requests", Unit: "requests", Target: new(2.0),
		Peer:    &Peer{Value: 8, Source: sourceRecorded, Of: peerVSphere},
		Measure: measureVSphereGet, Count: maxPerRun(requests),
	},
	{
		ID: "vsphere-machine-delete-requests", Unit: "requests", Target: new(6.0),
		Peer:    &Peer{Value: 20, Source: sourceRecorded, Of: peerVSphere},
		Measure: measureVSphereDelete, Count: maxPerRun(requests),
	},
	{
		ID: "vsphere-list-requests-100", Unit: "requests", Target: new(6.0),
		Peer:    &Peer{Value: 112, Source: sourceRecorded, Of: peerVSphere},
		Measure: measureVSphereList(100), Count: maxPerRun(requests),
	},
	{
		ID: "vsphere-list-requests-1000", Unit: "requests", Target: new(7.0),
		Peer:    &Peer{Value: 1012, Source: sourceRecorded, Of: peerVSphere},
		Measure: measureVSphereList(1000), Count: maxPerRun(requests),
	},
	{
		ID: "vsphere-list-requests-5000", Unit: "requests", Target: new(11.0),
		Peer:    &Peer{Value: 5012, Source: sourceComputed, Of: peerVSphere, Note: "one request for each machine and 12"},
		Measure: measureVSphereList(5000), Count: maxPerRun(requests),
	},
	{
		ID: "vsphere-sockets-after-500-calls", Unit: "connections", Target: new(8.0),
		Peer:    &Peer{Value: 0, Source: sourceRecorded, Of: peerVSphere},
		Measure: measureVSphereSockets, Count: worst(quantityConnections),
	},
	{
		ID: "vsphere-300-to-running-ratio", Unit: "x floor", Target: new(1.5),
		Measure: measureVSphereWave, Count: overFloor,
	},
	{
		ID: "vsphere-logins-per-300-creates", Unit: "logins", Target: new(2.0),
		Peer:    &Peer{Value: 600, Source: sourceRecorded, Of: peerVSphere},
		Measure: shared(measureVSphereLab), Count: logins,
	},
	{
		ID: "vsphere-driver-rss-mib-300-machines", Unit: "MiB",
		Measure: shared(measureVSphereLab), Count: worst(quantityMemory),
	},
	{
		ID: "metal-requests-per-claim", Unit: "requests per machine", Target: new(6.0),
		Measure: shared(measureMetalLab), Count: requestsPerClaim,
	},
	{
		ID: "metal-requests-per-idle-minute", Unit: "requests per minute", Target: new(1.0),
		Measure: shared(measureMetalLab), Count: requestsPerMinute,
	},
	{
		ID: "metal-exhausted-seconds", Unit: "s", Target: new(2.0),
		Measure: shared(measureMetalLab), Count: worst(quantityExhausted),
	},
	{
		ID: "metal-rss-mib-1000-hosts", Unit: "MiB", Target: new(100.0),
		Measure: measureMetalMemory, Count: worst(quantityMemory),
	},
	{
		ID: "hybrid-90-to-running-ratio", Unit: "x same site alone",
		Measure: shared(measureHybridWave), Count: overWorstSite,
	},
	{
		ID: "hybrid-90-slowest-site-ratio", Unit: "x slowest site alone", Target: new(1.1),
		Measure: shared(measureHybridWave), Count: overSlowest,
	},
	{
		ID: "hybrid-cloud-beside-slow-metal-ratio", Unit: "x cloud alone", Target: new(1.1),
		Measure: measureCloudBesideMetal, Count: overAlone,
	},
	{
		ID: "ccm-rss-mib", Unit: "MiB",
		Peer:    &Peer{Value: 133, Source: sourceRecorded, Of: peerProcesses},
		Measure: shared(measureCloudControllers), Count: worst(quantityMemory),
	},
	{
		ID: "ccm-binary-mib", Unit: "MiB",
		Measure: measureBinary, Count: worst(quantitySize),
	},
	{
		ID: "ccm-init-seconds-one-site-hanging", Unit: "s", Target: new(1.0),
		Peer:    &Peer{Value: 25, Source: sourceRecorded, Of: peerQueue},
		Measure: shared(measureCloudControllers), Count: worstNode,
	},
	{
		ID: "shoot-memory-requests-mi", Unit: "MiB", Target: new(536.0),
		Peer:    &Peer{Value: 704, Source: sourceComputed, Of: peerCharts, Note: "the seed alone"},
		Measure: measureMemoryRequests, Count: memoryRequests,
	},
	{
		ID: "site-fault-to-condition-seconds", Unit: "s", Target: new(60.0),
		Measure: shared(measureSiteFaults), Count: worst(quantityTold),
	},
	{
		ID: "site-fault-recovery-seconds", Unit: "s", Target: new(60.0),
		Measure: shared(measureSiteFaults), Count: worst(quantityWell),
	},
	{
		ID: "site-cut-off-machines-lost", Unit: "machines", Target: new(0.0),
		Peer:    &Peer{Value: 1, Source: sourceRead, Of: peerMCM, Note: "for each pool, and the next when its replacement has joined"},
		Measure: shared(measureCutOff), Count: worst(quantityLost),
	},
	{
		ID: "site-cut-off-to-quarantine-seconds", Unit: "s", Target: new(60.0),
		Measure: shared(measureCutOff), Count: worst(quantityQuarantined),
	},
	{
		ID: "site-down-to-next-site-seconds", Unit: "s", Target: new(180.0),
		Peer:    &Peer{Value: 1200, Source: sourceRead, Of: peerCreation, Note: "Gardener's creation timeout of machines"},
		Measure: measureNextSite, Count: worst(quantityNextSite),
	},
	{
		ID: "site-cut-off-others-scale-up-ratio", Unit: "x undisturbed", Target: new(1.1),
		Measure: measureCutOffOthers, Count: overAlone,
	},
	{
		ID: "dns-designate-noop-requests", Unit: "requests", Target: new(1.0), Floor: 1,
		Measure: measureDesignateNoop, Count: maxPerRun(requests),
	},
	{
		ID: "dns-rfc2136-noop-queries", Unit: "messages", Target: new(1.0), Floor: 1,
		Measure: measureUpdateNoop, Count: maxPerRun(requests),
	},
	{
		ID: "dns-records-per-second", Unit: "records/s",
		Measure: measureRecordRate, Count: worst(quantityRecords),
	},
	{
		ID: "garden-shoot-create-seconds", Unit: "s",
		Measure: measureGarden, Count: worst(quantityCreated),
	},
}

// selectFigures returns the figures whose ID matches the pattern, or all figures if it is empty.
func selectFigures(pattern string) ([]Figure, error) {
	if pattern == "" {
		return figures, nil
	}
	var (
		selected []Figure
		ids      []string
	)
	for _, figure := range figures {
		matches, err := path.Match(pattern, figure.ID)
		if err != nil {
			return nil, fmt.Errorf("%q: %w", pattern, err)
		}
		if matches {
			selected = append(selected, figure)
		}
		ids = append(ids, figure.ID)
	}
	if len(selected) == 0 {
		return nil, fmt.Errorf("there is no figure %q; there are: %s", pattern, strings.Join(ids, ", "))
	}
	return selected, nil
}
