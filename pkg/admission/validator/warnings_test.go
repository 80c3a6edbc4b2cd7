// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package validator_test

import (
	"context"
	"encoding/json"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	"github.com/gardener/gardener/pkg/client/kubernetes"
	"github.com/go-logr/logr"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/admission/profile"
	. "github.com/gardener/gardener-extension-provider-hybrid/pkg/admission/validator"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
)

var _ = Describe("Warnings", func() {
	var (
		g    *garden
		seed *gardencorev1beta1.Seed
	)

	BeforeEach(func() {
		g = newGarden()
		seed = &gardencorev1beta1.Seed{
			ObjectMeta: metav1.ObjectMeta{Name: "s"},
			Spec: gardencorev1beta1.SeedSpec{Networks: gardencorev1beta1.SeedNetworks{
				Nodes: new("198.51.100.0/24"), Pods: "172.16.0.0/16", Services: "172.17.0.0/16",
			}},
		}
	})

	warnings := func(ctx context.Context, old *gardencorev1beta1.Shoot) []string {
		GinkgoHelper()
		p, err := profile.Of(ctx, g.cache(), g.shoot)
		Expect(err).NotTo(HaveOccurred())
		return Warnings(p, g.shoot, old, seed)
	}

	It("are none for what is wise", func(ctx SpecContext) {
		editWorker(g.shoot, general, func(c *v1alpha1.WorkerConfig) {
			c.Sites = []v1alpha1.WorkerSite{{Name: "cloud", Priority: new(int32(2))}, {Name: "vc", Priority: new(int32(1))}}
		})
		Expect(warnings(ctx, nil)).To(BeEmpty())
		Expect(warnings(ctx, g.shoot.DeepCopy())).To(BeEmpty())
	})

	It("are none if the infrastructure cannot be read", func(ctx SpecContext) {
		g.shoot.Spec.Provider.InfrastructureConfig = broken()
		Expect(warnings(ctx, nil)).To(BeEmpty())
	})

	DescribeTable("of", func(ctx SpecContext, change func(), expected string) {
		g.shoot.Spec.Provider.Workers[general].Maximum = g.shoot.Spec.Provider.Workers[general].Minimum
		Expect(warnings(ctx, nil)).To(BeEmpty())
		change()
		Expect(warnings(ctx, nil)).To(ConsistOf(expected))
	},
		Entry("system components on one site", func() {
			g.shoot.Spec.Provider.Workers[batch].SystemComponents = &gardencorev1beta1.WorkerSystemComponents{Allow: false}
			g.shoot.Spec.Provider.Workers[general].Zones = []string{"vc-1"}
		}, `spec.provider.workers: all pools that take system components are on site "vc": without it nothing of the shoot works on the other sites`),
		Entry("no default storage", func() {
			editProfile(g, func(c *v1alpha1.CloudProfileConfig) { c.Sites[cloud].StorageClasses = nil })
		}, `spec.provider.controlPlaneConfig.defaultSite: the CloudProfile has no storage classes for site "cloud", so that the shoot has no default storage class`),
		Entry("a burst pool without priorities", func() {
			g.shoot.Spec.Provider.Workers[general].Maximum++
		}, `spec.provider.workers[1].providerConfig.sites: pool "general" has no priorities for its sites ["cloud" "vc"], so that it grows on any of them`),
		Entry("an OpenStack site in the seed's networks", func() {
			editProfile(g, func(c *v1alpha1.CloudProfileConfig) { c.Sites[cloud].OpenStack.AuthURL = "https://172.16.1.1:5000/v3" })
		}, `spec.provider.infrastructureConfig.sites[0].name: the API of site "cloud" is at 172.16.1.1, which is in spec.networks.pods of Seed "s": it may not be reached from there`),
		Entry("a vSphere site in the seed's networks", func() {
			editProfile(g, func(c *v1alpha1.CloudProfileConfig) { c.Sites[vc].VSphere.Server = "https://172.17.1.1" })
		}, `spec.provider.infrastructureConfig.sites[1].name: the API of site "vc" is at 172.17.1.1, which is in spec.networks.services of Seed "s": it may not be reached from there`),
		Entry("a bare-metal site in the seed's networks", func() {
			editProfile(g, func(c *v1alpha1.CloudProfileConfig) { c.Sites[racks].Metal.Server = "https://198.51.100.7:6443" })
		}, `spec.provider.infrastructureConfig.sites[2].name: the API of site "racks" is at 198.51.100.7, which is in spec.networks.nodes of Seed "s": it may not be reached from there`),
	)

	It("tells that a removed site needs its credentials", func(ctx SpecContext) {
		old := g.shoot.DeepCopy()
		g.shoot.Spec.Provider.Workers = g.shoot.Spec.Provider.Workers[:1]
		editInfrastructure(g.shoot, func(c *v1alpha1.InfrastructureConfig) {
			c.Sites = []v1alpha1.InfrastructureSite{c.Sites[cloud], c.Sites[racks]}
		})
		Expect(warnings(ctx, old)).To(ConsistOf(`spec.provider.infrastructureConfig.sites: site "vc" is deleted when its last machine is gone: leave its credentials in the Secret until then`))
	})

	Describe("in answers", func() {
		var inner admission.Response

		BeforeEach(func() { inner = admission.Allowed("") })

		handle := func(ctx context.Context, operation admissionv1.Operation, shoot, old *gardencorev1beta1.Shoot) admission.Response {
			GinkgoHelper()
			raw := func(object any) runtime.RawExtension {
				content, err := json.Marshal(object)
				Expect(err).NotTo(HaveOccurred())
				return runtime.RawExtension{Raw: content}
			}
			request := admission.Request{AdmissionRequest: admissionv1.AdmissionRequest{Operation: operation, Kind: metav1.GroupVersionKind{Kind: "Shoot"}, Object: raw(shoot)}}
			if old != nil {
				request.OldObject = raw(old)
			}
			handler := WithWarnings(admission.HandlerFunc(func(context.Context, admission.Request) admission.Response { return inner }), fakeManager{garden: g})
			return handler.Handle(ctx, request)
		}

		It("follow those of the handler", func(ctx SpecContext) {
			inner.Warnings = []string{"first"}
			response := handle(ctx, admissionv1.Create, g.shoot, nil)
			Expect(response.Allowed).To(BeTrue())
			Expect(response.Warnings).To(HaveExactElements(Equal("first"), ContainSubstring(`pool "general"`)))
		})

		It("look at the seed of the Shoot", func(ctx SpecContext) {
			g.others = []client.Object{seed}
			editProfile(g, func(c *v1alpha1.CloudProfileConfig) { c.Sites[cloud].OpenStack.AuthURL = "https://172.16.1.1:5000/v3" })
			g.shoot.Spec.SeedName = new("s")
			Expect(handle(ctx, admissionv1.Create, g.shoot, nil).Warnings).To(ContainElement(ContainSubstring(`Seed "s"`)))
			g.shoot.Spec.SeedName = new("other")
			Expect(handle(ctx, admissionv1.Create, g.shoot, nil).Warnings).To(HaveLen(1))
		})

		It("are not given for what is refused or not written", func(ctx SpecContext) {
			Expect(handle(ctx, admissionv1.Update, g.shoot, g.shoot).Warnings).To(BeEmpty())
			Expect(handle(ctx, admissionv1.Delete, g.shoot, nil).Warnings).To(BeEmpty())
			inner = admission.Denied("no")
			Expect(handle(ctx, admissionv1.Create, g.shoot, nil).Warnings).To(BeEmpty())
		})

		It("are no reason to refuse a Shoot", func(ctx SpecContext) {
			g.shoot.Spec.CloudProfile.Name = "other"
			response := handle(ctx, admissionv1.Create, g.shoot, nil)
			Expect(response.Allowed).To(BeTrue())
			Expect(response.Warnings).To(BeEmpty())
		})
	})
})

// fakeManager has the readers of a garden.
type fakeManager struct {
	manager.Manager

	garden *garden
}

func (m fakeManager) GetScheme() *runtime.Scheme  { return kubernetes.GardenScheme }
func (m fakeManager) GetClient() client.Client    { return m.garden.cache() }
func (m fakeManager) GetAPIReader() client.Reader { return m.garden.secrets() }
func (m fakeManager) GetLogger() logr.Logger      { return logr.Discard() }
