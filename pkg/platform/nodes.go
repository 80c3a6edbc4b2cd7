// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package platform

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
)

// Nodes connects nodes and Services with a site. The cloud-controller-manager uses it. Errors are classified.
type Nodes interface {
	// Open signs in at the site and returns once everything that nodes need there has answered. The site is open until ctx ends.
	Open(ctx context.Context, r NodesRequest) (NodeSite, error)
}

// NodesRequest names a site and says what for.
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

// NodeSite is a site that answered.
type NodeSite struct {
	// Machines finds the machines of nodes.
	Machines NodeMachines
	// OpenLoadBalancers returns what serves Services of type LoadBalancer once everything that they need has answered. It is nil if
	// the site has no load balancers. Nodes do not wait for it.
	OpenLoadBalancers func(ctx context.Context) (LoadBalancers, error)
}

// NodeMachines finds the machines of a site's nodes. It is asked only about nodes with the site's label whose provider ID, if there
// is one, is of the form that HasProviderID accepts. It is safe for concurrent use.
type NodeMachines interface {
	// HasProviderID reports whether the provider ID is of the form that the platform writes.
	HasProviderID(providerID string) bool
	// Exists reports whether the node's machine exists. It returns false only if the site itself said that there is no machine
	// with the node's provider ID, which the node has. The site of a machine of another site says the same.
	Exists(ctx context.Context, node *corev1.Node) (bool, error)
	// ShutDown reports whether the node's machine is off, so that its volumes can be detached.
	ShutDown(ctx context.Context, node *corev1.Node) (bool, error)
	// Describe returns the node's machine. Without a provider ID it is looked for among those that were made for the shoot on the
	// site. A machine that does not exist, or about which not all is known yet, is an error.
	Describe(ctx context.Context, node *corev1.Node) (NodeMachine, error)
}

// NodeMachine is what a site knows about the machine of a node.
type NodeMachine struct {
	// ProviderID is the ID of the machine, the same as platform.Machine has.
	ProviderID string
	// Type is the value of the label node.kubernetes.io/instance-type.
	Type string
	// Zones are the Gardener zones that the machine can be in. They are several if zones share a failure domain of the platform,
	// and none if the machine is in no zone of the site.
	Zones []string
	// Addresses are the addresses of the machine.
	Addresses []corev1.NodeAddress
}

// LoadBalancers makes, changes and deletes the load balancers of Services. The methods are those of the cloud provider interface of
// Kubernetes.
type LoadBalancers interface {
	GetLoadBalancer(ctx context.Context, cluster string, service *corev1.Service) (*corev1.LoadBalancerStatus, bool, error)
	GetLoadBalancerName(ctx context.Context, cluster string, service *corev1.Service) string
	EnsureLoadBalancer(ctx context.Context, cluster string, service *corev1.Service, nodes []*corev1.Node) (*corev1.LoadBalancerStatus, error)
	UpdateLoadBalancer(ctx context.Context, cluster string, service *corev1.Service, nodes []*corev1.Node) error
	EnsureLoadBalancerDeleted(ctx context.Context, cluster string, service *corev1.Service) error
	// Annotations are those that stay at a Service and say something wrong once its load balancer is gone.
	Annotations() []string
}
