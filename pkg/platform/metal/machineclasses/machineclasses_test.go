// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package machineclasses

import (
	"context"
	"net/netip"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/kubernetes"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/metal/client"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/metal/inventory"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
)

// hosts is an inventory that can only count.
type hosts struct {
	inventory.Inventory
	number int
	err    error
	asked  []inventory.Selection
}

func (h *hosts) Hosts(_ context.Context, selections ...inventory.Selection) ([][]inventory.Host, error) {
	h.asked = append(h.asked, selections...)
	return [][]inventory.Host{make([]inventory.Host, h.number)}, h.err
}

// with returns the machine classes of the inventory.
func (h *hosts) with() platform.MachineClasses {
	return New(client.NewSessions(),
		func(_ *kubernetes.Session, kind v1alpha1.MetalInventory, options inventory.Options) (inventory.Inventory, error) {
			Expect(kind).To(Equal(v1alpha1.MetalInventoryIronCore))
			Expect(options.Owner.Shoot).To(Equal("shoot--local--a"))
			Expect(options.Owner.Site).To(Equal("racks"))
			Expect(options.Watched).To(BeFalse())
			return h, nil
		})
}

func labels(key, value string) *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchLabels: map[string]string{key: value}}
}

func newRequest() platform.MachineClassRequest {
	return platform.MachineClassRequest{
		Pool: "batch",
		Site: &site.Site{
			Name: "racks", Shoot: "shoot--local--a", Credentials: site.Credentials{"token": "t"},
			Profile: &v1alpha1.CloudProfileSite{Name: "racks", Metal: &v1alpha1.MetalProfile{
				Inventory: v1alpha1.MetalInventoryIronCore, Server: "https://127.0.0.1:1", Namespace: "hosts", Cleaning: "metadata", NodeName: "Host",
			}},
			Config: &v1alpha1.InfrastructureSite{Metal: &v1alpha1.MetalInfrastructure{
				IPAM: &v1alpha1.IPAM{PoolRef: corev1.TypedLocalObjectReference{APIGroup: new("ipam.cluster.x-k8s.io"),
					Kind: "InClusterIPPool", Name: "nodes"}},
				NetworkDataTemplate: "Address=$ADDRESS",
			}},
			Network: site.Network{Gateway: netip.MustParseAddr("10.250.0.1"), DNSServers: []string{"192.0.2.53"}, MTU: 1450},
		},
		Zone: &v1alpha1.SiteZone{Name: "rack-1", Metal: &v1alpha1.MetalZone{HostSelector: labels("rack", "r1")}},
		MachineType: &v1alpha1.SiteMachineType{Metal: &v1alpha1.MetalMachineType{
			HostSelector: labels("size", "s"), Tolerations: []corev1.Toleration{{Key: "a", Operator: corev1.TolerationOpExists}},
		}},
		Image: &v1alpha1.SiteMachineImage{Metal: &v1alpha1.MetalImage{URL: "registry.example.com/os:1"}},
		Settings: v1alpha1.WorkerSite{Metal: &v1alpha1.MetalWorker{
			HostSelector: labels("team", "x"), Tolerations: []corev1.Toleration{{Key: "b", Value: "1"}},
		}},
	}
}

var _ = Describe("MachineClasses", func() {
	DescribeTable("should name what is not said about the site, without asking it",
		func(ctx SpecContext, change func(*platform.MachineClassRequest), message string) {
			request := newRequest()
			change(&request)
			var (
				spec  = &v1alpha1.MachineProviderSpec{}
				known = &hosts{}
				err   = known.with().Resolve(ctx, request, spec)
			)
			Expect(err).To(MatchError(And(HavePrefix(`site "racks": `), ContainSubstring(message))))
			Expect(platform.ClassOf(err)).To(Equal(platform.ClassConfiguration))
			Expect(spec.Metal).To(BeNil())
			Expect(known.asked).To(BeEmpty())
		},
		Entry("site left the CloudProfile", func(r *platform.MachineClassRequest) { r.Site.Profile = nil }, "CloudProfile"),
		Entry("site changed its platform", func(r *platform.MachineClassRequest) { r.Site.Profile.Metal = nil }, "CloudProfile"),
		Entry("no zone", func(r *platform.MachineClassRequest) { r.Zone = nil }, "zone"),
		Entry("zone of another platform", func(r *platform.MachineClassRequest) { r.Zone.Metal = nil }, "zone"),
		Entry("no machine type", func(r *platform.MachineClassRequest) { r.MachineType = nil }, "machine type"),
		Entry("machine type of another platform", func(r *platform.MachineClassRequest) { r.MachineType.Metal = nil }, "machine type"),
		Entry("no image", func(r *platform.MachineClassRequest) { r.Image = nil }, "machine image"),
		Entry("image of another platform", func(r *platform.MachineClassRequest) { r.Image.Metal = nil }, "machine image"),
		Entry("data volumes", func(r *platform.MachineClassRequest) { r.DataVolumes = []platform.DataVolume{{Name: "a"}} }, "dataVolumes"),
		Entry("selectors that contradict each other",
			func(r *platform.MachineClassRequest) { r.Settings.Metal.HostSelector = labels("rack", "r2") },
			`label "rack" with "r1", which the hostSelector of the zone wants, and with "r2", which that of the pool wants`),
		Entry("no credentials", func(r *platform.MachineClassRequest) { r.Site.Credentials = nil }, `"clientCertificate" is missing`),
	)

	It("should say which hosts a machine may be, and what is written to them", func(ctx SpecContext) {
		known, spec := &hosts{number: 3}, &v1alpha1.MachineProviderSpec{}
		Expect(known.with().Resolve(ctx, newRequest(), spec)).To(Succeed())
		selector := &metav1.LabelSelector{MatchLabels: map[string]string{"rack": "r1", "size": "s", "team": "x"}}
		Expect(spec.Metal).To(Equal(&v1alpha1.MetalMachineSpec{
			Connection:   v1alpha1.MetalConnection{Inventory: v1alpha1.MetalInventoryIronCore, Server: "https://127.0.0.1:1", Namespace: "hosts"},
			HostSelector: selector,
			Tolerations:  []corev1.Toleration{{Key: "a", Operator: corev1.TolerationOpExists}, {Key: "b", Value: "1"}},
			Image:        v1alpha1.MetalImage{URL: "registry.example.com/os:1"},
			Cleaning:     "metadata",
			NodeName:     "Host",
			Network: &v1alpha1.MetalMachineNetwork{
				PoolRef:  &corev1.TypedLocalObjectReference{APIGroup: new("ipam.cluster.x-k8s.io"), Kind: "InClusterIPPool", Name: "nodes"},
				Template: "Address=$ADDRESS", Gateway: "10.250.0.1", DNSServers: []string{"192.0.2.53"}, MTU: 1450,
			},
		}))
		Expect(known.asked).To(HaveLen(1))
		Expect(known.asked[0].Selector.String()).To(Equal("rack=r1,size=s,team=x"))
		Expect(known.asked[0].Tolerations).To(Equal(spec.Metal.Tolerations))
		Expect(known.asked[0].Cleaning).To(Equal("metadata"))
	})

	DescribeTable("should leave the network to DHCP", func(ctx SpecContext, change func(*site.Site)) {
		request, spec := newRequest(), &v1alpha1.MachineProviderSpec{}
		change(request.Site)
		Expect((&hosts{number: 1}).with().Resolve(ctx, request, spec)).To(Succeed())
		Expect(spec.Metal.Network).To(BeNil())
	},
		Entry("without the site's configuration", func(s *site.Site) { s.Config.Metal = nil }),
		Entry("without a template", func(s *site.Site) { s.Config.Metal = &v1alpha1.MetalInfrastructure{} }),
	)

	It("should fail with the error of an inventory that cannot be asked", func(ctx SpecContext) {
		spec := &v1alpha1.MachineProviderSpec{}
		err := (&hosts{err: platform.NewError(platform.ClassForbidden, "no")}).with().Resolve(ctx, newRequest(), spec)
		Expect(err).To(MatchError(`site "racks": no`))
		Expect(platform.ClassOf(err)).To(Equal(platform.ClassForbidden))
		Expect(spec.Metal).To(BeNil())
	})

	DescribeTable("should refuse only what can never be rolled",
		func(ctx SpecContext, minimum int32, hostsThere int, surge, unavailable any, refused bool) {
			value := func(v any) intstr.IntOrString {
				if text, ok := v.(string); ok {
					return intstr.FromString(text)
				}
				return intstr.FromInt(v.(int))
			}
			request, spec := newRequest(), &v1alpha1.MachineProviderSpec{}
			request.Minimum = minimum
			request.Rolling = &platform.Rolling{MaxSurge: value(surge), MaxUnavailable: value(unavailable)}
			err := (&hosts{number: hostsThere}).with().Resolve(ctx, request, spec)
			if !refused {
				Expect(err).NotTo(HaveOccurred())
				return
			}
			Expect(err).To(MatchError(And(ContainSubstring(`pool "batch" cannot be rolled in zone "rack-1"`),
				ContainSubstring(`hosts match "rack=r1,size=s,team=x"`), ContainSubstring("maxUnavailable to at least 1"))))
			Expect(platform.ClassOf(err)).To(Equal(platform.ClassConfiguration))
			Expect(spec.Metal).To(BeNil())
		},
		Entry("no host to spare", int32(4), 4, 1, 0, true),
		Entry("too few hosts", int32(4), 3, 1, 0, true),
		Entry("a host to spare", int32(4), 5, 1, 0, false),
		Entry("one may be missing", int32(4), 4, 1, 1, false),
		Entry("neither more nor less, which is one less", int32(4), 4, 0, 0, false),
		Entry("a percentage that is less than one machine", int32(4), 4, "25%", "20%", true),
		Entry("a percentage that is one machine", int32(4), 4, "25%", "25%", false),
		Entry("no machine wanted", int32(0), 0, 1, 0, false),
	)

	It("should not look for a host to spare if machines are updated in place", func(ctx SpecContext) {
		request := newRequest()
		request.Minimum = 4
		Expect((&hosts{number: 4}).with().Resolve(ctx, request, &v1alpha1.MachineProviderSpec{})).To(Succeed())
	})

	It("should refuse numbers that have no meaning", func(ctx SpecContext) {
		request := newRequest()
		request.Minimum, request.Rolling = 4, &platform.Rolling{MaxSurge: intstr.FromString("many"), MaxUnavailable: intstr.FromInt(0)}
		err := (&hosts{number: 4}).with().Resolve(ctx, request, &v1alpha1.MachineProviderSpec{})
		Expect(err).To(MatchError(ContainSubstring(`pool "batch": `)))
		Expect(platform.ClassOf(err)).To(Equal(platform.ClassConfiguration))
	})

	It("should locate machines without asking the site", func(ctx SpecContext) {
		known, s := &hosts{}, newRequest().Site
		Expect(known.with().Locate(s, nil)).To(HaveExactElements(&v1alpha1.MachineProviderSpec{
			Site: s.Name, Shoot: s.Shoot, Metal: &v1alpha1.MetalMachineSpec{Connection: client.ConnectionOf(s.Profile), Cleaning: "metadata",
				NodeName: "Host"},
		}))
		Expect(known.asked).To(BeEmpty())

		s.Profile = nil
		_, err := known.with().Locate(s, nil)
		Expect(err).To(MatchError(ContainSubstring("the CloudProfile no longer has a bare-metal site")))
	})
})
