// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
)

const (
	deletions = 3
	// volumeType and volumeSize are those of the root volumes.
	volumeType = "fake-ssd"
	volumeSize = 1
	// quantityWall is how long a call took, in seconds.
	quantityWall = "wall"
)

// measureMachineDelete deletes machines with a port and a root volume, one after the other: then nobody shares a request with
// another machine, and each counts.
func measureMachineDelete(ctx context.Context, b *Bed) (Measurement, error) {
	if err := b.prepare(ctx); err != nil {
		return Measurement{}, err
	}
	spec, err := b.machineSpec(ctx, func(request *platform.MachineClassRequest) {
		request.VolumeType = &v1alpha1.SiteVolumeType{Name: siteName, OpenStack: &v1alpha1.OpenStackVolumeType{Type: volumeType}}
		request.VolumeSize = volumeSize
	})
	if err != nil {
		return Measurement{}, err
	}

	var requests []platform.MachineRequest
	for i := range deletions {
		request := b.machineRequest(fmt.Sprintf("delete-%d", i+1), spec)
		created, err := b.machines.Create(ctx, request)
		if err != nil {
			return Measurement{}, err
		}
		request.ProviderID = created.ProviderID
		requests = append(requests, request)
	}
	for _, request := range requests {
		err := wait.PollUntilContextTimeout(ctx, statusInterval, bootTimeout, false, func(ctx context.Context) (bool, error) {
			return b.active(ctx, request.Name)
		})
		if err != nil {
			return Measurement{}, err
		}
	}

	m := Measurement{Note: fmt.Sprintf(
		"warm session; worst of %d machines with port and root volume, one after the other, shared polls counted", deletions)}
	var (
		walls []string
		looks int
	)
	for _, request := range requests {
		// As when machine-controller-manager deletes a machine, it was looked at before.
		look, err := b.observe(ctx, request.Name, func(ctx context.Context) error {
			_, err := b.machines.Get(ctx, request)
			return err
		})
		if err != nil {
			return Measurement{}, err
		}
		looks = max(looks, len(look))
		var wall time.Duration
		records, err := b.observe(ctx, request.Name, func(ctx context.Context) error {
			start := time.Now()
			defer func() { wall = time.Since(start) }()
			return b.machines.Delete(ctx, request)
		})
		if err != nil {
			return Measurement{}, err
		}
		m.Records = append(append(m.Records, records...), sample(request.Name, quantityWall, wall.Seconds()))
		walls = append(walls, fmt.Sprintf("%.2f s", wall.Seconds()))
	}
	m.Note += fmt.Sprintf("; not counted: the look at the machine before, at most %d requests; calls took %s", looks,
		strings.Join(walls, ", "))
	return m, nil
}
