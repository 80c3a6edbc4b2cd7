// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package machines

import (
	"context"
	"slices"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/client"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
	"github.com/gardener/gardener-extension-provider-hybrid/test/openstackstub"
)

var _ = Describe("Region", func() {
	var (
		part    platform.Machines
		request platform.MachineRequest
	)

	BeforeEach(func(ctx SpecContext) {
		other, err := openstackstub.New(openstackstub.Settings{})
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(other.Close)
		stub, err := openstackstub.New(openstackstub.Settings{
			Servers: []openstackstub.Servers{{Project: "own", Prefix: ours.Shoot + "-", Count: 1, Metadata: ours.Metadata()}},
			Other:   other,
		})
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(stub.Close)
		part = New(client.NewSessions())
		request = platform.MachineRequest{
			Name: ours.Shoot + "-00000",
			Spec: &v1alpha1.MachineProviderSpec{Site: ours.Site, Shoot: ours.Shoot, OpenStack: &v1alpha1.OpenStackMachineSpec{
				Connection: v1alpha1.OpenStackConnection{AuthURL: stub.AuthURL(), Region: openstackstub.Region},
				Region:     openstackstub.Region,
			}},
			Credentials: site.Credentials{"domainName": "Default", "tenantName": "own", "username": "u", "password": "p"},
		}
		existing, err := part.List(ctx, request)
		Expect(err).NotTo(HaveOccurred())
		Expect(existing).To(HaveLen(1))
		request.ProviderID = existing[0].ProviderID
	})

	DescribeTable("should be that of the provider spec, as a server is not found in another one",
		func(ctx SpecContext, do func(context.Context) error) {
			request.Spec.OpenStack.Connection.Region = openstackstub.OtherRegion
			err := do(ctx)
			Expect(err).To(MatchError(`site "cloud": openstack.region: it is "RegionTwo", but the shoot is in region "RegionOne"; ` +
				`nothing is touched until it is that region again`))
			Expect(platform.ClassOf(err)).To(Equal(platform.ClassConfiguration))

			request.Spec.OpenStack.Connection.Region = openstackstub.Region
			existing, err := part.List(ctx, request)
			Expect(err).NotTo(HaveOccurred())
			Expect(slices.Collect(func(yield func(string) bool) {
				for _, m := range existing {
					yield(m.ProviderID)
				}
			})).To(ConsistOf(request.ProviderID))
		},
		Entry("Create", func(ctx context.Context) error { _, err := part.Create(ctx, request); return err }),
		Entry("Initialize", func(ctx context.Context) error { return part.Initialize(ctx, request) }),
		Entry("Get", func(ctx context.Context) error { _, err := part.Get(ctx, request); return err }),
		Entry("List", func(ctx context.Context) error { _, err := part.List(ctx, request); return err }),
		Entry("Delete", func(ctx context.Context) error { return part.Delete(ctx, request) }),
	)

	It("should be that of the connection if the provider spec is of version 0.1", func(ctx SpecContext) {
		request.Spec.OpenStack.Region = ""
		Expect(part.Delete(ctx, request)).To(Succeed())
		Expect(part.List(ctx, request)).To(BeEmpty())
	})
})
