// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package ccm_test

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gardener/gardener-extension-provider-hybrid/test/suite"
)

var _ = suite.Nightly("The cloud controllers that are killed after a write", func() {
	It("make and remove one load balancer all the same", func(ctx SpecContext) {
		site := clouds[cloudSite]
		m := newManager()
		m.process.Args = append(m.process.Args, "--leader-elect=false")
		name := shoot + "-crash-member"
		m.start()
		m.waitFor(ctx, cloudSite)
		// Its address must not change later: the members of the load balancer would be written again.
		node(ctx, name, cloudSite, tainted, ready, withSystemUUID(strings.TrimPrefix(site.create(ctx, name), "openstack:///")))
		initialized(ctx, name, time.Minute)
		Eventually(func() []corev1.NodeAddress { return getNode(ctx, name).Status.Addresses }).WithContext(ctx).Within(time.Minute).
			Should(ContainElement(HaveField("Type", corev1.NodeInternalIP)))
		services := shootAPI.CoreV1().Services(metav1.NamespaceDefault)
		digits := regexp.MustCompile(`crash-\d+`)
		// left is what the Service has in the project.
		left := func(ctx context.Context) []string {
			GinkgoHelper()
			objects, err := site.inspector.Objects(ctx, "kube_service_"+shoot+"_default_crash-")
			Expect(err).NotTo(HaveOccurred())
			var lines []string
			for _, o := range objects {
				lines = append(lines, o.Kind+" "+digits.ReplaceAllString(o.Name, "crash"))
			}
			return slices.Sorted(slices.Values(lines))
		}

		var whole []string
		lines, err := site.proxy.AfterEachWrite("", m.process, func(k int) error {
			name := fmt.Sprintf("crash-%d", k)
			_, err := services.Create(ctx, &corev1.Service{
				ObjectMeta: metav1.ObjectMeta{Name: name},
				Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer, Selector: map[string]string{"app": name},
					Ports: []corev1.ServicePort{{Name: "http", Port: 80}}},
			}, metav1.CreateOptions{})
			Expect(err).NotTo(HaveOccurred())
			DeferCleanup(func(ctx SpecContext) {
				Expect(services.Delete(ctx, name, metav1.DeleteOptions{})).To(Or(Succeed(), MatchError(apierrors.IsNotFound, "not found")))
			})
			Eventually(func(g Gomega) {
				service, err := services.Get(ctx, name, metav1.GetOptions{})
				g.Expect(err).NotTo(HaveOccurred())
				g.Expect(service.Status.LoadBalancer.Ingress).To(HaveLen(1))
			}).WithContext(ctx).Within(2 * balancing).ProbeEvery(500 * time.Millisecond).Should(Succeed())
			if k == 0 {
				whole = left(ctx)
				Expect(whole).NotTo(BeEmpty())
			}
			Expect(left(ctx)).To(Equal(whole), "one load balancer, whatever was lost")

			Expect(services.Delete(ctx, name, metav1.DeleteOptions{})).To(Succeed())
			Eventually(func() error {
				_, err := services.Get(ctx, name, metav1.GetOptions{})
				return err
			}).WithContext(ctx).Within(2 * balancing).ProbeEvery(500 * time.Millisecond).Should(MatchError(apierrors.IsNotFound, "not found"))
			Eventually(left).WithContext(ctx).WithArguments(ctx).Within(2 * balancing).ProbeEvery(500 * time.Millisecond).Should(BeEmpty())
			return nil
		})
		AddReportEntry("crashes", strings.Join(lines, "\n"), ReportEntryVisibilityAlways)
		Expect(err).NotTo(HaveOccurred())
		Expect(len(lines)).To(BeNumerically(">=", 1+4), "a load balancer and a floating IP, made and deleted")
	}, SpecTimeout(10*time.Minute))
})
