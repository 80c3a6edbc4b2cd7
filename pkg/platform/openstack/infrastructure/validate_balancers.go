// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package infrastructure

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/loadbalancers"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/providers"
	balancerquotas "github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/quotas"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/networks"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/subnets"
	fieldpath "k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/client"
)

// balancerChecks are the checks of load balancers.
type balancerChecks struct{ *validation }

// controlPlanePath is the path of the ControlPlaneConfig in the Shoot.
var controlPlanePath = fieldpath.NewPath("spec", "provider", "controlPlaneConfig")

// balancerRoles are the roles of Octavia's default policy that permit creating load balancers.
var balancerRoles = []string{"load-balancer_member", "load-balancer_admin", "admin"}

// octavia returns the client of the load balancing service, nil if the site has none. Nodes do not need load balancers, so findings about
// them are warnings.
func (v balancerChecks) octavia(ctx context.Context) (*gophercloud.ServiceClient, error) {
	service, err := v.session.LoadBalancer(ctx)
	if errors.Is(err, client.ErrNoService) {
		return nil, nil
	}
	return service, err
}

// balancerSettings are the settings in the ControlPlaneConfig, empty ones if there are none.
func (v balancerChecks) balancerSettings() v1alpha1.OpenStackLoadBalancerConfig {
	return ptr.Deref(ptr.Deref(v.controlPlane.LoadBalancer, v1alpha1.SiteLoadBalancer{}).OpenStack, v1alpha1.OpenStackLoadBalancerConfig{})
}

// balancerService checks that the site has a load balancing service if the shoot configures its load balancers.
func (v balancerChecks) balancerService(ctx context.Context, result *platform.Result) error {
	service, err := v.octavia(ctx)
	if service == nil && err == nil && v.controlPlane.LoadBalancer != nil {
		result.Warn(controlPlanePath, "the site has no load balancing service, so its Services of type LoadBalancer have no addresses")
	}
	return err
}

// balancerRole checks that the credentials may create load balancers.
func (v balancerChecks) balancerRole(ctx context.Context, result *platform.Result) error {
	roles, rolesErr := v.session.Roles()
	service, err := v.octavia(ctx)
	if err = errors.Join(rolesErr, err); service == nil || err != nil {
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

// onlyObserves reports whether the roles permit reading load balancers but not creating them.
func onlyObserves(roles []string) bool {
	has := func(wanted []string) bool {
		return slices.ContainsFunc(roles, func(role string) bool { return slices.Contains(wanted, strings.ToLower(role)) })
	}
	return has(readOnlyRoles[1:]) && !has(balancerRoles)
}

// balancerProvider checks that Octavia has the provider of the shoot's load balancers.
func (v balancerChecks) balancerProvider(ctx context.Context, result *platform.Result) error {
	service, err := v.octavia(ctx)
	if service == nil || err != nil {
		return err
	}
	existing, err := client.List(ctx, providers.List(service, nil), providers.ExtractProviders)
	switch platform.ClassOf(err) {
	case platform.ClassForbidden, platform.ClassNotFound:
		return nil // balancerRole reports the former, and old versions have no list.
	}
	if err != nil {
		return err
	}
	wanted := v.site.Profile.OpenStack.LoadBalancerProvider(v.balancerSettings())
	if !slices.ContainsFunc(existing, func(p providers.Provider) bool { return p.Name == wanted }) {
		result.Warn(v.path, "Octavia has no provider %q, so Services of type LoadBalancer have no addresses", wanted)
	}
	return nil
}

// balancerRoom checks that the quota permits a load balancer and a floating IP.
func (v balancerChecks) balancerRoom(ctx context.Context, result *platform.Result) error {
	service, err := v.octavia(ctx)
	if service == nil || err != nil {
		return err
	}
	project, err := v.session.ProjectID()
	if err != nil {
		return err
	}
	limits, err := client.Extracted(balancerquotas.Get(ctx, service, project).Extract())
	switch platform.ClassOf(err) {
	case platform.ClassForbidden, platform.ClassNotFound:
		return nil // Most clouds permit it to the members of a project, but not all do.
	}
	if err != nil {
		return err
	}
	if limits.Loadbalancer >= 0 {
		existing, err := client.List(ctx, loadbalancers.List(service, loadbalancers.ListOpts{ProjectID: project}),
			loadbalancers.ExtractLoadBalancers)
		if err != nil {
			return err
		}
		if len(existing) >= limits.Loadbalancer {
			result.Warn(v.path, "the quota of %d load balancers is used up", limits.Loadbalancer)
		}
	}
	quota, err := v.networkQuota()
	if left, limited := quota.leaves(nil)[resourceFloatingIPs]; err == nil && limited && left < 1 {
		result.Warn(v.path, "the quota of %d floating IPs is used up, so Services of type LoadBalancer have no public addresses",
			quota.limit[resourceFloatingIPs])
	}
	return nil
}

// balancerClasses checks that the networks of the classes of load balancers exist. Members of other projects see the IDs of the subnets of
// an external network, but often not the subnets themselves.
func (v balancerChecks) balancerClasses(ctx context.Context, result *platform.Result) error {
	path, classes := controlPlanePath, v.balancerSettings().Classes
	if len(classes) == 0 {
		path, classes = v.path, v.site.Profile.OpenStack.LoadBalancerClasses(v.config().FloatingPoolName)
	}
	for _, class := range classes {
		for _, id := range []string{class.FloatingNetworkID, class.NetworkID} {
			if id == "" {
				continue
			}
			found, err := listNetworks(ctx, v.flow, networks.ListOpts{ID: id})
			switch {
			case err != nil:
				return err
			case len(found) == 0:
				result.Warn(path, "network %s of the load balancer class %q does not exist or is not visible to the credentials", id, class.Name)
			case id == class.FloatingNetworkID && class.FloatingSubnetID != "" && !slices.Contains(found[0].Subnets, class.FloatingSubnetID):
				result.Warn(path, "network %s of the load balancer class %q has no subnet %s", id, class.Name, class.FloatingSubnetID)
			}
		}
		if class.SubnetID == "" {
			continue
		}
		found, err := client.List(ctx, subnets.List(v.network, subnets.ListOpts{ID: class.SubnetID}), subnets.ExtractSubnets)
		if err != nil {
			return err
		}
		if len(found) == 0 {
			result.Warn(path, "subnet %s of the load balancer class %q does not exist or is not visible to the credentials", class.SubnetID,
				class.Name)
		}
	}
	return nil
}
