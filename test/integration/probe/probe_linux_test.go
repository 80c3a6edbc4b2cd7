// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package probe_test

import (
	"bytes"
	"context"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/preflight"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
	"github.com/gardener/gardener-extension-provider-hybrid/test/suite"
)

// shells run the script: one with the tools of Debian, one with nothing but BusyBox, whose ping cannot measure an MTU and whose tools
// have other options, and one with hardly any tool.
var shells = map[string]struct {
	shell []string
	tools []string
}{
	"dash":    {shell: []string{"dash"}},
	"BusyBox": {shell: []string{"busybox", "sh"}, tools: []string{"busybox"}},
	"bare":    {shell: []string{"dash"}, tools: strings.Fields("date sed head tail tr cut id awk grep sort mktemp rm")},
}

var _ = Describe("Probe", Ordered, func() {
	var (
		l     *lab
		shoot preflight.Shoot
	)

	BeforeAll(func() {
		l = newLab()
		endpoint := &v1alpha1.VSphereProfile{Server: "https://10.0.1.1"}
		profile := func(name, resolver string) v1alpha1.CloudProfileSite {
			return v1alpha1.CloudProfileSite{Name: name, VSphere: endpoint, DNSServers: []string{resolver}}
		}
		shoot = preflight.Shoot{
			ConfigPath: field.NewPath("config"),
			Config: &v1alpha1.InfrastructureConfig{Networks: v1alpha1.Networks{Topology: v1alpha1.TopologyRouted},
				Sites: []v1alpha1.InfrastructureSite{{Name: "one", Nodes: []string{"10.0.1.0/24"}}, {Name: "two", Nodes: []string{"10.0.2.0/24"}}}},
		}
		var err error
		shoot.Sites, err = site.Resolve(site.Input{Shoot: "shoot--test--probe", Config: shoot.Config, Profile: &v1alpha1.CloudProfileConfig{
			Sites: []v1alpha1.CloudProfileSite{profile("one", "10.0.1.1"), profile("two", "10.0.2.1")}}})
		Expect(err).NotTo(HaveOccurred())
	})

	// probe runs the probes of both sites at the same time, and judges their reports. It returns the findings by the site or "pair".
	probe := func(ctx context.Context, name string) map[string]map[string]platform.CheckState {
		GinkgoHelper()
		var (
			with    = shells[name]
			path    = os.Getenv("PATH")
			reports = map[string]*preflight.Report{}
			targets = preflight.Targets{APIServer: "https://10.0.1.1", Registries: []string{"registry.test:443", "10.0.1.1:444"}}
		)
		if with.tools != nil {
			path = GinkgoT().TempDir()
			for _, tool := range with.tools {
				found, err := exec.LookPath(tool)
				Expect(err).NotTo(HaveOccurred())
				Expect(os.Symlink(found, filepath.Join(path, tool))).To(Succeed())
			}
		}
		shell := append([]string{}, with.shell...)
		shell[0], _ = exec.LookPath(shell[0])
		outputs := make([][]byte, 2)
		errs := platform.Each(2, func(i int) error {
			script, err := preflight.New(shoot, preflight.Options{}).Script(shoot.Sites[i].Name, targets)
			if err != nil {
				return err
			}
			file := filepath.Join(l.folder, shoot.Sites[i].Name+".sh")
			if err := os.WriteFile(file, []byte(script), 0o600); err != nil {
				return err
			}
			namespace, peer := l.one, "two=10.0.2.9"
			if i == 1 {
				namespace, peer = l.two, "one=10.0.1.9"
			}
			outputs[i] = run(ctx, namespace, shell, path, file, peer)
			return nil
		})
		Expect(errs).To(HaveEach(BeNil()))
		for _, output := range outputs {
			GinkgoWriter.Printf("%s", output)
			report, err := preflight.ReadReport(bytes.NewReader(output))
			Expect(err).NotTo(HaveOccurred(), string(output))
			reports[report.Site] = report
		}
		Expect(reports).To(HaveLen(2))

		judged := shoot
		judged.Reports = reports
		p := preflight.New(judged, preflight.Options{Resolve: func(context.Context, string, string) ([]netip.Addr, error) {
			return nil, &net.DNSError{IsNotFound: true}
		}})
		found := map[string]map[string]platform.CheckState{"pair": {}}
		for _, s := range []string{"one", "two"} {
			findings, _ := p.Site(ctx, s, []string{"site-api-answer"})
			found[s] = map[string]platform.CheckState{}
			collect(found[s], findings)
		}
		collect(found["pair"], p.Pairs(ctx, nil)[0].Findings)
		return found
	}

	It("should be a script in which shellcheck finds no mistake", func(ctx SpecContext) {
		script, err := preflight.New(shoot, preflight.Options{}).Script("one", preflight.Targets{Registries: preflight.DefaultRegistries})
		Expect(err).NotTo(HaveOccurred())
		cmd := exec.CommandContext(ctx, "shellcheck", "-s", "sh", "-")
		cmd.Stdin = bytes.NewBufferString(script)
		out, err := cmd.CombinedOutput()
		Expect(err).NotTo(HaveOccurred(), string(out))
	})

	It("should find nothing but registries that are down in good networks with the tools of Debian", func(ctx SpecContext) {
		found := probe(ctx, "dash")
		Expect(found["one"]).To(Equal(map[string]platform.CheckState{"probe-registry": platform.Failed}))
		Expect(found["two"]).To(Equal(map[string]platform.CheckState{"probe-registry": platform.Failed, "probe-dhcp": platform.Warning}))
		Expect(found["pair"]).To(BeEmpty())
	})

	It("should find the same with BusyBox, but no MTU", func(ctx SpecContext) {
		found := probe(ctx, "BusyBox")
		Expect(found["one"]).To(HaveKeyWithValue("probe-registry", platform.Failed))
		Expect(found["one"]).To(HaveKeyWithValue("probe-gateway-mtu", platform.Unknown))
		Expect(found["one"]).NotTo(HaveKey("probe-dhcp"))
		Expect(found["one"]).NotTo(HaveKey("probe-dns"))
		Expect(found["one"]).NotTo(HaveKey("probe-api-server"))
		Expect(found["two"]).To(HaveKeyWithValue("probe-dhcp", platform.Warning))
		Expect(found["pair"]).To(HaveKeyWithValue("pair-path-mtu", platform.Unknown))
		Expect(found["pair"]).NotTo(HaveKey("pair-reach"))
	})

	It("should not know much on a host with hardly any tool, and not fail", func(ctx SpecContext) {
		found := probe(ctx, "bare")
		Expect(found["one"]).To(HaveKeyWithValue("probe-address", platform.Failed))
		Expect(found["pair"]).To(HaveKeyWithValue("pair-reach", platform.Unknown))
	})

	It("should find a link between both sites with a small MTU", func(ctx SpecContext) {
		Expect(l.router.IP("link set two mtu 1400", "link set br2 mtu 1400")).To(Succeed())
		DeferCleanup(l.router.IP, "link set two mtu 1500", "link set br2 mtu 1500")
		found := probe(ctx, "dash")
		Expect(found["one"]).NotTo(HaveKey("probe-gateway-mtu"))
		Expect(found["two"]).To(HaveKeyWithValue("probe-gateway-mtu", platform.Failed))
		Expect(found["pair"]).To(HaveKeyWithValue("pair-path-mtu", platform.Failed))
	})

	suite.NightlyIt("should find a route that is missing", func(ctx SpecContext) {
		Expect(l.router.IP("route add unreachable 10.0.2.9/32")).To(Succeed())
		DeferCleanup(l.router.IP, "route del unreachable 10.0.2.9/32")
		for _, name := range []string{"dash", "BusyBox"} {
			found := probe(ctx, name)
			Expect(found["pair"]).To(HaveKeyWithValue("pair-reach", platform.Failed))
			Expect(found["pair"]).To(HaveKeyWithValue("pair-path-mtu", platform.Unknown))
			Expect(found["one"]).NotTo(HaveKey("probe-api-server"))
			Expect(found["two"]).To(HaveKeyWithValue("probe-api-server", platform.Failed))
		}
	})
})

// collect adds the worst state of each check with a finding. The API was not looked at, because it is in the networks of the test.
func collect(into map[string]platform.CheckState, findings platform.Findings) {
	for _, found := range findings.Found {
		if found.Check.ID[:5] == "probe" || found.Check.ID == "pair-reach" || found.Check.ID == "pair-path-mtu" ||
			found.Check.ID == "pair-probe" || found.Check.ID == "pair-probe-clock" {
			into[found.Check.ID] = found.State
		}
	}
}
