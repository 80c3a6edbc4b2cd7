// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package static is the inventory of sites whose hosts already have an operating system. A machine uses a StaticHost,
// which names it in its consumerRef. The operator of static hosts runs the machine's user data on the host, and removes the machine.
package static

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"

	staticv1alpha1 "github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/static/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/kubernetes"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/metal/hosts"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/metal/inventory"
)

const (
	resourceHosts = "statichosts"
	kindHost      = "StaticHost"
)

// providerIDPrefix begins the provider IDs of machines. They go on with a namespace and the names of a host and a machine.
const providerIDPrefix = "static://"

// kind is what StaticHosts are like.
var kind = hosts.Kind[staticv1alpha1.StaticHost, *staticv1alpha1.StaticHost]{
	Resource:         staticv1alpha1.SchemeGroupVersion.WithResource(resourceHosts),
	ProviderIDPrefix: providerIDPrefix,
	List:             list,
	Strip:            strip,
	Obstacles:        obstacles,
	ObstacleTo:       obstacleTo,
	IsOf:             isOf,
	HostOf:           hostOf,
	Surveyed:         surveyed,
	StripSurveyed:    strip,
	SecretOf:         secretOf,
	ClaimPatch:       claimPatch,
	Held:             held,
	CleanPatch:       cleanPatch,
	IsReleasable:     isReleasable,
	Unreleased:       unreleased,
	FreePatch:        freePatch,
}

// New returns the inventory behind the session.
func New(session *kubernetes.Session, options inventory.Options) inventory.Inventory {
	return hosts.New(session, options, &kind)
}

// list reads hosts.
func list(ctx context.Context, reader client.Reader, options ...client.ListOption) ([]staticv1alpha1.StaticHost, error) {
	found := &staticv1alpha1.StaticHostList{}
	err := reader.List(ctx, found, options...)
	return found.Items, err
}

// strip removes what is not read from a host, because a process keeps all hosts of an inventory.
func strip(object any) (any, error) {
	if host, ok := object.(*staticv1alpha1.StaticHost); ok {
		host.ManagedFields = nil
		host.OwnerReferences = nil
		host.Spec.HostKeys = nil
		host.Spec.SSHSecretRef = staticv1alpha1.LocalReference{}
		host.Spec.Reset = staticv1alpha1.Reset{}
		if host.Status.Facts != nil {
			host.Status.Facts.Disks = nil
		}
	}
	return object, nil
}
