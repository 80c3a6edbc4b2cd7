// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package codec_test

import (
	"os/exec"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/runtime"

	. "github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/codec"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
)

const typeMeta = `"apiVersion":"hybrid.provider.extensions.gardener.cloud/v1alpha1","kind":"InfrastructureConfig"`

func raw(s string) *runtime.RawExtension {
	return &runtime.RawExtension{Raw: []byte(s)}
}

var _ = Describe("Codec", func() {
	Describe("#Decode", func() {
		It("decodes and sets defaults", func() {
			config, err := Decode[v1alpha1.InfrastructureConfig](raw(`{` + typeMeta +
				`,"networks":{"topology":"Stretched","nodes":["10.0.0.0/16"]},"sites":[{"name":"cloud","nodes":["10.0.0.0/24"]}]}`))
			Expect(err).NotTo(HaveOccurred())
			Expect(config.Kind).To(Equal("InfrastructureConfig"))
			Expect(config.Networks.Gateway).To(Equal("10.0.0.1"))
			Expect(config.Sites).To(ConsistOf(v1alpha1.InfrastructureSite{Name: "cloud", Nodes: []string{"10.0.0.0/24"}}))
		})

		It("takes the object if there are no bytes", func() {
			encoded, err := Encode(&v1alpha1.InfrastructureConfig{Networks: v1alpha1.Networks{Topology: v1alpha1.TopologyRouted}})
			Expect(err).NotTo(HaveOccurred())
			config, err := Decode[v1alpha1.InfrastructureConfig](encoded)
			Expect(err).NotTo(HaveOccurred())
			config, err = Decode[v1alpha1.InfrastructureConfig](&runtime.RawExtension{Object: config})
			Expect(err).NotTo(HaveOccurred())
			Expect(config.Networks.Topology).To(Equal(v1alpha1.TopologyRouted))
		})

		DescribeTable("says what is wrong",
			func(raw *runtime.RawExtension, message string) {
				config, err := Decode[v1alpha1.InfrastructureConfig](raw)
				Expect(err).To(MatchError(And(ContainSubstring("decoding InfrastructureConfig: "), ContainSubstring(message))))
				Expect(config).To(BeNil())
			},
			Entry("nil", nil, "it is empty"),
			Entry("empty", &runtime.RawExtension{}, "it is empty"),
			Entry("blank", raw(" \n"), "it is empty"),
			Entry("null", raw("null"), "it is empty"),
			Entry("no JSON", raw("{"), "json"),
			Entry("no object", raw(`"text"`), "cannot unmarshal"),
			Entry("no kind", raw(`{"networks":{}}`), "Kind"),
			Entry("no version", raw(`{"kind":"InfrastructureConfig"}`), "InfrastructureConfig"),
			Entry("another kind", raw(`{"apiVersion":"hybrid.provider.extensions.gardener.cloud/v1alpha1","kind":"WorkerConfig"}`),
				"it is of kind WorkerConfig"),
			Entry("another group", raw(`{"apiVersion":"v1","kind":"InfrastructureConfig"}`), "InfrastructureConfig"),
			Entry("unknown field", raw(`{`+typeMeta+`,"sites":[{"name":"a","nodez":[]}]}`), `unknown field "sites[0].nodez"`),
			Entry("field of other case", raw(`{`+typeMeta+`,"Sites":[]}`), `unknown field "Sites"`),
			Entry("duplicate field", raw(`{`+typeMeta+`,"sites":[],"sites":[]}`), `duplicate field "sites"`),
			Entry("wrong type", raw(`{`+typeMeta+`,"networks":{"nodes":"10.0.0.0/16"}}`), "networks.nodes"),
		)

		DescribeTable("refuses what is not supported",
			func(document, field string) {
				_, err := DecodeBytes[v1alpha1.WorkerConfig]([]byte(document))
				Expect(err).To(MatchError(ContainSubstring(field)))
			},
			Entry("a block of a platform that has none",
				"apiVersion: hybrid.provider.extensions.gardener.cloud/v1alpha1\nkind: WorkerConfig\ndataVolumes: [{name: a, sites: [{name: b, "+
					"metal: {}}]}]\n", `"dataVolumes[0].sites[0].metal"`),
		)

		It("wraps ErrEmpty", func() {
			_, err := Decode[v1alpha1.WorkerStatus](nil)
			Expect(err).To(MatchError(ErrEmpty))
		})
	})

	Describe("#Encode", func() {
		It("writes apiVersion and kind and leaves the document alone", func() {
			status := &v1alpha1.WorkerStatus{}
			encoded, err := Encode(status)
			Expect(err).NotTo(HaveOccurred())
			Expect(string(encoded.Raw)).To(Equal(`{"kind":"WorkerStatus","apiVersion":"hybrid.provider.extensions.gardener.cloud/v1alpha1"}`))
			Expect(status.Kind).To(BeEmpty())
		})

		It("gives the same bytes for the same document", func() {
			spec := &v1alpha1.MachineProviderSpec{Site: "cloud", OpenStack: &v1alpha1.OpenStackMachineSpec{Metadata: map[string]string{}}}
			for _, key := range strings.Split("abcdefghijklmnop", "") {
				spec.OpenStack.Metadata[key] = key
			}
			first, err := Encode(spec)
			Expect(err).NotTo(HaveOccurred())
			for range 20 {
				next, err := Encode(spec.DeepCopy())
				Expect(err).NotTo(HaveOccurred())
				Expect(next.Raw).To(Equal(first.Raw))
			}
		})

		It("round-trips", func() {
			state := &v1alpha1.InfrastructureState{Sites: []v1alpha1.SiteState{{Name: "cloud", OpenStack: &v1alpha1.OpenStackState{
				Connection: v1alpha1.OpenStackConnection{AuthURL: "http://keystone", Region: "RegionOne", TLS: &v1alpha1.TLS{Thumbprint: "00"}},
				Network:    &v1alpha1.OpenStackObject{ID: "network", Managed: true},
			}}}}
			v1alpha1.SetInfrastructureStateDefaults(state)
			encoded, err := Encode(state)
			Expect(err).NotTo(HaveOccurred())
			decoded, err := Decode[v1alpha1.InfrastructureState](encoded)
			Expect(err).NotTo(HaveOccurred())
			Expect(decoded.Sites).To(Equal(state.Sites))
			again, err := Encode(decoded)
			Expect(err).NotTo(HaveOccurred())
			Expect(again.Raw).To(Equal(encoded.Raw))
		})

		It("refuses nil", func() {
			_, err := Encode[v1alpha1.WorkerStatus](nil)
			Expect(err).To(MatchError(ErrEmpty))
		})
	})

	It("links none of Gardener", func() {
		output, err := exec.CommandContext(GinkgoT().Context(), "go", "list", "-deps", ".").Output()
		Expect(err).NotTo(HaveOccurred())
		Expect(string(output)).NotTo(ContainSubstring("github.com/gardener/gardener/"))
	})
})
