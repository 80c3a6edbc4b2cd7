// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package controlplane_test

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/gardener/gardener/extensions/pkg/controller/controlplane/genericactuator"
	resourcesv1alpha1 "github.com/gardener/gardener/pkg/apis/resources/v1alpha1"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	authenticationv1 "k8s.io/api/authentication/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

func accessSpecs() {
	It("should do its work with the permissions of the charts, and try nothing else", func(ctx SpecContext) {
		for _, account := range accounts {
			secret := &corev1.Secret{}
			Expect(c.Get(ctx, client.ObjectKey{Namespace: local.Name, Name: "shoot-access-" + account}, secret)).To(Succeed())
			review := &authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: string(secret.Data["token"])}}
			Expect(c.Create(ctx, review)).To(Succeed())
			Expect(review.Status.User.Username).To(Equal(user(account)), review.Status.Error)
		}
		leases := &coordinationv1.LeaseList{}
		Expect(c.List(ctx, leases, client.InNamespace(metav1.NamespaceSystem))).To(Succeed())
		Expect(leases.Items).To(ContainElements(HaveField("Name", manager), HaveField("Name", HavePrefix("external-attacher-leader-"))))
		expectNothingRefused(ctx)
	}, SpecTimeout(2*time.Minute))

	It("should give Secrets their labels back that somebody took", func(ctx SpecContext) {
		resource := &resourcesv1alpha1.ManagedResource{ObjectMeta: metav1.ObjectMeta{Namespace: local.Name,
			Name: genericactuator.ControlPlaneShootChartResourceName}}
		get(ctx, resource)
		Expect(resource.Spec.SecretRefs).NotTo(BeEmpty())
		secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: local.Name, Name: resource.Spec.SecretRefs[0].Name}}
		get(ctx, secret)
		labels := secret.Labels
		Expect(labels).NotTo(BeEmpty())
		before := secret.DeepCopy()
		secret.Labels = nil
		Expect(c.Patch(ctx, secret, client.MergeFrom(before))).To(Succeed())
		Eventually(func(g Gomega) {
			reconcileControlPlane(ctx)
			g.Expect(c.Get(ctx, client.ObjectKeyFromObject(secret), secret)).To(Succeed())
			g.Expect(secret.Labels).To(Equal(labels))
		}).WithContext(ctx).Should(Succeed())
	}, SpecTimeout(4*time.Minute))
}

// expectNothingRefused expects that no process has asked kube-apiserver for what its roles do not allow. It may have asked before they
// were there.
func expectNothingRefused(ctx context.Context) {
	GinkgoHelper()
	for _, account := range accounts {
		Expect(local.Seed.Refused(ctx, user(account))).To(BeEmpty(), account)
	}
}

func credentialSpecs() {
	It("should take a new credential of a site without a restart", func(ctx SpecContext) {
		before, processes := identities(ctx, cloudZone), running(ctx)
		next := newKey(ctx, local.Name+"-next")
		use(ctx, next)
		reconcileControlPlane(ctx)
		secret := &corev1.Secret{}
		Eventually(func(g Gomega) {
			g.Expect(c.Get(ctx, client.ObjectKey{Namespace: local.Name, Name: "csi-cinder-config"}, secret)).To(Succeed())
			g.Expect(string(secret.Data["cloud.conf"])).To(ContainSubstring(next.ID))
		}).WithContext(ctx).Should(Succeed())
		Eventually(func() string { return process(ctx, cinder, cinderContainer).Tail(100) }).WithContext(ctx).
			Should(ContainSubstring("again=true"))
		Expect(key.Revoke(ctx)).To(Succeed())
		key = next

		scale(ctx, cloudZone, 1)
		n := initialized(ctx, newNode(ctx, cloudZone, before).Name)
		pod := podOn(ctx, "after-rotation", n.Name, cloudClass)
		expectBound(ctx, pod, cinderDriver)
		expectRunning(ctx, pod)
		removePod(ctx, pod)
		Expect(running(ctx)).To(Equal(processes))
	}, SpecTimeout(10*time.Minute))
}

func outageSpecs() {
	It("should initialise the nodes of other sites while OpenStack is down at the start, and its nodes after that", func(ctx SpecContext) {
		inCloud, inVC := identities(ctx, cloudZone), identities(ctx, vcZone)
		ccm := process(ctx, manager, managerContainer)
		By("letting a node of OpenStack join that nobody initialises")
		ccm.Pause()
		DeferCleanup(func() { ccm.Resume() })
		scale(ctx, cloudZone, 1)
		waiting := newNode(ctx, cloudZone, inCloud)

		By("starting the cloud-controller-manager while OpenStack is down")
		services := []string{"keystone", "nova", "neutron", "cinder", "octavia"}
		for _, service := range services {
			Expect(proxy.TakeDown(service)).To(Succeed())
		}
		up := func() {
			for _, service := range services {
				_ = proxy.BringUp(service)
			}
		}
		DeferCleanup(up)
		pid := ccm.PID()
		ccm.Kill()
		Eventually(func() int { return process(ctx, manager, managerContainer).PID() }).WithContext(ctx).ShouldNot(Equal(pid))
		scale(ctx, vcZone, 1)
		n := initialized(ctx, newNode(ctx, vcZone, inVC).Name)
		Expect(n.Spec.ProviderID).To(HavePrefix("vsphere://"))
		Expect(node(ctx, waiting.Name).Spec.Taints).To(ContainElement(uninitialized()))

		By("OpenStack coming back")
		up()
		n = initialized(ctx, waiting.Name)
		Expect(n.Spec.ProviderID).To(HavePrefix("openstack:///"))
		Expect(strings.Contains(process(ctx, manager, managerContainer).Tail(1000), "panic")).To(BeFalse())
		AddReportEntry("restart", fmt.Sprintf("cloud-controller-manager: %d, then %d", pid, process(ctx, manager, managerContainer).PID()))
	}, SpecTimeout(12*time.Minute))
}
