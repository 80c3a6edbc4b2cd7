// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package infrastructure

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/availabilityzones"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/loadbalancers"
	"github.com/gophercloud/gophercloud/v2/pagination"
	fieldpath "k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/client"
)

// validation checks what a shoot wants from a site.
type validation struct {
	*flow
	path    *fieldpath.Path
	demands []platform.Demand
}

// check is one check. It returns an error if the site could not be queried.
type check func(context.Context, *findings) error

// run runs all checks in parallel and returns their findings in order.
func (v *validation) run(ctx context.Context, checks ...check) (platform.Findings, error) {
	found := make([]findings, len(checks))
	errs := platform.Each(len(checks), func(i int) error {
		found[i].site = v.site.Name
		return checks[i](ctx, &found[i])
	})

	var all platform.Findings
	for i := range found {
		all.Errors = append(all.Errors, found[i].Errors...)
		all.Shortages = append(all.Shortages, found[i].Shortages...)
		all.Warnings = append(all.Warnings, found[i].Warnings...)
	}
	return all, errors.Join(errs...)
}

// object returns the path of a field in the site's OpenStack block.
func (v *validation) object(name string, more ...string) *fieldpath.Path {
	return v.path.Child("openstack").Child(name, more...)
}

// findings are the findings of one check.
type findings struct {
	platform.Findings
	site string
}

func (f *findings) invalid(path *fieldpath.Path, value, format string, args ...any) {
	f.Errors = append(f.Errors, fieldpath.Invalid(path, value, fmt.Sprintf(format, args...)))
}

// missing reports that an object does not exist or is not visible: OpenStack does not distinguish the two.
func (f *findings) missing(path *fieldpath.Path, value string) {
	f.invalid(path, value, "does not exist or is not visible to the credentials")
}

func (f *findings) warn(path *fieldpath.Path, format string, args ...any) {
	f.Warnings = append(f.Warnings, fmt.Sprintf("site %q: %s: %s", f.site, path, fmt.Sprintf(format, args...)))
}

// readOnlyRoles are the roles of OpenStack's default policies that do not permit creating anything. Custom roles of a cloud are unknown.
var readOnlyRoles = []string{"reader", "load-balancer_observer", "load-balancer_global_observer"}

// balancerRoles are the roles of Octavia's default policy that permit creating load balancers.
var balancerRoles = []string{"load-balancer_member", "load-balancer_admin", "admin"}

// roles checks that the credentials may create objects.
func (v *validation) roles(ctx context.Context, found *findings) error {
	roles, err := v.session.Roles()
	if err != nil {
		return err
	}
	if !writes(roles) {
		found.Errors = append(found.Errors,
			fieldpath.Forbidden(v.path, "the credentials are read-only: their roles in the project are "+strings.Join(roles, ", ")))
		return nil
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
		found.warn(v.path, "the credentials may not create load balancers for Services, which usually requires the role load-balancer_member")
		return nil
	default:
		return err
	}
}

// shareNetwork checks that the site has the service for share networks.
func (v *validation) shareNetwork(ctx context.Context, found *findings) error {
	if !wantsShareNetwork(v.flow) {
		return nil
	}
	_, err := v.session.SharedFileSystem(ctx)
	if errors.Is(err, client.ErrNoService) {
		found.Errors = append(found.Errors, fieldpath.Forbidden(v.object("shareNetwork"), "the site has no shared file system service"))
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
func (v *validation) zones(ctx context.Context, found *findings) error {
	existing, err := client.List(ctx, availabilityzones.List(v.compute).WithPageCreator(newZonePage), extractZones)
	path := v.path.Child("name")
	if platform.ClassOf(err) == platform.ClassForbidden {
		found.warn(path, "the credentials may not list availability zones, so the zones of the CloudProfile are not checked")
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
			found.warn(path, "availability zone %q of zone %q does not exist or is not available", name, zone.Name)
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
