// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package validator_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	v1beta1constants "github.com/gardener/gardener/pkg/apis/core/v1beta1/constants"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	. "github.com/gardener/gardener-extension-provider-hybrid/pkg/admission/validator"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
)

// setAddresses sets the addresses of load balancers of a Shoot at the site.
func setAddresses(shoot *gardencorev1beta1.Shoot, site string, cidrs ...string) {
	GinkgoHelper()
	editControlPlane(shoot, func(c *v1alpha1.ControlPlaneConfig) {
		c.Sites = slices.DeleteFunc(c.Sites, func(s v1alpha1.ControlPlaneSite) bool { return s.Name == "racks" || s.Name == site })
		c.Sites = append(c.Sites, v1alpha1.ControlPlaneSite{Name: site, LoadBalancer: &v1alpha1.SiteLoadBalancer{MetalLB: &v1alpha1.MetalLB{
			AddressPools: []v1alpha1.MetalLBAddressPool{{Name: "a", CIDRs: cidrs, Advertisement: v1alpha1.MetalLBAdvertisementL2}},
		}}})
	})
}

var _ = Describe("Addresses of load balancers", func() {
	const (
		refusal = `spec.provider.controlPlaneConfig.sites[1].loadBalancer.metalLB.addressPools[0].cidrs[0]: Invalid value: ` +
			`"10.250.250.0/24": must not overlap with addresses that are in use for load balancers at site "racks": choose other addresses, or ` +
			`ask the operator of the site which ones are free`
		mine = "10.250.250.0/24"
	)
	var (
		g     *garden
		other *gardencorev1beta1.Shoot
	)

	BeforeEach(func() {
		g = newGarden()
		other = g.shoot.DeepCopy()
		other.Namespace, other.Name = "garden-secret", "hidden"
		setAddresses(g.shoot, "racks", mine)
	})

	validate := func(ctx context.Context, old client.Object) error {
		g.cached = append(g.cached, other)
		return NewShootValidatorFor(g.cache(), g.secrets()).Validate(ctx, g.shoot, old)
	}
	// useProfile makes the other Shoot use another CloudProfile.
	useProfile := func(change func(*v1alpha1.CloudProfileConfig)) {
		GinkgoHelper()
		copied := *g
		copied.profile = g.profile.DeepCopy()
		copied.profile.Name = "other"
		editProfile(&copied, change)
		g.cached = append(g.cached, copied.profile)
		other.Spec.CloudProfile = &gardencorev1beta1.CloudProfileReference{Kind: "CloudProfile", Name: "other"}
	}

	DescribeTable("of other Shoots at the site are refused", func(ctx SpecContext, change func(), expected string) {
		setAddresses(other, "racks", "10.250.250.255-10.250.251.9")
		change()
		err := validate(ctx, nil)
		if expected == "" {
			Expect(err).NotTo(HaveOccurred())
			return
		}
		Expect(err).To(MatchError(expected))
		Expect(err.Error()).NotTo(Or(ContainSubstring("garden-secret"), ContainSubstring("hidden"), ContainSubstring("10.250.251")))
	},
		Entry("with the same CloudProfile", func() {}, refusal),
		Entry("that overlap by one address in a large range", func() { setAddresses(other, "racks", "10.250.250.255-10.255.0.0") }, refusal),
		Entry("that do not overlap", func() { setAddresses(other, "racks", "10.250.251.0/24") }, ""),
		Entry("that are being deleted", func() {
			other.DeletionTimestamp, other.Finalizers = &metav1.Time{Time: metav1.Now().Time}, []string{"gardener"}
		}, refusal),
		Entry("whose configuration can no longer be decoded", func() {
			raw := &other.Spec.Provider.ControlPlaneConfig.Raw
			*raw = []byte(`{"old": true, ` + string((*raw)[1:]))
		}, refusal),
		Entry("at another site", func() { setAddresses(other, "vc", "10.250.250.0/24") }, ""),
		Entry("of another type", func() { other.Spec.Provider.Type = "other" }, ""),
		Entry("with a NamespacedCloudProfile", func() {
			g.cached = append(g.cached, &gardencorev1beta1.NamespacedCloudProfile{
				ObjectMeta: metav1.ObjectMeta{Namespace: other.Namespace, Name: "own"},
				Spec: gardencorev1beta1.NamespacedCloudProfileSpec{
					Parent: gardencorev1beta1.CloudProfileReference{Kind: v1beta1constants.CloudProfileReferenceKindCloudProfile, Name: g.profile.Name}},
				Status: gardencorev1beta1.NamespacedCloudProfileStatus{CloudProfileSpec: g.profile.Spec},
			})
			other.Spec.CloudProfile = &gardencorev1beta1.CloudProfileReference{
				Kind: v1beta1constants.CloudProfileReferenceKindNamespacedCloudProfile, Name: "own"}
		}, refusal),
		Entry("with another CloudProfile of the same inventory", func() {
			useProfile(func(c *v1alpha1.CloudProfileConfig) {
				c.Sites[racks].Metal.Server, c.Sites[racks].Metal.Namespace = "https://METAL-api.example.com.:6443/", "theirs"
			})
		}, refusal),
		Entry("with another name of the same inventory", func() {
			useProfile(func(c *v1alpha1.CloudProfileConfig) { c.Sites[racks].Name = "hall" })
			setAddresses(other, "hall", "10.250.250.0/24")
		}, refusal),
		Entry("with another name of another part of the inventory", func() {
			useProfile(func(c *v1alpha1.CloudProfileConfig) {
				c.Sites[racks].Name, c.Sites[racks].Metal.Namespace = "hall", "hall"
			})
			setAddresses(other, "hall", "10.250.250.0/24")
		}, ""),
		Entry("at another site of the same inventory", func() {
			useProfile(func(c *v1alpha1.CloudProfileConfig) {
				hall := c.Sites[racks].DeepCopy()
				hall.Name = "hall"
				c.Sites = append(c.Sites, *hall)
			})
			setAddresses(other, "hall", "10.250.250.0/24")
		}, ""),
		Entry("with another CloudProfile of another inventory", func() {
			useProfile(func(c *v1alpha1.CloudProfileConfig) { c.Sites[racks].Metal.Server = "https://other.example.com:6443" })
		}, ""),
		Entry("with a CloudProfile that does not exist", func() {
			other.Spec.CloudProfile = &gardencorev1beta1.CloudProfileReference{Kind: "CloudProfile", Name: "gone"}
		}, ""),
		Entry("with a CloudProfile without the site", func() {
			useProfile(func(c *v1alpha1.CloudProfileConfig) { c.Sites = c.Sites[:racks] })
		}, ""),
	)

	It("are compared if one of the ranges is very large", func(ctx SpecContext) {
		setAddresses(other, "racks", "10.0.0.0-10.255.0.0", "2001:db8::-2001:db9::")
		Expect(validate(ctx, nil)).To(MatchError(refusal))
		g = newGarden()
		setAddresses(g.shoot, "racks", "2001:db8::1-2002::")
		setAddresses(other, "racks", "2001:db8::7-2001:db8::9")
		Expect(validate(ctx, nil)).To(MatchError(ContainSubstring("in use for load balancers")))
	})

	It("are those of the Shoot itself", func(ctx SpecContext) {
		other = g.shoot.DeepCopy()
		Expect(validate(ctx, nil)).To(Succeed())
	})

	It("do not block changes of a Shoot that had the overlap before, which is warned of", func(ctx SpecContext) {
		setAddresses(other, "racks", "10.250.250.7-10.250.250.9")
		old := g.shoot.DeepCopy()
		g.shoot.Spec.Provider.Workers[general].Maximum++
		g.cached = append(g.cached, other)
		response := WithWarnings(admission.HandlerFunc(func(ctx context.Context, _ admission.Request) admission.Response {
			if err := NewShootValidatorFor(g.cache(), g.secrets()).Validate(ctx, g.shoot, old); err != nil {
				return admission.Denied(err.Error())
			}
			return admission.Allowed("")
		})).Handle(ctx, admission.Request{})
		Expect(response.Allowed).To(BeTrue(), "%v", response.Result)
		Expect(response.Warnings).To(ContainElement(refusal))

		setAddresses(g.shoot, "racks", mine, "10.250.250.7/32")
		Expect(NewShootValidatorFor(g.cache(), g.secrets()).Validate(ctx, g.shoot, old)).To(MatchError(And(
			ContainSubstring("cidrs[1]"), Not(ContainSubstring(mine)))))
	})

	It("are not compared with addresses that are larger than an index can be", func(ctx SpecContext) {
		setAddresses(other, "racks", slices.Repeat([]string{"0.0.0.0-255.255.255.255", "::-ffff::"}, 10000)...)
		Expect(validate(ctx, nil)).To(MatchError(refusal))
	})
})

// indexed is a cache of Shoots with the index of their addresses, which reads as that of controller-runtime does without copies.
type indexed struct {
	client.Client
	shoots toolscache.Indexer
	names  map[string]bool
}

func (i *indexed) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	options := (&client.ListOptions{}).ApplyOptions(opts)
	if options.FieldSelector == nil || len(options.FieldSelector.Requirements()) != 1 ||
		!i.names[options.FieldSelector.Requirements()[0].Field] {
		return i.Client.List(ctx, list, opts...)
	}
	requirement := options.FieldSelector.Requirements()[0]
	objects, err := i.shoots.ByIndex(requirement.Field, requirement.Value)
	for _, object := range objects {
		list.(*gardencorev1beta1.ShootList).Items = append(list.(*gardencorev1beta1.ShootList).Items, *object.(*gardencorev1beta1.Shoot))
	}
	return err
}

// BenchmarkAddresses validates a Shoot with addresses of load balancers in a garden of 5,000 others: each with its own, all of them in one
// /24 at other sites, and none.
func BenchmarkAddresses(b *testing.B) {
	const shoots = 5000
	RegisterTestingT(b)
	for _, garden := range []struct {
		name  string
		cidrs func(n int) []string
	}{
		{"no others", nil},
		{"each in its own network", func(n int) []string { return []string{fmt.Sprintf("10.%d.%d.0/28", n/200, n%200)} }},
		{"all in one network", func(n int) []string { return []string{fmt.Sprintf("10.250.250.%d/32", 1+n%99)} }},
	} {
		b.Run(garden.name, func(b *testing.B) {
			g := newGarden()
			setAddresses(g.shoot, "racks", "10.250.250.128/25")
			cache := &indexed{Client: g.cache(), names: map[string]bool{}}
			indexers := toolscache.Indexers{}
			for _, index := range Indexes() {
				if _, ok := index.Object.(*gardencorev1beta1.Shoot); ok && index.Field == "addressPools" {
					cache.names[index.Field] = true
					indexers[index.Field] = func(object any) ([]string, error) { return index.Extract(object.(client.Object)), nil }
				}
			}
			cache.shoots = toolscache.NewIndexer(toolscache.MetaNamespaceKeyFunc, indexers)
			for n := range shoots {
				if garden.cidrs == nil {
					break
				}
				other := g.shoot.DeepCopy()
				other.Name = fmt.Sprintf("other-%d", n)
				setAddresses(other, "racks", garden.cidrs(n)...)
				Expect(cache.shoots.Add(other)).To(Succeed())
			}
			validator := NewShootValidatorFor(cache, g.secrets())
			b.ResetTimer()
			for b.Loop() {
				if err := validator.Validate(b.Context(), g.shoot, nil); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
