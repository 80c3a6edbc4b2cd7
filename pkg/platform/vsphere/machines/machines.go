// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package machines creates, finds and deletes the virtual machines of a vSphere site.
package machines

import (
	"context"
	"strings"

	"github.com/vmware/govmomi/vim25/types"
	corev1 "k8s.io/api/core/v1"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/vsphere/client"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/vsphere/owner"
)

const csiDriver = "csi.vsphere.vmware.com"

type machines struct {
	sessions  *client.Sessions
	creations *operations[*creation]
	deletions *operations[*deletion]
}

// New returns the Machines part of the vSphere platform.
func New(sessions *client.Sessions) platform.Machines {
	return &machines{sessions: sessions, creations: newOperations[*creation](), deletions: newOperations[*deletion]()}
}

// Create implements platform.Machines. One task creates the virtual machine and powers it on. Its ID is known in advance; a call does not
// wait long for the end of the task, and calls for the same machine share one creation.
func (m *machines) Create(ctx context.Context, request platform.MachineRequest) (platform.Machine, error) {
	return do(ctx, m, request, (*call).begin)
}

// Initialize implements platform.Machines. It waits for a creation that continues after Create.
func (m *machines) Initialize(ctx context.Context, request platform.MachineRequest) error {
	_, err := do(ctx, m, request, func(c *call, ctx context.Context) (any, error) { return nil, c.initialize(ctx) })
	return err
}

// Get implements platform.Machines.
func (m *machines) Get(ctx context.Context, request platform.MachineRequest) (platform.Machine, error) {
	return do(ctx, m, request, (*call).get)
}

// Delete implements platform.Machines.
func (m *machines) Delete(ctx context.Context, request platform.MachineRequest) error {
	_, err := do(ctx, m, request, func(c *call, ctx context.Context) (any, error) { return nil, c.delete(ctx) })
	return err
}

// List implements platform.Machines. It lists the virtual machines below the shoot's folder in the datacenter of the machine class.
func (m *machines) List(ctx context.Context, request platform.MachineRequest) ([]platform.Machine, error) {
	return do(ctx, m, request, (*call).listMachines)
}

// Place implements platform.Machines. The shoot has a folder in each datacenter.
func (m *machines) Place(spec *v1alpha1.MachineProviderSpec) string {
	if spec.VSphere == nil {
		return ""
	}
	return spec.VSphere.Folder
}

// VolumeID implements platform.Machines.
func (m *machines) VolumeID(pv *corev1.PersistentVolumeSpec) (string, bool) {
	if pv.CSI != nil && pv.CSI.Driver == csiDriver {
		return pv.CSI.VolumeHandle, true
	}
	return "", false
}

// call is one operation on the virtual machines of one shoot on one site.
type call struct {
	*machines
	request platform.MachineRequest
	spec    *v1alpha1.VSphereMachineSpec
	owner   owner.Owner
	session *client.Session
}

func (m *machines) call(ctx context.Context, request platform.MachineRequest) (*call, error) {
	spec := request.Spec
	if spec.VSphere == nil {
		return nil, platform.NewError(platform.ClassConfiguration, "the provider spec has no vsphere block")
	}
	session, err := m.sessions.Get(ctx, spec.Site, spec.VSphere.Connection, request.Credentials)
	if err != nil {
		return nil, err
	}
	return &call{machines: m, request: request, spec: spec.VSphere, owner: owner.Owner{Shoot: spec.Shoot, Site: spec.Site}, session: session}, nil
}

func do[T any](ctx context.Context, m *machines, request platform.MachineRequest, operation func(*call, context.Context) (T, error)) (T, error) {
	var result T
	c, err := m.call(ctx, request)
	if err == nil {
		result, err = operation(c, ctx)
	}
	return result, platform.InSite(request.Spec.Site, err)
}

// creationKey is the key of the machine's creation.
func (c *call) creationKey() operationKey {
	return operationKey{owner: c.owner, id: c.request.Name}
}

// uuid returns the UUID of the virtual machine.
func (c *call) uuid() string {
	if id := strings.TrimPrefix(c.request.ProviderID, client.ProviderIDPrefix); id != "" {
		return id
	}
	return c.owner.UUID(c.request.Name)
}

// machine returns what is known about the machine without a request.
func (c *call) machine() platform.Machine {
	return platform.Machine{Name: c.request.Name, ProviderID: client.ProviderIDPrefix + c.uuid()}
}

// get reports a machine as existing while its creation, which the vCenter has accepted, is running. The creation of a machine without an ID
// may have been interrupted: such a machine is not found unless it is complete, so that it will be completed.
func (c *call) get(ctx context.Context) (platform.Machine, error) {
	if creation := c.creations.find(c.creationKey()); creation != nil {
		if !isClosed(creation.done) {
			if !isClosed(creation.accepted) {
				return platform.Machine{}, c.notAccepted()
			}
			if creation.commit() {
				return c.machine(), nil
			}
		}
		if err := c.failure(creation); err != nil {
			return platform.Machine{}, err
		}
	}
	vm, err := c.find(ctx)
	if err != nil {
		return platform.Machine{}, err
	}
	if vm == nil {
		if err := c.proveAbsence(ctx); err != nil {
			return platform.Machine{}, err
		}
		return platform.Machine{}, platform.NewError(platform.ClassNotFound, "virtual machine %q (%s) does not exist", c.request.Name, c.uuid())
	}
	if c.request.ProviderID == "" {
		missing, err := c.missing(ctx, vm)
		if err != nil {
			return platform.Machine{}, err
		}
		if missing != "" {
			return platform.Machine{}, platform.NewError(platform.ClassNotFound, "virtual machine %q is incomplete: %s", c.request.Name, missing)
		}
	}
	return vm.machine(c.request.Name), nil
}

// failure returns the error of an ended creation, or nil if what exists on the site counts.
func (c *call) failure(creation *creation) error {
	switch known := c.request.ProviderID != ""; {
	case creation.err == nil:
		return nil
	case known && creation.session == c.session:
		return creation.err
	case known:
		// The other credentials may be why it failed.
		c.creations.forget(c.creationKey(), creation)
		return nil
	}
	// The machine was not reported as existing. The error is reported once, unless it is transient.
	c.creations.forget(c.creationKey(), creation)
	if class := platform.ClassOf(creation.err); class == platform.ClassTransient || class == platform.ClassNotFound {
		return nil
	}
	return creation.err
}

func (c *call) notAccepted() error {
	return platform.NewError(platform.ClassTransient, "the vCenter has not accepted yet to create virtual machine %q", c.request.Name)
}

// missing returns what a virtual machine lacks. It is empty if nothing is missing, or if a creation would not complete it: if it was renamed
// or moved, another one would be created, which is impossible if the template, network or datastore does not exist anymore.
func (c *call) missing(ctx context.Context, vm *virtualMachine) (string, error) {
	if vm.Name != c.request.Name || !c.inFolder(vm.VirtualMachine) {
		return "", nil
	}
	plan, err := c.plan(ctx)
	if platform.ClassOf(err) == platform.ClassConfiguration {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	if !vm.isOn() {
		return "it is powered off", nil
	}
	if mismatch := plan.specMismatch(vm); mismatch != "" {
		return mismatch, nil
	}
	return c.missingTag(ctx, vm)
}

// marks are the properties that identify the owner of a virtual machine.
var marks = []string{client.ExtraConfigProperty(owner.KeyShoot), client.ExtraConfigProperty(owner.KeySite),
	client.ExtraConfigProperty(owner.KeyMachine)}

// details are the properties that are read of one virtual machine.
var details = append([]string{
	"name", "parent", "config.uuid", "config.template", "config.hardware", "config.memoryReservationLockedToMax", "config.files.vmPathName",
	"runtime.powerState", "runtime.connectionState", "guest.toolsRunningStatus", "guest.net",
}, marks...)

func (c *call) search() client.Search {
	return client.Search{Name: c.request.Name, InFolder: c.inFolder, Properties: details, Check: c.check}
}

// inFolder reports whether the virtual machine is in the shoot's folder.
func (c *call) inFolder(vm *client.VirtualMachine) bool {
	return vm.Parent != nil && vm.Parent.Value == c.spec.Folder
}

// check returns an error if the virtual machine is not the one of the machine.
func (c *call) check(vm *client.VirtualMachine) error {
	switch {
	case vm.Config == nil:
		return platform.NewError(platform.ClassTransient,
			"virtual machine %q (%s, %s) has no configuration: it is still being made, or the vCenter or the credentials cannot read it",
			vm.Name, vm.Self.Value, vm.Runtime.ConnectionState)
	case !c.owner.OwnsVM(vm.ExtraConfig):
		return platform.NewError(platform.ClassConflict, "%w: virtual machine %q (%s, %s) does not have the marks of shoot %q and site %q",
			client.ErrForeign, vm.Name, vm.Self.Value, vm.Runtime.ConnectionState, c.owner.Shoot, c.owner.Site)
	case c.owner.MachineOf(vm.Config.Uuid, c.request.Name) == "":
		return platform.NewError(platform.ClassConflict,
			"%w: virtual machine %q (%s, %s) has the marks of shoot %q and site %q, but not the UUID of machine %q; it is a copy",
			client.ErrForeign, vm.Name, vm.Self.Value, vm.Runtime.ConnectionState, c.owner.Shoot, c.owner.Site, c.request.Name)
	}
	return nil
}

// find returns the virtual machine with the UUID of the request, wherever it is and whatever its name is, or else the one with the name
// in the shoot's folder: a virtual machine that is still being cloned has no UUID. It returns nil if there is none, and an error if it does
// not belong to the machine.
func (c *call) find(ctx context.Context) (*virtualMachine, error) {
	vm, err := c.findByUUID(ctx)
	if err != nil || vm != nil {
		return vm, err
	}
	return c.findByName(ctx)
}

func (c *call) findByUUID(ctx context.Context) (*virtualMachine, error) {
	return c.operable(c.session.FindByUUID(ctx, c.uuid(), c.search()))
}

func (c *call) findByName(ctx context.Context) (*virtualMachine, error) {
	return c.operable(c.session.FindByName(ctx, c.spec.Folder, c.search()))
}

func (c *call) operable(vm *client.VirtualMachine, err error) (*virtualMachine, error) {
	if err != nil || vm == nil {
		return nil, err
	}
	return &virtualMachine{VirtualMachine: vm, session: c.session}, nil
}

// proveAbsence returns nil if a virtual machine that was not found does not exist, and an error if the credentials may not see it.
func (c *call) proveAbsence(ctx context.Context) error {
	if err := c.session.CheckFolder(ctx, c.spec.Connection, c.spec.Folder); err != nil {
		return platform.NewError(platform.ClassOf(err), "virtual machine %q was not found, but may exist in %q: %w", c.request.Name,
			c.spec.FolderPath, err)
	}
	return nil
}

func reference(kind, id string) types.ManagedObjectReference {
	return types.ManagedObjectReference{Type: kind, Value: id}
}
