// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package metal_test

import (
	"context"
	"time"

	metalv1alpha1 "github.com/ironcore-dev/metal-operator/api/v1alpha1"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/metal/inventory"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/metal"
)

var _ = Describe("Servers of IronCore that others work at", Ordered, func() {
	const rack = "ic-faults"
	var servers []string

	BeforeAll(func(ctx SpecContext) { servers = newServers(ctx, rack, 1, false) }, NodeTimeout(2*time.Minute))

	It("are not claimed, not faulty and not released during maintenance", func(ctx SpecContext) {
		o := newOwner()
		machine := o.Shoot + "-1"
		i := newIronCore(ctx, o)
		DeferCleanup(release, i, machine)
		maintain := func(ctx context.Context) *metalv1alpha1.ServerMaintenance { //nolint:staticcheck // there is nothing else yet
			GinkgoHelper()
			maintenance := &metalv1alpha1.ServerMaintenance{ //nolint:staticcheck // there is nothing else yet
				ObjectMeta: metav1.ObjectMeta{Namespace: metal.Namespace, GenerateName: "maintenance-"},
				Spec: metalv1alpha1.ServerMaintenanceSpec{
					Policy: metalv1alpha1.ServerMaintenancePolicyEnforced, ServerRef: &corev1.LocalObjectReference{Name: servers[0]},
					ServerPower: metalv1alpha1.PowerOff,
				},
			}
			Expect(administrator().Create(ctx, maintenance)).To(Succeed())
			Eventually(server(ctx, servers[0]), soon).Should(HaveField("State", "Maintenance"))
			return maintenance
		}

		maintenance := maintain(ctx)
		_, err := i.Claim(ctx, claimOf(machine, rack))
		Expect(platform.ClassOf(err)).To(Equal(platform.ClassExhausted))
		Expect(err).To(MatchError(ContainSubstring("1 in maintenance")))
		Expect(administrator().Delete(ctx, maintenance)).To(Succeed())
		Eventually(server(ctx, servers[0]), soon).Should(And(HaveField("State", "Available"), HaveField("On", false)))

		_, err = i.Claim(ctx, claimOf(machine, rack))
		Expect(err).NotTo(HaveOccurred())
		Eventually(server(ctx, servers[0]), soon).Should(HaveField("On", true))
		maintenance = maintain(ctx)
		Eventually(ctx, func() (*inventory.Host, error) { return i.Find(ctx, machine, "") }, soon).Should(HaveValue(HaveField("Running", false)))
		Expect(i.Find(ctx, machine, "")).To(HaveValue(And(HaveField("Complete", true), HaveField("Fault", ""))))
		before := serverClaim(ctx, machine).ResourceVersion
		Expect(i.Claim(ctx, claimOf(machine, rack))).To(HaveValue(HaveField("Name", servers[0])))
		err = releaseOnce(ctx, i, machine)
		Expect(platform.ClassOf(err)).To(Equal(platform.ClassTransient))
		Expect(err).To(MatchError(ContainSubstring("is in maintenance")))
		Expect(serverClaim(ctx, machine)).To(And(HaveField("ResourceVersion", before), HaveField("DeletionTimestamp", BeNil())))

		Expect(administrator().Delete(ctx, maintenance)).To(Succeed())
		Eventually(server(ctx, servers[0]), soon).Should(And(HaveField("State", "Reserved"), HaveField("On", true)))
		release(ctx, i, machine)
		Eventually(server(ctx, servers[0]), soon).Should(HaveField("State", "Available"))
	}, SpecTimeout(4*time.Minute))

	It("tell whoever asks of their errors, and only of those of the shoots that are asked for", func(ctx SpecContext) {
		o := newOwner()
		machine := o.Shoot + "-1"
		i := newIronCore(ctx, o)
		DeferCleanup(release, i, machine)
		faults := func(ctx context.Context) ([]platform.Fault, error) {
			return i.Faults(ctx, []string{o.Shoot, newOwner().Shoot})
		}
		Expect(faults(ctx)).To(BeEmpty())

		_, err := i.Claim(ctx, claimOf(machine, rack))
		Expect(err).NotTo(HaveOccurred())
		Eventually(ctx, func() (*inventory.Host, error) { return i.Find(ctx, machine, "") },
			soon).Should(HaveValue(And(HaveField("Running", true), HaveField("Fault", ""))))
		Expect(faults(ctx)).To(BeEmpty())

		status := `{"status":{"state":"Error","conditions":[{"type":"Memory","status":"False","reason":"DIMM",` +
			`"message":"DIMM 4 does not answer","lastTransitionTime":"2026-01-02T03:04:05Z"},` +
			`{"type":"PoweringOn","status":"True","reason":"ServerPowerOn","message":"Server is powering on",` +
			`"lastTransitionTime":"2026-01-01T03:04:05Z"}]}}`
		object := &metalv1alpha1.Server{ObjectMeta: metav1.ObjectMeta{Name: servers[0]}}
		Expect(administrator().Status().Patch(ctx, object, client.RawPatch("application/merge-patch+json", []byte(status)))).To(Succeed())
		Eventually(ctx, faults,
			soon).Should(ConsistOf(platform.Fault{Shoot: o.Shoot, Machine: machine, Host: servers[0], Message: "Memory: DIMM 4 does not answer"}))
		Expect(i.Faults(ctx, []string{newOwner().Shoot})).To(BeEmpty())
		Eventually(ctx, func() (*inventory.Host, error) { return i.Find(ctx, machine, "") },
			soon).Should(HaveValue(HaveField("Fault", "Memory: DIMM 4 does not answer")))

		Expect(landscape.SetServerState(ctx, servers[0], "Reserved")).To(Succeed())
		Eventually(ctx, faults, soon).Should(BeEmpty())
		release(ctx, i, machine)
		Expect(faults(ctx)).To(BeEmpty())

		By("failing when the permissions are gone")
		Expect(landscape.Revoke(ctx)).To(Succeed())
		DeferCleanup(func(ctx SpecContext) { Expect(landscape.Grant(ctx)).To(Succeed()) })
		Eventually(ctx, func() platform.Class { _, err := faults(ctx); return platform.ClassOf(err) },
			soon).Should(Equal(platform.ClassForbidden))
		_, err = newIronCore(ctx, o).Claim(ctx, claimOf(machine, rack))
		Expect(platform.ClassOf(err)).To(Equal(platform.ClassForbidden))
	}, SpecTimeout(2*time.Minute))

	It("keep what a newer API has beside what is written", func(ctx SpecContext) {
		addField(ctx, "serverclaims.metal.ironcore.dev", "future")
		o := newOwner()
		machine := o.Shoot + "-1"
		i := newIronCore(ctx, o)
		DeferCleanup(release, i, machine)

		claim := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{
			"power": "Off", "image": "registry.example/os:1", "serverRef": map[string]any{"name": servers[0]}, "future": "kept",
		}}}
		claim.SetGroupVersionKind(metalv1alpha1.GroupVersion.WithKind("ServerClaim"))
		claim.SetNamespace(metal.Namespace)
		claim.SetName(machine)
		claim.SetLabels(o.MachineLabels(machine))
		claim.SetAnnotations(map[string]string{"someone": "else"})
		Eventually(ctx, func(g Gomega) {
			created := claim.DeepCopy()
			g.Expect(landscape.Client.Create(ctx, created)).To(Succeed())
			if created.Object["spec"].(map[string]any)["future"] == nil {
				g.Expect(landscape.Client.Delete(ctx, created)).To(Succeed())
			}
			g.Expect(created.Object["spec"]).To(HaveKeyWithValue("future", "kept"))
		}, soon).Should(Succeed())

		_, err := i.Claim(ctx, claimOf(machine, rack))
		Expect(err).NotTo(HaveOccurred())
		Expect(landscape.Client.Get(ctx, client.ObjectKeyFromObject(claim), claim)).To(Succeed())
		Expect(claim.Object["spec"]).To(And(HaveKeyWithValue("future", "kept"), HaveKeyWithValue("power", "On")))
		Expect(claim.GetAnnotations()).To(HaveKeyWithValue("someone", "else"))
	}, SpecTimeout(2*time.Minute))
})

// addField adds a field to the spec of a kind, as a newer version of its API does.
func addField(ctx context.Context, name, field string) {
	GinkgoHelper()
	scheme := runtime.NewScheme()
	Expect(apiextensionsv1.AddToScheme(scheme)).To(Succeed())
	access, err := client.New(landscape.Cluster.Config, client.Options{Scheme: scheme})
	Expect(err).NotTo(HaveOccurred())
	definition := &apiextensionsv1.CustomResourceDefinition{}
	Expect(access.Get(ctx, client.ObjectKey{Name: name}, definition)).To(Succeed())
	original := definition.DeepCopy()
	for n := range definition.Spec.Versions {
		definition.Spec.Versions[n].Schema.OpenAPIV3Schema.Properties["spec"].Properties[field] = apiextensionsv1.JSONSchemaProps{Type: "string"}
	}
	Expect(access.Patch(ctx, definition, client.MergeFrom(original))).To(Succeed())
}
