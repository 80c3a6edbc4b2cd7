// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
)

const (
	machineCount   = 4
	bootTimeout    = 3 * time.Minute
	statusInterval = 2 * time.Second
)

// measureMachineCreate creates machines side by side, as machine-controller-manager does: it asks for the machine, creates
// it, and here asks for it again until its server is active.
func measureMachineCreate(ctx context.Context, b *Bed) (Measurement, error) {
	if err := b.prepare(ctx); err != nil {
		return Measurement{}, err
	}
	requests, err := b.machineRequests(ctx)
	if err != nil {
		return Measurement{}, err
	}
	if _, err := b.machines.List(ctx, requests[0]); err != nil {
		return Measurement{}, err
	}

	records, err := b.observe(ctx, "create", func(ctx context.Context) error {
		var (
			group sync.WaitGroup
			errs  = make([]error, len(requests))
		)
		for i, request := range requests {
			group.Go(func() { errs[i] = b.createMachine(ctx, request) })
		}
		group.Wait()
		return errors.Join(errs...)
	})
	if err != nil {
		return Measurement{}, err
	}

	polls, _ := pollsAndServers(records)
	return Measurement{
		Records: records,
		Note: fmt.Sprintf(
			"warm session; %d machines side by side until active: %d requests for single machines, %d lists of servers for all of them",
			machineCount, len(records)-polls, polls),
	}, nil
}

func (b *Bed) createMachine(ctx context.Context, request platform.MachineRequest) error {
	_, err := b.machines.Get(ctx, request)
	if err == nil {
		return fmt.Errorf("machine %s exists before it is created", request.Name)
	}
	if platform.ClassOf(err) != platform.ClassNotFound {
		return err
	}
	machine, err := b.machines.Create(ctx, request)
	if err != nil {
		return err
	}
	request.ProviderID = machine.ProviderID
	return wait.PollUntilContextTimeout(ctx, statusInterval, bootTimeout, false, func(ctx context.Context) (bool, error) {
		if _, err := b.machines.Get(ctx, request); err != nil {
			return false, err
		}
		return b.active(ctx, request.Name)
	})
}

// active reports whether the server is active, without asking the product.
func (b *Bed) active(ctx context.Context, name string) (bool, error) {
	servers, err := b.inspector.Servers(ctx, name)
	if err != nil {
		return false, err
	}
	for _, server := range servers {
		if server.Status == "ACTIVE" {
			return true, nil
		}
	}
	return false, nil
}

// machineRequests describe new machines on the site.
func (b *Bed) machineRequests(ctx context.Context) ([]platform.MachineRequest, error) {
	spec, err := b.machineSpec(ctx, nil)
	if err != nil {
		return nil, err
	}
	requests := make([]platform.MachineRequest, 0, machineCount)
	for i := range machineCount {
		requests = append(requests, b.machineRequest(fmt.Sprintf("bench-%d", i+1), spec))
	}
	return requests, nil
}

func (b *Bed) machineRequest(name string, spec *v1alpha1.MachineProviderSpec) platform.MachineRequest {
	return platform.MachineRequest{
		Name:        b.shoot + "-" + name,
		Spec:        spec,
		Credentials: b.site.Credentials,
		UserData:    []byte("#cloud-config\n"),
	}
}
