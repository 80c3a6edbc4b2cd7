// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package webhooks_test shows the webhooks of the extension's process on what gardenlet's own code writes to a real kube-apiserver.
package webhooks_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	v1beta1constants "github.com/gardener/gardener/pkg/apis/core/v1beta1/constants"
	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/gardener/gardener-extension-provider-hybrid/test/gardenlet"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape"
	"github.com/gardener/gardener-extension-provider-hybrid/test/specs"
	"github.com/gardener/gardener-extension-provider-hybrid/test/suite"
)

const (
	// namespace is that of the shoot in example/.
	namespace = "shoot--local--hybrid"
	// registration is the name of the extension's MutatingWebhookConfiguration.
	registration = "gardener-extension-provider-hybrid"
)

func TestWebhooks(t *testing.T) {
	suite.Run(t, "Webhooks Suite")
}

var (
	seed *landscape.Landscape
	// writer writes what gardenlet writes.
	writer *gardenlet.Gardenlet
)

var _ = BeforeSuite(func(ctx SpecContext) {
	own, err := landscape.BuildOwn(ctx, GinkgoT().TempDir(), GinkgoWriter, "./cmd/gardener-extension-provider-hybrid")
	Expect(err).NotTo(HaveOccurred())
	binaries := landscape.DefaultBinaries().WithOwn(own)

	seed, err = landscape.New(landscape.Options{Dir: GinkgoT().TempDir(), Namespace: namespace, Binaries: binaries,
		ExtensionArgs: []string{"--disable-controllers=infrastructure,worker"}})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(seed.Stop)
	Expect(seed.StartCluster(ctx)).To(Succeed())
	writer, err = gardenlet.New(ctx, seed.Cluster.Config)
	Expect(err).NotTo(HaveOccurred())

	Expect(seed.Extension.Start()).To(Succeed())
	Eventually(func(g Gomega) {
		Expect(seed.Check()).To(Succeed())
		g.Expect(webhooks(ctx, g)).To(HaveEach(HaveField("ClientConfig.CABundle", Not(BeEmpty()))))
	}).WithTimeout(time.Minute).WithPolling(200 * time.Millisecond).Should(Succeed())

	create(ctx, namespace, nil)
	labelNamespace(ctx, namespace,
		map[string]string{v1beta1constants.LabelShootProvider: "hybrid", v1beta1constants.LabelNetworkingProvider: "calico"})
	awaitWebhooks(ctx)
}, NodeTimeout(10*time.Minute))

var _ = specs.ShowTails(func() []*landscape.Process { return seed.Processes() })

// webhooks are those that the extension registered.
func webhooks(ctx context.Context, g Gomega) []admissionregistrationv1.MutatingWebhook {
	config := &admissionregistrationv1.MutatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: registration}}
	g.Expect(writer.Client.Get(ctx, client.ObjectKeyFromObject(config), config)).To(Succeed())
	g.Expect(config.Webhooks).NotTo(BeEmpty())
	return config.Webhooks
}

// awaitWebhooks waits until the API server knows the webhooks and the labels of the namespace, and the extension the Cluster.
func awaitWebhooks(ctx context.Context) {
	labels := map[string]string{"app": gardenlet.MachineControllerManager}
	deployment := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{
			Name: gardenlet.MachineControllerManager, Namespace: namespace,
			Labels: map[string]string{v1beta1constants.LabelExtensionProviderMutatedByControlplaneWebhook: "true"},
		},
		Spec: appsv1.DeploymentSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec: corev1.PodSpec{
					Containers: []corev1.Container{{Name: gardenlet.MachineControllerManager, Image: "mcm:v1"}},
					Volumes:    []corev1.Volume{{Name: "kubeconfig"}},
				},
			},
		},
	}
	Eventually(func(g Gomega) {
		tried := deployment.DeepCopy()
		g.Expect(writer.Client.Create(ctx, tried, client.DryRunAll)).To(Succeed())
		g.Expect(tried.Spec.Template.Spec.Containers).To(HaveLen(2))
	}).WithTimeout(20 * time.Second).WithPolling(200 * time.Millisecond).Should(Succeed())
}

// labelNamespace says what the shoot of a namespace is.
func labelNamespace(ctx context.Context, name string, labels map[string]string) {
	object := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
	Expect(writer.Client.Get(ctx, client.ObjectKeyFromObject(object), object)).To(Succeed())
	patch := client.MergeFrom(object.DeepCopy())
	object.Labels = labels
	Expect(writer.Client.Patch(ctx, object, patch)).To(Succeed())
}

// create creates the Cluster and the Infrastructure of example/ for a namespace. The Infrastructure is not reconciled.
func create(ctx context.Context, name string, change func(*extensionsv1alpha1.Infrastructure)) {
	cluster, infrastructure := &extensionsv1alpha1.Cluster{}, &extensionsv1alpha1.Infrastructure{}
	read("30-cluster.yaml", cluster)
	read("30-infrastructure.yaml", infrastructure)
	cluster.Name, infrastructure.Namespace, infrastructure.Annotations = name, name, nil
	if change != nil {
		change(infrastructure)
	}
	status := infrastructure.Status
	Expect(writer.Client.Create(ctx, cluster)).To(Succeed())
	Expect(writer.Client.Create(ctx, infrastructure)).To(Succeed())
	infrastructure.Status = status
	Expect(writer.Client.Status().Update(ctx, infrastructure)).To(Succeed())
}

// movePools moves all pools of the Cluster's Shoot to a zone.
func movePools(ctx context.Context, name, zone string) {
	GinkgoHelper()
	cluster, shoot := &extensionsv1alpha1.Cluster{}, &gardencorev1beta1.Shoot{}
	Expect(writer.Client.Get(ctx, client.ObjectKey{Name: name}, cluster)).To(Succeed())
	Expect(json.Unmarshal(cluster.Spec.Shoot.Raw, shoot)).To(Succeed())
	for i := range shoot.Spec.Provider.Workers {
		shoot.Spec.Provider.Workers[i].Zones = []string{zone}
	}
	var err error
	patch := client.MergeFrom(cluster.DeepCopy())
	cluster.Spec.Shoot.Raw, err = json.Marshal(shoot)
	Expect(err).NotTo(HaveOccurred())
	Expect(writer.Client.Patch(ctx, cluster, patch)).To(Succeed())
}

func read(file string, object client.Object) {
	content, err := os.ReadFile(filepath.Join(landscape.Root(), "example", file))
	Expect(err).NotTo(HaveOccurred())
	Expect(yaml.Unmarshal(content, object)).To(Succeed())
}
