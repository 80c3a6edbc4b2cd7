// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"time"

	machinev1alpha1 "github.com/gardener/machine-controller-manager/pkg/apis/machine/v1alpha1"
	"github.com/gardener/machine-controller-manager/pkg/util/provider/machinecodes/codes"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/metal"
)

const (
	metalHosts   = 30
	metalTimeout = 5 * time.Minute
	// idleTime is how long nothing happens. The driver looks for orphans every minute here.
	idleTime = 3 * time.Minute
	// exhaustions is how often a machine is created that finds no free host.
	exhaustions      = 5
	exhaustedTimeout = time.Minute

	// The runs of the lab.
	runClaim = "claim"
	runIdle  = "idle"

	// quantityMinutes is how long something took, in minutes.
	quantityMinutes = "minutes"
	// quantityExhausted is how long it took until a machine said that there is no free host, in seconds.
	quantityExhausted = "exhausted"
)

// newMetalLab starts a seed with machine-controller-manager and the driver on a bare-metal site with hosts, without machines. hosts
// makes the hosts.
func newMetalLab(ctx context.Context, b *Bed, hosts func(context.Context, *metalSite) error) (*metalSite, *lab, error) {
	l, err := newLab(ctx, b.progress, metalShoot)
	if err != nil {
		return nil, nil, err
	}
	fmt.Fprintln(b.progress, "  start an inventory")
	s, err := newMetalSite(ctx, metalShoot)
	if err != nil {
		l.close()
		return nil, nil, err
	}
	err = hosts(ctx, s)
	if err == nil {
		err = l.deploySite(ctx, l.deploymentName(), s)
	}
	if err == nil {
		err = errors.Join(l.MCM.Start(), l.Driver.Start())
	}
	if err != nil {
		l.close()
		return nil, nil, errors.Join(err, s.close())
	}
	return s, l, nil
}

// deploySite creates a machine deployment without machines on the bare-metal site.
func (l *lab) deploySite(ctx context.Context, name string, s *metalSite) error {
	class, err := newMachineClass(l.namespace, name, s.spec)
	if err != nil {
		return err
	}
	return l.deployClass(ctx, newSecret(l.namespace, s.site), class)
}

// measureMetalLab creates machines with machine-controller-manager and the driver until all hosts are used, waits, and asks for more.
func measureMetalLab(ctx context.Context, b *Bed) (m Measurement, err error) {
	s, l, err := newMetalLab(ctx, b, func(ctx context.Context, s *metalSite) error { return s.makeHosts(ctx, metalHosts) })
	if err != nil {
		return m, err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	defer l.close()
	l.playKubelets(metal.NewWatch(s.inventory, l.namespace).Active, time.Second)

	fmt.Fprintf(b.progress, "  create %d machines\n", metalHosts)
	claims, err := s.record(ctx, runClaim, func(ctx context.Context) error {
		_, err := l.scale(ctx, metalHosts, metalTimeout)
		return err
	})
	if err != nil {
		return m, err
	}
	fmt.Fprintf(b.progress, "  wait %s\n", idleTime)
	idle, err := s.record(ctx, runIdle, func(ctx context.Context) error { return sleep(ctx, idleTime) })
	if err != nil {
		return m, err
	}
	m.Records = append(append(claims, idle...), sample(runIdle, quantityMinutes, idleTime.Minutes()))
	fmt.Fprintf(b.progress, "  create %d machines without hosts\n", exhaustions)
	for i := range exhaustions {
		took, err := l.exhaust(ctx, i+1)
		if err != nil {
			return m, err
		}
		m.Records = append(m.Records, sample(fmt.Sprintf("exhausted-%d", i+1), quantityExhausted, took.Seconds()))
	}
	if conflicts := s.inventory.Journal.Conflicts(); len(conflicts) > 0 {
		return m, fmt.Errorf("hosts were used twice: %s", strings.Join(conflicts, "; "))
	}
	m.Note = fmt.Sprintf("%s, machine-controller-manager and driver; %d machines side by side on as many hosts (%s); %.0f idle minutes "+
		"(%s); %d machines without hosts, one after the other",
		metalNote, metalHosts, calls(claims), idleTime.Minutes(), calls(idle), exhaustions)
	return m, nil
}

// exhaust asks for a machine more than there are hosts, or than was asked for before, and returns how long it takes until so many
// machines say that no host is free.
func (l *lab) exhaust(ctx context.Context, without int) (time.Duration, error) {
	start := time.Now()
	if err := l.resize(ctx, map[string]int{l.deploymentName(): metalHosts + without}); err != nil {
		return 0, err
	}
	err := wait.PollUntilContextTimeout(ctx, look, exhaustedTimeout, true, func(ctx context.Context) (bool, error) {
		machines := &machinev1alpha1.MachineList{}
		if err := l.Client.List(ctx, machines, client.InNamespace(l.namespace)); err != nil {
			return false, err
		}
		exhausted := 0
		for _, m := range machines.Items {
			if m.Status.LastOperation.ErrorCode == codes.ResourceExhausted.String() {
				exhausted++
			}
		}
		return exhausted == without, nil
	})
	if err != nil {
		return 0, fmt.Errorf("no further machine says that no host is free: %w", err)
	}
	return time.Since(start), nil
}

// resourcePattern finds the resource in the path of a request to a Kubernetes API.
var resourcePattern = regexp.MustCompile(`/namespaces/[^/]+/([a-z]+)`)

// calls counts the requests to a Kubernetes API by method and resource, as "30 PATCH baremetalhosts", or says that there are none.
func calls(records []Record) string {
	text := tally(records, func(r Record) string {
		resource := r.Path
		if found := resourcePattern.FindStringSubmatch(r.Path); found != nil {
			resource = found[1]
		}
		if strings.Contains(r.Path, "watch=true") {
			return "watch " + resource
		}
		return r.Method + " " + resource
	})
	return cmp.Or(text, "no requests")
}

// requestsPerClaim is the number of requests while machines were created for each host that was claimed.
func requestsPerClaim(records []Record) (float64, error) {
	_, byRun := runs(records)
	all, claimed := requestsOf(byRun[runClaim]), map[string]bool{}
	for _, r := range all {
		if r.Method == http.MethodPatch && strings.Contains(r.Path, "/baremetalhosts/") && r.Status == http.StatusOK {
			claimed[r.Path] = true
		}
	}
	if len(claimed) == 0 {
		return 0, errors.New("the log has no claimed host")
	}
	return float64(len(all)) / float64(len(claimed)), nil
}

// requestsPerMinute is the number of requests in each minute in which nothing happened.
func requestsPerMinute(records []Record) (float64, error) {
	minutes := samplesOf(records, quantityMinutes)
	if len(minutes) != 1 {
		return 0, fmt.Errorf("the log has %d idle times", len(minutes))
	}
	_, byRun := runs(records)
	return requests(requestsOf(byRun[runIdle])) / minutes[0], nil
}
