// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package preflight_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/test/countproxy"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/metal"
	"github.com/gardener/gardener-extension-provider-hybrid/test/sitefaults"
)

const (
	soon       = 30 * time.Second
	halfAnHour = 30 * time.Minute
)

// racksRows are what is wrong with the site of Metal3.
var racksRows = []row{
	// The API and the permissions.
	{wrong: "the namespace is misspelt", id: "metal-namespace",
		field: `metal\.namespace$`, documents: func(d *documents, _ string) { d.site(racksSite).Metal.Namespace = "hots" }},
	{wrong: "the authority is another one", id: "site-certificate-trust",
		also: connection, field: `\.tls$`, documents: otherAuthority(racksSite)},
	{wrong: "the certificate has expired", id: "site-certificate-end",
		also: connection, field: `\.tls$`, documents: func(d *documents, made string) {
			d.site(racksSite).Metal.Server = made
		}, make: func(SpecContext) string { return expired(inventoryService()).URL(sitefaults.InventoryService) }},
	{wrong: "the server is a vCenter", id: "metal-connection", field: `metal\.server$`, documents: func(d *documents, _ string) {
		d.site(racksSite).Metal.Server = bed.Others.URL(sitefaults.VCenterService)
	}},
	{wrong: "the token is that of another cluster", id: "metal-authentication",
		field: `\.token\]$`, documents: func(d *documents, _ string) {
			d.secret.StringData[racksSite+".token"] = "eyJhbGciOiJSUzI1NiJ9.e30.c2lnbmF0dXJl"
		}},
	{wrong: "hosts may not be patched", id: "metal-permissions", field: `\.token\]$`,
		make: withoutVerb("metal3.io", "baremetalhosts", "patch", "provider-hybrid-metal3")},
	{wrong: "address claims may not be made", id: "metal-permissions", field: `\.token\]$`,
		make: withoutVerb("ipam.cluster.x-k8s.io", "ipaddressclaims", "create", "provider-hybrid-ipam")},
	{wrong: "the inventory has another version of Metal3", id: "metal-api", field: `metal\.inventory$`,
		make: unserved("baremetalhosts.metal3.io", schema.GroupVersionKind{Group: "metal3.io", Version: "v1alpha1", Kind: "BareMetalHostList"})},

	// Hosts.
	{wrong: "no host has the labels of the zone", id: "metal-hosts",
		field: `workers\[\d\]`, documents: func(d *documents, _ string) {
			d.zone(racksSite).Metal.HostSelector.MatchLabels = map[string]string{"rack": "r7"}
		}},
	{wrong: "no host has the labels of a machine type", id: "metal-hosts",
		field: `workers\[\d\]`, documents: func(d *documents, _ string) {
			d.machineType("small", racksSite).Metal.HostSelector.MatchLabels = map[string]string{"size": "xs"}
		}},
	{wrong: "all hosts are in maintenance", id: "metal-hosts", field: `workers\[\d\]`, make: func(ctx SpecContext) string {
		for _, host := range bed.racks {
			Expect(bed.Inventory.PauseHost(ctx, host)).To(Succeed())
			DeferCleanup(func(ctx SpecContext) { Expect(bed.Inventory.ResumeHost(ctx, host)).To(Succeed()) })
		}
		return ""
	}, states: []string{failed, warning}},
	{wrong: "all hosts have an error", id: "metal-hosts", field: `workers\[\d\]`, make: func(ctx SpecContext) string {
		for _, host := range bed.racks {
			Expect(bed.Inventory.SetHostError(ctx, host, "the BMC does not answer")).To(Succeed())
			DeferCleanup(func(ctx SpecContext) { Expect(bed.Inventory.ClearHostError(ctx, host)).To(Succeed()) })
		}
		return ""
	}, states: []string{failed, warning}},
	{wrong: "all hosts belong to other consumers", id: "metal-hosts", field: `workers\[\d\]`, make: func(ctx SpecContext) string {
		for _, host := range bed.racks {
			use := func(ctx context.Context, consumer any) {
				patchHost(ctx, host, map[string]any{"spec": map[string]any{"consumerRef": consumer}})
			}
			use(ctx, map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "name": "somebody", "namespace": "elsewhere"})
			DeferCleanup(func(ctx SpecContext) { use(ctx, nil) })
		}
		return ""
	}, states: []string{failed, warning}},
	{wrong: "hosts are not cleaned, and the site wants that", id: "metal-hosts",
		field: `workers\[\d\]`, make: func(ctx SpecContext) string {
			for _, host := range bed.racks {
				patchHost(ctx, host, map[string]any{"spec": map[string]any{"automatedCleaningMode": "disabled"}})
				DeferCleanup(func(ctx SpecContext) {
					patchHost(ctx, host, map[string]any{"spec": map[string]any{"automatedCleaningMode": "metadata"}})
				})
			}
			return ""
		}, states: []string{failed, warning}},
	{wrong: "there are fewer hosts than the minimum", id: "metal-hosts", field: `workers\[\d\]`, documents: func(d *documents, _ string) {
		for i := range d.workers[burstPool].Sites {
			d.workers[burstPool].Sites[i].Minimum = new([]int32{hosts + 1, 0}[i])
			d.workers[burstPool].Sites[i].Maximum = new([]int32{hosts + 1, 2}[i])
		}
		d.pool(burstPool).Minimum, d.pool(burstPool).Maximum = hosts+1, hosts+3
	}},
	{wrong: "there are fewer hosts than the maximum", id: "metal-hosts",
		field: `workers\[\d\]`, states: []string{warning}, documents: func(d *documents, _ string) {
			d.workers[burstPool].Sites[0].Maximum = new(int32(hosts + 1))
			d.pool(burstPool).Maximum = hosts + 3
		}},

	// Images and addresses.
	{wrong: "the image does not exist", unnamed: "the inventory reads images, from its own network",
		field: `machineImages.*url|machine.image`, states: []string{failed, warning}, documents: func(d *documents, _ string) {
			d.image(0, racksSite).Metal.URL = bed.files.URL + "/missing.raw"
		}},
	{wrong: "the checksum does not exist", unnamed: "the inventory reads images, from its own network",
		field: `machineImages.*checksum|machine.image`, states: []string{failed, warning},
		documents: func(d *documents, _ string) {
			d.image(0, racksSite).Metal.Checksum = bed.files.URL + "/missing.sha256sum"
		}},
	{wrong: "the address pool is misspelt", id: "metal-address-pool", field: `ipam\.poolRef$`, documents: func(d *documents, _ string) {
		d.network(racksSite).Metal.IPAM.PoolRef.Name = "rakcs"
	}},
	{wrong: "the address pool has addresses outside the range of the nodes", id: "metal-address-pool",
		field: `ipam\.poolRef$`, make: changePool(func(p *metal.Pool) {
			p.Addresses = []string{"10.250.16.16-10.250.17.250"}
			p.Gateway = "10.250.16.1"
		})},
	{wrong: "the address pool has the address of the gateway", id: "metal-address-pool",
		field: `ipam\.poolRef$`, make: changePool(func(p *metal.Pool) {
			p.Addresses, p.Gateway = []string{"10.250.8.1-10.250.8.250"}, "10.250.8.254"
		})},
	{wrong: "the address pool is too small", id: "metal-address-pool-size", field: `ipam\.poolRef$`, states: []string{failed, warning},
		make: changePool(func(p *metal.Pool) { p.Addresses = []string{"10.250.8.16"} })},
	{wrong: "the address pool has another gateway than the site", unnamed: "machines get the gateway of the pool",
		field: `ipam|poolRef|gateway`, states: []string{failed, warning},
		make: changePool(func(p *metal.Pool) { p.Gateway = "10.250.11.254" })},
	{wrong: "the address pool has another prefix than the nodes", unnamed: "machines get the prefix of the pool",
		field: `ipam\.poolRef$`, states: []string{failed, warning},
		make: changePool(func(p *metal.Pool) { p.Prefix = 24 })},
}

// hallRows are what is wrong with the site of IronCore.
var hallRows = []row{
	{wrong: "the namespace is misspelt", id: "metal-namespace",
		field: `metal\.namespace$`, documents: func(d *documents, _ string) { d.site(hallSite).Metal.Namespace = "hots" }},
	{wrong: "the authority is another one", id: "site-certificate-trust",
		also: connection, field: `\.tls$`, documents: otherAuthority(hallSite)},
	{wrong: "the certificate ends in three days", id: "site-certificate-end",
		field: `\.tls$`, states: []string{warning}, documents: func(d *documents, made string) {
			d.site(hallSite).Metal.Server = made
		}, make: func(SpecContext) string { return endingSoon(inventoryService()).URL(sitefaults.InventoryService) }},
	{wrong: "the token is that of another cluster", id: "metal-authentication",
		field: `\.token\]$`, documents: func(d *documents, _ string) {
			d.secret.StringData[hallSite+".token"] = "eyJhbGciOiJSUzI1NiJ9.e30.c2lnbmF0dXJl"
		}},
	{wrong: "the client certificate is of another authority", id: "metal-authentication",
		field: `\.clientCertificate\]$`,
		documents: func(d *documents, _ string) {
			pair, err := bed.authority.Client("provider-hybrid")
			Expect(err).NotTo(HaveOccurred())
			delete(d.secret.StringData, hallSite+".token")
			d.secret.StringData[hallSite+".clientCertificate"], d.secret.StringData[hallSite+".clientKey"] = pair.Certificate, pair.Key
		}},
	{wrong: "servers may not be listed", id: "metal-permissions", field: `\.token\]$`, also: anything,
		make: withoutClusterVerb("metal.ironcore.dev", "servers", "list", "provider-hybrid-ironcore")},
	{wrong: "claims may not be made", id: "metal-permissions", field: `\.token\]$`,
		make: withoutVerb("metal.ironcore.dev", "serverclaims", "create", "provider-hybrid-ironcore")},
	{wrong: "claims may not be deleted", id: "metal-permissions", field: `\.token\]$`,
		make: withoutVerb("metal.ironcore.dev", "serverclaims", "delete", "provider-hybrid-ironcore")},
	{wrong: "the inventory has another version of IronCore", id: "metal-api", field: `metal\.inventory$`,
		make: unserved("serverclaims.metal.ironcore.dev",
			schema.GroupVersionKind{Group: "metal.ironcore.dev", Version: "v1alpha1", Kind: "ServerClaimList"})},
	{wrong: "no server has the labels of the zone", id: "metal-hosts",
		field: `workers\[\d\]`, documents: func(d *documents, _ string) {
			d.zone(hallSite).Metal.HostSelector.MatchLabels = map[string]string{"hall": "h7"}
		}},
	{wrong: "no server has the labels of the pool", id: "metal-hosts", field: `workers\[\d\]`, documents: func(d *documents, _ string) {
		d.machineType("small", hallSite).Metal.HostSelector.MatchLabels = map[string]string{"size": "xs"}
	}},
	{wrong: "all servers have an error", id: "metal-hosts",
		field: `workers\[\d\]`, make: setServers("Error"), states: []string{failed, warning}},
	{wrong: "all servers are in maintenance", id: "metal-hosts", field: `workers\[\d\]`, make: setServers("Maintenance"),
		states: []string{failed, warning}},
	{wrong: "servers have a taint that machines do not tolerate", id: "metal-hosts",
		field: `workers\[\d\]`, states: []string{failed, warning},
		make: func(ctx SpecContext) string {
			for _, name := range bed.hall {
				taint := func(ctx context.Context, taints any) {
					patchServer(ctx, name, map[string]any{"spec": map[string]any{"taints": taints}})
				}
				taint(ctx, []any{map[string]any{"key": "maintenance", "effect": "NoBind"}})
				DeferCleanup(func(ctx SpecContext) { taint(ctx, nil) })
			}
			return ""
		}},
	{wrong: "servers are given back without being wiped, and the site wants that", id: "metal-hosts", field: `workers\[\d\]`,
		documents: func(d *documents, _ string) { d.site(hallSite).Metal.Cleaning = "metadata" }, states: []string{failed, warning}},
	{wrong: "there are fewer servers than the maximum", id: "metal-hosts",
		field: `workers\[\d\]`, states: []string{warning}, documents: func(d *documents, _ string) {
			maxima := map[string]int32{cloudSite: 2, vcSite: 2, racksSite: 2, hallSite: hosts + 1}
			for _, site := range []string{cloudSite, vcSite, racksSite, hallSite} {
				d.workers[mixedPool].Sites = append(d.workers[mixedPool].Sites,
					v1alpha1.WorkerSite{Name: site, Minimum: new(int32(1)), Maximum: new(maxima[site])})
				d.pool(mixedPool).Maximum += maxima[site]
			}
			d.pool(mixedPool).Maximum -= 8
		}},
	{wrong: "the image has no tag that exists", unnamed: "the inventory reads images, from its own network",
		field: `machineImages.*url|machine.image`, states: []string{failed, warning}, documents: func(d *documents, _ string) {
			d.image(0, hallSite).Metal.URL = "127.0.0.1:1/gardenlinux:missing"
		}},
}

func inventoryService() countproxy.Service {
	return countproxy.Service{Name: sitefaults.InventoryService, Upstream: bed.Inventory.Server(), CA: bed.Inventory.CA()}
}

func without(rules []rbacv1.PolicyRule, group, resource, verb string) []rbacv1.PolicyRule {
	GinkgoHelper()
	found := false
	for i := range rules {
		if slices.Contains(rules[i].APIGroups, group) && slices.Contains(rules[i].Resources, resource) {
			rules[i].Verbs = slices.DeleteFunc(slices.Clone(rules[i].Verbs), func(v string) bool { return v == verb })
			found = true
		}
	}
	Expect(found).To(BeTrue(), "%s of %s", resource, group)
	return slices.DeleteFunc(rules, func(rule rbacv1.PolicyRule) bool { return len(rule.Verbs) == 0 })
}

// withoutVerb takes a verb from the tenant's roles that have it for a resource.
func withoutVerb(group, resource, verb string, names ...string) func(SpecContext) string {
	return func(ctx SpecContext) string {
		for _, name := range names {
			role := &rbacv1.Role{}
			Expect(bed.Inventory.Client.Get(ctx, client.ObjectKey{Namespace: metal.Namespace, Name: name}, role)).To(Succeed())
			role.Rules = without(role.Rules, group, resource, verb)
			Expect(bed.Inventory.Client.Update(ctx, role)).To(Succeed())
		}
		return awaitDenied(ctx, group, resource, verb)
	}
}

func withoutClusterVerb(group, resource, verb, name string) func(SpecContext) string {
	return func(ctx SpecContext) string {
		role := &rbacv1.ClusterRole{}
		Expect(bed.Inventory.Client.Get(ctx, client.ObjectKey{Name: name}, role)).To(Succeed())
		role.Rules = without(role.Rules, group, resource, verb)
		Expect(bed.Inventory.Client.Update(ctx, role)).To(Succeed())
		return awaitDenied(ctx, group, resource, verb)
	}
}

// awaitDenied waits until the tenant may not do something, and grants it again in the end.
func awaitDenied(ctx context.Context, group, resource, verb string) string {
	GinkgoHelper()
	DeferCleanup(func(ctx SpecContext) {
		Expect(bed.Inventory.Grant(ctx)).To(Succeed())
		awaitAllowed(ctx, group, resource, verb, true)
	})
	awaitAllowed(ctx, group, resource, verb, false)
	return ""
}

// awaitAllowed waits until the tenant may do something, or may not.
func awaitAllowed(ctx context.Context, group, resource, verb string, allowed bool) {
	GinkgoHelper()
	tenant, err := bed.Inventory.ClientOf(metal.Credentials{Token: bed.token})
	Expect(err).NotTo(HaveOccurred())
	namespace := metal.Namespace
	if resource == "servers" {
		namespace = ""
	}
	Eventually(ctx, func(ctx context.Context) (bool, error) {
		review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
			ResourceAttributes: &authorizationv1.ResourceAttributes{Namespace: namespace, Group: group, Resource: resource, Verb: verb}}}
		err := tenant.Create(ctx, review)
		return review.Status.Allowed, err
	}, soon).Should(Equal(allowed))
}

// unserved lets the API server not serve a version of a kind.
func unserved(name string, list schema.GroupVersionKind) func(SpecContext) string {
	return func(ctx SpecContext) string {
		set := func(ctx context.Context, served bool) {
			definition := &unstructured.Unstructured{}
			definition.SetGroupVersionKind(schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"})
			definition.SetName(name)
			patch := fmt.Appendf(nil, `[{"op": "replace", "path": "/spec/versions/0/served", "value": %t}]`, served)
			Expect(bed.Inventory.Client.Patch(ctx, definition, client.RawPatch(types.JSONPatchType, patch))).To(Succeed())
			Eventually(ctx, func(ctx context.Context) bool {
				objects := &unstructured.UnstructuredList{}
				objects.SetGroupVersionKind(list)
				return bed.Inventory.Client.List(ctx, objects, client.InNamespace(metal.Namespace)) == nil
			}, soon).Should(Equal(served))
		}
		set(ctx, false)
		DeferCleanup(func(ctx SpecContext) { set(ctx, true) })
		return ""
	}
}

func patchHost(ctx context.Context, name string, fields map[string]any) {
	GinkgoHelper()
	patchObject(ctx, schema.GroupVersionKind{Group: "metal3.io", Version: "v1alpha1", Kind: "BareMetalHost"}, metal.Namespace, name, fields)
}

func patchServer(ctx context.Context, name string, fields map[string]any) {
	GinkgoHelper()
	patchObject(ctx, schema.GroupVersionKind{Group: "metal.ironcore.dev", Version: "v1alpha1", Kind: "Server"}, "", name, fields)
}

func patchObject(ctx context.Context, kind schema.GroupVersionKind, namespace, name string, fields map[string]any) {
	GinkgoHelper()
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(kind)
	object.SetNamespace(namespace)
	object.SetName(name)
	patch, err := json.Marshal(fields)
	Expect(err).NotTo(HaveOccurred())
	Expect(bed.Inventory.Client.Patch(ctx, object, client.RawPatch(types.MergePatchType, patch))).To(Succeed())
}

// setServers lets all servers have a state.
func setServers(state string) func(SpecContext) string {
	return func(ctx SpecContext) string {
		for _, name := range bed.hall {
			Expect(bed.Inventory.SetServerState(ctx, name, state)).To(Succeed())
		}
		DeferCleanup(func(ctx SpecContext) {
			for _, name := range bed.hall {
				Expect(bed.Inventory.SetServerState(ctx, name, "Available")).To(Succeed())
			}
			Expect(bed.Inventory.WaitForServers(ctx, "Available", bed.hall...)).To(Succeed())
		})
		return ""
	}
}

// changePool changes the address pool of the racks.
func changePool(change func(*metal.Pool)) func(SpecContext) string {
	return func(ctx SpecContext) string {
		set := func(ctx context.Context, p metal.Pool) {
			patchObject(ctx, schema.GroupVersionKind{Group: "ipam.cluster.x-k8s.io", Version: "v1alpha2", Kind: "GlobalInClusterIPPool"}, "", p.Name,
				map[string]any{"spec": map[string]any{"addresses": p.Addresses, "prefix": p.Prefix, "gateway": p.Gateway}})
		}
		changed := goodPool()
		change(&changed)
		set(ctx, changed)
		DeferCleanup(func(ctx SpecContext) { set(ctx, goodPool()) })
		return ""
	}
}
