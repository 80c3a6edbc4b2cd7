// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package threeplatforms_test

import (
	"maps"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/metal"
	"github.com/gardener/gardener-extension-provider-hybrid/test/specs"
)

// copySpecs change machines as an administrator of the inventory could. What machine-controller-manager takes for orphans is deleted after
// the deletion of a Machine, so one is added and removed twice: the second search begins when the first one has ended.
func copySpecs() {
	It("should delete no machine whose host was moved or copied, or whose claim was copied, and leave no copy behind", func(ctx SpecContext) {
		before, used := specs.Identities(ctx, mixed(), ""), consumers(ctx)
		for _, zone := range []string{rack, hall} {
			Expect(specs.Identities(ctx, mixed(), zone)).To(HaveLen(1))
		}

		By("moving the host to another rack and making a free one a copy of it")
		name := strings.TrimPrefix(slices.Collect(maps.Values(specs.Identities(ctx, mixed(), rack)))[0], "metal3://hosts/")
		name, _, _ = strings.Cut(name, "/")
		host, twin := get(ctx, "metal3.io/v1alpha1", "BareMetalHost", name), get(ctx, "metal3.io/v1alpha1", "BareMetalHost", freeHost(ctx))
		twin.SetLabels(host.GetLabels())
		for _, key := range []string{"consumerRef", "image", "userData", "metaData"} {
			value, _, err := unstructured.NestedFieldCopy(host.Object, "spec", key)
			Expect(err).NotTo(HaveOccurred())
			Expect(unstructured.SetNestedField(twin.Object, value, "spec", key)).To(Succeed())
		}
		copied = used[name]
		Expect(inventory.Client.Update(ctx, twin)).To(Succeed())
		moveTo := func(rack string) {
			GinkgoHelper()
			host := get(ctx, "metal3.io/v1alpha1", "BareMetalHost", name)
			patch := client.MergeFrom(host.DeepCopy())
			labels := host.GetLabels()
			labels["rack"] = rack
			host.SetLabels(labels)
			Expect(inventory.Client.Patch(ctx, host, patch)).To(Succeed())
		}
		moveTo("r2")

		By("copying the claim of the server")
		machine := slices.Collect(maps.Keys(specs.Identities(ctx, mixed(), hall)))[0]
		original := get(ctx, "metal.ironcore.dev/v1alpha1", "ServerClaim", machine)
		claim := &unstructured.Unstructured{Object: map[string]any{"spec": original.Object["spec"]}}
		claim.SetGroupVersionKind(original.GroupVersionKind())
		claim.SetNamespace(original.GetNamespace())
		claim.SetName(machine + "-copy")
		claim.SetLabels(original.GetLabels())
		claim.SetAnnotations(original.GetAnnotations())
		Expect(inventory.Client.Create(ctx, claim)).To(Succeed())

		for range 2 {
			for _, zone := range []string{rack, hall} {
				scale(ctx, zone, 1)
			}
			var added []string
			for _, zone := range []string{rack, hall} {
				Eventually(specs.Identities).WithContext(ctx).WithArguments(mixed(), zone).Within(time.Minute).Should(HaveLen(2))
				added = append(added, newest(ctx, zone, before).Name)
			}
			Expect(newScaler().Remove(ctx, added...)).To(Succeed())
			Eventually(specs.Identities).WithContext(ctx).WithArguments(mixed(), "").Within(3 * time.Minute).Should(Equal(before))
		}
		Eventually(consumers).WithContext(ctx).Within(2 * time.Minute).Should(Equal(used))
		Eventually(func() error {
			return inventory.Client.Get(ctx, client.ObjectKeyFromObject(claim),
				claim)
		}).WithContext(ctx).Within(time.Minute).
			Should(MatchError(apierrors.IsNotFound, "not found"), "the copied claim is of no Machine")
		moveTo("r1")
		specs.ExpectRunning(ctx, mixed(), "", len(before), inTime)
		Expect(specs.Identities(ctx, mixed(), "")).To(Equal(before))
	}, SpecTimeout(12*time.Minute))
}

// copied is the consumer of two hosts because copySpecs made one a copy of the other.
var copied string

// conflicts are those of the journal but for the copy.
func conflicts() []string {
	return slices.DeleteFunc(inventory.Journal.Conflicts(), func(line string) bool {
		return copied != "" && strings.HasPrefix(line, copied+" had ")
	})
}

// get returns an object of the inventory.
func get(ctx SpecContext, apiVersion, kind, name string) *unstructured.Unstructured {
	GinkgoHelper()
	o := &unstructured.Unstructured{}
	o.SetAPIVersion(apiVersion)
	o.SetKind(kind)
	o.SetNamespace(metal.Namespace)
	o.SetName(name)
	Expect(inventory.Client.Get(ctx, client.ObjectKeyFromObject(o), o)).To(Succeed())
	return o
}

// freeHost is a host that the pool on all sites could have.
func freeHost(ctx SpecContext) string {
	GinkgoHelper()
	hosts, err := inventory.Hosts(ctx)
	Expect(err).NotTo(HaveOccurred())
	for name, host := range hosts {
		if strings.HasPrefix(name, "rack-1-s-") && host.Consumer == "" && host.State == "available" {
			return name
		}
	}
	Fail("no host is free")
	return ""
}
