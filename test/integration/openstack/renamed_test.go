// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package openstack_test

import (
	"context"
	"strings"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	gopheropenstack "github.com/gophercloud/gophercloud/v2/openstack"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/keypairs"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/ports"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/client"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/infrastructure"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/machines"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/owner"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
	"github.com/gardener/gardener-extension-provider-hybrid/test/countproxy"
	"github.com/gardener/gardener-extension-provider-hybrid/test/suite"
)

var _ = Describe("Machines that somebody changed", Ordered, func() {
	const outside = "renamed-by-admin"
	var (
		shoot    string
		sessions *client.Sessions
		part     platform.Machines
		spec     *v1alpha1.MachineProviderSpec
		compute  *gophercloud.ServiceClient
	)

	BeforeAll(func(ctx SpecContext) {
		sessions = newSessions()
		var resolve resolveFlavor
		shoot, resolve = newMachineSite(ctx, sessions)
		spec = resolve(ctx, "m1.tiny")
		var err error
		compute, err = gopheropenstack.NewComputeV2(signedIn(ctx), gophercloud.EndpointOpts{Region: credentials.Region})
		Expect(err).NotTo(HaveOccurred())
	})

	BeforeEach(func() {
		part = machines.New(sessions)
		DeferCleanup(func(ctx SpecContext) { deleteMachines(ctx, spec) })
	})

	request := func(name string) platform.MachineRequest {
		return platform.MachineRequest{Name: shoot + "-" + name, Spec: spec, Credentials: siteCredentials(), UserData: []byte("#!/bin/sh\n"),
			Once: true}
	}
	create := func(ctx context.Context, r *platform.MachineRequest) string {
		GinkgoHelper()
		created, err := part.Create(ctx, *r)
		Expect(err).NotTo(HaveOccurred())
		r.ProviderID = created.ProviderID
		id := strings.TrimPrefix(created.ProviderID, "openstack:///")
		Eventually(func(ctx context.Context) (string, error) {
			s, err := servers.Get(ctx, compute, id).Extract()
			if err != nil {
				return "", err
			}
			return s.Status, nil
		}).WithContext(ctx).Within(time.Minute).ProbeEvery(500 * time.Millisecond).Should(Equal("ACTIVE"))
		return id
	}
	rename := func(ctx context.Context, id, name string) {
		GinkgoHelper()
		renamed, err := servers.Update(ctx, compute, id, servers.UpdateOpts{Name: name}).Extract()
		Expect(err).NotTo(HaveOccurred())
		Expect(renamed.Name).To(Equal(name))
	}
	// exists reports whether there is the server. Nova shows one that it has deleted for a moment.
	exists := func(ctx context.Context, id string) bool {
		GinkgoHelper()
		s, err := servers.Get(ctx, compute, id).Extract()
		if gophercloud.ResponseCodeIs(err, 404) {
			return false
		}
		Expect(err).NotTo(HaveOccurred())
		return s.Status != "DELETED"
	}
	// unmark makes a server one of version 0.1.
	unmark := func(ctx context.Context, id string) {
		GinkgoHelper()
		Expect(servers.DeleteMetadatum(ctx, compute, id, "gardener-machine").ExtractErr()).To(Succeed())
	}

	DescribeTable("should keep their names in the list of machines, in this process and the next",
		func(ctx SpecContext, name string) {
			r := request("renamed")
			id := create(ctx, &r)
			rename(ctx, id, strings.ReplaceAll(name, "<shoot>", shoot))
			for _, process := range []platform.Machines{part, machines.New(newSessions())} {
				listed, err := process.List(ctx, r)
				Expect(err).NotTo(HaveOccurred())
				Expect(listed).NotTo(ContainElement(HaveField("Name", Not(Equal(r.Name)))), "MCM deletes a machine whose name it does not know")
				found, err := process.Get(ctx, r)
				Expect(err).NotTo(HaveOccurred())
				Expect(found.ProviderID).To(Equal(r.ProviderID))
				Expect(found.Name).To(Equal(r.Name))
			}

			By("creating it again without its ID, as after a lost answer")
			lost := r
			lost.ProviderID = ""
			created, err := machines.New(newSessions()).Create(ctx, lost)
			Expect(err).NotTo(HaveOccurred())
			Expect(created.ProviderID).To(Equal(r.ProviderID))

			By("deleting it without its ID")
			Expect(machines.New(newSessions()).Delete(ctx, lost)).To(Succeed())
			Expect(exists(ctx, id)).To(BeFalse())
			Expect(portsOf(ctx, r.Name)).To(BeEmpty())
		},
		suite.NightlyEntries(Entry("as another machine of the shoot", "<shoot>-renamed-by-admin")),
		Entry("as nothing of the shoot", outside),
	)

	It("should be deleted by their IDs with all that belongs to them", func(ctx SpecContext) {
		r := request("outside")
		id := create(ctx, &r)
		rename(ctx, id, outside)
		Expect(machines.New(newSessions()).Delete(ctx, r)).To(Succeed())
		Expect(exists(ctx, id)).To(BeFalse())
		Expect(portsOf(ctx, r.Name)).To(BeEmpty())
	})

	suite.NightlyIt("should not be listed under a name that they do not have if they are of version 0.1", func(ctx SpecContext) {
		r := request("old")
		id := create(ctx, &r)
		unmark(ctx, id)
		restarted := machines.New(newSessions())
		Expect(restarted.List(ctx, r)).To(ContainElement(And(HaveField("Name", r.Name), HaveField("ProviderID", r.ProviderID))))

		rename(ctx, id, shoot+"-renamed-by-admin")
		Eventually(restarted.Get).WithContext(ctx).WithArguments(r).Should(HaveField("ProviderID", r.ProviderID))
		Expect(restarted.List(ctx, r)).To(HaveEach(HaveField("Name", r.Name)))
		Expect(machines.New(newSessions()).List(ctx, r)).NotTo(ContainElement(HaveField("ProviderID", r.ProviderID)))

		Expect(part.Delete(ctx, r)).To(Succeed())
		Expect(exists(ctx, id)).To(BeFalse())
	})

	suite.NightlyIt("should be found when they are switched off", func(ctx SpecContext) {
		r := request("off")
		id := create(ctx, &r)
		Expect(servers.Stop(ctx, compute, id).ExtractErr()).To(Succeed())
		Eventually(func(g Gomega, ctx SpecContext) {
			s, err := servers.Get(ctx, compute, id).Extract()
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(s.Status).To(Equal("SHUTOFF"))
		}).WithContext(ctx).Within(time.Minute).ProbeEvery(time.Second).Should(Succeed())
		Expect(part.List(ctx, r)).To(ContainElement(And(HaveField("Name", r.Name), HaveField("ProviderID", r.ProviderID))))
		Expect(part.Get(ctx, r)).To(HaveField("ProviderID", r.ProviderID))
		Expect(part.Delete(ctx, r)).To(Succeed())
		Expect(exists(ctx, id)).To(BeFalse())
	})

	suite.NightlyIt("should take a port with them that was made after its answer was given up", func(ctx SpecContext) {
		r := request("late")
		process := machines.New(newSessions())
		Expect(proxy.SetFaults(countproxy.Fault{Method: "POST", Path: "/ports$", Times: 1, Action: countproxy.ActionStatus,
			Status: 504})).To(Succeed())
		_, err := process.Create(ctx, r)
		Expect(platform.ClassOf(err)).To(Equal(platform.ClassTransient))
		created, err := process.Create(ctx, r)
		Expect(err).NotTo(HaveOccurred())
		r.ProviderID = created.ProviderID
		_, err = ports.Create(ctx, networkService(ctx), ports.CreateOpts{
			Name: r.Name, Description: owner.Owner{Shoot: shoot, Site: spec.Site}.Description(), NetworkID: spec.OpenStack.NetworkID,
		}).Extract()
		Expect(err).NotTo(HaveOccurred())
		Expect(portsOf(ctx, r.Name)).To(HaveLen(2))

		Expect(machines.New(newSessions()).Delete(ctx, r)).To(Succeed())
		Expect(portsOf(ctx, r.Name)).To(BeEmpty())
	})
})

var _ = suite.Nightly("Key pairs of shoots and sites whose names make the same name", func() {
	It("should not be deleted with each other", func(ctx SpecContext) {
		shoot := shootName()
		network := infrastructure.New(newSessions())
		made := func(shoot, siteName, key string) (*site.Site, string) {
			GinkgoHelper()
			s := newSite(shoot)
			s.Name, s.Config.Name, s.Profile.Name, s.SSHPublicKey = siteName, siteName, siteName, []byte(key)
			status, err := network.Reconcile(ctx, s, keep(s))
			Expect(err).NotTo(HaveOccurred())
			DeferCleanup(func(ctx SpecContext) { Expect(network.Delete(ctx, s, keep(s))).To(Succeed()) })
			return s, status.OpenStack.KeyName
		}
		deleted, _ := made(shoot, "eu-west", publicKey)
		_, kept := made(shoot+"-eu", "west", publicKey+"-2")
		Expect(network.Delete(ctx, deleted, keep(deleted))).To(Succeed())
		compute, err := gopheropenstack.NewComputeV2(signedIn(ctx), gophercloud.EndpointOpts{Region: credentials.Region})
		Expect(err).NotTo(HaveOccurred())
		_, err = keypairs.Get(ctx, compute, kept, nil).Extract()
		Expect(err).NotTo(HaveOccurred())
	})
})
