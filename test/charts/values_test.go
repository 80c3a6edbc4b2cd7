// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package charts_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/yaml"

	"github.com/gardener/gardener-extension-provider-hybrid/test/rendering"
)

var _ = Describe("Values", func() {
	DescribeTable("should be refused",
		func(chart, values, message string) {
			decoded := map[string]any{}
			Expect(yaml.UnmarshalStrict([]byte(values), &decoded)).To(Succeed())
			_, err := rendering.Packed(folder(chart), release, "check", decoded)
			Expect(err).To(MatchError(ContainSubstring(message)))
		},
		Entry("that are unknown", provider, `{replicas: 2}`, "'replicas' not allowed"),
		Entry("that are unknown inside others", provider, `{controllers: {worker: {concurrentsyncs: 2}}}`, "'concurrentsyncs' not allowed"),
		Entry("without an image", provider, `{image: ""}`, "/image"),
		Entry("with too many replicas", provider, `{replicaCount: 11}`, "/replicaCount"),
		Entry("with replicas in words", provider, `{replicaCount: two}`, "/replicaCount"),
		Entry("with an unknown level of logs", provider, `{logLevel: verbose}`, "/logLevel"),
		Entry("with an unknown format of logs", provider, `{logFormat: xml}`, "/logFormat"),
		Entry("with a policy for pulling that does not exist", provider, `{imagePullPolicy: Sometimes}`, "/imagePullPolicy"),
		Entry("with a label that is no text", provider, `{podLabels: {a: 1}}`, "/podLabels/a"),
		Entry("with an image vector that is no text", provider, `{imageVectorOverwrite: {images: []}}`, "/imageVectorOverwrite"),
		Entry("with a controller that is not there", provider, `{disableControllers: [extension]}`, "/disableControllers/0"),
		Entry("with a controller twice", provider, `{disableControllers: [worker, worker]}`, "/disableControllers"),
		Entry("with a controller that does nothing", provider, `{controllers: {dnsrecord: {concurrentSyncs: 0}}}`,
			"/controllers/dnsrecord/concurrentSyncs"),
		Entry("with a heartbeat that is too slow", provider, `{controllers: {heartbeat: {renewIntervalSeconds: 300}}}`,
			"/controllers/heartbeat/renewIntervalSeconds"),
		Entry("with a webhook that is not there", provider, `{disableWebhooks: [cloudprovider]}`, "/disableWebhooks/0"),
		Entry("with a port that is none", provider, `{webhooks: {servicePort: 65536}}`, "/webhooks/servicePort"),
		Entry("with a port in words", provider, `{metricsPort: http}`, "/metricsPort"),
		Entry("with a port that is not whole", provider, `{healthPort: 8081.5}`, "/healthPort"),
		Entry("with a port that is too large", provider, `{webhooks: {serverPort: 65536}}`, "/webhooks/serverPort"),
		Entry("with too few ports", provider, `{usablePorts: [1, 2]}`, "/usablePorts"),
		Entry("with one port for metrics and the Service", provider, `{metricsPort: 443}`, "metricsPort and webhooks.servicePort are both 443"),
		Entry("with one port for metrics and webhooks", provider, `{webhooks: {serverPort: "{{ .Values.metricsPort }}"}, metricsPort: 9090}`,
			"metricsPort and webhooks.serverPort are both 9090"),
		Entry("with one port for health and webhooks", provider, `{healthPort: "10250"}`, "healthPort and webhooks.serverPort are both 10250"),
		Entry("with one port for metrics and health in a garden", provider, `{metricsPort: 8081, gardener: {runtimeCluster: {enabled: true}}}`,
			"metricsPort and healthPort are both 8081"),
		Entry("with memory that is none", provider, `{resources: {requests: {memory: much}}}`, "/resources/requests/memory"),
		Entry("with less than no memory", provider, `{resources: {requests: {memory: -1}}}`, "/resources/requests/memory"),
		Entry("with a resource that is none", provider, `{resources: {requests: {disk: 1Gi}}}`, "'disk' not allowed"),
		Entry("with an unknown mode of the autoscaler", provider, `{vpa: {updatePolicy: {updateMode: Auto}}}`, "/vpa/updatePolicy/updateMode"),
		Entry("with a garden that is perhaps one", provider, `{gardener: {runtimeCluster: {enabled: maybe}}}`,
			"/gardener/runtimeCluster/enabled"),
		Entry("with a host for a network of DNS services", provider, `{dns: {allowedNetworks: [ns.example.com]}}`, "/dns/allowedNetworks/0"),
		Entry("with an address for a network of DNS services", provider, `{dns: {refusedNetworks: [10.0.0.1]}}`, "/dns/refusedNetworks/0"),
		Entry("with all networks for DNS services", provider, `{dns: {allowedNetworks: [0.0.0.0/0]}}`, "/dns/allowedNetworks/0"),
		Entry("with a prefix that is too long", provider, `{dns: {allowedNetworks: [10.0.0.0/33]}}`, "/dns/allowedNetworks/0"),
		Entry("with HTTP for DNS services that is perhaps allowed", provider, `{dns: {allowHTTP: maybe}}`, "/dns/allowHTTP"),
		Entry("of the webhooks that are unknown", runtimePart, `{webhookConfig: {mode: url}}`, "'webhookConfig' not allowed"),
		Entry("of the webhooks with an unknown mode", runtimePart, `{webhooks: {mode: proxy}}`, "/webhooks/mode"),
		Entry("of the webhooks with a URL that has a scheme", runtimePart, `{webhooks: {url: "https://hybrid.example.com"}}`, "/webhooks/url"),
		Entry("of the webhooks with a URL that has a path", runtimePart, `{webhooks: {url: hybrid.example.com/webhooks}}`, "/webhooks/url"),
		Entry("of the webhooks with a port that is none", runtimePart, `{webhooks: {serverPort: 0}}`, "/webhooks/serverPort"),
		Entry("of the webhooks with one port for metrics and the Service", runtimePart, `{metricsPort: 443}`,
			"metricsPort and webhooks.servicePort are both 443"),
		Entry("of the webhooks with one port for metrics and webhooks", runtimePart, `{webhooks: {serverPort: 8080}}`,
			"metricsPort and webhooks.serverPort are both 8080"),
		Entry("of the webhooks with one port for health and webhooks", runtimePart, `{healthPort: 10250}`,
			"healthPort and webhooks.serverPort are both 10250"),
		Entry("of the webhooks with one port for metrics and health", runtimePart, `{healthPort: 8080}`,
			"metricsPort and healthPort are both 8080"),
		Entry("of the webhooks with a Secret whose name is none", runtimePart, `{gardenKubeconfigSecretName: A_B}`,
			"/gardenKubeconfigSecretName"),
		Entry("of the webhooks with a PriorityClass whose name is none", runtimePart, `{gardener: {runtimeCluster: {priorityClassName: A_B}}}`,
			"/gardener/runtimeCluster/priorityClassName"),
		Entry("of the webhooks without an image", runtimePart, `{image: null}`, "image"),
		Entry("of the permissions without an account", application, `{gardener: {virtualCluster: {serviceAccount: {name: ""}}}}`,
			"/gardener/virtualCluster/serviceAccount/name"),
	)

	DescribeTable("should be taken",
		func(chart, values, rendered string) {
			decoded := map[string]any{}
			Expect(yaml.UnmarshalStrict([]byte(values), &decoded)).To(Succeed())
			Expect(rendering.Packed(folder(chart), release, "check", decoded)).To(ContainSubstring(rendered))
		},
		Entry("with a port", provider, `{metricsPort: 9090}`, "--metrics-bind-address=:9090\n"),
		Entry("with a port as text", provider, `{healthPort: "9091"}`, "--health-bind-address=:9091\n"),
		Entry("with a port as a template", provider, `{webhooks: {serverPort: "{{ .Values.webhooks.servicePort }}"}}`,
			"--webhook-config-server-port=443\n"),
		Entry("with one port for the Service and health", provider, `{healthPort: 443}`, "--health-bind-address=:443\n"),
		Entry("with a part of a CPU", provider, `{resources: {requests: {cpu: 0.5}}}`, "cpu: 0.5\n"),
		Entry("with memory as a number", provider, `{vpa: {resourcePolicy: {minAllowed: {memory: 67108864}}}}`, `memory: "67108864"`),
		Entry("with networks for DNS services", provider, `{dns: {allowedNetworks: [10.20.0.0/24, "fd12::/64"]}}`,
			"--dns-allowed-networks=10.20.0.0/24,fd12::/64\n"),
		Entry("with networks that DNS services must not be in", provider, `{dns: {refusedNetworks: [8.8.8.0/24]}}`,
			"--dns-refused-networks=8.8.8.0/24\n"),
		Entry("with HTTP for DNS services", provider, `{dns: {allowHTTP: true}}`, "--dns-allow-http=true\n"),
		Entry("with a digest", provider, `{image: "registry.example.com/some@sha256:0123"}`, "image: registry.example.com/some@sha256:0123\n"),
		Entry("with digests of what is deployed", provider,
			`{imageVectorOverwrite: "images:\n- {name: some, ref: registry.example.com/some:v1@sha256:0123}\n"}`,
			"    - {name: some, ref: registry.example.com/some:v1@sha256:0123}\n"),
		Entry("of the webhooks with a digest", runtimePart, `{image: "registry.example.com/some@sha256:0123"}`,
			"image: registry.example.com/some@sha256:0123\n"),
		Entry("of the webhooks with a part of a CPU", runtimePart, `{resources: {limits: {cpu: 0.5}}}`, "cpu: 0.5\n"),
		Entry("of the webhooks with a part of a CPU for the autoscaler", runtimePart, `{vpa: {resourcePolicy: {minAllowed: {cpu: 0.5}}}}`,
			`cpu: "0.5"`),
		Entry("of the webhooks with an address", runtimePart, `{webhooks: {url: "[2001:db8::1]:443"}}`,
			"--webhook-config-url=[2001:db8::1]:443\n"),
	)
})
