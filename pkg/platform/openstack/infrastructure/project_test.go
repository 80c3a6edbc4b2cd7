// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package infrastructure

import (
	"context"
	"net/netip"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	fieldpath "k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/client"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
	"github.com/gardener/gardener-extension-provider-hybrid/test/openstackstub"
)

var _ = Describe("Project", func() {
	const own, other = "own", "other"
	var (
		s    *site.Site
		part platform.Infrastructure
	)

	credentialsFor := func(project string) site.Credentials {
		return site.Credentials{"domainName": "Default", "tenantName": project, "username": "u", "password": "p"}
	}
	persist := func(_ context.Context, state *v1alpha1.SiteState) error {
		s.State = state
		return nil
	}
	reconcile := func(ctx context.Context) (*v1alpha1.OpenStackStatus, error) {
		status, err := part.Reconcile(ctx, s, persist)
		if err != nil {
			return nil, err
		}
		return status.OpenStack, nil
	}
	idOf := func(ctx context.Context, project string) string {
		GinkgoHelper()
		session, err := client.NewSessions().Get(ctx, s.Name, client.ConnectionOf(s.Profile), credentialsFor(project))
		Expect(err).NotTo(HaveOccurred())
		id, err := session.ProjectID()
		Expect(err).NotTo(HaveOccurred())
		return id
	}

	BeforeEach(func() {
		stub, err := openstackstub.New(openstackstub.Settings{})
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(stub.Close)
		nodes := netip.MustParsePrefix("10.250.0.0/18")
		s = &site.Site{
			Name:  "cloud",
			Shoot: "shoot--local--a",
			Profile: &v1alpha1.CloudProfileSite{
				Name:      "cloud",
				OpenStack: &v1alpha1.OpenStackProfile{AuthURL: stub.AuthURL(), Region: openstackstub.Region},
			},
			Config: &v1alpha1.InfrastructureSite{Name: "cloud",
				OpenStack: &v1alpha1.OpenStackInfrastructure{FloatingPoolName: openstackstub.FloatingPool}},
			Credentials: credentialsFor(own),
			Network: site.Network{
				Topology: v1alpha1.TopologyRouted,
				Subnets:  []netip.Prefix{nodes},
				Nodes:    []netip.Prefix{nodes},
				Gateway:  netip.MustParseAddr("10.250.0.1"),
			},
		}
		part = New(client.NewSessions())
	})

	It("should be recorded before anything is made, and told to machines and cloud controllers", func(ctx SpecContext) {
		var first *v1alpha1.OpenStackState
		status, err := part.Reconcile(ctx, s, func(ctx context.Context, state *v1alpha1.SiteState) error {
			if first == nil && hasObjects(*state.OpenStack) {
				first = state.OpenStack
			}
			return persist(ctx, state)
		})
		Expect(err).NotTo(HaveOccurred())
		id := idOf(ctx, own)
		Expect(first.ProjectID).To(Equal(id))
		Expect(s.State.OpenStack.ProjectID).To(Equal(id))
		Expect(status.OpenStack.ProjectID).To(Equal(id))
	})

	DescribeTable("should not be another one later",
		func(ctx SpecContext, do func(context.Context) error) {
			_, err := reconcile(ctx)
			Expect(err).NotTo(HaveOccurred())
			before := s.State.DeepCopy()

			s.Credentials = credentialsFor(other)
			err = do(ctx)
			Expect(err).To(MatchError(And(HavePrefix(`site "cloud": credentials: `), ContainSubstring(idOf(ctx, own)),
				ContainSubstring(idOf(ctx, other)))))
			Expect(err).NotTo(MatchError(platform.ErrNoAccess))
			Expect(platform.ClassOf(err)).To(Equal(platform.ClassConfiguration))
			Expect(s.State).To(Equal(before))

			s.Credentials = credentialsFor(own)
			status, err := reconcile(ctx)
			Expect(err).NotTo(HaveOccurred())
			Expect(status.NetworkID).To(Equal(before.OpenStack.Network.ID))
		},
		Entry("when the site is validated", func(ctx context.Context) error {
			_, err := part.Validate(ctx, s, platform.ValidationRequest{Path: fieldpath.NewPath("sites").Index(0)})
			return err
		}),
		Entry("when it is reconciled", func(ctx context.Context) error {
			_, err := reconcile(ctx)
			return err
		}),
		Entry("when it is deleted", func(ctx context.Context) error { return part.Delete(ctx, s, persist) }),
		Entry("when it is deleted after it left the CloudProfile and the shoot", func(ctx context.Context) error {
			profile, config := s.Profile, s.Config
			defer func() { s.Profile, s.Config = profile, config }()
			s.Profile, s.Config = nil, nil
			return part.Delete(ctx, s, persist)
		}),
		Entry("when it is looked for orphans", func(ctx context.Context) error {
			_, err := part.Orphans(ctx, s)
			return err
		}),
	)

	It("may be another one as long as nothing is made in the former one", func(ctx SpecContext) {
		s.State = &v1alpha1.SiteState{Name: s.Name, OpenStack: &v1alpha1.OpenStackState{ProjectID: idOf(ctx, other)}}
		status, err := reconcile(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(status.ProjectID).To(Equal(idOf(ctx, own)))
		Expect(s.State.OpenStack.ProjectID).To(Equal(idOf(ctx, own)))
	})

	DescribeTable("of a state that does not say it should be recorded if the objects are there",
		func(ctx SpecContext, project string, recorded bool) {
			_, err := reconcile(ctx)
			Expect(err).NotTo(HaveOccurred())
			s.State.OpenStack.ProjectID = ""

			s.Credentials = credentialsFor(project)
			status, err := reconcile(ctx)
			Expect(err).NotTo(HaveOccurred())
			var expected string
			if recorded {
				expected = idOf(ctx, project)
			}
			Expect(status.ProjectID).To(Equal(expected))
			Expect(s.State.OpenStack.ProjectID).To(Equal(expected))
		},
		Entry("they are", own, true),
		Entry("they are not", other, false),
	)
})
