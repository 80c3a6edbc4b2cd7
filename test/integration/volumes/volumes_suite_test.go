// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package volumes_test runs the provisioner of local volumes as a process beside a real kube-apiserver, scheduler and volume
// controllers, with what the charts made of it. The nodes are objects without kubelets, and the helper pods are played.
package volumes_test

import (
	"context"
	"testing"
	"time"

	v1beta1constants "github.com/gardener/gardener/pkg/apis/core/v1beta1/constants"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/metal/controlplane"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/localvolumes"
	"github.com/gardener/gardener-extension-provider-hybrid/test/rendering"
	"github.com/gardener/gardener-extension-provider-hybrid/test/specs"
	"github.com/gardener/gardener-extension-provider-hybrid/test/suite"
)

func TestVolumes(t *testing.T) {
	suite.Run(t, "Volumes Suite")
}

const (
	namespace = "shoot--test--volumes"
	racks     = "racks"
	slow      = "slow"
	fast      = "fast"
	// account is the service account of the provisioner.
	account = "system:serviceaccount:kube-system:local-volumes-controller"
)

var (
	shoot       *landscape.Landscape
	provisioner *landscape.Process
)

var _ = BeforeSuite(func(ctx SpecContext) {
	var err error
	shoot, err = landscape.New(landscape.Options{Dir: GinkgoT().TempDir(), Namespace: namespace, Workloads: true, Audited: []string{account}})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(shoot.Stop)
	Expect(shoot.StartCluster(ctx)).To(Succeed())

	for name, site := range map[string]string{"racks-1": racks, "racks-2": racks, "vc-1": "vc", "by-hand": ""} {
		createNode(ctx, name, site)
	}
	deploy(ctx)
	provisioner = startProvisioner(ctx)
	playHelpers()
}, NodeTimeout(10*time.Minute))

var _ = AfterEach(func() {
	Expect(shoot.Check()).To(Succeed())
	Expect(provisioner.Check()).To(Succeed())
})

var _ = specs.ShowTails(func() []*landscape.Process {
	if provisioner == nil {
		return nil
	}
	return []*landscape.Process{provisioner}
})

func createNode(ctx context.Context, name, site string) {
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{corev1.LabelHostname: name}}}
	if site != "" {
		node.Labels[v1alpha1.LabelSite] = site
	}
	Expect(shoot.Client.Create(ctx, node)).To(Succeed())
	before := client.MergeFrom(node.DeepCopy())
	node.Status.Allocatable = corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse("4"), corev1.ResourceMemory: resource.MustParse("8Gi"),
		corev1.ResourcePods: resource.MustParse("110"),
	}
	node.Status.Capacity = node.Status.Allocatable
	Expect(shoot.Client.Status().Patch(ctx, node, before)).To(Succeed()) // the controller of taints has it, too
}

// deploy applies the charts as the extension does, and the storage classes.
func deploy(ctx context.Context) {
	platformSite := platform.ControlPlaneSite{Site: &site.Site{Name: racks,
		Profile: &v1alpha1.CloudProfileSite{Name: racks, StorageClasses: []v1alpha1.StorageClass{
			{Name: slow, Metal: &v1alpha1.MetalStorageClass{}}, {Name: fast, Metal: &v1alpha1.MetalStorageClass{Path: "/mnt/fast"}},
		}}}}
	storage, err := controlplane.New().Storage([]platform.ControlPlaneSite{platformSite})
	Expect(err).NotTo(HaveOccurred())
	name := controlplane.New().StorageChart().Name
	images := map[string]any{"enabled": true,
		"images": map[string]string{"local-path-provisioner": "provisioner:v1", "local-path-helper": "helper:v1"}}
	for _, chart := range []struct {
		name, namespace string
		values          any
		class           *string
	}{
		{"seed-controlplane", namespace, storage.ControlPlane, new(v1beta1constants.SeedResourceManagerClass)},
		{"shoot-system-components", metav1.NamespaceSystem, storage.Shoot, nil},
	} {
		values, err := rendering.Merge(chart.values, images)
		Expect(err).NotTo(HaveOccurred())
		rendered, err := rendering.Chart(chart.name, chart.namespace, map[string]any{name: values,
			"global": map[string]any{"replicas": 1, "genericTokenKubeconfigSecretName": "generic-token-kubeconfig", "kubernetesVersion": "1.36.1"}})
		Expect(err).NotTo(HaveOccurred())
		Expect(rendering.Deploy(ctx, shoot.Client, namespace, chart.name, rendered, chart.class)).To(Succeed())
		Eventually(ctx, func() error { return rendering.Applied(ctx, shoot.Client, namespace, chart.name) }, "60s", "500ms").Should(Succeed(),
			chart.name)
	}
	for _, class := range storage.Classes {
		Expect(shoot.Client.Create(ctx, &storagev1.StorageClass{
			ObjectMeta:           metav1.ObjectMeta{Name: class.Name},
			Provisioner:          class.Provisioner,
			Parameters:           class.Parameters,
			AllowVolumeExpansion: new(class.AllowVolumeExpansion),
			AllowedTopologies:    class.AllowedTopologies,
			VolumeBindingMode:    new(storagev1.VolumeBindingWaitForFirstConsumer),
		})).To(Succeed())
	}
}

// startProvisioner starts the provisioner as it was deployed.
func startProvisioner(ctx context.Context) *landscape.Process {
	deployment, config := &appsv1.Deployment{}, &corev1.ConfigMap{}
	Expect(shoot.Client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: localvolumes.Name}, deployment)).To(Succeed())
	Expect(shoot.Client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: localvolumes.Name}, config)).To(Succeed())
	process, err := localvolumes.Start(ctx, shoot.Cluster.Config, deployment, config, GinkgoT().TempDir())
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func(ctx SpecContext) { process.Stop(ctx) })
	return process
}
