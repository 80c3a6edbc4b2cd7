// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/test/openstackstub"
)

const preflightManifests = `
apiVersion: core.gardener.cloud/v1beta1
kind: CloudProfile
metadata: {name: hybrid}
spec:
  type: hybrid
  machineTypes: [{name: small, cpu: "1", gpu: "0", memory: 2Gi, architecture: amd64}]
  machineImages: [{name: linux, versions: [{version: 1.0.0, cri: [{name: containerd}], architectures: [amd64]}]}]
  providerConfig:
    apiVersion: hybrid.provider.extensions.gardener.cloud/v1alpha1
    kind: CloudProfileConfig
    sites:
    - name: good
      region: local
      tls: {insecureSkipVerify: true}
      openstack: {authURL: $GOOD, region: RegionOne, floatingPools: [{name: public}]}
      zones: [{name: good-a, openstack: {availabilityZone: az1}}]
    - name: dead
      region: local
      tls: {insecureSkipVerify: true}
      openstack: {authURL: "http://$DEAD/v3", region: RegionOne, floatingPools: [{name: public}]}
      zones: [{name: dead-a, openstack: {availabilityZone: az1}}]
    machineTypes: [{name: small, sites: [{name: good, openstack: {flavor: m1.small}}, {name: dead, openstack: {flavor: m1.small}}]}]
    machineImages:
    - name: linux
      versions: [{version: 1.0.0, capabilityFlavors: [{sites: [{name: good, openstack: {imageName: $IMAGE}}]}]}]
---
apiVersion: core.gardener.cloud/v1beta1
kind: Shoot
metadata: {name: first, namespace: garden-local}
spec:
  cloudProfile: {name: hybrid}
  region: local
  networking: {type: calico, pods: 100.96.0.0/11, services: 100.64.0.0/13}
  provider:
    type: hybrid
    infrastructureConfig:
      apiVersion: hybrid.provider.extensions.gardener.cloud/v1alpha1
      kind: InfrastructureConfig
      networks: {topology: Routed}
      sites: [$SITES]
    workers:
    - {name: pool, minimum: 1, maximum: 2, machine: {type: small, image: {name: linux, version: 1.0.0}}, zones: [good-a]}
---
apiVersion: v1
kind: Secret
metadata: {name: sites, namespace: garden-local}
stringData: {good.domainName: default, good.tenantName: own, good.username: u, good.password: top-secret,
  dead.domainName: default, dead.tenantName: own, dead.username: u, dead.password: top-secret}
`

var _ = Describe("Preflight", func() {
	const (
		good = `{name: good, nodes: [10.250.0.0/18], openstack: {floatingPoolName: public}}`
		dead = `{name: dead, nodes: [10.250.64.0/18], openstack: {floatingPoolName: public}}`
	)
	var (
		values map[string]string
		file   string
	)

	BeforeEach(func(ctx SpecContext) {
		stub, err := openstackstub.New(openstackstub.Settings{Flavors: []string{"m1.small"}, Images: []string{"linux"}})
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(stub.Close)
		listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
		Expect(err).NotTo(HaveOccurred())
		Expect(listener.Close()).To(Succeed())
		values = map[string]string{"$GOOD": stub.AuthURL(), "$DEAD": listener.Addr().String(), "$IMAGE": "linux", "$SITES": good}
		file = filepath.Join(GinkgoT().TempDir(), "all.yaml")
	})

	preflight := func(arguments ...string) (string, string, int) {
		GinkgoHelper()
		manifests := preflightManifests
		for name, value := range values {
			manifests = strings.ReplaceAll(manifests, name, value)
		}
		Expect(os.WriteFile(file, []byte(manifests), 0o600)).To(Succeed())
		out, errors, code := run(append([]string{"hybridctl", "preflight", "-f", file}, arguments...)...)
		Expect(out + errors).NotTo(ContainSubstring("top-secret"))
		return out, errors, code
	}

	It("should find nothing at a site that suits", func() {
		out, errors, code := preflight()
		Expect(errors).To(BeEmpty())
		Expect(out).To(ContainSubstring("good"))
		Expect(code).To(Equal(0), out)
	})

	It("should name what is missing, what to do, and skip checks", func() {
		values["$IMAGE"] = "windows"
		out, _, code := preflight()
		Expect(code).To(Equal(1))
		Expect(out).To(MatchRegexp(`good +Failed +openstack-image +spec.provider.workers\[0\].machine.image +Invalid value: "windows": 0 active`))
		Expect(out).To(ContainSubstring("openstack-image: Upload or share the image"))

		out, _, code = preflight("--skip", "openstack-image")
		Expect(code).To(Equal(0))
		Expect(out).To(MatchRegexp(`good +Skipped +openstack-image`))

		_, errors, code := preflight("--skip", "openstack-imag")
		Expect(code).To(Equal(2))
		Expect(errors).To(ContainSubstring(`there is no check "openstack-imag"`))
	})

	It("should print the script of a probe", func() {
		script, errors, code := preflight("--probe", "good", "--probe-registry", "registry.example.org:443")
		Expect(errors).To(BeEmpty())
		Expect(code).To(Equal(0))
		Expect(script).To(And(HavePrefix("#!/bin/sh\n"), ContainSubstring("SITE='good'\n"),
			ContainSubstring("TARGETS='registry=registry.example.org:443'\n")))

		_, errors, code = preflight("--probe", "bad")
		Expect(code).To(Equal(2))
		Expect(errors).To(ContainSubstring(`the shoot does not use a site "bad"`))
	})

	It("should judge the reports of probes", func() {
		report := func(name, text string) string {
			path := filepath.Join(filepath.Dir(file), name)
			Expect(os.WriteFile(path, []byte(text), 0o600)).To(Succeed())
			return path
		}
		const elsewhere = `{"version":1,"site":"good","dhcp":{"state":"unknown"},"interfaces":[{"name":"eth0","addresses":["192.0.2.7/24"]}]}`
		out, _, code := preflight("--probe-report", report("good.json", elsewhere))
		Expect(code).To(Equal(1))
		Expect(out).To(MatchRegexp(`good +Failed +probe-address`))

		for text, message := range map[string]string{
			`{"version":1,"site":"good","dhcp":{"state":"unknown"},"run":"me"}`: `unknown field "run"`,
			`{"version":1,"site":"bad","dhcp":{"state":"unknown"}}`:             `the shoot does not use site "bad"`,
		} {
			_, errors, code := preflight("--probe-report", report("other.json", text))
			Expect(code).To(Equal(2))
			Expect(errors).To(ContainSubstring(message))
		}
		_, errors, code := preflight("--probe-report", report("a.json", elsewhere), "--probe-report", report("b.json", elsewhere))
		Expect(code).To(Equal(2))
		Expect(errors).To(ContainSubstring(`there is another report of site "good"`))
		_, errors, code = preflight("--probe-report", "absent.json")
		Expect(code).To(Equal(2))
		Expect(errors).To(ContainSubstring("no such file"))
	})

	It("should tell a dead site from one that lacks something, and hide no other", func() {
		values["$SITES"], values["$IMAGE"] = dead+", "+good, "windows"
		out, errors, code := preflight("-o", "json")
		Expect(code).To(Equal(2))
		Expect(errors).To(Equal("error: not all checks could be made\n"))
		report := &v1alpha1.PreflightReport{}
		Expect(json.Unmarshal([]byte(out), report)).To(Succeed())
		Expect(report.Kind).To(Equal("PreflightReport"))
		Expect(report.Sites).To(HaveExactElements(HaveField("Name", "dead"), HaveField("Name", "good")))
		Expect(report.Sites[0].Findings).To(ContainElement(And(HaveField("ID", "openstack-authentication"), HaveField("State", stateUnknown))))
		Expect(report.Sites[0].Findings).To(HaveEach(HaveField("State", Not(Equal(stateFailed)))))
		Expect(report.Sites[1].Findings).To(ContainElement(And(HaveField("ID", "openstack-image"), HaveField("State", stateFailed),
			HaveField("Remedy", Not(BeEmpty())))))
		Expect(report.Sites[1].Fine).To(ContainElement("openstack-flavor"))
		Expect(report.Pairs).To(HaveExactElements(HaveField("Sites", HaveExactElements("dead", "good"))))

		out, _, _ = preflight()
		Expect(out).To(MatchRegexp(`dead +Unknown +openstack-authentication`))
		Expect(out).NotTo(ContainSubstring("not checked, because"))
	})

	It("should list all checks", func() {
		out, errors, code := run("hybridctl", "preflight", "--checks")
		Expect(code).To(Equal(0))
		Expect(errors).To(BeEmpty())
		Expect(strings.Count(out, "\n")).To(BeNumerically(">", 60))
		Expect(out).To(ContainSubstring("openstack-image-size"))

		out, _, code = run("hybridctl", "preflight", "--checks", "-o", "yaml")
		Expect(code).To(Equal(0))
		Expect(out).To(ContainSubstring("id: openstack-image-size"))
	})
})
