// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package nodes

import (
	"cmp"
	"context"
	"strings"

	metalv1alpha1 "github.com/ironcore-dev/metal-operator/api/v1alpha1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	metalclient "github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/metal/client"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/metal/owner"
)

// ironCore are Servers with their ServerClaims.
type ironCore struct {
	session *metalclient.Session
	owner   owner.Owner
}

func (c *ironCore) check(ctx context.Context) error {
	err := c.session.Client().List(ctx, &metalv1alpha1.ServerClaimList{},
		client.InNamespace(c.session.Namespace), client.MatchingLabels(c.owner.Labels()), client.Limit(1))
	if err == nil {
		err = c.session.Client().List(ctx, &metalv1alpha1.ServerList{}, client.Limit(1))
	}
	return metalclient.Classify(err)
}

// byProviderID implements hosts. The machine has no server any more if its claim is gone. A claim of that name that is another's
// proves nothing.
func (c *ironCore) byProviderID(ctx context.Context, providerID string) (*host, error) {
	machine := strings.TrimPrefix(providerID, owner.IronCoreID(c.session.Namespace, ""))
	claim, err := c.claim(ctx, machine)
	if claim == nil || err != nil {
		return nil, err
	}
	if !c.owner.OwnsMachine(claim.Labels, machine) {
		return nil, platform.NewError(platform.ClassConflict, "server claim %q exists, but is not that of machine %q of site %q", claim.Name,
			machine, c.owner.Site)
	}
	return c.host(ctx, claim)
}

// byNodeName implements hosts. Nodes are named after their machines, which their claims are named after, or after their servers.
func (c *ironCore) byNodeName(ctx context.Context, name string) ([]host, error) {
	var names []string
	server, err := c.server(ctx, name)
	if err != nil {
		return nil, err
	}
	if server != nil && server.Spec.ServerClaimRef != nil && server.Spec.ServerClaimRef.Namespace == c.session.Namespace {
		names = append(names, server.Spec.ServerClaimRef.Name)
	}
	var result []host
	for _, machine := range append(names, name) {
		claim, err := c.claim(ctx, machine)
		if err != nil {
			return nil, err
		}
		if claim == nil || !c.owner.OwnsMachine(claim.Labels, machine) {
			continue
		}
		found, err := c.host(ctx, claim)
		if err != nil {
			return nil, err
		}
		result = append(result, *found)
	}
	return result, nil
}

// claim returns the claim of the name, nil if there is none.
func (c *ironCore) claim(ctx context.Context, name string) (*metalv1alpha1.ServerClaim, error) {
	claim := &metalv1alpha1.ServerClaim{}
	if err := c.session.Client().Get(ctx, client.ObjectKey{Namespace: c.session.Namespace, Name: name}, claim); err != nil {
		return nil, metalclient.IgnoreNotFound(err)
	}
	return claim, nil
}

// server returns the server of the name, nil if there is none.
func (c *ironCore) server(ctx context.Context, name string) (*metalv1alpha1.Server, error) {
	server := &metalv1alpha1.Server{}
	if err := c.session.Client().Get(ctx, client.ObjectKey{Name: name}, server); err != nil {
		return nil, metalclient.IgnoreNotFound(err)
	}
	return server, nil
}

// host returns the host that the claim is for. Nothing is known of it if its server is not held for the claim.
func (c *ironCore) host(ctx context.Context, claim *metalv1alpha1.ServerClaim) (*host, error) {
	result := &host{
		machine:    claim.Name,
		providerID: owner.IronCoreID(claim.Namespace, claim.Name),
		nodeName:   cmp.Or(claim.Annotations[owner.AnnotationNode], claim.Name),
	}
	if claim.Spec.ServerRef == nil {
		return result, nil
	}
	result.name = claim.Spec.ServerRef.Name
	server, err := c.server(ctx, result.name)
	if server == nil || err != nil {
		return result, err
	}
	if ref := server.Spec.ServerClaimRef; ref == nil || ref.Namespace != claim.Namespace || ref.Name != claim.Name {
		return result, nil
	}
	result.labels = server.Labels
	result.off = serverOff(server)
	result.systemUUID = server.Spec.SystemUUID
	result.vendor, result.model = server.Status.Manufacturer, server.Status.Model
	for _, card := range server.Status.NetworkInterfaces {
		for _, ip := range card.IPs {
			result.discovered = append(result.discovered, ip.Addr)
		}
	}
	return result, nil
}

// serverOff reports whether the server has no power. What metal-operator says about power is not true any more while it leaves the
// server alone, and is someone else's doing while that one works at it.
func serverOff(server *metalv1alpha1.Server) bool {
	_, left := server.Annotations[metalv1alpha1.OperationAnnotation]
	return server.Status.PowerState == metalv1alpha1.ServerOffPowerState && server.Status.State == metalv1alpha1.ServerStateReserved && !left
}
