// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package ipam_test

import (
	"context"
	"net/netip"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	fakeclient "sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/ipam"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/kubernetes/owner"
)

const (
	namespace = "hosts"
	machine   = "machine-1"
)

var (
	us      = owner.Owner{Shoot: "shoot--a--b", Site: "racks"}
	poolRef = corev1.TypedLocalObjectReference{APIGroup: new(ipam.Group), Kind: "InClusterIPPool", Name: "nodes"}
)

var _ = Describe("Addresses", func() {
	Describe("an address that the allocator gives", func() {
		DescribeTable("of each version of the contract",
			func(ctx SpecContext, served []string, used string) {
				c := inventory(served, allocate("10.20.1.7", 16, "10.20.0.1"))
				addresses := ipam.New(c, namespace, us)

				address, err := addresses.Ensure(ctx, machine, poolRef)
				Expect(err).NotTo(HaveOccurred())
				Expect(address).To(Equal(ipam.Address{IP: netip.MustParsePrefix("10.20.1.7/16"), Gateway: netip.MustParseAddr("10.20.0.1")}))

				claim := object(used, "IPAddressClaim", machine)
				Expect(c.Get(ctx, client.ObjectKeyFromObject(claim), claim)).To(Succeed())
				Expect(claim.GetLabels()).To(Equal(us.MachineLabels(machine)))
				Expect(claim.Object["spec"]).To(Equal(map[string]any{
					"poolRef": map[string]any{"apiGroup": ipam.Group, "kind": "InClusterIPPool", "name": "nodes"},
				}))

				again, err := addresses.Ensure(ctx, machine, poolRef)
				Expect(err).NotTo(HaveOccurred())
				Expect(again).To(Equal(address))
				Expect(addresses.Machines(ctx)).To(ConsistOf(machine))

				Expect(addresses.Release(ctx, machine)).To(Succeed())
				Expect(addresses.Machines(ctx)).To(BeEmpty())
				Expect(addresses.Release(ctx, machine)).To(Succeed())
			},
			Entry("the older alone", []string{"v1beta1"}, "v1beta1"),
			Entry("the newer alone", []string{"v1beta2"}, "v1beta2"),
			Entry("both", []string{"v1beta1", "v1beta2"}, "v1beta2"),
		)

		It("may have no gateway", func(ctx SpecContext) {
			address, err := ipam.New(inventory([]string{"v1beta1"}, allocate("fd00::7", 64, "")), namespace, us).Ensure(ctx, machine, poolRef)
			Expect(err).NotTo(HaveOccurred())
			Expect(address).To(Equal(ipam.Address{IP: netip.MustParsePrefix("fd00::7/64")}))
		})

		DescribeTable("must be one",
			func(ctx SpecContext, allocator func(context.Context, client.Client, *unstructured.Unstructured) error) {
				_, err := ipam.New(inventory([]string{"v1beta1"}, allocator), namespace, us).Ensure(ctx, machine, poolRef)
				Expect(platform.ClassOf(err)).To(Equal(platform.ClassConfiguration))
				Expect(err).To(MatchError(ContainSubstring("IPAddress hosts/machine-1")))
			},
			Entry("no IP address", allocate("rack-7", 24, "")),
			Entry("too long a prefix", allocate("10.20.1.7", 33, "")),
			Entry("no gateway", allocate("10.20.1.7", 24, "router")),
		)
	})

	Describe("an address that the allocator does not give", func() {
		DescribeTable("tells why",
			func(ctx SpecContext, class platform.Class, message string, left int,
				allocator func(context.Context, client.Client, *unstructured.Unstructured) error, pools ...client.Object) {
				addresses := ipam.New(inventory([]string{"v1beta1"}, allocator, pools...), namespace, us)
				_, err := addresses.Ensure(ctx, machine, poolRef)
				Expect(platform.ClassOf(err)).To(Equal(class))
				Expect(err).To(MatchError(message))
				Expect(addresses.Machines(ctx)).To(HaveLen(left))
			},
			Entry("the pool says that it has none", platform.ClassExhausted, `InClusterIPPool "nodes" has no free address: all 3 are in use`, 0,
				nothing, pool(3, 0)),
			Entry("the claim says that the pool has none", platform.ClassExhausted, `InClusterIPPool "nodes" has no free address: no more`, 0,
				refuse("PoolExhausted", "no more")),
			Entry("there is no pool", platform.ClassConfiguration, `InClusterIPPool "nodes" does not exist`, 1, nothing),
			Entry("it is late", platform.ClassTransient, `InClusterIPPool "nodes" has not given an address to claim "machine-1" yet`, 1, nothing,
				pool(3, 1)),
			Entry("it has another reason", platform.ClassTransient, `InClusterIPPool "nodes" has not given an address to claim "machine-1" yet`, 1,
				refuse("PoolNotReady", "wait"), pool(3, 1)),
		)
	})

	DescribeTable("a claim that cannot be used",
		func(ctx SpecContext, class platform.Class, message string, change func(*unstructured.Unstructured)) {
			claim := object("v1beta1", "IPAddressClaim", machine)
			claim.SetLabels(us.MachineLabels(machine))
			claim.Object["spec"] = map[string]any{"poolRef": map[string]any{"apiGroup": ipam.Group, "kind": "InClusterIPPool", "name": "nodes"}}
			change(claim)
			c := inventory([]string{"v1beta1"}, nothing, claim)

			_, err := ipam.New(c, namespace, us).Ensure(ctx, machine, poolRef)
			Expect(platform.ClassOf(err)).To(Equal(class))
			Expect(err).To(MatchError(ContainSubstring(message)))
			Expect(c.Get(ctx, client.ObjectKeyFromObject(claim), claim)).To(Succeed())
		},
		Entry("another shoot's", platform.ClassConflict, "is not that of machine", func(claim *unstructured.Unstructured) {
			claim.SetLabels(owner.Owner{Shoot: "shoot--c--d", Site: "racks"}.MachineLabels(machine))
		}),
		Entry("nobody's", platform.ClassConflict, "is not that of machine", func(claim *unstructured.Unstructured) { claim.SetLabels(nil) }),
		Entry("for another pool", platform.ClassConflict,
			`is for InClusterIPPool "other", but machine "machine-1" needs an address from InClusterIPPool "nodes"`,
			func(claim *unstructured.Unstructured) {
				Expect(unstructured.SetNestedField(claim.Object, "other", "spec", "poolRef", "name")).To(Succeed())
			}),
		Entry("on its way out", platform.ClassTransient, "is being released", func(claim *unstructured.Unstructured) {
			claim.SetFinalizers([]string{"ipam.cluster.x-k8s.io/ReleaseAddress"})
			claim.SetDeletionTimestamp(new(metav1.Now()))
		}),
	)

	It("does not release what is another's", func(ctx SpecContext) {
		claim := object("v1beta1", "IPAddressClaim", machine)
		c := inventory([]string{"v1beta1"}, nothing, claim)
		Expect(ipam.New(c, namespace, us).Release(ctx, machine)).To(Succeed())
		Expect(c.Get(ctx, client.ObjectKeyFromObject(claim), claim)).To(Succeed())
	})

	It("refuses an inventory that does not serve the contract", func(ctx SpecContext) {
		_, err := ipam.New(inventory([]string{"v1alpha1"}, nothing), namespace, us).Ensure(ctx, machine, poolRef)
		Expect(platform.ClassOf(err)).To(Equal(platform.ClassConfiguration))
	})
})

// inventory returns an inventory that serves the versions of the contract. The allocator is called for each new claim.
func inventory(served []string, allocator func(context.Context, client.Client, *unstructured.Unstructured) error,
	objects ...client.Object) client.Client {
	versions := []schema.GroupVersion{{Group: ipam.Group, Version: "v1alpha2"}}
	for _, version := range served {
		versions = append(versions, schema.GroupVersion{Group: ipam.Group, Version: version})
	}
	mapper := meta.NewDefaultRESTMapper(versions)
	for _, version := range served {
		gv := schema.GroupVersion{Group: ipam.Group, Version: version}
		mapper.Add(gv.WithKind("IPAddressClaim"), meta.RESTScopeNamespace)
		mapper.Add(gv.WithKind("IPAddress"), meta.RESTScopeNamespace)
	}
	mapper.Add(schema.GroupVersionKind{Group: ipam.Group, Version: "v1alpha2", Kind: "InClusterIPPool"}, meta.RESTScopeNamespace)
	scheme := runtime.NewScheme()
	for _, kind := range []string{"IPAddressClaim", "IPAddress"} {
		for _, version := range served {
			gv := schema.GroupVersion{Group: ipam.Group, Version: version}
			scheme.AddKnownTypeWithName(gv.WithKind(kind), &unstructured.Unstructured{})
			scheme.AddKnownTypeWithName(gv.WithKind(kind+"List"), &unstructured.UnstructuredList{})
		}
	}
	builder := fakeclient.NewClientBuilder().WithScheme(scheme).WithRESTMapper(mapper).WithObjects(objects...)
	return builder.WithInterceptorFuncs(interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, options ...client.CreateOption) error {
			if err := c.Create(ctx, o, options...); err != nil {
				return err
			}
			if o.GetObjectKind().GroupVersionKind().Kind != "IPAddressClaim" {
				return nil
			}
			return allocator(ctx, c, o.(*unstructured.Unstructured).DeepCopy())
		},
	}).Build()
}

// allocate gives the address to the claim.
func allocate(ip string, prefix int64, gateway string) func(context.Context, client.Client, *unstructured.Unstructured) error {
	return func(ctx context.Context, c client.Client, claim *unstructured.Unstructured) error {
		address := object(claim.GroupVersionKind().Version, "IPAddress", claim.GetName())
		spec := map[string]any{"claimRef": map[string]any{"name": claim.GetName()}, "address": ip, "prefix": prefix}
		if gateway != "" {
			spec["gateway"] = gateway
		}
		address.Object["spec"] = spec
		if err := c.Create(ctx, address); err != nil {
			return err
		}
		claim.Object["status"] = map[string]any{"addressRef": map[string]any{"name": address.GetName()}}
		return c.Update(ctx, claim)
	}
}

// refuse says on the claim why it has no address.
func refuse(reason, message string) func(context.Context, client.Client, *unstructured.Unstructured) error {
	return func(ctx context.Context, c client.Client, claim *unstructured.Unstructured) error {
		claim.Object["status"] = map[string]any{"conditions": []any{
			map[string]any{"type": "Ready", "status": "False", "reason": reason, "message": message, "severity": "Error"},
		}}
		return c.Update(ctx, claim)
	}
}

func nothing(context.Context, client.Client, *unstructured.Unstructured) error {
	return nil
}

func pool(total, free int64) *unstructured.Unstructured {
	result := object("v1alpha2", "InClusterIPPool", "nodes")
	result.Object["status"] = map[string]any{"ipAddresses": map[string]any{"total": total, "free": free}}
	return result
}

func object(version, kind, name string) *unstructured.Unstructured {
	result := &unstructured.Unstructured{}
	result.SetGroupVersionKind(schema.GroupVersionKind{Group: ipam.Group, Version: version, Kind: kind})
	result.SetNamespace(namespace)
	result.SetName(name)
	return result
}
