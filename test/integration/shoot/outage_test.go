// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package shoot_test

import (
	"time"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/controller/sitehealth"
	"github.com/gardener/gardener-extension-provider-hybrid/test/countproxy"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/openstack"
)

var _ = Describe("A site that is down while the Infrastructure is reconciled", func() {
	It("should not keep Gardener from the other sites, and be changed when it is back", func(ctx SpecContext) {
		proxy, err := countproxy.New(openstack.Services()...)
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(func() { Expect(proxy.Close()).To(Succeed()) })

		t := newTenant(ctx, "http://127.0.0.1:5000/v3")
		cluster := t.example("30-cluster.yaml")
		path := []string{"spec", "cloudProfile", "spec", "providerConfig", "sites"}
		sites, _, err := unstructured.NestedSlice(cluster[0].Object, path...)
		Expect(err).NotTo(HaveOccurred())
		Expect(unstructured.SetNestedField(sites[1].(map[string]any), proxy.URL("keystone")+"/v3", "openstack", "authURL")).To(Succeed())
		Expect(unstructured.SetNestedSlice(cluster[0].Object, sites, path...)).To(Succeed())

		withoutSecond := cluster[0].DeepCopy()
		since := time.Now()
		apply(ctx, cluster...)
		setCredentials(ctx, t.name, nil)
		apply(ctx, t.example("30-infrastructure.yaml")...)
		infra := t.infrastructure()
		Expect(finished(ctx, infra, since)).To(Equal(succeeded), "%v", infra.Status.LastError)
		before, objects := providerStatus(infra), objectsOf(ctx, t.name, inspectors[1])

		By("reconciling what has not changed, while the second site is down")
		down := []string{"keystone", "neutron", "nova"}
		for _, service := range down {
			Expect(proxy.TakeDown(service)).To(Succeed())
		}
		nothing := func(*v1alpha1.InfrastructureConfig) {}
		Expect(reconcileInfrastructure(ctx, infra, nothing)).To(Equal(succeeded), "%v", infra.Status.LastError)
		Expect(providerStatus(infra)).To(Equal(before))
		Eventually(notes).WithContext(ctx).WithArguments(t.name, "SiteStays").Within(time.Minute).Should(ContainElement(
			HavePrefix(`site "cloud2" failed and is retained, as it needed no change: `)))
		Expect(infra.Status.Conditions).To(ContainElement(And(
			HaveField("Type", gardencorev1beta1.ConditionType(v1alpha1.ConditionSitesReconciled)),
			HaveField("Message", HavePrefix(`site "cloud2": `)))))

		By("changing the site that is known to be down")
		Eventually(func(g Gomega) {
			g.Expect(seed.Client.Get(ctx, client.ObjectKeyFromObject(infra), infra)).To(Succeed())
			g.Expect(infra.Status.Conditions).To(ContainElement(And(
				HaveField("Type", gardencorev1beta1.ConditionType(sitehealth.ConditionPrefix+"cloud2")),
				HaveField("Reason", sitehealth.ReasonUnreachable))))
		}).WithContext(ctx).Within(2 * time.Minute).ProbeEvery(time.Second).Should(Succeed())
		Expect(reconcileInfrastructure(ctx, infra, func(config *v1alpha1.InfrastructureConfig) {
			config.Sites[1].OpenStack.ShareNetwork = &v1alpha1.OpenStackShareNetwork{Enabled: true}
		})).To(Equal(succeeded), "%v", infra.Status.LastError)
		Eventually(notes).WithContext(ctx).WithArguments(t.name, "SiteStays").Within(time.Minute).Should(ContainElement(
			HavePrefix(`site "cloud2" failed and is retained, as it is cut off; it is changed when it responds again: `)))
		Expect(infra.Status.Conditions).To(ContainElement(And(
			HaveField("Type", gardencorev1beta1.ConditionType(v1alpha1.ConditionSitesReconciled)),
			HaveField("Message", HavePrefix(`site "cloud2": `)))))
		Expect(providerStatus(infra).Sites[1].OpenStack).To(Equal(before.Sites[1].OpenStack))
		Expect(objectsOf(ctx, t.name, inspectors[1])).To(Equal(objects))

		By("letting the site come back")
		for _, service := range down {
			Expect(proxy.BringUp(service)).To(Succeed())
		}
		Expect(reconcileInfrastructure(ctx, infra, nothing)).To(Equal(succeeded), "%v", infra.Status.LastError)
		Expect(providerStatus(infra).Sites[1].OpenStack.ShareNetworkID).NotTo(BeEmpty())

		By("reconciling what has not changed, while the credentials of the second site are wrong")
		setCredentials(ctx, t.name, map[string]string{"cloud2.password": "expired"})
		Expect(reconcileInfrastructure(ctx, infra, nothing)).To(Equal(succeeded), "%v", infra.Status.LastError)
		Expect(infra.Status.Conditions).To(ContainElement(And(
			HaveField("Type", gardencorev1beta1.ConditionType(v1alpha1.ConditionSitesReconciled)),
			HaveField("Codes", ConsistOf(gardencorev1beta1.ErrorInfraUnauthenticated)))))

		By("changing the first site, while the second one is down and removed, which goes by itself when it is back")
		setCredentials(ctx, t.name, nil)
		workersPath := []string{"spec", "shoot", "spec", "provider", "workers"}
		workers, _, err := unstructured.NestedSlice(withoutSecond.Object, workersPath...)
		Expect(err).NotTo(HaveOccurred())
		for _, pool := range workers {
			pool.(map[string]any)["zones"] = []any{"cloud-a"}
		}
		Expect(unstructured.SetNestedSlice(withoutSecond.Object, workers, workersPath...)).To(Succeed())
		apply(ctx, withoutSecond)
		for _, service := range down {
			Expect(proxy.TakeDown(service)).To(Succeed())
		}
		Expect(reconcileInfrastructure(ctx, infra, func(config *v1alpha1.InfrastructureConfig) {
			config.Sites = config.Sites[:1]
			config.Sites[0].OpenStack.ShareNetwork = &v1alpha1.OpenStackShareNetwork{Enabled: true}
		})).To(Equal(succeeded), "%v", infra.Status.LastError)
		Expect(providerStatus(infra).Sites).To(ConsistOf(HaveField("OpenStack.ShareNetworkID", Not(BeEmpty()))))
		Expect(infra.Status.Conditions).To(ContainElement(And(
			HaveField("Type", removedSitesDeleted), HaveField("Reason", v1alpha1.ReasonDeletionFailed),
			HaveField("Message", HavePrefix(`site "cloud2": `)))))
		for _, service := range down {
			Expect(proxy.BringUp(service)).To(Succeed())
		}
		Eventually(func(g Gomega) {
			g.Expect(seed.Client.Get(ctx, client.ObjectKeyFromObject(infra), infra)).To(Succeed())
			g.Expect(infra.Status.Conditions).NotTo(ContainElement(HaveField("Type", removedSitesDeleted)))
			g.Expect(stateOf(infra).Sites).To(ConsistOf(HaveField("Name", "cloud")))
		}).WithContext(ctx).Within(3 * time.Minute).ProbeEvery(time.Second).Should(Succeed())
		Expect(objectsOf(ctx, t.name, inspectors[1])).To(BeEmpty())

		Expect(seed.Client.Delete(ctx, infra)).To(Succeed())
		Eventually(func() error { return seed.Client.Get(ctx, client.ObjectKeyFromObject(infra), infra) }).
			WithContext(ctx).Within(2 * time.Minute).ProbeEvery(time.Second).Should(MatchError(apierrors.IsNotFound, "not found"))
	}, SpecTimeout(24*time.Minute))
})
