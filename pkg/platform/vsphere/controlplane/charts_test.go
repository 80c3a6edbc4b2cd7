// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package controlplane_test

import (
	"path/filepath"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/gardener/gardener-extension-provider-hybrid/charts"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	. "github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/vsphere/controlplane"
	"github.com/gardener/gardener-extension-provider-hybrid/test/rendering"
)

var _ = Describe("charts", func() {
	var storage *platform.Storage

	BeforeEach(func() {
		var err error
		behind := vsphere(west(), func(p *v1alpha1.CloudProfileSite) { p.Proxy = &v1alpha1.Proxy{URL: "http://proxy:3128"} })
		storage, err = New().Storage([]platform.ControlPlaneSite{east(), behind})
		Expect(err).NotTo(HaveOccurred())
	})

	// render renders the part of the driver of one of the two charts.
	render := func(chart, namespace string, values any, images []string) string {
		GinkgoHelper()
		named := map[string]string{}
		for _, image := range images {
			named[image] = "registry.example.com/" + image + ":v1"
		}
		part, err := rendering.Merge(values, map[string]any{"enabled": true, "images": named})
		Expect(err).NotTo(HaveOccurred())
		rendered, err := rendering.Chart(chart, namespace, map[string]any{
			Chart: part,
			"global": map[string]any{"replicas": 1, "genericTokenKubeconfigSecretName": "generic-token-kubeconfig-1234",
				"kubernetesVersion": "1.36.1"},
		})
		Expect(err).NotTo(HaveOccurred())
		return rendered
	}
	golden := func(name, rendered string) {
		GinkgoHelper()
		expected, err := rendering.Golden(filepath.Join("testdata", name+".yaml"), rendered)
		Expect(err).NotTo(HaveOccurred())
		Expect(rendered).To(Equal(expected))
	}

	It("should render what runs in the seed", func() {
		golden("seed-controlplane",
			render(charts.SeedControlPlane, "shoot--demo--hybrid", storage.ControlPlane, New().StorageChart().ControlPlaneImages))
	})

	It("should render what runs in the shoot", func() {
		golden("shoot-system-components", render(charts.ShootSystemComponents, "kube-system", storage.Shoot, New().StorageChart().ShootImages))
	})

	It("should have one node service for each site, which no other node runs", func() {
		objects, err := rendering.Objects(render(charts.ShootSystemComponents, "kube-system", storage.Shoot, New().StorageChart().ShootImages))
		Expect(err).NotTo(HaveOccurred())
		selectors := map[string]map[string]string{}
		for _, object := range objects {
			if object.GetKind() != "DaemonSet" {
				continue
			}
			daemonSet := &appsv1.DaemonSet{}
			Expect(runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, daemonSet)).To(Succeed())
			selectors[daemonSet.Name] = daemonSet.Spec.Template.Spec.NodeSelector
			Expect(daemonSet.Spec.Template.Annotations).To(HaveKeyWithValue("node.gardener.cloud/wait-for-csi-node-vsphere", storage.CSIDriver))
		}
		Expect(selectors).To(Equal(map[string]map[string]string{
			"csi-vsphere-node-east": {"kubernetes.io/os": "linux", v1alpha1.LabelSite: "east"},
			"csi-vsphere-node-west": {"kubernetes.io/os": "linux", v1alpha1.LabelSite: "west"},
		}))
	})

	It("should define the driver's own kinds, and keep them", func() {
		rendered, err := rendering.Chart(charts.ShootCRDs, "kube-system", map[string]any{"vsphere": map[string]any{"enabled": true}})
		Expect(err).NotTo(HaveOccurred())
		objects, err := rendering.Objects(rendered)
		Expect(err).NotTo(HaveOccurred())
		var names []string
		for _, object := range objects {
			names = append(names, object.GetName())
			Expect(object.GetAnnotations()).To(HaveKeyWithValue("resources.gardener.cloud/keep-object", "true"))
		}
		Expect(names).To(ConsistOf("csinodetopologies.cns.vmware.com", "cnsvolumeinfoes.cns.vmware.com",
			"cnsvolumeoperationrequests.cns.vmware.com", "cnsvspherevolumemigrations.cns.vmware.com"))
	})
})
