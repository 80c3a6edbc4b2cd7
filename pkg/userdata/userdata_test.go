// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package userdata_test

import (
	"encoding/base64"
	"encoding/json"
	"testing"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/ignition"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/userdata"
)

func TestUserData(t *testing.T) {
	RegisterFailHandler(Fail)
	RunSpecs(t, "User Data Suite")
}

var _ = Describe("User data", func() {
	const script = "#!/bin/sh\necho hello\n"

	DescribeTable("user data that stays as it is",
		func(format v1alpha1.UserDataFormat, userData string) {
			Expect(userdata.Wrap(format, []byte(userData))).To(BeEquivalentTo(userData))
		},
		Entry("no format", v1alpha1.UserDataFormat(""), script),
		Entry("CloudInit", v1alpha1.UserDataFormatCloudInit, "#cloud-config\n"),
		Entry("Script", v1alpha1.UserDataFormatScript, script),
		Entry("Ignition, an Ignition config", v1alpha1.UserDataFormatIgnition, `{"ignition":{"version":"3.4.0"}}`),
	)

	It("makes an Ignition config of a script", func() {
		wrapped, err := userdata.Wrap(v1alpha1.UserDataFormatIgnition, []byte(script))
		Expect(err).NotTo(HaveOccurred())

		var config ignition.Config
		Expect(json.Unmarshal(wrapped, &config)).To(Succeed())
		Expect(config.Ignition.Version).To(Equal("3.3.0"))
		Expect(config.Storage.Files).To(ConsistOf(ignition.File{
			Path:      "/opt/bin/gardener-user-data",
			Mode:      0o700,
			Overwrite: true,
			Contents:  ignition.Resource{Source: "data:;base64," + base64.StdEncoding.EncodeToString([]byte(script))},
		}))
		Expect(config.Systemd.Units).To(HaveLen(1))
		Expect(config.Systemd.Units[0].Contents).To(ContainSubstring("ExecStart=/opt/bin/gardener-user-data\n"))
	})

	DescribeTable("user data that is refused",
		func(format v1alpha1.UserDataFormat, userData string) {
			_, err := userdata.Wrap(format, []byte(userData))
			Expect(platform.ClassOf(err)).To(Equal(platform.ClassConfiguration))
		},
		Entry("none", v1alpha1.UserDataFormatCloudInit, ""),
		Entry("an unknown format", v1alpha1.UserDataFormat("Floppy"), script),
		Entry("cloud-init for Ignition", v1alpha1.UserDataFormatIgnition, "#cloud-config\n"),
	)
})
