// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package shoot_test

import (
	"slices"
	"time"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	v1beta1constants "github.com/gardener/gardener/pkg/apis/core/v1beta1/constants"
	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/test/countproxy"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/openstack"
)

var _ = Describe("Moving a shoot to another seed", Ordered, func() {
	var (
		proxy  *countproxy.Proxy
		moving *tenant
		infra  *extensionsv1alpha1.Infrastructure
		before *extensionsv1alpha1.Infrastructure
		was    []map[string]string
	)

	BeforeAll(func(ctx SpecContext) {
		var err error
		proxy, err = countproxy.New(openstack.Services()...)
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(func() { Expect(proxy.Close()).To(Succeed()) })
		moving = newTenant(ctx, proxy.URL("keystone")+"/v3")
		infra = moving.setUp(ctx)
		before = infra.DeepCopy()
		for _, inspector := range inspectors {
			was = append(was, objectsOf(ctx, moving.name, inspector))
		}
		Expect(was).To(HaveEach(Not(BeEmpty())))
	}, NodeTimeout(6*time.Minute))

	writes := func(label string) []string {
		var writes []string
		for _, request := range proxy.Requests(label) {
			if request.Kind == countproxy.KindWrite {
				writes = append(writes, request.Service+" "+request.Pattern)
			}
		}
		return writes
	}
	unchanged := func(ctx SpecContext) {
		GinkgoHelper()
		for i, inspector := range inspectors {
			Expect(objectsOf(ctx, moving.name, inspector)).To(Equal(was[i]))
		}
	}

	It("should leave the sites alone and keep the state on Migrate", func(ctx SpecContext) {
		proxy.SetLabel("migrate")
		Expect(operate(ctx, infra, v1beta1constants.GardenerOperationMigrate, func() {})).To(Equal(succeeded))
		Expect(infra.Status.LastOperation.Type).To(Equal(gardencorev1beta1.LastOperationTypeMigrate))
		Eventually(func() []string {
			Expect(seed.Client.Get(ctx, client.ObjectKeyFromObject(infra), infra)).To(Succeed())
			return infra.Finalizers
		}).WithContext(ctx).Within(time.Minute).Should(BeEmpty())
		Expect(infra.Status.State.Raw).To(MatchJSON(before.Status.State.Raw))

		Expect(seed.Client.Delete(ctx, infra)).To(Succeed())
		Expect(seed.Client.Delete(ctx,
			&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "cloudprovider", Namespace: moving.name}})).To(Succeed())
		Eventually(func() error { return seed.Client.Get(ctx, client.ObjectKeyFromObject(infra), infra) }).
			WithContext(ctx).Within(time.Minute).Should(MatchError(apierrors.IsNotFound, "not found"))
		Expect(slices.DeleteFunc(proxy.Requests("migrate"), isProbe)).To(BeEmpty())
		unchanged(ctx)
	}, SpecTimeout(4*time.Minute))

	It("should restore everything from spec and state, without writing to a site", func(ctx SpecContext) {
		seed.Extension.Stop(ctx)
		Expect(seed.Extension.Start()).To(Succeed())
		proxy.SetLabel("restore")

		setCredentials(ctx, moving.name, nil)
		infra = moving.infrastructure()
		infra.Spec = *before.Spec.DeepCopy()
		infra.Annotations = map[string]string{v1beta1constants.GardenerOperation: v1beta1constants.GardenerOperationWaitForState}
		Expect(seed.Client.Create(ctx, infra)).To(Succeed())
		patch := client.MergeFrom(infra.DeepCopy())
		infra.Status.State = before.Status.State
		Expect(seed.Client.Status().Patch(ctx, infra, patch)).To(Succeed())

		versions := versionsOf(ctx, infra)
		Expect(operate(ctx, infra, v1beta1constants.GardenerOperationRestore, func() {})).To(Equal(succeeded), "%v", infra.Status.LastError)
		// Gardener's library lets a reconciliation follow at once.
		var restored *extensionsv1alpha1.Infrastructure
		for _, version := range versions() {
			if last := version.Status.LastOperation; last != nil && last.Type == gardencorev1beta1.LastOperationTypeRestore &&
				last.State == succeeded {
				restored = version
				break
			}
		}
		Expect(restored).NotTo(BeNil())
		Expect(restored.Status.Networking).To(And(Equal(before.Status.Networking), Not(BeNil())))
		Expect(restored.Status.EgressCIDRs).To(Equal(before.Status.EgressCIDRs))
		Expect(restored.Status.State.Raw).To(MatchJSON(before.Status.State.Raw))
		status := providerStatus(restored)
		Expect(status.Sites).To(And(HaveLen(2), HaveEach(HaveField("Validated", BeEmpty()))))
		Expect(status).To(Equal(withValidated(providerStatus(before), status)))
		Expect(proxy.Requests("restore")).NotTo(BeEmpty())
		Expect(writes("restore")).To(BeEmpty())
		unchanged(ctx)
	}, SpecTimeout(6*time.Minute))

	It("should go on as before", func(ctx SpecContext) {
		proxy.SetLabel("reconcile")
		Expect(operate(ctx, infra, v1beta1constants.GardenerOperationReconcile, func() {})).To(Equal(succeeded), "%v", infra.Status.LastError)
		Expect(providerStatus(infra)).To(Equal(withValidated(providerStatus(before), providerStatus(infra))))
		Expect(writes("reconcile")).To(BeEmpty())

		status := providerStatus(infra)
		Expect(status.Sites).To(HaveEach(HaveField("Validated", Not(BeEmpty()))))
		proxy.SetLabel("noop")
		Expect(operate(ctx, infra, v1beta1constants.GardenerOperationReconcile, func() {})).To(Equal(succeeded))
		Expect(providerStatus(infra)).To(Equal(status))
		perSite := len(proxy.Requests("noop")) / 2
		Expect(perSite).To(BeNumerically("<=", 7))
		AddReportEntry("requests of a no-op for each site", perSite)
	}, SpecTimeout(6*time.Minute))

	It("should refuse an object without configuration and live on", func(ctx SpecContext) {
		empty := moving.infrastructure()
		empty.Name = "empty"
		empty.Spec = *before.Spec.DeepCopy()
		empty.Spec.ProviderConfig = nil
		empty.Annotations = map[string]string{v1beta1constants.GardenerOperation: v1beta1constants.GardenerOperationReconcile}
		since := time.Now()
		Expect(seed.Client.Create(ctx, empty)).To(Succeed())
		Expect(finished(ctx, empty, since)).NotTo(Equal(succeeded))
		Expect(empty.Status.LastError.Description).To(ContainSubstring("spec.providerConfig: decoding InfrastructureConfig: it is empty"))
		Expect(empty.Status.LastError.Codes).To(ConsistOf(gardencorev1beta1.ErrorConfigurationProblem))
		Expect(seed.Check()).To(Succeed())
		Expect(seed.Client.Delete(ctx, empty)).To(Succeed())
	}, SpecTimeout(2*time.Minute))

	It("should delete what the other seed made", func(ctx SpecContext) {
		Expect(seed.Client.Delete(ctx, infra)).To(Succeed())
		Eventually(func() error { return seed.Client.Get(ctx, client.ObjectKeyFromObject(infra), infra) }).
			WithContext(ctx).Within(2 * time.Minute).ProbeEvery(time.Second).Should(MatchError(apierrors.IsNotFound, "not found"))
		for _, inspector := range inspectors {
			Expect(objectsOf(ctx, moving.name, inspector)).To(BeEmpty())
		}
	}, SpecTimeout(6*time.Minute))
})
