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

// shortages are what sites lack for machines that wait for it, by the names of the sites.
type shortages struct {
	sites map[string]error
	// others are the other machines that do not run.
	others []idle
}

// idle is a machine that does not run.
type idle struct {
	// site is the name of its site.
	site string
	// err says what it is.
	err error
}

// shortagesOf reads from the machines what sites lack. The sites said it when the driver last asked them for the machine.
func shortagesOf(machines []machinev1alpha1.Machine) shortages {
	found := shortages{sites: map[string]error{}}
	for i := range machines {
		machine := &machines[i]
		site := machine.Spec.NodeTemplateSpec.Labels[v1alpha1.LabelSite]
		err := shortageOf(machine)
		if err == nil {
			if phase := machine.Status.CurrentStatus.Phase; phase != machinev1alpha1.MachineRunning {
				found.others = append(found.others,
					idle{site: site, err: fmt.Errorf("site %q: machine %s does not run, its phase is %q", site, machine.Name, phase)})
			}
			continue
		}
		if earlier := found.sites[site]; earlier == nil || err.Error() < earlier.Error() {
			found.sites[site] = err
		}
	}
	return found
}

// shortageOf returns what the machine waits for, nil if that is neither quota nor capacity.
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
