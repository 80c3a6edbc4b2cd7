// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package infrastructure

import (
	"context"
	"crypto/x509"
	"errors"
	"net/netip"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	gomegatypes "github.com/onsi/gomega/types"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/ipam"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/kubernetes"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/metal/inventory"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
)

var _ = Describe("Validate", func() {
	var f *fixture

	BeforeEach(func() {
		f = newFixture()
		f.site.Network.Nodes = []netip.Prefix{netip.MustParsePrefix("10.250.128.0/18")}
		f.site.Network.Gateway = netip.MustParseAddr("10.250.0.1")
	})

	validate := func(ctx SpecContext, demands ...platform.Demand) (platform.Findings, error) {
		return checks.Run(ctx, &validation{
			open: func(context.Context) (*flow, error) { return f.flow(), nil }, site: f.site,
			path: field.NewPath("config", "sites").Index(2).Child("metal"), demands: demands, controlPlane: f.controlPlane,
		}, nil)
	}
	succeeded := func(findings platform.Findings, err error) platform.Findings {
		GinkgoHelper()
		Expect(err).NotTo(HaveOccurred())
		return findings
	}
	withPool := func(kind, name string) {
		f.site.Config.Metal = &v1alpha1.MetalInfrastructure{
			IPAM:                &v1alpha1.IPAM{PoolRef: corev1.TypedLocalObjectReference{APIGroup: new(ipam.Group), Kind: kind, Name: name}},
			NetworkDataTemplate: "$ADDRESS/$PREFIX $GATEWAY",
		}
	}
	forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "things"}, "a", nil)

	It("should find nothing at a site that suits", func(ctx SpecContext) {
		Expect(succeeded(validate(ctx))).To(HaveField("Found", BeEmpty()))
	})

	DescribeTable("should name what the API does not have", func(ctx SpecContext, served []string, resources ...string) {
		f.served[hostsVersion] = served
		var messages []string
		for _, resource := range resources {
			messages = append(messages, `cloudProfileConfig.sites[racks].metal.inventory: Invalid value: "Metal3": `+
				"the API does not serve "+resource+" in version hosts.example.com/v1")
		}
		Expect(succeeded(validate(ctx)).Err()).To(MatchError(strings.Join(messages, "\n")))
		Expect(f.inventory.lists).To(BeZero())
	},
		Entry("a resource", []string{"hosts"}, "claims"),
		Entry("the version", nil, "hosts", "claims"),
	)

	// causes returns the findings without those that follow from another.
	causes := func(findings platform.Findings) []platform.Finding {
		return slices.DeleteFunc(findings.Found, func(f platform.Finding) bool { return f.Cause != "" })
	}
	finding := func(id string, state platform.CheckState, path, message string) gomegatypes.GomegaMatcher {
		return And(HaveField("Check.ID", id), HaveField("State", state), HaveField("Field", path), HaveField("Is", ContainSubstring(message)))
	}

	DescribeTable("should stop at an API that cannot be used", func(ctx SpecContext, change func(), expected gomegatypes.GomegaMatcher) {
		change()
		findings, err := validate(ctx)
		Expect(causes(findings)).To(HaveExactElements(expected))
		Expect(err != nil).To(Equal(findings.Found[0].Err != nil))
		Expect(f.inventory.lists).To(BeZero())
	},
		Entry("is away", func() { f.servedErr = errAway },
			finding("metal-connection", platform.Unknown, "cloudProfileConfig.sites[racks].metal.server", "away")),
		Entry("has another certificate", func() { f.servedErr = kubernetes.Classify(x509.UnknownAuthorityError{}) },
			finding("metal-connection", platform.Failed, "cloudProfileConfig.sites[racks].tls", "unknown authority")),
		Entry("is none of Kubernetes", func() { f.served, f.other = nil, true },
			finding("metal-connection", platform.Failed, "cloudProfileConfig.sites[racks].metal.server", "not a Kubernetes API")),
		Entry("refuses a token", func() { f.servedErr = kubernetes.Classify(apierrors.NewUnauthorized("who")) },
			finding("metal-authentication", platform.Failed, "secret.data[racks.token]", "who")),
		Entry("ignores a certificate", func() {
			f.site.Credentials = site.Credentials{"clientCertificate": "c", "clientKey": "k"}
			f.servedErr = kubernetes.Classify(errors.Join(apierrors.NewForbidden(schema.GroupResource{}, "",
				errors.New(`User "system:anonymous" cannot get path "/apis"`))))
		}, finding("metal-authentication", platform.Failed, "secret.data[racks.clientCertificate]", "ignores the credentials")),
		Entry("refuses to tell what it serves", func() { f.servedErr = kubernetes.Classify(forbidden) },
			finding("metal-api", platform.Unknown, "", "forbidden")),
	)

	It("should name a namespace that does not exist", func(ctx SpecContext) {
		f.objects = nil
		Expect(causes(succeeded(validate(ctx)))).To(HaveExactElements(finding("metal-namespace", platform.Failed,
			"cloudProfileConfig.sites[racks].metal.namespace", "the inventory has no namespace of this name")))
	})

	DescribeTable("should suspect the name of a namespace without permissions", func(ctx SpecContext, hidden bool, id string) {
		if hidden {
			f.get["Namespace"] = forbidden
		}
		f.denied = []string{"create secrets", "delete secrets", "use shoots"}
		Expect(causes(succeeded(validate(ctx)))).To(ContainElement(HaveField("Check.ID", id)))
	},
		Entry("that cannot be seen", true, "metal-namespace"),
		Entry("unless it exists", false, "metal-permissions"),
	)

	It("should go on if the credentials may not see namespaces", func(ctx SpecContext) {
		f.get["Namespace"] = forbidden
		Expect(succeeded(validate(ctx))).To(HaveField("Found", BeEmpty()))
	})

	It("should find that another inventory has taken the place of the one with the shoot's machines", func(ctx SpecContext) {
		f.site.State = &v1alpha1.SiteState{Metal: &v1alpha1.MetalState{NamespaceUID: "uid-0",
			Connection: v1alpha1.MetalConnection{Inventory: v1alpha1.MetalInventoryMetal3, Namespace: "hosts"}}}
		Expect(succeeded(validate(ctx)).Found).To(HaveExactElements(And(HaveField("Check.ID", "metal-place"),
			HaveField("State", platform.Failed), HaveField("Is", ContainSubstring("has the UID uid-1")))))
	})

	It("should fail if the namespace cannot be looked at", func(ctx SpecContext) {
		f.get["Namespace"] = apierrors.NewUnauthorized("who")
		_, err := validate(ctx)
		Expect(platform.ClassOf(err)).To(Equal(platform.ClassUnauthenticated))
	})

	DescribeTable("should name all missing permissions by resource", func(ctx SpecContext, denied []string, messages ...string) {
		withPool("InClusterIPPool", "nodes")
		f.objects = append(f.objects, pool("InClusterIPPool", "nodes", nil))
		f.denied = denied
		findings := succeeded(validate(ctx))
		if len(messages) == 0 {
			Expect(findings.Found).To(BeEmpty())
			return
		}
		for i := range messages {
			messages[i] = "secret.data[racks.token]: Forbidden: the credentials may not " + messages[i]
		}
		Expect(findings.Err()).To(MatchError(strings.Join(messages, "\n")))
		Expect(f.inventory.lists).To(BeZero())
	},
		Entry("none", nil),
		Entry("of the cluster", []string{"list hosts"}, "list hosts"),
		Entry("of the namespace", []string{"create secrets"}, "create secrets in namespace hosts"),
		Entry("several", []string{"delete secrets", "list hosts", "create secrets"},
			"create or delete secrets in namespace hosts", "list hosts"),
		Entry("of address claims", []string{"list ipaddressclaims", "get ipaddresses"},
			"get ipaddresses in namespace hosts", "list ipaddressclaims in namespace hosts"),
	)

	It("should warn if admission policies would refuse the shoot", func(ctx SpecContext) {
		f.denied = []string{"use shoots"}
		Expect(succeeded(validate(ctx)).Found).To(HaveExactElements(finding("metal-permissions", platform.Warning,
			"secret.data[racks.token]", "the credentials may not use shoot shoot--local--a in namespace hosts")))
	})

	It("should need no permissions for address claims without a pool", func(ctx SpecContext) {
		f.denied = []string{"list ipaddressclaims"}
		Expect(succeeded(validate(ctx))).To(HaveField("Found", BeEmpty()))
	})

	It("should fail if permissions cannot be asked for", func(ctx SpecContext) {
		f.get["SelfSubjectAccessReview"] = apierrors.NewTooManyRequests("later", 7)
		_, err := validate(ctx)
		Expect(platform.ClassOf(err)).To(Equal(platform.ClassTransient))
	})

	DescribeTable("should name variables of the template that nobody knows", func(ctx SpecContext, template, message string) {
		f.site.Network.Gateway = netip.Addr{}
		f.site.Config.Metal = &v1alpha1.MetalInfrastructure{NetworkDataTemplate: template}
		Expect(succeeded(validate(ctx)).Err()).
			To(MatchError(ContainSubstring("config.sites[2].metal.networkDataTemplate: Invalid value: " + message)))
	},
		Entry("MTU", "${MTU}", `"$MTU": neither the site nor the CloudProfile has an mtu`),
		Entry("resolvers", "$DNS_SERVERS_JSON", `"$DNS_SERVERS_JSON": neither the site nor the CloudProfile has dnsServers`),
		Entry("gateway", "$GATEWAY", `"$GATEWAY": neither the site nor the CloudProfile has a gateway`),
		Entry("a name that is none", "$IP", `"(hidden)": unknown variable "$IP": must be one of`),
	)

	It("should accept variables that are known", func(ctx SpecContext) {
		f.site.Network.MTU, f.site.Network.DNSServers = 1450, []string{"192.0.2.53"}
		f.site.Config.Metal = &v1alpha1.MetalInfrastructure{NetworkDataTemplate: "$MTU $DNS_SERVERS $GATEWAY $MAC"}
		Expect(succeeded(validate(ctx))).To(HaveField("Found", BeEmpty()))
	})

	Describe("of address pools", func() {
		addresses := func(list ...any) map[string]any { return map[string]any{"addresses": list} }

		DescribeTable("should accept addresses of the site", func(ctx SpecContext, kind string, spec map[string]any) {
			withPool(kind, "nodes")
			f.objects = append(f.objects, pool(kind, "nodes", spec))
			Expect(succeeded(validate(ctx))).To(HaveField("Found", BeEmpty()))
		},
			Entry("CIDR", "InClusterIPPool", addresses("10.250.128.0/18")),
			Entry("range and address", "GlobalInClusterIPPool", addresses("10.250.129.1-10.250.129.9", "10.250.130.1")),
			Entry("more, but excluded", "GlobalInClusterIPPool", map[string]any{
				"addresses": []any{"10.250.128.0/17"}, "excludedAddresses": []any{"10.250.192.0-10.250.255.254", "10.250.255.255"},
			}),
			Entry("another kind of pool", "InClusterIPPool", map[string]any{"subnet": "192.0.2.0/24"}),
		)

		DescribeTable("should refuse others", func(ctx SpecContext, spec map[string]any, message string) {
			withPool("InClusterIPPool", "nodes")
			f.objects = append(f.objects, pool("InClusterIPPool", "nodes", spec))
			Expect(succeeded(validate(ctx)).Err()).To(MatchError(`config.sites[2].metal.ipam.poolRef: Invalid value: "nodes": ` +
				message))
		},
			Entry("of another site", addresses("10.250.128.0/18", "10.250.64.1-10.250.64.9"),
				"the pool gives away 10.250.64.1-10.250.64.9 outside the site's nodes [10.250.128.0/18]"),
			Entry("more than the site's", addresses("10.250.128.0/17"),
				"the pool gives away 10.250.192.0-10.250.255.255 outside the site's nodes [10.250.128.0/18]"),
			Entry("the gateway", addresses("10.250.0.1", "10.250.128.0/18"), "the pool gives away the gateway 10.250.0.1; exclude it"),
			Entry("of another family", addresses("2001:db8::1"),
				"the pool gives away 2001:db8::1-2001:db8::1 outside the site's nodes [10.250.128.0/18]"),
			Entry("that are none", addresses("10.250.128.0/40"),
				`the pool cannot be read: netip.ParsePrefix("10.250.128.0/40"): prefix length out of range`),
			Entry("of another type", map[string]any{"addresses": "all"}, "the pool cannot be read: cannot restore slice from string"),
		)

		It("should accept the gateway if the pool knows that it is one", func(ctx SpecContext) {
			f.site.Network.Gateway = netip.MustParseAddr("10.250.128.1")
			withPool("InClusterIPPool", "nodes")
			f.objects = append(f.objects,
				pool("InClusterIPPool", "nodes", map[string]any{"addresses": []any{"10.250.128.0/18"}, "gateway": "10.250.128.1"}))
			Expect(succeeded(validate(ctx))).To(HaveField("Found", BeEmpty()))
		})

		It("should name a pool that does not exist", func(ctx SpecContext) {
			withPool("GlobalInClusterIPPool", "nodes")
			Expect(succeeded(validate(ctx)).Err()).To(MatchError(
				`config.sites[2].metal.ipam.poolRef: Invalid value: "nodes": the inventory has no GlobalInClusterIPPool of this name`))
		})

		It("should name a kind that does not exist", func(ctx SpecContext) {
			withPool("IPPool", "nodes")
			Expect(succeeded(validate(ctx)).Err()).To(MatchError(
				`config.sites[2].metal.ipam.poolRef: Invalid value: "IPPool": ` +
					`the API of the inventory does not serve this kind of API group "ipam.cluster.x-k8s.io"`))
		})

		It("should read no object of another kind that the operator has not listed", func(ctx SpecContext) {
			withPool("IPAddressClaim", "nodes")
			findings := succeeded(validate(ctx))
			Expect(findings.Err()).NotTo(HaveOccurred())
			Expect(findings.Warnings()).To(HaveExactElements(ContainSubstring(`whether there is IPAddressClaim "nodes" is not known`)))
			f.site.Profile.Metal.AddressPools = []corev1.TypedLocalObjectReference{f.site.Config.Metal.IPAM.PoolRef}
			Expect(succeeded(validate(ctx)).Err()).To(MatchError(ContainSubstring("the inventory has no IPAddressClaim of this name")))
		})

		It("should warn if the pool cannot be seen", func(ctx SpecContext) {
			withPool("InClusterIPPool", "nodes")
			f.get["InClusterIPPool"] = forbidden
			findings := succeeded(validate(ctx))
			Expect(findings.Err()).NotTo(HaveOccurred())
			Expect(findings.Warnings()).To(HaveExactElements(And(HavePrefix(`config.sites[2].metal.ipam.poolRef: `),
				ContainSubstring("may not get it"))))
		})

		DescribeTable("should compare the number of addresses with that of machines", func(ctx SpecContext, minimum, maximum int,
			state platform.CheckState) {
			withPool("InClusterIPPool", "nodes")
			f.objects = append(f.objects, pool("InClusterIPPool", "nodes", map[string]any{
				"addresses": []any{"10.250.128.10-10.250.128.14"}, "excludedAddresses": []any{"10.250.128.12"}}))
			found := succeeded(validate(ctx, platform.Demand{Minimum: int32(minimum), Maximum: int32(maximum)})).Found
			if state == platform.Fine {
				Expect(found).To(BeEmpty())
				return
			}
			Expect(found).To(HaveExactElements(And(HaveField("Check.ID", "metal-address-pool-size"), HaveField("State", state),
				HaveField("Is", ContainSubstring("the pool has 4 addresses")))))
		},
			Entry("enough", 1, 4, platform.Fine),
			Entry("too few for the maximum", 1, 5, platform.Warning),
			Entry("too few for the minimum", 5, 5, platform.Failed),
		)

		DescribeTable("should find addresses of load balancers", func(ctx SpecContext, cidr string, expected ...string) {
			withPool("InClusterIPPool", "nodes")
			f.objects = append(f.objects, pool("InClusterIPPool", "nodes", addresses("10.250.128.16-10.250.128.64")))
			f.controlPlane.LoadBalancer = &v1alpha1.SiteLoadBalancer{MetalLB: &v1alpha1.MetalLB{
				AddressPools: []v1alpha1.MetalLBAddressPool{{Name: "services", CIDRs: []string{"10.250.191.0/28", cidr}}}}}
			Expect(succeeded(validate(ctx)).Warnings()).To(HaveExactElements(expected))
		},
			Entry("in the pool", "10.250.128.64/26", "spec.provider.controlPlaneConfig.sites[racks].loadBalancer.metalLB."+
				`addressPools[services].cidrs: machines can get addresses of 10.250.128.64/26 from InClusterIPPool "nodes"`),
			Entry("as a range", "10.250.128.1-10.250.128.16", "spec.provider.controlPlaneConfig.sites[racks].loadBalancer.metalLB."+
				`addressPools[services].cidrs: machines can get addresses of 10.250.128.1-10.250.128.16 from InClusterIPPool "nodes"`),
			Entry("outside", "10.250.128.0/28"),
		)

		It("should fail if the pool cannot be asked for", func(ctx SpecContext) {
			withPool("InClusterIPPool", "nodes")
			f.get["InClusterIPPool"] = errAway
			_, err := validate(ctx)
			Expect(err).To(MatchError(errAway))
		})
	})

	Describe("of hosts", func() {
		demand := func(index int, pool, machineType string, zones ...platform.ZoneDemand) platform.Demand {
			return platform.Demand{
				Pool: pool, Path: field.NewPath("workers").Index(index), MachineTypeName: machineType,
				MachineType: f.site.MachineTypes[machineType], Zones: zones,
			}
		}
		zone := func(name string, minimum, maximum int32) platform.ZoneDemand {
			return platform.ZoneDemand{Name: name, Minimum: minimum, Maximum: maximum}
		}

		BeforeEach(func() {
			f.add(2, inventory.Free, "r1", "s")
			f.add(1, inventory.Claimed, "r1", "s")
			f.add(1, inventory.Taken, "r1", "s")
			f.add(1, inventory.Unready, "r1", "s")
			f.add(4, inventory.Free, "r2", "xl")
		})

		It("should count what is free and what the shoot has, with one list", func(ctx SpecContext) {
			Expect(succeeded(validate(ctx, demand(0, "a", "small", zone("rack-1", 3, 3)),
				demand(1, "b", "large", zone("rack-2", 1, 4))))).To(HaveField("Found", BeEmpty()))
			Expect(f.inventory.lists).To(Equal(1))
		})

		It("should name zone, machine type and selector if there is none", func(ctx SpecContext) {
			findings := succeeded(validate(ctx, demand(1, "a", "large", zone("rack-1", 0, 1))))
			Expect(findings.Err()).To(MatchError(
				`workers[1]: Invalid value: "a": there is no host for machine type "large" in zone "rack-1" (rack=r1,size=xl)`))
			Expect(platform.ClassOf(findings.Err())).To(Equal(platform.ClassConfiguration))
		})

		It("should keep apart pools whose hosts must have other operating systems, and name these", func(ctx SpecContext) {
			with := func(d platform.Demand, version string) platform.Demand {
				d.Image = &v1alpha1.SiteMachineImage{Metal: &v1alpha1.MetalImage{OSRelease: &v1alpha1.MetalOSRelease{ID: "debian", VersionID: version}}}
				return d
			}
			findings := succeeded(validate(ctx, with(demand(0, "a", "large", zone("rack-1", 1, 1)), "11"),
				with(demand(1, "b", "large", zone("rack-1", 1, 1)), "12")))
			Expect(findings.Err()).To(MatchError(And(ContainSubstring("(rack=r1,size=xl with debian 11)"),
				ContainSubstring("(rack=r1,size=xl with debian 12)"))))
			Expect(f.inventory.lists).To(Equal(1))
		})

		It("should be short of hosts if the pools together have more machines at least", func(ctx SpecContext) {
			findings := succeeded(validate(ctx, demand(0, "a", "small", zone("rack-1", 2, 5)), demand(1, "b", "small", zone("rack-1", 2, 5))))
			Expect(findings.Warnings()).To(BeEmpty())
			Expect(findings.Err()).To(MatchError(
				`workers[0]: Invalid value: "a, b": at least 4 hosts are needed for machine type "small" in zone "rack-1" (rack=r1,size=s): ` +
					`there are 5, of which 2 are free and 1 the shoot's already`))
			Expect(platform.ClassOf(findings.Err())).To(Equal(platform.ClassQuota))
		})

		It("should warn if the pools may want more", func(ctx SpecContext) {
			findings := succeeded(validate(ctx, demand(0, "a", "small", zone("rack-1", 3, 4))))
			Expect(findings.Err()).NotTo(HaveOccurred())
			Expect(findings.Warnings()).To(HaveExactElements(
				`workers[0]: pools a may want 4 hosts for machine type "small" in zone "rack-1" (rack=r1,size=s): ` +
					`there are 5, of which 2 are free and 1 the shoot's already`))
		})

		It("should look at pools with a selector of their own on its own", func(ctx SpecContext) {
			narrow := demand(1, "b", "small", zone("rack-1", 1, 1))
			narrow.Settings.Metal = &v1alpha1.MetalWorker{HostSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"team": "x"}}}
			findings := succeeded(validate(ctx, demand(0, "a", "small", zone("rack-1", 3, 3)), narrow))
			Expect(findings.Err()).To(MatchError(ContainSubstring(
				`workers[1]: Invalid value: "b": there is no host for machine type "small" in zone "rack-1" (rack=r1,size=s,team=x)`)))
		})

		It("should name selectors that contradict each other", func(ctx SpecContext) {
			contrary := demand(1, "b", "small", zone("rack-1", 1, 1))
			contrary.Settings.Metal = &v1alpha1.MetalWorker{HostSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"rack": "r9"}}}
			Expect(succeeded(validate(ctx, contrary)).Err()).To(MatchError(And(
				ContainSubstring(`workers[1]: Invalid value: "b": zone "rack-1": `), ContainSubstring(`label "rack"`))))
		})

		It("should say that all hosts are meant", func(ctx SpecContext) {
			f.inventory.hosts = nil
			f.site.Profile.Zones[0].Metal, f.site.MachineTypes["small"].Metal = nil, nil
			Expect(succeeded(validate(ctx,
				demand(0, "a", "small", zone("rack-1", 1, 1)))).Err()).To(MatchError(ContainSubstring(`in zone "rack-1" (all hosts)`)))
		})

		It("should warn about hosts with faults", func(ctx SpecContext) {
			f.inventory.hosts[0].Name, f.inventory.hosts[0].Fault = "h1", "registration error"
			Expect(succeeded(validate(ctx, demand(0, "a", "small", zone("rack-1", 1, 3)))).Warnings()).To(HaveExactElements(
				`workers[0]: hosts for machine type "small" in zone "rack-1" (rack=r1,size=s) have faults: h1 (registration error)`))
		})

		DescribeTable("should compare the hardware with the machine type", func(ctx SpecContext, number int, hardware inventory.Surveyed,
			state platform.CheckState, message string) {
			for i := range number {
				f.inventory.hosts[i].Name, f.inventory.hosts[i].hardware = "h", hardware
			}
			for i := number; i < 5; i++ {
				f.inventory.hosts[i].hardware = inventory.Surveyed{CPUs: 16, Memory: 64 << 30, Architecture: "x86_64"}
			}
			d := demand(0, "a", "small", zone("rack-1", 1, 3))
			d.Capacity = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("16"), corev1.ResourceMemory: resource.MustParse("64Gi")}
			d.Architecture = "amd64"
			found := succeeded(validate(ctx, d)).Found
			if state == platform.Fine {
				Expect(found).To(BeEmpty())
				return
			}
			Expect(found).To(HaveExactElements(And(HaveField("Check.ID", "metal-hardware"), HaveField("State", state),
				HaveField("Field", "workers[0].machine.type"), HaveField("Is", ContainSubstring(message)),
				HaveField("Want", "16 CPUs, 64 GiB memory, architecture amd64"))))
		},
			Entry("all alike", 0, inventory.Surveyed{}, platform.Fine, ""),
			Entry("some unknown", 2, inventory.Surveyed{}, platform.Fine, ""),
			Entry("a little memory for the firmware", 5, inventory.Surveyed{CPUs: 16, Memory: 62 << 30, Architecture: "amd64"}, platform.Fine, ""),
			Entry("one with fewer CPUs", 1, inventory.Surveyed{CPUs: 8, Memory: 64 << 30}, platform.Warning, "h has 8 CPUs"),
			Entry("all with less memory", 5, inventory.Surveyed{CPUs: 16, Memory: 32 << 30}, platform.Warning, "h has 32 GiB memory"),
			Entry("all with less memory than 1 GiB", 5, inventory.Surveyed{CPUs: 16, Memory: 768 << 20}, platform.Warning, "h has 0.75 GiB memory"),
			Entry("all of another architecture", 5, inventory.Surveyed{Architecture: "aarch64"}, platform.Warning, "h has architecture arm64"),
		)

		It("should fail if hosts cannot be listed", func(ctx SpecContext) {
			f.inventory.err = errAway
			_, err := validate(ctx, demand(0, "a", "small", zone("rack-1", 1, 1)))
			Expect(err).To(MatchError(errAway))
		})
	})
})
