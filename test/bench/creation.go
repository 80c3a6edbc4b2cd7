// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"

	machinev1alpha1 "github.com/gardener/machine-controller-manager/pkg/apis/machine/v1alpha1"
	"github.com/gardener/machine-controller-manager/pkg/util/provider/driver"
	"github.com/gardener/machine-controller-manager/pkg/util/provider/machinecodes/codes"
	"github.com/gardener/machine-controller-manager/pkg/util/provider/machinecodes/status"
	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	// driverMachines is the number of machines of one order.
	driverMachines = 300
	// driverCallers is how many machines machine-controller-manager works on at the same time by default.
	driverCallers = 50
)

// createMachines makes the calls with which machine-controller-manager makes machines.
func createMachines(ctx context.Context, d driver.Driver, j job) (int, error) {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(driverCallers)
	for i := range driverMachines {
		group.Go(func() error { return createMachine(ctx, d, j, fmt.Sprintf("%s-%d", j.Classes[0].Namespace, i)) })
	}
	return driverMachines, group.Wait()
}

// createMachine looks whether there is the machine, creates it, and looks again when its ID is written.
func createMachine(ctx context.Context, d driver.Driver, j job, name string) error {
	class := j.Classes[0]
	m := &machinev1alpha1.Machine{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: class.Namespace}}
	_, err := d.GetMachineStatus(ctx, &driver.GetMachineStatusRequest{Machine: m, MachineClass: class, Secret: j.Secret})
	if s, ok := status.FromError(err); err == nil || !ok || s.Code() != codes.NotFound {
		return fmt.Errorf("machine %s before it is created: %w", name, err)
	}
	created, err := d.CreateMachine(ctx, &driver.CreateMachineRequest{Machine: m, MachineClass: class, Secret: j.Secret})
	if err != nil {
		return err
	}
	m.Spec.ProviderID = created.ProviderID
	if _, err := d.InitializeMachine(ctx, &driver.InitializeMachineRequest{Machine: m, MachineClass: class, Secret: j.Secret}); err != nil {
		return err
	}
	_, err = d.GetMachineStatus(ctx, &driver.GetMachineStatusRequest{Machine: m, MachineClass: class, Secret: j.Secret})
	return err
}
