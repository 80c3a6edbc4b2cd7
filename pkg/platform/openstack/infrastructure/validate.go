// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package infrastructure

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"

	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/availabilityzones"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/flavors"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/loadbalancers"
	"github.com/gophercloud/gophercloud/v2/pagination"
	fieldpath "k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/client"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
)

// validation checks what a shoot wants from a site.
type validation struct {
	*flow
	// login returns the flow, and is called by the first check.
	login   func(context.Context) (*flow, error)
	path    *fieldpath.Path
	demands []platform.Demand
	// given is the given network of the nodes, nil if there is none.
	given *network

	// What several checks need is requested once.
	floatingPools shared[[]network]
	flavors       shared[[]flavors.Flavor]
	servers       shared[[]servers.Server]
}

// shared returns what several checks need.
type shared[T any] func() (T, error)

// validation returns the validation of a site.
func (i *infrastructure) validation(ctx context.Context, s *site.Site, request platform.ValidationRequest) *validation {
	v := &validation{path: request.Path, demands: request.Demands}
	v.login = func(ctx context.Context) (*flow, error) {
		if s.Profile == nil || s.Profile.OpenStack == nil {
			return nil, client.ErrNoProfile
		}
		return i.login(ctx, s, client.ConnectionOf(s.Profile), readOnly)
	}
	v.floatingPools = sync.OnceValues(func() ([]network, error) { return v.listFloatingPools(ctx) })
	v.flavors = sync.OnceValues(func() ([]flavors.Flavor, error) {
		return client.List(ctx, flavors.ListDetail(v.compute, flavors.ListOpts{}), flavors.ExtractFlavors)
	})
	v.servers = sync.OnceValues(func() ([]servers.Server, error) { return ownServers(ctx, v.flow) })
	return v
}

// object returns the path of a field in the site's OpenStack block.
func (v *validation) object(name string, more ...string) *fieldpath.Path {
	return v.path.Child("openstack").Child(name, more...)
}

// missing reports that an object does not exist or is not visible: OpenStack does not distinguish the two.
func missing(result *platform.Result, path *fieldpath.Path, value string) {
	result.Invalid(path, value, "does not exist or is not visible to the credentials")
}

// authentication logs in.
func (v *validation) authentication(ctx context.Context, _ *platform.Result) (err error) {
	v.flow, err = v.login(ctx)
	return err
}

// project checks that the credentials are for the project and region of the shoot's objects.
func (v *validation) project(context.Context, *platform.Result) error {
	return v.checkScopeInUse()
}

// services checks that the catalog has the services that every site needs.
func (v *validation) services(ctx context.Context, _ *platform.Result) error {
	return v.connect(ctx)
}

// readOnlyRoles are the roles of OpenStack's default policies that do not permit creating anything. Custom roles of a cloud are unknown.
var readOnlyRoles = []string{"reader", "load-balancer_observer", "load-balancer_global_observer"}

// balancerRoles are the roles of Octavia's default policy that permit creating load balancers.
var balancerRoles = []string{"load-balancer_member", "load-balancer_admin", "admin"}

// roles checks that the credentials may create objects.
func (v *validation) roles(_ context.Context, result *platform.Result) error {
	roles, err := v.session.Roles()
	if err == nil && !writes(roles) {
		result.Forbidden(v.path, "the credentials are read-only: their roles in the project are %s", strings.Join(roles, ", "))
	}
	return err
}

// balancers checks that the credentials may create load balancers.
func (v *validation) balancers(ctx context.Context, result *platform.Result) error {
	roles, err := v.session.Roles()
	if err != nil {
		return err
	}
	service, err := v.session.LoadBalancer(ctx)
	if errors.Is(err, client.ErrNoService) {
		return nil
	}
	if err != nil {
		return err
	}
	_, err = client.List(ctx, loadbalancers.List(service, loadbalancers.ListOpts{Name: v.owner.Name()}), loadbalancers.ExtractLoadBalancers)
	switch {
	case platform.ClassOf(err) == platform.ClassForbidden, err == nil && onlyObserves(roles):
		result.Warn(v.path, "the credentials may not create load balancers for Services, which usually requires the role load-balancer_member")
		return nil
	default:
		return err
	}
}

// shareNetwork checks that the site has the service for share networks.
func (v *validation) shareNetwork(ctx context.Context, result *platform.Result) error {
	if !wantsShareNetwork(v.flow) {
		return nil
	}
	_, err := v.session.SharedFileSystem(ctx)
	if errors.Is(err, client.ErrNoService) {
		result.Forbidden(v.object("shareNetwork"), "the site has no shared file system service")
		return nil
	}
	return err
}

func writes(roles []string) bool {
	return slices.ContainsFunc(roles, func(role string) bool { return !slices.Contains(readOnlyRoles, strings.ToLower(role)) })
}

// onlyObserves reports whether the roles permit reading load balancers but not creating them.
func onlyObserves(roles []string) bool {
	has := func(wanted []string) bool {
		return slices.ContainsFunc(roles, func(role string) bool { return slices.Contains(wanted, strings.ToLower(role)) })
	}
	return has(readOnlyRoles[1:]) && !has(balancerRoles)
}

// zones checks the availability zones of the CloudProfile. The shoot need not use all of them, so findings are warnings.
func (v *validation) zones(ctx context.Context, result *platform.Result) error {
	existing, err := client.List(ctx, availabilityzones.List(v.compute).WithPageCreator(newZonePage), extractZones)
	path := v.path.Child("name")
	if platform.ClassOf(err) == platform.ClassForbidden {
		result.Unknown(path, "the credentials may not list availability zones, so the zones of the CloudProfile are not checked")
		return nil
	}
	if err != nil {
		return err
	}
	for _, zone := range v.site.Profile.Zones {
		if zone.OpenStack == nil {
			continue
		}
		name := zone.OpenStack.AvailabilityZone
		if !slices.ContainsFunc(existing,
			func(z availabilityzones.AvailabilityZone) bool { return z.ZoneName == name && z.ZoneState.Available }) {
			result.Warn(path, "availability zone %q of zone %q does not exist or is not available", name, zone.Name)
		}
	}
	return nil
}

// zonePage is the only page of availability zones. The library's page type expects a list.
type zonePage struct {
	availabilityzones.AvailabilityZonePage
}

func newZonePage(r pagination.PageResult) pagination.Page {
	return zonePage{availabilityzones.AvailabilityZonePage{SinglePageBase: pagination.SinglePageBase(r)}}
}

// IsEmpty implements pagination.Page.
func (p zonePage) IsEmpty() (bool, error) {
	zones, err := extractZones(p)
	return len(zones) == 0, err
}

func extractZones(page pagination.Page) ([]availabilityzones.AvailabilityZone, error) {
	if p, ok := page.(zonePage); ok {
		page = p.AvailabilityZonePage
	}
	return availabilityzones.ExtractAvailabilityZones(page)
}
