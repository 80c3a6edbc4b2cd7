// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package machine is the driver of machine-controller-manager for the machines of all sites.
package machine

import (
	"cmp"
	"context"
	"time"

	machinev1alpha1 "github.com/gardener/machine-controller-manager/pkg/apis/machine/v1alpha1"
	"github.com/gardener/machine-controller-manager/pkg/util/provider/driver"
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
	// StalledCalls is how many calls may wait for a site that has stalled. machine-controller-manager has 50 workers.
	StalledCalls int
}

// DefaultTimeouts are the timeouts of a driver in production.
func DefaultTimeouts() Timeouts {
	return Timeouts{
		Create:     3 * time.Minute,
		Initialize: time.Minute,
		Delete:     5 * time.Minute,
		Get:        time.Minute,
		List:       time.Minute,
		ListWait:   10 * time.Second,
		ListAgain:  time.Minute,
		Stalled:    30 * time.Second,

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
	return call(ctx, d, operationCreate, req.MachineClass, req.Secret, func(ctx context.Context, t *target) (*driver.CreateMachineResponse, error) {
		userData, err := wrapUserData(t.request.Spec.UserDataFormat, req.Secret.Data[userDataKey])
		if err != nil {
			return nil, err
		}
		t.request.Name = req.Machine.Name
		t.request.ProviderID = req.Machine.Spec.ProviderID
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
func (d *hybridDriver) InitializeMachine(ctx context.Context, req *driver.InitializeMachineRequest) (*driver.InitializeMachineResponse, error) {
	known := &driver.InitializeMachineResponse{ProviderID: req.Machine.Spec.ProviderID, NodeName: cmp.Or(req.Machine.Labels[machinev1alpha1.NodeLabelKey], req.Machine.Name)}
	response, err := call(ctx, d, operationInitialize, req.MachineClass, req.Secret, func(ctx context.Context, t *target) (*driver.InitializeMachineResponse, error) {
		t.request.Name = req.Machine.Name
		t.request.ProviderID = req.Machine.Spec.ProviderID

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
	return call(ctx, d, operationDelete, req.MachineClass, req.Secret, func(ctx context.Context, t *target) (*driver.DeleteMachineResponse, error) {
		t.request.Name = req.Machine.Name
		t.request.ProviderID = req.Machine.Spec.ProviderID
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
// a machine that it has created before: an error would mark the machine, and with it the pool, as failed.
func (d *hybridDriver) GetMachineStatus(ctx context.Context, req *driver.GetMachineStatusRequest) (*driver.GetMachineStatusResponse, error) {
	response, err := call(ctx, d, operationGet, req.MachineClass, req.Secret, func(ctx context.Context, t *target) (*driver.GetMachineStatusResponse, error) {
		t.request.Name = req.Machine.Name
		t.request.ProviderID = req.Machine.Spec.ProviderID

		ctx, cancel := context.WithTimeout(ctx, d.timeouts.Get)
		defer cancel()
		m, err := t.machines.Get(ctx, t.request)
		if err != nil {
			return nil, err
		}
		return &driver.GetMachineStatusResponse{ProviderID: m.ProviderID, NodeName: cmp.Or(m.NodeName, m.Name), Addresses: m.Addresses}, nil
	})
	if nodeName := req.Machine.Labels[machinev1alpha1.NodeLabelKey]; isTransient(err) && req.Machine.Spec.ProviderID != "" && nodeName != "" {
		klog.ErrorS(err, "Status of the machine is not known, its creation goes on", "machine", klog.KObj(req.Machine))
		return &driver.GetMachineStatusResponse{ProviderID: req.Machine.Spec.ProviderID, NodeName: nodeName}, nil
	}
	return response, err
}

// ListMachines returns the machines of the class's site, or of the part of it where those of the class are. It returns no machines
// rather than an error: with an error machine-controller-manager would not look for orphans of the remaining classes, which may be
// those of other sites; and it deletes only machines that are listed.
func (d *hybridDriver) ListMachines(ctx context.Context, req *driver.ListMachinesRequest) (*driver.ListMachinesResponse, error) {
	response, err := call(ctx, d, operationList, req.MachineClass, req.Secret, func(ctx context.Context, t *target) (*driver.ListMachinesResponse, error) {
		where := place{site: t.request.Spec.Site, part: t.machines.Place(t.request.Spec)}
		machines, err := d.lists.get(ctx, where, d.timeouts, func(ctx context.Context) ([]platform.Machine, error) {
			return t.machines.List(ctx, t.request)
		})
		if err != nil {
			return nil, err
		}
		list := make(map[string]string, len(machines))
		for _, m := range machines {
			list[m.ProviderID] = m.Name
		}
		return &driver.ListMachinesResponse{MachineList: list}, nil
	})
	if err != nil {
		klog.ErrorS(err, "Machines could not be listed, orphans are looked for later", "machineClass", klog.KObj(req.MachineClass))
		return &driver.ListMachinesResponse{MachineList: map[string]string{}}, nil
	}
	return response, nil
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
