// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package mutator_test

import (
	"context"
	"fmt"
	"strings"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/admission/mutator"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/codec"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
)

const header = `"apiVersion":"hybrid.provider.extensions.gardener.cloud/v1alpha1","kind":`

func raw(kind, fields string) *runtime.RawExtension {
	return &runtime.RawExtension{Raw: []byte("{" + header + `"` + kind + `",` + fields + "}")}
}

// stretched is an InfrastructureConfig whose sites are given as name, or as name=CIDR,CIDR.
func stretched(nodes string, sites ...string) *runtime.RawExtension {
	var list []string
	for _, site := range sites {
		name, ranges, _ := strings.Cut(site, "=")
		list = append(list, fmt.Sprintf(`{"name":%q,"nodes":%s}`, name, quoted(ranges)))
	}
	return raw("InfrastructureConfig",
		fmt.Sprintf(`"networks":{"topology":"Stretched","nodes":%s},"sites":[%s]`, quoted(nodes), strings.Join(list, ",")))
}

func quoted(list string) string {
	if list == "" {
		return "[]"
	}
	return `["` + strings.ReplaceAll(list, ",", `","`) + `"]`
}

func newShoot(infrastructure *runtime.RawExtension) *gardencorev1beta1.Shoot {
	return &gardencorev1beta1.Shoot{Spec: gardencorev1beta1.ShootSpec{
		Networking: &gardencorev1beta1.Networking{},
		Provider:   gardencorev1beta1.Provider{Type: v1alpha1.ProviderType, InfrastructureConfig: infrastructure},
	}}
}

// withOperation is the status of a Shoot whose last operation has the state, with the conditions that are True.
func withOperation(state gardencorev1beta1.LastOperationState,
	conditions ...gardencorev1beta1.ConditionType) gardencorev1beta1.ShootStatus {
	status := gardencorev1beta1.ShootStatus{LastOperation: &gardencorev1beta1.LastOperation{Type: gardencorev1beta1.LastOperationTypeReconcile,
		State: state}}
	for _, condition := range conditions {
		status.Conditions = append(status.Conditions, gardencorev1beta1.Condition{Type: condition, Status: gardencorev1beta1.ConditionTrue})
	}
	return status
}

// mutate mutates the Shoot twice: the second time must change nothing.
func mutate(shoot, old *gardencorev1beta1.Shoot) {
	GinkgoHelper()
	Expect(tryMutate(shoot, old)).To(Succeed())
	once := shoot.DeepCopy()
	Expect(tryMutate(shoot, old)).To(Succeed())
	Expect(shoot).To(Equal(once))
	Expect(tryMutate(shoot, once.DeepCopy())).To(Succeed())
	Expect(shoot).To(Equal(once))
}

func tryMutate(shoot, old *gardencorev1beta1.Shoot) error {
	if old == nil {
		return mutator.NewShootMutator().Mutate(context.Background(), shoot, nil)
	}
	return mutator.NewShootMutator().Mutate(context.Background(), shoot, old)
}

func ranges(shoot *gardencorev1beta1.Shoot) []string {
	GinkgoHelper()
	config, err := codec.Decode[v1alpha1.InfrastructureConfig](shoot.Spec.Provider.InfrastructureConfig)
	Expect(err).NotTo(HaveOccurred())
	var result []string
	for _, site := range config.Sites {
		result = append(result, site.Name+"="+strings.Join(site.Nodes, ","))
	}
	return result
}

var _ = Describe("Shoots", func() {
	DescribeTable("which are left alone", func(change func(shoot, old *gardencorev1beta1.Shoot) *gardencorev1beta1.Shoot) {
		shoot := newShoot(stretched("10.250.0.0/16", "a", "b"))
		shoot.Spec.Networking.Type = new("calico")
		old := change(shoot, shoot.DeepCopy())
		before := shoot.DeepCopy()
		Expect(tryMutate(shoot, old)).To(Succeed())
		Expect(shoot).To(Equal(before))
	},
		Entry("another provider", func(shoot, _ *gardencorev1beta1.Shoot) *gardencorev1beta1.Shoot {
			shoot.Spec.Provider.Type = "local"
			return nil
		}),
		Entry("being deleted", func(shoot, _ *gardencorev1beta1.Shoot) *gardencorev1beta1.Shoot {
			shoot.DeletionTimestamp = new(metav1.Now())
			return nil
		}),
		Entry("only metadata changed", func(shoot, old *gardencorev1beta1.Shoot) *gardencorev1beta1.Shoot {
			shoot.Labels = map[string]string{"a": "b"}
			return old
		}),
		Entry("no node network and no workers", func(shoot, _ *gardencorev1beta1.Shoot) *gardencorev1beta1.Shoot {
			shoot.Spec.Provider.InfrastructureConfig = nil
			shoot.Spec.Networking = nil
			return nil
		}),
		Entry("what cannot be decoded", func(shoot, _ *gardencorev1beta1.Shoot) *gardencorev1beta1.Shoot {
			shoot.Spec.Provider.InfrastructureConfig = raw("InfrastructureConfig", `"unknown":1`)
			shoot.Spec.Networking.ProviderConfig = &runtime.RawExtension{Raw: []byte(`[]`)}
			shoot.Spec.Provider.Workers = []gardencorev1beta1.Worker{{ProviderConfig: raw("WorkerConfig", `"sites":{}`)}}
			return nil
		}),
	)

	It("should not mutate other objects", func() {
		Expect(mutator.NewShootMutator().Mutate(context.Background(), &gardencorev1beta1.Seed{},
			nil)).To(MatchError(ContainSubstring("*v1beta1.Seed")))
	})

	DescribeTable("overlay", func(networkType, config, expected string) {
		shoot := newShoot(nil)
		if networkType != "" {
			shoot.Spec.Networking.Type = &networkType
		}
		if config != "" {
			shoot.Spec.Networking.ProviderConfig = &runtime.RawExtension{Raw: []byte(config)}
		}
		mutate(shoot, nil)
		if expected == "" {
			Expect(shoot.Spec.Networking.ProviderConfig).To(BeNil())
			return
		}
		Expect(shoot.Spec.Networking.ProviderConfig.Raw).To(MatchJSON(expected))
	},
		Entry("of calico", "calico", "",
			`{"apiVersion":"calico.networking.extensions.gardener.cloud/v1alpha1","kind":"NetworkConfig","overlay":{"enabled":true},`+
				`"vxlan":{"enabled":true}}`),
		Entry("of calico that somebody switched on", "calico", `{"overlay":{"enabled":true}}`,
			`{"overlay":{"enabled":true},"vxlan":{"enabled":true}}`),
		Entry("of calico with another encapsulation", "calico", `{"wireguardEncryption":true}`,
			`{"wireguardEncryption":true,"overlay":{"enabled":true}}`),
		Entry("of calico with a pool of IP in IP, which is refused later", "calico", `{"ipv4":{"mode":"Always"}}`,
			`{"ipv4":{"mode":"Always"},"overlay":{"enabled":true}}`),
		Entry("of cilium", "cilium", "",
			`{"apiVersion":"cilium.networking.extensions.gardener.cloud/v1alpha1","kind":"NetworkConfig","overlay":{"enabled":true}}`),
		Entry("beside other settings, also unknown ones", "cilium", `{"apiVersion":"v9","kind":"X","mtu":1400}`,
			`{"apiVersion":"v9","kind":"X","mtu":1400,"overlay":{"enabled":true}}`),
		Entry("that is null", "calico", `{"overlay":null}`, `{"overlay":{"enabled":true},"vxlan":{"enabled":true}}`),
		Entry("that somebody switched off", "calico", `{"overlay":{"enabled":false}}`, `{"overlay":{"enabled":false}}`),
		Entry("that somebody set without saying whether it is on", "calico", `{"overlay":{"createPodRoutes":true}}`,
			`{"overlay":{"createPodRoutes":true}}`),
		Entry("of another network", "other", "", ""),
		Entry("of no type", "", "", ""),
	)

	It("should not change the encapsulation of nodes that run", func() {
		old := newShoot(nil)
		old.Spec.Networking.Type = new("calico")
		shoot := old.DeepCopy()
		shoot.Spec.Region = "other"
		mutate(shoot, old)
		Expect(shoot.Spec.Networking.ProviderConfig.Raw).NotTo(ContainSubstring("vxlan"))
	})

	DescribeTable("pools", func(sites string, priority, expectedPriority *int32, expectedSites string) {
		shoot := newShoot(nil)
		worker := gardencorev1beta1.Worker{Name: "pool", Minimum: 3, Maximum: 10, Priority: priority}
		if sites != "" {
			worker.ProviderConfig = raw("WorkerConfig", `"sites":[`+sites+`]`)
		}
		shoot.Spec.Provider.Workers = []gardencorev1beta1.Worker{worker}
		mutate(shoot, nil)
		Expect(shoot.Spec.Provider.Workers[0].Priority).To(Equal(expectedPriority))
		if expectedSites == "" {
			Expect(shoot.Spec.Provider.Workers[0].ProviderConfig).To(Equal(worker.ProviderConfig))
			return
		}
		Expect(shoot.Spec.Provider.Workers[0].ProviderConfig.Raw).To(MatchJSON(raw("WorkerConfig", `"sites":[`+expectedSites+`]`).Raw))
	},
		Entry("without configuration", "", nil, nil, ""),
		Entry("without priorities", `{"name":"a"},{"name":"b"}`, nil, nil, ""),
		Entry("with priorities", `{"name":"a","priority":2},{"name":"b","priority":1}`, nil, new(int32(0)), ""),
		Entry("with priorities of sites and their own", `{"name":"a","priority":2}`, new(int32(7)), new(int32(7)), ""),
		Entry("with all limits", `{"name":"a","minimum":1,"maximum":4},{"name":"b","minimum":2,"maximum":6}`, nil, nil, ""),
		Entry("without a maximum", `{"name":"a","minimum":1},{"name":"b","minimum":2,"maximum":6}`, nil, nil,
			`{"name":"a","minimum":1,"maximum":10},{"name":"b","minimum":2,"maximum":6}`),
		Entry("with one minimum to be found", `{"name":"a","minimum":1},{"name":"b"}`, nil, nil,
			`{"name":"a","minimum":1,"maximum":10},{"name":"b","minimum":2,"maximum":10}`),
		Entry("with minima that are used up", `{"name":"a","minimum":3},{"name":"b"},{"name":"c","maximum":4}`, nil, nil,
			`{"name":"a","minimum":3,"maximum":10},{"name":"b","minimum":0,"maximum":10},{"name":"c","minimum":0,"maximum":4}`),
		Entry("with minima that could be several", `{"name":"a","maximum":4},{"name":"b","maximum":6}`, nil, nil, ""),
		Entry("with minima that are too many", `{"name":"a","minimum":4,"maximum":4},{"name":"b","maximum":6}`, nil, nil, ""),
	)

	Describe("node ranges", func() {
		DescribeTable("of new Shoots", func(nodes string, sites, expected []string) {
			shoot := newShoot(stretched(nodes, sites...))
			mutate(shoot, nil)
			Expect(ranges(shoot)).To(Equal(expected))
		},
			Entry("one site leaves room for others", "10.250.0.0/16", []string{"a"}, []string{"a=10.250.0.0/18"}),
			Entry("two sites", "10.250.0.0/16", []string{"a", "b"}, []string{"a=10.250.0.0/18", "b=10.250.64.0/18"}),
			Entry("three sites", "10.250.0.0/16", []string{"a", "b", "c"}, []string{"a=10.250.0.0/18", "b=10.250.64.0/18", "c=10.250.128.0/18"}),
			Entry("four sites", "10.250.0.0/16", []string{"a", "b", "c", "d"},
				[]string{"a=10.250.0.0/19", "b=10.250.32.0/19", "c=10.250.64.0/19", "d=10.250.96.0/19"}),
			Entry("IPv6 only", "fd00:10::/64", []string{"a", "b"}, []string{"a=fd00:10::/66", "b=fd00:10:0:0:4000::/66"}),
			Entry("both IP families", "10.250.0.0/16,fd00:10::/64", []string{"a", "b"},
				[]string{"a=10.250.0.0/18,fd00:10::/66", "b=10.250.64.0/18,fd00:10:0:0:4000::/66"}),
			Entry("a range that somebody gave", "10.250.0.0/16", []string{"a", "b=10.250.0.0/18", "c"},
				[]string{"a=10.250.64.0/18", "b=10.250.0.0/18", "c=10.250.128.0/18"}),
			Entry("a small one in the way", "10.250.0.0/16", []string{"a=10.250.10.0/24", "b"}, []string{"a=10.250.10.0/24", "b=10.250.64.0/18"}),
			Entry("a large one in the way", "10.250.0.0/16", []string{"a=10.250.0.0/17", "b"}, []string{"a=10.250.0.0/17", "b=10.250.128.0/18"}),
			Entry("smaller than even if there is no other", "10.250.0.0/16",
				[]string{"a=10.250.0.0/17", "b=10.250.128.0/18", "c=10.250.192.0/19", "d=10.250.224.0/20", "e"},
				[]string{"a=10.250.0.0/17", "b=10.250.128.0/18", "c=10.250.192.0/19", "d=10.250.224.0/20", "e=10.250.240.0/20"}),
			Entry("a network that is tiny", "10.250.0.0/28", []string{"a", "b"}, []string{"a=10.250.0.0/29", "b=10.250.0.8/29"}),
			Entry("a network too small for anything", "10.250.0.0/30", []string{"a"}, []string{"a=10.250.0.0/30"}),
			Entry("at the end of all addresses", "255.255.255.0/24", []string{"a=255.255.255.0/25", "b=255.255.255.128/26", "c"},
				[]string{"a=255.255.255.0/25", "b=255.255.255.128/26", "c=255.255.255.192/26"}),
			Entry("no CIDR", "10.250.0.0", []string{"a"}, []string{"a="}),
			Entry("host bits", "10.250.0.1/16", []string{"a"}, []string{"a="}),
		)

		DescribeTable("of Shoots that change", func(before, sites, expected []string) {
			old := newShoot(stretched("10.250.0.0/16", before...))
			shoot := newShoot(stretched("10.250.0.0/16", sites...))
			mutate(shoot, old)
			Expect(ranges(shoot)).To(Equal(expected))
		},
			Entry("a manifest without ranges is applied again", []string{"a=10.250.64.0/18", "b=10.250.128.0/20"}, []string{"a", "b"},
				[]string{"a=10.250.64.0/18", "b=10.250.128.0/20"}),
			Entry("sites in another order", []string{"a=10.250.0.0/18", "b=10.250.64.0/18"}, []string{"b", "a"},
				[]string{"b=10.250.64.0/18", "a=10.250.0.0/18"}),
			Entry("a site is added", []string{"a=10.250.0.0/18", "b=10.250.64.0/18"}, []string{"c", "a", "b"},
				[]string{"c=10.250.128.0/18", "a=10.250.0.0/18", "b=10.250.64.0/18"}),
			Entry("a fourth site is added", []string{"a=10.250.0.0/18", "b=10.250.64.0/18", "c=10.250.128.0/18"}, []string{"a", "b", "c", "d"},
				[]string{"a=10.250.0.0/18", "b=10.250.64.0/18", "c=10.250.128.0/18", "d=10.250.192.0/19"}),
			Entry("a site is removed", []string{"a=10.250.0.0/18", "b=10.250.64.0/18", "c=10.250.128.0/18"}, []string{"a", "c"},
				[]string{"a=10.250.0.0/18", "c=10.250.128.0/18"}),
			Entry("a site takes the place of another one, whose nodes are still there", []string{"a=10.250.0.0/18", "b=10.250.64.0/18"},
				[]string{"a", "c"},
				[]string{"a=10.250.0.0/18", "c=10.250.128.0/18"}),
			Entry("a range is changed, which validation refuses", []string{"a=10.250.0.0/18"}, []string{"a=10.250.64.0/18"},
				[]string{"a=10.250.64.0/18"}),
		)

		// A site that was removed before is not in the old Shoot, which may still have its nodes.
		DescribeTable("of Shoots that may have nodes of a removed site",
			func(status gardencorev1beta1.ShootStatus, sites, expected []string, reason string) {
				old := newShoot(stretched("10.250.0.0/16", "a=10.250.0.0/18"))
				old.Status = status
				shoot := newShoot(stretched("10.250.0.0/16", sites...))
				shoot.Status = status
				if reason == "" {
					mutate(shoot, old)
					Expect(ranges(shoot)).To(Equal(expected))
					return
				}
				Expect(tryMutate(shoot, old)).To(MatchError(
					`spec.provider.infrastructureConfig.sites[1].nodes: Required value: must be set for site "c": the Shoot may still have nodes of a ` +
						`removed site in networks.nodes: ` + reason))
			},
			Entry("a site is added while the last operation runs", withOperation("Processing"), []string{"a", "c"}, nil,
				"its last operation Reconcile has not succeeded"),
			Entry("a site is added while the nodes are not ready", withOperation("Succeeded", "ControlPlaneHealthy"), []string{"a", "c"}, nil,
				"its condition EveryNodeReady is not True"),
			Entry("a site is added with its range", withOperation("Processing"), []string{"a", "c=10.250.128.0/18"},
				[]string{"a=10.250.0.0/18", "c=10.250.128.0/18"}, ""),
			Entry("no site is added", withOperation("Processing"), []string{"a"}, []string{"a=10.250.0.0/18"}, ""),
			Entry("a site is added when all is well", withOperation("Succeeded", "ControlPlaneHealthy", "EveryNodeReady"), []string{"a", "c"},
				[]string{"a=10.250.0.0/18", "c=10.250.64.0/18"}, ""),
			Entry("a site is added before anything was made", gardencorev1beta1.ShootStatus{}, []string{"a", "c"},
				[]string{"a=10.250.0.0/18", "c=10.250.64.0/18"}, ""),
		)

		It("should keep off the addresses of load balancers", func() {
			shoot := newShoot(stretched("10.250.0.0/16", "a", "b"))
			shoot.Spec.Provider.ControlPlaneConfig = raw("ControlPlaneConfig",
				`"sites":[{"name":"a","loadBalancer":{"metalLB":{"addressPools":[{"name":"x","cidrs":["10.250.0.100-10.250.0.120","10.250.65.0/24",`+
					`"?"],"advertisement":"L2"}]}}},{"name":"b"}]`)
			mutate(shoot, nil)
			Expect(ranges(shoot)).To(Equal([]string{"a=10.250.128.0/18", "b=10.250.192.0/18"}))
		})

		It("should say which site finds no room", func() {
			shoot := newShoot(stretched("10.250.0.0/16", "a=10.250.0.0/17", "b=10.250.128.0/17", "c"))
			Expect(tryMutate(shoot, nil)).To(MatchError(And(
				HavePrefix("spec.provider.infrastructureConfig.sites[2].nodes: "),
				ContainSubstring(`networks.nodes 10.250.0.0/16 has no free range of /24 or larger for site "c"`))))
		})

		It("should not divide a Routed network", func() {
			shoot := newShoot(raw("InfrastructureConfig", `"networks":{"topology":"Routed"},"sites":[{"name":"a","nodes":[]}]`))
			before := shoot.DeepCopy()
			mutate(shoot, nil)
			Expect(shoot).To(Equal(before))
		})

		DescribeTable("of the network", func(network, shootNodes, oldNetwork, expectedNetwork, expectedShootNodes string) {
			shoot := newShoot(stretched(network, "a"))
			if shootNodes != "" {
				shoot.Spec.Networking.Nodes = &shootNodes
			}
			var old *gardencorev1beta1.Shoot
			if oldNetwork != "" {
				old = newShoot(stretched(oldNetwork, "a=10.250.0.0/24"))
			}
			mutate(shoot, old)
			config, err := codec.Decode[v1alpha1.InfrastructureConfig](shoot.Spec.Provider.InfrastructureConfig)
			Expect(err).NotTo(HaveOccurred())
			Expect(strings.Join(config.Networks.Nodes, ",")).To(Equal(expectedNetwork))
			if expectedShootNodes == "" {
				Expect(shoot.Spec.Networking.Nodes).To(BeNil())
			} else {
				Expect(shoot.Spec.Networking.Nodes).To(HaveValue(Equal(expectedShootNodes)))
			}
		},
			Entry("that of the Shoot", "", "10.250.0.0/16", "", "10.250.0.0/16", "10.250.0.0/16"),
			Entry("the Shoot's that of the network", "10.250.0.0/16", "", "", "10.250.0.0/16", "10.250.0.0/16"),
			Entry("the Shoot's the first one of two families", "10.250.0.0/16,fd00:10::/64", "", "", "10.250.0.0/16,fd00:10::/64", "10.250.0.0/16"),
			Entry("as it was", "", "10.250.0.0/16", "10.250.0.0/16,fd00:10::/64", "10.250.0.0/16,fd00:10::/64", "10.250.0.0/16"),
			Entry("two that differ, which validation refuses", "10.250.0.0/16", "10.251.0.0/16", "", "10.250.0.0/16", "10.251.0.0/16"),
			Entry("nobody gave one", "", "", "", "", ""),
			Entry("no CIDR", "x", "", "", "x", ""),
		)
	})
})
