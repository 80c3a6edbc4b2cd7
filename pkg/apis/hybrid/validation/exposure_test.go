// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package validation_test

import (
	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/validation"
)

var _ = Describe("ValidateExposure", func() {
	var (
		zones   = func(names ...string) []v1alpha1.SiteZone { return toZones(names) }
		profile = &v1alpha1.CloudProfileConfig{Sites: []v1alpha1.CloudProfileSite{
			{Name: "cloud", Region: "west", OpenStack: &v1alpha1.OpenStackProfile{}, Zones: zones("cloud-a", "cloud-b")},
			{Name: "cloud2", Region: "west", OpenStack: &v1alpha1.OpenStackProfile{}, Zones: zones("cloud2-a")},
			{Name: "vc", Region: "west", VSphere: &v1alpha1.VSphereProfile{}, Zones: zones("vc-a")},
			{Name: "racks", Region: "west", Metal: &v1alpha1.MetalProfile{}, Zones: zones("racks-a")},
		}}
		extension = func(name string) *gardencorev1beta1.WorkerControlPlane {
			return &gardencorev1beta1.WorkerControlPlane{Exposure: &gardencorev1beta1.Exposure{
				Extension: &gardencorev1beta1.ExtensionExposure{Type: &name}}}
		}
		errorsOf = func(controlPlane *gardencorev1beta1.WorkerControlPlane, zones ...string) field.ErrorList {
			return validation.ValidateExposure([]gardencorev1beta1.Worker{{Name: "other", Zones: []string{"racks-a", "vc-a"}},
				{Name: "control-plane", ControlPlane: controlPlane, Zones: zones}}, "west", profile, field.NewPath("workers"))
		}
	)

	DescribeTable("should accept", func(controlPlane *gardencorev1beta1.WorkerControlPlane, zones ...string) {
		Expect(errorsOf(controlPlane, zones...)).To(BeEmpty())
	},
		Entry("no control plane", nil, "racks-a", "vc-a"),
		Entry("no exposure", &gardencorev1beta1.WorkerControlPlane{}, "racks-a", "vc-a"),
		Entry("DNS on all platforms", &gardencorev1beta1.WorkerControlPlane{Exposure: &gardencorev1beta1.Exposure{
			DNS: &gardencorev1beta1.DNSExposure{}}}, "racks-a", "vc-a", "cloud-a"),
		Entry("another extension", extension("kube-vip"), "racks-a", "vc-a"),
		Entry("zones of one site", extension("hybrid"), "cloud-a", "cloud-b"),
		Entry("zones that the CloudProfile does not have, which are reported elsewhere", extension("hybrid"), "cloud-a", "unknown"),
	)

	DescribeTable("should reject", func(message, zone string, further ...string) {
		Expect(errorsOf(extension("hybrid"), append(further, zone)...)).To(ConsistOf(And(HaveField("Type", field.ErrorTypeForbidden),
			HaveField("Field", "workers[1].controlPlane.exposure.extension"),
			HaveField("Detail", And(ContainSubstring(message), ContainSubstring("set exposure.dns instead"))))))
	},
		Entry("a vSphere site", `site "vc" has no load balancer`, "vc-a"),
		Entry("a bare-metal site", `site "racks" has no load balancer`, "racks-a"),
		Entry("two sites", `["cloud" "cloud2"]`, "cloud2-a", "cloud-a", "cloud-b"),
	)

	It("should reject the default type at a site without load balancers, and a configuration", func() {
		controlPlane := &gardencorev1beta1.WorkerControlPlane{Exposure: &gardencorev1beta1.Exposure{
			Extension: &gardencorev1beta1.ExtensionExposure{ProviderConfig: &runtime.RawExtension{Raw: []byte(`{}`)}}}}
		Expect(errorsOf(controlPlane, "racks-a")).To(ConsistOf(HaveField("Field", "workers[1].controlPlane.exposure.extension.providerConfig"),
			HaveField("Field", "workers[1].controlPlane.exposure.extension")))
	})
})

func toZones(names []string) (result []v1alpha1.SiteZone) {
	for _, name := range names {
		result = append(result, v1alpha1.SiteZone{Name: name})
	}
	return result
}
