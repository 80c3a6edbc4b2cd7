// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package shoot_test

import (
	"context"
	"time"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/codec"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
)

// removedSitesDeleted is the condition about sites that wait for their last machines.
const removedSitesDeleted = gardencorev1beta1.ConditionType("RemovedSitesDeleted")

var _ = Describe("A site that comes and goes", Ordered, func() {
	var (
		first, second v1alpha1.InfrastructureSite
		kept          map[string]string
		keptObjects   map[string]string
	)

	// configure writes the sites and the zones of pool "single" as gardenlet does with a Shoot: into the Cluster, and the sites
	// into the Infrastructure, which is reconciled.
	configure := func(ctx context.Context, zones []any, sites ...v1alpha1.InfrastructureSite) (*extensionsv1alpha1.Infrastructure,
		gardencorev1beta1.LastOperationState) {
		GinkgoHelper()
		infra := infrastructure()
		state := reconcileInfrastructure(ctx, infra, func(config *v1alpha1.InfrastructureConfig) {
			config.Sites = sites
			cluster := example("30-cluster.yaml")
			raw, err := codec.Encode(config)
			Expect(err).NotTo(HaveOccurred())
			provider, _, err := unstructured.NestedMap(cluster[0].Object, "spec", "shoot", "spec", "provider")
			Expect(err).NotTo(HaveOccurred())
			single := provider["workers"].([]any)[1].(map[string]any)
			single["zones"] = zones
			provider["infrastructureConfig"], provider["workers"] = asMap(raw), []any{single}
			Expect(unstructured.SetNestedMap(cluster[0].Object, provider, "spec", "shoot", "spec", "provider")).To(Succeed())
			apply(ctx, cluster...)
		})
		return infra, state
	}
	// spread lets pool "single", the only one, have a machine in each of the zones.
	spread := func(ctx context.Context, infra *extensionsv1alpha1.Infrastructure, zones ...string) gardencorev1beta1.LastOperationState {
		GinkgoHelper()
		return change(ctx, func(w *extensionsv1alpha1.Worker) {
			w.Spec.InfrastructureProviderStatus = infra.Status.ProviderStatus
			single := pool(w, "single")
			single.Zones, single.Minimum = zones, int32(len(zones))
			w.Spec.Pools = []extensionsv1alpha1.WorkerPool{*single}
		})
	}

	BeforeAll(func(ctx SpecContext) {
		since := time.Now()
		apply(ctx, example("30-cluster.yaml")...)
		apply(ctx, example("30-secret-userdata.yaml")...)
		setCredentials(ctx, shoot, nil)
		objects := example("30-infrastructure.yaml")
		sites, _, err := unstructured.NestedSlice(objects[0].Object, "spec", "providerConfig", "sites")
		Expect(err).NotTo(HaveOccurred())
		Expect(unstructured.SetNestedSlice(objects[0].Object, sites[:1], "spec", "providerConfig", "sites")).To(Succeed())
		apply(ctx, objects...)
		infra := infrastructure()
		Expect(finished(ctx, infra, since)).To(Equal(succeeded), "%v", infra.Status.LastError)
		first = v1alpha1.InfrastructureSite{Name: "cloud", Nodes: []string{"10.250.0.0/22"},
			OpenStack: &v1alpha1.OpenStackInfrastructure{FloatingPoolName: "public"}}
		second = v1alpha1.InfrastructureSite{Name: "cloud2", Nodes: []string{"10.250.4.0/22"},
			OpenStack: &v1alpha1.OpenStackInfrastructure{FloatingPoolName: "public"}}

		since = time.Now()
		for _, object := range example("30-worker.yaml") {
			pools, _, err := unstructured.NestedSlice(object.Object, "spec", "pools")
			Expect(err).NotTo(HaveOccurred())
			Expect(unstructured.SetNestedSlice(object.Object, pools[1:], "spec", "pools")).To(Succeed())
			Expect(unstructured.SetNestedMap(object.Object, asMap(infra.Status.ProviderStatus), "spec",
				"infrastructureProviderStatus")).To(Succeed())
			apply(ctx, object)
		}
		Expect(finished(ctx, worker(), since)).To(Equal(succeeded))
		kept = identities(ctx)
		Expect(kept).To(HaveLen(1))
		keptObjects = objectsOf(ctx, shoot, inspectors[0])
		Expect(objectsOf(ctx, shoot, inspectors[1])).To(BeEmpty())
	}, NodeTimeout(12*time.Minute))

	It("should roll nothing when it comes", func(ctx SpecContext) {
		infra, state := configure(ctx, []any{"cloud-a", "cloud2-a"}, first, second)
		Expect(state).To(Equal(succeeded), "%v", infra.Status.LastError)
		Expect(infra.Status.Networking.Nodes).To(Equal([]string{"10.250.0.0/22", "10.250.4.0/22"}))
		Expect(providerStatus(infra).Sites).To(HaveExactElements(HaveField("Name", "cloud"), HaveField("Name", "cloud2")))
		Expect(identities(ctx)).To(Equal(kept))

		Expect(spread(ctx, infra, "cloud-a", "cloud2-a")).To(Equal(succeeded))
		both := identities(ctx)
		Expect(both).To(HaveLen(2))
		for name, providerID := range kept {
			Expect(both).To(HaveKeyWithValue(name, providerID))
		}
		// Only rules for the nodes of the other site are added.
		now := objectsOf(ctx, shoot, inspectors[0])
		for id, object := range keptObjects {
			Expect(now).To(HaveKeyWithValue(id, object))
			delete(now, id)
		}
		Expect(now).To(HaveEach(And(ContainSubstring("security group rule"), ContainSubstring("10.250.4.0/22"))))
	}, SpecTimeout(10*time.Minute))

	It("should not go while a pool of the Shoot has its zones", func(ctx SpecContext) {
		before := objectsOf(ctx, shoot, inspectors[1])
		infra, state := configure(ctx, []any{"cloud-a", "cloud2-a"}, first)
		Expect(state).NotTo(Equal(succeeded))
		Expect(infra.Status.LastError.Description).To(ContainSubstring(
			`site "cloud2": spec.providerConfig.sites: the site has zones of pools ["single"]`))
		Expect(infra.Status.LastError.Codes).To(ConsistOf(gardencorev1beta1.ErrorConfigurationProblem))
		Expect(objectsOf(ctx, shoot, inspectors[1])).To(Equal(before))
	}, SpecTimeout(4*time.Minute))

	It("should go by itself, and alone, when its last machine is gone", func(ctx SpecContext) {
		infra, state := configure(ctx, []any{"cloud-a"}, first)
		Expect(state).To(Equal(succeeded), "%v", infra.Status.LastError)
		Expect(infra.Status.Conditions).To(ContainElement(And(
			HaveField("Type", removedSitesDeleted), HaveField("Status", gardencorev1beta1.ConditionFalse),
			HaveField("Message",
				ContainSubstring(`site "cloud2" will be deleted once it has no machines; it has machine deployment `+shoot+"-single-z")))))
		Expect(infra.Status.Networking.Nodes).To(Equal([]string{"10.250.0.0/22"}))
		Expect(objectsOf(ctx, shoot, inspectors[1])).NotTo(BeEmpty())

		Expect(spread(ctx, infra, "cloud-a")).To(Equal(succeeded))
		Eventually(func(g Gomega) {
			g.Expect(seed.Client.Get(ctx, client.ObjectKeyFromObject(infra), infra)).To(Succeed())
			g.Expect(infra.Status.Conditions).NotTo(ContainElement(HaveField("Type", removedSitesDeleted)))
			g.Expect(stateOf(infra).Sites).To(ConsistOf(HaveField("Name", "cloud")))
		}).WithContext(ctx).Within(6 * time.Minute).ProbeEvery(time.Second).Should(Succeed())
		Expect(objectsOf(ctx, shoot, inspectors[1])).To(BeEmpty())
		Expect(objectsOf(ctx, shoot, inspectors[0])).To(Equal(keptObjects))
		Expect(identities(ctx)).To(Equal(kept))
		Eventually(notes).WithContext(ctx).WithArguments(shoot,
			"SiteDeleted").Within(time.Minute).Should(ContainElement(`site "cloud2" is deleted`))
	}, SpecTimeout(12*time.Minute))

	AfterAll(func(ctx SpecContext) {
		for _, object := range []extensionsv1alpha1.Object{worker(), infrastructure()} {
			Expect(seed.Client.Delete(ctx, object)).To(Succeed())
			Eventually(func() error { return seed.Client.Get(ctx, client.ObjectKeyFromObject(object), object) }).
				WithContext(ctx).Within(8 * time.Minute).ProbeEvery(time.Second).Should(MatchError(apierrors.IsNotFound, "not found"))
		}
		for _, inspector := range inspectors {
			Expect(objectsOf(ctx, shoot, inspector)).To(BeEmpty())
		}
	}, NodeTimeout(12*time.Minute))
})
