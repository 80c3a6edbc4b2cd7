// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package openstack_test

import (
	"net/http"
	"strings"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	gopheropenstack "github.com/gophercloud/gophercloud/v2/openstack"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/ports"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/client"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/machines"
	"github.com/gardener/gardener-extension-provider-hybrid/test/countproxy"
	"github.com/gardener/gardener-extension-provider-hybrid/test/suite"
)

var _ = Describe("Machines", Ordered, func() {
	var (
		shoot    string
		sessions *client.Sessions
		part     platform.Machines
		spec     *v1alpha1.MachineProviderSpec
		resolve  resolveFlavor
	)

	BeforeAll(func(ctx SpecContext) {
		sessions = newSessions()
		shoot, resolve = newMachineSite(ctx, sessions)
		spec = resolve(ctx, "m1.tiny")
	})

	BeforeEach(func() {
		part = machines.New(sessions)
		DeferCleanup(func(ctx SpecContext) { deleteMachines(ctx, spec) })
	})

	// request is one of a caller that does not come again, for whom deletions wait longer: the cloud is busy with other tests, too.
	request := func(name string) platform.MachineRequest {
		return platform.MachineRequest{Name: shoot + "-" + name, Spec: spec, Credentials: siteCredentials(), UserData: []byte("#!/bin/sh\n"),
			Once: true}
	}
	status := func(ctx SpecContext, name string) string {
		servers, err := inspector.Servers(ctx, name)
		Expect(err).NotTo(HaveOccurred())
		for _, server := range servers {
			return server.Status
		}
		return ""
	}

	It("should return at the ID, report no error while the server boots, and delete all that it made", func(ctx SpecContext) {
		Expect(bed.SetBootDelay(6*time.Second, shoot)).To(Succeed())
		r := request("boots")

		_, err := part.Get(ctx, r)
		Expect(platform.ClassOf(err)).To(Equal(platform.ClassNotFound))

		requests := label("create")
		created, err := part.Create(ctx, r)
		Expect(err).NotTo(HaveOccurred())
		Expect(created.ProviderID).To(HavePrefix("openstack:///"))
		Expect(status(ctx, r.Name)).To(Equal("BUILD"))
		Expect(len(requests())).To(BeNumerically("<=", 4))

		r.ProviderID = created.ProviderID
		Eventually(func(g Gomega, ctx SpecContext) {
			found, err := part.Get(ctx, r)
			Expect(err).NotTo(HaveOccurred(), "while the server boots")
			Expect(found.ProviderID).To(Equal(created.ProviderID))
			g.Expect(status(ctx, r.Name)).To(Equal("ACTIVE"))
		}).WithContext(ctx).Within(time.Minute).ProbeEvery(500 * time.Millisecond).Should(Succeed())

		port := portsOf(ctx, r.Name)
		Expect(port).To(HaveLen(1))
		Expect(port[0].SecurityGroups).To(Equal(spec.OpenStack.SecurityGroupIDs))
		Expect(port[0].AllowedAddressPairs).To(ConsistOf(HaveField("IPAddress", "100.96.0.0/11"), HaveField("IPAddress", "fd00:10::/56")))

		Expect(part.List(ctx, r)).To(ContainElement(HaveField("ProviderID", created.ProviderID)))
		Expect(part.Delete(ctx, r)).To(Succeed())
		Expect(status(ctx, r.Name)).To(BeEmpty())
		Expect(portsOf(ctx, r.Name)).To(BeEmpty())
		Expect(part.Delete(ctx, r)).To(Succeed(), "a second time")
	})

	DescribeTable("should complete what was interrupted, without duplicates", func(ctx SpecContext, fault countproxy.Fault) {
		r := request("again")
		fault.Times = 1
		Expect(proxy.SetFaults(fault)).To(Succeed())
		_, err := part.Create(ctx, r)
		Expect(platform.ClassOf(err)).To(Equal(platform.ClassTransient))

		created, err := part.Create(ctx, r)
		Expect(err).NotTo(HaveOccurred())
		again, err := part.Create(ctx, r)
		Expect(err).NotTo(HaveOccurred())
		Expect(again.ProviderID).To(Equal(created.ProviderID))
		Expect(inspector.Servers(ctx, r.Name)).To(HaveLen(1))
		Expect(portsOf(ctx, r.Name)).To(HaveLen(1))

		r.ProviderID = created.ProviderID
		Expect(part.Delete(ctx, r)).To(Succeed())
		Expect(portsOf(ctx, r.Name)).To(BeEmpty())
	},
		Entry("port created, answer lost", countproxy.Fault{Method: "POST", Path: "/ports$", After: true, Action: countproxy.ActionReset}),
		Entry("server refused", countproxy.Fault{Method: "POST", Path: "/servers$", Action: countproxy.ActionStatus, Status: 503}),
		Entry("server created, answer lost", countproxy.Fault{Method: "POST", Path: "/servers$", After: true, Action: countproxy.ActionReset}),
	)

	It("should delete what an interrupted creation left behind of a machine that has no ID", func(ctx SpecContext) {
		r := request("no-id")
		Expect(proxy.SetFaults(countproxy.Fault{Method: "POST", Path: "/servers$", After: true, Times: 1,
			Action: countproxy.ActionReset})).To(Succeed())
		_, err := part.Create(ctx, r)
		Expect(err).To(HaveOccurred())
		Expect(part.Delete(ctx, r)).To(Succeed())
		Expect(status(ctx, r.Name)).To(BeEmpty())
		Expect(portsOf(ctx, r.Name)).To(BeEmpty())
	})

	DescribeTable("should delete nothing when a look fails", func(ctx SpecContext, fault countproxy.Fault, failures int) {
		r := request("look")
		created, err := part.Create(ctx, r)
		Expect(err).NotTo(HaveOccurred())
		r.ProviderID = created.ProviderID

		fault.Times = failures
		Expect(proxy.SetFaults(fault)).To(Succeed())
		requests := label("look")
		restarted := machines.New(newSessions())
		_, err = restarted.Get(ctx, r)
		if failures > 3 {
			Expect(platform.ClassOf(err)).To(Equal(platform.ClassTransient))
		} else {
			Expect(err).NotTo(HaveOccurred())
		}
		Expect(requests()).NotTo(ContainElement(HaveField("Method", "DELETE")))
		Expect(status(ctx, r.Name)).NotTo(BeEmpty())
	},
		Entry("503 once", countproxy.Fault{Service: "nova", Method: "GET", Action: countproxy.ActionStatus, Status: 503}, 1),
		Entry("503 for long",
			countproxy.Fault{Service: "nova", Method: "GET", Path: "/servers", Action: countproxy.ActionStatus, Status: 503}, 20),
		Entry("429 with Retry-After",
			countproxy.Fault{Service: "nova", Method: "GET", Path: "/servers", Action: countproxy.ActionStatus, Status: 429,
				Header: http.Header{"Retry-After": {"1"}}}, 1),
		Entry("connection reset", countproxy.Fault{Service: "nova", Method: "GET", Path: "/servers", Action: countproxy.ActionReset}, 2),
	)

	It("should leave a foreign port with the name of a machine alone", func(ctx SpecContext) {
		r := request("foreign")
		foreign, err := ports.Create(ctx, networkService(ctx), ports.CreateOpts{Name: r.Name, NetworkID: spec.OpenStack.NetworkID}).Extract()
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(func(ctx SpecContext) {
			Expect(ports.Delete(ctx, networkService(ctx), foreign.ID).ExtractErr()).To(Succeed())
		})
		created, err := part.Create(ctx, r)
		Expect(err).NotTo(HaveOccurred())
		r.ProviderID = created.ProviderID
		Expect(part.Delete(ctx, r)).To(Succeed())
		Expect(portsOf(ctx, r.Name)).To(ConsistOf(HaveField("ID", foreign.ID)))
	})

	suite.NightlyIt("should leave the port to the other one of two servers that a machine got", func(ctx SpecContext) {
		r := request("twice")
		created, err := part.Create(ctx, r)
		Expect(err).NotTo(HaveOccurred())
		r.ProviderID = created.ProviderID
		port := portsOf(ctx, r.Name)
		Expect(port).To(HaveLen(1))

		By("making what a creation that got no answer makes later")
		compute, err := gopheropenstack.NewComputeV2(signedIn(ctx), gophercloud.EndpointOpts{Region: credentials.Region})
		Expect(err).NotTo(HaveOccurred())
		compute.Microversion = "2.37" // the first one that makes servers without a port, as the port is the other's
		first, err := servers.Get(ctx, compute, strings.TrimPrefix(created.ProviderID, "openstack:///")).Extract()
		Expect(err).NotTo(HaveOccurred())
		second, err := servers.Create(ctx, compute, servers.CreateOpts{
			Name: r.Name, FlavorRef: spec.OpenStack.FlavorID, ImageRef: spec.OpenStack.ImageID, Metadata: first.Metadata, Networks: "none",
		}, nil).Extract()
		Expect(err).NotTo(HaveOccurred())

		duplicate := r
		duplicate.ProviderID = "openstack:///" + second.ID
		Eventually(part.List).WithContext(ctx).WithArguments(r).Within(2 * time.Minute).ProbeEvery(time.Second).
			Should(ContainElement(HaveField("ProviderID", duplicate.ProviderID)))
		Expect(part.Delete(ctx, duplicate)).To(Succeed())
		Expect(inspector.Servers(ctx, r.Name)).To(HaveLen(1))
		Expect(portsOf(ctx, r.Name)).To(HaveExactElements(HaveField("ID", port[0].ID)))
		Expect(part.Delete(ctx, duplicate)).To(Succeed(), "a second time")
		Expect(portsOf(ctx, r.Name)).To(HaveExactElements(HaveField("ID", port[0].ID)))

		Expect(part.Delete(ctx, r)).To(Succeed())
		Expect(portsOf(ctx, r.Name)).To(BeEmpty())
	})

	It("should refuse user data that the compute API would not take", func(ctx SpecContext) {
		r := request("user-data")
		r.UserData = []byte(strings.Repeat("x", 60000))
		_, err := part.Create(ctx, r)
		Expect(err).To(MatchError(ContainSubstring("user data has 60000 bytes")))
		Expect(platform.ClassOf(err)).To(Equal(platform.ClassConfiguration))
		Expect(portsOf(ctx, r.Name)).To(BeEmpty())
	})

	It("should list once for many machines that are asked for at the same time", func(ctx SpecContext) {
		r := request("shared")
		created, err := part.Create(ctx, r)
		Expect(err).NotTo(HaveOccurred())
		r.ProviderID = created.ProviderID
		requests := label("shared")
		done := make(chan error)
		for range 20 {
			go func() {
				_, err := part.Get(ctx, r)
				done <- err
			}()
		}
		for range 20 {
			Expect(<-done).To(Succeed())
		}
		Expect(len(requests())).To(BeNumerically("<=", 2))
	})
})

func signedIn(ctx SpecContext) *gophercloud.ProviderClient {
	provider, err := gopheropenstack.AuthenticatedClient(ctx, gophercloud.AuthOptions{
		IdentityEndpoint: credentials.AuthURL,
		Username:         credentials.Username,
		Password:         credentials.Password,
		DomainName:       credentials.Domain,
		TenantName:       credentials.Project,
	})
	Expect(err).NotTo(HaveOccurred())
	return provider
}

func networkService(ctx SpecContext) *gophercloud.ServiceClient {
	service, err := gopheropenstack.NewNetworkV2(signedIn(ctx), gophercloud.EndpointOpts{Region: credentials.Region})
	Expect(err).NotTo(HaveOccurred())
	return service
}

func portsOf(ctx SpecContext, name string) []ports.Port {
	page, err := ports.List(networkService(ctx), ports.ListOpts{Name: name}).AllPages(ctx)
	Expect(err).NotTo(HaveOccurred())
	found, err := ports.ExtractPorts(page)
	Expect(err).NotTo(HaveOccurred())
	return found
}
