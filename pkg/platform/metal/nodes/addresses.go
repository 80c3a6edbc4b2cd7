// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package nodes

import (
	"context"
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	metalclient "github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/metal/client"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/metal/owner"
)

// The parts of the IPAM contract that are read.
const (
	kindAddressClaim = "IPAddressClaim"
	kindAddress      = "IPAddress"
	poolGroupName    = "ipam.cluster.x-k8s.io"
)

// addressesOf returns the addresses of the node on the host: those that the node has, or else the one that its machine got from a
// pool, or else those of the host's discovery. Its kubelet knows best which address is the node's, but tells only if somebody told it;
// a discovery was before the machine began, and may have been in another network.
func addressesOf(ctx context.Context, session *metalclient.Session, o owner.Owner, node *corev1.Node, h *host) ([]corev1.NodeAddress,
	error) {
	hostname := corev1.NodeAddress{Type: corev1.NodeHostName, Address: node.Name}
	var own []corev1.NodeAddress
	for _, address := range node.Status.Addresses {
		switch address.Type {
		case corev1.NodeInternalIP:
			own = append(own, address)
		case corev1.NodeHostName:
			hostname = address
		}
	}
	if len(own) > 0 {
		return append(own, hostname), nil
	}

	addresses, err := pooled(ctx, session, o, h.machine)
	if err != nil {
		return nil, err
	}
	if len(addresses) == 0 {
		addresses = slices.DeleteFunc(slices.Clone(h.discovered), func(a netip.Addr) bool { return !a.IsGlobalUnicast() })
	}
	if len(addresses) == 0 {
		return nil, platform.NewError(platform.ClassTransient,
			"no address of node %q is known: its kubelet reports none, its machine has none from a pool, and none was discovered on host %q", node.Name, h.name)
	}
	result := make([]corev1.NodeAddress, 0, len(addresses)+1)
	for _, address := range addresses {
		result = append(result, corev1.NodeAddress{Type: corev1.NodeInternalIP, Address: address.String()})
	}
	return append(result, hostname), nil
}

// pooled returns the address that the machine got from a pool, none if it has no claim. Without pools the inventory does not serve
// claims, or the credentials do not allow to read them.
func pooled(ctx context.Context, session *metalclient.Session, o owner.Owner, machine string) ([]netip.Addr, error) {
	claim, err := get(ctx, session, kindAddressClaim, machine)
	if meta.IsNoMatchError(err) || platform.ClassOf(metalclient.Classify(err)) == platform.ClassForbidden {
		return nil, nil
	}
	if err != nil {
		return nil, metalclient.IgnoreNotFound(err)
	}
	if !o.OwnsMachine(claim.GetLabels(), machine) {
		return nil, nil
	}
	name, _, _ := unstructured.NestedString(claim.Object, "status", "addressRef", "name")
	if name == "" {
		return nil, platform.NewError(platform.ClassTransient, "the pool has not given machine %q an address yet", machine)
	}
	object, err := get(ctx, session, kindAddress, name)
	if err != nil {
		return nil, metalclient.Classify(err)
	}
	text, _, _ := unstructured.NestedString(object.Object, "spec", "address")
	address, err := netip.ParseAddr(text)
	if err != nil {
		return nil, platform.NewError(platform.ClassConfiguration, "address %q of machine %q is not one: %w", name, machine, err)
	}
	return []netip.Addr{address}, nil
}

// get returns an object of the IPAM contract in any version that the inventory serves: what is read is the same in all.
func get(ctx context.Context, session *metalclient.Session, kind, name string) (*unstructured.Unstructured, error) {
	mapping, err := session.Client().RESTMapper().RESTMapping(schema.GroupKind{Group: poolGroupName, Kind: kind})
	if err != nil {
		return nil, err
	}
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(mapping.GroupVersionKind)
	return object, session.Client().Get(ctx, client.ObjectKey{Namespace: session.Namespace, Name: name}, object)
}
