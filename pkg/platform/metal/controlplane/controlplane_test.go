// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package controlplane_test

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/metal/controlplane"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
	"github.com/gardener/gardener-extension-provider-hybrid/test/rendering"
)

// siteOf is a site with two zones and the classes.
func siteOf(name string, classes ...v1alpha1.StorageClass) platform.ControlPlaneSite {
	return platform.ControlPlaneSite{Site: &site.Site{Name: name, Platform: v1alpha1.PlatformMetal, Profile: &v1alpha1.CloudProfileSite{
		Name:           name,
		TLS:            &v1alpha1.TLS{Thumbprint: "aa:bb"},
		RequestTimeout: &metav1.Duration{Duration: time.Minute},
		Metal:          &v1alpha1.MetalProfile{Inventory: v1alpha1.MetalInventoryMetal3, Server: "https://inventory", Namespace: "hosts"},
		StorageClasses: classes,
		Zones: []v1alpha1.SiteZone{
			{Name: "rack-1", Metal: &v1alpha1.MetalZone{HostSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"rack": "1"}}}},
			{Name: "rack-2", Metal: &v1alpha1.MetalZone{}},
		},
	}}}
}

func class(name, path string) v1alpha1.StorageClass {
	return v1alpha1.StorageClass{Name: name, Metal: &v1alpha1.MetalStorageClass{Path: path}}
}

var _ = Describe("ControlPlane", func() {
	Describe("CloudController", func() {
		It("should have the connection and the zones", func() {
			Expect(controlplane.New().CloudController(siteOf("racks"))).To(Equal(&v1alpha1.CloudControllerSite{Name: "racks",
				Metal: &v1alpha1.MetalCloudController{
					Connection: v1alpha1.MetalConnection{
						Inventory: v1alpha1.MetalInventoryMetal3, Server: "https://inventory", Namespace: "hosts",
						TLS: &v1alpha1.TLS{Thumbprint: "aa:bb"}, RequestTimeout: &metav1.Duration{Duration: time.Minute},
					},
					Zones: []v1alpha1.MetalCloudControllerZone{
						{Name: "rack-1", HostSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"rack": "1"}}},
						{Name: "rack-2"},
					},
				}}))
		})

		DescribeTable("should name what the CloudProfile does not say",
			func(change func(*site.Site), message string) {
				s := siteOf("racks")
				change(s.Site)
				_, err := controlplane.New().CloudController(s)
				Expect(err).To(MatchError(And(ContainSubstring(`site "racks"`), ContainSubstring(message))))
				Expect(platform.ClassOf(err)).To(Equal(platform.ClassConfiguration))
			},
			Entry("the site", func(s *site.Site) { s.Profile = nil }, "no longer has a bare-metal site"),
			Entry("its platform", func(s *site.Site) { s.Profile.Metal = nil }, "no longer has a bare-metal site"),
			Entry("a zone's block", func(s *site.Site) { s.Profile.Zones[1].Metal = nil }, `zone "rack-2"`),
		)
	})

	Describe("Storage", func() {
		It("should be nothing without storage classes", func() {
			left := siteOf("left")
			left.Site.Profile = nil
			Expect(controlplane.New().Storage([]platform.ControlPlaneSite{siteOf("racks"), left})).To(BeNil())
		})

		It("should keep the volumes of each class at its site", func() {
			fast := class("fast", "/mnt/fast")
			fast.Default = true
			storage, err := controlplane.New().Storage([]platform.ControlPlaneSite{siteOf("racks", class("slow", ""), fast),
				siteOf("hall", class("hall", "/mnt/fast"))})
			Expect(err).NotTo(HaveOccurred())
			Expect(storage.CSIDriver).To(BeEmpty())
			Expect(storage.Files).To(BeEmpty())
			Expect(storage.SnapshotClasses).To(BeEmpty())
			expected := func(name, site, path string, siteDefault bool) platform.StorageClass {
				return platform.StorageClass{
					Name: name, Site: site, SiteDefault: siteDefault,
					Provisioner: "hybrid.provider.extensions.gardener.cloud/local",
					Parameters:  map[string]string{"nodePath": path}, ReclaimPolicy: corev1.PersistentVolumeReclaimDelete,
					AllowedTopologies: []corev1.TopologySelectorTerm{{MatchLabelExpressions: []corev1.TopologySelectorLabelRequirement{
						{Key: "hybrid.provider.extensions.gardener.cloud/site", Values: []string{site}},
					}}},
				}
			}
			Expect(storage.Classes).To(Equal([]platform.StorageClass{
				expected("slow", "racks", "/var/lib/local-volumes", false),
				expected("fast", "racks", "/mnt/fast", true),
				expected("hall", "hall", "/mnt/fast", false),
			}))
		})

		It("should name the class of another platform", func() {
			_, err := controlplane.New().Storage([]platform.ControlPlaneSite{siteOf("racks", v1alpha1.StorageClass{Name: "cinder"})})
			Expect(err).To(MatchError(ContainSubstring(`site "racks": storage class "cinder"`)))
			Expect(platform.ClassOf(err)).To(Equal(platform.ClassConfiguration))
		})
	})

	Describe("charts", func() {
		var storage *platform.Storage

		BeforeEach(func() {
			var err error
			storage, err = controlplane.New().Storage([]platform.ControlPlaneSite{siteOf("racks", class("slow", ""), class("fast", "/mnt/fast"))})
			Expect(err).NotTo(HaveOccurred())
		})

		// with are the values of a sub-chart together with its images.
		with := func(values any, images []string) map[string]any {
			named := map[string]string{}
			for _, image := range images {
				named[image] = "registry.example/" + image + ":v1"
			}
			merged, err := rendering.Merge(values, map[string]any{"enabled": true, "images": named})
			Expect(err).NotTo(HaveOccurred())
			return merged
		}

		DescribeTable("should render in the control plane",
			func(replicas int, file string) {
				chart := controlplane.New().StorageChart()
				rendered, err := rendering.Chart("seed-controlplane", "shoot--test--metal", map[string]any{
					"global": map[string]any{"replicas": replicas, "genericTokenKubeconfigSecretName": "generic-token-kubeconfig-1234",
						"kubernetesVersion": "1.36.1"},
					chart.Name: with(storage.ControlPlane, chart.ControlPlaneImages),
				})
				Expect(err).NotTo(HaveOccurred())
				Expect(rendering.Golden(file, rendered)).To(Equal(rendered))
			},
			Entry("of a shoot that is awake", 2, "testdata/seed-controlplane.yaml"),
			Entry("of a shoot that hibernates", 0, "testdata/seed-controlplane-hibernated.yaml"),
		)

		It("should render in the shoot", func() {
			chart := controlplane.New().StorageChart()
			rendered, err := rendering.Chart("shoot-system-components", "kube-system",
				map[string]any{chart.Name: with(storage.Shoot, chart.ShootImages)})
			Expect(err).NotTo(HaveOccurred())
			Expect(rendering.Golden("testdata/shoot-system-components.yaml", rendered)).To(Equal(rendered))
		})
	})
})
