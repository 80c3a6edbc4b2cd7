// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package hosts finds, claims and releases hosts that are objects of a Kubernetes API and name their machine as their consumer. An
// inventory says what its hosts are like.
package hosts

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/kubernetes/owner"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/metal/inventory"
)

// Object is a pointer to a host.
type Object[T any] interface {
	*T
	client.Object
}

// Kind is what the hosts of an inventory are like.
type Kind[T any, H Object[T]] struct {
	// Resource is that of the hosts in the API.
	Resource schema.GroupVersionResource
	// ProviderIDPrefix begins the provider IDs of machines. They go on with a namespace and the names of a host and a machine.
	ProviderIDPrefix string
	// List reads hosts.
	List func(ctx context.Context, reader client.Reader, options ...client.ListOption) ([]T, error)
	// Strip removes what is not read from a host, because a process keeps all hosts of an inventory.
	Strip toolscache.TransformFunc

	// Obstacles are all obstacles, in the order of their description.
	Obstacles []inventory.Obstacle
	// ObstacleTo returns why the host cannot be claimed now with the selection.
	ObstacleTo func(host H, selection *inventory.Selection) inventory.Obstacle
	// IsOf reports whether the host is the machine of the owner.
	IsOf func(host H, o owner.Owner, machine string) bool
	// HostOf returns the host as the machine of the name, or as one to be claimed with the selection if the name is empty.
	HostOf func(host H, machine string, selection *inventory.Selection) inventory.Host

	// Surveyed returns the hardware of the host, and whether it is tainted.
	Surveyed func(host H) inventory.Surveyed
	// StripSurveyed is Strip, but keeps the hardware.
	StripSurveyed toolscache.TransformFunc

	// SecretOf returns the Secret with the data of the machine on the host, without its name and the labels of its owner.
	SecretOf func(host H, machine string, data inventory.Data) (*corev1.Secret, error)
	// ClaimPatch returns the patch that makes the host the machine.
	ClaimPatch func(host H, o owner.Owner, request *inventory.Claim, data inventory.Data) any

	// Held returns why the host cannot be released now, nil if it can.
	Held func(host H) error
	// CleanPatch returns the patch that makes the inventory clean the host, nil if it was applied already.
	CleanPatch func(host H, machine, cleaning string) any
	// IsReleasable reports whether nothing of the machine is left on the host.
	IsReleasable func(host H) bool
	// Unreleased returns the error that this is not so yet.
	Unreleased func(host H) error
	// FreePatch returns the patch that frees the host of the machine.
	FreePatch func(host H, o owner.Owner, machine string) any
}

// MachineOf returns the name of the owner's machine on the host, empty if there is none.
func (k *Kind[T, H]) MachineOf(host H, o owner.Owner) string {
	if machine := host.GetLabels()[owner.LabelMachine]; o.Owns(host.GetLabels()) && k.IsOf(host, o, machine) {
		return machine
	}
	return ""
}

// ProviderID returns the provider ID of the machine on the host.
func ProviderID(prefix string, host client.Object, machine string) string {
	return prefix + host.GetNamespace() + "/" + host.GetName() + "/" + machine
}

// anyHost selects a host that has a machine.
var anyHost = &inventory.Selection{}

// machine returns the host as the machine.
func (k *Kind[T, H]) machine(host H, name string) inventory.Host {
	return k.HostOf(host, name, anyHost)
}

// Metadata is what patches change of the metadata of hosts. A value of nil removes a label or an annotation. A host that was changed since
// the resource version is not patched.
type Metadata struct {
	ResourceVersion string             `json:"resourceVersion"`
	Labels          map[string]*string `json:"labels,omitempty"`
	Annotations     map[string]*string `json:"annotations,omitempty"`
}

// Patch is a merge patch of a host, with only the fields of the spec that are changed.
type Patch[S any] struct {
	Metadata Metadata `json:"metadata"`
	Spec     S        `json:"spec"`
}

// Pointers returns the values as a patch needs them.
func Pointers(values map[string]string) map[string]*string {
	result := make(map[string]*string, len(values))
	for key, value := range values {
		result[key] = &value
	}
	return result
}

// Removed returns the removal of the keys as a patch needs it.
func Removed(values map[string]string) map[string]*string {
	result := make(map[string]*string, len(values))
	for key := range values {
		result[key] = nil
	}
	return result
}
