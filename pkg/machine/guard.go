// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"context"

	machinev1alpha1 "github.com/gardener/machine-controller-manager/pkg/apis/machine/v1alpha1"
	machineclient "github.com/gardener/machine-controller-manager/pkg/client/clientset/versioned/typed/machine/v1alpha1"
	"github.com/gardener/machine-controller-manager/pkg/util/provider/driver"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
)

// Guard returns a driver that does not delete orphans with the provider ID of a Machine. machine-controller-manager identifies orphans by
// the name that the site lists, which a user may have changed there.
func Guard(d driver.Driver, machines machineclient.MachinesGetter) driver.Driver {
	return &guard{Driver: d, machines: machines}
}

type guard struct {
	driver.Driver
	machines machineclient.MachinesGetter
}

// DeleteMachine implements driver.Driver.
func (g *guard) DeleteMachine(ctx context.Context, req *driver.DeleteMachineRequest) (*driver.DeleteMachineResponse, error) {
	if req.Machine.UID == "" {
		if err := g.check(ctx, req.Machine); err != nil {
			return nil, toStatus(operationDelete, "", err)
		}
	}
	return g.Driver.DeleteMachine(ctx, req)
}

// check returns an error if a Machine has the provider ID of the orphan, or if that is unknown.
func (g *guard) check(ctx context.Context, orphan *machinev1alpha1.Machine) error {
	list, err := g.machines.Machines(orphan.Namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return platform.NewError(platform.ClassTransient, "cannot check whether %q (%s) is an orphan: %w", orphan.Name,
			orphan.Spec.ProviderID, err)
	}
	for i := range list.Items {
		if m := &list.Items[i]; m.Spec.ProviderID == orphan.Spec.ProviderID {
			return platform.NewError(platform.ClassConflict, "%q (%s) is not an orphan, it is machine %q", orphan.Name,
				orphan.Spec.ProviderID, m.Name)
		}
	}
	return nil
}
