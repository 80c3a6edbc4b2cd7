// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"sync"

	machinev1alpha1 "github.com/gardener/machine-controller-manager/pkg/apis/machine/v1alpha1"
	"github.com/gardener/machine-controller-manager/pkg/util/provider/driver"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	// driverCalls is the number of calls of one order.
	driverCalls = 500
	// callsPerMachine are its creation, two looks, a list and its deletion.
	callsPerMachine = 5
	// callers make calls at the same time.
	callers = 10
)

// listAll lists the machines of each class, one class after the other.
func listAll(ctx context.Context, d driver.Driver, j job) (int, error) {
	found := 0
	for _, class := range j.Classes {
		response, err := d.ListMachines(ctx, &driver.ListMachinesRequest{MachineClass: class, Secret: j.Secret})
		if err != nil {
			return 0, err
		}
		found = len(response.MachineList)
	}
	return found, nil
}

// makeCalls makes the calls of the life of several machines.
func makeCalls(ctx context.Context, d driver.Driver, j job) (int, error) {
	var (
		group    sync.WaitGroup
		machines = driverCalls / callsPerMachine / callers
		errs     = make([]error, callers)
	)
	for caller := range callers {
		group.Go(func() {
			for i := range machines {
				if errs[caller] = live(ctx, d, j, fmt.Sprintf("%s-%d-%d", j.Classes[0].Namespace, caller, i)); errs[caller] != nil {
					return
				}
			}
		})
	}
	group.Wait()
	return callers * machines * callsPerMachine, errors.Join(errs...)
}

// live makes the calls of the life of one machine.
func live(ctx context.Context, d driver.Driver, j job, name string) error {
	class := j.Classes[0]
	m := &machinev1alpha1.Machine{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: class.Namespace}}
	created, err := d.CreateMachine(ctx, &driver.CreateMachineRequest{Machine: m, MachineClass: class, Secret: j.Secret})
	if err != nil {
		return err
	}
	m.Spec.ProviderID = created.ProviderID
	for range 2 {
		if _, err := d.GetMachineStatus(ctx, &driver.GetMachineStatusRequest{Machine: m, MachineClass: class, Secret: j.Secret}); err != nil {
			return err
		}
	}
	if _, err := d.ListMachines(ctx, &driver.ListMachinesRequest{MachineClass: class, Secret: j.Secret}); err != nil {
		return err
	}
	_, err = d.DeleteMachine(ctx, &driver.DeleteMachineRequest{Machine: m, MachineClass: class, Secret: j.Secret})
	return err
}
