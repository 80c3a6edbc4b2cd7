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

const (
	providerIDPrefix = "vsphere://"
	csiDriver        = "csi.vsphere.vmware.com"
)

type machines struct {
	sessions  *client.Sessions
	creations *creations
	deletions *deletions
}

// New returns the Machines part of the vSphere platform.
func New(sessions *client.Sessions) platform.Machines {
	return &machines{sessions: sessions, creations: newCreations(), deletions: newDeletions()}
}

// call is one operation on the virtual machines of one shoot on one site.
type call struct {
	request   platform.MachineRequest
	spec      *v1alpha1.VSphereMachineSpec
	owner     owner.Owner
	session   *client.Session
	creations *creations
	deletions *deletions
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
	return &call{
		request:   request,
		spec:      spec.VSphere,
		owner:     owner.Owner{Shoot: spec.Shoot, Site: spec.Site},
		session:   session,
		creations: m.creations,
		deletions: m.deletions,
	}, nil
}

// Get implements platform.Machines.
func (m *machines) Get(ctx context.Context, request platform.MachineRequest) (platform.Machine, error) {
	c, err := m.call(ctx, request)
	if err != nil {
		return platform.Machine{}, platform.InSite(request.Spec.Site, err)
	}
	machine, err := c.get(ctx)
	return machine, platform.InSite(request.Spec.Site, err)
}

// get takes a machine whose creation the vCenter accepted for one that exists while it goes on. A machine without an ID is one whose
// creation may have been interrupted: it exists only if it is complete, so that it is completed otherwise.
func (c *call) get(ctx context.Context) (platform.Machine, error) {
	if creation := c.creations.find(c.key()); creation != nil {
		ended, err := creation.state()
		if !ended {
			switch {
			case !creation.isAccepted():
				return platform.Machine{}, c.notAccepted()
			case creation.promise():
				return c.machine(), nil
			}
			_, err = creation.state()
		}
		switch known := c.request.ProviderID != ""; {
		case err == nil:
		case known && creation.session == c.session:
			return platform.Machine{}, err
		case known:
			// It was made with other credentials, which may be why it failed: what is there counts.
			c.creations.forget(creation)
		default:
			// Nobody knows of a machine. Why there may be none is told once, unless it passes; then what is there counts.
			c.creations.forget(creation)
			if class := platform.ClassOf(err); class != platform.ClassTransient && class != platform.ClassNotFound {
				return platform.Machine{}, err
			}
		}
	}
	vm, err := c.find(ctx)
	if err != nil {
		return platform.Machine{}, err
	}
	if vm == nil {
		return platform.Machine{}, c.notFound(ctx)
	}
	if c.request.ProviderID == "" {
		missing, err := c.missing(ctx, vm)
		if err != nil {
			return platform.Machine{}, err
		}
		if missing != "" {
			return platform.Machine{}, platform.NewError(platform.ClassNotFound, "virtual machine %q is not complete: %s", c.request.Name, missing)
		}
	}
	return vm.machine(c.request.Name), nil
}

// notFound is the error about a virtual machine that was not found.
func (c *call) notFound(ctx context.Context) error {
	if err := c.proveAbsence(ctx); err != nil {
		return err
	}
	return platform.NewError(platform.ClassNotFound, "virtual machine %q (%s) does not exist", c.request.Name, c.uuid())
}

func (c *call) notAccepted() error {
	return platform.NewError(platform.ClassTransient, "the vCenter has not accepted yet to make virtual machine %q", c.request.Name)
}

// missing says what a virtual machine lacks, and is empty if that is nothing, or if a creation would not complete it: where somebody
// renamed or moved it, it would be made again, and without its template, network or datastore it cannot.
func (c *call) missing(ctx context.Context, vm *virtualMachine) (string, error) {
	if vm.Name != c.request.Name || !c.inFolder(vm) {
		return "", nil
	}
	plan, err := c.plan(ctx)
	if platform.ClassOf(err) == platform.ClassConfiguration {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	if !vm.on() {
		return "it is off", nil
	}
	if flaw := plan.flaw(vm); flaw != "" {
		return flaw, nil
	}
	return c.missingTag(ctx, vm.reference)
}

// key is that of the machine's creation.
func (c *call) key() creationKey {
	return creationKey{owner: c.owner, name: c.request.Name}
}

// uuid is the UUID of the virtual machine.
func (c *call) uuid() string {
	if id := strings.TrimPrefix(c.request.ProviderID, providerIDPrefix); id != "" {
		return id
	}
	return c.owner.UUID(c.request.Name)
}

// machine is what is known of the machine without asking for it.
func (c *call) machine() platform.Machine {
	return platform.Machine{Name: c.request.Name, ProviderID: providerIDPrefix + c.uuid()}
}

// VolumeID implements platform.Machines.
func (m *machines) VolumeID(pv *corev1.PersistentVolumeSpec) (string, bool) {
	if pv.CSI != nil && pv.CSI.Driver == csiDriver {
		return pv.CSI.VolumeHandle, true
	}
	return "", false
}

func reference(kind, id string) types.ManagedObjectReference {
	return types.ManagedObjectReference{Type: kind, Value: id}
}
