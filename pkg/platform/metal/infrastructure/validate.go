// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package infrastructure

import (
	"context"
	"slices"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	ctrlclient "sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/networkdata"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/ipam"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/kubernetes"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/transport"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
)

// validation is what the checks of a site need.
type validation struct {
	*flow
	// open returns the flow, and is called by the first check.
	open func(context.Context) (*flow, error)
	site *site.Site
	// path is that of the site's metal block in the InfrastructureConfig.
	path         *field.Path
	demands      []platform.Demand
	controlPlane v1alpha1.ControlPlaneSite
	// apis are the names of the resources by the versions that the API was asked for, and answer is the error if it refused to tell.
	apis   map[schema.GroupVersion][]string
	answer error
	// denied are the permissions that the credentials lack, once these were asked for.
	denied []authorizationv1.ResourceAttributes
	// pool compares the pool of addresses with the site.
	pool ipam.Check
	// wanted are the demands with their hosts, once these were counted.
	wanted []wantedHosts
}

// checks are in the order in which they build upon each other: the API, then the permissions of the credentials, and then hosts and
// addresses.
var checks = platform.Checks[*validation]{
	{
		Check: platform.Check{
			ID: "metal-connection", Title: "A Kubernetes API answers at the configured address, and its certificate is trusted.",
			Remedy: "Correct `server` of the site's `metal` block, `tls`, or `proxy` in the CloudProfile.",
		},
		Run: (*validation).connect,
	},
	{
		Check: platform.Check{
			ID: "metal-authentication", Title: "The API of the inventory accepts the credentials.",
			Remedy: "Issue a new token or client certificate for the account, and write it into the Secret.",
			Needs:  []string{"metal-connection"},
		},
		Run: (*validation).authenticate,
	},
	{
		Check: platform.Check{
			ID: "metal-network-data", Title: "Each variable in the template of the network data has a value on the site.",
			Remedy: "Set the value in the CloudProfile or in the site's entry of the InfrastructureConfig, or remove the variable.",
		},
		Run: (*validation).unknownNetworkData,
	},
	{
		Check: platform.Check{
			ID: "metal-api", Title: "The API of the inventory serves all resources of hosts.",
			Remedy: "Install the custom resources of the inventory, see `docs/operations/metal.md`, or correct `metal.inventory` in the " +
				"CloudProfile.",
			Needs: []string{"metal-authentication"},
		},
		Run: (*validation).unserved,
	},
	{
		Check: platform.Check{
			ID: "metal-namespace", Title: "The namespace of the hosts exists, and the credentials have permissions in it.",
			Remedy: "Create the namespace, correct `metal.namespace` in the CloudProfile, or grant the permissions in " +
				"`docs/operations/metal.md`.",
			Needs: []string{"metal-api"},
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
			ID: "metal-load-balancer-addresses", Title: "The pool of addresses of machines has no addresses of load balancers.",
			Remedy: "Choose other addresses for the load balancers, or exclude them from the pool.",
			Needs:  []string{"metal-address-pool"},
		},
		Run: (*validation).checkBalancerAddresses,
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
	v := &validation{site: s, path: request.Path.Child("metal"), demands: request.Demands, controlPlane: request.ControlPlane}
	v.open = func(ctx context.Context) (*flow, error) { return i.forProfile(ctx, s, nil) }
	return checks.Run(ctx, v, request.Skip)
}

// checkPool checks that the pool of addresses exists, and that the addresses belong to the site.
func (v *validation) checkPool(ctx context.Context, result *platform.Result) error {
	v.pool = ipam.Check{API: v.api, Namespace: v.namespace, Site: v.site, Ref: ipamPool(v.site), Path: v.path.Child("ipam", "poolRef"),
		Listed: len(v.site.Profile.Metal.AddressPools) > 0}
	return v.pool.Pool(ctx, result)
}

// checkPoolSize counts the addresses of the pool, which machines of other shoots may have.
func (v *validation) checkPoolSize(_ context.Context, result *platform.Result) error {
	v.pool.Size(v.demands, result)
	return nil
}

// checkBalancerAddresses finds addresses of load balancers that the pool gives to machines, too.
func (v *validation) checkBalancerAddresses(_ context.Context, result *platform.Result) error {
	v.pool.BalancerAddresses(v.controlPlane.LoadBalancer, result)
	return nil
}

// profile returns the path of a field in the site's metal block of the CloudProfile.
func (v *validation) profile(name string) *field.Path {
	return v.site.ProfilePath().Child("metal", name)
}

// credentials returns the path of the credentials in the Secret.
func (v *validation) credentials() *field.Path {
	if v.site.Credentials["token"] == "" && v.site.Credentials["clientCertificate"] != "" {
		return v.site.SecretPath("clientCertificate")
	}
	return v.site.SecretPath("token")
}

// connect asks the API which resources it serves. It sends the first request to the site. That the API refuses to tell is another check.
func (v *validation) connect(ctx context.Context, result *platform.Result) (err error) {
	result.At(v.site.ProfilePath())
	if v.flow, err = v.open(ctx); err != nil {
		return err
	}
	result.At(v.profile("server"))
	v.apis, err = v.discover(ctx)
	switch class := platform.ClassOf(err); {
	case err == nil:
		return v.requireKubernetes(ctx, result)
	case class == platform.ClassUnauthenticated, class == platform.ClassForbidden:
		v.answer = err
		return nil
	case transport.IsUntrusted(err):
		result.At(v.site.ProfilePath().Child("tls"))
	}
	return err
}

// discover returns the names of the resources by version, none for versions that the API does not serve.
func (v *validation) discover(ctx context.Context) (map[schema.GroupVersion][]string, error) {
	apis := map[schema.GroupVersion][]string{}
	for _, resource := range v.inventory.Resources() {
		version := resource.GroupVersion()
		if _, asked := apis[version]; asked {
			continue
		}
		names, err := v.served(ctx, version)
		if err != nil {
			return nil, err
		}
		apis[version] = names
	}
	return apis, nil
}

// requireKubernetes adds a finding if the server serves none of the versions and is not a Kubernetes API.
func (v *validation) requireKubernetes(ctx context.Context, result *platform.Result) error {
	for _, names := range v.apis {
		if len(names) > 0 {
			return nil
		}
	}
	is, err := v.isKubernetes(ctx)
	if err == nil && !is {
		result.Invalid(v.profile("server"), v.site.Profile.Metal.Server, "the server is not a Kubernetes API")
	}
	return err
}

// anonymous is the user of requests whose credentials a Kubernetes API ignores, such as certificates of another authority.
const anonymous = `"system:anonymous"`

func (v *validation) authenticate(_ context.Context, result *platform.Result) error {
	result.At(v.credentials())
	switch class := platform.ClassOf(v.answer); {
	case class == platform.ClassUnauthenticated:
		return v.answer
	case class == platform.ClassForbidden && strings.Contains(v.answer.Error(), anonymous):
		return platform.NewError(platform.ClassUnauthenticated, "the API ignores the credentials: %w", v.answer)
	}
	return nil
}

// ipamPool returns the reference of the pool that the site's addresses come from, nil if there is none.
func ipamPool(s *site.Site) *corev1.TypedLocalObjectReference {
	if config := s.Config; config != nil && config.Metal != nil && config.Metal.IPAM != nil {
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
	require(network.Gateway.IsValid() || ipamPool(v.site) != nil, "a gateway", networkdata.Gateway)
	return nil
}

// unserved finds resources that the inventory needs and that are not served.
func (v *validation) unserved(_ context.Context, result *platform.Result) error {
	if v.answer != nil {
		return v.answer
	}
	for _, resource := range v.inventory.Resources() {
		if version := resource.GroupVersion(); !slices.Contains(v.apis[version], resource.Resource) {
			result.Invalid(v.profile("inventory"), string(v.site.Profile.Metal.Inventory), "the API does not serve %s in version %s",
				resource.Resource, version)
		}
	}
	return nil
}

// missingNamespace checks that the namespace of the hosts exists, as far as the credentials are permitted to know: it may be misspelt if
// they have no permissions in it.
func (v *validation) missingNamespace(ctx context.Context, result *platform.Result) error {
	err := kubernetes.Classify(v.api.Get(ctx, ctrlclient.ObjectKey{Name: v.namespace}, &corev1.Namespace{}))
	hidden := platform.ClassOf(err) == platform.ClassForbidden
	switch {
	case kubernetes.IsNotFound(err):
		result.Invalid(v.profile("namespace"), v.namespace, "the inventory has no namespace of this name")
		return nil
	case err != nil && !hidden:
		return err
	}
	needed := v.permissions()
	if v.denied, err = kubernetes.Denied(ctx, v.api, needed); err != nil {
		return err
	}
	inNamespace := func(of []authorizationv1.ResourceAttributes) (number int) {
		for i := range of {
			if of[i].Namespace == v.namespace {
				number++
			}
		}
		return number
	}
	if hidden && inNamespace(v.denied) == inNamespace(needed) {
		result.Invalid(v.profile("namespace"), v.namespace, "the credentials have no permissions in a namespace of this name")
	}
	return nil
}

// permissions returns what the credentials must be allowed to do.
func (v *validation) permissions() []authorizationv1.ResourceAttributes {
	needed := v.inventory.Permissions()
	if ipamPool(v.site) != nil {
		needed = append(needed, ipam.Permissions(v.namespace)...)
	}
	return append(needed, authorizationv1.ResourceAttributes{Namespace: v.namespace, Verb: useVerb, Group: v1alpha1.GroupName,
		Resource: "shoots", Name: v.site.Shoot})
}

// useVerb is the verb that the admission policies of an inventory ask for, and nothing else.
const useVerb = "use"

// forbidden reports the permissions that the credentials lack, by resource.
func (v *validation) forbidden(_ context.Context, result *platform.Result) error {
	isUse := func(of authorizationv1.ResourceAttributes) bool { return of.Verb == useVerb }
	for _, missing := range kubernetes.DescribePermissions(slices.DeleteFunc(slices.Clone(v.denied), isUse)) {
		result.Forbidden(v.credentials(), "the credentials may not %s", missing)
	}
	if slices.ContainsFunc(v.denied, isUse) {
		result.Warn(v.credentials(), "the credentials may not use shoot %s in namespace %s, so that the admission policies of "+
			"docs/operations/metal.md, if the inventory has them, let it have no machines", v.site.Shoot, v.namespace)
	}
	return nil
}
