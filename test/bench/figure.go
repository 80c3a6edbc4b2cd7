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
	// Peer is what other providers need for the same job; zero if there is no such number.
	Peer float64
	// PeerNote says more about the peer's number.
	PeerNote string
	// Measure does the job and returns the requests that it took and the samples.
	Measure measure
	// Count computes the value from the records.
	Count Count
}

// measure does a job.
type measure func(context.Context, *Bed) (Measurement, error)

// shared returns what the first call measured, for figures that are counted from the same job.
func shared(do measure) measure {
	return func(ctx context.Context, b *Bed) (Measurement, error) {
		key := reflect.ValueOf(do).Pointer()
		if m, ok := b.measured[key]; ok {
			return m, nil
		}
		m, err := do(ctx, b)
		if err == nil {
			b.measured[key] = m
		}
		return m, err
	}
}

// Measurement is what a figure was measured from.
type Measurement struct {
	// Records are the requests and the samples.
	Records []Record
	// Note says what a reader should know beside the value.
	Note string
}

// figures are all figures. To add one, add an entry.
var figures = []Figure{
	{
		ID: "openstack-infra-noop-requests", Unit: "requests", Target: new(7.0), Peer: 13,
		Measure: measureNoop, Count: maxPerRun(requests),
	},
	{
		ID: "openstack-infra-noop-roundtrips", Unit: "serial round trips", Target: new(2.0), Peer: 9,
		Measure: measureNoopRoundTrips, Count: maxPerRun(roundTrips),
	},
	{
		ID: "openstack-infra-noop-wall-ratio", Unit: "x floor", Target: new(1.3),
		Measure: measureNoopWall, Count: floorRatio,
	},
	{
		ID: "openstack-machine-create-requests", Unit: "requests per machine", Target: new(4.0), Peer: 10,
		PeerNote: "the peer needs one more for each 10 s of boot",
		Measure:  measureMachineCreate, Count: requestsPerMachine,
	},
	{
		ID: "openstack-machine-delete-requests", Unit: "requests per machine", Target: new(4.0), Peer: 10,
		Measure: shared(measureMachineDelete), Count: maxPerRun(requests),
	},
	{
		ID: "openstack-machine-delete-wall-s", Unit: "s", Target: new(1.0), Peer: 10,
		Measure: shared(measureMachineDelete), Count: middle(quantityWall),
	},
	{
		ID: "openstack-create-to-running-overhead-s", Unit: "s", Target: new(2.0), Peer: 9,
		Measure: measureOverhead, Count: worst(quantityOverhead),
	},
	{
		ID: "openstack-faults-servers-lost", Unit: "servers", Target: new(0.0), PeerNote: "the peer loses every server that meets one",
		Measure: shared(measureFaults), Count: lostServers,
	},
	{
		ID: "openstack-faults-early-requests", Unit: "requests before Retry-After is over", Target: new(0.0),
		Measure: shared(measureFaults), Count: earlyRequests,
	},
	{
		ID: "openstack-faults-delay-s", Unit: "s", Target: new(10.0), Peer: 180,
		Measure: measureFaultDelay, Count: faultDelay,
	},
	{
		ID: "openstack-orphan-pass-requests", Unit: "requests", Target: new(3.0), Peer: 72,
		Measure: shared(measureOrphans), Count: maxPerRun(requests),
	},
	{
		ID: "openstack-orphan-pass-cpu-ms", Unit: "ms", Target: new(100.0), Peer: 13000,
		Measure: shared(measureOrphans), Count: worst(quantityCPU),
	},
	{
		ID: "openstack-orphan-pass-bytes", Unit: "MB", Target: new(0.5), Peer: 67,
		Measure: shared(measureOrphans), Count: maxPerRun(megabytes),
	},
	{
		ID: "openstack-sockets-after-500-calls", Unit: "connections", Target: new(8.0), Peer: 1000,
		Measure: measureSockets, Count: worst(quantityConnections),
	},
	{
		ID: "driver-rss-mib-300-machines", Unit: "MiB",
		Measure: measureDriverMemory, Count: worst(quantityMemory),
	},
	{
		ID: "hybrid-250-shoots-noop-logins", Unit: "logins", Target: new(5.0), Peer: 500,
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
		Measure: measureAdmission, Count: latency(reviewedPart),
	},
	{
		ID: "vsphere-machine-create-requests", Unit: "requests", Target: new(15.0), Peer: 52,
		Measure: measureVSphereCreate, Count: maxPerRun(requests),
	},
	{
		ID: "vsphere-get-requests", Unit: "requests", Target: new(2.0), Peer: 8,
		Measure: measureVSphereGet, Count: maxPerRun(requests),
	},
	{
		ID: "vsphere-machine-delete-requests", Unit: "requests", Target: new(6.0), Peer: 20,
		Measure: measureVSphereDelete, Count: maxPerRun(requests),
	},
	{
		ID: "vsphere-list-requests-100", Unit: "requests", Target: new(6.0), Peer: 109,
		Measure: measureVSphereList(100), Count: maxPerRun(requests),
	},
	{
		ID: "vsphere-list-requests-1000", Unit: "requests", Target: new(7.0), Peer: 1009,
		Measure: measureVSphereList(1000), Count: maxPerRun(requests),
	},
	{
		ID: "vsphere-list-requests-5000", Unit: "requests", Target: new(11.0), Peer: 5009,
		Measure: measureVSphereList(5000), Count: maxPerRun(requests),
	},
	{
		ID: "vsphere-sockets-after-500-calls", Unit: "connections", Target: new(8.0), Peer: 1000,
		Measure: measureVSphereSockets, Count: worst(quantityConnections),
	},
	{
		ID: "vsphere-300-to-running-ratio", Unit: "x floor", Target: new(1.5),
		Measure: measureVSphereWave, Count: overFloor,
	},
	{
		ID: "vsphere-logins-per-300-creates", Unit: "logins", Target: new(2.0), Peer: 300,
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
		ID: "hybrid-90-to-running-ratio", Unit: "x slowest site alone", Target: new(1.1),
		Measure: measureHybridWave, Count: overSlowest,
	},
	{
		ID: "hybrid-cloud-beside-slow-metal-ratio", Unit: "x cloud alone", Target: new(1.1),
		Measure: measureCloudBesideMetal, Count: overAlone,
	},
	{
		ID: "ccm-rss-mib", Unit: "MiB", Peer: 133, PeerNote: "the peer has a process for each of two platforms",
		Measure: shared(measureCloudControllers), Count: worst(quantityMemory),
	},
	{
		ID: "ccm-binary-mib", Unit: "MiB",
		Measure: measureBinary, Count: worst(quantitySize),
	},
	{
		ID: "ccm-init-seconds-one-site-hanging", Unit: "s", Target: new(1.0), Peer: 25, PeerNote: "the peer has one queue for all sites",
		Measure: shared(measureCloudControllers), Count: worstNode,
	},
	{
		ID: "shoot-memory-requests-mi", Unit: "MiB", Target: new(536.0), Peer: 704, PeerNote: "the peer's number is that of the seed alone",
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
		ID: "dns-designate-noop-requests", Unit: "requests", Target: new(1.0),
		Measure: measureDesignateNoop, Count: maxPerRun(requests),
	},
	{
		ID: "dns-rfc2136-noop-queries", Unit: "messages", Target: new(1.0),
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
