// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package shoot_test

import (
	"context"
	"slices"
	"strings"
	"time"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	v1beta1constants "github.com/gardener/gardener/pkg/apis/core/v1beta1/constants"
	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/openstack"
)

const succeeded = gardencorev1beta1.LastOperationStateSucceeded

var _ = Describe("Shoot on two OpenStack sites", Ordered, func() {
	BeforeAll(func(ctx SpecContext) {
		since := time.Now()
		for _, file := range []string{"30-cluster.yaml", "30-secret-userdata.yaml", "30-infrastructure.yaml"} {
			if file == "30-infrastructure.yaml" {
				setCredentials(ctx, shoot, nil)
			}
			apply(ctx, example(file)...)
		}
		infra := infrastructure()
		Expect(finished(ctx, infra, since)).To(Equal(succeeded), "%v", infra.Status.LastError)
		Expect(infra.Status.Networking.Nodes).To(HaveLen(2))
	}, NodeTimeout(6*time.Minute))

	It("should expose a control plane on one of the sites, and follow its nodes", func(ctx SpecContext) {
		cluster := &extensionsv1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: shoot}}
		Expect(seed.Client.Get(ctx, client.ObjectKeyFromObject(cluster), cluster)).To(Succeed())
		spec := string(cluster.Spec.Shoot.Raw)
		Expect(spec).To(ContainSubstring(`"name":"single"`))
		cluster.Spec.Shoot.Raw = []byte(strings.Replace(spec, `"name":"single"`, `"name":"single","controlPlane":{}`, 1))
		Expect(seed.Client.Update(ctx, cluster)).To(Succeed())

		since := time.Now()
		exposure := example("30-selfhostedshootexposure.yaml")[0]
		exposure.SetNamespace(shoot)
		apply(ctx, exposure)
		created := &extensionsv1alpha1.SelfHostedShootExposure{ObjectMeta: metav1.ObjectMeta{Name: "hybrid", Namespace: shoot}}
		Expect(finished(ctx, created, since)).To(Equal(succeeded), "%v", created.Status.LastError)
		Expect(created.Status.Ingress).To(ConsistOf(HaveField("IP", HavePrefix("172.24."))))
		balancers := func() []openstack.Object {
			GinkgoHelper()
			found, err := inspectors[0].Objects(ctx, shoot)
			Expect(err).NotTo(HaveOccurred())
			return slices.DeleteFunc(found, func(o openstack.Object) bool { return o.Kind != "load balancer" })
		}
		before := balancers()
		Expect(before).To(ConsistOf(HaveField("Name", shoot+"-exposure")))
		address := created.Status.Ingress

		By("naming a node elsewhere")
		Eventually(endedJustNow).WithArguments(created).Should(Succeed())
		since = time.Now()
		created.Spec.Endpoints[1].Addresses[0].Address = "192.0.2.1"
		metav1.SetMetaDataAnnotation(&created.ObjectMeta, v1beta1constants.GardenerOperation, v1beta1constants.GardenerOperationReconcile)
		Expect(seed.Client.Update(ctx, created)).To(Succeed())
		Expect(finished(ctx, created, since)).NotTo(Equal(succeeded))
		Expect(created.Status.LastError).To(HaveValue(And(HaveField("Description", ContainSubstring(`node "control-plane-2"`)),
			HaveField("Codes", ConsistOf(gardencorev1beta1.ErrorConfigurationProblem)))))
		Expect(created.Status.Ingress).To(Equal(address))

		By("losing that node")
		Eventually(endedJustNow).WithArguments(created).Should(Succeed())
		Eventually(func() error {
			if err := seed.Client.Get(ctx, client.ObjectKeyFromObject(created), created); err != nil {
				return err
			}
			created.Spec.Endpoints = created.Spec.Endpoints[:1]
			metav1.SetMetaDataAnnotation(&created.ObjectMeta, v1beta1constants.GardenerOperation, v1beta1constants.GardenerOperationReconcile)
			since = time.Now()
			return seed.Client.Update(ctx, created)
		}).WithContext(ctx).Within(time.Minute).Should(Succeed())
		Expect(finished(ctx, created, since)).To(Equal(succeeded), "%v", created.Status.LastError)
		Expect(created.Status.Ingress).To(Equal(address))
		Expect(balancers()).To(ConsistOf(HaveField("ID", before[0].ID)))

		Expect(seed.Client.Delete(ctx, created)).To(Succeed())
		Eventually(func() bool {
			return apierrors.IsNotFound(seed.Client.Get(ctx, client.ObjectKeyFromObject(created), created))
		}).WithContext(ctx).Within(2 * time.Minute).Should(BeTrue())
		Expect(balancers()).To(BeEmpty())
	}, SpecTimeout(8*time.Minute))

	It("should never show a failed machine or an error while servers take 60 s to boot", func(ctx SpecContext) {
		Expect(bed.SetBootDelay(60*time.Second, shoot)).To(Succeed())
		DeferCleanup(func() { Expect(bed.SetBootDelay(0, shoot)).To(Succeed()) })

		infra := infrastructure()
		Expect(seed.Client.Get(ctx, client.ObjectKeyFromObject(infra), infra)).To(Succeed())
		stop := failures(ctx)
		since := time.Now()
		for _, object := range example("30-worker.yaml") {
			Expect(unstructured.SetNestedMap(object.Object, asMap(infra.Status.ProviderStatus), "spec",
				"infrastructureProviderStatus")).To(Succeed())
			apply(ctx, object)
		}
		Expect(finished(ctx, worker(), since)).To(Equal(succeeded))
		Expect(time.Since(since)).To(BeNumerically(">", 60*time.Second))

		seen, failed := stop()
		Expect(failed).To(BeEmpty())
		Expect(seen).To(BeNumerically(">", 10))
		Expect(machinesOf(ctx, "mixed")).To(HaveLen(3))
		Expect(machinesOf(ctx, "single")).To(HaveLen(1))
	}, SpecTimeout(12*time.Minute))

	It("should roll nothing when the first of three zones is removed", func(ctx SpecContext) {
		before := identities(ctx)
		Expect(change(ctx, func(w *extensionsv1alpha1.Worker) {
			mixed := pool(w, "mixed")
			mixed.Zones = mixed.Zones[1:]
			mixed.Minimum = 2
		})).To(Equal(succeeded))

		Eventually(identities).WithContext(ctx).Within(3 * time.Minute).Should(HaveLen(3))
		Expect(machinesOf(ctx, "mixed")).To(HaveLen(2))
		for name, providerID := range identities(ctx) {
			Expect(before).To(HaveKeyWithValue(name, providerID))
		}
	}, SpecTimeout(12*time.Minute))

	It("should go on in one site while another site's image is missing", func(ctx SpecContext) {
		before := identities(ctx)
		changeCloudProfile(ctx, `{"name":"cloud","openstack":{"imageName":"gardenlinux`,
			`{"name":"cloud","openstack":{"imageName":"missing-gardenlinux`)
		survivors := func() {
			GinkgoHelper()
			now := identities(ctx)
			for name, providerID := range before {
				Expect(now).To(HaveKeyWithValue(name, providerID))
			}
			w := worker()
			Expect(seed.Client.Get(ctx, client.ObjectKeyFromObject(w), w)).To(Succeed())
			Expect(w.Status.Conditions).To(ContainElement(And(
				HaveField("Type", gardencorev1beta1.ConditionType(v1alpha1.ConditionSitesReconciled)),
				HaveField("Message",
					And(ContainSubstring(`site "cloud": `), ContainSubstring("missing-gardenlinux"), Not(ContainSubstring(`site "cloud2"`)))),
				HaveField("Codes", ConsistOf(gardencorev1beta1.ErrorConfigurationProblem)))))
		}

		By("creating a pool in the other site")
		Expect(change(ctx, func(w *extensionsv1alpha1.Worker) {
			w.Spec.Pools = append(w.Spec.Pools, poolLike(w, "single", "other", "cloud2-a"))
		})).To(Equal(succeeded))
		survivors()
		Eventually(machinesOf).WithContext(ctx).WithArguments("other").Within(2 * time.Minute).Should(HaveLen(1))
		created := machinesOf(ctx, "other")

		By("rolling it")
		Expect(change(ctx, func(w *extensionsv1alpha1.Worker) {
			other := pool(w, "other")
			other.MachineImage.Version = "1877.4.0"
			other.NodeAgentSecretName = new("gardener-node-agent-other-2")
		})).To(Equal(succeeded))
		survivors()
		Eventually(machinesOf).WithContext(ctx).WithArguments("other").Within(2 * time.Minute).Should(And(HaveLen(1), Not(Equal(created))))

		By("removing it")
		Expect(change(ctx, func(w *extensionsv1alpha1.Worker) {
			w.Spec.Pools = w.Spec.Pools[:len(w.Spec.Pools)-1]
		})).To(Equal(succeeded))
		survivors()
		Eventually(machinesOf).WithContext(ctx).WithArguments("other").Within(2 * time.Minute).Should(BeEmpty())

		By("having the image back")
		changeCloudProfile(ctx, "missing-gardenlinux", "gardenlinux")
		Expect(change(ctx, func(*extensionsv1alpha1.Worker) {})).To(Equal(succeeded))
		Eventually(identities).WithContext(ctx).Within(3*time.Minute).Should(Equal(before),
			"the machine of the removed pool goes, and no other one")
	}, SpecTimeout(15*time.Minute))

	stuckSpecs()

	It("should delete everything that it made", func(ctx SpecContext) {
		for _, object := range []extensionsv1alpha1.Object{worker(), infrastructure()} {
			Expect(seed.Client.Delete(ctx, object)).To(Succeed())
			Eventually(func(ctx context.Context) error {
				return seed.Client.Get(ctx, client.ObjectKeyFromObject(object), object)
			}).WithContext(ctx).Within(4 * time.Minute).ProbeEvery(time.Second).Should(MatchError(apierrors.IsNotFound, "not found"))
		}
		for _, inspector := range inspectors {
			var left []openstack.Object
			left, err := inspector.Objects(ctx, shoot)
			Expect(err).NotTo(HaveOccurred())
			Expect(left).To(BeEmpty())
		}
	}, SpecTimeout(18*time.Minute))
})
