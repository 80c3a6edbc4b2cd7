// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package shares_test

import (
	"path/filepath"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kubernetes "sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/containers"
	"github.com/gardener/gardener-extension-provider-hybrid/test/rendering"
)

const account = "csi-manila-controller"

var _ = Describe("Claims", func() {
	It("should get volumes of the class from the sidecars, for nodes of the site, that grow and go", func(ctx SpecContext) {
		dir := GinkgoT().TempDir()
		cluster, err := landscape.NewCluster(dir, landscape.DefaultBinaries())
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(func(ctx SpecContext) { cluster.Stop(ctx) })
		Expect(cluster.Start(ctx)).To(Succeed())
		shoot, err := kubernetes.New(cluster.Config, kubernetes.Options{Scheme: landscape.Scheme})
		Expect(err).NotTo(HaveOccurred())
		workloads, err := landscape.NewWorkloads(dir, cluster, landscape.DefaultBinaries())
		Expect(err).NotTo(HaveOccurred())
		Expect(workloads.ControllerManager.Start()).To(Succeed())
		DeferCleanup(func(ctx SpecContext) { workloads.ControllerManager.Stop(ctx) })

		By("having the permissions, the Secret of the site and the class of the charts")
		rendered, err := rendering.Chart("shoot-system-components", metav1.NamespaceSystem, map[string]any{
			"csi-manila": map[string]any{"enabled": true, "sites": []any{map[string]any{"name": siteName, "secret": "csi-cinder-" + siteName}}},
		})
		Expect(err).NotTo(HaveOccurred())
		objects, err := rendering.Objects(rendered)
		Expect(err).NotTo(HaveOccurred())
		Expect(landscape.CreateRoles(ctx, shoot, objects)).To(Succeed())
		Expect(shoot.Create(ctx,
			&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: account, Namespace: metav1.NamespaceSystem}})).To(Succeed())
		kubeconfig := filepath.Join(GinkgoT().TempDir(), "kubeconfig")
		Expect(rendering.WriteKubeconfig(ctx, cluster.Config, metav1.NamespaceSystem, account, kubeconfig)).To(Succeed())
		Expect(shoot.Create(ctx, &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Name: "csi-cinder-" + siteName, Namespace: metav1.NamespaceSystem}, StringData: secrets,
		})).To(Succeed())
		class := storage.Further.Classes[0]
		Expect(shoot.Create(ctx, &storagev1.StorageClass{
			ObjectMeta: metav1.ObjectMeta{Name: class.Name}, Provisioner: class.Provisioner, Parameters: class.Parameters,
			ReclaimPolicy: &class.ReclaimPolicy, AllowVolumeExpansion: &class.AllowVolumeExpansion,
			VolumeBindingMode: &class.VolumeBindingMode, AllowedTopologies: class.AllowedTopologies,
		})).To(Succeed())

		deployment := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: account}}
		Expect(rendering.ControlPlane(shootID, map[string]any{"csi-manila": map[string]any{"enabled": true, "cluster": shootID}},
			deployment)).To(Succeed())
		for _, sidecar := range []string{"csi-provisioner", "csi-resizer"} {
			process, err := containers.Process(deployment, sidecar, filepath.Join(landscape.Root(), "hack", "bin", sidecar),
				map[string]string{"/csi": filepath.Dir(socket), containers.Kubeconfig: filepath.Dir(kubeconfig)})
			Expect(err).NotTo(HaveOccurred())
			process.LogFile = filepath.Join(dir, sidecar+".log")
			Expect(process.Start()).To(Succeed())
			DeferCleanup(func(ctx SpecContext) { process.Stop(ctx) })
		}

		By("binding a claim before it has a pod")
		claim := &corev1.PersistentVolumeClaim{
			ObjectMeta: metav1.ObjectMeta{Name: "files", Namespace: metav1.NamespaceDefault},
			Spec: corev1.PersistentVolumeClaimSpec{
				StorageClassName: &class.Name, AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteMany},
				Resources: corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
			},
		}
		key := kubernetes.ObjectKeyFromObject(claim)
		Expect(shoot.Create(ctx, claim)).To(Succeed())
		Eventually(func() (corev1.PersistentVolumeClaimPhase, error) {
			return claim.Status.Phase, shoot.Get(ctx, key, claim)
		}).
			WithContext(ctx).Within(3 * time.Minute).ProbeEvery(200 * time.Millisecond).Should(Equal(corev1.ClaimBound))
		pv := &corev1.PersistentVolume{}
		Expect(shoot.Get(ctx, kubernetes.ObjectKey{Name: claim.Spec.VolumeName}, pv)).To(Succeed())
		Expect(pv.Spec.CSI).To(And(HaveField("Driver", "nfs.manila.csi.openstack.org"), HaveField("FSType", ""),
			HaveField("VolumeAttributes", And(HaveKey("server"), HaveKey("share"), Not(HaveKey("cloud"))))))
		Expect(pv.Spec.NodeAffinity.Required.NodeSelectorTerms).To(ConsistOf(HaveField("MatchExpressions", ConsistOf(
			corev1.NodeSelectorRequirement{Key: v1alpha1.LabelSite, Operator: corev1.NodeSelectorOpIn, Values: []string{siteName}},
		))))
		id := pv.Spec.CSI.VolumeHandle
		Expect(named(ctx, pv.Name)).To(ConsistOf(And(HaveField("ID", id),
			HaveField("Metadata", HaveKeyWithValue("csi.storage.k8s.io/pvc/name", claim.Name)))))

		By("expanding it")
		claim.Spec.Resources.Requests[corev1.ResourceStorage] = resource.MustParse("3Gi")
		Expect(shoot.Update(ctx, claim)).To(Succeed())
		Eventually(func() (string, error) { return claim.Status.Capacity.Storage().String(), shoot.Get(ctx, key, claim) }).
			WithContext(ctx).Within(2 * time.Minute).ProbeEvery(200 * time.Millisecond).Should(Equal("3Gi"))
		Expect(named(ctx, pv.Name)).To(ConsistOf(HaveField("Size", 3)))

		By("deleting it")
		Expect(shoot.Delete(ctx, claim)).To(Succeed())
		Eventually(func() error {
			return kubernetes.IgnoreNotFound(shoot.Get(ctx, kubernetes.ObjectKeyFromObject(pv), pv))
		}).WithContext(ctx).Within(time.Minute).Should(Succeed())
		Eventually(func() int { return len(named(ctx, pv.Name)) }).WithContext(ctx).Within(2 * time.Minute).ProbeEvery(time.Second).
			Should(BeZero())
	}, NodeTimeout(12*time.Minute))
})
