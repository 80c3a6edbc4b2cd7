// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package openstack_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/infrastructure"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/machines"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/openstack"
)

var _ = Describe("Credentials of another project", func() {
	var (
		other     site.Credentials
		inspected *openstack.Client
	)

	BeforeEach(func(ctx SpecContext) {
		c, err := bed.Credentials(openstack.Projects[1])
		Expect(err).NotTo(HaveOccurred())
		inspected, err = openstack.NewClient(ctx, c)
		Expect(err).NotTo(HaveOccurred())
		other = c.SiteCredentials()
	})

	It("should neither make nor delete anything of the infrastructure", func(ctx SpecContext) {
		shoot := shootName()
		s, part := newSite(shoot), infrastructure.New(newSessions())
		DeferCleanup(func(ctx SpecContext) {
			s.Credentials = siteCredentials()
			Expect(part.Delete(ctx, s, keep(s))).To(Succeed())
		})
		status, err := part.Reconcile(ctx, s, keep(s))
		Expect(err).NotTo(HaveOccurred())
		Expect(status.OpenStack.ProjectID).NotTo(BeEmpty())
		before, state := objectsOf(ctx, inspector, shoot), s.State.DeepCopy()

		s.Credentials = other
		_, err = part.Reconcile(ctx, s, keep(s))
		Expect(platform.ClassOf(err)).To(Equal(platform.ClassConfiguration))
		err = part.Delete(ctx, s, keep(s))
		Expect(platform.ClassOf(err)).To(Equal(platform.ClassConfiguration))
		Expect(err).To(MatchError(ContainSubstring(status.OpenStack.ProjectID)))
		Expect(s.State).To(Equal(state))
		Expect(objectsOf(ctx, inspector, shoot)).To(ConsistOf(before))
		Expect(objectsOf(ctx, inspected, shoot)).To(BeEmpty())

		By("going on with those of the former project")
		s.Credentials = siteCredentials()
		again, err := part.Reconcile(ctx, s, keep(s))
		Expect(err).NotTo(HaveOccurred())
		Expect(again).To(Equal(status))
	})

	It("should not take a machine for deleted", func(ctx SpecContext) {
		sessions := newSessions()
		shoot, resolve := newMachineSite(ctx, sessions)
		part, spec := machines.New(sessions), resolve(ctx, "m1.tiny")
		DeferCleanup(func(ctx SpecContext) { deleteMachines(ctx, spec) })
		r := platform.MachineRequest{Name: shoot + "-kept", Spec: spec, Credentials: siteCredentials(), UserData: []byte("#!/bin/sh\n"),
			Once: true}
		created, err := part.Create(ctx, r)
		Expect(err).NotTo(HaveOccurred())

		r.ProviderID, r.Credentials = created.ProviderID, other
		err = part.Delete(ctx, r)
		Expect(platform.ClassOf(err)).To(Equal(platform.ClassConfiguration))
		Expect(inspector.Servers(ctx, r.Name)).To(HaveLen(1))

		r.Credentials = siteCredentials()
		Expect(part.Delete(ctx, r)).To(Succeed())
		Expect(inspector.Servers(ctx, r.Name)).To(BeEmpty())
	})
})

// objectsOf are all objects of a shoot in the client's project.
func objectsOf(ctx SpecContext, c *openstack.Client, shoot string) []openstack.Object {
	GinkgoHelper()
	found, err := c.Objects(ctx, shoot)
	Expect(err).NotTo(HaveOccurred())
	return found
}
