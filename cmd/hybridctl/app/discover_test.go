// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
)

// playedCloud has a zone, a flavor and an image, unless the site is down.
type playedCloud struct{}

// Discover implements platform.Discovery.
func (playedCloud) Discover(_ context.Context, s *site.Site) (platform.Offer, error) {
	if s.Credentials["password"] != "secret" {
		return platform.Offer{}, platform.InSite(s.Name, errors.New("no answer"))
	}
	offer := platform.Offer{Profile: s.Profile}
	offer.Add(platform.Object{Kind: platform.KindZone, Name: "nova", Entries: platform.Entries{Zone: &v1alpha1.SiteZone{
		Name: platform.EntryName(s.Name, "nova"), OpenStack: &v1alpha1.OpenStackZone{AvailabilityZone: "nova"}}}})
	offer.Add(platform.Object{Kind: platform.KindMachineType, Name: "m1.small", CPUs: 1, Memory: 2 << 30, Entries: platform.Entries{
		MachineType: &v1alpha1.SiteMachineType{Name: s.Name, OpenStack: &v1alpha1.OpenStackMachineType{Flavor: "m1.small"}}}})
	offer.Add(platform.Object{Kind: platform.KindImage, Name: "cirros", ID: "1", Entries: platform.Entries{
		Image: &v1alpha1.SiteMachineImage{Name: s.Name, OpenStack: &v1alpha1.OpenStackImage{ImageID: "1"}}}})
	offer.Omit(platform.KindVolumeType, "", "403 Forbidden")
	return offer, nil
}

// References implements platform.Discovery.
func (playedCloud) References(part platform.ProfilePart) []platform.Reference {
	switch {
	case part.Zone != nil:
		return []platform.Reference{{Kinds: []platform.ObjectKind{platform.KindZone}, Field: "openstack.availabilityZone",
			Name: part.Zone.OpenStack.AvailabilityZone}}
	case part.MachineType != nil:
		return []platform.Reference{{Kinds: []platform.ObjectKind{platform.KindMachineType}, Field: "openstack.flavor",
			Name: part.MachineType.OpenStack.Flavor}}
	default:
		return nil
	}
}

var _ = Describe("Discover", func() {
	const (
		cloud = `name: cloud, openstack: {authURL: "https://cloud.example.com/v3", region: RegionOne}`
		down  = `name: down, openstack: {authURL: "https://down.example.com/v3", region: RegionOne}`
	)
	var dir string

	write := func(name, content string) string {
		GinkgoHelper()
		path := filepath.Join(dir, name)
		Expect(os.WriteFile(path, []byte(content), 0o600)).To(Succeed())
		return path
	}
	// discover returns what the command writes, and its error.
	discover := func(d *discoverCommand, files ...string) (string, error) {
		var out bytes.Buffer
		streams := Streams{In: strings.NewReader(""), Out: &out, Err: GinkgoWriter}
		format := formatTable
		if d.streamsAndInputs != nil {
			format = d.output.format
		}
		d.streamsAndInputs = &streamsAndInputs{Streams: streams, inputs: inputs{streams: streams, files: files},
			output: output{out: &out, format: format}}
		d.platforms, d.timeout = platform.Registry[platform.Discovery]{v1alpha1.PlatformOpenStack: playedCloud{}}, time.Minute
		err := d.run(context.Background())
		Expect(out.String()).NotTo(ContainSubstring("secret"))
		return out.String(), err
	}
	secret := func() string {
		return write("secret.yaml", "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData: {cloud.password: secret, "+
			"down.password: wrong}\n")
	}
	BeforeEach(func() { dir = GinkgoT().TempDir() })

	It("should write a CloudProfile with what it left out, and fail for a site that does not answer", func() {
		out, err := discover(&discoverCommand{sites: []string{cloud, down}}, secret())
		Expect(err).To(MatchError(`site "down": no answer`))
		expectGolden("discover.yaml", out)
	})

	It("should take the sites from a CloudProfile and keep what no site knows", func() {
		profile := write("profile.yaml", `
apiVersion: core.gardener.cloud/v1beta1
kind: CloudProfile
metadata: {name: mine, labels: {a: b}}
spec:
  type: hybrid
  kubernetes: {versions: [{version: 1.36.3}]}
  regions: [{name: west, labels: {c: d}}]
  providerConfig:
    apiVersion: hybrid.provider.extensions.gardener.cloud/v1alpha1
    kind: CloudProfileConfig
    sites: [{region: west, dnsServers: [192.0.2.53], `+cloud+`}]
`)
		out, err := discover(&discoverCommand{}, profile, secret())
		Expect(err).NotTo(HaveOccurred())
		Expect(out).To(And(ContainSubstring("name: mine"), ContainSubstring("a: b"), ContainSubstring("version: 1.36.3"),
			ContainSubstring("name: west"), ContainSubstring("c: d"), ContainSubstring("192.0.2.53"), Not(ContainSubstring("no site knows"))))
	})

	It("should show drift, and none in what it wrote", func() {
		out, err := discover(&discoverCommand{sites: []string{cloud}}, secret())
		Expect(err).NotTo(HaveOccurred())
		written := write("written.yaml", out)
		out, err = discover(&discoverCommand{against: written}, secret())
		Expect(err).NotTo(HaveOccurred())
		Expect(out).To(ContainSubstring("Unused"))
		changed := write("changed.yaml", strings.ReplaceAll(readFile(written), "flavor: m1.small", "flavor: m1.none"))
		out, err = discover(&discoverCommand{against: changed}, secret())
		Expect(err).To(MatchError(errFindings))
		expectGolden("discover-drift.txt", out)
		json := &discoverCommand{against: changed, streamsAndInputs: &streamsAndInputs{output: output{format: formatJSON}}}
		out, err = discover(json, secret())
		Expect(err).To(MatchError(errFindings))
		Expect(decoded(out).Differences).To(ContainElement(And(HaveField("State", v1alpha1.DifferenceMissing), HaveField("Name", "m1.none"))))
	})

	DescribeTable("should say what is wrong with what it was given",
		func(d *discoverCommand, message string) {
			_, err := discover(d, secret())
			Expect(err).To(MatchError(ContainSubstring(message)))
		},
		Entry("no site", &discoverCommand{sites: []string{"cloud"}}, "--site is not a site of a CloudProfile in YAML"),
		Entry("no platform", &discoverCommand{sites: []string{"name: cloud"}}, "must have the settings of exactly one platform"),
		Entry("no address", &discoverCommand{sites: []string{"name: cloud, openstack: {region: R}"}}, "sites[0].openstack.authURL"),
		Entry("one name for two", &discoverCommand{sites: []string{cloud, cloud}}, "must have different names"),
		Entry("no encryption", &discoverCommand{sites: []string{strings.ReplaceAll(cloud, "https", "http")}}, "must have the scheme https"),
		Entry("no CloudProfile", &discoverCommand{}, "must have one of them"),
	)

	It("should need a Secret", func() {
		_, err := discover(&discoverCommand{sites: []string{cloud}}, write("empty.yaml", ""))
		Expect(err).To(MatchError(ContainSubstring("the Secret with the credentials of the sites is missing")))
	})
})

func readFile(path string) string {
	GinkgoHelper()
	content, err := os.ReadFile(path) // #nosec G304 -- a file of the test
	Expect(err).NotTo(HaveOccurred())
	return string(content)
}

func decoded(out string) *v1alpha1.DiscoveryReport {
	GinkgoHelper()
	report := &v1alpha1.DiscoveryReport{}
	Expect(json.Unmarshal([]byte(out), report)).To(Succeed())
	return report
}
