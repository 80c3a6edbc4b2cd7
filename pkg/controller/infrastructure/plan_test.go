// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package infrastructure

import (
	"context"
	"errors"
	"time"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	machinev1alpha1 "github.com/gardener/machine-controller-manager/pkg/apis/machine/v1alpha1"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/rehearsal"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
)

var _ = Describe("Plan", func() {
	var (
		f       *fixture
		log     *rehearsal.Log
		request PlanRequest
	)

	BeforeEach(func() {
		f = newFixture()
		log = &rehearsal.Log{}
		f.order("a", "b")
	})

	plan := func(ctx context.Context) *Plan {
		GinkgoHelper()
		f.start(ctx)
		f.cluster.ObjectMeta.Name = namespace
		f.cluster.Shoot.Spec.Region = "west"
		f.cluster.Shoot.Spec.Provider.Type, f.cluster.Shoot.Spec.Provider.InfrastructureConfig = v1alpha1.ProviderType, encode(f.config)
		request = PlanRequest{Cluster: f.cluster, Infrastructure: f.infra, Secret: f.secret, Machines: f.client, Rehearsal: &rehearsal.Rehearsal{
			Log: log, Infrastructures: platform.Registry[platform.Infrastructure]{v1alpha1.PlatformOpenStack: f.platform},
		}}
		planned, err := NewPlan(ctx, request)
		Expect(err).NotTo(HaveOccurred())
		Expect(f.patches).To(BeZero(), "a plan writes nothing")
		return planned
	}
	write := func(action v1alpha1.PlannedAction, kind, id string, fields ...v1alpha1.PlannedField) rehearsal.Write {
		return rehearsal.Write{Site: "a", Action: action, Kind: kind, ID: id, Name: "name", Fields: fields,
			PlannedRequest: v1alpha1.PlannedRequest{Service: "network", Method: "PUT", Path: "/" + id}}
	}
	// does makes the site a write, and persist a network with the ID.
	does := func(network string, writes ...rehearsal.Write) {
		f.platform.reconcile["a"] = func(ctx context.Context, s *site.Site, persist platform.Persist) error {
			for _, w := range writes {
				if err := log.Add(w); err != nil {
					return err
				}
			}
			return persist(ctx, stateOf(s.Name, network))
		}
	}

	It("should group the writes of each object, and find what is adopted and kept", func(ctx SpecContext) {
		f.setState(stateOf("b", "network-of-b"))
		field := v1alpha1.PlannedField{Name: "tags", From: "[]", To: `["x"]`}
		does("planned:network-1", write(v1alpha1.PlannedActionCreate, "network", "planned:network-1"),
			write(v1alpha1.PlannedActionChange, "router", "r"), write(v1alpha1.PlannedActionChange, "network", "planned:network-1", field),
			write(v1alpha1.PlannedActionChange, "router", "r"), write(v1alpha1.PlannedActionDelete, "router", "r"))
		planned := plan(ctx)
		Expect(planned.Err).NotTo(HaveOccurred())
		Expect(planned.Sites).To(HaveLen(2))
		Expect(planned.Sites[0]).To(And(HaveField("Name", "a"), HaveField("Operation", v1alpha1.SiteOperationReconcile), HaveField("Error", "")))
		Expect(planned.Sites[0].Changes).To(HaveExactElements(
			And(HaveField("Action", v1alpha1.PlannedActionCreate), HaveField("Kind", "network"), HaveField("Fields", ConsistOf(field)),
				HaveField("Requests", HaveLen(2))),
			And(HaveField("Action", v1alpha1.PlannedActionDelete), HaveField("Kind", "router"), HaveField("Requests", HaveLen(3))),
		))
		Expect(planned.Sites[1].Changes).To(ConsistOf(
			v1alpha1.PlannedChange{Action: v1alpha1.PlannedActionKeep, Kind: "network", ID: "network-of-b"}))
	})

	It("should tell what is adopted, also if it is changed", func(ctx SpecContext) {
		does("n", write(v1alpha1.PlannedActionChange, "network", "n"))
		planned := plan(ctx)
		Expect(planned.Sites[0].Changes).To(ConsistOf(And(HaveField("Action", v1alpha1.PlannedActionAdopt), HaveField("Requests", HaveLen(1)))))
		Expect(planned.Sites[1].Changes).To(ConsistOf(And(HaveField("Action", v1alpha1.PlannedActionAdopt), HaveField("ID", "network-of-b"))))
		_, state, _ := f.stored(ctx)
		Expect(state.Sites).To(BeEmpty())
	})

	It("should fail where the reconciliation does, and not affect other sites", func(ctx SpecContext) {
		f.platform.reconcile["a"] = fail(platform.ClassForbidden)
		planned := plan(ctx)
		Expect(planned.Sites[0].Error).To(Equal(`site "a": refused`))
		Expect(planned.Sites[1].Error).To(BeEmpty())
		Expect(planned.Sites[1].Changes).NotTo(BeEmpty())
	})

	It("should tell that a site could not be looked at, although the reconciliation retains it", func(ctx SpecContext) {
		f.setState(stateOf("a", "network-of-a"), stateOf("b", "network-of-b"))
		f.start(ctx)
		Expect(f.actuator.Reconcile(ctx, GinkgoLogr, f.infra, f.cluster)).To(Succeed())
		f.objects, f.patches = nil, 0
		f.infra.ResourceVersion = ""
		f.platform.reconcile["a"] = fail(platform.ClassTransient)
		planned := plan(ctx)
		Expect(planned.Sites[0].Error).To(Equal(`site "a": refused`))
		Expect(planned.Sites[0].Changes).To(ConsistOf(HaveField("Action", v1alpha1.PlannedActionKeep)))
	})

	It("should fail as a whole if the reconciliation does not begin", func(ctx SpecContext) {
		f.config.Networks.Topology = "Unknown"
		f.start(ctx)
		f.cluster.Shoot.Spec.Provider.InfrastructureConfig = encode(f.config)
		_, err := NewPlan(ctx, PlanRequest{Cluster: f.cluster, Secret: f.secret, Rehearsal: &rehearsal.Rehearsal{Log: log}})
		Expect(err).To(MatchError(ContainSubstring("topology")))
	})

	Context("of a removed site", func() {
		BeforeEach(func() {
			f.setState(stateOf("a", "network-of-a"), stateOf("c", "network-of-c"))
		})

		It("should delete it", func(ctx SpecContext) {
			planned := plan(ctx)
			Expect(planned.Sites[2]).To(And(HaveField("Name", "c"), HaveField("Operation", v1alpha1.SiteOperationDelete), HaveField("Error", "")))
			Expect(f.platform.deleted).To(HaveKey("c"))
		})

		It("should wait for its machines", func(ctx SpecContext) {
			machine := &machinev1alpha1.Machine{ObjectMeta: metav1.ObjectMeta{Name: "m", Namespace: namespace}}
			machine.Spec.NodeTemplateSpec.Labels = map[string]string{v1alpha1.LabelSite: "c"}
			f.objects = append(f.objects, machine)
			planned := plan(ctx)
			Expect(planned.Sites[2].Notes).To(ConsistOf(ContainSubstring("will be deleted once it has no machines; it has machine m")))
			Expect(planned.Sites[2].Changes).To(ConsistOf(HaveField("Action", v1alpha1.PlannedActionKeep)))
			Expect(f.platform.deleted).To(BeEmpty())
		})

		It("should not be decided without access to its machines", func(ctx SpecContext) {
			plan(ctx)
			request.Machines = nil
			f.platform.deleted = map[string]*v1alpha1.SiteState{}
			planned, err := NewPlan(ctx, request)
			Expect(err).NotTo(HaveOccurred())
			Expect(planned.Sites[2].Error).To(ContainSubstring("the objects in the seed are not accessible"))
			Expect(f.platform.deleted).To(BeEmpty())
		})
	})

	It("should delete all sites of a Shoot that is being deleted", func(ctx SpecContext) {
		f.setState(stateOf("a", "network-of-a"), stateOf("b", "network-of-b"))
		f.cluster.Shoot.DeletionTimestamp = &metav1.Time{Time: time.Now()}
		f.platform.delete["b"] = func(context.Context, *site.Site, platform.Persist) error { return errors.New("in use") }
		planned := plan(ctx)
		Expect(f.platform.deleted).To(HaveKey("a"))
		Expect(planned.Sites).To(HaveExactElements(
			And(HaveField("Operation", v1alpha1.SiteOperationDelete), HaveField("Error", ""), HaveField("Changes", BeEmpty())),
			HaveField("Error", `site "b": in use`),
		))
	})

	It("should show the warnings of the validation", func(ctx SpecContext) {
		f.platform.validate["a"] = func(context.Context, platform.ValidationRequest) (platform.Findings, error) {
			return warnings("the quota is small"), nil
		}
		Expect(plan(ctx).Sites[0].Notes).To(ConsistOf(ContainSubstring("the quota is small")))
	})

	DescribeTable("should use the key of the nodes as gardenlet does", func(ctx SpecContext, ssh bool, existing, expected string) {
		f.infra.Spec.SSHPublicKey = []byte(existing)
		f.cluster.Shoot.Spec.Provider.Workers = []gardencorev1beta1.Worker{{Name: "pool"}}
		f.cluster.Shoot.Spec.Provider.WorkersSettings = &gardencorev1beta1.WorkersSettings{SSHAccess: &gardencorev1beta1.SSHAccess{Enabled: ssh}}
		Expect(string(plan(ctx).Infrastructure.Spec.SSHPublicKey)).To(Equal(expected))
	},
		Entry("that exists", true, "ssh-rsa AAAA", "ssh-rsa AAAA"),
		Entry("that will be generated", true, "", madeUpKey),
		Entry("without access", false, "ssh-rsa AAAA", ""),
	)
})
