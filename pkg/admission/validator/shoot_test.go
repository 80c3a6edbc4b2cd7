// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package validator_test

import (
	"context"
	"errors"
	"slices"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	. "github.com/gardener/gardener-extension-provider-hybrid/pkg/admission/validator"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
)

const (
	batch, general      = 0, 1
	cloud, vc, racks    = 0, 1, 2
	infrastructureField = "spec.provider.infrastructureConfig"
	controlPlaneField   = "spec.provider.controlPlaneConfig"
)

var _ = Describe("Shoots", func() {
	var g *garden

	BeforeEach(func() { g = newGarden() })

	// validate has no old Shoot if it is nil.
	validate := func(ctx context.Context, shoot, old *gardencorev1beta1.Shoot) error {
		var before client.Object
		if old != nil {
			before = old
		}
		return NewShootValidatorFor(g.cache(), g.secrets()).Validate(ctx, shoot, before)
	}
	beRefused := func(err error, path, reason string) {
		GinkgoHelper()
		Expect(err).To(MatchError(And(ContainSubstring(path+": "), ContainSubstring(reason))))
	}

	DescribeTable("new ones that are refused", func(ctx SpecContext, change func(*gardencorev1beta1.Shoot), path, reason string) {
		change(g.shoot)
		beRefused(validate(ctx, g.shoot, nil), path, reason)
	},
		Entry("no infrastructureConfig", func(s *gardencorev1beta1.Shoot) { s.Spec.Provider.InfrastructureConfig = nil }, infrastructureField,
			"must be an InfrastructureConfig"),
		Entry("infrastructureConfig of another kind", func(s *gardencorev1beta1.Shoot) {
			s.Spec.Provider.InfrastructureConfig = s.Spec.Provider.ControlPlaneConfig
		}, infrastructureField, "ControlPlaneConfig"),
		Entry("unknown field", func(s *gardencorev1beta1.Shoot) {
			s.Spec.Provider.InfrastructureConfig = &runtime.RawExtension{Raw: []byte(
				`{"apiVersion":"hybrid.provider.extensions.gardener.cloud/v1alpha1","kind":"InfrastructureConfig","size":1}`)}
		}, infrastructureField, `unknown field "size"`),
		Entry("network data of another inventory", func(s *gardencorev1beta1.Shoot) {
			editInfrastructure(s, func(c *v1alpha1.InfrastructureConfig) {
				c.Sites[racks].Metal.NetworkDataTemplate = "[Match]\nMACAddress=$MAC\n[Network]\nAddress=$ADDRESS/$PREFIX\n"
			})
		}, infrastructureField+".sites[2].metal.networkDataTemplate", `must be what inventory "Metal3" of site "racks" accepts`),
		Entry("unknown site", func(s *gardencorev1beta1.Shoot) {
			editInfrastructure(s, func(c *v1alpha1.InfrastructureConfig) { c.Sites[vc].Name = "moon" })
		}, infrastructureField+".sites[1].name", `supported values: "cloud", "vc", "racks"`),
		Entry("nodes of the Shoot that are not those of the network",
			func(s *gardencorev1beta1.Shoot) { s.Spec.Networking.Nodes = new("10.251.0.0/16") },
			infrastructureField+".networks.nodes", "spec.networking.nodes"),
		Entry("no controlPlaneConfig", func(s *gardencorev1beta1.Shoot) { s.Spec.Provider.ControlPlaneConfig = nil },
			controlPlaneField+".defaultSite", "must be one of"),
		Entry("controlPlaneConfig that cannot be decoded", func(s *gardencorev1beta1.Shoot) { s.Spec.Provider.ControlPlaneConfig = broken() },
			controlPlaneField, "ControlPlaneConfig"),
		Entry("zone of a site that the Shoot does not use", func(s *gardencorev1beta1.Shoot) {
			editInfrastructure(s, func(c *v1alpha1.InfrastructureConfig) { c.Sites = c.Sites[:racks] })
			editControlPlane(s, func(c *v1alpha1.ControlPlaneConfig) { c.Sites = c.Sites[:1] })
		}, "spec.provider.workers[0].zones[0]", `belongs to site "racks"`),
		Entry("machine type that one site does not have",
			func(s *gardencorev1beta1.Shoot) { s.Spec.Provider.Workers[batch].Machine.Type = "std-4" },
			"spec.provider.workers[0].machine.type", `site "racks"`),
		Entry("load balancer for a control plane on several sites", expose(batch),
			"spec.provider.workers[0].controlPlane.exposure.extension", "set exposure.dns instead"),
		Entry("WorkerConfig", func(s *gardencorev1beta1.Shoot) {
			editWorker(s, batch, func(c *v1alpha1.WorkerConfig) { c.Sites[0].Maximum = new(int32(71)) })
		}, "spec.provider.workers[0].providerConfig.sites[0].maximum", "pool's maximum, which is 70"),
		Entry("no overlay", func(s *gardencorev1beta1.Shoot) {
			s.Spec.Networking.ProviderConfig = &runtime.RawExtension{Raw: []byte(`{"overlay":{"enabled":false}}`)}
		}, "spec.networking.providerConfig.overlay.enabled", "must be true"),
		Entry("MTU that one site does not carry", func(s *gardencorev1beta1.Shoot) {
			s.Spec.Networking.ProviderConfig = &runtime.RawExtension{Raw: []byte(`{"mtu":1500}`)}
		}, "spec.networking.providerConfig.mtu", "must not be greater than 1450"),
		Entry("more nodes than ranges for pods", func(s *gardencorev1beta1.Shoot) {
			s.Spec.Networking.Pods = new("100.96.0.0/18")
		}, "spec.kubernetes.kubeControllerManager.nodeCIDRMaskSize",
			"64 nodes in spec.networking.pods, which is 100.96.0.0/18, but the maxima of all pools and sites add up to 74"),
	)

	It("may keep, but not get, sites in their own ranges and network data that the inventory does not accept", func(ctx SpecContext) {
		editProfile(g, func(c *v1alpha1.CloudProfileConfig) { c.Sites[vc].VSphere.Server = "https://10.250.200.9" })
		const inNodes = "the API of the site is at 10.250.200.9, which is in the range 10.250.0.0/16 of the Shoot's nodes"
		beRefused(validate(ctx, g.shoot, nil), infrastructureField+".sites[1].name", inNodes)

		editInfrastructure(g.shoot, func(c *v1alpha1.InfrastructureConfig) { c.Sites[racks].Metal.NetworkDataTemplate = "$ADDRESS" })
		old := g.shoot.DeepCopy()
		g.shoot.Spec.Provider.Workers[general].Maximum++
		editInfrastructure(g.shoot, func(c *v1alpha1.InfrastructureConfig) { c.Sites[cloud].DNSServers = []string{"192.0.2.54"} })
		Expect(validate(ctx, g.shoot, old)).To(Succeed())

		editInfrastructure(old, func(c *v1alpha1.InfrastructureConfig) { c.Sites = slices.Delete(c.Sites, vc, racks) })
		old.Spec.Provider.Workers = old.Spec.Provider.Workers[:1]
		beRefused(validate(ctx, g.shoot, old), infrastructureField+".sites[1].name", inNodes)
	})

	DescribeTable("changes that are refused", func(ctx SpecContext, change func(*gardencorev1beta1.Shoot), path, reason string) {
		old := g.shoot.DeepCopy()
		change(g.shoot)
		beRefused(validate(ctx, g.shoot, old), path, reason)
	},
		Entry("topology", func(s *gardencorev1beta1.Shoot) {
			editInfrastructure(s, func(c *v1alpha1.InfrastructureConfig) {
				c.Networks.Topology, c.Networks.Nodes, c.Networks.Gateway = v1alpha1.TopologyRouted, nil, ""
			})
		}, infrastructureField+".networks.topology", "field is immutable"),
		Entry("nodes of a site", func(s *gardencorev1beta1.Shoot) {
			editInfrastructure(s, func(c *v1alpha1.InfrastructureConfig) { c.Sites[vc].Nodes = []string{"10.250.192.0/19"} })
		}, infrastructureField+".sites[1].nodes", "field is immutable"),
		Entry("a site that pools use", func(s *gardencorev1beta1.Shoot) {
			editInfrastructure(s, func(c *v1alpha1.InfrastructureConfig) { c.Sites = c.Sites[:racks] })
			editControlPlane(s, func(c *v1alpha1.ControlPlaneConfig) { c.Sites = c.Sites[:1] })
		}, infrastructureField+".sites", `site "racks" must not be removed: the pools ["batch"] have zones of it`),
		Entry("zones", func(s *gardencorev1beta1.Shoot) {
			s.Spec.Provider.Workers[general].Zones = append(s.Spec.Provider.Workers[general].Zones, "rack-1")
		}, "spec.provider.workers[1].machine.type", `site "racks"`),
		Entry("image", func(s *gardencorev1beta1.Shoot) {
			s.Spec.Provider.Workers[general].Machine.Image.Version = new("9.0.0")
		},
			"spec.provider.workers[1].machine.image", `site "cloud"`),
		Entry("new pool", func(s *gardencorev1beta1.Shoot) {
			pool := s.Spec.Provider.Workers[general].DeepCopy()
			pool.Name, pool.Zones = "new", []string{"moon-1"}
			s.Spec.Provider.Workers = append(s.Spec.Provider.Workers, *pool)
		}, "spec.provider.workers[2].zones[0]", "supported values"),
		Entry("data volumes of a pool that is updated in place", func(s *gardencorev1beta1.Shoot) {
			s.Spec.Provider.Workers[general].UpdateStrategy = new(gardencorev1beta1.AutoInPlaceUpdate)
			s.Spec.Provider.Workers[general].DataVolumes[0].VolumeSize = "200Gi"
		}, "spec.provider.workers[1].dataVolumes", "field is immutable"),
		Entry("more machines than ranges for pods", func(s *gardencorev1beta1.Shoot) {
			s.Spec.Networking.Pods = new("100.96.0.0/18")
			s.Spec.Provider.Workers[general].Maximum = 40
		}, "spec.kubernetes.kubeControllerManager.nodeCIDRMaskSize", "64 nodes"),
	)

	DescribeTable("changes that are accepted", func(ctx SpecContext, change func(*gardencorev1beta1.Shoot)) {
		old := g.shoot.DeepCopy()
		change(g.shoot)
		Expect(validate(ctx, g.shoot, old)).To(Succeed())
	},
		Entry("none", func(*gardencorev1beta1.Shoot) {}),
		Entry("maximum of a pool", func(s *gardencorev1beta1.Shoot) { s.Spec.Provider.Workers[general].Maximum = 8 }),
		Entry("order of pools", func(s *gardencorev1beta1.Shoot) {
			w := s.Spec.Provider.Workers
			w[batch], w[general] = w[general], w[batch]
		}),
		Entry("a site that no pool uses any more", func(s *gardencorev1beta1.Shoot) {
			s.Spec.Provider.Workers = s.Spec.Provider.Workers[general:]
			editInfrastructure(s, func(c *v1alpha1.InfrastructureConfig) { c.Sites = c.Sites[:racks] })
			editControlPlane(s, func(c *v1alpha1.ControlPlaneConfig) { c.Sites = c.Sites[:1] })
		}),
		Entry("resolvers of a site", func(s *gardencorev1beta1.Shoot) {
			editInfrastructure(s, func(c *v1alpha1.InfrastructureConfig) { c.Sites[vc].DNSServers = []string{"192.0.2.1"} })
		}),
		Entry("no workers any more", func(s *gardencorev1beta1.Shoot) { s.Spec.Provider.Workers = nil }),
	)

	It("may keep, but not get, the exposure of a control plane on several sites", func(ctx SpecContext) {
		old := g.shoot.DeepCopy()
		expose(batch)(g.shoot)
		beRefused(validate(ctx, g.shoot, old), "spec.provider.workers[0].controlPlane.exposure.extension", "set exposure.dns instead")
		expose(batch)(old)
		g.shoot.Spec.Provider.Workers[general].Maximum++
		Expect(validate(ctx, g.shoot, old)).To(Succeed())
	})

	It("adds a site to a running shoot", func(ctx SpecContext) {
		old := g.shoot.DeepCopy()
		editInfrastructure(old, func(c *v1alpha1.InfrastructureConfig) { c.Sites = c.Sites[:racks] })
		editControlPlane(old, func(c *v1alpha1.ControlPlaneConfig) { c.Sites = c.Sites[:1] })
		old.Spec.Provider.Workers = old.Spec.Provider.Workers[general:]
		Expect(validate(ctx, g.shoot, old)).To(Succeed())

		delete(g.secret.Data, "racks.token")
		beRefused(validate(ctx, g.shoot, old), "spec.credentialsBindingName[racks.token]", `site "racks" needs the keys`)
	})

	Describe("what always passes", func() {
		BeforeEach(func() { g.shoot.Spec.Provider.InfrastructureConfig = broken() })

		It("does if the Shoot is of another type", func(ctx SpecContext) {
			g.shoot.Spec.Provider.Type = "other"
			Expect(validate(ctx, g.shoot, nil)).To(Succeed())
		})
		It("does if the Shoot has no workers", func(ctx SpecContext) {
			g.shoot.Spec.Provider.Workers = nil
			Expect(validate(ctx, g.shoot, nil)).To(Succeed())
		})
		It("does if the Shoot is being deleted", func(ctx SpecContext) {
			old := g.shoot.DeepCopy()
			g.shoot.DeletionTimestamp = new(metav1.Now())
			g.shoot.Spec.Provider.Workers[batch].Zones = nil
			Expect(validate(ctx, g.shoot, old)).To(Succeed())
		})
		It("does if nothing but metadata changes, and reads nothing", func(ctx SpecContext) {
			old := g.shoot.DeepCopy()
			g.shoot.Annotations = map[string]string{"gardener.cloud/operation": "reconcile"}
			Expect(NewShootValidatorFor(nil, nil).Validate(ctx, g.shoot, old)).To(Succeed())
		})
		It("does if something changes that is not of the provider, and reads nothing", func(ctx SpecContext) {
			old := g.shoot.DeepCopy()
			g.shoot.Spec.Kubernetes.Version = "1.99.0"
			g.shoot.Spec.Hibernation = &gardencorev1beta1.Hibernation{Enabled: new(true)}
			Expect(NewShootValidatorFor(nil, nil).Validate(ctx, g.shoot, old)).To(Succeed())
		})
	})

	Describe("what was wrong before", func() {
		var old *gardencorev1beta1.Shoot

		unchanged := func(ctx SpecContext, change func(*gardencorev1beta1.Shoot)) {
			GinkgoHelper()
			old = g.shoot.DeepCopy()
			change(g.shoot)
			Expect(validate(ctx, g.shoot, old)).To(Succeed())
		}

		DescribeTable("stays if another field changes", func(ctx SpecContext, spoil, change func(*gardencorev1beta1.Shoot)) {
			spoil(g.shoot)
			Expect(validate(ctx, g.shoot, nil)).NotTo(Succeed())
			unchanged(ctx, change)
		},
			Entry("infrastructureConfig, maximum", func(s *gardencorev1beta1.Shoot) { s.Spec.Provider.InfrastructureConfig = broken() },
				func(s *gardencorev1beta1.Shoot) { s.Spec.Provider.Workers[general].Maximum = 8 }),
			Entry("infrastructureConfig, zones", func(s *gardencorev1beta1.Shoot) { s.Spec.Provider.InfrastructureConfig = broken() },
				func(s *gardencorev1beta1.Shoot) { s.Spec.Provider.Workers[general].Zones = []string{"cloud-a"} }),
			Entry("infrastructureConfig, nodes that Gardener sets", func(s *gardencorev1beta1.Shoot) {
				s.Spec.Provider.InfrastructureConfig, s.Spec.Networking.Nodes = broken(), nil
			}, func(s *gardencorev1beta1.Shoot) { s.Spec.Networking.Nodes = new("10.250.0.0/16") }),
			Entry("infrastructureConfig, controlPlaneConfig", func(s *gardencorev1beta1.Shoot) { s.Spec.Provider.InfrastructureConfig = broken() },
				func(s *gardencorev1beta1.Shoot) {
					editControlPlane(s, func(c *v1alpha1.ControlPlaneConfig) { c.Sites = nil })
				}),
			Entry("controlPlaneConfig, infrastructureConfig", func(s *gardencorev1beta1.Shoot) { s.Spec.Provider.ControlPlaneConfig = broken() },
				func(s *gardencorev1beta1.Shoot) {
					editInfrastructure(s, func(c *v1alpha1.InfrastructureConfig) { c.Sites[vc].DNSServers = []string{"192.0.2.1"} })
				}),
			Entry("WorkerConfig, maximum", func(s *gardencorev1beta1.Shoot) { s.Spec.Provider.Workers[general].ProviderConfig = broken() },
				func(s *gardencorev1beta1.Shoot) { s.Spec.Provider.Workers[general].Maximum = 8 }),
			Entry("WorkerConfig, zones", func(s *gardencorev1beta1.Shoot) { s.Spec.Provider.Workers[general].ProviderConfig = broken() },
				func(s *gardencorev1beta1.Shoot) { s.Spec.Provider.Workers[general].Zones = []string{"cloud-a"} }),
			Entry("WorkerConfig, another pool", func(s *gardencorev1beta1.Shoot) { s.Spec.Provider.Workers[general].ProviderConfig = broken() },
				func(s *gardencorev1beta1.Shoot) {
					s.Spec.Provider.Workers[batch].Minimum = 2
					s.Spec.Provider.Workers[batch].MaxSurge = nil
					s.Spec.Provider.Workers[batch].Labels = map[string]string{"a": "b"}
				}),
			Entry("image, maximum", func(s *gardencorev1beta1.Shoot) {
				s.Spec.Provider.Workers[general].Machine.Image.Version = new("0.1.0")
			},
				func(s *gardencorev1beta1.Shoot) { s.Spec.Provider.Workers[general].Maximum = 8 }),
			Entry("site that the CloudProfile does not have, another site", func(s *gardencorev1beta1.Shoot) {
				editInfrastructure(s, func(c *v1alpha1.InfrastructureConfig) {
					c.Sites = append(c.Sites, v1alpha1.InfrastructureSite{Name: "gone", Nodes: []string{"10.250.192.0/24"}})
				})
			}, func(s *gardencorev1beta1.Shoot) {
				editInfrastructure(s, func(c *v1alpha1.InfrastructureConfig) { c.Sites[vc].DNSServers = []string{"192.0.2.1"} })
			}),
			Entry("floating pool, another site is removed", func(s *gardencorev1beta1.Shoot) {
				editInfrastructure(s, func(c *v1alpha1.InfrastructureConfig) {
					c.Sites = []v1alpha1.InfrastructureSite{c.Sites[vc], c.Sites[racks], c.Sites[cloud]}
					c.Sites[2].OpenStack.FloatingPoolName = "gone"
				})
			}, func(s *gardencorev1beta1.Shoot) {
				s.Spec.Provider.Workers = s.Spec.Provider.Workers[:general]
				editInfrastructure(s, func(c *v1alpha1.InfrastructureConfig) { c.Sites = c.Sites[1:] })
			}),
			Entry("floating pool, a site is put before it", func(s *gardencorev1beta1.Shoot) {
				s.Spec.Provider.Workers = s.Spec.Provider.Workers[:general]
				editInfrastructure(s, func(c *v1alpha1.InfrastructureConfig) {
					c.Sites = []v1alpha1.InfrastructureSite{c.Sites[racks], c.Sites[cloud]}
					c.Sites[1].OpenStack.FloatingPoolName = "gone"
				})
			}, func(s *gardencorev1beta1.Shoot) {
				editInfrastructure(s, func(c *v1alpha1.InfrastructureConfig) {
					c.Sites = append([]v1alpha1.InfrastructureSite{{Name: "vc", Nodes: []string{"10.250.64.0/18"}}}, c.Sites...)
				})
			}),
			Entry("load balancers, those of another site go", func(s *gardencorev1beta1.Shoot) {
				editControlPlane(s, func(c *v1alpha1.ControlPlaneConfig) {
					c.Sites[0], c.Sites[1] = c.Sites[1], c.Sites[0]
					c.Sites[1].LoadBalancer.OpenStack.Provider = "gone"
				})
			}, func(s *gardencorev1beta1.Shoot) {
				editControlPlane(s, func(c *v1alpha1.ControlPlaneConfig) { c.Sites = c.Sites[1:] })
			}),
			Entry("overlay, a pool", func(s *gardencorev1beta1.Shoot) {
				s.Spec.Networking.ProviderConfig = &runtime.RawExtension{Raw: []byte(`{"overlay":{"enabled":false}}`)}
			}, func(s *gardencorev1beta1.Shoot) { s.Spec.Provider.Workers[general].Maximum = 8 }),
		)

		It("does not hide what is wrong now", func(ctx SpecContext) {
			g.shoot.Spec.Provider.Workers[general].Machine.Image.Version = new("0.1.0")
			old = g.shoot.DeepCopy()
			g.shoot.Spec.Provider.Workers[general].Zones = []string{"cloud-a"}
			beRefused(validate(ctx, g.shoot, old), "spec.provider.workers[1].machine.image", `site "cloud"`)
		})

		It("does not hide the same mistake of the site that takes its place", func(ctx SpecContext) {
			g.shoot.Spec.Provider.Workers = g.shoot.Spec.Provider.Workers[:general]
			editInfrastructure(g.shoot, func(c *v1alpha1.InfrastructureConfig) { c.Sites[vc].DNSServers = []string{"gone"} })
			old = g.shoot.DeepCopy()
			editInfrastructure(g.shoot, func(c *v1alpha1.InfrastructureConfig) {
				c.Sites = []v1alpha1.InfrastructureSite{c.Sites[cloud], c.Sites[racks]}
				c.Sites[1].DNSServers = []string{"gone"}
			})
			beRefused(validate(ctx, g.shoot, old), infrastructureField+".sites[1].dnsServers[0]", "must be an IP address")
		})

		It("is judged again with another CloudProfile", func(ctx SpecContext) {
			g.shoot.Spec.Provider.Workers[general].Machine.Image.Version = new("0.1.0")
			old = g.shoot.DeepCopy()
			old.Spec.CloudProfile.Name = "other"
			beRefused(validate(ctx, g.shoot, old), "spec.provider.workers[1].machine.image", `site "cloud"`)
		})

		It("is not the order of fields", func(ctx SpecContext) {
			old = g.shoot.DeepCopy()
			editInfrastructure(old, func(*v1alpha1.InfrastructureConfig) {})
			Expect(NewShootValidatorFor(nil, nil).Validate(ctx, g.shoot, old)).To(Succeed())
		})
	})

	Describe("credentials", func() {
		It("must be there for each site", func(ctx SpecContext) {
			delete(g.secret.Data, "vc.password")
			err := validate(ctx, g.shoot, nil)
			beRefused(err, "spec.credentialsBindingName[vc.password]", `site "vc" needs the keys vc.username, vc.password`)
			Expect(err.Error()).NotTo(ContainSubstring(string(g.secret.Data["vc.username"])))
		})

		It("must be a login that the CSI driver for vSphere takes", func(ctx SpecContext) {
			g.secret.Data["vc.username"] = []byte("hush")
			err := validate(ctx, g.shoot, nil)
			beRefused(err, "spec.credentialsBindingName[vc.username]", "must be <user>@<domain>")
			Expect(err.Error()).NotTo(ContainSubstring("hush"))

			old := g.shoot.DeepCopy()
			editInfrastructure(old, func(c *v1alpha1.InfrastructureConfig) { c.Sites = c.Sites[:vc] })
			beRefused(validate(ctx, g.shoot, old), "spec.credentialsBindingName[vc.username]", "must be <user>@<domain>")
		})

		It("may be in the Secret of a SecretBinding", func(ctx SpecContext) {
			g.shoot.Spec.CredentialsBindingName, g.shoot.Spec.SecretBindingName = nil, new("old")
			g.others = []client.Object{&gardencorev1beta1.SecretBinding{
				ObjectMeta: metav1.ObjectMeta{Namespace: g.shoot.Namespace, Name: "old"},
				SecretRef:  corev1.SecretReference{Namespace: g.secret.Namespace, Name: g.secret.Name},
			}}
			Expect(validate(ctx, g.shoot, nil)).To(Succeed())
			delete(g.secret.Data, "vc.password")
			beRefused(validate(ctx, g.shoot, nil), "spec.secretBindingName[vc.password]", "needs the keys")
		})

		It("are no WorkloadIdentity", func(ctx SpecContext) {
			g.binding.CredentialsRef.APIVersion, g.binding.CredentialsRef.Kind = "security.gardener.cloud/v1alpha1", "WorkloadIdentity"
			beRefused(validate(ctx, g.shoot, nil), "spec.credentialsBindingName", "WorkloadIdentity")
		})

		It("are not asked for if there is no binding or no Secret, which Gardener tells", func(ctx SpecContext) {
			g.secret = nil
			Expect(validate(ctx, g.shoot, nil)).To(Succeed())
			g.binding = nil
			Expect(validate(ctx, g.shoot, nil)).To(Succeed())
			g.shoot.Spec.CredentialsBindingName = nil
			Expect(validate(ctx, g.shoot, nil)).To(Succeed())
		})

		It("are read only when the sites or the binding change", func(ctx SpecContext) {
			down := interceptor.NewClient(g.secrets().(client.WithWatch), interceptor.Funcs{
				Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
					return errors.New("nothing is read")
				},
			})
			old := g.shoot.DeepCopy()
			g.shoot.Spec.Provider.Workers[general].Maximum = 8
			Expect(NewShootValidatorFor(g.cache(), down).Validate(ctx, g.shoot, old)).To(Succeed())
			g.shoot.Spec.CredentialsBindingName = new("new")
			beRefused(NewShootValidatorFor(g.cache(), down).Validate(ctx, g.shoot, old), "spec.credentialsBindingName", "nothing is read")
		})

		It("stay required for a site whose objects may be left", func(ctx SpecContext) {
			old := g.shoot.DeepCopy()
			editInfrastructure(old, func(c *v1alpha1.InfrastructureConfig) { c.Sites = c.Sites[:racks] })
			editControlPlane(old, func(c *v1alpha1.ControlPlaneConfig) { c.Sites = c.Sites[:1] })
			old.Spec.Provider.Workers = old.Spec.Provider.Workers[general:]
			old.Status.LastOperation = &gardencorev1beta1.LastOperation{Type: "Reconcile", State: "Processing"}
			g.shoot.Spec = *old.Spec.DeepCopy()
			g.shoot.Spec.CredentialsBindingName = new("new")
			secret, binding := g.secret.DeepCopy(), g.binding.DeepCopy()
			secret.Name, binding.Name, binding.CredentialsRef.Name = "new", "new", "new"
			delete(secret.Data, "racks.token")
			g.others = []client.Object{secret, binding}
			beRefused(validate(ctx, g.shoot, old), "spec.credentialsBindingName[racks.token]", "may have objects on the site")
			editProfile(g, func(c *v1alpha1.CloudProfileConfig) { c.Sites = c.Sites[:racks] })
			beRefused(validate(ctx, g.shoot, old), "spec.credentialsBindingName[racks.token]", "may have objects on the site")

			old.Status.LastOperation = nil
			Expect(validate(ctx, g.shoot, old)).To(Succeed())
		})
	})

	It("does not judge a Shoot without its CloudProfile", func(ctx SpecContext) {
		g.shoot.Spec.CloudProfile.Name = "other"
		Expect(validate(ctx, g.shoot, nil)).To(MatchError(ContainSubstring("reading the CloudProfile")))
	})

	It("refuses other objects", func(ctx SpecContext) {
		Expect(NewShootValidatorFor(nil, nil).Validate(ctx, g.profile, nil)).To(MatchError(ContainSubstring("expected *v1beta1.Shoot")))
		Expect(NewShootValidatorFor(nil, nil).Validate(ctx, g.shoot, g.profile)).To(MatchError(ContainSubstring("expected *v1beta1.Shoot")))
	})
})

// expose lets an extension of the provider expose the control plane on a pool.
func expose(pool int) func(*gardencorev1beta1.Shoot) {
	return func(s *gardencorev1beta1.Shoot) {
		s.Spec.Provider.Workers[pool].ControlPlane = &gardencorev1beta1.WorkerControlPlane{
			Exposure: &gardencorev1beta1.Exposure{Extension: &gardencorev1beta1.ExtensionExposure{Type: new(v1alpha1.ProviderType)}},
		}
	}
}
