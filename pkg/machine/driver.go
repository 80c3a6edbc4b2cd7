// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package machine is the driver of machine-controller-manager for the machines of all sites.
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
)

// Provider is the provider of the machine classes that the driver serves.
const Provider = v1alpha1.ProviderType

// Timeouts limit the calls of the driver, because machine-controller-manager does not.
type Timeouts struct {
	// Create limits the creation of a machine up to its ID.
	Create time.Duration
	// Initialize limits the wait for the site's word on a new machine.
	Initialize time.Duration
	// Delete limits the deletion of a machine.
	Delete time.Duration
	// Get limits the look at one machine.
	Get time.Duration
	// List limits the look at all machines of a site.
	List time.Duration
	// ListWait is for how long others wait for it, unless the site is known to answer later.
	ListWait time.Duration
	// ListAgain is for how long a site, or a part of it, is not asked again that could not be listed.
	ListAgain time.Duration
	// Stalled is after how long without any answer a site may have only StalledCalls calls at the same time.
	Stalled time.Duration
	// Unreachable is after how long without any answer a site counts as one that has no room for new machines.
	Unreachable time.Duration
	// StalledCalls is how many calls may wait for a site that has stalled. machine-controller-manager has 50 workers.
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
	stalls   stalls
}

// NewDriver returns a driver that finds the platform of a machine in its machine class.
func NewDriver(machines platform.Registry[platform.Machines], timeouts Timeouts) driver.Driver {
	return &hybridDriver{machines: machines, timeouts: timeouts}
}

// CreateMachine creates the machine and returns as soon as its ID is known.
func (d *hybridDriver) CreateMachine(ctx context.Context, req *driver.CreateMachineRequest) (*driver.CreateMachineResponse, error) {
	return call(ctx, d, operationCreate, req.Machine, req.MachineClass, req.Secret,
		func(ctx context.Context, t *target) (*driver.CreateMachineResponse, error) {
			userData, err := wrapUserData(t.request.Spec.UserDataFormat, req.Secret.Data[userDataKey])
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

// InitializeMachine asks the site whether it can run the machine that was just created: it is the last question before
// machine-controller-manager waits for the node. A site that does not answer says nothing about the machine.
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
		klog.ErrorS(err, "Nothing is known of the new machine, its creation goes on", "machine", klog.KObj(req.Machine))
		return known, nil
	}
	return response, err
}

// DeleteMachine deletes the machine. It returns when the machine is gone, or an error that says how far that is. For machines of which
// there is no object, machine-controller-manager makes one up and does not ask again when it does not find them any more.
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

// GetMachineStatus succeeds for every machine that exists, also while it boots. A site that does not answer says nothing about
// a machine that it has created before: an error would mark the machine, and with it the pool, as failed. The ID of a new machine
// that will never run is told with an error after which machine-controller-manager stores it, and asks InitializeMachine for the fault.
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
		klog.ErrorS(err, "Status of the machine is not known, its creation goes on", "machine", klog.KObj(req.Machine))
		return &driver.GetMachineStatusResponse{ProviderID: providerID, NodeName: nodeName}, nil
	default:
		return nil, err
	}
}

// forDeletion lets the deletion of a machine go on whose status nobody needs any more. machine-controller-manager looks at it because it
// does not know the node yet, and would ask for ever if the machine has a fault or cannot be told from others: DeleteMachine decides
// what is deleted.
func forDeletion(response *driver.GetMachineStatusResponse, err error) (*driver.GetMachineStatusResponse, error) {
	if response != nil {
		return response, nil
	}
	switch classOf(err) {
	case platform.ClassConflict, platform.ClassConfiguration, platform.ClassExhausted, platform.ClassQuota:
		// There is a response with this code, as machine-controller-manager reads it elsewhere without a look.
		return &driver.GetMachineStatusResponse{}, recoded(err, codes.Uninitialized)
	default:
		return nil, err
	}
}

// ListMachines returns the machines of the class's site, or of the part of it where those of the class are. It returns no machines
// rather than an error: with an error machine-controller-manager would not look for orphans of the remaining classes, which may be
// those of other sites; and it deletes only machines that are listed. A machine whose name is in doubt is left out.
func (d *hybridDriver) ListMachines(ctx context.Context, req *driver.ListMachinesRequest) (*driver.ListMachinesResponse, error) {
	response, err := call(ctx, d, operationList, nil, req.MachineClass, req.Secret,
		func(ctx context.Context, t *target) (*driver.ListMachinesResponse, error) {
			where := place{site: t.request.Spec.Site}
			if scoper, ok := t.machines.(platform.ListScoper); ok {
				where.part = scoper.ListScope(t.request.Spec)
			}
			machines, err := d.lists.get(ctx, where, d.timeouts, func(ctx context.Context) ([]platform.Machine, error) {
				return t.machines.List(ctx, t.request)
			})
			if err != nil {
				return nil, err
			}
			return &driver.ListMachinesResponse{MachineList: listOf(machines, where)}, nil
		})
	if err != nil {
		klog.ErrorS(err, "Machines could not be listed, orphans are looked for later", "machineClass", klog.KObj(req.MachineClass))
		return &driver.ListMachinesResponse{MachineList: map[string]string{}}, nil
	}
	return response, nil
}

// listOf returns the names of the machines by their provider IDs, without those that have none or several.
func listOf(machines []platform.Machine, where place) map[string]string {
	list := make(map[string]string, len(machines))
	for _, m := range machines {
		if name, twice := list[m.ProviderID]; m.ProviderID == "" || twice && name != m.Name {
			m.Name = ""
		}
		list[m.ProviderID] = m.Name
	}
	maps.DeleteFunc(list, func(id, name string) bool {
		if name == "" {
			klog.InfoS("It is not clear which machine this is, so that it is no orphan", "site", where.site, "providerID", id)
		}
		return name == ""
	})
	return list
}

// GetVolumeIDs returns the IDs of the volumes that belong to any of the platforms; the request does not say which machine it
// is about.
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
