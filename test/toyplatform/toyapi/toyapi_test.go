// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package toyapi_test

import (
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/codec"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/test/toyplatform/toyapi"
)

const document = `
apiVersion: hybrid.provider.extensions.gardener.cloud/v1alpha1
kind: CloudProfileConfig
sites:
- name: racks
  region: west
  metal: {inventory: Metal3, server: https://metal, namespace: hosts}
  zones:
  - {name: rack-1, metal: {}}
- name: desk
  region: west
  toy: {address: https://toys}
  storageClasses:
  - {name: boxes, toy: {}}
  zones:
  - {name: desk-1, toy: {shelf: top}}
machineTypes:
- name: std
  sites:
  - {name: desk, toy: {model: car}}
`

var _ = Describe("Blocks of the toy platform", func() {
	BeforeEach(func() { DeferCleanup(toyapi.Install()) })

	decode := func(document string) (*v1alpha1.CloudProfileConfig, error) {
		return codec.DecodeBytes[v1alpha1.CloudProfileConfig]([]byte(document))
	}

	It("are read with their defaults, next to those of other platforms", func() {
		config, err := decode(document)
		Expect(err).NotTo(HaveOccurred())
		Expect(config.Sites[0].Blocks).To(BeEmpty())
		Expect(config.Sites[0].Metal.Cleaning).To(Equal(v1alpha1.DefaultMetalCleaning))
		desk := config.Sites[1]
		Expect(toyapi.Of[toyapi.Profile](desk.Blocks)).To(HaveValue(HaveField("Connection",
			toyapi.Connection{Address: "https://toys", Place: toyapi.DefaultPlace})))
		Expect(toyapi.Of[toyapi.StorageClass](desk.StorageClasses[0].Blocks).Medium).To(Equal(toyapi.MediumMemory))
		Expect(toyapi.Of[toyapi.Zone](desk.Zones[0].Blocks).Shelf).To(Equal("top"))
		Expect(toyapi.Of[toyapi.MachineType](config.MachineTypes[0].Sites[0].Blocks).Model).To(Equal("car"))
		Expect(*desk.RequestTimeout).To(HaveField("Duration", v1alpha1.DefaultRequestTimeout), "as at each site")

		platform, ok := desk.Platform()
		Expect(ok).To(BeTrue())
		Expect(platform).To(Equal(toyapi.Platform))
		Expect(desk.Endpoint()).To(Equal("https://toys"))
		Expect(desk.Scope()).To(Equal(map[string]string{"toy.place": toyapi.DefaultPlace}))
	})

	It("are those of the copy, too", func() {
		config, err := decode(document)
		Expect(err).NotTo(HaveOccurred())
		changed := config.DeepCopy()
		toyapi.Of[toyapi.Profile](changed.Sites[1].Blocks).Address = "https://other"
		Expect(config.Sites[1].Endpoint()).To(Equal("https://toys"))
	})

	It("are written, and read again", func() {
		config, err := decode(document)
		Expect(err).NotTo(HaveOccurred())
		raw, err := codec.Encode(config)
		Expect(err).NotTo(HaveOccurred())
		Expect(codec.Decode[v1alpha1.CloudProfileConfig](raw)).To(Equal(config))

		spec := &v1alpha1.MachineProviderSpec{Site: "desk", Shoot: "s", UserDataFormat: v1alpha1.UserDataFormatCloudInit,
			Blocks: toyapi.Blocks(&toyapi.MachineSpec{Image: "https://images/linux"})}
		raw, err = codec.Encode(spec)
		Expect(err).NotTo(HaveOccurred())
		decoded, err := codec.Decode[v1alpha1.MachineProviderSpec](raw)
		Expect(err).NotTo(HaveOccurred())
		Expect(toyapi.Of[toyapi.MachineSpec](decoded.Blocks)).To(HaveValue(HaveField("Connection.Place", toyapi.DefaultPlace)))
		platform, ok := decoded.Platform()
		Expect(ok).To(BeTrue())
		Expect(platform).To(Equal(toyapi.Platform))
	})

	DescribeTable("are read strictly", func(old, changed, message string) {
		Expect(document).To(ContainSubstring(old))
		_, err := decode(strings.Replace(document, old, changed, 1))
		Expect(err).To(MatchError(And(HavePrefix("decoding CloudProfileConfig: "), ContainSubstring(message))))
	},
		Entry("unknown field of a block", "{shelf: top}", "{shelf: top, row: 1}", `unknown field "sites[1].zones[0].toy.row"`),
		Entry("field of other case", "{shelf: top}", "{Shelf: top}", `unknown field "sites[1].zones[0].toy.Shelf"`),
		Entry("wrong type", "{shelf: top}", "{shelf: {}}", `sites[1].zones[0].toy: json: cannot unmarshal`),
		Entry("unknown field next to a block", "toy: {address: https://toys}", "toy: {address: https://toys}\n  toi: {}",
			`unknown field "sites[1].toi"`),
		Entry("duplicate field", "region: west\n  toy", "region: west\n  region: west\n  toy", `key "region" already set`),
		Entry("block in a type that has none of the platform", "machineTypes:",
			"volumeTypes: [{name: a, sites: [{name: desk, toy: {}}]}]\nmachineTypes:", `unknown field "volumeTypes[0].sites[0].toy"`),
		Entry("block in a type without blocks", "apiVersion:", "toy: {}\napiVersion:", `unknown field "toy"`),
	)
})

var _ = Describe("Without the toy platform", func() {
	It("its blocks are unknown fields", func() {
		_, err := codec.DecodeBytes[v1alpha1.CloudProfileConfig]([]byte(document))
		Expect(err).To(MatchError(ContainSubstring(`unknown field "sites[1].toy"`)))
	})
})
