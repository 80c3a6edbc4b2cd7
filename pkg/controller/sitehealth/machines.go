// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package sitehealth

import (
	"fmt"
	"slices"

	machinev1alpha1 "github.com/gardener/machine-controller-manager/pkg/apis/machine/v1alpha1"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/errorcodes"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
)

// shortages are the reasons why machines wait for quota or capacity.
type shortages struct {
	// sites are the errors by the names of the sites.
	sites map[string]error
	// others are the other machines that are not running.
	others []idle
}

// idle is a machine that is not running.
type idle struct {
	site string
	err  error
}

// shortagesOf returns the shortages in the last operations of the machines.
func shortagesOf(machines []machinev1alpha1.Machine) shortages {
	found := shortages{sites: map[string]error{}}
	for i := range machines {
		machine := &machines[i]
		site := machine.Spec.NodeTemplateSpec.Labels[v1alpha1.LabelSite]
		err := shortageOf(machine)
		if err == nil {
			if phase := machine.Status.CurrentStatus.Phase; phase != machinev1alpha1.MachineRunning {
				found.others = append(found.others,
					idle{site: site, err: fmt.Errorf("site %q: machine %s is not running, its phase is %q", site, machine.Name, phase)})
			}
			continue
		}
		if earlier := found.sites[site]; earlier == nil || err.Error() < earlier.Error() {
			found.sites[site] = err
		}
	}
	return found
}

// shortageOf returns why the machine waits for quota or capacity, nil if it does not.
func shortageOf(machine *machinev1alpha1.Machine) error {
	if machine.DeletionTimestamp != nil || machine.Status.LastOperation.Type != machinev1alpha1.MachineOperationCreate {
		return nil
	}
	err := errorcodes.OfMachine(machine.Status.LastOperation.Description)
	if err == nil || !slices.Contains([]platform.Class{platform.ClassQuota, platform.ClassExhausted}, platform.ClassOf(err)) {
		return nil
	}
	return err
}
