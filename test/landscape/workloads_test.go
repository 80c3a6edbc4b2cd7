// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package landscape_test

import (
	"time"

	v1beta1constants "github.com/gardener/gardener/pkg/apis/core/v1beta1/constants"
	resourcesv1alpha1 "github.com/gardener/gardener/pkg/apis/resources/v1alpha1"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape"
)

var _ = Describe("Workloads", Ordered, func() {
	const namespace = "shoot--test--workloads"
	var l *landscape.Landscape

	BeforeAll(func(ctx SpecContext) {
		binaries := landscape.DefaultBinaries()
		Expect(binaries.ResourceManager).To(BeAnExistingFile(), "hack/landscape/build.sh builds it")
		var err error
		l, err = landscape.New(landscape.Options{Dir: GinkgoT().TempDir(), Namespace: namespace, Workloads: true})
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(l.Stop)
		start := time.Now()
		Expect(l.StartCluster(ctx)).To(Succeed())
		AddReportEntry("started after", time.Since(start).String())
	}, NodeTimeout(3*time.Minute))

	AfterEach(func() { Expect(l.Check()).To(Succeed()) })

	DescribeTable("should apply a ManagedResource, report on it and delete what it applied",
		func(ctx SpecContext, name string, class *string) {
			content := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: " + name + ", namespace: kube-system}\n"
			secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace},
				StringData: map[string]string{"chart.yaml": content}}
			resource := &resourcesv1alpha1.ManagedResource{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace},
				Spec: resourcesv1alpha1.ManagedResourceSpec{Class: class, SecretRefs: []corev1.LocalObjectReference{{Name: name}}}}
			Expect(l.Client.Create(ctx, secret)).To(Succeed())
			Expect(l.Client.Create(ctx, resource)).To(Succeed())
			Eventually(func(g Gomega) {
				g.Expect(l.Client.Get(ctx, client.ObjectKeyFromObject(resource), resource)).To(Succeed())
				g.Expect(resource.Status.Conditions).To(ContainElements(
					And(HaveField("Type", resourcesv1alpha1.ResourcesApplied), HaveField("Status", BeEquivalentTo("True"))),
					And(HaveField("Type", resourcesv1alpha1.ResourcesHealthy), HaveField("Status", BeEquivalentTo("True")))))
			}, "30s").Should(Succeed())
			applied := &corev1.ConfigMap{}
			Expect(l.Client.Get(ctx, client.ObjectKey{Namespace: "kube-system", Name: name}, applied)).To(Succeed())

			Expect(l.Client.Delete(ctx, resource)).To(Succeed())
			Eventually(func() error {
				return client.IgnoreNotFound(l.Client.Get(ctx, client.ObjectKeyFromObject(resource), resource))
			}, "30s").Should(Succeed())
			Eventually(func() error { return l.Client.Get(ctx, client.ObjectKeyFromObject(applied), applied) }, "30s").ShouldNot(Succeed())
		},
		Entry("for the shoot", "for-shoot", nil, SpecTimeout(90*time.Second)),
		Entry("for the seed", "for-seed", new(v1beta1constants.SeedResourceManagerClass), SpecTimeout(90*time.Second)),
	)

	It("should request the token of a shoot access Secret", func(ctx SpecContext) {
		secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{
			Name: "shoot-access-test", Namespace: namespace,
			Labels: map[string]string{
				resourcesv1alpha1.ResourceManagerPurpose: resourcesv1alpha1.LabelPurposeTokenRequest,
				resourcesv1alpha1.ResourceManagerClass:   resourcesv1alpha1.ResourceManagerClassShoot,
			},
			Annotations: map[string]string{resourcesv1alpha1.ServiceAccountName: "test", resourcesv1alpha1.ServiceAccountNamespace: "kube-system"},
		}}
		Expect(l.Client.Create(ctx, secret)).To(Succeed())
		Eventually(func(g Gomega) {
			g.Expect(l.Client.Get(ctx, client.ObjectKeyFromObject(secret), secret)).To(Succeed())
			g.Expect(secret.Data).To(HaveKey(resourcesv1alpha1.DataKeyToken))
		}, "30s").Should(Succeed())

		config := rest.AnonymousClientConfig(l.Cluster.Config)
		config.BearerToken = string(secret.Data[resourcesv1alpha1.DataKeyToken])
		access, err := kubernetes.NewForConfig(config)
		Expect(err).NotTo(HaveOccurred())
		review, err := access.AuthenticationV1().SelfSubjectReviews().Create(ctx, &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
		Expect(err).NotTo(HaveOccurred())
		Expect(review.Status.UserInfo.Username).To(Equal("system:serviceaccount:kube-system:test"))
	}, SpecTimeout(time.Minute))

	It("should create the pods of a Deployment with Gardener's priorities", func(ctx SpecContext) {
		labels := map[string]string{"app": "test"}
		deployment := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "test", Namespace: namespace}, Spec: appsv1.DeploymentSpec{
			Replicas: new(int32(2)),
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{
				PriorityClassName: v1beta1constants.PriorityClassNameShootControlPlane300,
				Containers:        []corev1.Container{{Name: "test", Image: "test"}},
			}},
		}}
		Expect(l.Client.Create(ctx, deployment)).To(Succeed())
		Eventually(func(g Gomega) {
			pods := &corev1.PodList{}
			g.Expect(l.Client.List(ctx, pods, client.InNamespace(namespace), client.MatchingLabels(labels))).To(Succeed())
			g.Expect(pods.Items).To(HaveLen(2))
			g.Expect(pods.Items).To(HaveEach(HaveField("Status.Conditions", ContainElement(
				And(HaveField("Type", corev1.PodScheduled), HaveField("Message", ContainSubstring("no nodes available")))))))
		}, "30s").Should(Succeed())
	}, SpecTimeout(time.Minute))
})
