// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package bootdata_test

import (
	"encoding/base64"
	"encoding/json"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/ignition"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/metal/bootdata"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/userdata"
)

var _ = Describe("Files", func() {
	const original = `{"ignition":{"version":"3.5.0"},"storage":{"luks":[{"name":"kept"}]}}`

	It("keeps the config byte for byte and adds the files", func() {
		extended, err := userdata.Extend([]byte(original), []ignition.File{bootdata.HostnameFile("rack-7"),
			userdata.NetworkFile([]byte("[Match]\nName=eth0\n"))})
		Expect(err).NotTo(HaveOccurred())

		var config ignition.Config
		Expect(json.Unmarshal(extended, &config)).To(Succeed())
		Expect(config.Ignition.Version).To(Equal("3.3.0"))
		Expect(config.Ignition.Config.Merge).To(HaveLen(1))
		Expect(content(config.Ignition.Config.Merge[0])).To(Equal(original))

		Expect(config.Storage.Files).To(HaveLen(2))
		Expect(config.Storage.Files[0].Path).To(Equal("/etc/hostname"))
		Expect(content(config.Storage.Files[0].Contents)).To(Equal("rack-7\n"))
		Expect(config.Storage.Files[1].Path).To(Equal("/etc/systemd/network/00-node.network"))
		Expect(content(config.Storage.Files[1].Contents)).To(Equal("[Match]\nName=eth0\n"))
	})

	DescribeTable("what nothing can be added to",
		func(userData string) {
			_, err := userdata.Extend([]byte(userData), nil)
			Expect(err).To(HaveOccurred())
			Expect(platform.ClassOf(err)).To(Equal(platform.ClassConfiguration))
		},
		Entry("a script", "#!/bin/sh\n"),
		Entry("a config of the second specification", `{"ignition":{"version":"2.3.0"}}`),
	)
})

// content returns what a resource holds.
func content(resource ignition.Resource) string {
	encoded, found := strings.CutPrefix(resource.Source, "data:;base64,")
	Expect(found).To(BeTrue(), resource.Source)
	decoded, err := base64.StdEncoding.DecodeString(encoded)
	Expect(err).NotTo(HaveOccurred())
	return string(decoded)
}
