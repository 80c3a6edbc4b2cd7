// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package infrastructure

import (
	"context"
	"net/http"
	"net/netip"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/client"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
	"github.com/gardener/gardener-extension-provider-hybrid/test/countproxy"
	"github.com/gardener/gardener-extension-provider-hybrid/test/openstackstub"
)

var _ = Describe("Region", func() {
	var (
		s     *site.Site
		part  platform.Infrastructure
		proxy *countproxy.Proxy
	)

	persist := func(_ context.Context, state *v1alpha1.SiteState) error {
		s.State = state
		return nil
	}
	written := func() []countproxy.Request {
		var result []countproxy.Request
		for _, request := range proxy.Requests("changed") {
			if request.Method != http.MethodGet && request.Service != "keystone" {
				result = append(result, request)
			}
		}
		return result
	}

	BeforeEach(func() {
		other, err := openstackstub.New(openstackstub.Settings{})
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(other.Close)
		stub, err := openstackstub.New(openstackstub.Settings{Other: other})
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(stub.Close)
		proxy, err = countproxy.New(stub.Services()...)
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(proxy.Close)
		nodes := netip.MustParsePrefix("10.250.0.0/18")
		s = &site.Site{
			Name:  "cloud",
			Shoot: "shoot--local--a",
			Profile: &v1alpha1.CloudProfileSite{
				Name:      "cloud",
				OpenStack: &v1alpha1.OpenStackProfile{AuthURL: proxy.Rewrite(stub.AuthURL()), Region: openstackstub.Region},
			},
			Config: &v1alpha1.InfrastructureSite{Name: "cloud",
				OpenStack: &v1alpha1.OpenStackInfrastructure{FloatingPoolName: openstackstub.FloatingPool}},
			Credentials:  site.Credentials{"domainName": "Default", "tenantName": "own", "username": "u", "password": "p"},
			SSHPublicKey: []byte("ssh-rsa AAAA"),
			Network: site.Network{
				Topology: v1alpha1.TopologyRouted,
				Subnets:  []netip.Prefix{nodes},
				Nodes:    []netip.Prefix{nodes},
				Gateway:  netip.MustParseAddr("10.250.0.1"),
			},
		}
		part = New(client.NewSessions())
	})

	It("should stay that of the objects, and nothing be made or forgotten until it is again", func(ctx SpecContext) {
		status, err := part.Reconcile(ctx, s, persist)
		Expect(err).NotTo(HaveOccurred())
		Expect(status.OpenStack.Region).To(Equal(openstackstub.Region))
		before := s.State.DeepCopy()

		proxy.SetLabel("changed")
		s.Profile.OpenStack.Region = openstackstub.OtherRegion
		refused := MatchError(`site "cloud": openstack.region: it is "RegionTwo", but the shoot is in region "RegionOne"; ` +
			`nothing is touched until it is that region again`)
		_, err = part.Reconcile(ctx, s, persist)
		Expect(err).To(refused)
		Expect(platform.ClassOf(err)).To(Equal(platform.ClassConfiguration))
		Expect(part.Delete(ctx, s, persist)).To(refused)
		_, err = part.Validate(ctx, s, platform.ValidationRequest{})
		Expect(err).To(refused)
		_, err = part.Orphans(ctx, s)
		Expect(err).To(refused)
		Expect(s.State).To(Equal(before))
		Expect(written()).To(BeEmpty())

		s.Profile.OpenStack.Region = openstackstub.Region
		again, err := part.Reconcile(ctx, s, persist)
		Expect(err).NotTo(HaveOccurred())
		Expect(again).To(Equal(status))
	})

	It("should be any as long as nothing was made", func(ctx SpecContext) {
		s.State = &v1alpha1.SiteState{Name: s.Name, OpenStack: &v1alpha1.OpenStackState{Connection: client.ConnectionOf(s.Profile)}}
		s.Profile.OpenStack.Region = openstackstub.OtherRegion
		status, err := part.Reconcile(ctx, s, persist)
		Expect(err).NotTo(HaveOccurred())
		Expect(status.OpenStack.Region).To(Equal(openstackstub.OtherRegion))
	})
})
