// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package infrastructure

import (
	"context"
	"errors"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
)

var _ = Describe("recorder", func() {
	var (
		s         *site.Site
		persisted []*v1alpha1.SiteState
		failure   error
	)

	BeforeEach(func() {
		s = &site.Site{Name: "cloud", Config: &v1alpha1.InfrastructureSite{},
			State: &v1alpha1.SiteState{Name: "cloud", OpenStack: &v1alpha1.OpenStackState{
				Connection: v1alpha1.OpenStackConnection{AuthURL: "http://old"},
				Network:    &v1alpha1.OpenStackObject{ID: "n", Managed: true},
			}}}
		persisted, failure = nil, nil
	})

	newRecorderOf := func(s *site.Site) *recorder {
		return newRecorder(s, v1alpha1.OpenStackConnection{AuthURL: "http://new"}, func(_ context.Context, state *v1alpha1.SiteState) error {
			if failure != nil {
				return failure
			}
			persisted = append(persisted, state)
			return nil
		})
	}
	addSubnet := func(state *v1alpha1.OpenStackState) { state.Subnet = &v1alpha1.OpenStackObject{ID: "s"} }

	It("should persist each change as a whole before it returns", func(ctx SpecContext) {
		r := newRecorderOf(s)
		Expect(r.Record(ctx, addSubnet)).To(Succeed())
		Expect(persisted).To(HaveLen(1))
		Expect(*persisted[0].OpenStack).To(Equal(r.State()))
		Expect(persisted[0]).To(Equal(&v1alpha1.SiteState{Name: "cloud", OpenStack: &v1alpha1.OpenStackState{
			Connection: v1alpha1.OpenStackConnection{AuthURL: "http://old"},
			Network:    &v1alpha1.OpenStackObject{ID: "n", Managed: true},
			Subnet:     &v1alpha1.OpenStackObject{ID: "s"},
		}}))
		Expect(s.State.OpenStack.Subnet).To(BeNil(), "the site is not changed")
	})

	It("should not write when nothing changed", func(ctx SpecContext) {
		r := newRecorderOf(s)
		Expect(r.Record(ctx, func(state *v1alpha1.OpenStackState) {
			state.Network = &v1alpha1.OpenStackObject{ID: "n", Managed: true}
			state.Router = nil
		})).To(Succeed())
		Expect(persisted).To(BeEmpty())
	})

	It("should stop, and keep what is persisted, if that fails", func(ctx SpecContext) {
		r := newRecorderOf(s)
		failure = errors.New("conflict")
		Expect(r.Record(ctx, addSubnet)).To(MatchError(failure))
		Expect(r.State().Subnet).To(BeNil())

		failure = nil
		Expect(r.Record(ctx, addSubnet)).To(Succeed())
		Expect(persisted).To(HaveLen(1))
	})

	It("should begin with nothing if there is no state", func(ctx SpecContext) {
		s.State = nil
		Expect(newRecorderOf(s).State()).To(Equal(v1alpha1.OpenStackState{}))
	})

	It("should record many changes at the same time", func(ctx SpecContext) {
		r := newRecorderOf(s)
		Expect(parallel(
			func(ctx context.Context, _ *flow) error { return r.Record(ctx, addSubnet) },
			func(ctx context.Context, _ *flow) error {
				return r.Record(ctx, func(state *v1alpha1.OpenStackState) { state.Router = &v1alpha1.OpenStackObject{ID: "r"} })
			},
			func(ctx context.Context, _ *flow) error {
				return r.Record(ctx, func(state *v1alpha1.OpenStackState) { state.KeyPair = &v1alpha1.OpenStackObject{ID: "k"} })
			},
		)(ctx, nil)).To(Succeed())
		Expect(persisted).To(HaveLen(3))
		Expect(persisted[2].OpenStack).To(And(HaveField("Subnet.ID", "s"), HaveField("Router.ID", "r"), HaveField("KeyPair.ID", "k"),
			HaveField("Network.ID", "n")))
	})
})

var _ = Describe("parallel and sequence", func() {
	It("should run everything to its end in parallel and join the errors", func(ctx SpecContext) {
		first, second := errors.New("first"), errors.New("second")
		met := make(chan struct{})
		err := parallel(
			func(context.Context, *flow) error { met <- struct{}{}; return first },
			func(context.Context, *flow) error { <-met; return second },
			func(context.Context, *flow) error { return nil },
		)(ctx, nil)
		Expect(err).To(And(MatchError(first), MatchError(second)))
		Expect(parallel()(ctx, nil)).To(Succeed())
	})

	It("should stop a sequence at the first error", func(ctx SpecContext) {
		var ran []int
		step := func(i int, err error) func(context.Context, *flow) error {
			return func(context.Context, *flow) error { ran = append(ran, i); return err }
		}
		Expect(sequence(step(1, nil), step(2, errors.New("no")), step(3, nil))(ctx, nil)).To(MatchError("no"))
		Expect(ran).To(Equal([]int{1, 2}))
	})
})
