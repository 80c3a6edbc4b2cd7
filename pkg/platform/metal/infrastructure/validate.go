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
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	ctrlclient "sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/networkdata"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/metal/client"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/metal/ipam"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
)

// Validate implements platform.Infrastructure.
func (i *infrastructure) Validate(ctx context.Context, s *site.Site, request platform.ValidationRequest) (_ platform.Findings, err error) {
	defer platform.NameSite(s.Name, &err)
	f, err := i.forProfile(ctx, s, nil)
	if err != nil {
		return platform.Findings{}, err
	}
	return f.validate(ctx, request)
}

// validate checks the API, then the permissions of the credentials, and then hosts and addresses, as each check needs those before it.
func (f *flow) validate(ctx context.Context, request platform.ValidationRequest) (platform.Findings, error) {
	var (
		findings platform.Findings
		path     = request.Path.Child("metal")
	)
	findings.Errors = f.unknownNetworkData(path.Child("networkDataTemplate"))
	for _, check := range []func(context.Context, *field.Path) (field.ErrorList, error){f.unserved, f.missingNamespace, f.forbidden} {
		problems, err := check(ctx, path)
		findings.Errors = append(findings.Errors, problems...)
		if err != nil || len(problems) > 0 {
			return findings, err
		}
	}
	if err := f.checkPool(ctx, &findings, path.Child("ipam", "poolRef")); err != nil {
		return findings, err
	}
	return findings, f.checkHosts(ctx, &findings, request.Demands)
}

// ipamPool returns the reference of the pool that addresses come from, nil if there is none.
func (f *flow) ipamPool() *corev1.TypedLocalObjectReference {
	if config := f.site.Config; config != nil && config.Metal != nil && config.Metal.IPAM != nil {
		return &config.Metal.IPAM.PoolRef
	}
	return nil
}

// unknownNetworkData finds variables in the template of the network data that have no value on the site.
func (f *flow) unknownNetworkData(path *field.Path) field.ErrorList {
	if f.site.Config == nil || f.site.Config.Metal == nil {
		return nil
	}
	variables, err := networkdata.Parse(f.site.Config.Metal.NetworkDataTemplate)
	if err != nil {
		return field.ErrorList{field.Invalid(path, "(hidden)", err.Error())}
	}
	var (
		problems field.ErrorList
		network  = f.site.Network
	)
	require := func(known bool, missing string, needing ...networkdata.Variable) {
		if i := slices.IndexFunc(variables, func(v networkdata.Variable) bool { return slices.Contains(needing, v) }); i >= 0 && !known {
			problems = append(problems,
				field.Invalid(path, "$"+string(variables[i]), fmt.Sprintf("neither the site nor the CloudProfile has %s", missing)))
		}
	}
	require(len(network.DNSServers) > 0, "dnsServers", networkdata.DNSServers, networkdata.DNSServersJSON)
	require(network.MTU > 0, "an mtu", networkdata.MTU)
	require(network.Gateway.IsValid() || f.ipamPool() != nil, "a gateway", networkdata.Gateway)
	return problems
}

// unserved finds API versions that the inventory needs and that are not served. It sends the first request to the site.
func (f *flow) unserved(ctx context.Context, path *field.Path) (field.ErrorList, error) {
	var (
		missing []string
		served  = map[schema.GroupVersion][]string{}
	)
	for _, resource := range f.inventory.Resources() {
		version := resource.GroupVersion()
		if _, asked := served[version]; !asked {
			names, err := f.served(ctx, version)
			if err != nil {
				return nil, err
			}
			served[version] = names
		}
		if !slices.Contains(served[version], resource.Resource) {
			missing = append(missing, fmt.Sprintf("%s in version %s", resource.Resource, version))
		}
	}
	if len(missing) == 0 {
		return nil, nil
	}
	return field.ErrorList{field.Invalid(path, f.site.Name, "the API of the inventory does not serve "+strings.Join(missing, ", nor "))}, nil
}

// missingNamespace checks that the namespace of the hosts exists, if the credentials are permitted to get it.
func (f *flow) missingNamespace(ctx context.Context, path *field.Path) (field.ErrorList, error) {
	err := client.Classify(f.api.Get(ctx, ctrlclient.ObjectKey{Name: f.namespace}, &corev1.Namespace{}))
	switch {
	case err == nil, platform.ClassOf(err) == platform.ClassForbidden:
		return nil, nil
	case client.IsNotFound(err):
		return field.ErrorList{field.Invalid(path, f.site.Name, fmt.Sprintf("the inventory has no namespace %q", f.namespace))}, nil
	default:
		return nil, err
	}
}

// forbidden finds required permissions that the credentials lack. It checks all of them concurrently.
func (f *flow) forbidden(ctx context.Context, path *field.Path) (field.ErrorList, error) {
	needed := f.inventory.Permissions()
	if f.ipamPool() != nil {
		needed = append(needed, ipam.Permissions(f.namespace)...)
	}
	allowed := make([]bool, len(needed))
	errs := platform.Each(len(needed), func(i int) (err error) {
		allowed[i], err = f.allowed(ctx, needed[i])
		return err
	})
	if err := cmp.Or(errs...); err != nil {
		return nil, err // all requests fail for the same reason
	}

	var missing []authorizationv1.ResourceAttributes
	for i := range needed {
		if !allowed[i] {
			missing = append(missing, needed[i])
		}
	}
	if len(missing) == 0 {
		return nil, nil
	}
	return field.ErrorList{field.Forbidden(path, "the credentials may not "+describe(missing))}, nil
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
