// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package platform

import (
	"context"

	corev1 "k8s.io/api/core/v1"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
)

// Machines creates, finds and deletes the machines of a site. The machine-controller-manager driver uses it. Errors are
// classified; progress is never an error.
type Machines interface {
	// Create creates everything that the machine needs and returns as soon as its ID is known. It adopts what an interrupted call left
	// behind.
	Create(ctx context.Context, m MachineRequest) (Machine, error)
	// Initialize waits briefly for the site to report that it cannot run a machine that was just created, and returns that as an error. It
	// returns nil if the outcome is still unknown.
	Initialize(ctx context.Context, m MachineRequest) error
	// Get returns the machine with the request's provider ID or, if that is empty, name. It returns machines that are still starting. The
	// error is of ClassNotFound only if the site reported that the machine does not exist. A machine that exists, but will never run, is
	// returned together with an error.
	Get(ctx context.Context, m MachineRequest) (Machine, error)
	// Delete deletes the machine and what was created for it, and returns nil when it is gone. If that takes long it returns a transient
	// error that reports the progress. It is a no-op if the machine does not exist.
	Delete(ctx context.Context, m MachineRequest) error
	// List returns all machines of the shoot on the site, or in the part of it that a ListScoper names.
	List(ctx context.Context, m MachineRequest) ([]Machine, error)
	// VolumeID returns the ID of the volume in the site, and false if it is not a volume of the platform.
	VolumeID(pv *corev1.PersistentVolumeSpec) (string, bool)
}

// ListScoper is implemented by Machines that list the parts of a site separately.
type ListScoper interface {
	// ListScope names the part of the site whose machines List returns, empty if that is all of it. It does not ask the site.
	ListScope(spec *v1alpha1.MachineProviderSpec) string
}

// MachineRequest names a machine and describes its desired state.
type MachineRequest struct {
	// Name is the name of the machine; empty for List.
	Name string
	// ProviderID is the provider ID of the machine, empty if it is not known yet.
	ProviderID string
	// Spec is the provider spec of the machine's class.
	Spec *v1alpha1.MachineProviderSpec
	// Credentials are those of the machine's site.
	Credentials site.Credentials
	// UserData is the final user data, set for Create only.
	UserData []byte
	// Once is set for a Delete that is not retried once the machine is no longer listed.
	Once bool
	// Bastion is set for a bastion. Its marks differ from those of machines, which it is not listed with: it has no Machine and would be
	// deleted as an orphan.
	Bastion bool
}

// Machine is a machine that exists in a site.
type Machine struct {
	// Name is the name of the machine.
	Name string
	// NodeName is the name of the machine's node, empty if it equals that of the machine.
	NodeName string
	// ProviderID is the provider ID of the machine and its node.
	ProviderID string
	// Addresses are the addresses of the machine, if the site reports them.
	Addresses []corev1.NodeAddress
}

// Perform opens a call for the request and performs an operation of it. Errors name the site.
func Perform[C, T any](ctx context.Context, request MachineRequest, open func(context.Context, MachineRequest) (C, error),
	operation func(C, context.Context) (T, error)) (T, error) {
	var result T
	call, err := open(ctx, request)
	if err == nil {
		result, err = operation(call, ctx)
	}
	return result, InSite(request.Spec.Site, err)
}
