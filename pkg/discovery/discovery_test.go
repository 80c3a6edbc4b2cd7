// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package discovery_test

import (
	"context"
	"errors"
	"time"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/codec"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	. "github.com/gardener/gardener-extension-provider-hybrid/pkg/discovery"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
)

// cloud plays sites.
type cloud map[string]func() (platform.Offer, error)

// Discover implements platform.Discovery.
func (c cloud) Discover(_ context.Context, s *site.Site) (platform.Offer, error) { return c[s.Name]() }

// References implements platform.Discovery.
func (c cloud) References(platform.ProfilePart) []platform.Reference { return nil }

// references are those of entries whose names are those of objects.
func references(part platform.ProfilePart) []platform.Reference {
	named := func(kind platform.ObjectKind, name string) []platform.Reference {
		return []platform.Reference{{Kinds: []platform.ObjectKind{kind}, Field: "name", Name: name}}
	}
	switch {
	case part.Zone != nil && part.Zone.Metal != nil:
		return []platform.Reference{{Kinds: []platform.ObjectKind{platform.KindHosts}, Field: "hosts", Selector: labels.Everything()}}
	case part.Zone != nil:
		return named(platform.KindZone, part.Zone.OpenStack.AvailabilityZone)
	case part.MachineType != nil && part.MachineType.Metal != nil:
		return []platform.Reference{{Kinds: []platform.ObjectKind{platform.KindHosts}, Field: "hosts",
			Selector: labels.SelectorFromSet(part.MachineType.Metal.HostSelector.MatchLabels)}}
	case part.MachineType != nil:
		return named(platform.KindMachineType, part.MachineType.OpenStack.Flavor)
	case part.Image != nil:
		reference := named(platform.KindImage, part.Image.OpenStack.ImageID+part.Image.OpenStack.ImageName)
		reference[0].Unique = part.Image.OpenStack.ImageName != ""
		return reference
	default:
		return nil
	}
}

var _ = Describe("Sites", func() {
	It("should each have a time of their own, and be named if they do not answer", func(ctx SpecContext) {
		never := make(chan struct{})
		DeferCleanup(func() { close(never) })
		sites := []site.Site{{Name: "slow", Platform: "p"}, {Name: "good", Platform: "p"}, {Name: "bad", Platform: "p"},
			{Name: "other", Platform: "q"}}
		found := OfSites(ctx, platform.Registry[platform.Discovery]{"p": cloud{
			"slow": func() (platform.Offer, error) { <-never; return platform.Offer{}, nil },
			"good": func() (platform.Offer, error) { return platform.Offer{Objects: []platform.Object{{Name: "a"}}}, nil },
			"bad":  func() (platform.Offer, error) { panic("at the answer") },
		}}, sites, 50*time.Millisecond)
		Expect(found).To(HaveExactElements(
			HaveField("Err", MatchError(`site "slow": no answer within 50ms`)),
			And(HaveField("Err", BeNil()), HaveField("Offer.Objects", HaveLen(1))),
			HaveField("Err", MatchError(ContainSubstring("internal error"))),
			HaveField("Err", MatchError(ContainSubstring(`site "other": platform "q" is not supported`)))))
	})
})

var _ = Describe("Compare", func() {
	var (
		spec   *gardencorev1beta1.CloudProfileSpec
		config *v1alpha1.CloudProfileConfig
		offer  *platform.Offer
	)

	BeforeEach(func() {
		spec = &gardencorev1beta1.CloudProfileSpec{
			MachineTypes: []gardencorev1beta1.MachineType{{Name: "small", CPU: resource.MustParse("1"), Memory: resource.MustParse("2Gi"),
				Architecture: new("amd64")}},
			MachineImages: []gardencorev1beta1.MachineImage{
				{Name: "gardenlinux", Versions: []gardencorev1beta1.MachineImageVersion{{ExpirableVersion: gardencorev1beta1.ExpirableVersion{
					Version: "1877.3.0"}}}},
				{Name: "ubuntu"},
			},
		}
		config = &v1alpha1.CloudProfileConfig{
			Sites: []v1alpha1.CloudProfileSite{{Name: "cloud", OpenStack: &v1alpha1.OpenStackProfile{}, Zones: []v1alpha1.SiteZone{
				{Name: "cloud-a", OpenStack: &v1alpha1.OpenStackZone{AvailabilityZone: "az1"}}}}, {Name: "other"}},
			MachineTypes: []v1alpha1.MachineType{{Name: "small", Sites: []v1alpha1.SiteMachineType{
				{Name: "cloud", OpenStack: &v1alpha1.OpenStackMachineType{Flavor: "m1.small"}}, {Name: "other",
					OpenStack: &v1alpha1.OpenStackMachineType{Flavor: "elsewhere"}}}}},
			MachineImages: []v1alpha1.MachineImage{{Name: "gardenlinux", Versions: []v1alpha1.MachineImageVersion{{Version: "1877.3.0",
				CapabilityFlavors: []v1alpha1.MachineImageFlavor{{Capabilities: map[string][]string{"architecture": {"amd64"}},
					Sites: []v1alpha1.SiteMachineImage{{Name: "cloud", OpenStack: &v1alpha1.OpenStackImage{ImageID: "1"}}}}}}}}, {Name: "ubuntu"}},
		}
		offer = &platform.Offer{Objects: []platform.Object{
			{Kind: platform.KindZone, Name: "az1"},
			{Kind: platform.KindMachineType, Name: "m1.small", CPUs: 1, Memory: 2 << 30},
			{Kind: platform.KindImage, Name: "gardenlinux-1877.3.0", ID: "1", OS: "gardenlinux", Version: "1877.3.0", Architecture: "amd64"},
		}}
	})

	unused := And(HaveField("State", v1alpha1.DifferenceUnused), HaveField("Drift", false))

	DescribeTable("should find",
		func(change func(), expected ...OmegaMatcher) {
			change()
			found := Compare(references, spec, config, "cloud", offer)
			matchers := make([]any, len(expected))
			for i := range expected {
				matchers[i] = expected[i]
			}
			Expect(found).To(HaveExactElements(matchers...))
		},
		Entry("nothing", func() {}),
		Entry("what is missing", func() { offer.Objects = offer.Objects[1:] },
			Equal(Difference{Site: "cloud", State: v1alpha1.DifferenceMissing, Drift: true, Kind: "zone", Name: "az1", Entry: "zone cloud-a",
				Field: "sites[0].zones[0].name", Is: "not found"})),
		Entry("what is not known", func() {
			offer.Objects = offer.Objects[1:]
			offer.Omit(platform.KindZone, "", "403")
		}, And(HaveField("State", v1alpha1.DifferenceUnknown), HaveField("Drift", false))),
		Entry("another size", func() { offer.Objects[1].CPUs = 2 },
			And(HaveField("State", v1alpha1.DifferenceChanged), HaveField("Is", "2 CPUs, 2Gi"), HaveField("Want", "1 CPUs, 2Gi"))),
		Entry("the size that the site has in the CloudProfile", func() {
			offer.Objects[1].CPUs = 2
			config.MachineTypes[0].Sites[0].Capacity = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("2")}
		}),
		Entry("another architecture", func() { offer.Objects[1].Architecture = "arm64" },
			And(HaveField("State", v1alpha1.DifferenceChanged), HaveField("Is", "arm64"), HaveField("Want", "amd64"))),
		Entry("an image that cannot be used", func() { offer.Objects[2].Unusable = "its status is deactivated" },
			And(HaveField("State", v1alpha1.DifferenceChanged), HaveField("Is", "its status is deactivated"))),
		Entry("an image of another version", func() { offer.Objects[2].Version = "1877.4.0" },
			And(HaveField("State", v1alpha1.DifferenceChanged), HaveField("Is", "gardenlinux 1877.4.0 (gardenlinux-1877.3.0)"))),
		Entry("an image that is another one of the CloudProfile", func() { offer.Objects[2].OS = "ubuntu" },
			HaveField("State", v1alpha1.DifferenceChanged)),
		Entry("no fault in an image with a name of its own", func() { offer.Objects[2].OS, offer.Objects[2].Version = "sles", "15" }),
		Entry("no fault in a version of which the site tells a part", func() { offer.Objects[2].Version = "1877.03" }),
		Entry("a name that two images have", func() {
			config.MachineImages[0].Versions[0].CapabilityFlavors[0].Sites[0].OpenStack = &v1alpha1.OpenStackImage{ImageName: "gardenlinux-1877.3.0"}
			offer.Objects = append(offer.Objects, offer.Objects[2])
		}, And(HaveField("State", v1alpha1.DifferenceChanged), HaveField("Is", "2 have the name"))),
		Entry("what the site calls deprecated", func() { offer.Objects[2].Deprecated = "it has the property deprecated" },
			And(HaveField("State", v1alpha1.DifferenceDeprecated), HaveField("Drift", true))),
		Entry("no drift if the CloudProfile does, too", func() {
			offer.Objects[2].Deprecated = "it has the property deprecated"
			spec.MachineImages[0].Versions[0].Lifecycle = []gardencorev1beta1.LifecycleStage{
				{Classification: gardencorev1beta1.ClassificationDeprecated}}
		}, And(HaveField("State", v1alpha1.DifferenceDeprecated), HaveField("Drift", false))),
		Entry("what has expired and is still there", func() {
			spec.MachineImages[0].Versions[0].Lifecycle = []gardencorev1beta1.LifecycleStage{
				{Classification: gardencorev1beta1.ClassificationDeprecated}}
		}, And(HaveField("State", v1alpha1.DifferenceDeprecated), HaveField("Drift", false))),
		Entry("what is not used, a part of it by name", func() {
			for i := range 30 {
				offer.Objects = append(offer.Objects, platform.Object{Kind: platform.KindMachineType, Name: string(rune('a' + i)), CPUs: 1})
			}
			offer.Objects = append(offer.Objects, platform.Object{Kind: platform.KindExternalNetwork, Name: "not listed"})
		}, unused, unused, unused, unused, unused, unused, unused, unused, unused, unused, unused, unused, unused, unused, unused, unused,
			unused, unused, unused, unused, HaveField("Name", "10 others")),
		Entry("hosts that are smaller, and those that no machine type has", func() {
			config.Sites[0].Zones[0] = v1alpha1.SiteZone{Name: "rack", Metal: &v1alpha1.MetalZone{}}
			config.MachineTypes[0].Sites[0] = v1alpha1.SiteMachineType{Name: "cloud", Metal: &v1alpha1.MetalMachineType{
				HostSelector: selector("size", "s")}}
			config.MachineImages = nil
			offer.Objects = []platform.Object{
				{Kind: platform.KindHosts, Name: "h1", Count: 2, CPUs: 1, Memory: 1 << 30, Labels: map[string]string{"size": "s"}},
				{Kind: platform.KindHosts, Name: "h3", Count: 1, CPUs: 8, Memory: 8 << 30, Labels: map[string]string{"size": "s"}},
				{Kind: platform.KindHosts, Name: "h4", Count: 3, Labels: map[string]string{"size": "l"}},
			}
		}, And(HaveField("State", v1alpha1.DifferenceChanged), HaveField("Is", "2 of 3 hosts have less, such as 1 CPUs, 1Gi")),
			And(HaveField("State", v1alpha1.DifferenceUnused), HaveField("Name", "h4"), HaveField("Is", "3 hosts, 0 free"))),
	)
})

var _ = Describe("Propose", func() {
	openStackSite := func(name string, objects ...platform.Object) Discovered {
		profile := &v1alpha1.CloudProfileSite{Name: name, OpenStack: &v1alpha1.OpenStackProfile{AuthURL: "https://" + name + ".example.com/v3",
			Region: "R"}}
		return Discovered{Site: &site.Site{Name: name}, Offer: platform.Offer{Profile: profile, Objects: objects}}
	}
	zone := func(site, name string) platform.Object {
		return platform.Object{Kind: platform.KindZone, Name: name, Entries: platform.Entries{Zone: &v1alpha1.SiteZone{
			Name: platform.EntryName(site, name), OpenStack: &v1alpha1.OpenStackZone{AvailabilityZone: name}}}}
	}
	flavor := func(site, name string, cpus int64) platform.Object {
		return platform.Object{Kind: platform.KindMachineType, Name: name, CPUs: cpus, Memory: 1 << 30, Entries: platform.Entries{
			MachineType: &v1alpha1.SiteMachineType{Name: site, OpenStack: &v1alpha1.OpenStackMachineType{Flavor: name}}}}
	}
	image := func(site, name, id string) platform.Object {
		system, version := platform.SystemOf(name)
		return platform.Object{Kind: platform.KindImage, Name: name, ID: id, OS: system, Version: version, Entries: platform.Entries{
			Image: &v1alpha1.SiteMachineImage{Name: site, OpenStack: &v1alpha1.OpenStackImage{ImageID: id}}}}
	}
	volumeType := func(site, name string) platform.Object {
		return platform.Object{Kind: platform.KindVolumeType, Name: name, Entries: platform.Entries{
			VolumeType:   &v1alpha1.SiteVolumeType{Name: site, OpenStack: &v1alpha1.OpenStackVolumeType{Type: name}},
			StorageClass: &v1alpha1.StorageClass{OpenStack: &v1alpha1.OpenStackStorageClass{Type: name}}}}
	}
	const (
		id1 = "00000000-0000-4000-8000-000000000001"
		id2 = "00000000-0000-4000-8000-000000000002"
	)
	propose := func(found ...Discovered) (*gardencorev1beta1.CloudProfile, *v1alpha1.CloudProfileConfig) {
		GinkgoHelper()
		profile, err := Propose(&gardencorev1beta1.CloudProfile{}, found)
		Expect(err).NotTo(HaveOccurred())
		config, err := codec.Decode[v1alpha1.CloudProfileConfig](profile.Spec.ProviderConfig)
		Expect(err).NotTo(HaveOccurred())
		return profile, config
	}

	It("should join what sites have in common, and tell apart what only has the same name", func() {
		profile, config := propose(
			openStackSite("a", zone("a", "nova"), flavor("a", "m1.small", 1), flavor("a", "m1.large", 4), image("a", "ubuntu-24.04", id1),
				volumeType("a", "SSD fast")),
			openStackSite("b", zone("b", "nova"), flavor("b", "m1.small", 1), flavor("b", "m1.large", 8), image("b", "ubuntu-24.04", id2)))
		Expect(profile.Spec.MachineTypes).To(HaveExactElements(HaveField("Name", "m1.small"), HaveField("Name", "m1.large"),
			HaveField("Name", "b-m1.large")))
		Expect(config.MachineTypes[0].Sites).To(HaveLen(2))
		Expect(profile.Spec.MachineImages).To(HaveExactElements(And(HaveField("Name", "ubuntu"),
			HaveField("Versions", HaveExactElements(HaveField("Version", "24.4.0"))))))
		Expect(config.MachineImages[0].Versions[0].CapabilityFlavors[0].Sites).To(HaveLen(2))
		Expect(profile.Spec.VolumeTypes).To(HaveExactElements(HaveField("Name", "ssd-fast")))
		Expect(config.Sites[0].StorageClasses).To(HaveExactElements(HaveField("Name", "a-ssd-fast")))
		Expect(profile.Spec.Regions).To(HaveExactElements(And(HaveField("Name", DefaultRegion), HaveField("Zones", HaveExactElements(
			gardencorev1beta1.AvailabilityZone{Name: "a-nova", UnavailableMachineTypes: []string{"b-m1.large"}},
			gardencorev1beta1.AvailabilityZone{Name: "b-nova", UnavailableMachineTypes: []string{"m1.large"},
				UnavailableVolumeTypes: []string{"ssd-fast"}})))))
	})

	It("should leave out what a CloudProfile cannot have, and say why", func() {
		hidden := image("a", "ubuntu-22.04", id2)
		hidden.Unusable = "it is hidden"
		found := openStackSite("a", zone("a", "nova"), zone("a", "NOVA"), image("a", "cirros", id1), image("a", "ubuntu-24.04", id1),
			image("a", "Ubuntu 24.04", id2), hidden, volumeType("a", "ssd"), volumeType("a", "SSD"), volumeType("a", "ü"))
		all := []Discovered{found, {Site: &site.Site{Name: "down"}, Err: errors.New("down")}}
		profile, config := propose(all...)
		Expect(profile.Spec.MachineImages).To(HaveLen(1))
		Expect(config.Sites).To(HaveExactElements(HaveField("Zones", HaveLen(1))))
		var left []string
		for _, omitted := range all[0].Offer.Omitted {
			left = append(left, omitted.String())
		}
		Expect(left).To(ConsistOf(
			`zone "NOVA": another zone has the name "a-nova"`,
			`image "cirros": neither its name nor its properties tell an operating system and its version`,
			`image "Ubuntu 24.04": another image is ubuntu 24.4.0 for amd64`,
			`image "ubuntu-22.04": it is hidden`,
			`image "1 images": their architecture is not known, amd64 is assumed`,
			`volume type "SSD": another volume type has the name "ssd"`,
			`volume type "ü": another volume type has the name ""`,
		))
	})

	It("should fail with the reason if no site has a zone, or if admission would refuse a site", func() {
		_, err := Propose(&gardencorev1beta1.CloudProfile{}, []Discovered{openStackSite("a", flavor("a", "m1", 1))})
		Expect(err).To(MatchError(ContainSubstring(`site "a": zone "site a": the site was left out, because it has no zone`)))
		plain := openStackSite("a", zone("a", "nova"))
		plain.Offer.Profile.OpenStack.AuthURL = "http://a.example.com/v3"
		_, err = Propose(&gardencorev1beta1.CloudProfile{}, []Discovered{plain})
		Expect(err).To(MatchError(ContainSubstring("must have the scheme https")))
	})
})

func selector(key, value string) *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchLabels: map[string]string{key: value}}
}
