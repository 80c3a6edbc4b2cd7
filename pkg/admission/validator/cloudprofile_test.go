// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package validator_test

import (
	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	. "github.com/gardener/gardener-extension-provider-hybrid/pkg/admission/validator"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/codec"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
)

type profileChange = func(spec *gardencorev1beta1.CloudProfileSpec)

// editConfig changes the configuration of a CloudProfile.
func editConfig(change func(config *v1alpha1.CloudProfileConfig)) profileChange {
	return func(spec *gardencorev1beta1.CloudProfileSpec) { edit(&spec.ProviderConfig, change) }
}

// editedConfig returns an empty configuration with the change.
func editedConfig(change func(config *v1alpha1.CloudProfileConfig)) *runtime.RawExtension {
	GinkgoHelper()
	config := &v1alpha1.CloudProfileConfig{}
	change(config)
	raw, err := codec.Encode(config)
	Expect(err).NotTo(HaveOccurred())
	return raw
}

var _ = Describe("CloudProfiles", func() {
	var g *garden

	BeforeEach(func() {
		g = newGarden()
	})

	nothing := func(*gardencorev1beta1.CloudProfileSpec) {}
	withoutRacks := editConfig(func(config *v1alpha1.CloudProfileConfig) { config.Sites = config.Sites[:2] })

	plain := editConfig(func(config *v1alpha1.CloudProfileConfig) {
		config.Sites[0].OpenStack.AuthURL, config.Sites[0].TLS = "http://keystone.example.com/v3", nil
	})
	const refused = `spec.providerConfig.sites[0].openstack.authURL: Invalid value: "http://keystone.example.com/v3": site "cloud": must ` +
		`have the scheme https`

	DescribeTable("that are new",
		func(ctx SpecContext, change profileChange, expected string) {
			change(&g.profile.Spec)
			err := NewCloudProfileValidator(newManager()).Validate(ctx, g.profile, nil)
			if expected == "" {
				Expect(err).NotTo(HaveOccurred())
			} else {
				Expect(err).To(MatchError(ContainSubstring(expected)))
			}
		},
		Entry("the example", nothing, ""),
		Entry("another type", func(spec *gardencorev1beta1.CloudProfileSpec) { spec.Type = "local"; spec.ProviderConfig = nil }, ""),
		Entry("no configuration", func(spec *gardencorev1beta1.CloudProfileSpec) { spec.ProviderConfig = nil },
			"spec.providerConfig: Required value"),
		Entry("an unknown document", func(spec *gardencorev1beta1.CloudProfileSpec) { spec.ProviderConfig = broken() },
			"spec.providerConfig: Invalid value"),
		Entry("an address without encryption", plain, refused),
		Entry("an address without encryption in a laboratory", func(spec *gardencorev1beta1.CloudProfileSpec) {
			plain(spec)
			editConfig(func(config *v1alpha1.CloudProfileConfig) {
				config.Sites[0].TLS = &v1alpha1.TLS{InsecureSkipVerify: true}
			})(spec)
		}, ""),
		Entry("a zone without a site", withoutRacks,
			`spec.providerConfig.sites: Required value: must have a site with zone "rack-1" of region "west"`),
	)

	DescribeTable("that change",
		func(ctx SpecContext, before, after profileChange, expected ...string) {
			before(&g.profile.Spec)
			changed := g.profile.DeepCopy()
			after(&changed.Spec)
			err := NewCloudProfileValidator(newManager(g.profile, g.shoot)).Validate(ctx, changed, g.profile)
			if len(expected) == 0 {
				Expect(err).NotTo(HaveOccurred())
			}
			for _, part := range expected {
				Expect(err).To(MatchError(ContainSubstring(part)))
			}
		},
		Entry("nothing", nothing, nothing),
		Entry("what the configuration is not about, beside one that cannot be read",
			func(spec *gardencorev1beta1.CloudProfileSpec) { spec.ProviderConfig = broken() },
			func(spec *gardencorev1beta1.CloudProfileSpec) {
				spec.Kubernetes.Versions = append(spec.Kubernetes.Versions, gardencorev1beta1.ExpirableVersion{Version: "1.36.4"})
			}),
		Entry("a machine type without its sites", nothing, func(spec *gardencorev1beta1.CloudProfileSpec) {
			spec.MachineTypes = append(spec.MachineTypes, gardencorev1beta1.MachineType{Name: "new"})
		}, `spec.providerConfig.machineTypes: Required value: must map machine type "new" to at least one site`),
		Entry("the address of a site", nothing, editConfig(func(config *v1alpha1.CloudProfileConfig) {
			config.Sites[0].OpenStack.AuthURL = "https://new.example.com/v3"
		})),
		Entry("the address of a site to one without encryption", nothing, plain, refused),
		Entry("something else of a site that is older than this rule", plain, editConfig(func(config *v1alpha1.CloudProfileConfig) {
			config.Sites[0].DNSServers = []string{"192.0.2.54"}
		})),
		Entry("a site that Shoots use is taken away", nothing, func(spec *gardencorev1beta1.CloudProfileSpec) {
			withoutRacks(spec)
			spec.Regions[0].Zones = spec.Regions[0].Zones[:2]
		}, `spec.providerConfig.sites: Forbidden: site "racks" must stay, Shoots use it: garden-local/all-platforms`),
		Entry("a site that Shoots use moves to another region", nothing, func(spec *gardencorev1beta1.CloudProfileSpec) {
			spec.Regions = append(spec.Regions,
				gardencorev1beta1.Region{Name: "east", Zones: []gardencorev1beta1.AvailabilityZone{{Name: "rack-1"}}})
			spec.Regions[0].Zones = spec.Regions[0].Zones[:2]
			editConfig(func(config *v1alpha1.CloudProfileConfig) { config.Sites[2].Region = "east" })(spec)
		}, `spec.providerConfig.sites[2].region: Forbidden: site "racks" must stay in region "west", Shoots use it: garden-local/all-platforms`,
			`zone "rack-1" must stay a zone of site "racks", pools of Shoots are in it: garden-local/all-platforms`),
		Entry("a zone with pools moves to another site", nothing, editConfig(func(config *v1alpha1.CloudProfileConfig) {
			config.Sites[1].Zones, config.Sites[2].Zones = nil, config.Sites[1].Zones
		}), `zone "vc-1" must stay a zone of site "vc", pools of Shoots are in it: garden-local/all-platforms`),
		Entry("the platform of a site that Shoots use", nothing, editConfig(func(config *v1alpha1.CloudProfileConfig) {
			config.Sites[0].Name, config.Sites[1].Name = config.Sites[1].Name, config.Sites[0].Name
		}), `spec.providerConfig.sites[1].vsphere: Forbidden: site "cloud" must stay of platform "openstack"`),
	)

	It("count Shoots of NamespacedCloudProfiles", func(ctx SpecContext) {
		namespaced := &gardencorev1beta1.NamespacedCloudProfile{ObjectMeta: metav1.ObjectMeta{Namespace: g.shoot.Namespace, Name: "mine"}}
		namespaced.Spec.Parent = gardencorev1beta1.CloudProfileReference{Kind: "CloudProfile", Name: g.profile.Name}
		g.shoot.Spec.CloudProfile = &gardencorev1beta1.CloudProfileReference{Kind: "NamespacedCloudProfile", Name: "mine"}
		elsewhere := g.shoot.DeepCopy()
		elsewhere.Namespace = "garden-elsewhere"
		changed := g.profile.DeepCopy()
		withoutRacks(&changed.Spec)
		err := NewCloudProfileValidator(newManager(g.profile, namespaced, g.shoot, elsewhere)).Validate(ctx, changed, g.profile)
		Expect(err).To(MatchError(ContainSubstring(`site "racks" must stay, Shoots use it: garden-local/all-platforms`)))
		Expect(err).NotTo(MatchError(ContainSubstring("elsewhere")))
	})

	It("may be written when they are deleted", func(ctx SpecContext) {
		changed := g.profile.DeepCopy()
		changed.DeletionTimestamp = &metav1.Time{}
		changed.Spec.ProviderConfig = nil
		Expect(NewCloudProfileValidator(newManager(g.profile)).Validate(ctx, changed, g.profile)).To(Succeed())
	})

	It("are nothing else", func(ctx SpecContext) {
		validator := NewCloudProfileValidator(newManager())
		Expect(validator.Validate(ctx, g.shoot, nil)).To(MatchError(ContainSubstring("*v1beta1.Shoot")))
		Expect(validator.Validate(ctx, g.profile, g.shoot)).To(MatchError(ContainSubstring("*v1beta1.Shoot")))
	})
})

var _ = Describe("NamespacedCloudProfiles", func() {
	type change = func(spec *gardencorev1beta1.NamespacedCloudProfileSpec)
	var g *garden

	BeforeEach(func() {
		g = newGarden()
	})
	// newProfile adds a machine type, a volume type and two versions of images to the parent.
	newProfile := func() *gardencorev1beta1.NamespacedCloudProfile {
		profile := &gardencorev1beta1.NamespacedCloudProfile{ObjectMeta: metav1.ObjectMeta{Namespace: "garden-local", Name: "mine"}}
		profile.Spec.Parent = gardencorev1beta1.CloudProfileReference{Kind: "CloudProfile", Name: g.profile.Name}
		profile.Spec.MachineTypes = []gardencorev1beta1.MachineType{{Name: "large"}}
		profile.Spec.VolumeTypes = []gardencorev1beta1.VolumeType{{Name: "slow"}}
		versions := func(names ...string) (result []gardencorev1beta1.MachineImageVersion) {
			for _, name := range names {
				result = append(result,
					gardencorev1beta1.MachineImageVersion{ExpirableVersion: gardencorev1beta1.ExpirableVersion{Version: name},
						Architectures: []string{"amd64"}})
			}
			return result
		}
		profile.Spec.MachineImages = []gardencorev1beta1.MachineImage{
			{Name: "gardenlinux",
				Versions: append(versions("1900.0.0"),
					gardencorev1beta1.MachineImageVersion{ExpirableVersion: gardencorev1beta1.ExpirableVersion{Version: "1877.3.0",
						ExpirationDate: &metav1.Time{}}})},
			{Name: "flatcar", Versions: versions("1.0.0")},
		}
		profile.Spec.ProviderConfig = editedConfig(func(config *v1alpha1.CloudProfileConfig) {
			flavors := []v1alpha1.MachineImageFlavor{{
				Capabilities: map[string][]string{"architecture": {"amd64"}},
				Sites:        []v1alpha1.SiteMachineImage{{Name: "cloud", OpenStack: &v1alpha1.OpenStackImage{ImageName: "own"}}},
			}}
			config.MachineTypes = []v1alpha1.MachineType{{Name: "large",
				Sites: []v1alpha1.SiteMachineType{{Name: "cloud", OpenStack: &v1alpha1.OpenStackMachineType{Flavor: "m1.large"}}}}}
			config.VolumeTypes = []v1alpha1.VolumeType{{Name: "slow",
				Sites: []v1alpha1.SiteVolumeType{{Name: "cloud", OpenStack: &v1alpha1.OpenStackVolumeType{Type: "hdd"}}}}}
			config.MachineImages = []v1alpha1.MachineImage{
				{Name: "gardenlinux", Versions: []v1alpha1.MachineImageVersion{{Version: "1900.0.0", CapabilityFlavors: flavors}}},
				{Name: "flatcar", Versions: []v1alpha1.MachineImageVersion{{Version: "1.0.0", CapabilityFlavors: flavors}}},
			}
		})
		return profile
	}
	config := func(change func(config *v1alpha1.CloudProfileConfig)) change {
		return func(spec *gardencorev1beta1.NamespacedCloudProfileSpec) { edit(&spec.ProviderConfig, change) }
	}
	nothing := func(*gardencorev1beta1.NamespacedCloudProfileSpec) {}

	DescribeTable("that are new",
		func(ctx SpecContext, change change, expected string) {
			profile := newProfile()
			change(&profile.Spec)
			err := NewNamespacedCloudProfileValidator(newManager(g.profile)).Validate(ctx, profile, nil)
			if expected == "" {
				Expect(err).NotTo(HaveOccurred())
			} else {
				Expect(err).To(MatchError(ContainSubstring(expected)))
			}
		},
		Entry("with machine types, volume types and images", nothing, ""),
		Entry("with nothing of the provider", func(spec *gardencorev1beta1.NamespacedCloudProfileSpec) {
			*spec = gardencorev1beta1.NamespacedCloudProfileSpec{Parent: spec.Parent}
		}, ""),
		Entry("a machine type without its sites", config(func(config *v1alpha1.CloudProfileConfig) { config.MachineTypes = nil }),
			`spec.providerConfig.machineTypes: Required value: must map machine type "large" to at least one site`),
		Entry("a volume type without its sites", config(func(config *v1alpha1.CloudProfileConfig) { config.VolumeTypes = nil }),
			`spec.providerConfig.volumeTypes: Required value`),
		Entry("an image without its sites", func(spec *gardencorev1beta1.NamespacedCloudProfileSpec) { spec.ProviderConfig = nil },
			`spec.providerConfig.machineImages: Required value: must map machine image "flatcar" to at least one site`),
		Entry("a site", config(func(config *v1alpha1.CloudProfileConfig) { config.Sites = []v1alpha1.CloudProfileSite{{Name: "evil"}} }),
			"spec.providerConfig.sites: Forbidden: must not be set: the sites are those of the parent CloudProfile"),
		Entry("a site that the parent does not have",
			config(func(config *v1alpha1.CloudProfileConfig) { config.MachineTypes[0].Sites[0].Name = "evil" }),
			`spec.providerConfig.machineTypes[0].sites[0].name: Unsupported value: "evil"`),
		Entry("a platform that the site does not have",
			config(func(config *v1alpha1.CloudProfileConfig) { config.MachineTypes[0].Sites[0].Name = "vc" }),
			"spec.providerConfig.machineTypes[0].sites[0].openstack: Forbidden"),
		Entry("a machine type of the parent", config(func(config *v1alpha1.CloudProfileConfig) { config.MachineTypes[0].Name = "std-4" }),
			`spec.providerConfig.machineTypes[0].name: Forbidden: machine type "std-4" is already defined in the parent CloudProfile`),
		Entry("a volume type of the parent", config(func(config *v1alpha1.CloudProfileConfig) { config.VolumeTypes[0].Name = "fast" }),
			`spec.providerConfig.volumeTypes[0].name: Forbidden`),
		Entry("an image of the parent",
			config(func(config *v1alpha1.CloudProfileConfig) { config.MachineImages[0].Versions[0].Version = "1877.3.0" }),
			`spec.providerConfig.machineImages[0].versions[0].version: Forbidden: version "1877.3.0" of machine image "gardenlinux" is already `+
				`defined`),
		Entry("another kind of parent", func(spec *gardencorev1beta1.NamespacedCloudProfileSpec) { spec.Parent.Kind = "NamespacedCloudProfile" },
			"spec.parent.kind: Unsupported value"),
		Entry("no such parent", func(spec *gardencorev1beta1.NamespacedCloudProfileSpec) { spec.Parent.Name = "none" }, "spec.parent: "),
		Entry("an unknown document", func(spec *gardencorev1beta1.NamespacedCloudProfileSpec) { spec.ProviderConfig = broken() },
			"spec.providerConfig: Invalid value"),
	)

	It("keep what the parent got later", func(ctx SpecContext) {
		old := newProfile()
		g.profile.Spec.MachineTypes = append(g.profile.Spec.MachineTypes, gardencorev1beta1.MachineType{Name: "large"})
		editProfile(g, func(config *v1alpha1.CloudProfileConfig) {
			config.MachineTypes = append(config.MachineTypes, v1alpha1.MachineType{Name: "large", Sites: config.MachineTypes[0].Sites})
		})
		profile := newProfile()
		edit(&profile.Spec.ProviderConfig, func(config *v1alpha1.CloudProfileConfig) { config.MachineTypes[0].Sites[0].OpenStack.Flavor = "m2" })
		validator := NewNamespacedCloudProfileValidator(newManager(g.profile))
		Expect(validator.Validate(ctx, profile, old)).To(Succeed())
		Expect(validator.Validate(ctx, profile, nil)).To(MatchError(ContainSubstring("spec.providerConfig.machineTypes[0].name: Forbidden")))
	})

	It("may be written as they were, and when they are deleted, whatever they hold", func(ctx SpecContext) {
		validator := NewNamespacedCloudProfileValidator(newManager())
		profile := newProfile()
		profile.Spec.ProviderConfig = broken()
		changed := profile.DeepCopy()
		changed.Labels = map[string]string{"a": "b"}
		Expect(validator.Validate(ctx, changed, profile)).To(Succeed())
		changed.DeletionTimestamp = &metav1.Time{}
		Expect(validator.Validate(ctx, changed, nil)).To(Succeed())
	})

	It("need a parent that can be read, unless it is another provider's", func(ctx SpecContext) {
		g.profile.Spec.ProviderConfig = broken()
		Expect(NewNamespacedCloudProfileValidator(newManager(g.profile)).Validate(ctx, newProfile(),
			nil)).To(MatchError(ContainSubstring("spec.parent.name: Invalid value")))
		g.profile.Spec.Type = "local"
		Expect(NewNamespacedCloudProfileValidator(newManager(g.profile)).Validate(ctx, newProfile(), nil)).To(Succeed())
	})

	It("are nothing else", func(ctx SpecContext) {
		validator := NewNamespacedCloudProfileValidator(newManager())
		Expect(validator.Validate(ctx, g.shoot, nil)).To(MatchError(ContainSubstring("*v1beta1.Shoot")))
		Expect(validator.Validate(ctx, newProfile(), g.shoot)).To(MatchError(ContainSubstring("*v1beta1.Shoot")))
	})
})
