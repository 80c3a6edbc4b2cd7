// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package preflight_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/preflight"
)

var _ = Describe("Script", func() {
	It("should have what it needs to know", func() {
		w := newWorld(serve(0))
		w.shoot.Config.Sites[1].MTU = new(int32(1400))
		script, err := w.preflight().Script("one",
			preflight.Targets{APIServer: "https://api.example.org", Registries: []string{"[2001:db8::1]:443"}})
		Expect(err).NotTo(HaveOccurred())
		Expect(script).To(And(HavePrefix("#!/bin/sh\n"), Not(ContainSubstring("#settings"))))
		Expect(script).To(ContainSubstring("SITE='one'\nMTU='1400'\nTARGETS='apiserver=api.example.org:443 registry=[2001:db8::1]:443'\n" +
			"TIMES='" + w.profile.Sites[0].VSphere.Server + " https://api.example.org:443/ https://[2001:db8::1]:443/'\n" +
			"DNS_SERVERS='192.0.2.53'\nNAMES='api.example.org'\n"))
	})

	DescribeTable("should refuse what a shell could interpret", func(mistake func(w *world, targets *preflight.Targets)) {
		w, targets := newWorld(serve(0)), preflight.Targets{}
		mistake(w, &targets)
		_, err := w.preflight().Script("one", targets)
		Expect(platform.ClassOf(err)).To(Equal(platform.ClassConfiguration))
		Expect(err).To(HaveOccurred())
	},
		Entry("in a registry", func(_ *world, t *preflight.Targets) { t.Registries = []string{"a'$(reboot)':443"} }),
		Entry("as an option", func(_ *world, t *preflight.Targets) { t.Registries = []string{"-oProxyCommand:443"} }),
		Entry("as a list", func(_ *world, t *preflight.Targets) { t.Registries = []string{"a b:443"} }),
		Entry("in the address of an API server", func(_ *world, t *preflight.Targets) { t.APIServer = "https://a;b" }),
		Entry("in the address of an API", func(w *world, _ *preflight.Targets) {
			w.profile.Sites[0].VSphere = &v1alpha1.VSphereProfile{Server: "https://vc/'`reboot`'"}
		}),
		Entry("in a DNS server", func(w *world, _ *preflight.Targets) { w.shoot.Config.Sites[0].DNSServers = []string{"$HOME"} }),
		Entry("in a registry without a port", func(_ *world, t *preflight.Targets) { t.Registries = []string{"registry"} }),
	)

	It("should not be made for a site that the shoot does not use", func() {
		_, err := newWorld(serve(0)).preflight().Script("three", preflight.Targets{})
		Expect(err).To(MatchError(ContainSubstring(`does not use a site "three"`)))
	})
})
