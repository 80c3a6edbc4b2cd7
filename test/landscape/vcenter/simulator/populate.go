// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"

	"github.com/google/uuid"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/vsphere/owner"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/vcenter/control"
)

// populator puts virtual machines into the inventory without tasks.
type populator struct {
	model *simulator.Model
}

func (p *populator) serve(w http.ResponseWriter, r *http.Request) {
	var population control.Population
	if err := json.NewDecoder(r.Body).Decode(&population); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	if err := p.populate(population); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
	}
}

func (p *populator) populate(population control.Population) error {
	registry := p.model.Map()
	folder, ok := registry.Get(types.ManagedObjectReference{Type: "Folder", Value: population.Folder}).(*simulator.Folder)
	if !ok {
		return fmt.Errorf("there is no folder %s", population.Folder)
	}
	template, ok := registry.Get(types.ManagedObjectReference{Type: "VirtualMachine", Value: population.Template}).(*simulator.VirtualMachine)
	if !ok {
		return fmt.Errorf("there is no virtual machine %s", population.Template)
	}

	marked := owner.Owner{Shoot: population.ExtraConfig[owner.KeyShoot], Site: population.ExtraConfig[owner.KeySite]}
	var extraConfig []types.BaseOptionValue
	for key, value := range population.ExtraConfig {
		extraConfig = append(extraConfig, &types.OptionValue{Key: key, Value: value})
	}
	ctx := &simulator.Context{Context: context.Background(), Map: registry}
	references := make([]types.ManagedObjectReference, 0, population.Count)
	for i := range population.Count {
		vm := resemble(template, fmt.Sprintf("%s%d", population.Prefix, i))
		vm.Config.ExtraConfig = slices.Concat(vm.Config.ExtraConfig, extraConfig)
		vm.Config.Uuid = marked.UUID(vm.Name)
		vm.Summary.Config.Uuid = vm.Config.Uuid
		registry.PutEntity(folder, vm)
		references = append(references, vm.Self)
	}
	registry.AppendReference(ctx, folder, &folder.ChildEntity, references...)
	return nil
}

// resemble returns a virtual machine that shares with the template all that is not its own.
func resemble(template *simulator.VirtualMachine, name string) *simulator.VirtualMachine {
	vm := &simulator.VirtualMachine{VirtualMachine: template.VirtualMachine}
	config := *template.Config
	config.Name, config.Uuid, config.InstanceUuid, config.Template = name, uuid.NewString(), uuid.NewString(), false
	vm.Self, vm.Name, vm.Config = types.ManagedObjectReference{}, name, &config
	vm.Summary.Config.Name, vm.Summary.Config.Template = name, false
	vm.Summary.Config.Uuid, vm.Summary.Config.InstanceUuid = config.Uuid, config.InstanceUuid
	vm.Runtime.PowerState = types.VirtualMachinePowerStatePoweredOn
	vm.Summary.Runtime.PowerState = vm.Runtime.PowerState
	return vm
}
