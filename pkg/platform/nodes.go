// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package platform

import (
	"context"
	"encoding/binary"

	"github.com/google/uuid"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
)

// Nodes connects nodes and Services with a site. The cloud-controller-manager uses it. Errors are classified.
type Nodes interface {
	// Open logs in to the site and returns when all APIs that nodes need have answered. The site is open until ctx ends.
	Open(ctx context.Context, r NodesRequest) (NodeSite, error)
}

// NodesRequest names a site and a shoot.
type NodesRequest struct {
	// Shoot is the technical ID of the shoot.
	Shoot string
	// Site is the site.
	Site *v1alpha1.CloudControllerSite
	// Credentials are those of the site.
	Credentials site.Credentials
	// Client writes events and Services in the shoot.
	Client kubernetes.Interface
}

// NodeSite is an open site.
type NodeSite struct {
	// Machines finds the machines of nodes.
	Machines NodeMachines
	// OpenLoadBalancers returns the load balancers of the site when all APIs that they need have answered. It is nil if the site has no
	// load balancers. Nodes do not wait for it.
	OpenLoadBalancers func(ctx context.Context) (LoadBalancers, error)
}

// NodeMachines finds the machines of a site's nodes. It is called only for nodes with the site's label whose provider ID is empty or
// accepted by HasProviderID. It is safe for concurrent use.
type NodeMachines interface {
	// HasProviderID reports whether the provider ID has the form of the platform's provider IDs.
	HasProviderID(providerID string) bool
	// Exists reports whether the node's machine exists. It returns false only if the site reported that there is no machine with the
	// node's provider ID, which must be set. A site reports the same for machines of other sites.
	Exists(ctx context.Context, node *corev1.Node) (bool, error)
	// ShutDown reports whether the node's machine is powered off, so that its volumes can be detached.
	ShutDown(ctx context.Context, node *corev1.Node) (bool, error)
	// Describe returns the node's machine. Without a provider ID it searches the machines that were created for the shoot on the site. It
	// returns an error if the machine does not exist or is not completely known yet.
	Describe(ctx context.Context, node *corev1.Node) (NodeMachine, error)
}

// NodeMachine describes the machine of a node.
type NodeMachine struct {
	// ProviderID is the provider ID of the machine, equal to that of platform.Machine.
	ProviderID string
	// Type is the value of the label node.kubernetes.io/instance-type.
	Type string
	// Zones are the Gardener zones that the machine can be in. There are several if zones share a failure domain of the platform, and none
	// if the machine is not in a zone of the site.
	Zones []string
	// Addresses are the addresses of the machine.
	Addresses []corev1.NodeAddress
	// Birth is when the machine was powered and provisioned, as far as the site reports that together with the rest.
	Birth BirthTimes
}

// LoadBalancers creates, updates and deletes the load balancers of Services. The methods are those of the cloud provider interface of
// Kubernetes.
type LoadBalancers interface {
	GetLoadBalancer(ctx context.Context, cluster string, service *corev1.Service) (*corev1.LoadBalancerStatus, bool, error)
	GetLoadBalancerName(ctx context.Context, cluster string, service *corev1.Service) string
	EnsureLoadBalancer(ctx context.Context, cluster string, service *corev1.Service, nodes []*corev1.Node) (*corev1.LoadBalancerStatus, error)
	UpdateLoadBalancer(ctx context.Context, cluster string, service *corev1.Service, nodes []*corev1.Node) error
	EnsureLoadBalancerDeleted(ctx context.Context, cluster string, service *corev1.Service) error
	// Annotations are the annotations that are stale on a Service without its load balancer.
	Annotations() []string
}

// ReversedUUID returns the UUID as old firmware reports it: with the bytes of the first three fields in reverse order.
func ReversedUUID(id uuid.UUID) uuid.UUID {
	binary.LittleEndian.PutUint32(id[0:4], binary.BigEndian.Uint32(id[0:4]))
	binary.LittleEndian.PutUint16(id[4:6], binary.BigEndian.Uint16(id[4:6]))
	binary.LittleEndian.PutUint16(id[6:8], binary.BigEndian.Uint16(id[6:8]))
	return id
}
