// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package worker

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/Masterminds/semver/v3"
	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	"github.com/gardener/gardener/pkg/component/extensions/operatingsystemconfig"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape"
	"github.com/gardener/gardener-extension-provider-hybrid/test/toyplatform/toyapi"
)

// shoot is what Gardener makes the name of the node agent's secret of, and the rest of the shoot.
type shoot struct {
	*fixture
	kubernetes   string
	workerSpec   gardencorev1beta1.Worker
	rotation     *gardencorev1beta1.ShootCredentialsRotation
	nodeLocalDNS bool
	kubelet      *gardencorev1beta1.KubeletConfig
	kubeProxy    *gardencorev1beta1.KubeProxyConfig
}

// classNames returns the machine classes of the shoot's pool by zone.
func (s *shoot) classNames(ctx SpecContext) map[string]string {
	s.namedPool("a").NodeAgentSecretName = new(operatingsystemconfig.Key(semver.MustParse(s.kubernetes), s.rotation, &s.workerSpec,
		s.nodeLocalDNS, s.kubelet, s.kubeProxy))

	c := fake.NewClientBuilder().WithScheme(landscape.Scheme).WithObjects(s.secret, s.user, s.worker).Build()
	names := map[string]string{}
	for _, z := range s.delegate(ctx, c).zones {
		Expect(z.err).NotTo(HaveOccurred())
		names[z.name] = z.className
	}
	return names
}

// change is a line of the document and what it is about.
type change struct {
	line  string
	apply func(*shoot)
}

var (
	rollsAllZones = []change{
		{"the Kubernetes minor version of the pool", func(s *shoot) { s.kubernetes = "1.36.1" }},
		{"the machine type of the pool", func(s *shoot) {
			s.workerSpec.Machine.Type = "big"
			s.namedPool("a").MachineType = "big"
			s.profile.MachineTypes[0].Name = "big"
			s.cluster.CloudProfile.Spec.MachineTypes[0].Name = "big"
		}},
		{"the machine image or its version", func(s *shoot) {
			s.workerSpec.Machine.Image.Version = new("2.0.0")
			s.namedPool("a").MachineImage.Version = "2.0.0"
			s.profile.MachineImages[0].Versions[0].Version = "2.0.0"
		}},
		{"the size or type of the pool's volume", func(s *shoot) {
			s.workerSpec.Volume = &gardencorev1beta1.Volume{VolumeSize: "100Gi"}
			s.namedPool("a").Volume = &extensionsv1alpha1.Volume{Size: "100Gi"}
		}},
		{"the name, size or type of one of the pool's data volumes, or their number", func(s *shoot) {
			s.namedPool("a").DataVolumes = []extensionsv1alpha1.DataVolume{{Name: "logs", Size: "20Gi"}}
		}},
		{"the container runtime of the pool", func(s *shoot) { s.workerSpec.CRI = &gardencorev1beta1.CRI{Name: "other"} }},
		{"kubelet settings that change what a node can offer: reserved resources, eviction, CPU manager, pods per node", func(s *shoot) {
			s.kubelet = &gardencorev1beta1.KubeletConfig{KubeReserved: &gardencorev1beta1.KubeletConfigReserved{CPU: new(resource.MustParse("1"))}}
		}},
		{"the rotation of the shoot's certificate authorities or service account key", func(s *shoot) {
			s.rotation = &gardencorev1beta1.ShootCredentialsRotation{
				CertificateAuthorities: &gardencorev1beta1.CARotation{LastInitiationTime: &metav1.Time{Time: time.Unix(1, 0)}},
			}
		}},
		{"node-local DNS, if it requires new nodes", func(s *shoot) {
			s.nodeLocalDNS = true
			s.kubeProxy = &gardencorev1beta1.KubeProxyConfig{Enabled: new(true), Mode: new(gardencorev1beta1.ProxyModeIPVS)}
		}},
	}
	rollsOneZone = []change{
		{"the zone moves to another site", func(s *shoot) {
			s.profile.Sites[0].Zones = s.profile.Sites[0].Zones[1:]
			s.profile.Sites[1].Zones = append(s.profile.Sites[1].Zones,
				v1alpha1.SiteZone{Name: "cloud-a", Blocks: toyapi.Blocks(&toyapi.Zone{Shelf: "raw-cloud-a"})})
		}},
	}
	rollsOneSite = []change{
		{"the `nodeSettings` of its site change in the CloudProfile", func(s *shoot) {
			s.profile.Sites[0].NodeSettings = &v1alpha1.NodeSettings{NTPServers: []string{"ntp.example.com"}}
		}},
	}
	rollsNothing = []change{
		{"a zone is added to the pool or removed from it, including the first zone",
			func(s *shoot) { s.namedPool("a").Zones = []string{"cloud-b", "rack-1", "cloud-c"} }},
		{"the order of the pool's zones changes", func(s *shoot) { slices.Reverse(s.namedPool("a").Zones) }},
		{"a site is added to the shoot or removed from it", func(s *shoot) {
			s.profile.Sites = append(s.profile.Sites, *s.profile.Sites[0].DeepCopy())
			s.profile.Sites[2].Name, s.profile.Sites[2].Zones = "more", nil
			s.config.Sites = append(s.config.Sites, v1alpha1.InfrastructureSite{Name: "more", Nodes: []string{"10.250.128.0/18"}})
			s.status.Sites = append(s.status.Sites, v1alpha1.SiteStatus{Name: "more"})
		}},
		{"the infrastructure of a site is created again with other IDs", func(s *shoot) {
			s.status.Sites[0].Blocks = toyapi.Blocks(&toyapi.Status{Network: "other"})
		}},
		{"the operator replaces an image or flavor behind the same name; new machines use it", func(s *shoot) {
			s.profile.MachineImages[0].Versions[0].CapabilityFlavors[0].Sites[0].Blocks = toyapi.Blocks(&toyapi.Image{URL: "https://images/other"})
			s.profile.MachineTypes[0].Sites[0].Blocks = toyapi.Blocks(&toyapi.MachineType{Model: "other"})
		}},
		{"the address, certificate authority, proxy or timeout of a site's API changes", func(s *shoot) {
			toyapi.Of[toyapi.Profile](s.profile.Sites[0].Blocks).Address = "https://other"
			s.profile.Sites[0].TLS = &v1alpha1.TLS{InsecureSkipVerify: true}
			s.profile.Sites[0].Proxy = &v1alpha1.Proxy{URL: "http://proxy"}
			s.profile.Sites[0].RequestTimeout = &metav1.Duration{Duration: time.Second}
		}},
		{"the credentials change", func(s *shoot) { s.secret.Data["cloud.token"] = []byte("other") }},
		{"the minimum, maximum or priority of the pool or of one of its sites changes", func(s *shoot) {
			pool := s.namedPool("a")
			pool.Minimum, pool.Maximum, pool.Priority = 10, 20, new(int32(5))
			pool.ProviderConfig = mustEncode(&v1alpha1.WorkerConfig{Sites: []v1alpha1.WorkerSite{{Name: "cloud", Priority: new(int32(7))}}})
		}},
		{"the maximum of machines of a site, or a pool's settings of the cluster-autoscaler for a site, change", func(s *shoot) {
			s.profile.Sites[0].MaximumMachines, s.config.Sites[0].MaximumMachines = new(int32(9)), new(int32(5))
			s.namedPool("a").ProviderConfig = mustEncode(&v1alpha1.WorkerConfig{Sites: []v1alpha1.WorkerSite{{
				Name: "cloud", ClusterAutoscaler: &v1alpha1.SiteClusterAutoscaler{ScaleDownUtilizationThreshold: new("0.7")},
			}}})
		}},
		{"maxSurge or maxUnavailable of the pool changes", func(s *shoot) {
			s.namedPool("a").MaxSurge, s.namedPool("a").MaxUnavailable = intstr.FromInt32(5), intstr.FromInt32(5)
		}},
		{"machine timeouts of the pool or of a site change", func(s *shoot) {
			s.profile.Sites[0].Timeouts = &v1alpha1.MachineTimeouts{Creation: &metav1.Duration{Duration: time.Hour}}
			s.namedPool("a").MachineControllerManagerSettings = &gardencorev1beta1.MachineControllerManagerSettings{
				MachineDrainTimeout: &metav1.Duration{Duration: time.Hour},
			}
		}},
		{"the capacity in the node template of the pool changes, or that of the machine type on a site, " +
			"which on vSphere is the size of machines that are created later", func(s *shoot) {
			capacity := corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("64")}
			s.profile.MachineTypes[0].Sites[0].Capacity = capacity
			s.namedPool("a").ProviderConfig = mustEncode(&v1alpha1.WorkerConfig{NodeTemplate: &v1alpha1.NodeTemplate{Capacity: capacity}})
		}},
		{"labels, annotations, or taints of the pool change; they are applied to existing nodes", func(s *shoot) {
			pool := s.namedPool("a")
			pool.Labels, pool.Annotations, pool.Taints = map[string]string{"a": "b"}, map[string]string{"a": "b"}, []corev1.Taint{{Key: "a"}}
		}},
		{"the Kubernetes patch version changes", func(s *shoot) { s.kubernetes = "1.35.9" }},
	}
)

var _ = Describe("Machine class names", func() {
	newShoot := func() *shoot {
		s := &shoot{
			fixture:    newFixture("shoot--p--s"),
			kubernetes: "1.35.1",
			workerSpec: gardencorev1beta1.Worker{Name: "a", Machine: gardencorev1beta1.Machine{
				Type: "std", Image: &gardencorev1beta1.ShootMachineImage{Name: "linux", Version: new("1.0.0")},
			}},
		}
		s.pool("a", "cloud-a", "cloud-b", "rack-1")
		return s
	}

	rows := func(changes []change, zones ...string) {
		for _, c := range changes {
			It(c.line, func(ctx SpecContext) {
				s := newShoot()
				before := s.classNames(ctx)
				c.apply(s)
				after := s.classNames(ctx)

				for zone, name := range before {
					if _, stays := after[zone]; !stays {
						continue
					}
					if slices.Contains(zones, zone) {
						Expect(after[zone]).NotTo(Equal(name), zone)
					} else {
						Expect(after[zone]).To(Equal(name), zone)
					}
				}
			})
		}
	}
	Context("a change that rolls all zones", func() { rows(rollsAllZones, "cloud-a", "cloud-b", "rack-1") })
	Context("a change that rolls one zone", func() { rows(rollsOneZone, "cloud-a") })
	Context("a change that rolls the zones of one site", func() { rows(rollsOneSite, "cloud-a", "cloud-b") })
	Context("a change that rolls nothing", func() { rows(rollsNothing) })

	It("has a row for each line of the document", func() {
		document, err := os.ReadFile(filepath.Join(landscape.Root(), "docs", "usage", "node-rolling.md"))
		Expect(err).NotTo(HaveOccurred())

		var lines, expected []string
		var ofPlatform bool
		for line := range strings.Lines(string(document)) {
			if strings.HasPrefix(line, "#") {
				ofPlatform = strings.HasPrefix(line, "### ")
			}
			if ofPlatform {
				continue
			}
			if item, ok := strings.CutPrefix(line, "- "); ok {
				lines = append(lines, strings.TrimSpace(item))
			}
		}
		for _, c := range slices.Concat(rollsAllZones, rollsOneZone, rollsOneSite, rollsNothing) {
			expected = append(expected, c.line)
		}
		Expect(lines).To(Equal(expected))
	})

	DescribeTable("data volumes that differ have different classes",
		func(ctx SpecContext, change func(*extensionsv1alpha1.DataVolume)) {
			s := newShoot()
			s.profile.VolumeTypes = []v1alpha1.VolumeType{{Name: "fast", Sites: []v1alpha1.SiteVolumeType{{Name: "cloud"}, {Name: "racks"}}}}
			s.namedPool("a").DataVolumes = []extensionsv1alpha1.DataVolume{{Name: "logs", Size: "20Gi"}}
			before := s.classNames(ctx)
			change(&s.namedPool("a").DataVolumes[0])
			for zone, name := range s.classNames(ctx) {
				Expect(name).NotTo(Equal(before[zone]), zone)
			}
		},
		Entry("name", func(v *extensionsv1alpha1.DataVolume) { v.Name = "other" }),
		Entry("size", func(v *extensionsv1alpha1.DataVolume) { v.Size = "30Gi" }),
		Entry("type", func(v *extensionsv1alpha1.DataVolume) { v.Type = new("fast") }),
	)

	It("rolls the zones of a site for what its platform says, in any order of it", func(ctx SpecContext) {
		s := newShoot()
		before := s.classNames(ctx)
		s.namedPool("a").ProviderConfig = mustEncode(&v1alpha1.WorkerConfig{Sites: []v1alpha1.WorkerSite{
			{Name: "cloud", Blocks: toyapi.Blocks(&toyapi.Worker{Group: toyapi.GroupTogether})},
		}})
		after := s.classNames(ctx)
		Expect(after["cloud-a"]).NotTo(Equal(before["cloud-a"]))
		Expect(after["cloud-b"]).NotTo(Equal(before["cloud-b"]))
		Expect(after["rack-1"]).To(Equal(before["rack-1"]))

		f := &facts{cluster: s.cluster}
		z := &zone{pool: &pool{spec: s.namedPool("a")}, siteName: "cloud"}
		one, err := className(f, z, []string{"a", "b"})
		Expect(err).NotTo(HaveOccurred())
		Expect(className(f, z, []string{"b", "a"})).To(Equal(one))
		Expect(className(f, z, []string{"b"})).NotTo(Equal(one))
	})

	It("has a class of its own for each pool and zone", func(ctx SpecContext) {
		names := newShoot().classNames(ctx)

		Expect(names).To(HaveKeyWithValue("rack-1", MatchRegexp(`^shoot--p--s-a-z[0-9a-f]{3}-[0-9a-f]{5}$`)))
		Expect(names["cloud-a"]).NotTo(Equal(names["cloud-b"]))
	})
})
