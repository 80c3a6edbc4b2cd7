// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package metal3 is the inventory of sites whose hosts are managed by Metal3's baremetal-operator. A machine uses a BareMetalHost, which
// names it in its consumerRef.
package metal3

import (
	metal3v1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	metalclient "github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/metal/client"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/metal/inventory"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/metal/owner"
)

const (
	resourceHosts = "baremetalhosts"
	kindHost      = "BareMetalHost"
)

// Inventory implements inventory.Inventory.
type Inventory struct {
	session      *metalclient.Session
	owner        owner.Owner
	watched      bool
	reservations *reservations
}

var _ inventory.Inventory = &Inventory{}

// New returns the inventory behind the session.
func New(session *metalclient.Session, options inventory.Options) *Inventory {
	return &Inventory{
		session:      session,
		owner:        options.Owner,
		watched:      options.Watched,
		reservations: reservationsOf(session),
	}
}

// Resources implements inventory.Inventory.
func (i *Inventory) Resources() []schema.GroupVersionResource {
	return []schema.GroupVersionResource{metal3v1alpha1.GroupVersion.WithResource(resourceHosts)}
}

// Permissions implements inventory.Inventory.
func (i *Inventory) Permissions() []authorizationv1.ResourceAttributes {
	var result []authorizationv1.ResourceAttributes
	add := func(group, resource string, verbs ...string) {
		for _, verb := range verbs {
			result = append(result, authorizationv1.ResourceAttributes{Namespace: i.session.Namespace, Group: group, Resource: resource, Verb: verb})
		}
	}
	add(metal3v1alpha1.GroupVersion.Group, resourceHosts, "get", "list", "watch", "patch")
	add(corev1.GroupName, "secrets", "create", "patch", "delete")
	return result
}
