// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package infrastructure

import (
	"context"
	"errors"
	"sync"
	"time"

	v1beta1helper "github.com/gardener/gardener/pkg/api/core/v1beta1/helper"
	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	"github.com/go-logr/logr"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
)

var _ = Describe("Reconcile", func() {
	var f *fixture

	BeforeEach(func() {
		f = newFixture()
	})

	reconcile := func(ctx context.Context) error {
		return f.actuator.Reconcile(ctx, logr.Discard(), f.infra, f.cluster)
	}

	It("should reconcile all sites at the same time and tell them what is known", func(ctx SpecContext) {
		var meeting sync.WaitGroup
		meeting.Add(3)
		for _, name := range []string{"a", "b", "c"} {
			f.platform.reconcile[name] = func(_ context.Context, s *site.Site, _ platform.Persist) error {
				defer GinkgoRecover()
				Expect(s).To(And(HaveField("Shoot", namespace), HaveField("SSHPublicKey", []byte("ssh-rsa AAAA")),
					HaveField("Profile.OpenStack.AuthURL", "https://"+name)))
				meeting.Done()
				meeting.Wait()
				return nil
			}
		}
		f.start(ctx)
		Expect(reconcile(ctx)).To(Succeed())
		_, _, status := f.stored(ctx)
		Expect(unvalidated(status)).To(Equal([]v1alpha1.SiteStatus{*statusFor("a", "network-of-a"), *statusFor("b", "network-of-b"),
			*statusFor("c", "network-of-c")}))
		Expect(f.events()).To(ConsistOf(`Normal SiteReady site "a" is ready for machines`, `Normal SiteReady site "b" is ready for machines`,
			`Normal SiteReady site "c" is ready for machines`))
	})

	It("should finish the others, keep the earlier status of a site that fails, and name it", func(ctx SpecContext) {
		f.infra.Status.ProviderStatus = encode(&v1alpha1.InfrastructureStatus{Sites: []v1alpha1.SiteStatus{*statusFor("a", "old"),
			*statusFor("b", "old")}})
		f.platform.reconcile["b"] = fail(platform.ClassQuota)
		f.start(ctx)
		err := reconcile(ctx)
		Expect(err).To(MatchError(`site "b": refused`))
		Expect(v1beta1helper.ExtractErrorCodes(err)).To(ConsistOf(gardencorev1beta1.ErrorInfraQuotaExceeded))
		_, state, status := f.stored(ctx)
		Expect(unvalidated(status)).To(Equal([]v1alpha1.SiteStatus{*statusFor("a", "network-of-a"), *statusFor("b", "old"),
			*statusFor("c", "network-of-c")}))
		Expect(state.Sites).To(ConsistOf(*stateOf("a", "network-of-a"), *stateOf("c", "network-of-c")))
		Expect(f.events()).To(ConsistOf(`Warning SiteFailed site "b": refused`, `Normal SiteReady site "c" is ready for machines`))
	})

	It("should not list a site that never came to anything", func(ctx SpecContext) {
		f.platform.reconcile["a"] = fail(platform.ClassTransient)
		f.start(ctx)
		Expect(reconcile(ctx)).NotTo(Succeed())
		_, _, status := f.stored(ctx)
		Expect(status.Sites).To(HaveExactElements(HaveField("Name", "b"), HaveField("Name", "c")))
	})

	It("should finish the others while a site hangs, and stop waiting for it", func(ctx SpecContext) {
		f.platform.reconcile["a"] = func(ctx context.Context, _ *site.Site, _ platform.Persist) error {
			<-ctx.Done()
			return ctx.Err()
		}
		f.start(ctx)
		f.actuator.siteTimeout = 10 * time.Millisecond
		err := reconcile(ctx)
		Expect(err).To(MatchError(`site "a": context deadline exceeded`))
		Expect(v1beta1helper.ExtractErrorCodes(err)).To(BeEmpty())
		_, _, status := f.stored(ctx)
		Expect(status.Sites).To(HaveExactElements(HaveField("Name", "b"), HaveField("Name", "c")))
	})

	It("should tell what the others came to before a site that hangs is given up", func(ctx SpecContext) {
		given := make(chan struct{})
		f.platform.reconcile["a"] = func(context.Context, *site.Site, platform.Persist) error {
			<-given
			return errors.New("given up")
		}
		f.start(ctx)
		done := make(chan error)
		go func() { done <- reconcile(ctx) }()
		Eventually(func() []v1alpha1.SiteStatus {
			_, _, status := f.stored(ctx)
			return status.Sites
		}).Should(HaveExactElements(HaveField("Name", "b"), HaveField("Name", "c")))
		infra, _, _ := f.stored(ctx)
		Expect(infra.Status.Networking.Nodes).To(HaveLen(3))
		close(given)
		Eventually(done).Should(Receive(MatchError(`site "a": given up`)))
	})

	DescribeTable("status.egressCIDRs",
		func(ctx SpecContext, egress map[string][]string, restore bool, expected ...string) {
			f.order("c", "a", "b")
			f.platform.egress = egress
			f.infra.Status.EgressCIDRs = []string{"192.0.2.9/32"}
			f.setState(stateOf("a", "network-of-a"))
			if _, ok := egress["b"]; !ok {
				f.platform.reconcile["b"] = fail(platform.ClassTransient)
			}
			f.start(ctx)
			if restore {
				_ = f.actuator.Restore(ctx, logr.Discard(), f.infra, f.cluster)
			} else {
				_ = reconcile(ctx)
			}
			infra, _, _ := f.stored(ctx)
			Expect(infra.Status.EgressCIDRs).To(HaveExactElements(expected))
		},
		Entry("all sites have some, in the order of the sites",
			map[string][]string{"a": {"192.0.2.1/32"}, "b": {"192.0.2.2/32", "192.0.2.1/32"}, "c": {"192.0.2.3/32"}}, false,
			"192.0.2.3/32", "192.0.2.1/32", "192.0.2.2/32"),
		Entry("on Restore", map[string][]string{"a": {"192.0.2.1/32"}, "b": {"192.0.2.2/32"}, "c": {"192.0.2.3/32"}}, true,
			"192.0.2.3/32", "192.0.2.1/32", "192.0.2.2/32"),
		Entry("a site has none", map[string][]string{"a": {"192.0.2.1/32"}, "b": nil, "c": {"192.0.2.3/32"}}, false),
		Entry("a site is not ready", map[string][]string{"a": {"192.0.2.1/32"}, "c": {"192.0.2.3/32"}}, false),
	)

	It("should use credentials that the cache does not have yet", func(ctx SpecContext) {
		var seen string
		f.order("a")
		f.platform.reconcile["a"] = func(_ context.Context, s *site.Site, _ platform.Persist) error {
			seen = s.Credentials["username"]
			return nil
		}
		f.secret.Data["a.username"] = []byte("rotated")
		f.start(ctx)
		stale := f.secret.DeepCopy()
		stale.Data["a.username"] = []byte("old")
		f.actuator.client = interceptor.NewClient(f.client.(client.WithWatch), interceptor.Funcs{
			Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, object client.Object, opts ...client.GetOption) error {
				if secret, ok := object.(*corev1.Secret); ok {
					stale.DeepCopyInto(secret)
					return nil
				}
				return c.Get(ctx, key, object, opts...)
			},
		})
		Expect(reconcile(ctx)).To(Succeed())
		Expect(seen).To(Equal("rotated"))
	})

	It("should report the codes of all sites that fail", func(ctx SpecContext) {
		f.platform.reconcile["a"] = fail(platform.ClassUnauthenticated)
		f.platform.reconcile["b"] = func(context.Context, *site.Site, platform.Persist) error {
			return errors.Join(platform.NewError(platform.ClassTransient, "busy"), platform.NewError(platform.ClassExhausted, "full"))
		}
		f.start(ctx)
		err := reconcile(ctx)
		Expect(err).To(MatchError("site \"a\": refused\nsite \"b\": busy\nsite \"b\": full"))
		Expect(v1beta1helper.ExtractErrorCodes(err)).To(ConsistOf(gardencorev1beta1.ErrorInfraUnauthenticated,
			gardencorev1beta1.ErrorInfraResourcesDepleted))
	})

	DescribeTable("status.networking",
		func(ctx SpecContext, change func(), run func(context.Context) error, nodes ...string) {
			change()
			f.start(ctx)
			_ = run(ctx)
			infra, _, _ := f.stored(ctx)
			Expect(infra.Status.Networking).To(Equal(&extensionsv1alpha1.InfrastructureStatusNetworking{
				Nodes: nodes, Pods: []string{"100.96.0.0/11"}, Services: []string{"100.64.0.0/13"},
			}))
		},
		Entry("Routed", func() { f.order("c", "a", "b") }, reconcile, "10.250.128.0/18", "10.250.0.0/18", "10.250.64.0/18"),
		Entry("Routed, when a site fails", func() { f.platform.reconcile["a"] = fail(platform.ClassTransient) }, reconcile, "10.250.0.0/18",
			"10.250.64.0/18", "10.250.128.0/18"),
		Entry("Stretched", func() { f.stretch() }, reconcile, "10.250.0.0/16"),
		Entry("Stretched, when all sites fail", func() {
			f.stretch()
			for _, name := range []string{"a", "b", "c"} {
				f.platform.reconcile[name] = fail(platform.ClassTransient)
			}
		}, reconcile, "10.250.0.0/16"),
		Entry("on Restore, from the state alone", func() { f.setState(stateOf("a", "n")) },
			func(ctx context.Context) error {
				return f.actuator.Restore(ctx, logr.Discard(), f.infra,
					f.cluster)
			}, "10.250.0.0/18", "10.250.64.0/18", "10.250.128.0/18"),
	)

	It("should give each site its state and credentials", func(ctx SpecContext) {
		f.setState(stateOf("b", "kept"))
		seen := map[string]*v1alpha1.SiteState{}
		var credentials site.Credentials
		var mutex sync.Mutex
		for _, name := range []string{"a", "b", "c"} {
			f.platform.reconcile[name] = func(_ context.Context, s *site.Site, _ platform.Persist) error {
				mutex.Lock()
				defer mutex.Unlock()
				seen[name] = s.State
				if name == "a" {
					credentials = s.Credentials
				}
				return nil
			}
		}
		f.start(ctx)
		Expect(reconcile(ctx)).To(Succeed())
		Expect(seen).To(Equal(map[string]*v1alpha1.SiteState{"a": nil, "b": stateOf("b", "kept"), "c": nil}))
		Expect(credentials).To(Equal(site.Credentials{"username": "u"}))
	})

	Describe("state", func() {
		It("should be stored with each change, whatever comes after", func(ctx SpecContext) {
			f.order("a")
			f.platform.reconcile["a"] = func(ctx context.Context, _ *site.Site, persist platform.Persist) error {
				defer GinkgoRecover()
				for _, network := range []string{"first", "second"} {
					Expect(persist(ctx, stateOf("a", network))).To(Succeed())
					_, state, _ := f.stored(ctx)
					Expect(state.Sites).To(ConsistOf(*stateOf("a", network)))
				}
				return errors.New("no more")
			}
			f.start(ctx)
			Expect(reconcile(ctx)).NotTo(Succeed())
			_, state, _ := f.stored(ctx)
			Expect(state.Sites).To(ConsistOf(*stateOf("a", "second")))
		})

		It("should stop the site if it cannot be stored", func(ctx SpecContext) {
			f.order("a")
			f.patchErr = errors.New("the API server is away")
			f.platform.reconcile["a"] = func(ctx context.Context, _ *site.Site, persist platform.Persist) error {
				defer GinkgoRecover()
				Expect(persist(ctx, stateOf("a", "first"))).To(MatchError(f.patchErr))
				f.patchErr = nil
				return persist(ctx, stateOf("a", "second"))
			}
			f.start(ctx)
			Expect(reconcile(ctx)).To(Succeed())
			_, state, _ := f.stored(ctx)
			Expect(state.Sites).To(ConsistOf(*stateOf("a", "second")))
		})
	})

	Describe("a site that the shoot no longer uses", func() {
		BeforeEach(func() {
			f.order("a")
			f.setState(stateOf("old", "kept"), stateOf("a", "network-of-a"))
		})

		It("should be deleted with what the state holds, and dropped from it", func(ctx SpecContext) {
			f.start(ctx)
			Expect(reconcile(ctx)).To(Succeed())
			Expect(f.platform.deleted).To(Equal(map[string]*v1alpha1.SiteState{"old": stateOf("old", "kept")}))
			_, state, status := f.stored(ctx)
			Expect(state.Sites).To(ConsistOf(*stateOf("a", "network-of-a")))
			Expect(unvalidated(status)).To(ConsistOf(*statusFor("a", "network-of-a")))
		})

		It("should stay in the state, with what is left of it, if that fails", func(ctx SpecContext) {
			f.platform.delete["old"] = func(ctx context.Context, _ *site.Site, persist platform.Persist) error {
				defer GinkgoRecover()
				Expect(persist(ctx, stateOf("old", "left"))).To(Succeed())
				return platform.NewError(platform.ClassConflict, "in use")
			}
			f.start(ctx)
			Expect(reconcile(ctx)).To(Succeed())
			_, state, status := f.stored(ctx)
			Expect(state.Sites).To(ConsistOf(*stateOf("old", "left"), *stateOf("a", "network-of-a")))
			Expect(unvalidated(status)).To(ConsistOf(*statusFor("a", "network-of-a")))
		})
	})

	It("should write nothing when nothing changed", func(ctx SpecContext) {
		f.start(ctx)
		Expect(reconcile(ctx)).To(Succeed())
		Expect(f.patches).To(BeNumerically(">", 0))
		f.patches = 0
		Expect(reconcile(ctx)).To(Succeed())
		Expect(f.patches).To(BeZero())
	})

	It("should leave the rest of the status alone", func(ctx SpecContext) {
		f.infra.Status.ObservedGeneration = 7
		f.infra.Status.Conditions = []gardencorev1beta1.Condition{{Type: "Healthy"}}
		f.start(ctx)
		Expect(reconcile(ctx)).To(Succeed())
		infra, _, _ := f.stored(ctx)
		Expect(infra.Status.ObservedGeneration).To(BeEquivalentTo(7))
		Expect(conditionsOf(infra)).To(HaveLen(1))
	})

	It("should refuse an object without configuration", func(ctx SpecContext) {
		f.start(ctx)
		f.infra.Spec.ProviderConfig = nil
		err := reconcile(ctx)
		Expect(err).To(MatchError("spec.providerConfig: decoding InfrastructureConfig: it is empty"))
		Expect(v1beta1helper.ExtractErrorCodes(err)).To(ConsistOf(gardencorev1beta1.ErrorConfigurationProblem))
		Expect(f.patches).To(BeZero())
	})

	DescribeTable("what cannot be read",
		func(ctx SpecContext, change func(), message string, codes ...gardencorev1beta1.ErrorCode) {
			change()
			f.start(ctx)
			err := reconcile(ctx)
			Expect(err).To(MatchError(ContainSubstring(message)))
			Expect(v1beta1helper.ExtractErrorCodes(err)).To(HaveExactElements(codes))
			Expect(f.patches).To(BeZero())
		},
		Entry("an unknown field", func() {
			f.infra.Spec.ProviderConfig = raw(`{"apiVersion": "hybrid.provider.extensions.gardener.cloud/v1alpha1", ` +
				`"kind": "InfrastructureConfig", "networks": {"topologie": "Routed"}, "sites": []}`)
		}, `unknown field "networks.topologie"`, gardencorev1beta1.ErrorConfigurationProblem),
		Entry("another kind", func() { f.infra.Spec.ProviderConfig = raw(`{"apiVersion": "v1", "kind": "ConfigMap"}`) },
			"spec.providerConfig: ", gardencorev1beta1.ErrorConfigurationProblem),
		Entry("no CloudProfile", func() { f.cluster.CloudProfile = nil },
			"CloudProfile spec.providerConfig: ", gardencorev1beta1.ErrorConfigurationProblem),
		Entry("an unknown field in the CloudProfile", func() {
			f.cluster.CloudProfile.Spec.ProviderConfig = raw(`{"apiVersion": "hybrid.provider.extensions.gardener.cloud/v1alpha1", ` +
				`"kind": "CloudProfileConfig", "sides": []}`)
		}, `unknown field "sides"`, gardencorev1beta1.ErrorConfigurationProblem),
		Entry("a state of another time", func() { f.infra.Status.State = raw(`{"kind": "FlowState"}`) },
			"status.state: ", gardencorev1beta1.ErrorConfigurationProblem),
		Entry("no Secret", func() { f.secret.Name = "other" }, `spec.secretRef: secrets "cloudprovider" not found`),
	)

	DescribeTable("sites that cannot be resolved stop no other",
		func(ctx SpecContext, change func(), message string) {
			change()
			f.start(ctx)
			err := reconcile(ctx)
			Expect(err).To(MatchError(ContainSubstring(message)))
			Expect(v1beta1helper.ExtractErrorCodes(err)).To(ConsistOf(gardencorev1beta1.ErrorConfigurationProblem))
			_, _, status := f.stored(ctx)
			Expect(status.Sites).To(ContainElements(HaveField("Name", "b"), HaveField("Name", "c")))
			Expect(status.Sites).NotTo(ContainElement(HaveField("Name", "a")))
		},
		Entry("unknown to the CloudProfile", func() {
			for i := range f.profile.Sites {
				if f.profile.Sites[i].Name == "a" {
					f.profile.Sites[i].Name = "renamed"
				}
			}
		}, `site "a": infrastructureConfig.sites: the CloudProfile does not know the site`),
		Entry("of a platform that is not supported", func() {
			for i := range f.profile.Sites {
				if f.profile.Sites[i].Name == "a" {
					f.profile.Sites[i].OpenStack, f.profile.Sites[i].Metal = nil, &v1alpha1.MetalProfile{Inventory: v1alpha1.MetalInventoryMetal3,
						Server: "https://a", Namespace: "hosts"}
				}
			}
			f.config.Sites[0].OpenStack = nil
		}, `site "a": platform "metal" is not supported; supported platforms: ["openstack"]`),
	)

	It("should not touch anything on Migrate", func(ctx SpecContext) {
		f.setState(stateOf("a", "n"))
		f.start(ctx)
		platform.Hosts.WithLabelValues(namespace, "a", "a-1", "small").Set(1)
		Expect(f.actuator.Migrate(ctx, logr.Discard(), f.infra, f.cluster)).To(Succeed())
		Expect(platform.Hosts.DeleteLabelValues(namespace, "a", "a-1", "small")).To(BeFalse(), "the other seed tells of the hosts")
		Expect(f.patches).To(BeZero())
		Expect(f.platform.deleted).To(BeEmpty())
	})
})

func raw(json string) *runtime.RawExtension {
	return &runtime.RawExtension{Raw: []byte(json)}
}
