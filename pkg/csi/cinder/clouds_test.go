// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package cinder

import (
	"net/http"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	library "k8s.io/cloud-provider-openstack/pkg/csi/cinder/openstack"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/client"
)

var _ = Describe("Clouds", func() {
	var (
		up, down *stub
		file     configFile
		clouds   *Clouds
		passing  *clock
	)

	BeforeEach(func() {
		up, down = newStub(nil), newStub(nil)
		file = newConfigFile(up.section("up", "right"), down.section("down", "right"), "[BlockStorage]\nignore-volume-az=true\n")
		passing = &clock{at: time.Now()}
		clouds = NewClouds([]string{string(file)}, client.NewSessions())
		clouds.now = passing.now
	})

	It("opens a site when it is needed, once", func(ctx SpecContext) {
		Expect(up.logins.Load()).To(BeZero())
		cloud, err := clouds.Open(ctx, "up")
		Expect(err).NotTo(HaveOccurred())
		Expect(cloud.GetBlockStorageOpts().IgnoreVolumeAZ).To(BeTrue())
		again, err := clouds.Open(ctx, "up")
		Expect(err).NotTo(HaveOccurred())
		Expect(again).To(BeIdenticalTo(cloud))
		Expect(up.logins.Load()).To(BeEquivalentTo(1))
		Expect(down.logins.Load()).To(BeZero())
		Expect(clouds.Names()).To(Equal([]string{"down", "up"}))
	})

	It("leaves a site alone that does not answer, for longer and longer, and opens it when it does", func(ctx SpecContext) {
		down.down.Store(http.StatusServiceUnavailable)
		attempts := func() int32 {
			before := down.logins.Load()
			_, err := clouds.Open(ctx, "down")
			Expect(platform.ClassOf(err)).To(Equal(platform.ClassTransient))
			Expect(err).To(MatchError(ContainSubstring(`site "down"`)))
			return down.logins.Load() - before
		}
		for _, pause := range []time.Duration{1, 2, 4, 8, 16, 30, 30} {
			Expect(attempts()).To(BeNumerically(">", 0))
			Expect(attempts()).To(BeZero())
			passing.pass(pause*time.Second - time.Millisecond)
			Expect(attempts()).To(BeZero())
			passing.pass(2 * time.Millisecond)
		}
		_, err := clouds.Open(ctx, "up")
		Expect(err).NotTo(HaveOccurred())

		down.down.Store(0)
		_, err = clouds.Open(ctx, "down")
		Expect(err).NotTo(HaveOccurred())

		By("beginning with the shortest pause the next time")
		file.write(up.section("up", "right"), down.section("down", "wrong"))
		_, err = clouds.Open(ctx, "down")
		Expect(platform.ClassOf(err)).To(Equal(platform.ClassUnauthenticated))
		passing.pass(minBackoff + time.Millisecond)
		before := down.logins.Load()
		_, err = clouds.Open(ctx, "down")
		Expect(err).To(HaveOccurred())
		Expect(down.logins.Load()).To(BeNumerically(">", before))
	})

	It("opens a site at once when its configuration changed, and keeps the others", func(ctx SpecContext) {
		file.write(up.section("up", "right"), down.section("down", "wrong"))
		other, err := clouds.Open(ctx, "up")
		Expect(err).NotTo(HaveOccurred())
		_, err = clouds.Open(ctx, "down")
		Expect(platform.ClassOf(err)).To(Equal(platform.ClassUnauthenticated))
		Expect(err).NotTo(MatchError(ContainSubstring("wrong")))

		file.write(up.section("up", "right"), down.section("down", "right"))
		_, err = clouds.Open(ctx, "down")
		Expect(err).NotTo(HaveOccurred())
		Expect(clouds.Open(ctx, "up")).To(BeIdenticalTo(other))
		Expect(up.logins.Load()).To(BeEquivalentTo(1))
	})

	It("refuses credentials of another project than that of the volumes", func(ctx SpecContext) {
		file.write(up.section("up", "right"), "project-id=own\n", down.section("down", "right"), "project-id=former\n")
		_, err := clouds.Open(ctx, "up")
		Expect(err).NotTo(HaveOccurred())
		_, err = clouds.Open(ctx, "down")
		Expect(err).To(MatchError(And(HavePrefix(`site "down": credentials: `), ContainSubstring(`for project "own"`),
			ContainSubstring(`in project "former"`))))
		Expect(platform.ClassOf(err)).To(Equal(platform.ClassConfiguration))
	})

	It("keeps the last configuration while the files are wrong", func(ctx SpecContext) {
		_, err := clouds.Open(ctx, "up")
		Expect(err).NotTo(HaveOccurred())
		file.write("[Global")
		_, err = clouds.Open(ctx, "up")
		Expect(err).NotTo(HaveOccurred())
		_, err = clouds.Open(ctx, "down")
		Expect(err).NotTo(HaveOccurred())

		file.write(up.section("up", "right"))
		_, err = clouds.Open(ctx, "down")
		Expect(platform.ClassOf(err)).To(Equal(platform.ClassNotFound))
		Expect(clouds.Names()).To(Equal([]string{"up"}))
	})

	It("fails while there has been no configuration", func(ctx SpecContext) {
		clouds = NewClouds([]string{"/nowhere/cloud.conf"}, client.NewSessions())
		_, err := clouds.Open(ctx, "up")
		Expect(platform.ClassOf(err)).To(Equal(platform.ClassConfiguration))
		_, err = clouds.Names()
		Expect(err).To(HaveOccurred())
	})

	It("does not blame a site for callers that give up", func(ctx SpecContext) {
		_, err := clouds.Open(canceled(), "up")
		Expect(err).To(HaveOccurred())
		_, err = clouds.Open(ctx, "up")
		Expect(err).NotTo(HaveOccurred())
	})

	It("is safe for concurrent use", func(ctx SpecContext) {
		var group sync.WaitGroup
		for i := range 20 {
			group.Go(func() {
				defer GinkgoRecover()
				if i%5 == 0 {
					down.down.Store(int32(i % 2 * http.StatusServiceUnavailable))
				}
				for _, name := range []string{"up", "down"} {
					if _, err := clouds.Open(ctx, name); name == "up" {
						Expect(err).NotTo(HaveOccurred())
					}
				}
			})
		}
		group.Wait()
		Expect(up.logins.Load()).To(BeEquivalentTo(1))
	})
})

var _ = Describe("The library's cloud", func() {
	It("has the fields that are set", func() {
		cloud := &library.OpenStack{}
		Expect(client.SetFields(cloud, map[string]any{"bsOpts": library.BlockStorageOpts{NodeVolumeAttachLimit: 7}})).To(Succeed())
		Expect(cloud.GetBlockStorageOpts().NodeVolumeAttachLimit).To(BeEquivalentTo(7))
		err := client.SetFields(cloud, map[string]any{"compute": "a string"})
		Expect(platform.ClassOf(err)).To(Equal(platform.ClassConfiguration))
		err = client.SetFields(cloud, map[string]any{"nothing": "a string"})
		Expect(err).To(MatchError(ContainSubstring(`no field "nothing" of type string`)))
	})
})
