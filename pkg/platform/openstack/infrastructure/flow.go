// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package infrastructure

import (
	"context"
	"errors"
	"net/netip"
	"slices"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/keypairs"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/external"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/routers"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/mtu"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/security/groups"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/networks"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/ports"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/subnets"
	"github.com/gophercloud/gophercloud/v2/openstack/sharedfilesystems/v2/sharenetworks"
	"k8s.io/utils/ptr"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/lists"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/client"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/owner"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
)

// flow is one reconciliation or deletion of one site.
type flow struct {
	*recorder
	session  *client.Session
	site     *site.Site
	owner    owner.Owner
	network  *gophercloud.ServiceClient
	compute  *gophercloud.ServiceClient
	observed observed
}

// config returns the site's OpenStack block of the InfrastructureConfig, or an empty one.
func (f *flow) config() v1alpha1.OpenStackInfrastructure {
	if f.site.Config == nil || f.site.Config.OpenStack == nil {
		return v1alpha1.OpenStackInfrastructure{}
	}
	return *f.site.Config.OpenStack
}

// profile returns the site's OpenStack block of the CloudProfile, or an empty one.
func (f *flow) profile() v1alpha1.OpenStackProfile {
	if f.site.Profile == nil || f.site.Profile.OpenStack == nil {
		return v1alpha1.OpenStackProfile{}
	}
	return *f.site.Profile.OpenStack
}

// checkScope rejects credentials of another project than the one in the state, and a connection to another region than that of its objects.
func (f *flow) checkScope() error {
	return errors.Join(f.checkRegion(), f.session.CheckProject(f.State().ProjectID))
}

// checkScopeInUse is checkScope, except that another project is accepted as long as the state has no objects.
func (f *flow) checkScopeInUse() error {
	if !hasObjects(f.State()) {
		return f.checkRegion()
	}
	return f.checkScope()
}

func (f *flow) checkRegion() error {
	if state := f.State(); hasObjects(state) || state.KeyPair != nil {
		return f.session.CheckRegion(state.Connection.Region)
	}
	return nil
}

// hasObjects reports whether the state has objects that belong to a project. Key pairs belong to a user.
func hasObjects(state v1alpha1.OpenStackState) bool {
	return slices.ContainsFunc([]*v1alpha1.OpenStackObject{state.Network, state.Subnet, state.Router, state.SecurityGroup, state.ShareNetwork},
		func(object *v1alpha1.OpenStackObject) bool { return object != nil })
}

// recorder holds and persists the state of the site.
type recorder = platform.Recorder[v1alpha1.OpenStackState, *v1alpha1.OpenStackState]

func newRecorder(s *site.Site, connection v1alpha1.OpenStackConnection, persist platform.Persist) *recorder {
	return platform.NewRecorder[v1alpha1.OpenStackState](s, &v1alpha1.OpenStackState{Connection: connection},
		func(state *v1alpha1.SiteState) **v1alpha1.OpenStackState { return &state.OpenStack }, persist)
}

// observed is the observed state of the site; missing objects are nil.
type observed struct {
	network         *network
	floatingNetwork *network
	floatingSubnets floatingSubnets
	// floatingSubnetID is the requested subnet of the external network.
	floatingSubnetID string
	subnet           *subnets.Subnet
	router           *routers.Router
	routerInterface  *ports.Port
	securityGroup    *groups.SecGroup
	keyPair          *keypairs.KeyPair
	shareNetwork     *sharenetworks.ShareNetwork
}

// has reports whether an object of the state was observed in the project. Objects of other projects may be visible, too: shared ones, and
// for an administrator all of them.
func (s *observed) has(state v1alpha1.OpenStackState, project string) bool {
	is := func(known *v1alpha1.OpenStackObject, id, projectID string) bool {
		return known != nil && known.ID == id && projectID == project
	}
	return s.network != nil && is(state.Network, s.network.ID, s.network.ProjectID) ||
		s.subnet != nil && is(state.Subnet, s.subnet.ID, s.subnet.ProjectID) ||
		s.router != nil && is(state.Router, s.router.ID, s.router.ProjectID) ||
		s.securityGroup != nil && is(state.SecurityGroup, s.securityGroup.ID, s.securityGroup.ProjectID)
}

type network struct {
	networks.Network
	mtu.NetworkMTUExt
	external.NetworkExternalExt
}

// floatingSubnets are the subnets of an external network that have the requested name.
type floatingSubnets struct {
	networkID string
	found     []subnets.Subnet
}

// connect sets the clients of the services that every site has.
func (f *flow) connect(ctx context.Context) error {
	var networkErr, computeErr error
	f.network, networkErr = f.session.Network(ctx)
	f.compute, computeErr = f.session.Compute(ctx)
	return errors.Join(networkErr, computeErr)
}

func referenceID(reference *v1alpha1.OpenStackReference) string {
	return ptr.Deref(reference, v1alpha1.OpenStackReference{}).ID
}

// step is part of a reconciliation or deletion.
type step func(context.Context, *flow) error

// orphanList lists our objects of a kind.
type orphanList func(context.Context, *flow) ([]v1alpha1.Orphan, error)

// parallel runs all steps to completion and joins their errors, so that each step records what it created even if another one fails.
func parallel(steps ...step) step {
	return func(ctx context.Context, f *flow) error {
		return errors.Join(platform.Each(len(steps), func(i int) error { return steps[i](ctx, f) })...)
	}
}

// sequence runs steps in order until one fails.
func sequence(steps ...step) step {
	return func(ctx context.Context, f *flow) error {
		for _, run := range steps {
			if err := run(ctx, f); err != nil {
				return err
			}
		}
		return nil
	}
}

// into stores the result of get.
func into[T any](target *T, get func(context.Context, *flow) (T, error)) step {
	return func(ctx context.Context, f *flow) (err error) {
		*target, err = get(ctx, f)
		return err
	}
}

// field selects an object in the state.
type field func(*v1alpha1.OpenStackState) **v1alpha1.OpenStackObject

func (f *flow) recordObject(ctx context.Context, id string, managed bool, place field) error {
	return f.Record(ctx, func(state *v1alpha1.OpenStackState) {
		*place(state) = &v1alpha1.OpenStackObject{ID: id, Managed: managed}
	})
}

// forget removes objects from the state.
func (f *flow) forget(ctx context.Context, places ...field) error {
	return f.Record(ctx, func(state *v1alpha1.OpenStackState) {
		for _, place := range places {
			*place(state) = nil
		}
	})
}

// floatingNetworkID returns the ID of the external network in the state.
func (f *flow) floatingNetworkID() string {
	if known := f.State().FloatingNetwork; known != nil {
		return known.ID
	}
	return ""
}

func floatingNetworkPlace(s *v1alpha1.OpenStackState) **v1alpha1.OpenStackObject {
	return &s.FloatingNetwork
}

// recordRanges records the ranges that identify objects left behind by Services, also after the site has left the shoot.
func recordRanges(state *v1alpha1.OpenStackState, network site.Network) {
	state.NodeRanges = cidrsOf(network.Nodes)
	state.PodRanges = cidrsOf(network.Pods)
}

// ranges are address ranges.
type ranges []netip.Prefix

// nodeRanges are the ranges of the site's nodes: those of the shoot, or those in the state if the shoot no longer uses the site.
func (f *flow) nodeRanges() ranges {
	return knownRanges(f.site.Network.Nodes, f.State().NodeRanges)
}

// podRanges are the shoot's pod ranges.
func (f *flow) podRanges() ranges {
	return knownRanges(f.site.Network.Pods, f.State().PodRanges)
}

func knownRanges(network []netip.Prefix, recorded []string) ranges {
	if len(network) > 0 {
		return network
	}
	var result ranges
	for _, text := range recorded {
		if prefix, err := netip.ParsePrefix(text); err == nil {
			result = append(result, prefix)
		}
	}
	return result
}

// contain reports whether an address is in one of the ranges.
func (r ranges) contain(address string) bool {
	parsed, err := netip.ParseAddr(address)
	return err == nil && slices.ContainsFunc(r, func(prefix netip.Prefix) bool { return prefix.Contains(parsed) })
}

// containRange reports whether a range is part of one of the ranges.
func (r ranges) containRange(cidr string) bool {
	parsed, err := netip.ParsePrefix(cidr)
	return err == nil && slices.ContainsFunc(r, func(prefix netip.Prefix) bool {
		return prefix.Bits() <= parsed.Bits() && prefix.Contains(parsed.Addr())
	})
}

func cidrsOf(prefixes []netip.Prefix) []string {
	return lists.Map(prefixes, netip.Prefix.String)
}
