// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package worker

import (
	"context"
	"fmt"

	v1beta1helper "github.com/gardener/gardener/pkg/api/core/v1beta1/helper"
	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	v1beta1constants "github.com/gardener/gardener/pkg/apis/core/v1beta1/constants"
	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	"github.com/gardener/gardener/pkg/utils/gardener/shootstate"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
)

// formerClasses returns the machine classes and the sites that the machines to be restored have, by their machine deployments. The state of machines
// has no classes. Those of a rolling update that is not at its end, or of a zone that was kept as it was, are others than the zones have
// now; machine-controller-manager would do nothing for their machines, and not even delete them.
func (a *actuator) formerClasses(ctx context.Context, w *extensionsv1alpha1.Worker, shoot *gardencorev1beta1.Shoot) (classes, sites map[string]sets.Set[string], err error) {
	state, err := a.machineState(ctx, w, shoot)
	if err != nil {
		return nil, nil, err
	}
	classes, sites = map[string]sets.Set[string]{}, map[string]sets.Set[string]{}
	for name, deployment := range state.MachineDeployments {
		classes[name], sites[name] = sets.New[string](), sets.New[string]()
		for i := range deployment.MachineSets {
			classes[name].Insert(deployment.MachineSets[i].Spec.Template.Spec.Class.Name)
		}
		for i := range deployment.Machines {
			classes[name].Insert(deployment.Machines[i].Spec.Class.Name)
			sites[name].Insert(deployment.Machines[i].Spec.NodeTemplateSpec.Labels[v1alpha1.LabelSite])
		}
		classes[name].Delete("")
	}
	return classes, sites, nil
}

// machineState reads the state where Gardener's generic actuator reads it.
func (a *actuator) machineState(ctx context.Context, w *extensionsv1alpha1.Worker, shoot *gardencorev1beta1.Shoot) (*shootstate.MachineState, error) {
	if w.Status.State != nil && len(w.Status.State.Raw) > 0 {
		return shootstate.UnmarshalMachineState(w.Status.State.Raw)
	}
	if a.gardenReader == nil {
		return &shootstate.MachineState{}, nil
	}
	shootState := &gardencorev1beta1.ShootState{}
	if err := a.gardenReader.Get(ctx, client.ObjectKeyFromObject(shoot), shootState); err != nil {
		return nil, fmt.Errorf("reading the ShootState: %w", err)
	}
	data := v1beta1helper.GardenerResourceDataList(shootState.Spec.Gardener)
	machines := data.Get(v1beta1constants.DataTypeMachineState)
	if machines == nil {
		return &shootstate.MachineState{}, nil
	}
	return shootstate.UnmarshalMachineState(machines.Data.Raw)
}
