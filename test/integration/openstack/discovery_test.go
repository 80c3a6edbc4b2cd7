// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package openstack_test

import (
	"encoding/json"
	"net/http"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/codec"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/discovery"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	openstackdiscovery "github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/discovery"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
	"github.com/gardener/gardener-extension-provider-hybrid/test/countproxy"
)

var _ = Describe("Discovery", Ordered, func() {
	var (
		found   []discovery.Discovered
		profile *gardencorev1beta1.CloudProfile
		config  *v1alpha1.CloudProfileConfig
	)

	discover := func(ctx SpecContext) []discovery.Discovered {
		return discovery.OfSites(ctx, platform.Registry[platform.Discovery]{
			v1alpha1.PlatformOpenStack: openstackdiscovery.New(newSessions()),
		}, []site.Site{{
			Name: "cloud", Platform: v1alpha1.PlatformOpenStack, Credentials: siteCredentials(),
			Profile: &v1alpha1.CloudProfileSite{
				Name: "cloud", TLS: &v1alpha1.TLS{InsecureSkipVerify: true},
				OpenStack: &v1alpha1.OpenStackProfile{AuthURL: connection.AuthURL, Region: connection.Region},
			},
		}}, discovery.Timeout)
	}
	compare := func(config *v1alpha1.CloudProfileConfig) []discovery.Difference {
		return discovery.Compare(found[0].Discovery.References, &profile.Spec, config, "cloud", &found[0].Offer)
	}

	It("should write a CloudProfile that admission accepts, with few requests that only read", func(ctx SpecContext) {
		requests := label("discovery")
		found = discover(ctx)
		Expect(found[0].Err).NotTo(HaveOccurred())
		sent := requests()
		Expect(len(sent)).To(BeNumerically("<=", 20), "%v", sent)
		for _, request := range sent {
			Expect(request.Method == http.MethodGet || request.Kind == countproxy.KindAuth).To(BeTrue(), "%+v", request)
		}

		var err error
		profile, err = discovery.Propose(&gardencorev1beta1.CloudProfile{}, found)
		Expect(err).NotTo(HaveOccurred())
		config, err = codec.Decode[v1alpha1.CloudProfileConfig](profile.Spec.ProviderConfig)
		Expect(err).NotTo(HaveOccurred())
		report, err := json.Marshal(discovery.NewReport(found))
		Expect(err).NotTo(HaveOccurred())
		Expect(string(report)).NotTo(ContainSubstring(credentials.Password))
		AddReportEntry("CloudProfile", string(profile.Spec.ProviderConfig.Raw))
		AddReportEntry("left out", found[0].Offer.Omitted)
	})

	It("should have what the cloud has", func() {
		Expect(config.Sites).To(HaveLen(1))
		Expect(config.Sites[0].Zones).To(ContainElements(
			HaveField("OpenStack.AvailabilityZone", "az1"), HaveField("OpenStack.AvailabilityZone", "az2")))
		Expect(config.Sites[0].Zones).NotTo(ContainElement(HaveField("OpenStack.AvailabilityZone", "internal")))
		Expect(config.Sites[0].OpenStack.FloatingPools).To(ContainElement(HaveField("Name", "public")))
		Expect(config.Sites[0].OpenStack.LoadBalancerProviders).NotTo(BeEmpty())
		Expect(config.Sites[0].StorageClasses).To(ContainElement(HaveField("OpenStack.Type", "fake")))
		Expect(profile.Spec.MachineTypes).To(ContainElement(And(HaveField("Name", "m1.tiny"),
			WithTransform(func(t gardencorev1beta1.MachineType) []int64 { return []int64{t.CPU.Value(), t.Memory.Value()} },
				Equal([]int64{1, 512 << 20})))))
		Expect(profile.Spec.MachineImages).To(ContainElement(And(HaveField("Name", "gardenlinux"),
			HaveField("Versions", ContainElement(HaveField("Version", "1877.3.0"))))))
		Expect(profile.Spec.VolumeTypes).To(ContainElement(HaveField("Name", "fake")))
		Expect(found[0].Offer.Quotas).NotTo(BeEmpty())
	})

	It("should find no drift in it, and each change of what it says", func() {
		Expect(discovery.HasDrift(compare(config))).To(BeFalse(), "%v", compare(config))
		changed := config.DeepCopy()
		changed.Sites[0].Zones[0].OpenStack.AvailabilityZone = "az9"
		changed.Sites[0].OpenStack.FloatingPools[0].Name = "private"
		changed.MachineTypes[0].Sites[0].OpenStack.Flavor = "m9.none"
		changed.VolumeTypes[0].Sites[0].OpenStack.Type = "gone"
		changed.MachineImages[0].Versions[0].CapabilityFlavors[0].Sites[0].OpenStack.ImageID = "00000000-0000-4000-8000-000000000000"
		Expect(compare(changed)).To(ContainElements(
			isMissing("zone", "az9"), isMissing("external network", "private"), isMissing("machine type", "m9.none"),
			isMissing("volume type", "gone"), isMissing("image", "00000000-0000-4000-8000-000000000000")))
		Expect(compare(changed)).To(ContainElement(And(HaveField("State", v1alpha1.DifferenceUnused), HaveField("Drift", false))))
	})

	It("should name a site that does not answer, and lists that the cloud refuses", func(ctx SpecContext) {
		DeferCleanup(func() { Expect(proxy.SetFaults()).To(Succeed()) })
		Expect(proxy.SetFaults(countproxy.Fault{Service: "glance", Action: countproxy.ActionStatus, Status: 403})).To(Succeed())
		limited := discover(ctx)
		Expect(limited[0].Err).NotTo(HaveOccurred())
		Expect(limited[0].Offer.Incomplete(platform.KindImage)).To(BeTrue())
		Expect(discovery.Compare(limited[0].Discovery.References, &profile.Spec, config, "cloud", &limited[0].Offer)).To(ContainElement(
			And(HaveField("Kind", "image"), HaveField("State", v1alpha1.DifferenceUnknown), HaveField("Drift", false))))
		Expect(proxy.SetFaults(countproxy.Fault{Service: "keystone", Action: countproxy.ActionStatus, Status: 401})).To(Succeed())
		Expect(discover(ctx)[0].Err).To(MatchError(ContainSubstring(`site "cloud"`)))
	})
})

func isMissing(kind, name string) OmegaMatcher {
	return And(HaveField("Kind", kind), HaveField("Name", name), HaveField("State", v1alpha1.DifferenceMissing), HaveField("Drift", true))
}
