// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"slices"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
)

// authority tells of privileges that are denied. The simulator's own grants all of them.
type authority struct {
	*simulator.AuthorizationManager

	disturber *disturber
}

// setAuthority replaces the simulator's own.
func setAuthority(registry *simulator.Registry, d *disturber) error {
	instance, ok := registry.Get(vim25.ServiceInstance).(*simulator.ServiceInstance)
	if !ok || instance.Content.AuthorizationManager == nil {
		return errors.New("the simulator has no service instance with an authorization manager")
	}
	manager, ok := registry.Get(*instance.Content.AuthorizationManager).(*simulator.AuthorizationManager)
	if !ok {
		return errors.New("the simulator has no authorization manager")
	}
	registry.Put(&authority{AuthorizationManager: manager, disturber: d})
	return nil
}

// HasPrivilegeOnEntities is the method of the vCenter.
func (a *authority) HasPrivilegeOnEntities(request *types.HasPrivilegeOnEntities) soap.HasFault {
	return &methods.HasPrivilegeOnEntitiesBody{
		Res: &types.HasPrivilegeOnEntitiesResponse{Returnval: a.available(request.Entity, request.PrivId)}}
}

// HasUserPrivilegeOnEntities is the method of the vCenter.
func (a *authority) HasUserPrivilegeOnEntities(request *types.HasUserPrivilegeOnEntities) soap.HasFault {
	return &methods.HasUserPrivilegeOnEntitiesBody{
		Res: &types.HasUserPrivilegeOnEntitiesResponse{Returnval: a.available(request.Entities, request.PrivId)}}
}

// FetchUserPrivilegeOnEntities is the method of the vCenter.
func (a *authority) FetchUserPrivilegeOnEntities(request *types.FetchUserPrivilegeOnEntities) soap.HasFault {
	body := a.AuthorizationManager.FetchUserPrivilegeOnEntities(request)
	if fetched, ok := body.(*methods.FetchUserPrivilegeOnEntitiesBody); ok {
		for i := range fetched.Res.Returnval {
			result := &fetched.Res.Returnval[i]
			result.Privileges = slices.DeleteFunc(slices.Clone(result.Privileges), a.isDenied)
		}
	}
	return body
}

func (a *authority) available(entities []types.ManagedObjectReference, privileges []string) []types.EntityPrivilege {
	var all []types.EntityPrivilege
	for _, entity := range entities {
		of := types.EntityPrivilege{Entity: entity}
		for _, privilege := range privileges {
			of.PrivAvailability = append(of.PrivAvailability,
				types.PrivilegeAvailability{PrivId: privilege, IsGranted: !a.isDenied(privilege)})
		}
		all = append(all, of)
	}
	return all
}

func (a *authority) isDenied(privilege string) bool {
	return slices.Contains(a.disturber.current().Denied, privilege)
}
