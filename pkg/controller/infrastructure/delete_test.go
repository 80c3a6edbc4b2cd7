// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package infrastructure

import (
	"context"

	v1beta1helper "github.com/gardener/gardener/pkg/api/core/v1beta1/helper"
	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	"github.com/go-logr/logr"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
)

var _ = Describe("Delete", func() {
	var f *fixture

	BeforeEach(func() {
		f = newFixture()
	})

	remove := func(ctx context.Context) error {
		return f.actuator.Delete(ctx, logr.Discard(), f.infra, f.cluster)
	}
	dropFromProfile := func(name string) {
		for i := range f.profile.Sites {
			if f.profile.Sites[i].Name == name {
				f.profile.Sites[i].Name = "renamed"
			}
		}
	}

	It("should delete the sites of the configuration and of the state, and empty the state", func(ctx SpecContext) {
		f.order("a", "b")
		f.setState(stateOf("b", "n"), stateOf("old", "o"))
		f.start(ctx)
		Expect(remove(ctx)).To(Succeed())
		Expect(f.platform.deleted).To(Equal(map[string]*v1alpha1.SiteState{"a": nil, "b": stateOf("b", "n"), "old": stateOf("old", "o")}))
		_, state, _ := f.stored(ctx)
		Expect(state.Sites).To(BeEmpty())
	})

	It("should write nothing if there is no state", func(ctx SpecContext) {
		f.start(ctx)
		Expect(remove(ctx)).To(Succeed())
		Expect(f.platform.deleted).To(HaveLen(3))
		Expect(f.patches).To(BeZero())
	})

	It("should finish the others if a site fails, and keep its state", func(ctx SpecContext) {
		f.setState(stateOf("a", "n"), stateOf("b", "n"), stateOf("c", "n"))
		f.platform.delete["b"] = fail(platform.ClassForbidden)
		f.start(ctx)
		err := remove(ctx)
		Expect(err).To(MatchError(`site "b": refused`))
		Expect(v1beta1helper.ExtractErrorCodes(err)).To(ConsistOf(gardencorev1beta1.ErrorInfraUnauthorized))
		_, state, _ := f.stored(ctx)
		Expect(state.Sites).To(ConsistOf(*stateOf("b", "n")))
	})

	DescribeTable("should delete what the state holds, whatever the rest looks like",
		func(ctx SpecContext, change func(), expected ...string) {
			f.setState(stateOf("a", "n"), stateOf("old", "o"))
			change()
			f.start(ctx)
			Expect(remove(ctx)).To(Succeed())
			Expect(f.platform.deleted).To(HaveLen(len(expected)))
			for _, name := range expected {
				Expect(f.platform.deleted).To(HaveKey(name))
			}
			_, state, _ := f.stored(ctx)
			Expect(state.Sites).To(BeEmpty())
		},
		Entry("a configuration that cannot be read",
			func() { f.infra.Spec.ProviderConfig = raw(`{"kind": "InfrastructureConfig", "sides": []}`) }, "a", "old"),
		Entry("a CloudProfile that cannot be read", func() { f.cluster.CloudProfile.Spec.ProviderConfig = raw(`{"sides": []}`) }, "a", "old"),
		Entry("no CloudProfile", func() { f.cluster.CloudProfile = nil }, "a", "old"),
		Entry("an address that is none", func() { f.config.Sites[1].Nodes = []string{"nowhere"} }, "a", "old"),
		Entry("a CloudProfile without the site", func() { dropFromProfile("a") }, "a", "b", "c", "old"),
		Entry("a CloudProfile without a site that has no state", func() { dropFromProfile("b") }, "a", "c", "old"),
	)

	It("should say so if a site of the state is of no known platform, and delete the others", func(ctx SpecContext) {
		f.setState(stateOf("a", "n"), &v1alpha1.SiteState{Name: "odd"})
		f.start(ctx)
		err := remove(ctx)
		Expect(err).To(MatchError(ContainSubstring(`site "odd": state.sites: `)))
		Expect(v1beta1helper.ExtractErrorCodes(err)).To(ConsistOf(gardencorev1beta1.ErrorConfigurationProblem))
		_, state, _ := f.stored(ctx)
		Expect(state.Sites).To(ConsistOf(v1alpha1.SiteState{Name: "odd"}))
		Expect(f.platform.deleted).To(HaveLen(3))
	})

	DescribeTable("a site that fails",
		func(ctx SpecContext, class platform.Class, access, hasState, succeeds bool) {
			f.order("a", "b")
			f.setState(stateOf("b", "n"))
			if hasState {
				f.setState(stateOf("a", "n"), stateOf("b", "n"))
			}
			f.platform.delete["a"] = fail(class)
			if !access {
				f.platform.delete["a"] = failWithoutAccess(class)
			}
			f.start(ctx)
			err := remove(ctx)
			if succeeds {
				Expect(err).NotTo(HaveOccurred())
			} else {
				Expect(err).To(MatchError(And(HavePrefix(`site "a": `), HaveSuffix("refused"))))
			}
			_, state, _ := f.stored(ctx)
			if hasState {
				Expect(state.Sites).To(ConsistOf(*stateOf("a", "n")))
			} else {
				Expect(state.Sites).To(BeEmpty())
			}
		},
		Entry("because its credentials were never accepted", platform.ClassUnauthenticated, false, false, true),
		Entry("because its credentials were never complete", platform.ClassConfiguration, false, false, true),
		Entry("because its credentials are not accepted any more", platform.ClassUnauthenticated, false, true, false),
		Entry("because its credentials are not complete any more", platform.ClassConfiguration, false, true, false),
		Entry("because it refuses a deletion, and its state was lost", platform.ClassConfiguration, true, false, false),
		Entry("because its credentials ended meanwhile, and its state was lost", platform.ClassUnauthenticated, true, false, false),
		Entry("because it is away and has no state", platform.ClassTransient, false, false, false),
		Entry("because it is not allowed and has no state", platform.ClassForbidden, true, false, false),
	)

	It("should not give up a site that the status knows although its state was lost", func(ctx SpecContext) {
		f.order("a", "b")
		f.infra.Status.ProviderStatus = encode(&v1alpha1.InfrastructureStatus{Sites: []v1alpha1.SiteStatus{*statusFor("a", "n")}})
		f.platform.delete["a"] = failWithoutAccess(platform.ClassUnauthenticated)
		f.start(ctx)
		err := remove(ctx)
		Expect(err).To(MatchError(ContainSubstring(`site "a": no access: refused`)))
		Expect(v1beta1helper.ExtractErrorCodes(err)).To(ConsistOf(gardencorev1beta1.ErrorInfraUnauthenticated))
	})

	DescribeTable("should not give up a site that was ready once, although all of its state was lost on the way to another seed",
		func(ctx SpecContext, stretched bool, nodes []string, givenUp bool) {
			f.order("a")
			if stretched {
				f.stretch()
			}
			f.cluster.Shoot.Status.Networking = &gardencorev1beta1.NetworkingStatus{Nodes: nodes}
			f.platform.delete["a"] = failWithoutAccess(platform.ClassUnauthenticated)
			f.start(ctx)
			if givenUp {
				Expect(remove(ctx)).To(Succeed())
			} else {
				Expect(remove(ctx)).To(MatchError(`site "a": no access: refused`))
			}
		},
		Entry("with its nodes in the Shoot", false, []string{"10.250.64.0/18", "10.250.0.0/18"}, false),
		Entry("in the one network of all", true, []string{"10.250.0.0/16"}, false),
		Entry("but one that came after the last success", false, []string{"10.250.64.0/18"}, true),
		Entry("but one of a Shoot that was never ready", false, nil, true),
	)

	It("should not need the platform of a site that was never made", func(ctx SpecContext) {
		f.order("a", "b")
		f.start(ctx)
		f.actuator.platforms = platform.Registry[platform.Infrastructure]{}
		Expect(remove(ctx)).To(Succeed())
	})

	It("should fail without the Secret", func(ctx SpecContext) {
		f.setState(stateOf("a", "n"))
		f.secret.Name = "other"
		f.start(ctx)
		Expect(remove(ctx)).To(MatchError(`spec.secretRef: secrets "cloudprovider" not found`))
	})
})
