// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package infrastructure manages the network, subnet, router, security group and key pair of a shoot on an OpenStack site.
//
// A reconciliation first observes all objects in parallel, by ID if the state has it, and then only creates or updates what is missing or
// different. If nothing is, it sends no further requests. Objects that are not in the state are found by name and are ours if they bear our
// mark.
//
// A deletion deletes our objects and those that the shoot's bastions, Services, and API servers left behind on the site. Given objects are
// never changed, except that routes to the shoot's pods are removed from a given router.
package infrastructure

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/gophercloud/gophercloud/v2/openstack/blockstorage/v3/volumetypes"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/availabilityzones"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/flavors"
	computelimits "github.com/gophercloud/gophercloud/v2/openstack/compute/v2/limits"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"
	"github.com/gophercloud/gophercloud/v2/openstack/image/v2/images"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/client"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/owner"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
)

type infrastructure struct {
	sessions *client.Sessions
}

// New returns the Infrastructure part of the OpenStack platform.
func New(sessions *client.Sessions) platform.Infrastructure {
	return &infrastructure{sessions: sessions}
}

// Reconcile implements platform.Infrastructure.
func (i *infrastructure) Reconcile(ctx context.Context, s *site.Site, persist platform.Persist) (_ *v1alpha1.SiteStatus, err error) {
	defer platform.NameSite(s.Name, &err)
	if s.Profile == nil || s.Profile.OpenStack == nil {
		return nil, client.ErrNoProfile
	}
	f, err := i.flow(ctx, s, client.ConnectionOf(s.Profile), persist)
	if err != nil {
		return nil, err
	}
	if err := f.checkScopeInUse(); err != nil {
		return nil, err
	}
	if err := observation(ctx, f); err != nil {
		return nil, err
	}
	if err := f.Record(ctx, func(state *v1alpha1.OpenStackState) {
		state.Connection = client.ConnectionOf(s.Profile)
		recordRanges(state, s.Network)
	}); err != nil {
		return nil, err
	}
	if err := f.recordProject(ctx); err != nil {
		return nil, err
	}
	if err := creation(ctx, f); err != nil {
		return nil, err
	}
	return f.status(), nil
}

// Delete implements platform.Infrastructure.
func (i *infrastructure) Delete(ctx context.Context, s *site.Site, persist platform.Persist) (err error) {
	defer platform.NameSite(s.Name, &err)
	connection, ok := deleteConnection(s)
	if !ok {
		return nil
	}
	f, err := i.flow(ctx, s, connection, persist)
	if err != nil {
		return fmt.Errorf("%w: %w", platform.ErrNoAccess, err)
	}
	if err := f.checkScope(); err != nil {
		return err
	}
	return deleteAll(ctx, f)
}

// Orphans implements platform.Infrastructure.
func (i *infrastructure) Orphans(ctx context.Context, s *site.Site) (_ []v1alpha1.Orphan, err error) {
	defer platform.NameSite(s.Name, &err)
	connection, ok := deleteConnection(s)
	if !ok {
		return nil, nil
	}
	f, err := i.flow(ctx, s, connection, readOnly)
	if err != nil {
		return nil, err
	}
	if err := f.checkScope(); err != nil {
		return nil, err
	}
	return orphansOf(ctx, f)
}

// Checks implements platform.Infrastructure.
func (i *infrastructure) Checks() []platform.Check {
	return checks.List()
}

// Validate implements platform.Infrastructure.
func (i *infrastructure) Validate(ctx context.Context, s *site.Site, request platform.ValidationRequest) (_ platform.Findings, err error) {
	defer platform.NameSite(s.Name, &err)
	return checks.Run(ctx, i.validation(ctx, s, request), request.Skip)
}

// validation returns the validation of a site.
func (i *infrastructure) validation(ctx context.Context, s *site.Site, request platform.ValidationRequest) *validation {
	v := &validation{path: request.Path, demands: request.Demands, controlPlane: request.ControlPlane}
	v.login = func(ctx context.Context) (*flow, error) {
		if s.Profile == nil || s.Profile.OpenStack == nil {
			return nil, client.ErrNoProfile
		}
		return i.login(ctx, s, client.ConnectionOf(s.Profile), readOnly)
	}
	v.floatingPools = sync.OnceValues(func() ([]network, error) { return networkChecks{v}.listFloatingPools(ctx) })
	v.availabilityZones = sync.OnceValues(func() ([]availabilityzones.AvailabilityZone, error) {
		return client.AvailabilityZones(ctx, availabilityzones.List(v.compute))
	})
	v.flavors = sync.OnceValues(func() ([]flavors.Flavor, error) { return machineChecks{v}.listFlavors(ctx) })
	v.images = sync.OnceValues(func() (map[v1alpha1.OpenStackImage][]images.Image, error) { return machineChecks{v}.listImages(ctx) })
	v.servers = sync.OnceValues(func() ([]servers.Server, error) { return ownServers(ctx, v.flow) })
	v.computeLimits = sync.OnceValues(func() (*computelimits.Limits, error) {
		return client.Extracted(computelimits.Get(ctx, v.compute, nil).Extract())
	})
	v.networkQuota = sync.OnceValues(func() (quota, error) { return quotaChecks{v}.getNetworkQuota(ctx) })
	v.volumeTypes = sync.OnceValues(func() ([]volumetypes.VolumeType, error) { return volumeChecks{v}.listVolumeTypes(ctx) })
	return v
}

// readOnly prevents listings and validations from changing the state.
func readOnly(context.Context, *v1alpha1.SiteState) error {
	return errors.New("the state must not change")
}

// deleteConnection prefers the connection of the CloudProfile, which may have a new address or certificate authority, over that of the
// state, which remains when the site is removed from the CloudProfile. It returns false if nothing was ever created.
func deleteConnection(s *site.Site) (v1alpha1.OpenStackConnection, bool) {
	switch {
	case s.Profile != nil && s.Profile.OpenStack != nil:
		return client.ConnectionOf(s.Profile), true
	case s.State != nil && s.State.OpenStack != nil:
		return s.State.OpenStack.Connection, true
	default:
		return v1alpha1.OpenStackConnection{}, false
	}
}

func (i *infrastructure) flow(ctx context.Context, s *site.Site, connection v1alpha1.OpenStackConnection, persist platform.Persist) (*flow,
	error) {
	f, err := i.login(ctx, s, connection, persist)
	if err != nil {
		return nil, err
	}
	return f, f.connect(ctx)
}

// login returns a flow without clients of services.
func (i *infrastructure) login(ctx context.Context, s *site.Site, connection v1alpha1.OpenStackConnection, persist platform.Persist) (*flow,
	error) {
	session, err := i.sessions.Get(ctx, s.Name, connection, s.Credentials)
	if err != nil {
		return nil, err
	}
	return &flow{
		recorder: newRecorder(s, connection, persist),
		session:  session,
		site:     s,
		owner:    owner.Owner{Shoot: s.Shoot, Site: s.Name},
	}, nil
}

// recordProject records the project if the state has no objects, or if one of them was observed in the project: old states do not record
// the project of their objects.
func (f *flow) recordProject(ctx context.Context) error {
	project, err := f.session.ProjectID()
	if err != nil {
		return err
	}
	if state := f.State(); hasObjects(state) && !f.observed.has(state, project) {
		return nil
	}
	return f.Record(ctx, func(state *v1alpha1.OpenStackState) { state.ProjectID = project })
}

// status returns the observed state of the site's infrastructure.
func (f *flow) status() *v1alpha1.SiteStatus {
	observed := &f.observed
	status := &v1alpha1.OpenStackStatus{
		ProjectID:         f.State().ProjectID,
		Region:            f.State().Connection.Region,
		NetworkID:         observed.network.ID,
		NetworkMTU:        int32(observed.network.MTU), // #nosec G115 -- an MTU is small
		SubnetID:          observed.subnet.ID,
		RouterID:          observed.router.ID,
		FloatingNetworkID: observed.router.GatewayInfo.NetworkID,
		FloatingSubnetID:  observed.floatingSubnetID,
		SecurityGroupID:   observed.securityGroup.ID,
	}
	if observed.keyPair != nil {
		status.KeyName = observed.keyPair.Name
	}
	if observed.shareNetwork != nil {
		status.ShareNetworkID = observed.shareNetwork.ID
	}
	return &v1alpha1.SiteStatus{Name: f.site.Name, EgressCIDRs: egressCIDRs(&observed.router.GatewayInfo), OpenStack: status}
}

// observation observes all objects of the site in parallel, in one round trip if the state has their IDs, and then those that depend on
// objects that were not in the state.
var observation = sequence(
	parallel(
		observeNetworks, subnetKind.observe, routerKind.observe, securityGroupKind.observe, observeKeyPair,
		observeRouterInterface, observeFloatingSubnets, observeShareNetwork,
	),
	parallel(observeNewInterface, observeNewFloatingSubnets),
)

// creation creates or updates what is missing or different, independent objects in parallel.
var creation = parallel(
	sequence(
		parallel(
			sequence(networkKind.ensure, ensureSubnet, ensureShareNetwork),
			routerKind.ensure,
		),
		ensureRouterInterface,
	),
	ensureSecurityGroup,
	ensureKeyPair,
)

// deleteAll deletes our objects, which are those in the state that are managed and those found by name and mark, and what Services left
// behind. Dependents are deleted first.
func deleteAll(ctx context.Context, f *flow) error {
	var machinesErr, bastionsErr error // A server that is not deleted blocks its subnet only.
	err := parallel(
		sequence(
			parallel(deleteLoadBalancers, func(ctx context.Context, f *flow) error {
				machinesErr = deleteMachines(ctx, f)
				return nil
			}, func(ctx context.Context, f *flow) error {
				bastionsErr = deleteBastions(ctx, f)
				return nil
			}),
			parallel(floatingIPKind.delete, machineFloatingIPKind.delete, deleteRoutes, shareNetworkKind.delete),
			parallel(
				sequence(deleteRouterInterfaces, parallel(routerKind.delete, sequence(subnetKind.delete, networkKind.delete))),
				securityGroupKind.delete,
				serviceSecurityGroupKind.delete,
			),
		),
		sequence(
			func(ctx context.Context, f *flow) error { return deleteKeyPairs(ctx, f) },
			func(ctx context.Context, f *flow) error { return f.forget(ctx, keyPair, formerKeyPair) },
		),
		serverGroupKind.delete,
	)(ctx, f)
	return errors.Join(machinesErr, bastionsErr, err)
}

// orphanLists has the lists of all kinds of objects, in the order in which orphans are reported.
var orphanLists = []orphanList{
	orphansOfBastions(serverKind.orphans), orphansOfBastions(machineFloatingIPKind.orphans), orphansOfBastions(portKind.orphans),
	orphansOfBastions(bastionSecurityGroupKind.orphans),
	serverKind.orphans, machineFloatingIPKind.orphans, volumeKind.orphans, serverGroupKind.orphans, keyPairKind.orphans,
	loadBalancerKind.orphans, floatingIPKind.orphans, portKind.orphans, securityGroupKind.orphans, serviceSecurityGroupKind.orphans,
	shareNetworkKind.orphans, subnetKind.orphans, networkKind.orphans, routerKind.orphans,
}

// orphansOf lists all objects in parallel. A failing list does not prevent the others from being returned.
func orphansOf(ctx context.Context, f *flow) ([]v1alpha1.Orphan, error) {
	found := make([][]v1alpha1.Orphan, len(orphanLists))
	errs := platform.Each(len(orphanLists), func(i int) (err error) {
		found[i], err = orphanLists[i](ctx, f)
		return err
	})
	return slices.Concat(found...), errors.Join(distinct(errs)...)
}

// distinct leaves out errors with the message of another one: several lists send the same requests.
func distinct(errs []error) []error {
	messages := sets.Set[string]{}
	return slices.DeleteFunc(errs, func(err error) bool {
		if err == nil || messages.Has(err.Error()) {
			return true
		}
		messages.Insert(err.Error())
		return false
	})
}
