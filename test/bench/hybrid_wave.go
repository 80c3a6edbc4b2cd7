// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"
)

const (
	// siteMachines is how many machines each of the three sites has.
	siteMachines = 30
	// hostDelay is how long the operator of the hosts does nothing.
	hostDelay = 2 * time.Minute

	// cloudMachines is how many machines the cloud has beside the slow hosts.
	cloudMachines = 20
	slowHosts     = 50

	// The runs of a comparison with one site alone have these prefixes.
	alonePrefix    = "alone-"
	togetherPrefix = "together-"

	// quantityAsked is when OpenStack was asked for the last server, in seconds.
	quantityAsked = "asked"
)

// measureHybridWave creates machines on each site alone, and then on all sites at the same time.
func measureHybridWave(ctx context.Context, b *Bed) (m Measurement, err error) {
	h, err := newHybrid(ctx, b, siteMachines)
	if err != nil {
		return m, err
	}
	defer func() { err = errors.Join(err, h.close(ctx)) }()
	alone, all := wave{}, map[string]int{}
	for _, site := range []string{metalSiteName, siteName, vsphereSiteName} {
		w, err := h.slowly(ctx, map[string]int{site: siteMachines})
		if err != nil {
			return m, err
		}
		alone[site], all[site] = w[site], siteMachines
		m.Records = append(m.Records, sample(alonePrefix+site, quantityWall, w[site].Seconds()))
	}
	together, err := h.slowly(ctx, all)
	if err != nil {
		return m, err
	}
	for site, took := range together {
		m.Records = append(m.Records, sample(togetherPrefix+site, quantityWall, took.Seconds()))
	}
	m.Note = fmt.Sprintf("real Nova, simulated vCenter, %s; real machine-controller-manager and driver; %d machines on each site; the "+
		"operator of the hosts does nothing for %s; alone: %s; together: %s",
		metalNote, siteMachines, hostDelay, alone, together)
	return m, nil
}

// slowly creates machines while the operator of the hosts does nothing for some time, and deletes them.
func (h *hybrid) slowly(ctx context.Context, sizes map[string]int) (wave, error) {
	fmt.Fprintf(h.progress, "  create machines: %v\n", sizes)
	operator := h.metal.inventory.Metal3
	operator.Pause()
	defer operator.Resume()
	timer := time.AfterFunc(hostDelay, operator.Resume)
	defer timer.Stop()
	w, err := h.create(ctx, sizes, slices.Collect(maps.Keys(sizes))...)
	if err != nil {
		return nil, err
	}
	fmt.Fprintf(h.progress, "  running after: %s\n", w)
	return w, h.clear(ctx)
}

// measureCloudBesideMetal creates machines in the cloud, alone and beside hosts that do not get ready meanwhile. What comes first changes,
// so that it makes no difference.
func measureCloudBesideMetal(ctx context.Context, b *Bed) (m Measurement, err error) {
	h, err := newHybrid(ctx, b, slowHosts)
	if err != nil {
		return m, err
	}
	defer func() { err = errors.Join(err, h.close(ctx)) }()
	// The first machines find processes that know nothing yet.
	if _, err := h.inCloud(ctx, "first", 1, 1); err != nil {
		return m, err
	}
	var took []string
	for i, prefix := range []string{alonePrefix, togetherPrefix, togetherPrefix, alonePrefix} {
		hosts := 0
		if prefix == togetherPrefix {
			hosts = slowHosts
		}
		run := fmt.Sprintf("%s%d", prefix, i+1)
		records, err := h.inCloud(ctx, run, cloudMachines, hosts)
		if err != nil {
			return m, err
		}
		m.Records = append(m.Records, records...)
		took = append(took, fmt.Sprintf("%s %.1f s (%.1f s until OpenStack was asked for the last server)",
			run, walls(records, run)[0], samplesOf(records, quantityAsked)[0]))
	}
	m.Note = fmt.Sprintf("real Nova, %s; real machine-controller-manager and driver; %d machines in the cloud; together: beside %d hosts "+
		"whose operator does nothing until the cloud's machines are running; %s",
		metalNote, cloudMachines, slowHosts, strings.Join(took, ", "))
	return m, nil
}

// inCloud creates machines in the cloud beside hosts that do not get ready meanwhile, and deletes all of them. It returns the requests to
// OpenStack, how long the machines took until they were running, and when OpenStack was asked for the last of them.
func (h *hybrid) inCloud(ctx context.Context, run string, machines, hosts int) ([]Record, error) {
	operator := h.metal.inventory.Metal3
	operator.Pause()
	defer operator.Resume()
	var (
		start = time.Now()
		w     wave
	)
	records, err := h.cloud.record(ctx, run, func(ctx context.Context) (err error) {
		w, err = h.create(ctx, map[string]int{siteName: machines, metalSiteName: hosts}, siteName)
		return err
	})
	if err != nil {
		return nil, err
	}
	var asked time.Duration
	for _, r := range records {
		if r.Method == http.MethodPost && strings.HasSuffix(r.Path, "/servers") {
			asked = max(asked, r.Time.Sub(start))
		}
	}
	fmt.Fprintf(h.progress, "  %d machines beside %d hosts: %s\n", machines, hosts, w)
	operator.Resume()
	return append(records, sample(run, quantityWall, w.last().Seconds()), sample(run, quantityAsked, asked.Seconds())), h.clear(ctx)
}

// overAlone is the mean time of the runs together divided by that of the runs alone.
func overAlone(records []Record) (float64, error) {
	alone, together := walls(records, alonePrefix), walls(records, togetherPrefix)
	if len(alone) == 0 || len(alone) != len(together) {
		return 0, fmt.Errorf("the log has %d runs alone and %d together", len(alone), len(together))
	}
	return mean(together) / mean(alone), nil
}

// overSlowest is the time of the slowest site together with the others divided by that of the slowest site alone.
func overSlowest(records []Record) (float64, error) {
	alone, together := walls(records, alonePrefix), walls(records, togetherPrefix)
	if len(alone) == 0 || len(alone) != len(together) {
		return 0, fmt.Errorf("the log has %d sites alone and %d together", len(alone), len(together))
	}
	return slices.Max(together) / slices.Max(alone), nil
}

// overWorstSite is the time of a site together with the others divided by that of the same site alone, for the site where it is highest.
func overWorstSite(records []Record) (float64, error) {
	alone, together := wallsBySite(records, alonePrefix), wallsBySite(records, togetherPrefix)
	if len(alone) == 0 || len(alone) != len(together) {
		return 0, fmt.Errorf("the log has %d sites alone and %d together", len(alone), len(together))
	}
	worst := 0.0
	for site, took := range alone {
		if together[site] == 0 {
			return 0, fmt.Errorf("the log has site %s alone only", site)
		}
		worst = max(worst, together[site]/took)
	}
	return worst, nil
}

// wallsBySite are the times of the runs whose names begin with prefix, by the site that follows it.
func wallsBySite(records []Record, prefix string) map[string]float64 {
	bySite := map[string]float64{}
	for _, record := range records {
		if site, ok := strings.CutPrefix(record.Run, prefix); ok && record.Service == quantityWall {
			bySite[site] = record.Value
		}
	}
	return bySite
}

// walls are the times of the runs whose names begin with prefix.
func walls(records []Record, prefix string) []float64 {
	ofRuns := slices.DeleteFunc(slices.Clone(records), func(r Record) bool { return !strings.HasPrefix(r.Run, prefix) })
	return samplesOf(ofRuns, quantityWall)
}
