// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package ironcore is the inventory of sites whose servers are managed by IronCore's metal-operator. A machine has a ServerClaim of its
// name there, which metal-operator binds to a Server.
package ironcore

import (
	metalv1alpha1 "github.com/ironcore-dev/metal-operator/api/v1alpha1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	metalclient "github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/metal/client"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/metal/inventory"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/metal/owner"
)

const (
	resourceServers      = "servers"
	resourceServerClaims = "serverclaims"
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
		reservations: session.Value(reservationsKey{}, func() any { return &reservations{servers: map[string]struct{}{}} }).(*reservations),
	}
}

// Resources implements inventory.Inventory.
func (i *Inventory) Resources() []schema.GroupVersionResource {
	return []schema.GroupVersionResource{
		metalv1alpha1.GroupVersion.WithResource(resourceServers),
		metalv1alpha1.GroupVersion.WithResource(resourceServerClaims),
	}
}

// Permissions implements inventory.Inventory.
func (i *Inventory) Permissions() []authorizationv1.ResourceAttributes {
	var result []authorizationv1.ResourceAttributes
	add := func(namespace, group, resource string, verbs ...string) {
		for _, verb := range verbs {
			result = append(result, authorizationv1.ResourceAttributes{Namespace: namespace, Group: group, Resource: resource, Verb: verb})
		}
	}
	add("", metalv1alpha1.GroupVersion.Group, resourceServers, "get", "list", "watch")
	add(i.session.Namespace, metalv1alpha1.GroupVersion.Group, resourceServerClaims, "get", "list", "watch", "create", "patch", "delete")
	add(i.session.Namespace, corev1.GroupName, "secrets", "create", "patch", "delete")
	return result
}
