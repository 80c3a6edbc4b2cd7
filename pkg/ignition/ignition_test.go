// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package ignition_test

import (
	"encoding/json"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/ignition"
)

var _ = Describe("Ignition", func() {
	DescribeTable("the version of a config",
		func(data, version string) { Expect(ignition.VersionOf([]byte(data))).To(Equal(version)) },
		Entry("a config", `{"ignition":{"version":"3.4.0"},"future":{"field":1}}`, "3.4.0"),
		Entry("an old config", `{"ignition":{"version":"2.3.0"}}`, "2.3.0"),
		Entry("other JSON", `{"cloud":"init"}`, ""),
		Entry("a number", `7`, ""),
		Entry("cloud-init", "#cloud-config\n", ""),
		Entry("nothing", "", ""),
	)

	It("leaves out what a config does not have", func() {
		Expect(json.Marshal(ignition.Config{Ignition: ignition.Meta{Version: ignition.Version}})).
			To(MatchJSON(`{"ignition":{"version":"3.3.0"}}`))
	})

	It("writes files as Ignition reads them", func() {
		Expect(json.Marshal(ignition.NewFile("/etc/hostname", 0o644, []byte("node")))).To(MatchJSON(
			`{"path":"/etc/hostname","mode":420,"overwrite":true,"contents":{"source":"data:;base64,bm9kZQ=="}}`))
	})
})
