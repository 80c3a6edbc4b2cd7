// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package ironcore is the inventory of sites whose servers are managed by IronCore's metal-operator. A machine has a ServerClaim of its
// name there, which metal-operator binds to a Server.
package ironcore

import (
	"slices"

	metalv1alpha1 "github.com/ironcore-dev/metal-operator/api/v1alpha1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/kubernetes"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/metal/inventory"
)

const (
	resourceServers      = "servers"
	resourceServerClaims = "serverclaims"
)

// providerIDPrefix begins the provider IDs of IronCore's own driver. They go on with a namespace and the name of a claim.
const providerIDPrefix = "ironcore-metal://"

// Inventory implements inventory.Inventory.
type Inventory struct {
	inventory.Access
}

var _ inventory.Inventory = &Inventory{}

// New returns the inventory behind the session.
func New(session *kubernetes.Session, options inventory.Options) *Inventory {
	return &Inventory{inventory.NewAccess(session, options)}
}

// HasProviderID implements inventory.Inventory.
func (i *Inventory) HasProviderID(providerID string) bool {
	return inventory.HasForm(providerID, providerIDPrefix+i.Session.Namespace+"/", inventory.NameFormat)
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
	group, namespace := metalv1alpha1.GroupVersion.Group, i.Session.Namespace
	return slices.Concat(
		kubernetes.Permissions("", group, resourceServers, "get", "list", "watch"),
		kubernetes.Permissions(namespace, group, resourceServerClaims, "get", "list", "watch", "create", "patch", "delete"),
		kubernetes.Permissions(namespace, corev1.GroupName, "secrets", "create", "patch", "delete"))
}
