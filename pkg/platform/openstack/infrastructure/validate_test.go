// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package infrastructure

import (
	"context"

	"github.com/gophercloud/gophercloud/v2/openstack/blockstorage/v3/volumetypes"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/availabilityzones"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/flavors"
	computelimits "github.com/gophercloud/gophercloud/v2/openstack/compute/v2/limits"
	"github.com/gophercloud/gophercloud/v2/openstack/image/v2/images"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/subnets"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apiresource "k8s.io/apimachinery/pkg/api/resource"
	fieldpath "k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/client"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
	"github.com/gardener/gardener-extension-provider-hybrid/test/openstackstub"
)

// known is a value that needs no request.
func known[T any](value T, err error) shared[T] {
	return func() (T, error) { return value, err }
}

var _ = Describe("Validation", func() {
	const imageName = "gardenlinux"
	var (
		v      *validation
		demand *platform.Demand
		flavor *flavors.Flavor
		image  *images.Image
	)

	BeforeEach(func() {
		s := &site.Site{Name: "cloud", Profile: &v1alpha1.CloudProfileSite{OpenStack: &v1alpha1.OpenStackProfile{}, Zones: []v1alpha1.SiteZone{
			{Name: "a", OpenStack: &v1alpha1.OpenStackZone{AvailabilityZone: "az1"}},
			{Name: "z", OpenStack: &v1alpha1.OpenStackZone{AvailabilityZone: "az9"}},
		}}}
		v = &validation{
			flow: &flow{site: s, recorder: newRecorder(s, v1alpha1.OpenStackConnection{}, readOnly)}, path: fieldpath.NewPath("sites").Index(0),
			demands: []platform.Demand{{
				Pool: "pool", Path: fieldpath.NewPath("workers").Index(0), Architecture: "amd64", Minimum: 1, Maximum: 3,
				Capacity:    corev1.ResourceList{corev1.ResourceCPU: apiresource.MustParse("4"), corev1.ResourceMemory: apiresource.MustParse("8Gi")},
				MachineType: &v1alpha1.SiteMachineType{OpenStack: &v1alpha1.OpenStackMachineType{Flavor: "m1.large"}},
				Image:       &v1alpha1.SiteMachineImage{OpenStack: &v1alpha1.OpenStackImage{ImageName: imageName}},
				Zones:       []platform.ZoneDemand{{Name: "a"}},
			}},
		}
		demand = &v.demands[0]
		flavor = &flavors.Flavor{Name: "m1.large", VCPUs: 4, RAM: 8192, Disk: 20}
		image = &images.Image{Name: imageName, MinDiskGigabytes: 5, MinRAMMegabytes: 1024, SizeBytes: 1 << 20}
		v.flavors = func() ([]flavors.Flavor, error) { return []flavors.Flavor{*flavor}, nil }
		v.images = func() (map[v1alpha1.OpenStackImage][]images.Image, error) {
			return map[v1alpha1.OpenStackImage][]images.Image{{ImageName: imageName}: {*image}}, nil
		}
	})

	found := func(ctx context.Context, run func(*validation, context.Context, *platform.Result) error) []string {
		GinkgoHelper()
		findings, err := platform.Checks[*validation]{{Run: run}}.Run(ctx, v, nil)
		Expect(err).NotTo(HaveOccurred())
		var texts []string
		for _, finding := range findings.Found {
			texts = append(texts, string(finding.State)+" "+finding.Message())
		}
		return texts
	}

	DescribeTable("of flavors and images",
		func(ctx SpecContext, run func(*validation, context.Context, *platform.Result) error, change func(), want ...string) {
			Expect(found(ctx, run)).To(BeEmpty())
			change()
			Expect(found(ctx, run)).To(HaveExactElements(want))
		},
		Entry("a flavor that does not exist", of(machineChecks.flavorsExist), func() { flavor.Name = "m2" },
			`Failed workers[0].machine.type: Invalid value: "m1.large": no flavor of this name exists or is visible to the credentials`),
		Entry("other CPUs", of(machineChecks.flavorCapacity), func() { flavor.VCPUs = 2 },
			`Warning workers[0].machine.type: flavor "m1.large" has 2 CPUs, but the machine type has 4 in the CloudProfile`),
		Entry("less memory", of(machineChecks.flavorCapacity), func() { flavor.RAM = 4096 },
			`Warning workers[0].machine.type: flavor "m1.large" has 4096 MiB of memory, but the machine type has 8Gi in the CloudProfile`),
		Entry("no GPUs", of(machineChecks.flavorGPUs), func() { demand.Capacity["gpu"] = apiresource.MustParse("1") },
			`Warning workers[0].machine.type: the machine type has GPUs in the CloudProfile, but flavor "m1.large" requests no device that is `+
				`visible to the credentials`),
		Entry("no disk", of(machineChecks.flavorDisk), func() { flavor.Disk = 0 },
			`Warning workers[0].volume.type: flavor "m1.large" has no disk and the pool no type of the root volume; by default, only `+
				`administrators may create such servers`),
		Entry("an image that does not exist", of(machineChecks.imagesExist), func() { demand.Image.OpenStack.ImageName = "other" },
			`Failed workers[0].machine.image: Invalid value: "other": 0 active images with this name or ID are visible to the credentials, `+
				`want one`),
		Entry("an image that is too large for the flavor", of(machineChecks.imageSize),
			func() { image.MinRAMMegabytes, image.MinDiskGigabytes = 9000, 30 },
			`Failed workers[0].machine.image: Invalid value: "gardenlinux": the image needs 9000 MiB of memory, flavor "m1.large" has 8192`,
			`Failed workers[0].machine.image: Invalid value: "gardenlinux": the image needs a root disk of 30 GiB, that of the machines has 20`),
		Entry("an image that is too large for the root volume", of(machineChecks.imageSize),
			func() { image.VirtualSize, demand.VolumeSize = 10<<30+1, 10 },
			`Failed workers[0].machine.image: Invalid value: "gardenlinux": the image needs a root disk of 11 GiB, that of the machines has 10`),
		Entry("an image for another architecture", of(machineChecks.imageArchitecture),
			func() { image.Properties = map[string]any{"hw_architecture": "aarch64"} },
			`Failed workers[0].machine.image: Invalid value: "gardenlinux": the property hw_architecture of the image is "aarch64", but the `+
				`pool has machines of amd64`),
	)

	DescribeTable("should accept", func(ctx SpecContext, run func(*validation, context.Context, *platform.Result) error, change func()) {
		change()
		Expect(found(ctx, run)).To(BeEmpty())
	},
		Entry("devices of a flavor with GPUs", of(machineChecks.flavorGPUs), func() {
			demand.Capacity["gpu"], flavor.ExtraSpecs = apiresource.MustParse("1"), map[string]string{"resources:VGPU": "1"}
		}),
		Entry("no disk with a root volume", of(machineChecks.flavorDisk), func() { flavor.Disk, demand.VolumeSize = 0, 20 }),
		Entry("a disk of the size of the image", of(machineChecks.imageSize), func() { flavor.Disk = 0 }),
		Entry("the same architecture", of(machineChecks.imageArchitecture),
			func() { image.Properties = map[string]any{"architecture": "x86_64", "hw_architecture": 7} }),
	)

	DescribeTable("of the allocation pools of a given subnet", func(ctx SpecContext, pools []subnets.AllocationPool, want ...string) {
		v.givenSubnet = &subnets.Subnet{AllocationPools: pools}
		Expect(found(ctx, of(networkChecks.subnetRoom))).To(HaveExactElements(want))
	},
		Entry("an address for each machine",
			[]subnets.AllocationPool{{Start: "10.0.0.9", End: "10.0.0.10"}, {Start: "10.0.1.0", End: "10.0.1.0"}}),
		Entry("too few for the maximum", []subnets.AllocationPool{{Start: "10.0.0.255", End: "10.0.1.0"}},
			"Warning sites[0].openstack.subnet.id: the pools need up to 3 addresses, the allocation pools of the subnet have 2"),
		Entry("none", []subnets.AllocationPool{{Start: "10.0.0.2", End: "10.0.0.1"}, {Start: "garbage", End: "10.0.0.1"}},
			"Failed sites[0].openstack.subnet.id: Forbidden: the pools need at least 1 addresses, the allocation pools of the subnet have 0"),
		Entry("more than anyone can count", []subnets.AllocationPool{{Start: "::", End: "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"}}),
		Entry("not told", nil),
	)

	Describe("of zones", func() {
		zones := func(names ...string) {
			var existing []availabilityzones.AvailabilityZone
			for _, name := range names {
				existing = append(existing, availabilityzones.AvailabilityZone{ZoneName: name, ZoneState: availabilityzones.ZoneState{Available: true}})
			}
			v.availabilityZones = known(existing, nil)
		}

		It("should warn about those that no pool uses, and refuse others", func(ctx SpecContext) {
			zones("az9")
			Expect(found(ctx, (*validation).zones)).To(BeEmpty())
			Expect(found(ctx, (*validation).poolZones)).To(HaveExactElements(
				`Failed workers[0].zones: Invalid value: "a": availability zone "az1" does not exist or is not available`))
			zones("az1")
			Expect(found(ctx, (*validation).poolZones)).To(BeEmpty())
			Expect(found(ctx, (*validation).zones)).To(HaveExactElements(
				`Warning cloudProfileConfig.sites[cloud].zones[z].openstack.availabilityZone: availability zone "az9" does not exist or is not ` +
					`available`))
		})

		It("should be told once that they are not known", func(ctx SpecContext) {
			v.availabilityZones = known[[]availabilityzones.AvailabilityZone](nil, platform.NewError(platform.ClassForbidden, "no"))
			Expect(found(ctx, (*validation).zones)).To(HaveExactElements(HavePrefix("Unknown cloudProfileConfig.sites[cloud].zones: ")))
			Expect(found(ctx, (*validation).poolZones)).To(BeEmpty())
		})
	})

	It("should find volume types of pools", func(ctx SpecContext) {
		fast := &v1alpha1.SiteVolumeType{OpenStack: &v1alpha1.OpenStackVolumeType{Type: "fast"}}
		demand.VolumeType = fast
		demand.DataVolumes = []platform.DataVolume{{Name: "x", Type: fast}, {Name: "y"},
			{Name: "z", Type: fast, Settings: v1alpha1.WorkerDataVolumeSite{OpenStack: &v1alpha1.OpenStackVolumeType{Type: "tape"}}}}
		v.volumeTypes = known([]volumetypes.VolumeType{{Name: "fast"}}, nil)
		Expect(found(ctx, of(volumeChecks.volumeTypesExist))).To(HaveExactElements(HavePrefix(
			`Failed workers[0].dataVolumes[z].type: Invalid value: "tape": `)))
	})

	It("should compare objects that do not exist yet with the quotas", func(ctx SpecContext) {
		v.networkQuota = known(quota{
			limit: amounts{resourceNetworks: 1, resourceRouters: -1, resourceSecurityGroups: 2, resourceRules: 100, resourceSubnets: 3},
			used:  amounts{resourceNetworks: 1, resourceSecurityGroups: 1, resourceRules: 99},
		}, nil)
		Expect(found(ctx, of(quotaChecks.objectRoom))).To(HaveExactElements(
			"Failed sites[0]: Forbidden: the site needs 1 networks, the quota leaves 0",
			"Failed sites[0]: Forbidden: the site needs 4 security group rules, the quota leaves 1"))
		v.site.Config = &v1alpha1.InfrastructureSite{OpenStack: &v1alpha1.OpenStackInfrastructure{
			Network: &v1alpha1.OpenStackNetwork{ID: "n"}, SecurityGroup: &v1alpha1.OpenStackReference{ID: "s"},
		}}
		Expect(found(ctx, of(quotaChecks.objectRoom))).To(BeEmpty())
		v.networkQuota = known(quota{}, platform.NewError(platform.ClassForbidden, "no"))
		Expect(found(ctx, of(quotaChecks.objectRoom))).To(BeEmpty())
	})

	It("should compare members of server groups with the quota", func(ctx SpecContext) {
		Expect(found(ctx, of(quotaChecks.serverGroupRoom))).To(BeEmpty())
		demand.Settings.OpenStack = &v1alpha1.OpenStackWorker{ServerGroup: &v1alpha1.OpenStackServerGroup{Policy: "anti-affinity"}}
		limits := &computelimits.Limits{Absolute: computelimits.Absolute{MaxServerGroupMembers: 2, MaxServerGroups: -1}}
		v.computeLimits = known(limits, nil)
		Expect(found(ctx, of(quotaChecks.serverGroupRoom))).To(HaveExactElements(
			"Warning workers[0].maximum: the pool needs up to 3 members of a server group, the quota is 2"))
		demand.Minimum = 3
		Expect(found(ctx, of(quotaChecks.serverGroupRoom))).To(HaveExactElements(
			"Failed workers[0].minimum: Forbidden: the pool needs at least 3 members of a server group, the quota is 2"))
		limits.Absolute.MaxServerGroupMembers = 10
		Expect(found(ctx, of(quotaChecks.serverGroupRoom))).To(BeEmpty())
	})

	It("should warn of an MTU that the given network does not carry", func(ctx SpecContext) {
		v.site.Network.MTU = 1500
		Expect(found(ctx, of(networkChecks.mtu))).To(BeEmpty())
		v.given = &network{}
		v.given.MTU = 1450
		Expect(found(ctx, of(networkChecks.mtu))).To(HaveExactElements(
			"Warning sites[0].openstack.network.id: the network carries packets of up to 1450 bytes, but the site has an mtu of 1500"))
	})

	Describe("of a cloud", func() {
		var (
			stub    *openstackstub.Stub
			s       *site.Site
			part    = New(client.NewSessions())
			request platform.ValidationRequest
		)

		BeforeEach(func() {
			var err error
			stub, err = openstackstub.New(openstackstub.Settings{Flavors: []string{"m1.large"}, Images: []string{imageName}})
			Expect(err).NotTo(HaveOccurred())
			DeferCleanup(stub.Close)
			s = &site.Site{
				Name: "cloud", Shoot: "shoot--local--a", Credentials: site.Credentials{
					"domainName": "default", "tenantName": "own", "username": "u", "password": "p",
				},
				Profile: &v1alpha1.CloudProfileSite{Name: "cloud", TLS: &v1alpha1.TLS{InsecureSkipVerify: true},
					OpenStack: &v1alpha1.OpenStackProfile{AuthURL: stub.AuthURL(), Region: openstackstub.Region}},
				Config: &v1alpha1.InfrastructureSite{OpenStack: &v1alpha1.OpenStackInfrastructure{FloatingPoolName: openstackstub.FloatingPool}},
			}
			demand.Capacity = nil
			demand.Zones = nil
			request = platform.ValidationRequest{Path: fieldpath.NewPath("sites").Index(0), Demands: v.demands}
		})

		It("should make all checks", func(ctx SpecContext) {
			findings, err := part.Validate(ctx, s, request)
			Expect(err).NotTo(HaveOccurred())
			Expect(findings.Found).To(BeEmpty())
			Expect(findings.Checks).To(Equal(part.Checks()))
		})

		It("should stop at the authentication", func(ctx SpecContext) {
			s.Credentials["password"] = ""
			findings, err := part.Validate(ctx, s, request)
			Expect(err).To(MatchError(ContainSubstring(`site "cloud": credentials`)))
			Expect(findings.Found).To(HaveLen(len(findings.Checks)))
			Expect(findings.Found[0]).To(And(HaveField("Check.ID", checkAuthentication), HaveField("State", platform.Failed)))
			Expect(findings.Found[1:]).To(HaveEach(And(HaveField("State", platform.Unknown), HaveField("Cause", checkAuthentication))))
		})

		It("should skip checks", func(ctx SpecContext) {
			s.Config.OpenStack.FloatingPoolName = "nowhere"
			request.Skip = []string{checkFloatingPool}
			findings, err := part.Validate(ctx, s, request)
			Expect(err).NotTo(HaveOccurred())
			Expect(findings.Found).To(HaveExactElements(
				And(HaveField("Check.ID", checkFloatingPool), HaveField("State", platform.Skipped))))
		})
	})
})
