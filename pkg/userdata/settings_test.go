// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package userdata_test

import (
	"encoding/base64"
	"encoding/json"
	"os/exec"
	"regexp"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/ignition"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/userdata"
)

var _ = Describe("Settings of the site", func() {
	const rest = "echo user data\n"
	settings := func() *v1alpha1.NodeSettings {
		return &v1alpha1.NodeSettings{
			NTPServers: []string{"ntp-1.example.com", "10.0.0.1"},
			RegistryMirrors: []v1alpha1.RegistryMirror{
				{Upstream: "docker.io", Endpoints: []string{"https://mirror.example.com", "https://harbor.example.com/v2/proxy"}},
				{Upstream: "registry.example.com:5000", Endpoints: []string{"http://10.0.0.2:8080"}},
			},
			Proxy:    &v1alpha1.Proxy{URL: "http://proxy.example.com:3128", NoProxy: []string{".example.com", "10.0.0.0/8"}},
			CABundle: "-----BEGIN CERTIFICATE-----\nAA==\n-----END CERTIFICATE-----\n",
		}
	}
	combined := func(s *v1alpha1.NodeSettings, format v1alpha1.UserDataFormat, userData string) string {
		GinkgoHelper()
		data, err := userdata.ForMachine(&v1alpha1.MachineProviderSpec{UserDataFormat: format, NodeSettings: s}, []byte(userData))
		Expect(err).NotTo(HaveOccurred())
		return string(data)
	}
	// files are the contents of the files that the script writes, by their paths in it.
	files := func(script string) map[string]string {
		GinkgoHelper()
		result := map[string]string{}
		for _, match := range regexp.MustCompile(`site_file (\S+) (\S+)\n`).FindAllStringSubmatch(script, -1) {
			content, err := base64.StdEncoding.DecodeString(match[2])
			Expect(err).NotTo(HaveOccurred())
			result[match[1]] = string(content)
		}
		return result
	}

	It("changes nothing if there are none", func() {
		Expect(combined(nil, "", "#!/bin/bash\n"+rest)).To(Equal("#!/bin/bash\n" + rest))
	})

	It("applies them before everything else in a script", func() {
		script := combined(settings(), v1alpha1.UserDataFormatScript, "#!/bin/bash -x\n"+rest)
		Expect(script).To(HavePrefix("#!/bin/bash -x\n# Settings of the site.\n"))
		Expect(script).To(HaveSuffix("\n)\n" + rest))
		Expect(files(script)).To(Equal(map[string]string{
			"/etc/systemd/timesyncd.conf.d/90-site.conf": "[Time]\nNTP=ntp-1.example.com 10.0.0.1\n",
			"$folder/90-site.conf":                       "server ntp-1.example.com iburst prefer\nserver 10.0.0.1 iburst prefer\n",
			"/etc/containerd/certs.d/docker.io/hosts.toml": `[host."https://mirror.example.com"]
  capabilities = ["pull", "resolve"]
[host."https://harbor.example.com/v2/proxy"]
  capabilities = ["pull", "resolve"]
  override_path = true
`,
			"/etc/containerd/certs.d/registry.example.com:5000/hosts.toml": `[host."http://10.0.0.2:8080"]
  capabilities = ["pull", "resolve"]
`,
			"$local_certs/site-ca.crt": settings().CABundle,
			"/etc/systemd/system.control/$unit.service.d/90-site-proxy.conf": `[Service]
Environment="HTTP_PROXY=http://proxy.example.com:3128" "HTTPS_PROXY=http://proxy.example.com:3128" "NO_PROXY=.example.com,10.0.0.0/8"
`,
		}))
		check := exec.Command("sh", "-n")
		check.Stdin = strings.NewReader(script)
		Expect(check.CombinedOutput()).To(BeEmpty())
	})

	It("does not keep a machine from what is next if nothing of it succeeds", func(ctx SpecContext) {
		run := exec.CommandContext(ctx, "/bin/sh", "-e")
		run.Env = []string{"PATH=/nonexistent"}
		run.Stdin = strings.NewReader(combined(settings(), "", "#!/bin/bash -e\n"+rest))
		Expect(run.Output()).To(BeEquivalentTo("user data\n"))
	})

	DescribeTable("writes what is set, and nothing else",
		func(change func(*v1alpha1.NodeSettings), paths ...string) {
			s := &v1alpha1.NodeSettings{}
			change(s)
			script := combined(s, "", "#!/usr/bin/env bash\n"+rest)
			written := files(script)
			Expect(written).To(HaveLen(len(paths)))
			for _, path := range paths {
				Expect(written).To(HaveKey(path))
			}
		},
		Entry("time servers", func(s *v1alpha1.NodeSettings) { s.NTPServers = settings().NTPServers },
			"/etc/systemd/timesyncd.conf.d/90-site.conf", "$folder/90-site.conf"),
		Entry("mirrors", func(s *v1alpha1.NodeSettings) { s.RegistryMirrors = settings().RegistryMirrors[:1] },
			"/etc/containerd/certs.d/docker.io/hosts.toml"),
		Entry("a proxy", func(s *v1alpha1.NodeSettings) { s.Proxy = settings().Proxy },
			"/etc/systemd/system.control/$unit.service.d/90-site-proxy.conf"),
		Entry("authorities", func(s *v1alpha1.NodeSettings) { s.CABundle = settings().CABundle }, "$local_certs/site-ca.crt"),
	)

	It("is part of the script in an Ignition config", func() {
		var config ignition.Config
		Expect(json.Unmarshal([]byte(combined(settings(), v1alpha1.UserDataFormatIgnition, "#!/bin/sh\n"+rest)), &config)).To(Succeed())
		Expect(config.Storage.Files).To(HaveLen(1))
		Expect(config.Storage.Files[0].Contents).To(Equal(ignition.Data([]byte(combined(settings(), "", "#!/bin/sh\n"+rest)))))
	})

	It("is merged with an Ignition config as a unit that runs first", func() {
		original := `{"ignition":{"version":"3.4.0"}}`
		var config ignition.Config
		Expect(json.Unmarshal([]byte(combined(settings(), v1alpha1.UserDataFormatIgnition, original)), &config)).To(Succeed())
		Expect(config.Ignition.Config.Merge).To(ConsistOf(ignition.Data([]byte(original))))
		Expect(config.Storage.Files).To(HaveLen(1))
		Expect(config.Systemd.Units).To(HaveLen(1))
		Expect(config.Systemd.Units[0].Contents).To(And(ContainSubstring("ExecStart="+config.Storage.Files[0].Path+"\n"),
			ContainSubstring("Before=containerd.service gardener-node-init.service")))
	})

	DescribeTable("user data that they cannot be added to",
		func(userData string) {
			_, err := userdata.ForMachine(&v1alpha1.MachineProviderSpec{NodeSettings: settings()}, []byte(userData))
			Expect(platform.ClassOf(err)).To(Equal(platform.ClassConfiguration))
		},
		Entry("none", ""),
		Entry("cloud-init's", "#cloud-config\n"),
		Entry("a script of another language", "#!/usr/bin/python3\n"),
		Entry("an old Ignition config", `{"ignition":{"version":"2.3.0"}}`),
	)
})
