// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/rehearsal"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
)

const (
	plannedProfile = `
apiVersion: core.gardener.cloud/v1beta1
kind: CloudProfile
metadata: {name: hybrid}
spec:
  type: hybrid
  providerConfig:
    apiVersion: hybrid.provider.extensions.gardener.cloud/v1alpha1
    kind: CloudProfileConfig
    sites:
    - name: cloud
      region: local
      openstack: {authURL: "https://cloud.example.com/v3", region: one, floatingPools: [{name: public}]}
      zones: [{name: cloud-a, openstack: {availabilityZone: a}}]
`
	plannedShoot = `
apiVersion: core.gardener.cloud/v1beta1
kind: Shoot
metadata: {name: first, namespace: garden-local}
spec:
  cloudProfile: {name: hybrid}
  region: local
  kubernetes: {version: 1.34.1}
  seedName: seed
  credentialsBindingName: credentials
  provider:
    type: hybrid
    infrastructureConfig:
      apiVersion: hybrid.provider.extensions.gardener.cloud/v1alpha1
      kind: InfrastructureConfig
      networks: {topology: Routed}
      sites:
      - {name: cloud, nodes: [10.250.0.0/18], openstack: {floatingPoolName: public}}
status: {technicalID: shoot--local--first}
`
)

// plannedPlatform records the writes.
type plannedPlatform struct {
	platform.Infrastructure
	log    *rehearsal.Log
	writes []rehearsal.Write
	err    error
}

func (p *plannedPlatform) Validate(context.Context, *site.Site, platform.ValidationRequest) (platform.Findings, error) {
	return platform.Findings{}, nil
}

func (p *plannedPlatform) Reconcile(ctx context.Context, s *site.Site, persist platform.Persist) (*v1alpha1.SiteStatus, error) {
	for _, w := range p.writes {
		w.Site = s.Name
		if err := p.log.Add(w); err != nil {
			return nil, err
		}
	}
	if err := persist(ctx, &v1alpha1.SiteState{Name: s.Name, OpenStack: &v1alpha1.OpenStackState{
		Router: &v1alpha1.OpenStackObject{ID: "r-1", Managed: true},
	}}); err != nil {
		return nil, err
	}
	return &v1alpha1.SiteStatus{Name: s.Name, OpenStack: &v1alpha1.OpenStackStatus{}}, p.err
}

var _ = Describe("Plan", func() {
	writes := []rehearsal.Write{
		{Action: v1alpha1.PlannedActionCreate, Kind: "network", ID: "planned:network-1", Name: "shoot--local--first-cloud",
			PlannedRequest: v1alpha1.PlannedRequest{Service: "network", Method: "POST", Path: "/v2.0/networks"}},
		{Action: v1alpha1.PlannedActionChange, Kind: "network", ID: "planned:network-1",
			Fields:         []v1alpha1.PlannedField{{Name: "tags", From: "[]", To: `["x"]`}},
			PlannedRequest: v1alpha1.PlannedRequest{Service: "network", Method: "PUT", Path: "/v2.0/networks/planned:network-1/tags"}},
		{Action: v1alpha1.PlannedActionChange, Kind: "security group", ID: "g", Name: "shoot--local--first-cloud",
			Fields: []v1alpha1.PlannedField{{Name: "rule", To: "a"}, {Name: "rule", From: "b"}, {Name: "mtu", From: "1", To: "2"},
				{Name: "rule", To: "d"}},
			PlannedRequest: v1alpha1.PlannedRequest{Service: "network", Method: "POST", Path: "/v2.0/security-group-rules"}},
		{Action: v1alpha1.PlannedActionDelete, Kind: "key pair", ID: "k", Name: "k",
			PlannedRequest: v1alpha1.PlannedRequest{Service: "compute", Method: "DELETE", Path: "/v2.1/os-keypairs/k"}},
	}

	plan := func(ctx context.Context, format string, writes []rehearsal.Write, failure error, more ...string) (string, error) {
		GinkgoHelper()
		var out bytes.Buffer
		path := filepath.Join(GinkgoT().TempDir(), "manifests.yaml")
		manifests := strings.Join(append(more, plannedProfile, plannedShoot, bindingManifest, secretManifest, seedManifest), "\n---\n")
		Expect(os.WriteFile(path, []byte(manifests), 0o600)).To(Succeed())
		streams := Streams{In: strings.NewReader(""), Out: &out, Err: GinkgoWriter}
		log := &rehearsal.Log{}
		closed := false
		p := &planCommand{
			streamsAndInputs: &streamsAndInputs{Streams: streams, inputs: inputs{streams: streams, files: []string{path}},
				output: output{out: &out, format: format}},
			rehearse: func() *rehearsal.Rehearsal {
				return &rehearsal.Rehearsal{Log: log, Close: func() { closed = true }, Infrastructures: platform.Registry[platform.Infrastructure]{
					v1alpha1.PlatformOpenStack: &plannedPlatform{log: log, writes: writes, err: failure},
				}}
			},
		}
		err := p.run(ctx)
		Expect(closed).To(BeTrue())
		Expect(out.String()).NotTo(ContainSubstring("top-secret"))
		return out.String(), err
	}

	DescribeTable("should show the changes at sites", func(ctx SpecContext, format, golden string) {
		out, err := plan(ctx, format, writes, nil)
		Expect(err).To(MatchError(errFindings), out)
		expectGolden(golden, out)
	},
		Entry("as a table", formatTable, "plan.txt"),
		Entry("as a wide table", formatWide, "plan-wide.txt"),
		Entry("as YAML", formatYAML, "plan.yaml"),
	)

	It("should be empty if the state has everything", func(ctx SpecContext) {
		out, err := plan(ctx, formatTable, nil, nil, `
apiVersion: extensions.gardener.cloud/v1alpha1
kind: Infrastructure
metadata: {name: first, namespace: shoot--local--first}
spec: {type: hybrid, region: local, secretRef: {namespace: shoot--local--first, name: cloudprovider}}
status:
  state:
    apiVersion: hybrid.provider.extensions.gardener.cloud/v1alpha1
    kind: InfrastructureState
    sites:
    - name: cloud
      openstack: {connection: {authURL: "https://cloud.example.com/v3", region: one}, router: {id: r-1, managed: true}}
`)
		Expect(err).NotTo(HaveOccurred())
		Expect(out).To(Equal("Objects at sites: 0 to create, 0 to adopt, 0 to change, 0 to delete, 1 to keep.\n"))
	})

	It("should tell that a site failed, with what was planned before", func(ctx SpecContext) {
		out, err := plan(ctx, formatTable, writes[:1], platform.NewError(platform.ClassForbidden, "refused"))
		Expect(err).To(MatchError("the plan is incomplete"))
		Expect(out).To(And(ContainSubstring("network"), ContainSubstring(`error: site "cloud": refused`)))
	})

	DescribeTable("should be empty only if nothing changes", func(action v1alpha1.PlannedAction, changes bool) {
		Expect(changesAnything(&v1alpha1.PlanReport{Sites: []v1alpha1.SitePlan{
			{Changes: []v1alpha1.PlannedChange{{Action: action}}}}})).To(Equal(changes))
	},
		Entry("something is kept", v1alpha1.PlannedActionKeep, false),
		Entry("something is adopted", v1alpha1.PlannedActionAdopt, true),
		Entry("something is created", v1alpha1.PlannedActionCreate, true),
		Entry("something is changed", v1alpha1.PlannedActionChange, true),
		Entry("something is deleted", v1alpha1.PlannedActionDelete, true),
	)
})
