// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package threeplatforms_test

import (
	"context"
	"time"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/vcenter"
	"github.com/gardener/gardener-extension-provider-hybrid/test/specs"
)

// changeSpecs change the pool on all sites as gardenlet does.
func changeSpecs() {
	It("should keep its machines when it grows, and roll nothing when a zone comes and goes", func(ctx SpecContext) {
		objects := func() ([]vcenter.Object, error) { return server.Objects(ctx, local.Name) }
		ruleOf := func(zone string) any {
			return And(HaveField("Kind", "rule"), HaveField("Name", HaveSuffix(".mixed."+zone)))
		}
		before := specs.Identities(ctx, mixed(), "")
		Expect(before).To(HaveLen(4))
		reconcileWorker(ctx, func(w *extensionsv1alpha1.Worker) { changeZones(w, []string{cloud, vc, anotherVC, rack, hall}) })
		specs.ExpectRunning(ctx, mixed(), anotherVC, 1, inTime)
		for _, zone := range []string{vc, anotherVC} {
			specs.ExpectRunning(ctx, mixed(), zone, scale(ctx, zone, 1), inTime) // a rule keeps two virtual machines apart
		}
		specs.ExpectRunning(ctx, mixed(), "", 7, inTime)
		now := specs.Identities(ctx, mixed(), "")
		for name, id := range before {
			Expect(now).To(HaveKeyWithValue(name, id))
		}
		Eventually(objects).WithContext(ctx).Within(inTime).ProbeEvery(time.Second).Should(ContainElements(ruleOf(vc), ruleOf(anotherVC)))

		for name := range specs.Identities(ctx, mixed(), anotherVC) {
			delete(now, name)
		}
		reconcileWorker(ctx, func(w *extensionsv1alpha1.Worker) { changeZones(w, []string{cloud, vc, rack, hall}) })
		specs.ExpectRunning(ctx, mixed(), "", 5, inTime)
		Expect(specs.Identities(ctx, mixed(), "")).To(Equal(now))
		Eventually(objects).WithContext(ctx).Within(inTime).ProbeEvery(time.Second).Should(And(
			ContainElement(ruleOf(vc)), Not(ContainElement(HaveField("Name", HaveSuffix(".mixed."+anotherVC))))))
		specs.ExpectRunning(ctx, mixed(), vc, scale(ctx, vc, -1), inTime)
	}, SpecTimeout(12*time.Minute))

	It("should replace its machines on all platforms with those of another image", func(ctx SpecContext) {
		watch := vcenter.NewWatch(server, local.Name)
		before := specs.Identities(ctx, mixed(), "")
		Expect(watch.Machines(ctx)).To(And(HaveLen(1), HaveEach(HaveField("Guest", "debian11_64Guest"))))
		next := nextUserData(ctx)
		reconcileWorker(ctx, func(w *extensionsv1alpha1.Worker) {
			pool := mixedIn(w)
			pool.MachineImage.Version = "1877.4.0"
			pool.UserDataSecretRef.Name, pool.NodeAgentSecretName = next, &next
		})
		Eventually(func(g Gomega) {
			now, err := mixed().Identities(ctx, "")
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(now).To(HaveLen(len(before)))
			for name := range before {
				g.Expect(now).NotTo(HaveKey(name))
			}
		}).WithContext(ctx).Within(2 * inTime).ProbeEvery(time.Second).Should(Succeed())
		for zone := range siteOf {
			specs.ExpectRunning(ctx, mixed(), zone, 1, inTime)
		}
		Expect(watch.Machines(ctx)).To(And(HaveLen(1), HaveEach(HaveField("Guest", "debian12_64Guest"))))
		Expect(conflicts()).To(BeEmpty())
	}, SpecTimeout(12*time.Minute))

	It("should have no machines while it is hibernated, and wake up", func(ctx SpecContext) {
		hibernate := func(enabled bool) {
			GinkgoHelper()
			changeShoot(ctx, func(shoot *gardencorev1beta1.Shoot) {
				shoot.Spec.Hibernation = &gardencorev1beta1.Hibernation{Enabled: &enabled}
			})
		}
		hibernate(true)
		// The extension may see the Worker before the Cluster. Gardener reconciles again, too.
		Eventually(func() map[string]string {
			reconcileWorker(ctx, func(*extensionsv1alpha1.Worker) {})
			return specs.Identities(ctx, mixed(), "")
		}).WithContext(ctx).Within(2 * inTime).ProbeEvery(time.Second).Should(BeEmpty())
		Expect(vcenter.NewWatch(server, local.Name).Machines(ctx)).To(BeEmpty())
		Expect(local.Inspectors[0].Servers(ctx, local.Name)).To(BeEmpty())
		Eventually(consumers).WithContext(ctx).Within(inTime).Should(BeEmpty())
		Expect(server.Objects(ctx, local.Name)).To(ContainElement(HaveField("Kind", "folder")))

		hibernate(false)
		Eventually(func() map[string]string {
			reconcileWorker(ctx, func(*extensionsv1alpha1.Worker) {})
			return specs.Identities(ctx, mixed(), "")
		}).WithContext(ctx).Within(inTime).ProbeEvery(time.Second).Should(HaveLen(4))
		for zone := range siteOf {
			specs.ExpectRunning(ctx, mixed(), zone, 1, inTime)
		}
	}, SpecTimeout(15*time.Minute))
}

// nextUserData creates the Secret with the user data of the pool's next machines, as gardenlet does for another image, and returns its
// name.
func nextUserData(ctx context.Context) string {
	GinkgoHelper()
	current := &corev1.Secret{}
	Expect(local.Seed.Client.Get(ctx, client.ObjectKey{Namespace: local.Name, Name: "gardener-node-agent-mixed"}, current)).To(Succeed())
	next := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: current.Name + "-next", Namespace: local.Name}, Data: current.Data}
	Expect(local.Seed.Client.Create(ctx, next)).To(Succeed())
	return next.Name
}
