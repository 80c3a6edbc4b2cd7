// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package v1alpha1_test

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	. "github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
)

var _ = Describe("Defaults", func() {
	minute := &metav1.Duration{Duration: time.Minute}
	quarantine := &Quarantine{Share: new(int32(60)), MinimumMachines: new(int32(2)), Window: &metav1.Duration{Duration: 5 * time.Minute},
		MaximumDuration: &metav1.Duration{Duration: 24 * time.Hour}}
	otherQuarantine := &Quarantine{Share: new(int32(0)), MinimumMachines: new(int32(1)), Window: minute, MaximumDuration: minute}

	DescribeTable("CloudProfileConfig",
		func(given, expected CloudProfileConfig) {
			SetCloudProfileConfigDefaults(&given)
			Expect(given).To(Equal(expected))
		},
		Entry("nothing", CloudProfileConfig{}, CloudProfileConfig{}),
		Entry("OpenStack site",
			CloudProfileConfig{Sites: []CloudProfileSite{{OpenStack: &OpenStackProfile{}}}},
			CloudProfileConfig{Sites: []CloudProfileSite{{RequestTimeout: minute, Quarantine: quarantine,
				OpenStack: &OpenStackProfile{EndpointType: "public"}}}}),
		Entry("metal site",
			CloudProfileConfig{Sites: []CloudProfileSite{{Metal: &MetalProfile{}}}},
			CloudProfileConfig{Sites: []CloudProfileSite{{RequestTimeout: minute, Quarantine: quarantine,
				Metal: &MetalProfile{Cleaning: "metadata", NodeName: "Machine"}}}}),
		Entry("storage classes of a bare-metal site",
			CloudProfileConfig{Sites: []CloudProfileSite{{Metal: &MetalProfile{Cleaning: "disabled", NodeName: "Host"},
				StorageClasses: []StorageClass{{Metal: &MetalStorageClass{}}, {Metal: &MetalStorageClass{Path: "/mnt/fast"}}}}}},
			CloudProfileConfig{Sites: []CloudProfileSite{{RequestTimeout: minute, Quarantine: quarantine,
				Metal: &MetalProfile{Cleaning: "disabled", NodeName: "Host"},
				StorageClasses: []StorageClass{{Metal: &MetalStorageClass{Path: "/var/lib/local-volumes"}},
					{Metal: &MetalStorageClass{Path: "/mnt/fast"}}}}}}),
		Entry("blocks of the platform",
			CloudProfileConfig{Sites: []CloudProfileSite{{Name: "racks", Metal: &MetalProfile{Cleaning: "disabled", NodeName: "Host"},
				Zones: []SiteZone{{Name: "rack-1"}}, StorageClasses: []StorageClass{{Name: "local"}}}},
				MachineTypes: []MachineType{{Sites: []SiteMachineType{{Name: "racks"}, {Name: "unknown"}}}}},
			CloudProfileConfig{Sites: []CloudProfileSite{{Name: "racks", RequestTimeout: minute, Quarantine: quarantine,
				Metal: &MetalProfile{Cleaning: "disabled", NodeName: "Host"}, Zones: []SiteZone{{Name: "rack-1", Metal: &MetalZone{}}},
				StorageClasses: []StorageClass{{Name: "local", Metal: &MetalStorageClass{Path: "/var/lib/local-volumes"}}}}},
				MachineTypes: []MachineType{{Sites: []SiteMachineType{{Name: "racks", Metal: &MetalMachineType{}}, {Name: "unknown"}}}}}),
		Entry("what is set stays",
			CloudProfileConfig{Sites: []CloudProfileSite{{RequestTimeout: &metav1.Duration{Duration: time.Second}, Quarantine: otherQuarantine,
				OpenStack: &OpenStackProfile{EndpointType: "internal"}, Metal: &MetalProfile{Cleaning: "disabled", NodeName: "Host"}}}},
			CloudProfileConfig{Sites: []CloudProfileSite{{RequestTimeout: &metav1.Duration{Duration: time.Second}, Quarantine: otherQuarantine,
				OpenStack: &OpenStackProfile{EndpointType: "internal"}, Metal: &MetalProfile{Cleaning: "disabled", NodeName: "Host"}}}}),
		Entry("images",
			CloudProfileConfig{MachineImages: images(SiteMachineImage{},
				SiteMachineImage{UserData: &UserData{Format: UserDataFormatIgnition}, Metal: &MetalImage{}})},
			CloudProfileConfig{MachineImages: images(
				SiteMachineImage{UserData: &UserData{Format: UserDataFormatCloudInit}},
				SiteMachineImage{UserData: &UserData{Format: UserDataFormatIgnition}, Metal: &MetalImage{ChecksumType: "sha256", Format: "raw"}})}),
	)

	DescribeTable("InfrastructureConfig",
		func(given Networks, gateway string) {
			config := &InfrastructureConfig{Networks: given}
			SetInfrastructureConfigDefaults(config)
			Expect(config.Networks.Gateway).To(Equal(gateway))
		},
		Entry("Stretched", Networks{Topology: TopologyStretched, Nodes: []string{"10.250.0.0/16"}}, "10.250.0.1"),
		Entry("Stretched with a gateway", Networks{Topology: TopologyStretched, Nodes: []string{"10.250.0.0/16"}, Gateway: "10.250.255.254"},
			"10.250.255.254"),
		Entry("Stretched with IPv6", Networks{Topology: TopologyStretched, Nodes: []string{"2001:db8::/64"}}, "2001:db8::1"),
		Entry("Stretched without nodes", Networks{Topology: TopologyStretched}, ""),
		Entry("Stretched with a bad CIDR", Networks{Topology: TopologyStretched, Nodes: []string{"10.250.0.0"}}, ""),
		Entry("Routed", Networks{Topology: TopologyRouted, Nodes: []string{"10.250.0.0/16"}}, ""),
	)

	It("sets those of states, provider specs and worker statuses", func() {
		connection := OpenStackConnection{EndpointType: "public", RequestTimeout: minute}

		state := &InfrastructureState{Sites: []SiteState{{Name: "other"}, {Name: "cloud", OpenStack: &OpenStackState{}}}}
		SetInfrastructureStateDefaults(state)
		Expect(state.Sites[1].OpenStack.Connection).To(Equal(connection))

		spec := &MachineProviderSpec{OpenStack: &OpenStackMachineSpec{}}
		SetMachineProviderSpecDefaults(spec)
		Expect(spec.UserDataFormat).To(Equal(UserDataFormatCloudInit))
		Expect(spec.OpenStack.Connection).To(Equal(connection))

		status := &WorkerStatus{MachineImages: images(SiteMachineImage{})}
		SetWorkerStatusDefaults(status)
		Expect(status.MachineImages).To(Equal(images(SiteMachineImage{UserData: &UserData{Format: UserDataFormatCloudInit}})))
	})

	It("is registered with the scheme", func() {
		scheme := runtime.NewScheme()
		Expect(AddToScheme(scheme)).To(Succeed())
		for kind := range scheme.KnownTypes(SchemeGroupVersion) {
			obj, err := scheme.New(SchemeGroupVersion.WithKind(kind))
			Expect(err).NotTo(HaveOccurred())
			Expect(func() { scheme.Default(obj) }).NotTo(Panic())
		}
		config := &CloudProfileConfig{Sites: []CloudProfileSite{{}}}
		scheme.Default(config)
		Expect(config.Sites[0].RequestTimeout).To(Equal(minute))
	})
})

var _ = Describe("Platforms", func() {
	It("names the blocks that are set", func() {
		Expect(PlatformsOf(&SiteZone{})).To(BeEmpty())
		Expect(PlatformsOf(&SiteZone{Metal: &MetalZone{}})).To(Equal([]Platform{PlatformMetal}))
		Expect(PlatformsOf(&StorageClass{VSphere: &VSphereStorageClass{}})).To(Equal([]Platform{PlatformVSphere}))
		Expect(PlatformsOf(&SiteMachineType{OpenStack: &OpenStackMachineType{}})).To(Equal([]Platform{PlatformOpenStack}))
		Expect(PlatformsOf(&SiteVolumeType{VSphere: &VSphereVolumeType{}})).To(Equal([]Platform{PlatformVSphere}))
		Expect(PlatformsOf(&SiteMachineImage{Metal: &MetalImage{}})).To(Equal([]Platform{PlatformMetal}))
		Expect(PlatformsOf(&InfrastructureSite{OpenStack: &OpenStackInfrastructure{},
			VSphere: &VSphereInfrastructure{}})).To(Equal([]Platform{PlatformOpenStack, PlatformVSphere}))
	})

	It("says a site's platform only if it is one", func() {
		_, ok := (&CloudProfileSite{}).Platform()
		Expect(ok).To(BeFalse())
		_, ok = (&CloudProfileSite{OpenStack: &OpenStackProfile{}, Metal: &MetalProfile{}}).Platform()
		Expect(ok).To(BeFalse())
		platform, ok := (&CloudProfileSite{VSphere: &VSphereProfile{}}).Platform()
		Expect(ok).To(BeTrue())
		Expect(platform).To(Equal(PlatformVSphere))

		_, ok = (&SiteState{}).Platform()
		Expect(ok).To(BeFalse())
		platform, ok = (&SiteState{OpenStack: &OpenStackState{}}).Platform()
		Expect(ok).To(BeTrue())
		Expect(platform).To(Equal(PlatformOpenStack))
	})
})

func images(sites ...SiteMachineImage) []MachineImage {
	return []MachineImage{{Versions: []MachineImageVersion{{CapabilityFlavors: []MachineImageFlavor{{Sites: sites}}}}}}
}

var _ = It("CloudControllerManagerConfiguration has defaults", func() {
	config := &CloudControllerManagerConfiguration{Sites: []CloudControllerSite{
		{Name: "cloud", OpenStack: &OpenStackCloudController{LoadBalancer: &OpenStackLoadBalancer{}}},
		{Name: "vc", VSphere: &VSphereCloudController{}},
		{Name: "racks", Metal: &MetalCloudController{}},
	}}
	SetCloudControllerManagerConfigurationDefaults(config)
	Expect(config.Sites[0].OpenStack.LoadBalancer).To(And(HaveField("Provider", "amphora"), HaveField("Members", LoadBalancerMembersSite)))
	Expect(config.Sites[0].OpenStack.Connection).To(And(HaveField("EndpointType", "public"),
		HaveField("RequestTimeout.Duration", time.Minute)))
	Expect(config.Sites[1].VSphere.Connection.RequestTimeout.Duration).To(Equal(time.Minute))
	Expect(config.Sites[2].Metal.Connection.RequestTimeout.Duration).To(Equal(time.Minute))
	Expect(config.Sites[0].LoadBalancerMembers()).To(Equal(LoadBalancerMembersSite))
	Expect(config.Sites[1].LoadBalancerMembers()).To(BeEmpty())
})
