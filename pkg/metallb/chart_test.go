// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package metallb_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/gardener/gardener-extension-provider-hybrid/imagevector"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/metallb"
	"github.com/gardener/gardener-extension-provider-hybrid/test/rendering"
)

var _ = Describe("Chart", func() {
	It("should need images that there are", func() {
		Expect(metallb.Images()).To(Equal([]string{imagevector.ImageNameMetalLBController, imagevector.ImageNameMetalLBSpeaker}))
		for _, name := range metallb.Images() {
			_, err := imagevector.ImageVector().FindImage(name)
			Expect(err).NotTo(HaveOccurred())
		}
	})

	It("should have an instance for each site", func() {
		racks := pools(pool("vips", v1alpha1.MetalLBAdvertisementL2), pool("anycast", v1alpha1.MetalLBAdvertisementBGP))
		racks.MetalLB.AddressPools[1].CIDRs = []string{"198.51.100.0/24"}
		racks.MetalLB.AddressPools[1].AutoAssign = new(false)
		racks.MetalLB.BGP = &v1alpha1.MetalLBBGP{LocalASN: 4200000000, Peers: []v1alpha1.MetalLBPeer{
			{Address: "192.0.2.1", ASN: 4294967295, EBGPMultiHop: true}, {Address: "2001:db8::1", ASN: 4200000000, Port: 1179},
		}}
		vips := pools(pool("vips", v1alpha1.MetalLBAdvertisementL2))
		values, err := rendering.Merge(
			metallb.Values([]v1alpha1.ControlPlaneSite{site("racks", racks), site("vc", vips)}, "racks"),
			map[string]any{"enabled": true,
				"images": map[string]string{"metallb-controller": "registry.example/controller:v1", "metallb-speaker": "registry.example/speaker:v1"}})
		Expect(err).NotTo(HaveOccurred())
		rendered, err := rendering.Chart("shoot-system-components", "kube-system", map[string]any{metallb.ChartName: values})
		Expect(err).NotTo(HaveOccurred())
		Expect(rendering.Golden("testdata/shoot-system-components.yaml", rendered)).To(Equal(rendered))
	})
})
