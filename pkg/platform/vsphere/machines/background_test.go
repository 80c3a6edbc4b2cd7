// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package machines

import (
	"context"
	"maps"
	"sync/atomic"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/vmware/govmomi/simulator"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/vsphere/client"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
)

var _ = Describe("Creations", func() {
	var (
		part    *machines
		request platform.MachineRequest
	)

	BeforeEach(func() {
		model := simulator.VPX()
		Expect(model.Create()).To(Succeed())
		DeferCleanup(model.Remove)
		server := model.Service.NewServer()
		DeferCleanup(server.Close)
		sessions := client.NewSessions(client.Intervals{Idle: time.Hour, KeepAlive: time.Hour})
		DeferCleanup(sessions.Close)
		part = New(sessions).(*machines)

		connection := v1alpha1.VSphereConnection{Server: server.URL.Scheme + "://" + server.URL.Host}
		if server.URL.Scheme == "https" {
			connection.TLS = &v1alpha1.TLS{InsecureSkipVerify: true}
		}
		password, _ := server.URL.User.Password()
		request = platform.MachineRequest{
			Name:        "m",
			Credentials: site.Credentials{"username": server.URL.User.Username(), "password": password},
			Spec: &v1alpha1.MachineProviderSpec{Site: "vc", Shoot: "shoot--local--a", VSphere: &v1alpha1.VSphereMachineSpec{
				Connection: connection, Folder: model.Map().Any("Folder").Reference().Value, FolderPath: "/DC0/vm/shoot--local--a",
			}},
		}
	})

	begin := func(ctx context.Context, create func(ctx context.Context, accept func()) (platform.Machine, error)) (*call, *creation) {
		GinkgoHelper()
		c, err := part.call(ctx, request)
		Expect(err).NotTo(HaveOccurred())
		return c, c.startCreation(ctx, create)
	}

	DescribeTable("should not try again what fails when the machine was deleted", func(ctx SpecContext, change func()) {
		var (
			tries     atomic.Int32
			committed = make(chan struct{})
		)
		c, creation := begin(ctx, func(_ context.Context, accept func()) (platform.Machine, error) {
			accept()
			<-committed
			tries.Add(1)
			return platform.Machine{}, platform.NewError(platform.ClassTransient, "the host does not answer")
		})
		Expect(creation.commit()).To(BeTrue())
		close(committed)
		Eventually(tries.Load).WithContext(ctx).Should(BeEquivalentTo(1))
		request.ProviderID = c.machine().ProviderID
		change()
		Expect(part.Delete(ctx, request)).To(Succeed())
		Expect(creation.done).To(BeClosed())
		Expect(tries.Load()).To(BeEquivalentTo(1))
	},
		Entry("with the same credentials", func() {}),
		Entry("with others", func() {
			request.Credentials = maps.Clone(request.Credentials)
			request.Credentials["rotated"] = "true"
		}),
		Entry("by a machine class that knows a new path of the folder", func() { request.Spec.VSphere.FolderPath = "/DC0/vm/moved" }),
	)

	DescribeTable("should tell of a machine why it was not made, unless that was with other credentials",
		func(ctx SpecContext, rotate bool, expected platform.Class) {
			c, creation := begin(ctx, func(_ context.Context, accept func()) (platform.Machine, error) {
				accept()
				return platform.Machine{}, platform.NewError(platform.ClassUnauthenticated, "the password has ended")
			})
			Eventually(creation.done).WithContext(ctx).Should(BeClosed())
			request.ProviderID = c.machine().ProviderID
			if rotate {
				request.Credentials = maps.Clone(request.Credentials)
				request.Credentials["rotated"] = "true"
			}
			for range 2 {
				_, err := part.Get(ctx, request)
				Expect(platform.ClassOf(err)).To(Equal(expected), "%v", err)
			}
		},
		Entry("with the same credentials", false, platform.ClassUnauthenticated),
		Entry("with others", true, platform.ClassNotFound),
	)

	DescribeTable("should tell of no machine whose creation has decided not to try again",
		func(ctx SpecContext, ask func(context.Context) (platform.Machine, error)) {
			fail := make(chan struct{})
			_, creation := begin(ctx, func(_ context.Context, accept func()) (platform.Machine, error) {
				accept()
				<-fail
				return platform.Machine{}, platform.NewError(platform.ClassTransient, "the host does not answer")
			})
			Eventually(creation.accepted).WithContext(ctx).Should(BeClosed())
			Expect(creation.shouldRetry()).To(BeFalse())

			asked, cancel := context.WithTimeout(ctx, 200*time.Millisecond)
			defer cancel()
			answer := make(chan error, 1)
			go func() {
				_, err := ask(asked)
				answer <- err
			}()
			Consistently(answer).WithTimeout(time.Second).ShouldNot(Receive(), "there is no machine")
			close(fail)
			Eventually(answer).WithContext(ctx).Should(Receive(MatchError(ContainSubstring("the host does not answer"))))
		},
		Entry("when it is created", func(ctx context.Context) (platform.Machine, error) { return part.Create(ctx, request) }),
		Entry("when it is looked at", func(ctx context.Context) (platform.Machine, error) {
			request.ProviderID = "vsphere://known"
			return part.Get(ctx, request)
		}),
	)
})
