// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package csi

import (
	"context"
	"net/http"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/client"
	"github.com/gardener/gardener-extension-provider-hybrid/test/csistub"
)

// opened is what a site was opened with.
type opened struct {
	session *client.Session
	config  *Config
}

func connect(_ context.Context, session *client.Session, config *Config, _ *SiteConfig) (*opened, error) {
	return &opened{session, config}, nil
}

// clock is a time that passes when it is told to.
type clock struct {
	at time.Time
}

func (c *clock) pass(d time.Duration) { c.at = c.at.Add(d) }

func (c *clock) now() time.Time { return c.at }

// canceled is a context that has ended.
func canceled() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}

var _ = Describe("Clouds", func() {
	var (
		up, down *csistub.Site
		file     csistub.ConfigFile
		clouds   *Clouds[*opened]
		passing  *clock
	)

	BeforeEach(func() {
		up, down = csistub.New(nil), csistub.New(nil)
		file = csistub.NewConfigFile(up.Section("up", "right"), down.Section("down", "right"), "[BlockStorage]\nignore-volume-az=true\n")
		passing = &clock{at: time.Now()}
		clouds = NewClouds([]string{string(file)}, client.NewSessions(), connect)
		clouds.now = passing.now
	})

	It("opens a site when it is needed, once", func(ctx SpecContext) {
		Expect(up.Logins.Load()).To(BeZero())
		cloud, err := clouds.Open(ctx, "up")
		Expect(err).NotTo(HaveOccurred())
		Expect(cloud.config.BlockStorage.IgnoreVolumeAZ).To(BeTrue())
		again, err := clouds.Open(ctx, "up")
		Expect(err).NotTo(HaveOccurred())
		Expect(again.session).To(BeIdenticalTo(cloud.session))
		Expect(up.Logins.Load()).To(BeEquivalentTo(1))
		Expect(down.Logins.Load()).To(BeZero())
		Expect(clouds.Names()).To(Equal([]string{"down", "up"}))
	})

	It("leaves a site alone that does not answer, for longer and longer, and opens it when it does", func(ctx SpecContext) {
		down.Down.Store(http.StatusServiceUnavailable)
		attempts := func() int32 {
			before := down.Logins.Load()
			_, err := clouds.Open(ctx, "down")
			Expect(platform.ClassOf(err)).To(Equal(platform.ClassTransient))
			Expect(err).To(MatchError(ContainSubstring(`site "down"`)))
			return down.Logins.Load() - before
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

		down.Down.Store(0)
		_, err = clouds.Open(ctx, "down")
		Expect(err).NotTo(HaveOccurred())

		By("beginning with the shortest pause the next time")
		file.Write(up.Section("up", "right"), down.Section("down", "wrong"))
		_, err = clouds.Open(ctx, "down")
		Expect(platform.ClassOf(err)).To(Equal(platform.ClassUnauthenticated))
		passing.pass(minBackoff + time.Millisecond)
		before := down.Logins.Load()
		_, err = clouds.Open(ctx, "down")
		Expect(err).To(HaveOccurred())
		Expect(down.Logins.Load()).To(BeNumerically(">", before))
	})

	It("opens a site at once when its configuration changed, and keeps the others", func(ctx SpecContext) {
		file.Write(up.Section("up", "right"), down.Section("down", "wrong"))
		other, err := clouds.Open(ctx, "up")
		Expect(err).NotTo(HaveOccurred())
		_, err = clouds.Open(ctx, "down")
		Expect(platform.ClassOf(err)).To(Equal(platform.ClassUnauthenticated))
		Expect(err).NotTo(MatchError(ContainSubstring("wrong")))

		file.Write(up.Section("up", "right"), down.Section("down", "right"))
		_, err = clouds.Open(ctx, "down")
		Expect(err).NotTo(HaveOccurred())
		again, err := clouds.Open(ctx, "up")
		Expect(err).NotTo(HaveOccurred())
		Expect(again.session).To(BeIdenticalTo(other.session))
		Expect(up.Logins.Load()).To(BeEquivalentTo(1))
	})

	It("refuses credentials of another project than that of the volumes", func(ctx SpecContext) {
		file.Write(up.Section("up", "right"), "project-id=own\n", down.Section("down", "right"), "project-id=former\n")
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
		file.Write("[Global")
		_, err = clouds.Open(ctx, "up")
		Expect(err).NotTo(HaveOccurred())
		_, err = clouds.Open(ctx, "down")
		Expect(err).NotTo(HaveOccurred())

		file.Write(up.Section("up", "right"))
		_, err = clouds.Open(ctx, "down")
		Expect(platform.ClassOf(err)).To(Equal(platform.ClassNotFound))
		Expect(clouds.Names()).To(Equal([]string{"up"}))
	})

	It("fails while there has been no configuration", func(ctx SpecContext) {
		clouds = NewClouds([]string{"/nowhere/cloud.conf"}, client.NewSessions(), connect)
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
					down.Down.Store(int32(i % 2 * http.StatusServiceUnavailable))
				}
				for _, name := range []string{"up", "down"} {
					if _, err := clouds.Open(ctx, name); name == "up" {
						Expect(err).NotTo(HaveOccurred())
					}
				}
			})
		}
		group.Wait()
		Expect(up.Logins.Load()).To(BeEquivalentTo(1))
	})
})
