// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package machines

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/client"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
	"github.com/gardener/gardener-extension-provider-hybrid/test/countproxy"
	"github.com/gardener/gardener-extension-provider-hybrid/test/openstackstub"
)

var _ = Describe("Project", func() {
	var (
		proxy   *countproxy.Proxy
		part    platform.Machines
		request platform.MachineRequest
	)

	BeforeEach(func() {
		stub, err := openstackstub.New(openstackstub.Settings{
			Servers: []openstackstub.Servers{{Project: "own", Prefix: ours.Shoot + "-", Count: 1, Metadata: ours.Metadata()}},
		})
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(stub.Close)
		proxy, err = countproxy.New(stub.Services()...)
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(proxy.Close)
		proxy.SetLabel("machines")

		part = New(client.NewSessions())
		request = platform.MachineRequest{
			Name:       ours.Shoot + "-00000",
			ProviderID: "openstack:///6a0f1f5e-0c5a-4d59-8a0b-6f5d6b1d3e21",
			Spec: &v1alpha1.MachineProviderSpec{Site: ours.Site, Shoot: ours.Shoot, OpenStack: &v1alpha1.OpenStackMachineSpec{
				Connection: v1alpha1.OpenStackConnection{AuthURL: proxy.Rewrite(stub.AuthURL()), Region: openstackstub.Region},
			}},
			Credentials: site.Credentials{"domainName": "Default", "tenantName": "own", "username": "u", "password": "p"},
		}
	})

	DescribeTable("should be that of the provider spec, or nothing is asked for",
		func(ctx SpecContext, do func(context.Context) error) {
			request.Spec.OpenStack.ProjectID = "former"
			err := do(ctx)
			Expect(err).To(MatchError(And(HavePrefix(`site "cloud": credentials: `), ContainSubstring(`in project "former"`))))
			Expect(platform.ClassOf(err)).To(Equal(platform.ClassConfiguration))
			Expect(proxy.Requests("machines")).To(HaveEach(HaveField("Service", "keystone")))
		},
		Entry("Create", func(ctx context.Context) error { _, err := part.Create(ctx, request); return err }),
		Entry("Initialize", func(ctx context.Context) error { return part.Initialize(ctx, request) }),
		Entry("Get", func(ctx context.Context) error { _, err := part.Get(ctx, request); return err }),
		Entry("List", func(ctx context.Context) error { _, err := part.List(ctx, request); return err }),
		Entry("Delete", func(ctx context.Context) error { return part.Delete(ctx, request) }),
		Entry("Delete of a machine without ID", func(ctx context.Context) error {
			request.ProviderID = ""
			return part.Delete(ctx, request)
		}),
	)

	DescribeTable("should be used", func(ctx SpecContext, named bool) {
		if named {
			session, err := client.NewSessions().Get(ctx, ours.Site, request.Spec.OpenStack.Connection, request.Credentials)
			Expect(err).NotTo(HaveOccurred())
			request.Spec.OpenStack.ProjectID, err = session.ProjectID()
			Expect(err).NotTo(HaveOccurred())
		}
		Expect(part.List(ctx, request)).To(HaveExactElements(HaveField("Name", request.Name)))
	},
		Entry("if it is that of the provider spec", true),
		Entry("if the provider spec does not say it", false),
	)
})
