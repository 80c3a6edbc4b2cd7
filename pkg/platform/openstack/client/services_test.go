// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"
	"errors"
	"sync/atomic"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
)

var _ = Describe("Services", func() {
	var (
		session     *Session
		asked       atomic.Int32
		began, hang chan struct{}
	)

	// The networking API does not answer until hang is closed.
	BeforeEach(func(ctx SpecContext) {
		asked.Store(0)
		began, hang = make(chan struct{}), make(chan struct{})
		c := newCloud(ok)
		c.onDiscovery = func(path string) {
			if path == "/network/" {
				asked.Add(1)
				close(began)
				<-hang
			}
		}
		var err error
		session, err = NewSessions().Get(ctx, "cloud", c.connection(), credentials())
		Expect(err).NotTo(HaveOccurred())
	})

	ask := func(ctx context.Context) <-chan error {
		result := make(chan error, 1)
		go func() {
			_, err := session.Network(ctx)
			result <- err
		}()
		return result
	}

	It("should not wait for a service that another caller waits for", func(ctx SpecContext) {
		result := ask(ctx)
		<-began
		Expect(session.Image(ctx)).NotTo(BeNil())
		Expect(session.Compute(ctx)).NotTo(BeNil())
		close(hang)
		Expect(<-result).To(Succeed())
	})

	It("should let a caller give up and keep the answer for the others", func(ctx SpecContext) {
		impatient, cancel := context.WithCancel(ctx)
		gaveUp := ask(impatient)
		<-began
		cancel()
		err := <-gaveUp
		Expect(errors.Is(err, context.Canceled)).To(BeTrue())
		Expect(platform.ClassOf(err)).To(Equal(platform.ClassTransient))
		Expect(err).To(MatchError(HavePrefix(`site "cloud": `)))

		result := ask(ctx)
		close(hang)
		Expect(<-result).To(Succeed())
		Expect(session.Network(ctx)).NotTo(BeNil())
		Expect(asked.Load()).To(BeEquivalentTo(1))
	})
})
