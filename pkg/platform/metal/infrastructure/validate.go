// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package infrastructure

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	ctrlclient "sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/networkdata"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/metal/client"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/metal/ipam"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
)

// validation is what the checks of a site need.
type validation struct {
	*flow
	// open returns the flow, and is called by the first check.
	open    func(context.Context) (*flow, error)
	path    *field.Path
	demands []platform.Demand
	// pool is the pool of addresses, once it was looked up. It is nil if there is none, or if it cannot be read.
	pool *unstructured.Unstructured
	// wanted are the demands with their hosts, once these were counted.
	wanted []wantedHosts
}

// checks are in the order in which they build upon each other: the API, then the permissions of the credentials, and then hosts and
// addresses.
var checks = platform.Checks[*validation]{
	{
		Check: platform.Check{
			ID: "metal-connection", Title: "The kubeconfig of the inventory can be used.",
			Remedy: "Correct the kubeconfig of the site in the Secret, and the site's `metal` block in the CloudProfile.",
		},
		Run: func(v *validation, ctx context.Context, _ *platform.Result) (err error) {
			v.flow, err = v.open(ctx)
			return err
		},
	},
	{
		Check: platform.Check{
			ID: "metal-network-data", Title: "Each variable in the template of the network data has a value on the site.",
			Remedy: "Set the value in the CloudProfile or in the site's entry of the InfrastructureConfig, or remove the variable.",
			Needs:  []string{"metal-connection"},
		},
		Run: (*validation).unknownNetworkData,
	},
	{
		Check: platform.Check{
			ID: "metal-api", Title: "The API of the inventory serves all resources of hosts.",
			Remedy: "Correct the credentials in the Secret, or `server` and `tls` in the CloudProfile, if the API rejects them. Otherwise install " +
				"the custom resources of the inventory, see `docs/operations/metal.md`.",
			Needs: []string{"metal-connection"},
		},
		Run: (*validation).unserved,
	},
	{
		Check: platform.Check{
			ID: "metal-namespace", Title: "The namespace of the hosts exists.",
			Remedy: "Create the namespace, or correct `metal.namespace` in the CloudProfile.",
			Needs:  []string{"metal-api"},
		},
		Run: (*validation).missingNamespace,
	},
	{
		Check: platform.Check{
			ID: "metal-permissions", Title: "The credentials have all permissions in the inventory.",
			Remedy: "Grant the permissions in `docs/operations/metal.md` to the account of the kubeconfig.",
			Needs:  []string{"metal-namespace"},
		},
		Run: (*validation).forbidden,
	},
	{
		Check: platform.Check{
			ID: "metal-address-pool", Title: "The pool of addresses exists, and its addresses belong to the site.",
			Remedy: "Create the pool, correct `metal.ipam.poolRef`, or correct the addresses of the pool.",
			Needs:  []string{"metal-permissions"},
		},
		Run: (*validation).checkPool,
	},
	{
		Check: platform.Check{
			ID: "metal-address-pool-size", Title: "The pool has an address for each machine.",
			Remedy: "Add addresses to the pool, or reduce `maximum` of the pools.",
			Needs:  []string{"metal-address-pool"},
		},
		Run: (*validation).checkPoolSize,
	},
	{
		Check: platform.Check{
			ID: "metal-place", Title: "The inventory is the one that has the shoot's machines.",
			Remedy: "Restore the address and namespace of the inventory in the CloudProfile, see [bare metal](metal.md).",
			Needs:  []string{"metal-permissions"},
		},
		Run: (*validation).checkInventory,
	},
	{
		Check: platform.Check{
			ID: "metal-hosts", Title: "Each pool has enough free hosts for its machine type in each zone.",
			Remedy: "Add hosts, correct their labels, or reduce `minimum` or `maximum` of the pool.",
			Needs:  []string{"metal-permissions"},
		},
		Run: (*validation).checkHosts,
	},
	{
		Check: platform.Check{
			ID: "metal-host-faults", Title: "The hosts of the pools have no fault.",
			Remedy: "Repair the hosts, or set them to maintenance.",
			Needs:  []string{"metal-hosts"},
		},
		Run: (*validation).checkFaults,
	},
	{
		Check: platform.Check{
			ID: "metal-hardware", Title: "The hosts of the pools have the CPUs, memory, and architecture of the machine type.",
			Remedy: "Correct the machine type in the CloudProfile, or its `hostSelector`.",
			Needs:  []string{"metal-hosts"},
		},
		Run: (*validation).checkHardware,
	},
}

// Checks implements platform.Infrastructure.
func (i *infrastructure) Checks() []platform.Check {
	return checks.List()
}

// Validate implements platform.Infrastructure.
func (i *infrastructure) Validate(ctx context.Context, s *site.Site, request platform.ValidationRequest) (_ platform.Findings, err error) {
	defer platform.NameSite(s.Name, &err)
	v := &validation{path: request.Path.Child("metal"), demands: request.Demands}
	v.open = func(ctx context.Context) (*flow, error) { return i.forProfile(ctx, s, nil) }
	return checks.Run(ctx, v, request.Skip)
}

// ipamPool returns the reference of the pool that addresses come from, nil if there is none.
func (f *flow) ipamPool() *corev1.TypedLocalObjectReference {
	if config := f.site.Config; config != nil && config.Metal != nil && config.Metal.IPAM != nil {
		return &config.Metal.IPAM.PoolRef
	}
	return nil
}

// unknownNetworkData finds variables in the template of the network data that have no value on the site.
func (v *validation) unknownNetworkData(_ context.Context, result *platform.Result) error {
	if v.site.Config == nil || v.site.Config.Metal == nil {
		return nil
	}
	path, network := v.path.Child("networkDataTemplate"), v.site.Network
	variables, err := networkdata.Parse(v.site.Config.Metal.NetworkDataTemplate)
	if err != nil {
		result.Invalid(path, "(hidden)", "%v", err)
		return nil
	}
	require := func(known bool, missing string, needing ...networkdata.Variable) {
		if i := slices.IndexFunc(variables, func(v networkdata.Variable) bool { return slices.Contains(needing, v) }); i >= 0 && !known {
			result.Invalid(path, "$"+string(variables[i]), "neither the site nor the CloudProfile has %s", missing)
		}
	}
	require(len(network.DNSServers) > 0, "dnsServers", networkdata.DNSServers, networkdata.DNSServersJSON)
	require(network.MTU > 0, "an mtu", networkdata.MTU)
	require(network.Gateway.IsValid() || v.ipamPool() != nil, "a gateway", networkdata.Gateway)
	return nil
}

// unserved finds API versions that the inventory needs and that are not served. It sends the first request to the site.
func (v *validation) unserved(ctx context.Context, result *platform.Result) error {
	var (
		missing []string
		served  = map[schema.GroupVersion][]string{}
	)
	for _, resource := range v.inventory.Resources() {
		version := resource.GroupVersion()
		if _, asked := served[version]; !asked {
			names, err := v.served(ctx, version)
			if err != nil {
				return err
			}
			served[version] = names
		}
		if !slices.Contains(served[version], resource.Resource) {
			missing = append(missing, fmt.Sprintf("%s in version %s", resource.Resource, version))
		}
	}
	if len(missing) > 0 {
		result.Invalid(v.path, v.site.Name, "the API of the inventory does not serve %s", strings.Join(missing, ", nor "))
	}
	return nil
}

// missingNamespace checks that the namespace of the hosts exists, if the credentials are permitted to get it.
func (v *validation) missingNamespace(ctx context.Context, result *platform.Result) error {
	err := client.Classify(v.api.Get(ctx, ctrlclient.ObjectKey{Name: v.namespace}, &corev1.Namespace{}))
	switch {
	case err == nil, platform.ClassOf(err) == platform.ClassForbidden:
	case client.IsNotFound(err):
		result.Invalid(v.path, v.site.Name, "the inventory has no namespace %q", v.namespace)
	default:
		return err
	}
	return nil
}

// forbidden finds required permissions that the credentials lack. It checks all of them concurrently.
func (v *validation) forbidden(ctx context.Context, result *platform.Result) error {
	needed := v.inventory.Permissions()
	if v.ipamPool() != nil {
		needed = append(needed, ipam.Permissions(v.namespace)...)
	}
	allowed := make([]bool, len(needed))
	errs := platform.Each(len(needed), func(i int) (err error) {
		allowed[i], err = v.allowed(ctx, needed[i])
		return err
	})
	if err := cmp.Or(errs...); err != nil {
		return err // all requests fail for the same reason
	}

	var missing []authorizationv1.ResourceAttributes
	for i := range needed {
		if !allowed[i] {
			missing = append(missing, needed[i])
		}
	}
	if len(missing) > 0 {
		result.Forbidden(v.path, "the credentials may not %s", describe(missing))
	}
	return nil
}

func (f *flow) allowed(ctx context.Context, attributes authorizationv1.ResourceAttributes) (bool, error) {
	review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &attributes}}
	if err := f.api.Create(ctx, review); err != nil {
		return false, client.Classify(err)
	}
	return review.Status.Allowed, nil
}

// describe lists the missing permissions, grouped by resource.
func describe(missing []authorizationv1.ResourceAttributes) string {
	type object struct{ namespace, group, resource string }
	var (
		objects []object
		verbs   = map[object][]string{}
	)
	for _, m := range missing {
		o := object{m.Namespace, m.Group, m.Resource}
		if _, ok := verbs[o]; !ok {
			objects = append(objects, o)
		}
		verbs[o] = append(verbs[o], m.Verb)
	}
	parts := make([]string, len(objects))
	for i, o := range objects {
		slices.Sort(verbs[o])
		parts[i] = strings.Join(verbs[o], " or ") + " " + o.resource
		if o.namespace != "" {
			parts[i] += " in namespace " + o.namespace
		}
	}
	slices.Sort(parts)
	return strings.Join(parts, ", nor ")
}
