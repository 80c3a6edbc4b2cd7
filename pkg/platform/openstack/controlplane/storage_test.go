// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
)

var _ = Describe("Storage", func() {
	storage := func(sites ...platform.ControlPlaneSite) *platform.Storage {
		GinkgoHelper()
		storage, err := New().Storage(sites)
		Expect(err).NotTo(HaveOccurred())
		return storage
	}
	topologies := func(name string) []corev1.TopologySelectorTerm {
		return []corev1.TopologySelectorTerm{{MatchLabelExpressions: []corev1.TopologySelectorLabelRequirement{
			{Key: "hybrid.provider.extensions.gardener.cloud/site", Values: []string{name}},
			{Key: "topology.cinder.csi.openstack.org/zone", Values: []string{"nova", "nova2"}},
		}}}
	}

	It("should be the driver's, with values", func() {
		result := storage(newSite("cloud"), newSite("burst"))
		Expect(result.CSIDriver).To(Equal("cinder.csi.openstack.org"))
		Expect(result.ControlPlane).To(Equal(controlPlaneValues{Cluster: shootID}))
		Expect(result.Shoot).To(Equal(shootValues{Sites: []siteValues{{Name: "burst", Secret: "csi-cinder-burst"},
			{Name: "cloud", Secret: "csi-cinder-cloud"}}}))
	})

	It("should have the storage classes of the sites, in nodes of the site only", func() {
		result := storage(newSite("cloud"), newSite("burst"))
		Expect(result.Classes).To(HaveLen(4))
		Expect(result.Classes[2:]).To(Equal([]platform.StorageClass{
			{
				Name: "cloud-hdd", Site: "cloud", SiteDefault: true, Provisioner: "cinder.csi.openstack.org", AllowVolumeExpansion: true,
				Parameters: map[string]string{
					"csi.storage.k8s.io/provisioner-secret-name":             "csi-cinder-cloud",
					"csi.storage.k8s.io/provisioner-secret-namespace":        "kube-system",
					"csi.storage.k8s.io/controller-publish-secret-name":      "csi-cinder-cloud",
					"csi.storage.k8s.io/controller-publish-secret-namespace": "kube-system",
					"csi.storage.k8s.io/controller-expand-secret-name":       "csi-cinder-cloud",
					"csi.storage.k8s.io/controller-expand-secret-namespace":  "kube-system",
				},
				ReclaimPolicy:     corev1.PersistentVolumeReclaimDelete,
				AllowedTopologies: topologies("cloud"),
			},
			{
				Name: "cloud-ssd", Site: "cloud", Provisioner: "cinder.csi.openstack.org", AllowVolumeExpansion: true,
				Parameters: map[string]string{
					"type":         "ceph-ssd",
					"availability": "cinder-az",
					"csi.storage.k8s.io/provisioner-secret-name":             "csi-cinder-cloud",
					"csi.storage.k8s.io/provisioner-secret-namespace":        "kube-system",
					"csi.storage.k8s.io/controller-publish-secret-name":      "csi-cinder-cloud",
					"csi.storage.k8s.io/controller-publish-secret-namespace": "kube-system",
					"csi.storage.k8s.io/controller-expand-secret-name":       "csi-cinder-cloud",
					"csi.storage.k8s.io/controller-expand-secret-namespace":  "kube-system",
				},
				ReclaimPolicy:     corev1.PersistentVolumeReclaimDelete,
				AllowedTopologies: topologies("cloud"),
			},
		}))
	})

	It("should have what the CloudProfile says of a class, but not instead of what the site determines", func() {
		s := newSite("cloud")
		class := &s.Site.Profile.StorageClasses[1]
		class.ReclaimPolicy = corev1.PersistentVolumeReclaimRetain
		class.Parameters = map[string]string{"csi.storage.k8s.io/fstype": "xfs", "type": "other"}
		class.Labels, class.Annotations = map[string]string{"team": "storage"}, map[string]string{"example.com/tier": "gold"}
		Expect(storage(s).Classes[1]).To(And(
			HaveField("Parameters", And(HaveKeyWithValue("csi.storage.k8s.io/fstype", "xfs"), HaveKeyWithValue("type", "ceph-ssd"))),
			HaveField("ReclaimPolicy", corev1.PersistentVolumeReclaimRetain),
			HaveField("Labels", map[string]string{"team": "storage"}),
			HaveField("Annotations", map[string]string{"example.com/tier": "gold"})))
	})

	It("should limit the volumes on a node if the CloudProfile does", func() {
		s := newSite("cloud")
		s.Site.Profile.OpenStack.NodeVolumeAttachLimit = new(int32(24))
		Expect(storage(s, newSite("burst")).Shoot).To(Equal(shootValues{Sites: []siteValues{{Name: "burst", Secret: "csi-cinder-burst"},
			{Name: "cloud", Secret: "csi-cinder-cloud", VolumeAttachLimit: new(int32(24))}}}))
	})

	It("should have a class of snapshots for each site", func() {
		Expect(storage(newSite("cloud"), newSite("burst")).SnapshotClasses[1]).To(Equal(platform.SnapshotClass{
			Name: "cinder-cloud", Site: "cloud", Driver: "cinder.csi.openstack.org",
			Parameters: map[string]string{
				"force-create": "true",
				"csi.storage.k8s.io/snapshotter-secret-name":           "csi-cinder-cloud",
				"csi.storage.k8s.io/snapshotter-secret-namespace":      "kube-system",
				"csi.storage.k8s.io/snapshotter-list-secret-name":      "csi-cinder-cloud",
				"csi.storage.k8s.io/snapshotter-list-secret-namespace": "kube-system",
			},
		}))
	})

	It("should have the default class of the CloudProfile", func() {
		s := newSite("cloud")
		s.Site.Profile.StorageClasses[1].Default = true
		classes := storage(s).Classes
		Expect([]bool{classes[0].SiteDefault, classes[1].SiteDefault}).To(Equal([]bool{false, true}))
	})

	It("should be there without storage classes, for volumes that are left", func() {
		s := newSite("cloud")
		s.Site.Profile.StorageClasses = nil
		Expect(storage(s)).To(And(HaveField("CSIDriver", Not(BeEmpty())), HaveField("Classes", BeEmpty())))
	})

	It("should not depend on the order of the sites", func() {
		Expect(storage(newSite("cloud"), newSite("burst"))).To(Equal(storage(newSite("burst"), newSite("cloud"))))
	})

	It("should do without a status, because it needs none", func() {
		s := newSite("cloud")
		s.Status = nil
		storage(s)
	})

	It("should name all sites about which something is not said", func() {
		first, second, third, fourth := newSite("a"), newSite("b"), newSite("c"), newSite("d")
		first.Site.Profile = nil
		second.Site.Profile.Zones[0].OpenStack = nil
		third.Site.Profile.StorageClasses[1].OpenStack = nil
		_, err := New().Storage([]platform.ControlPlaneSite{first, second, third, fourth})
		Expect(err).To(MatchError(And(
			ContainSubstring(`site "a": the CloudProfile`), ContainSubstring(`site "b": zone "b-b"`),
			ContainSubstring(`site "c": storage class "c-ssd"`),
			Not(ContainSubstring(`site "d"`)),
		)))
		Expect(platform.ClassOf(err)).To(Equal(platform.ClassConfiguration))
	})
})
