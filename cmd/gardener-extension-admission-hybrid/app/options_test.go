// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"os"
	"path/filepath"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/spf13/pflag"
)

const kubeconfig = `apiVersion: v1
kind: Config
clusters: [{name: garden, cluster: {server: "https://garden.example.com"}}]
users: [{name: garden, user: {token: hush}}]
contexts: [{name: garden, context: {cluster: garden, user: garden}}]
current-context: garden
`

var _ = Describe("Flags", func() {
	complete := func(arguments ...string) (*options, error) {
		path := filepath.Join(GinkgoT().TempDir(), "kubeconfig")
		Expect(os.WriteFile(path, []byte(kubeconfig), 0o600)).To(Succeed())
		GinkgoT().Setenv("GARDEN_KUBECONFIG", path)
		o := newOptions()
		flags := pflag.NewFlagSet("", pflag.ContinueOnError)
		o.addFlags(flags)
		Expect(flags.Parse(arguments)).To(Succeed())
		return o, o.complete()
	}

	DescribeTable("are accepted",
		func(arguments ...string) {
			o, err := complete(arguments...)
			Expect(err).NotTo(HaveOccurred())
			Expect(o.rest.Completed().Config.Host).To(Equal("https://garden.example.com"))
			Expect(o.rest.Completed().Config.QPS).To(BeNumerically("==", clientQPS))
		},
		Entry("in a cluster", "--webhook-config-namespace=garden"),
		Entry("with a Service for another cluster", "--webhook-config-mode=url-service", "--webhook-config-namespace=garden",
			"--webhook-config-service-port=443"),
		Entry("outside of a cluster", "--webhook-config-mode=url", "--webhook-config-url=127.0.0.1:10250"),
		Entry("without a webhook", "--webhook-config-namespace=garden",
			"--disable-webhooks=secrets.validator,managedseeds.validator,bindings.validator,validator,mutator"),
	)

	DescribeTable("are refused",
		func(expected string, arguments ...string) {
			_, err := complete(arguments...)
			Expect(err).To(MatchError(ContainSubstring(expected)))
		},
		Entry("an unknown mode", `--webhook-config-mode is "node", must be one of ["service" "url" "url-service"]`,
			"--webhook-config-mode=node"),
		Entry("no namespace", "--webhook-config-namespace is required with --webhook-config-mode=service"),
		Entry("no URL", "--webhook-config-url is required with --webhook-config-mode=url", "--webhook-config-mode=url"),
		Entry("a URL with a scheme", `must be a host and port without scheme and path`, "--webhook-config-mode=url",
			"--webhook-config-url=https://127.0.0.1:10250"),
		Entry("a port", "--webhook-config-server-port is 70000, must be between 1 and 65535", "--webhook-config-namespace=garden",
			"--webhook-config-server-port=70000"),
		Entry("the port of the Service", "--webhook-config-service-port is -1", "--webhook-config-namespace=garden",
			"--webhook-config-service-port=-1"),
		Entry("an unknown webhook", `cannot disable unknown webhook "none"`, "--webhook-config-namespace=garden", "--disable-webhooks=none"),
		Entry("a log level", "log-level", "--webhook-config-namespace=garden", "--log-level=loud"),
	)
})
