// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"net/netip"
	"os"
	"path/filepath"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/gardener/gardener-extension-provider-hybrid/charts"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	drivers "github.com/gardener/gardener-extension-provider-hybrid/pkg/csi"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/csi/manila"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
)

// withShares returns a site with shares.
func withShares(name string) platform.ControlPlaneSite {
	s := newSite(name)
	s.Settings.Storage = &v1alpha1.SiteStorage{CSIManila: &v1alpha1.CSIManila{Enabled: true, ShareType: "gold"}}
	s.Status.OpenStack.ShareNetworkID = "share-network"
	s.Site.Network.Nodes = []netip.Prefix{netip.MustParsePrefix("10.250.0.0/24"), netip.MustParsePrefix("fd00::/64")}
	return s
}

var _ = Describe("Shares", func() {
	storage := func(sites ...platform.ControlPlaneSite) *platform.Storage {
		GinkgoHelper()
		storage, err := New().Storage(sites)
		Expect(err).NotTo(HaveOccurred())
		return storage
	}

	It("should be off, and change nothing at sites without them", func() {
		plain := storage(newSite("cloud"), newSite("burst"))
		Expect(plain.Further).To(BeNil())
		off := withShares("cloud")
		off.Settings.Storage.CSIManila.Enabled = false
		Expect(storage(off, newSite("burst"))).To(Equal(plain))

		on := storage(withShares("cloud"), newSite("burst"))
		Expect(on.Classes).To(Equal(plain.Classes))
		Expect(on.Shoot).To(Equal(plain.Shoot))
	})

	It("should have a driver and a class for the sites that have them", func() {
		further := storage(withShares("cloud"), newSite("burst")).Further
		Expect(further.CSIDriver).To(Equal(manila.Name))
		Expect(further.Files).To(BeEmpty())
		Expect(further.ControlPlane).To(Equal(controlPlaneValues{Cluster: shootID}))
		Expect(further.Shoot).To(Equal(shootValues{Sites: []siteValues{{Name: "cloud", Secret: "csi-cinder-cloud"}}}))
		Expect(further.Classes).To(Equal([]platform.StorageClass{{
			Name: "manila-cloud", Site: "cloud", NeverDefault: true, Provisioner: manila.Name,
			Parameters: map[string]string{
				"type": "gold",
				"csi.storage.k8s.io/provisioner-secret-name":            "csi-cinder-cloud",
				"csi.storage.k8s.io/provisioner-secret-namespace":       "kube-system",
				"csi.storage.k8s.io/controller-expand-secret-name":      "csi-cinder-cloud",
				"csi.storage.k8s.io/controller-expand-secret-namespace": "kube-system",
			},
			ReclaimPolicy: corev1.PersistentVolumeReclaimDelete, VolumeBindingMode: storagev1.VolumeBindingImmediate, AllowVolumeExpansion: true,
			AllowedTopologies: []corev1.TopologySelectorTerm{{MatchLabelExpressions: []corev1.TopologySelectorLabelRequirement{
				{Key: "hybrid.provider.extensions.gardener.cloud/site", Values: []string{"cloud"}},
			}}},
		}}))
	})

	It("should be in the configuration that the driver reads", func() {
		early := withShares("burst")
		early.Status.OpenStack.ShareNetworkID = ""
		path := filepath.Join(GinkgoT().TempDir(), "cloud.conf")
		Expect(os.WriteFile(path, []byte(storage(withShares("cloud"), early).Files["cloud.conf"]), 0o600)).To(Succeed())
		config, err := drivers.ReadConfig([]string{path})
		Expect(err).NotTo(HaveOccurred())
		Expect(config.Sites["cloud"]).To(And(HaveField("ShareNetworkID", "share-network"),
			HaveField("ShareClients", []string{"10.250.0.0/24", "fd00::/64"})))
		Expect(config.Sites["burst"]).To(And(HaveField("ShareNetworkID", ""), HaveField("ShareClients", BeEmpty())))
	})

	Describe("in charts", func() {
		var (
			further *platform.Storage
			chart   = New().StorageChart().Further
		)

		BeforeEach(func() { further = storage(withShares("cloud"), newSite("burst")).Further })

		It("should have a driver in the seed with the configuration of the other one", func() {
			manifest := renderSubChart(charts.SeedControlPlane, chart.Name, map[string]any{
				"replicas": 1, "genericTokenKubeconfigSecretName": "generic-token-kubeconfig-92e9ae14", "kubernetesVersion": "1.36.1",
			}, further.ControlPlane, chart.ControlPlaneImages)
			expectGolden("seed-controlplane-shares.yaml", manifest)
			deployments := find[*appsv1.Deployment](objects(manifest))
			Expect(deployments).To(HaveLen(1))
			Expect(deployments[0].Name).To(Equal(chart.Name + "-controller"))
			Expect(deployments[0].Spec.Template.Spec.Volumes).To(ContainElement(HaveField("Secret.SecretName", chartName+"-config")))
		})

		It("should have a driver without credentials on the nodes of the site", func() {
			manifest := renderSubChart(charts.ShootSystemComponents, chart.Name, map[string]any{"kubernetesVersion": "1.36.1"}, further.Shoot,
				chart.ShootImages)
			expectGolden("shoot-system-components-shares.yaml", manifest)
			all := objects(manifest)
			sets := find[*appsv1.DaemonSet](all)
			Expect(sets).To(HaveLen(1))
			pod := sets[0].Spec.Template.Spec
			Expect(pod.NodeSelector).To(Equal(map[string]string{v1alpha1.LabelSite: "cloud"}))
			Expect(pod.AutomountServiceAccountToken).To(HaveValue(BeFalse()))
			Expect(pod.Volumes).To(HaveEach(HaveField("HostPath", Not(BeNil()))))
			Expect(pod.Containers[0].Args).To(ContainElement("--drivername=" + manila.Name))
			Expect(find[*storagev1.CSIDriver](all)).To(ConsistOf(And(HaveField("Name", manila.Name),
				HaveField("Spec.AttachRequired", HaveValue(BeFalse())))))
			for _, role := range find[*rbacv1.ClusterRole](all) {
				Expect(role.Rules).NotTo(ContainElement(HaveField("Resources", ContainElement("secrets"))))
			}
		})
	})
})
