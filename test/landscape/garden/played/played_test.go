// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package played_test

import (
	"time"

	druidcorev1alpha1 "github.com/gardener/etcd-druid/api/core/v1alpha1"
	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	v1beta1constants "github.com/gardener/gardener/pkg/apis/core/v1beta1/constants"
	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	"github.com/go-logr/logr"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/garden"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/garden/played"
)

const namespace = "shoot--a--b"

var _ = Describe("Operators", func() {
	var c client.Client

	start := func(ctx SpecContext, objects ...client.Object) {
		c = fake.NewClientBuilder().WithScheme(garden.Scheme).WithObjects(objects...).WithStatusSubresource(
			&corev1.Service{}, &corev1.Pod{}, &druidcorev1alpha1.Etcd{}, &druidcorev1alpha1.EtcdCopyBackupsTask{},
			&extensionsv1alpha1.Network{}, &extensionsv1alpha1.OperatingSystemConfig{},
		).Build()
		operators := &played.Operators{Client: c, Types: []string{"linux", "net"}, Balancers: "10.240.100", Log: logr.Discard()}
		operators.Start(ctx)
		DeferCleanup(operators.Stop)
	}
	get := func(ctx SpecContext, object client.Object) func() error {
		return func() error { return c.Get(ctx, client.ObjectKeyFromObject(object), object) }
	}

	It("gives load balancers an address of their own, and no other Service", func(ctx SpecContext) {
		one, two, three := service("one", corev1.ServiceTypeLoadBalancer), service("two", corev1.ServiceTypeLoadBalancer), service("three",
			corev1.ServiceTypeClusterIP)
		start(ctx, one, two, three)
		Eventually(func(g Gomega) {
			for _, s := range []*corev1.Service{one, two} {
				g.Expect(get(ctx, s)()).To(Succeed())
				g.Expect(s.Status.LoadBalancer.Ingress).To(ConsistOf(HaveField("IP", HavePrefix("10.240.100."))))
			}
		}).Should(Succeed())
		Expect(one.Status).NotTo(Equal(two.Status))
		Expect(get(ctx, three)()).To(Succeed())
		Expect(three.Status.LoadBalancer.Ingress).To(BeEmpty())
	})

	It("runs an etcd with its certificates until it is hibernated", func(ctx SpecContext) {
		etcd := &druidcorev1alpha1.Etcd{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "etcd-main", UID: "1",
				Annotations: map[string]string{druidcorev1alpha1.DruidOperationAnnotation: "reconcile"}},
			Spec: druidcorev1alpha1.EtcdSpec{Replicas: 1, Etcd: druidcorev1alpha1.EtcdConfig{ClientUrlTLS: &druidcorev1alpha1.TLSConfig{
				TLSCASecretRef:     druidcorev1alpha1.SecretReference{SecretReference: corev1.SecretReference{Name: "ca-1"}},
				ServerTLSSecretRef: corev1.SecretReference{Name: "server-1"},
			}}},
		}
		start(ctx, etcd)
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "etcd-main-0"}}
		Eventually(get(ctx, pod)).Should(Succeed())
		Expect(pod.Spec.Volumes).To(ContainElements(
			HaveField("Secret", HaveField("SecretName", "ca-1")), HaveField("Secret", HaveField("SecretName", "server-1")),
		))
		Eventually(func(g Gomega) {
			g.Expect(get(ctx, etcd)()).To(Succeed())
			g.Expect(etcd.Status.Ready).To(HaveValue(BeTrue()))
			g.Expect(etcd.Annotations).To(BeEmpty())
		}).Should(Succeed())

		By("replacing it when its certificates change")
		etcd.Spec.Etcd.ClientUrlTLS.ServerTLSSecretRef.Name = "server-2"
		Expect(c.Update(ctx, etcd)).To(Succeed())
		Eventually(func(g Gomega) {
			g.Expect(get(ctx, pod)()).To(Succeed())
			g.Expect(pod.Spec.Volumes).To(ContainElement(HaveField("Secret", HaveField("SecretName", "server-2"))))
		}).WithTimeout(5 * time.Second).Should(Succeed())

		By("hibernating")
		Expect(get(ctx, etcd)()).To(Succeed())
		etcd.Spec.Replicas = 0
		Expect(c.Update(ctx, etcd)).To(Succeed())
		Eventually(get(ctx, pod)).WithTimeout(5 * time.Second).Should(MatchError(apierrors.IsNotFound, "is not found"))
	})

	It("copies backups from one store to another, and says so when they are copied", func(ctx SpecContext) {
		store := func(provider druidcorev1alpha1.StorageProvider, secret string) druidcorev1alpha1.StoreSpec {
			return druidcorev1alpha1.StoreSpec{Provider: &provider, Container: new("of-" + secret), Prefix: "prefix",
				SecretRef: &corev1.SecretReference{Name: secret}}
		}
		task := &druidcorev1alpha1.EtcdCopyBackupsTask{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "copy", UID: "3"},
			Spec: druidcorev1alpha1.EtcdCopyBackupsTaskSpec{SourceStore: store("S3", "source"), TargetStore: store("Swift", "target"),
				WaitForFinalSnapshot: &druidcorev1alpha1.WaitForFinalSnapshotSpec{Enabled: true,
					Timeout: &metav1.Duration{Duration: time.Minute}}}}
		start(ctx, task)
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "copy-worker"}}
		Eventually(get(ctx, pod)).Should(Succeed())
		container := pod.Spec.InitContainers[0]
		Expect(container.Args).To(Equal([]string{"copy", "--storage-provider=Swift", "--store-container=of-target", "--store-prefix=prefix",
			"--snapstore-temp-directory=/tmp", "--source-storage-provider=S3", "--source-store-container=of-source",
			"--source-store-prefix=prefix", "--wait-for-final-snapshot=true", "--wait-for-final-snapshot-timeout=1m0s"}))
		Expect(container.Env).To(ContainElements(HaveField("Name", "OPENSTACK_APPLICATION_CREDENTIALS"),
			HaveField("Name", "SOURCE_AWS_APPLICATION_CREDENTIALS")))
		Consistently(func(g Gomega) {
			g.Expect(get(ctx, task)()).To(Succeed())
			g.Expect(task.Status.Conditions).To(BeEmpty())
		}).Should(Succeed())

		pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
		Expect(c.Status().Update(ctx, pod)).To(Succeed())
		Eventually(func(g Gomega) {
			g.Expect(get(ctx, task)()).To(Succeed())
			g.Expect(task.Status.Conditions).To(ConsistOf(And(HaveField("Type", druidcorev1alpha1.EtcdCopyBackupsTaskSucceeded),
				HaveField("Status", druidcorev1alpha1.ConditionTrue))))
		}).WithTimeout(5 * time.Second).Should(Succeed())
	})

	It("does the work of the extensions that it plays, and of no other", func(ctx SpecContext) {
		ours, theirs := network("ours", "net"), network("theirs", "another")
		system := &extensionsv1alpha1.OperatingSystemConfig{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "system", UID: "2"},
			Spec: extensionsv1alpha1.OperatingSystemConfigSpec{
				DefaultSpec: extensionsv1alpha1.DefaultSpec{Type: "linux"}, Purpose: extensionsv1alpha1.OperatingSystemConfigPurposeProvision,
			},
		}
		start(ctx, ours, theirs, system)
		Eventually(func(g Gomega) {
			g.Expect(get(ctx, ours)()).To(Succeed())
			g.Expect(ours.Status.LastOperation).To(HaveField("State", gardencorev1beta1.LastOperationStateSucceeded))
			g.Expect(ours.Annotations).NotTo(HaveKey(v1beta1constants.GardenerOperation))
			g.Expect(get(ctx, system)()).To(Succeed())
			g.Expect(system.Status.CloudConfig).NotTo(BeNil())
		}).Should(Succeed())
		secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: system.Status.CloudConfig.SecretRef.Name}}
		Expect(get(ctx, secret)()).To(Succeed())
		Expect(string(secret.Data[extensionsv1alpha1.OperatingSystemConfigSecretDataKey])).To(ContainSubstring("<<BOOTSTRAP_TOKEN>>"))
		Expect(get(ctx, theirs)()).To(Succeed())
		Expect(theirs.Status.LastOperation).To(BeNil())
		Expect(theirs.Annotations).To(HaveKey(v1beta1constants.GardenerOperation))
	})
})

func service(name string, kind corev1.ServiceType) *corev1.Service {
	return &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Spec: corev1.ServiceSpec{Type: kind}}
}

func network(name, kind string) *extensionsv1alpha1.Network {
	return &extensionsv1alpha1.Network{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name,
			Annotations: map[string]string{v1beta1constants.GardenerOperation: "reconcile"}},
		Spec: extensionsv1alpha1.NetworkSpec{DefaultSpec: extensionsv1alpha1.DefaultSpec{Type: kind}},
	}
}
