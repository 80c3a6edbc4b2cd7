// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package infrastructure

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/gophercloud/gophercloud/v2/openstack/blockstorage/v3/volumetypes"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/availabilityzones"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/flavors"
	computelimits "github.com/gophercloud/gophercloud/v2/openstack/compute/v2/limits"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"
	"github.com/gophercloud/gophercloud/v2/openstack/image/v2/images"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/subnets"
	fieldpath "k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/lists"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/client"
)

// validation checks what a shoot wants from a site.
type validation struct {
	*flow
	// login returns the flow, and is called by the first check.
	login        func(context.Context) (*flow, error)
	path         *fieldpath.Path
	demands      []platform.Demand
	controlPlane v1alpha1.ControlPlaneSite
	// given and givenSubnet are the given network and subnet of the nodes, nil if there is none.
	given       *network
	givenSubnet *subnets.Subnet

	// What several checks need is requested once.
	floatingPools     shared[[]network]
	availabilityZones shared[[]availabilityzones.AvailabilityZone]
	flavors           shared[[]flavors.Flavor]
	images            shared[map[v1alpha1.OpenStackImage][]images.Image]
	servers           shared[[]servers.Server]
	computeLimits     shared[*computelimits.Limits]
	networkQuota      shared[quota]
	volumeTypes       shared[[]volumetypes.VolumeType]
}

// shared returns what several checks need.
type shared[T any] func() (T, error)

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

// region checks that the region is that of the shoot's objects.
func (v *validation) region(context.Context, *platform.Result) error {
	return v.checkRegion()
}

// project checks that the credentials are for the project of the shoot's objects.
func (v *validation) project(context.Context, *platform.Result) error {
	if !hasObjects(v.State()) {
		return nil
	}
	return v.session.CheckProject(v.State().ProjectID)
}

// services checks that the catalog has the services that every site needs.
func (v *validation) services(ctx context.Context, _ *platform.Result) error {
	return v.connect(ctx)
}

// readOnlyRoles are the roles of OpenStack's default policies that do not permit creating anything. Custom roles of a cloud are unknown.
var readOnlyRoles = []string{"reader", "load-balancer_observer", "load-balancer_global_observer"}

// roles checks that the credentials may create objects.
func (v *validation) roles(_ context.Context, result *platform.Result) error {
	roles, err := v.session.Roles()
	if err == nil && !writes(roles) {
		result.Forbidden(v.path, "the credentials are read-only: their roles in the project are %s", strings.Join(roles, ", "))
	}
	return err
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

// zones checks the availability zones of the CloudProfile that no pool uses, so findings are warnings.
func (v *validation) zones(_ context.Context, result *platform.Result) error {
	existing, err := v.availabilityZones()
	if platform.ClassOf(err) == platform.ClassForbidden {
		result.Unknown(v.site.ProfilePath().Child("zones"),
			"the credentials may not list availability zones, so the zones of the CloudProfile are not checked")
		return nil
	}
	if err != nil {
		return err
	}
	for _, zone := range v.site.Profile.Zones {
		if zone.OpenStack != nil && !v.usesZone(zone.Name) && !isAvailable(existing, zone.OpenStack.AvailabilityZone) {
			result.Warn(v.site.ZonePath(zone.Name).Child("openstack", "availabilityZone"),
				"availability zone %q does not exist or is not available", zone.OpenStack.AvailabilityZone)
		}
	}
	return nil
}

// poolZones checks the availability zones of the pools.
func (v *validation) poolZones(_ context.Context, result *platform.Result) error {
	existing, err := v.availabilityZones()
	if platform.ClassOf(err) == platform.ClassForbidden {
		return nil // zones reports that.
	}
	if err != nil {
		return err
	}
	for i := range v.demands {
		for _, wanted := range v.demands[i].Zones {
			zone := lists.Find(v.site.Profile.Zones, func(z *v1alpha1.SiteZone) bool { return z.Name == wanted.Name })
			if zone != nil && zone.OpenStack != nil && !isAvailable(existing, zone.OpenStack.AvailabilityZone) {
				result.Invalid(v.demands[i].Path.Child("zones"), zone.Name, "availability zone %q does not exist or is not available",
					zone.OpenStack.AvailabilityZone)
			}
		}
	}
	return nil
}

func (v *validation) usesZone(name string) bool {
	return slices.ContainsFunc(v.demands, func(d platform.Demand) bool {
		return slices.ContainsFunc(d.Zones, func(z platform.ZoneDemand) bool { return z.Name == name })
	})
}

func isAvailable(existing []availabilityzones.AvailabilityZone, name string) bool {
	return slices.ContainsFunc(existing,
		func(z availabilityzones.AvailabilityZone) bool { return z.ZoneName == name && z.ZoneState.Available })
}

// neutronExtensions are the extensions of Neutron's API that every shoot needs.
var neutronExtensions = []string{"allowed-address-pairs", "external-net", "router", "security-group", "standard-attr-tag"}

// extensions checks that Neutron has all extensions that every shoot needs.
func (v *validation) extensions(ctx context.Context, result *platform.Result) error {
	existing, err := client.List(ctx, extensions.List(v.network), extensions.ExtractExtensions)
	if err != nil {
		return err
	}
	lacking := slices.DeleteFunc(slices.Clone(neutronExtensions), func(alias string) bool {
		return slices.ContainsFunc(existing, func(e extensions.Extension) bool { return e.Alias == alias })
	})
	if len(lacking) > 0 {
		result.Forbidden(v.path, "the networking service lacks the extensions %s", strings.Join(lacking, ", "))
	}
	return nil
}
