// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package webhooks_test

import (
	"time"

	v1beta1constants "github.com/gardener/gardener/pkg/apis/core/v1beta1/constants"
	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/rand"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/test/gardenlet"
)

const (
	calicoVersion = `"apiVersion":"calico.networking.extensions.gardener.cloud/v1alpha1","kind":"NetworkConfig"`
	ciliumVersion = `"apiVersion":"cilium.networking.extensions.gardener.cloud/v1alpha1","kind":"NetworkConfig"`
)

var _ = Describe("network", func() {
	// site1450 writer the first site of example/ carry less than Ethernet.
	site1450 := func(infrastructure *extensionsv1alpha1.Infrastructure) {
		infrastructure.Status.ProviderStatus = &runtime.RawExtension{Raw: []byte(`{
			"apiVersion":"hybrid.provider.extensions.gardener.cloud/v1alpha1","kind":"InfrastructureStatus",
			"sites":[{"name":"cloud","openstack":{"networkID":"n","networkMTU":1450,"subnetID":"s","securityGroupID":"g"}}]}`)}
	}

	DescribeTable("should give pods what all sites carry, and change nothing when gardenlet deploys the Network again",
		func(ctx SpecContext, networkType, given, expected string) {
			shoot := "shoot--local--" + rand.String(5)
			Expect(writer.Client.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: shoot, Labels: map[string]string{
				v1beta1constants.LabelShootProvider: "hybrid", v1beta1constants.LabelNetworkingProvider: networkType,
			}}})).To(Succeed())
			create(ctx, shoot, site1450)
			component := writer.Network(shoot, networkType, given)
			object := &extensionsv1alpha1.Network{ObjectMeta: metav1.ObjectMeta{Name: gardenlet.Network, Namespace: shoot}}

			By("waiting until the extension has seen the Infrastructure")
			Eventually(func(g Gomega) {
				first := object.DeepCopy()
				first.Spec = extensionsv1alpha1.NetworkSpec{DefaultSpec: extensionsv1alpha1.DefaultSpec{Type: networkType}, PodCIDR: "100.96.0.0/11",
					ServiceCIDR: "100.64.0.0/13"}
				g.Expect(writer.Client.Create(ctx, first, client.DryRunAll)).To(Succeed())
				g.Expect(first.Spec.ProviderConfig).To(HaveField("Raw", MatchRegexp("1450|1430")))
			}).WithTimeout(20 * time.Second).Should(Succeed())

			for range 2 {
				Expect(component.Deploy(ctx)).To(Succeed())
				Expect(writer.Client.Get(ctx, client.ObjectKeyFromObject(object), object)).To(Succeed())
				Expect(object.Spec.ProviderConfig.Raw).To(MatchJSON(expected))
				Expect(object.Generation).To(BeEquivalentTo(1))
			}

			By("letting the network extension end its work, and gardenlet delete the Network")
			patch := client.MergeFrom(object.DeepCopy())
			delete(object.Annotations, v1beta1constants.GardenerOperation)
			Expect(writer.Client.Patch(ctx, object, patch)).To(Succeed())
			Expect(object.Generation).To(BeEquivalentTo(1))
			Expect(writer.Client.Delete(ctx,
				&extensionsv1alpha1.Infrastructure{ObjectMeta: metav1.ObjectMeta{Name: "hybrid", Namespace: shoot}})).To(Succeed())
			Expect(component.Destroy(ctx)).To(Succeed())
			Expect(client.IgnoreNotFound(writer.Client.Get(ctx, client.ObjectKeyFromObject(object), object))).To(Succeed())
		},
		Entry("calico without a configuration", "calico", "", `{`+calicoVersion+`,"overlay":{"enabled":true},"vethMTU":"1430"}`),
		Entry("calico with VXLAN", "calico", `{`+calicoVersion+`,"vxlan":{"enabled":true},"typha":{"enabled":true}}`,
			`{`+calicoVersion+`,"overlay":{"enabled":true},"typha":{"enabled":true},"vethMTU":"1400","vxlan":{"enabled":true}}`),
		Entry("calico with a smaller MTU", "calico", `{`+calicoVersion+`,"overlay":{"enabled":true},"vethMTU":"1300"}`,
			`{`+calicoVersion+`,"overlay":{"enabled":true},"vethMTU":"1300"}`),
		Entry("cilium without a configuration", "cilium", "", `{`+ciliumVersion+`,"overlay":{"enabled":true},"mtu":1450}`),
		Entry("cilium with a larger MTU", "cilium", `{`+ciliumVersion+`,"mtu":9000,"hubble":{"enabled":true}}`,
			`{`+ciliumVersion+`,"hubble":{"enabled":true},"mtu":1450,"overlay":{"enabled":true}}`),
	)

	It("should refuse an MTU that is none", func(ctx SpecContext) {
		object := &extensionsv1alpha1.Network{
			ObjectMeta: metav1.ObjectMeta{Name: gardenlet.Network, Namespace: namespace},
			Spec: extensionsv1alpha1.NetworkSpec{
				DefaultSpec: extensionsv1alpha1.DefaultSpec{Type: "calico",
					ProviderConfig: &runtime.RawExtension{Raw: []byte(`{` + calicoVersion + `,"vethMTU":"big"}`)}},
				PodCIDR: "100.96.0.0/11", ServiceCIDR: "100.64.0.0/13",
			},
		}
		Expect(writer.Client.Create(ctx,
			object)).To(MatchError(ContainSubstring("spec.providerConfig.vethMTU must be the text of a number of bytes between 0 and 65535")))
	})
})
