// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package vsphere_test

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/vmware/govmomi/property"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/vsphere/client"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/vsphere/machines"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/vcenter"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/vcenter/control"
)

var _ = Describe("Sessions", Ordered, ContinueOnFailure, func() {
	const (
		soapLogin = "vim25 Login"
		restLogin = "vapi POST /rest/com/vmware/cis/session"
	)

	// Logins are counted, so nothing that other specs left in the background may log in here.
	BeforeAll(func(ctx SpecContext) {
		sharedServer, sharedInspector := server, inspector
		DeferCleanup(func() { server, inspector = sharedServer, sharedInspector })
		start(ctx)
	}, NodeTimeout(10*time.Minute))

	// use asks both APIs for something, the SOAP API by a call and for a property.
	use := func(ctx context.Context, session *client.Session) error {
		var root mo.Folder
		if err := property.DefaultCollector(session.VIM()).RetrieveOne(ctx, session.VIM().ServiceContent.RootFolder, []string{"name"},
			&root); err != nil {
			return client.Classify(err)
		}
		if _, err := methods.GetCurrentTime(ctx, session.VIM()); err != nil {
			return client.Classify(err)
		}
		_, err := session.Tags().ListCategories(ctx)
		return client.Classify(err)
	}
	get := func(ctx context.Context, sessions *client.Sessions) (*client.Session, error) {
		return sessions.Get(ctx, "vc", connection(), siteCredentials())
	}

	It("should log in once for all calls that come at once, and at the REST API only when it is used", func(ctx SpecContext) {
		sessions := newSessions()
		count(ctx)
		var group sync.WaitGroup
		for range 20 {
			group.Go(func() {
				defer GinkgoRecover()
				_, err := get(ctx, sessions)
				Expect(err).NotTo(HaveOccurred())
			})
		}
		group.Wait()
		Expect(count(ctx)).To(And(HaveKeyWithValue(soapLogin, 1), Not(HaveKey(restLogin))))

		session, err := get(ctx, sessions)
		Expect(err).NotTo(HaveOccurred())
		for range 20 {
			group.Go(func() {
				defer GinkgoRecover()
				Expect(use(ctx, session)).To(Succeed())
			})
		}
		group.Wait()
		Expect(count(ctx)).To(And(HaveKeyWithValue(restLogin, 1), Not(HaveKey(soapLogin))))
	})

	DescribeTable("should log in again once, without anybody noticing, when the vCenter has ended the session",
		func(ctx SpecContext, end func(ctx context.Context)) {
			session, err := get(ctx, newSessions())
			Expect(err).NotTo(HaveOccurred())
			Expect(use(ctx, session)).To(Succeed())
			end(ctx)

			count(ctx)
			var group sync.WaitGroup
			for range 20 {
				group.Go(func() {
					defer GinkgoRecover()
					Expect(use(ctx, session)).To(Succeed())
				})
			}
			group.Wait()
			Expect(count(ctx)).To(And(HaveKeyWithValue(soapLogin, 1), HaveKeyWithValue(restLogin, 1)))
		},
		Entry("at once", func(ctx context.Context) { Expect(server.EndSessions(ctx)).To(Succeed()) }),
		Entry("because it was idle", func(ctx context.Context) {
			disturb(ctx, control.Settings{Idle: time.Minute})
			Expect(server.Age(ctx, 2*time.Minute)).To(Succeed())
		}),
	)

	It("should keep a session alive that nobody uses, and log out when nobody has for long", func(ctx SpecContext) {
		sessions := client.NewSessions(client.Intervals{Idle: 20 * time.Second, KeepAlive: 200 * time.Millisecond})
		DeferCleanup(sessions.Close)
		disturb(ctx, control.Settings{Idle: 10 * time.Second})
		session, err := get(ctx, sessions)
		Expect(err).NotTo(HaveOccurred())
		Expect(use(ctx, session)).To(Succeed())

		logout := 0
		count(ctx)
		Eventually(func() int {
			counts := count(ctx)
			Expect(counts).NotTo(Or(HaveKey(soapLogin), HaveKey(restLogin)))
			logout += counts["vim25 Logout"] + counts["vapi DELETE /rest/com/vmware/cis/session"]
			return logout
		}).Within(2 * time.Minute).ProbeEvery(200 * time.Millisecond).Should(Equal(2))
	})

	It("should say that credentials are refused, try them no more for a while, and take new ones at once", func(ctx SpecContext) {
		sessions := newSessions()
		session, err := get(ctx, sessions)
		Expect(err).NotTo(HaveOccurred())
		disturb(ctx, control.Settings{Password: "changed"})
		Expect(server.EndSessions(ctx)).To(Succeed())

		count(ctx)
		for range 10 {
			err := use(ctx, session)
			Expect(platform.ClassOf(err)).To(Equal(platform.ClassUnauthenticated), "%v", err)
			Expect(err.Error()).NotTo(ContainSubstring(vcenter.Password))
			_, err = session.Tags().ListCategories(ctx)
			Expect(platform.ClassOf(client.Classify(err))).To(Equal(platform.ClassUnauthenticated), "%v", err)
		}
		Expect(count(ctx)).To(And(HaveKeyWithValue(soapLogin, 1), Not(HaveKey(restLogin))))

		session, err = sessions.Get(ctx, "vc", connection(), site.Credentials{"username": vcenter.Username, "password": "changed"})
		Expect(err).NotTo(HaveOccurred())
		Expect(use(ctx, session)).To(Succeed())
	})

	DescribeTable("should trust the vCenter only as configured", func(ctx SpecContext, trust func() *v1alpha1.TLS, class platform.Class) {
		c := connection()
		c.TLS = trust()
		_, err := newSessions().Get(ctx, "vc", c, siteCredentials())
		if class == "" {
			Expect(err).NotTo(HaveOccurred())
			return
		}
		Expect(platform.ClassOf(err)).To(Equal(class), "%v", err)
	},
		Entry("by the system's authorities", func() *v1alpha1.TLS { return nil }, platform.ClassConfiguration),
		Entry("by another authority", func() *v1alpha1.TLS {
			other, err := vcenter.NewAuthority()
			Expect(err).NotTo(HaveOccurred())
			return &v1alpha1.TLS{CACert: other}
		}, platform.ClassConfiguration),
		Entry("by another thumbprint", func() *v1alpha1.TLS { return &v1alpha1.TLS{Thumbprint: "AA:BB"} }, platform.ClassConfiguration),
		Entry("by its thumbprint", func() *v1alpha1.TLS { return &v1alpha1.TLS{Thumbprint: server.Thumbprint} }, platform.Class("")),
	)

	It("should give up with the caller and with the request timeout when the vCenter does not answer", func(ctx SpecContext) {
		session, err := get(ctx, newSessions())
		Expect(err).NotTo(HaveOccurred())
		limited := connection()
		limited.RequestTimeout = &metav1.Duration{Duration: time.Second}
		short, err := newSessions().Get(ctx, "vc", limited, siteCredentials())
		Expect(err).NotTo(HaveOccurred())

		disturb(ctx, control.Settings{Answer: time.Minute})
		soon, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		for _, ask := range []func() error{
			func() error { return use(soon, session) },
			func() error { return use(ctx, short) },
			func() error { _, err := get(soon, newSessions()); return err },
		} {
			start := time.Now()
			Expect(platform.ClassOf(ask())).To(Equal(platform.ClassTransient))
			Expect(time.Since(start)).To(BeNumerically("<", 15*time.Second), "and not when the vCenter answers")
		}
	})

	It("should not lose an operation on machines with the session, wherever in it that happens", func(ctx SpecContext) {
		// A session lasts longer than what is repeated when it ends, however slow the machine is.
		const requestsOfSession = 12
		place := newBed(ctx)
		r := platform.MachineRequest{Name: place.shoot + "-lost", Spec: place.spec(ctx, "DC0_C0"), Credentials: siteCredentials(),
			UserData: []byte("#!/bin/sh\n")}
		part := machines.New(newSessions())
		disturb(ctx, control.Settings{Task: 300 * time.Millisecond})

		stop := make(chan struct{})
		var (
			group sync.WaitGroup
			ended atomic.Int32
		)
		group.Go(func() {
			defer GinkgoRecover()
			ticker := time.NewTicker(20 * time.Millisecond)
			defer ticker.Stop()
			answered := 0
			for {
				select {
				case <-stop:
					return
				case <-ticker.C:
				}
				requests, err := server.Journal(ctx)
				Expect(err).NotTo(HaveOccurred())
				if answered += len(requests); answered >= requestsOfSession {
					Expect(server.EndSessions(ctx)).To(Succeed())
					ended.Add(1)
					answered = 0
				}
			}
		})
		defer group.Wait()
		defer close(stop)
		for range 3 {
			created, err := part.Create(ctx, r)
			Expect(err).NotTo(HaveOccurred())
			found := r
			found.ProviderID = created.ProviderID
			Expect(part.Get(ctx, found)).To(HaveField("ProviderID", created.ProviderID))
			_, err = part.List(ctx, r)
			Expect(err).NotTo(HaveOccurred())
			Expect(part.Delete(ctx, found)).To(Succeed())
		}
		Expect(ended.Load()).To(BeNumerically(">", 0))
	})
})
