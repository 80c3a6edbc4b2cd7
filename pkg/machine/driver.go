// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package machine contains the driver of machine-controller-manager for the machines of all sites.
package machine

import (
	"cmp"
	"context"
	"maps"
	"time"

	machinev1alpha1 "github.com/gardener/machine-controller-manager/pkg/apis/machine/v1alpha1"
	"github.com/gardener/machine-controller-manager/pkg/util/provider/driver"
	"github.com/gardener/machine-controller-manager/pkg/util/provider/machinecodes/codes"
	"k8s.io/klog/v2"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/userdata"
)

// Provider is the provider of the driver's machine classes.
const Provider = v1alpha1.ProviderType

// Timeouts limit the calls of the driver, which machine-controller-manager does not limit.
type Timeouts struct {
	// Create limits the creation of a machine up to its ID.
	Create time.Duration
	// Initialize limits the check whether the site can run a new machine.
	Initialize time.Duration
	// Delete limits the deletion of a machine.
	Delete time.Duration
	// Get limits the read of one machine.
	Get time.Duration
	// List limits the list of the machines of a site.
	List time.Duration
	// ListWait limits the wait for it, unless the last list was slower.
	ListWait time.Duration
	// ListAgain is the time until a site, or a part of it, is listed again after a failure.
	ListAgain time.Duration
	// Stalled is the time without any response after which a site may have only StalledCalls concurrent calls.
	Stalled time.Duration
	// Unreachable is the time without a successful call after which a site counts as one without capacity for new machines.
	Unreachable time.Duration
	// StalledCalls is the number of calls that may wait for a stalled site. machine-controller-manager has 50 workers.
	StalledCalls int
}

// DefaultTimeouts are the timeouts of a driver in production.
func DefaultTimeouts() Timeouts {
	return Timeouts{
		Create:      3 * time.Minute,
		Initialize:  time.Minute,
		Delete:      5 * time.Minute,
		Get:         time.Minute,
		List:        time.Minute,
		ListWait:    10 * time.Second,
		ListAgain:   time.Minute,
		Stalled:     30 * time.Second,
		Unreachable: 2 * time.Minute,

		StalledCalls: 20,
	}
}

type hybridDriver struct {
	machines platform.Registry[platform.Machines]
	timeouts Timeouts
	lists    lists
	bulkhead bulkhead
}

// NewDriver returns a driver that determines the platform of a machine from its machine class.
func NewDriver(machines platform.Registry[platform.Machines], timeouts Timeouts) driver.Driver {
	return &hybridDriver{
		machines: machines,
		timeouts: timeouts,
		lists:    lists{limits: timeouts, running: map[string]bool{}, last: map[listScope]lastList{}},
		bulkhead: bulkhead{limits: timeouts, sites: map[string]*siteCalls{}},
	}
}

// CreateMachine creates the machine and returns as soon as its ID is known.
func (d *hybridDriver) CreateMachine(ctx context.Context, req *driver.CreateMachineRequest) (*driver.CreateMachineResponse, error) {
	return call(ctx, d, operationCreate, req.Machine, req.MachineClass, req.Secret,
		func(ctx context.Context, t *target) (*driver.CreateMachineResponse, error) {
			userData, err := userdata.ForMachine(t.request.Spec, req.Secret.Data[userDataKey])
			if err != nil {
				return nil, err
			}
			t.request.UserData = userData

			ctx, cancel := context.WithTimeout(ctx, d.timeouts.Create)
			defer cancel()
			m, err := t.machines.Create(ctx, t.request)
			if err != nil {
				return nil, err
			}
			return &driver.CreateMachineResponse{ProviderID: m.ProviderID, NodeName: cmp.Or(m.NodeName, m.Name), Addresses: m.Addresses}, nil
		})
}

// InitializeMachine checks whether the site can run the new machine: it is the last call before machine-controller-manager waits for the
// node. If the site does not respond, the machine is not considered failed.
func (d *hybridDriver) InitializeMachine(ctx context.Context, req *driver.InitializeMachineRequest) (*driver.InitializeMachineResponse,
	error) {
	known := &driver.InitializeMachineResponse{ProviderID: req.Machine.Spec.ProviderID,
		NodeName: cmp.Or(req.Machine.Labels[machinev1alpha1.NodeLabelKey], req.Machine.Name)}
	response, err := call(ctx, d, operationInitialize, req.Machine, req.MachineClass, req.Secret,
		func(ctx context.Context, t *target) (*driver.InitializeMachineResponse, error) {
			ctx, cancel := context.WithTimeout(ctx, d.timeouts.Initialize)
			defer cancel()
			if err := t.machines.Initialize(ctx, t.request); err != nil {
				return nil, err
			}
			return known, nil
		})
	if isTransient(err) {
		klog.ErrorS(err, "State of the new machine is unknown, its creation continues", "machine", klog.KObj(req.Machine))
		return known, nil
	}
	return response, err
}

// DeleteMachine deletes the machine. It returns nil once the machine is gone, and an error with the progress before. For orphans
// machine-controller-manager passes a machine without UID, and does not retry if they are no longer listed.
func (d *hybridDriver) DeleteMachine(ctx context.Context, req *driver.DeleteMachineRequest) (*driver.DeleteMachineResponse, error) {
	return call(ctx, d, operationDelete, req.Machine, req.MachineClass, req.Secret,
		func(ctx context.Context, t *target) (*driver.DeleteMachineResponse, error) {
			t.request.Once = req.Machine.UID == ""

			ctx, cancel := context.WithTimeout(ctx, d.timeouts.Delete)
			defer cancel()
			if err := t.machines.Delete(ctx, t.request); err != nil {
				return nil, err
			}
			return &driver.DeleteMachineResponse{}, nil
		})
}

// GetMachineStatus succeeds for all machines that exist, also while they boot. It also succeeds if the site of a known machine does not
// respond: an error would mark the machine, and thereby the pool, as failed. For a new machine with a fault it returns the ID and code
// Uninitialized, upon which machine-controller-manager stores the ID and calls InitializeMachine, which returns the fault.
func (d *hybridDriver) GetMachineStatus(ctx context.Context, req *driver.GetMachineStatusRequest) (*driver.GetMachineStatusResponse,
	error) {
	response, err := call(ctx, d, operationGet, req.Machine, req.MachineClass, req.Secret,
		func(ctx context.Context, t *target) (*driver.GetMachineStatusResponse, error) {
			ctx, cancel := context.WithTimeout(ctx, d.timeouts.Get)
			defer cancel()
			m, err := t.machines.Get(ctx, t.request)
			if m.ProviderID == "" {
				return nil, err
			}
			return &driver.GetMachineStatusResponse{ProviderID: m.ProviderID, NodeName: cmp.Or(m.NodeName, m.Name), Addresses: m.Addresses}, err
		})
	if err == nil {
		return response, nil
	}
	if req.Machine.DeletionTimestamp != nil {
		return forDeletion(response, err)
	}
	providerID, nodeName := req.Machine.Spec.ProviderID, req.Machine.Labels[machinev1alpha1.NodeLabelKey]
	switch {
	case response != nil && providerID == "":
		return response, recoded(err, codes.Uninitialized)
	case isTransient(err) && providerID != "" && nodeName != "":
		klog.ErrorS(err, "Status of the machine is unknown, its creation continues", "machine", klog.KObj(req.Machine))
		return &driver.GetMachineStatusResponse{ProviderID: providerID, NodeName: nodeName}, nil
	default:
		return nil, err
	}
}

// forDeletion lets the deletion of a machine continue if its status has a fault or is ambiguous. machine-controller-manager only wants to
// know the node, and would retry forever: DeleteMachine decides what is deleted.
func forDeletion(response *driver.GetMachineStatusResponse, err error) (*driver.GetMachineStatusResponse, error) {
	if response != nil {
		return response, nil
	}
	switch classOf(err) {
	case platform.ClassConflict, platform.ClassConfiguration, platform.ClassExhausted, platform.ClassQuota:
		// With this code machine-controller-manager dereferences the response.
		return &driver.GetMachineStatusResponse{}, recoded(err, codes.Uninitialized)
	default:
		return nil, err
	}
}

// ListMachines returns the machines of the class's site, or of the part of the site with the class's machines. It returns an empty list
// rather than an error: upon an error machine-controller-manager would skip the remaining classes, which may be those of other sites, and
// it deletes only machines that are listed. Machines with an ambiguous name are omitted.
func (d *hybridDriver) ListMachines(ctx context.Context, req *driver.ListMachinesRequest) (*driver.ListMachinesResponse, error) {
	response, err := call(ctx, d, operationList, nil, req.MachineClass, req.Secret,
		func(ctx context.Context, t *target) (*driver.ListMachinesResponse, error) {
			scope := listScope{site: t.request.Spec.Site}
			if scoper, ok := t.machines.(platform.ListScoper); ok {
				scope.part = scoper.ListScope(t.request.Spec)
			}
			machines, err := d.lists.get(ctx, scope, func(ctx context.Context) ([]platform.Machine, error) {
				return t.machines.List(ctx, t.request)
			})
			if err != nil {
				return nil, err
			}
			return &driver.ListMachinesResponse{MachineList: listOf(machines, scope)}, nil
		})
	if err != nil {
		klog.ErrorS(err, "Machines could not be listed, orphans are collected later", "machineClass", klog.KObj(req.MachineClass))
		return &driver.ListMachinesResponse{MachineList: map[string]string{}}, nil
	}
	return response, nil
}

// listOf returns the names of the machines by provider ID. Machines without an ID or with several names are omitted.
func listOf(machines []platform.Machine, scope listScope) map[string]string {
	list := make(map[string]string, len(machines))
	for _, m := range machines {
		if name, twice := list[m.ProviderID]; m.ProviderID == "" || twice && name != m.Name {
			m.Name = ""
		}
		list[m.ProviderID] = m.Name
	}
	maps.DeleteFunc(list, func(id, name string) bool {
		if name == "" {
			klog.InfoS("Name of the machine is ambiguous, it is not considered an orphan", "site", scope.site, "providerID", id)
		}
		return name == ""
	})
	return list
}

// GetVolumeIDs returns the IDs of the volumes of all platforms, because the request does not specify the machine.
func (d *hybridDriver) GetVolumeIDs(_ context.Context, req *driver.GetVolumeIDsRequest) (*driver.GetVolumeIDsResponse, error) {
	response := &driver.GetVolumeIDsResponse{VolumeIDs: []string{}}
	for _, pv := range req.PVSpecs {
		for _, name := range d.machines.Platforms() {
			if id, ok := d.machines[name].VolumeID(pv); ok {
				response.VolumeIDs = append(response.VolumeIDs, id)
				break
			}
		}
	}
	return response, nil
}
