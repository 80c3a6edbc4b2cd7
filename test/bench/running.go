// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"time"

	"github.com/gardener/gardener-extension-provider-hybrid/test/kubelets"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/openstack"
)

const (
	waveSize    = 4
	waveTimeout = 6 * time.Minute

	// quantityOverhead is the time from an active server to a running machine, in seconds.
	quantityOverhead = "overhead"
)

// lookout looks at the servers of the shoot all the time, past the proxy.
type lookout struct {
	inspector *openstack.Client
	prefix    string

	mutex   sync.Mutex
	servers map[string]openstack.Server
	// building has when each server was last seen not to be active, by name.
	building map[string]time.Time
	err      error
}

func (l *lookout) run(ctx context.Context) {
	for sleep(ctx, look) == nil {
		asked := time.Now()
		servers, err := l.inspector.Servers(ctx, l.prefix)
		l.mutex.Lock()
		l.err = err
		if err == nil {
			l.servers = servers
		}
		for _, s := range servers {
			if s.Status != "ACTIVE" {
				l.building[s.Name] = asked
			}
		}
		l.mutex.Unlock()
	}
}

// active is what the kubelets see.
func (l *lookout) active(context.Context) (map[string]kubelets.Server, error) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	result := map[string]kubelets.Server{}
	for id, s := range l.servers {
		if s.Status == "ACTIVE" {
			result[id] = kubelets.Server{Addresses: s.NodeAddresses()}
		}
	}
	return result, l.err
}

// machineLab is a lab with machine-controller-manager and the driver on the real OpenStack, without machines.
func (b *Bed) machineLab(ctx context.Context) (*lab, error) {
	if b.lab != nil {
		return b.lab, nil
	}
	if err := b.prepare(ctx); err != nil {
		return nil, err
	}
	var err error
	if b.lab, err = newLab(ctx, b.progress, b.shoot); err != nil {
		return nil, err
	}
	b.lookout = &lookout{inspector: b.inspector, prefix: b.shoot + "-", building: map[string]time.Time{}}
	b.lab.background(b.lookout.run)
	b.lab.playKubelets(b.lookout.active, look)
	if err := b.lab.deploy(ctx, b.cloud); err != nil {
		return nil, err
	}
	if err := b.lab.MCM.Start(); err != nil {
		return nil, err
	}
	return b.lab, b.lab.Driver.Start()
}

// measureOverhead creates machines side by side with machine-controller-manager and the driver. It takes a server for active
// from the last look on that did not see it so.
func measureOverhead(ctx context.Context, b *Bed) (Measurement, error) {
	l, err := b.machineLab(ctx)
	if err != nil {
		return Measurement{}, err
	}
	var running map[string]time.Time
	records, err := b.record(ctx, "create", func(ctx context.Context) (err error) {
		running, err = l.scale(ctx, waveSize, waveTimeout)
		return err
	})
	if err != nil {
		return Measurement{}, err
	}
	b.lookout.mutex.Lock()
	building := maps.Clone(b.lookout.building)
	b.lookout.mutex.Unlock()
	for name, at := range running {
		since, ok := building[name]
		if !ok {
			return Measurement{}, fmt.Errorf("the server of machine %s was active before it was looked at", name)
		}
		records = append(records, sample(name, quantityOverhead, at.Sub(since).Seconds()))
	}
	_, err = l.scale(ctx, 0, waveTimeout)
	return Measurement{
		Records: records,
		Note: fmt.Sprintf("worst of %d machines side by side, from the last look that saw the server not active until the machine is seen "+
			"running, with machine-controller-manager, driver and kube-apiserver; looks every %s; the node registers at the first look after the "+
			"server is active",
			waveSize, look),
	}, err
}
