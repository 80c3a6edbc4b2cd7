// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package admission_test

import (
	"encoding/json"
	"reflect"
	"regexp"
	"strings"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/codec"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/gardenapi"
)

var _ = Describe("CloudProfiles", func() {
	newProfile := func(change configChange) *gardencorev1beta1.CloudProfile {
		profile := read[gardencorev1beta1.CloudProfile](allPlatformsProfile)
		profile.Name = "new"
		edit(&profile.Spec.ProviderConfig, change)
		return profile
	}
	var wrong, right []any
	for _, c := range profileCases {
		wrong = append(wrong, Entry(c.name, c))
	}
	for name, change := range acceptedProfiles {
		right = append(right, Entry(name, change))
	}

	DescribeTable("are refused with", append([]any{func(ctx SpecContext, c profileCase) {
		refuseCreation(ctx, newProfile(c.change), configPath+"."+c.field, c.reason)
	}}, wrong...)...)

	DescribeTable("are accepted with", append([]any{func(ctx SpecContext, change configChange) {
		Expect(garden.Client.Create(ctx, newProfile(change), client.DryRunAll)).To(Succeed())
	}}, right...)...)

	It("have each field of their configuration in one of these cases", func() {
		known := map[string]bool{}
		for _, c := range profileCases {
			known[withoutIndexes(c.field)] = true
		}
		for _, change := range acceptedProfiles {
			var document any
			Expect(json.Unmarshal(newProfile(change).Spec.ProviderConfig.Raw, &document)).To(Succeed())
			addFields(known, "", document)
		}
		var missing []string
		for _, field := range fieldsOf(reflect.TypeFor[v1alpha1.CloudProfileConfig](), "") {
			if !known[field] {
				missing = append(missing, field)
			}
		}
		Expect(missing).To(BeEmpty())
	})

	It("are accepted with a warning if a site lacks the newest version of an image", func(ctx SpecContext) {
		warned, said := newWarned()
		profile := newProfile(func(c *v1alpha1.CloudProfileConfig) {
			image := &c.MachineImages[0]
			added := image.Versions[0].DeepCopy()
			added.Version = "1877.4.0"
			added.CapabilityFlavors[0].Sites = added.CapabilityFlavors[0].Sites[:1]
			image.Versions = append(image.Versions, *added)
		})
		image := &profile.Spec.MachineImages[0]
		added := image.Versions[0].DeepCopy()
		added.Version = "1877.4.0"
		image.Versions = append(image.Versions, *added)
		Expect(warned.Create(ctx, profile.DeepCopy(), client.DryRunAll)).To(Succeed())
		Expect(said.all()).To(ContainElement(
			ContainSubstring(`gardenlinux 1877.4.0 is not on the sites ["racks" "vc"], which have older versions`)))

		said.forget()
		image.Versions[1].ExpirableVersion = gardencorev1beta1.ExpirableVersion{Version: "1877.4.0",
			Classification: new(gardencorev1beta1.ClassificationPreview)}
		Expect(warned.Create(ctx, profile, client.DryRunAll)).To(Succeed())
		Expect(said.all()).NotTo(ContainElement(ContainSubstring("1877.4.0")))
	})

	DescribeTable("that Shoots use cannot be changed so",
		func(ctx SpecContext, change profileChange, fieldPath, reason string) {
			profile := current(ctx, read[gardencorev1beta1.CloudProfile](allPlatformsProfile))
			change(profile)
			refuseUpdate(ctx, profile, fieldPath, reason)
		},
		refused("a document of another version", func(profile *gardencorev1beta1.CloudProfile) {
			profile.Spec.ProviderConfig = &runtime.RawExtension{
				Raw: []byte(`{"apiVersion":"hybrid.provider.extensions.gardener.cloud/v1","kind":"CloudProfileConfig"}`),
			}
		}, configPath, "decoding CloudProfileConfig"),
		refused("an unknown field", func(profile *gardencorev1beta1.CloudProfile) {
			profile.Spec.ProviderConfig.Raw = []byte(strings.Replace(string(profile.Spec.ProviderConfig.Raw), `"kind":`,
				`"colour":"red","kind":`, 1))
		}, configPath, `unknown field "colour"`),
		refused("a site less", func(profile *gardencorev1beta1.CloudProfile) {
			edit(&profile.Spec.ProviderConfig, func(c *v1alpha1.CloudProfileConfig) { c.Sites = c.Sites[:2] })
		}, configPath+".sites", `site "racks" must stay, Shoots use it: garden-local/all-platforms`),
		refused("another platform", func(profile *gardencorev1beta1.CloudProfile) {
			edit(&profile.Spec.ProviderConfig, func(c *v1alpha1.CloudProfileConfig) { c.Sites[0].Name, c.Sites[1].Name = "vc", "cloud" })
		}, configPath+".sites[1].vsphere", `site "cloud" must stay of platform "openstack", Shoots use it: garden-local/all-platforms`),
		refused("another Keystone region", func(profile *gardencorev1beta1.CloudProfile) {
			edit(&profile.Spec.ProviderConfig, func(c *v1alpha1.CloudProfileConfig) { c.Sites[0].OpenStack.Region = "RegionTwo" })
		}, configPath+".sites[0].openstack.region", "add another site and move their pools to it"),
		refused("another namespace of hosts", func(profile *gardencorev1beta1.CloudProfile) {
			edit(&profile.Spec.ProviderConfig, func(c *v1alpha1.CloudProfileConfig) { c.Sites[2].Metal.Namespace = "other" })
		}, configPath+".sites[2].metal.namespace", "add another site and move their pools to it"),
		refused("a zone of another site", func(profile *gardencorev1beta1.CloudProfile) {
			edit(&profile.Spec.ProviderConfig, func(c *v1alpha1.CloudProfileConfig) {
				c.Sites[0].Zones[0].Name, c.Sites[1].Zones[0].Name = "vc-1", "cloud-a"
			})
		}, configPath+".sites", `zone "cloud-a" must stay a zone of site "cloud", pools of Shoots are in it: garden-local/all-platforms`),
		refused("a machine type without sites", func(profile *gardencorev1beta1.CloudProfile) {
			added := profile.Spec.MachineTypes[0].DeepCopy()
			added.Name = "new"
			profile.Spec.MachineTypes = append(profile.Spec.MachineTypes, *added)
		}, configPath+".machineTypes", `must map machine type "new" to at least one site`),
		refused("a zone without site", func(profile *gardencorev1beta1.CloudProfile) {
			profile.Spec.Regions[0].Zones = append(profile.Spec.Regions[0].Zones, gardencorev1beta1.AvailabilityZone{Name: "new"})
		}, configPath+".sites", `must have a site with zone "new" of region "west"`),
	)

	DescribeTable("that Shoots use can be changed so",
		func(ctx SpecContext, change profileChange) {
			profile := current(ctx, read[gardencorev1beta1.CloudProfile](allPlatformsProfile))
			change(profile)
			Expect(garden.Client.Update(ctx, profile, client.DryRunAll)).To(Succeed())
		},
		accepted("a label", func(profile *gardencorev1beta1.CloudProfile) { profile.Labels["a"] = "b" }),
		accepted("a version of Kubernetes", func(profile *gardencorev1beta1.CloudProfile) {
			profile.Spec.Kubernetes.Versions = append(profile.Spec.Kubernetes.Versions, gardencorev1beta1.ExpirableVersion{Version: "1.36.4"})
		}),
		accepted("addresses", func(profile *gardencorev1beta1.CloudProfile) {
			edit(&profile.Spec.ProviderConfig, acceptedProfiles["other addresses"])
		}),
	)
})

var _ = Describe("NamespacedCloudProfiles", func() {
	type namespacedChange = change[gardencorev1beta1.NamespacedCloudProfile]

	// newProfile adds a machine type to the CloudProfile of all platforms.
	newProfile := func() *gardencorev1beta1.NamespacedCloudProfile {
		parent := read[gardencorev1beta1.CloudProfile](allPlatformsProfile)
		profile := &gardencorev1beta1.NamespacedCloudProfile{}
		profile.Namespace, profile.Name = gardenapi.Namespace, "new"
		profile.Spec.Parent = gardencorev1beta1.CloudProfileReference{Kind: "CloudProfile", Name: parent.Name}
		added := parent.Spec.MachineTypes[0].DeepCopy()
		added.Name = "large"
		profile.Spec.MachineTypes = []gardencorev1beta1.MachineType{*added}
		var err error
		profile.Spec.ProviderConfig, err = codec.Encode(&v1alpha1.CloudProfileConfig{MachineTypes: []v1alpha1.MachineType{{
			Name: "large", Sites: []v1alpha1.SiteMachineType{{Name: "cloud", OpenStack: &v1alpha1.OpenStackMachineType{Flavor: "m1.large"}}},
		}}})
		Expect(err).NotTo(HaveOccurred())
		return profile
	}
	config := func(change configChange) namespacedChange {
		return func(profile *gardencorev1beta1.NamespacedCloudProfile) { edit(&profile.Spec.ProviderConfig, change) }
	}

	DescribeTable("are refused with",
		func(ctx SpecContext, change namespacedChange, fieldPath, reason string) {
			profile := newProfile()
			change(profile)
			refuseCreation(ctx, profile, fieldPath, reason)
		},
		refused("a machine type that is nowhere", func(profile *gardencorev1beta1.NamespacedCloudProfile) { profile.Spec.ProviderConfig = nil },
			configPath+".machineTypes", `must map machine type "large" to at least one site`),
		refused("sites", config(func(c *v1alpha1.CloudProfileConfig) { c.Sites = []v1alpha1.CloudProfileSite{{Name: "mine"}} }),
			configPath+".sites", "must not be set: the sites are those of the parent CloudProfile"),
		refused("a site that the parent does not have", config(func(c *v1alpha1.CloudProfileConfig) { c.MachineTypes[0].Sites[0].Name = "mine" }),
			configPath+".machineTypes[0].sites[0].name", "supported values"),
		refused("another platform", config(func(c *v1alpha1.CloudProfileConfig) { c.MachineTypes[0].Sites[0].Name = "vc" }),
			configPath+".machineTypes[0].sites[0].openstack", `site "vc" is of platform "vsphere"`),
		refused("a machine type of the parent", config(func(c *v1alpha1.CloudProfileConfig) {
			c.MachineTypes = append(c.MachineTypes, v1alpha1.MachineType{Name: "std-4", Sites: c.MachineTypes[0].Sites})
		}), configPath+".machineTypes[1].name", `machine type "std-4" is already defined in the parent CloudProfile`),
		refused("an image that Gardener does not know", config(func(c *v1alpha1.CloudProfileConfig) {
			c.MachineImages = []v1alpha1.MachineImage{{Name: "mine", Versions: []v1alpha1.MachineImageVersion{{Version: "1.0.0"}}}}
		}), configPath+".machineImages[0].name", `"mine"`),
	)

	DescribeTable("are accepted with",
		func(ctx SpecContext, change namespacedChange) {
			profile := newProfile()
			change(profile)
			Expect(garden.Client.Create(ctx, profile, client.DryRunAll)).To(Succeed())
		},
		accepted("a machine type", func(*gardencorev1beta1.NamespacedCloudProfile) {}),
		accepted("nothing of the provider", func(profile *gardencorev1beta1.NamespacedCloudProfile) {
			profile.Spec.MachineTypes, profile.Spec.ProviderConfig = nil, nil
		}),
	)
})

var indexes = regexp.MustCompile(`\[[^]]*\]`)

func withoutIndexes(field string) string {
	return indexes.ReplaceAllString(field, "")
}

// addFields adds the paths of all fields of a document, without indexes.
func addFields(fields map[string]bool, path string, document any) {
	switch value := document.(type) {
	case map[string]any:
		for key, child := range value {
			childPath := strings.TrimPrefix(path+"."+key, ".")
			fields[childPath] = true
			addFields(fields, childPath, child)
		}
	case []any:
		for _, child := range value {
			addFields(fields, path, child)
		}
	}
}

// fieldsOf returns the paths of all fields of our types, without indexes. Types of others are one field.
func fieldsOf(t reflect.Type, path string) []string {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct || t.PkgPath() != reflect.TypeFor[v1alpha1.CloudProfileConfig]().PkgPath() {
		return []string{path}
	}
	var fields []string
	for field := range t.Fields() {
		if name, _, _ := strings.Cut(field.Tag.Get("json"), ","); name != "" && name != "-" {
			fields = append(fields, fieldsOf(field.Type, strings.TrimPrefix(path+"."+name, "."))...)
		}
	}
	return fields
}
