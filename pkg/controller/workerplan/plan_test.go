// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package workerplan

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape"
	"github.com/gardener/gardener-extension-provider-hybrid/test/toyplatform/toyapi"
)

// change is a line of docs/usage/node-rolling.md, what it is about, and the fields that roll the pool.
type change struct {
	line   string
	apply  func(*fixture)
	causes []string
}

var (
	rolls = []change{
		{"the Kubernetes minor version of the pool", func(f *fixture) { f.cluster.Shoot.Spec.Kubernetes.Version = "1.36.1" },
			[]string{"Shoot spec.kubernetes.version"}},
		{"the machine type of the pool", func(f *fixture) { f.namedPool("a").Machine.Type = "big" },
			[]string{"Shoot spec.provider.workers[a].machine.type"}},
		{"the machine image or its version", func(f *fixture) { f.namedPool("a").Machine.Image.Version = new("2.0.0") },
			[]string{"Shoot spec.provider.workers[a].machine.image.version"}},
		{"the size or type of the pool's volume", func(f *fixture) { f.namedPool("a").Volume.VolumeSize = "100Gi" },
			[]string{"Shoot spec.provider.workers[a].volume.size"}},
		{"the name, size or type of one of the pool's data volumes, or their number", func(f *fixture) {
			f.namedPool("a").DataVolumes = append(f.namedPool("a").DataVolumes, gardencorev1beta1.DataVolume{Name: "more", VolumeSize: "1Gi"})
			f.namedPool("a").DataVolumes[0].VolumeSize = "30Gi"
		}, []string{"Shoot spec.provider.workers[a].dataVolumes[logs].size", "Shoot spec.provider.workers[a].dataVolumes[more]"}},
		{"the container runtime of the pool", func(f *fixture) { f.namedPool("a").CRI = &gardencorev1beta1.CRI{Name: "other"} },
			[]string{"Shoot spec.provider.workers[a].cri"}},
		{"kubelet settings that change what a node can offer: reserved resources, eviction, CPU manager, pods per node", func(f *fixture) {
			f.cluster.Shoot.Spec.Kubernetes.Kubelet = &gardencorev1beta1.KubeletConfig{
				KubeReserved: &gardencorev1beta1.KubeletConfigReserved{CPU: new(resource.MustParse("1"))}}
		}, []string{"Shoot spec.kubernetes.kubelet"}},
		{"the rotation of the shoot's certificate authorities or service account key", func(f *fixture) {
			f.cluster.Shoot.Status.Credentials = &gardencorev1beta1.ShootCredentials{Rotation: &gardencorev1beta1.ShootCredentialsRotation{
				CertificateAuthorities: &gardencorev1beta1.CARotation{LastInitiationTime: &metav1.Time{Time: time.Unix(1, 0)}},
			}}
		}, []string{"Shoot status.credentials"}},
		{"node-local DNS, if it requires new nodes", func(f *fixture) {
			f.cluster.Shoot.Spec.SystemComponents = &gardencorev1beta1.SystemComponents{NodeLocalDNS: &gardencorev1beta1.NodeLocalDNS{Enabled: true}}
			f.cluster.Shoot.Spec.Kubernetes.KubeProxy = &gardencorev1beta1.KubeProxyConfig{Enabled: new(true),
				Mode: new(gardencorev1beta1.ProxyModeIPVS)}
		}, []string{"Shoot spec.kubernetes.kubeProxy", "Shoot spec.systemComponents"}},
		{"the zone moves to another site", func(f *fixture) {
			f.profile.Sites[0].Zones = f.profile.Sites[0].Zones[1:]
			f.profile.Sites[1].Zones = append(f.profile.Sites[1].Zones,
				v1alpha1.SiteZone{Name: "cloud-a", Blocks: toyapi.Blocks(&toyapi.Zone{Shelf: "raw-cloud-a"})})
		}, []string{"CloudProfile spec.providerConfig.sites[cloud].zones[cloud-a]"}},
		{"the `nodeSettings` of its site change in the CloudProfile", func(f *fixture) {
			f.profile.Sites[0].NodeSettings = &v1alpha1.NodeSettings{NTPServers: []string{"ntp.example.com"}}
		}, []string{"CloudProfile spec.providerConfig.sites[cloud].nodeSettings"}},
	}
	keeps = []change{
		{"a zone is added to the pool or removed from it, including the first zone",
			func(f *fixture) { f.namedPool("a").Zones = []string{"cloud-b", "rack-1", "cloud-c"} }, nil},
		{"the order of the pool's zones changes", func(f *fixture) { slices.Reverse(f.namedPool("a").Zones) }, nil},
		{"a site is added to the shoot or removed from it", func(f *fixture) {
			f.profile.Sites = append(f.profile.Sites, *f.profile.Sites[0].DeepCopy())
			f.profile.Sites[2].Name, f.profile.Sites[2].Zones = "more", nil
			f.config.Sites = append(f.config.Sites, v1alpha1.InfrastructureSite{Name: "more", Nodes: []string{"10.250.128.0/18"}})
			f.status.Sites = append(f.status.Sites, v1alpha1.SiteStatus{Name: "more"})
		}, nil},
		{"the infrastructure of a site is created again with other IDs",
			func(f *fixture) { f.status.Sites[0].Blocks = toyapi.Blocks(&toyapi.Status{Network: "other"}) }, nil},
		{"the operator replaces an image or flavor behind the same name; new machines use it",
			func(f *fixture) {
				f.profile.MachineTypes[0].Sites[0].Blocks = toyapi.Blocks(&toyapi.MachineType{Model: "other"})
			}, nil},
		{"the address, certificate authority, proxy or timeout of a site's API changes", func(f *fixture) {
			toyapi.Of[toyapi.Profile](f.profile.Sites[0].Blocks).Address = "https://other"
			f.profile.Sites[0].Proxy = &v1alpha1.Proxy{URL: "http://proxy"}
		}, nil},
		{"the credentials change", func(f *fixture) { f.secret.Data["cloud.token"] = []byte("other") }, nil},
		{"the minimum, maximum or priority of the pool or of one of its sites changes", func(f *fixture) {
			pool := f.namedPool("a")
			pool.Minimum, pool.Maximum, pool.Priority = 10, 20, new(int32(5))
			pool.ProviderConfig = mustEncode(&v1alpha1.WorkerConfig{Sites: []v1alpha1.WorkerSite{{Name: "cloud", Priority: new(int32(7))}}})
		}, nil},
		{"the maximum of machines of a site, or a pool's settings of the cluster-autoscaler for a site, change", func(f *fixture) {
			f.profile.Sites[0].MaximumMachines, f.config.Sites[0].MaximumMachines = new(int32(9)), new(int32(5))
		}, nil},
		{"maxSurge or maxUnavailable of the pool changes", func(f *fixture) {
			f.namedPool("a").MaxSurge, f.namedPool("a").MaxUnavailable = new(intstr.FromInt32(5)), new(intstr.FromInt32(5))
		}, nil},
		{"machine timeouts of the pool or of a site change", func(f *fixture) {
			f.profile.Sites[0].Timeouts = &v1alpha1.MachineTimeouts{Creation: &metav1.Duration{Duration: time.Hour}}
		}, nil},
		{"the capacity in the node template of the pool changes, or that of the machine type on a site, " +
			"which on vSphere is the size of machines that are created later", func(f *fixture) {
			f.profile.MachineTypes[0].Sites[0].Capacity = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("64")}
		}, nil},
		{"labels, annotations, or taints of the pool change; they are applied to existing nodes", func(f *fixture) {
			pool := f.namedPool("a")
			pool.Labels, pool.Annotations, pool.Taints = map[string]string{"a": "b"}, map[string]string{"a": "b"}, []corev1.Taint{{Key: "a"}}
		}, nil},
		{"the Kubernetes patch version changes", func(f *fixture) { f.cluster.Shoot.Spec.Kubernetes.Version = "1.35.9" }, nil},
	}
)

var _ = Describe("A plan of pools", func() {
	newShoot := func(ctx SpecContext) *fixture {
		f := newFixture(ctx)
		pool := f.pool("a", "cloud-a", "cloud-b", "rack-1")
		pool.Volume = &gardencorev1beta1.Volume{VolumeSize: "50Gi"}
		pool.DataVolumes = []gardencorev1beta1.DataVolume{{Name: "logs", VolumeSize: "20Gi"}}
		f.reconcile(ctx)
		return f
	}
	zones := func(plan *Plan, pool string) map[string]*v1alpha1.ZonePlan {
		found, plans := map[string]*v1alpha1.ZonePlan{}, plan.Pools
		for i := range plans {
			for j := range plans[i].Zones {
				if plans[i].Name == pool {
					found[plans[i].Zones[j].Name] = &plans[i].Zones[j]
				}
			}
		}
		return found
	}
	// expectTruth reconciles what was planned in an API server, and compares all machine deployments and machine classes.
	expectTruth := func(ctx SpecContext, f *fixture, plan *Plan) {
		GinkgoHelper()
		f.reconcile(ctx)
		written := f.written(ctx)
		planned, err := readMachines(ctx, plan.After, f.technicalID)
		Expect(err).NotTo(HaveOccurred())
		Expect(content(planned)).To(Equal(content(written)))
		for _, pool := range plan.Pools {
			for _, zone := range pool.Zones {
				if deployment := written.deployment(zone.MachineDeployment); zone.Action == v1alpha1.ZoneActionDelete {
					Expect(deployment).To(BeNil())
				} else {
					Expect(classOf(deployment)).To(Equal(zone.MachineClass.After))
				}
			}
		}
		for _, pool := range f.plan(ctx).Pools {
			for _, zone := range pool.Zones {
				Expect(zone.Action).To(Equal(v1alpha1.ZoneActionKeep), "%+v", zone)
				Expect(zone.Machines.Created+zone.Machines.Deleted+zone.Machines.Updated).To(BeZero(), "%+v", zone)
			}
		}
	}

	It("should create all machines of a shoot that does not exist", func(ctx SpecContext) {
		f := newFixture(ctx)
		f.pool("a", "cloud-a", "rack-1")
		plan := f.plan(ctx)
		Expect(plan.Pools).To(HaveLen(1))
		for _, zone := range plan.Pools[0].Zones {
			Expect(zone.Action).To(Equal(v1alpha1.ZoneActionCreate))
			Expect(zone.Machines).To(Equal(v1alpha1.PlannedMachines{Created: 1}))
			Expect(zone.Minimum).To(Equal(v1alpha1.PlannedNumber{After: new(int32(1))}))
		}
		expectTruth(ctx, f, plan)
	})

	for _, c := range rolls {
		It("should roll for "+c.line, func(ctx SpecContext) {
			f := newShoot(ctx)
			c.apply(f)
			plan := f.plan(ctx)
			zone := zones(plan, "a")["cloud-a"]
			Expect(zone.Action).To(Equal(v1alpha1.ZoneActionRoll))
			Expect(zone.Machines).To(Equal(v1alpha1.PlannedMachines{Existing: 1, Created: 1, Deleted: 1}))
			Expect(zone.Notes).To(BeEmpty())
			var causes []string
			for _, cause := range zone.Causes {
				causes = append(causes, cause.Kind+" "+cause.Field)
			}
			Expect(causes).To(Equal(c.causes))
			expectTruth(ctx, f, plan)
		})
	}

	for _, c := range keeps {
		It("should not roll if "+c.line, func(ctx SpecContext) {
			f := newShoot(ctx)
			c.apply(f)
			plan := f.plan(ctx)
			for _, zone := range zones(plan, "a") {
				Expect(zone.Action).NotTo(Equal(v1alpha1.ZoneActionRoll))
				Expect(zone.Causes).To(BeEmpty())
			}
			expectTruth(ctx, f, plan)
		})
	}

	It("should have a row for each line of the document", func() {
		document, err := os.ReadFile(filepath.Join(landscape.Root(), "docs", "usage", "node-rolling.md"))
		Expect(err).NotTo(HaveOccurred())
		var lines, expected []string
		var ofPlatform bool
		for line := range strings.Lines(string(document)) {
			if strings.HasPrefix(line, "#") {
				ofPlatform = strings.HasPrefix(line, "### ")
			}
			if item, ok := strings.CutPrefix(line, "- "); ok && !ofPlatform {
				lines = append(lines, strings.TrimSpace(item))
			}
		}
		for _, c := range slices.Concat(rolls, keeps) {
			expected = append(expected, c.line)
		}
		Expect(lines).To(Equal(expected))
	})

	It("should roll the zones of a site for what its platform says", func(ctx SpecContext) {
		f := newShoot(ctx)
		f.namedPool("a").ProviderConfig = mustEncode(&v1alpha1.WorkerConfig{Sites: []v1alpha1.WorkerSite{
			{Name: "cloud", Blocks: toyapi.Blocks(&toyapi.Worker{Group: toyapi.GroupTogether})},
		}})
		plan := f.plan(ctx)
		Expect(zones(plan, "a")["cloud-a"].Action).To(Equal(v1alpha1.ZoneActionRoll))
		Expect(zones(plan, "a")["cloud-a"].Causes).To(HaveExactElements(HaveField("Field", "spec.provider.workers[a].providerConfig")))
		Expect(zones(plan, "a")["rack-1"].Action).To(Equal(v1alpha1.ZoneActionKeep))
	})

	It("should name only what matters of many changes", func(ctx SpecContext) {
		f := newShoot(ctx)
		f.pool("b", "cloud-c")
		slices.Reverse(f.cluster.Shoot.Spec.Provider.Workers)
		slices.Reverse(f.profile.MachineTypes)
		slices.Reverse(f.profile.Sites)
		f.namedPool("a").Machine.Type, f.namedPool("a").Labels = "big", map[string]string{"x": "y"}
		f.cluster.Shoot.Spec.Purpose = new(gardencorev1beta1.ShootPurposeTesting)
		plan := f.plan(ctx)
		Expect(plan.Pools).To(HaveLen(2))
		Expect(zones(plan, "b")["cloud-c"].Action).To(Equal(v1alpha1.ZoneActionCreate))
		zone := zones(plan, "a")["rack-1"]
		Expect(zone.Causes).To(Equal([]v1alpha1.PlanCause{
			{Kind: "Shoot", Field: "spec.provider.workers[a].machine.type", Before: `"std"`, After: `"big"`}}))
		Expect(zone.Changes).To(ContainElement("MachineDeployment spec.template.spec.nodeTemplate.metadata.labels.x"))
		expectTruth(ctx, f, plan)
	})

	It("should scale within the limits of the zone", func(ctx SpecContext) {
		f := newShoot(ctx)
		f.namedPool("a").Minimum, f.namedPool("a").Maximum = 6, 9
		plan := f.plan(ctx)
		zone := zones(plan, "a")["rack-1"]
		Expect(zone.Action).To(Equal(v1alpha1.ZoneActionScale))
		Expect(zone.Minimum).To(Equal(v1alpha1.PlannedNumber{Before: new(int32(1)), After: new(int32(2))}))
		Expect(zone.Maximum).To(Equal(v1alpha1.PlannedNumber{Before: new(int32(2)), After: new(int32(3))}))
		Expect(zone.Machines).To(Equal(v1alpha1.PlannedMachines{Existing: 1, Created: 1}))
		expectTruth(ctx, f, plan)
	})

	It("should delete removed zones and pools", func(ctx SpecContext) {
		f := newShoot(ctx)
		f.pool("b", "cloud-c")
		f.reconcile(ctx)
		f.cluster.Shoot.Spec.Provider.Workers = f.cluster.Shoot.Spec.Provider.Workers[:1]
		f.namedPool("a").Zones = []string{"cloud-a", "cloud-b"}
		plan := f.plan(ctx)
		for pool, zone := range map[string]string{"a": "rack-1", "b": "cloud-c"} {
			Expect(zones(plan, pool)[zone].Action).To(Equal(v1alpha1.ZoneActionDelete))
			Expect(zones(plan, pool)[zone].Machines).To(Equal(v1alpha1.PlannedMachines{Existing: 1, Deleted: 1}))
		}
		Expect(zones(plan, "a")["rack-1"].Site).To(Equal("racks"))
		expectTruth(ctx, f, plan)
	})

	It("should delete all machines of a shoot that is deleted or hibernated", func(ctx SpecContext) {
		f := newShoot(ctx)
		f.cluster.Shoot.Spec.Hibernation = &gardencorev1beta1.Hibernation{Enabled: new(true)}
		for _, zone := range zones(f.plan(ctx), "a") {
			Expect(zone.Action).To(Equal(v1alpha1.ZoneActionScale))
			Expect(zone.Machines).To(Equal(v1alpha1.PlannedMachines{Existing: 1, Deleted: 1}))
		}
		f.cluster.Shoot.Spec.Hibernation = nil
		f.cluster.Shoot.DeletionTimestamp = new(metav1.Now())
		for _, zone := range zones(f.plan(ctx), "a") {
			Expect(zone.Action).To(Equal(v1alpha1.ZoneActionDelete))
			Expect(zone.Machines).To(Equal(v1alpha1.PlannedMachines{Existing: 1, Deleted: 1}))
		}
	})

	It("should update machines in place", func(ctx SpecContext) {
		f := newFixture(ctx)
		f.pool("a", "cloud-a").UpdateStrategy = new(gardencorev1beta1.AutoInPlaceUpdate)
		f.reconcile(ctx)
		f.namedPool("a").Machine.Image.Version = new("2.0.0")
		plan := f.plan(ctx)
		zone := zones(plan, "a")["cloud-a"]
		Expect(zone.Action).To(Equal(v1alpha1.ZoneActionUpdateInPlace))
		Expect(zone.Machines).To(Equal(v1alpha1.PlannedMachines{Existing: 1, Updated: 1}))
		Expect(zone.Causes).To(HaveExactElements(HaveField("Field", "spec.provider.workers[a].machine.image.version")))
		expectTruth(ctx, f, plan)
	})

	It("should say which zones keep their machine class, and why", func(ctx SpecContext) {
		f := newShoot(ctx)
		f.namedPool("a").Machine.Type = "big"
		f.pool("b", "rack-1")
		f.status.Sites = f.status.Sites[:1]
		plan := f.plan(ctx)
		Expect(zones(plan, "a")["cloud-a"].Action).To(Equal(v1alpha1.ZoneActionRoll))
		zone := zones(plan, "a")["rack-1"]
		Expect(zone.Action).To(Equal(v1alpha1.ZoneActionWait))
		Expect(zone.Error).To(ContainSubstring("the infrastructure of the site is not ready"))
		Expect(zone.MachineClass.After).To(Equal(zone.MachineClass.Before))
		Expect(zone.Machines).To(Equal(v1alpha1.PlannedMachines{Existing: 1}))
		Expect(zones(plan, "b")["rack-1"].Action).To(Equal(v1alpha1.ZoneActionWait))
		Expect(zones(plan, "b")["rack-1"].Machines).To(BeZero())
	})

	It("should keep the machines of a site in quarantine", func(ctx SpecContext) {
		f := newShoot(ctx)
		f.namedPool("a").Machine.Type = "big"
		f.known.Infrastructure.Status.Conditions = []gardencorev1beta1.Condition{{
			Type:   gardencorev1beta1.ConditionType(v1alpha1.ConditionSiteQuarantinedPrefix + "racks"),
			Status: gardencorev1beta1.ConditionTrue, LastTransitionTime: metav1.Now(),
		}}
		plan := f.plan(ctx)
		Expect(zones(plan, "a")["cloud-a"].Action).To(Equal(v1alpha1.ZoneActionRoll))
		Expect(zones(plan, "a")["rack-1"].Action).To(Equal(v1alpha1.ZoneActionWait))
		Expect(zones(plan, "a")["rack-1"].Error).To(ContainSubstring("quarantine"))
	})

	It("should admit that it does not know the names of another Gardener", func(ctx SpecContext) {
		f := newShoot(ctx)
		f.known.Worker.Spec.Pools[0].NodeAgentSecretName = new("gardener-node-agent-a-other")
		f.cluster.Shoot.Spec.Purpose = new(gardencorev1beta1.ShootPurposeTesting)
		f.namedPool("a").Labels = map[string]string{"x": "y"}
		// The inputs of the name are those of the last reconciliation, so the name is, too. The class of the fixture has the other one.
		Expect(zones(f.plan(ctx), "a")["cloud-a"].MachineClass.After).NotTo(BeEmpty())

		f.namedPool("a").Machine.Type = "big"
		zone := zones(f.plan(ctx), "a")["cloud-a"]
		Expect(zone.Action).To(Equal(v1alpha1.ZoneActionUnknown))
		Expect(zone.MachineClass.After).To(BeEmpty())
		Expect(zone.Notes).To(HaveLen(1))

		f.known.Before = nil
		Expect(zones(f.plan(ctx), "a")["cloud-a"].Notes).To(ContainElement(ContainSubstring("last reconciliation is not known")))
	})

	It("should refuse a pool without a version of its image", func(ctx SpecContext) {
		f := newFixture(ctx)
		f.pool("a", "cloud-a").Machine.Image.Version = nil
		_, err := (&Planner{Platforms: f.platforms(), Timeout: time.Second}).Plan(ctx, f.input())
		Expect(err).To(MatchError(ContainSubstring(`pool "a" has no version of the machine image`)))
	})
})
