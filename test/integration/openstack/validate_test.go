// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package openstack_test

import (
	"net/http"
	"net/netip"

	volumequotas "github.com/gophercloud/gophercloud/v2/openstack/blockstorage/v3/quotasets"
	computequotas "github.com/gophercloud/gophercloud/v2/openstack/compute/v2/quotasets"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/routers"
	networkquotas "github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/quotas"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/networks"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/subnets"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/infrastructure"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/owner"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
	"github.com/gardener/gardener-extension-provider-hybrid/test/countproxy"
)

var _ = Describe("Validation", func() {
	var (
		s       *site.Site
		part    platform.Infrastructure
		cloud   *services
		request platform.ValidationRequest
	)

	BeforeEach(func(ctx SpecContext) {
		s = newSite(shootName())
		s.Profile.Zones = []v1alpha1.SiteZone{{Name: "cloud-a", OpenStack: &v1alpha1.OpenStackZone{AvailabilityZone: "az1"}}}
		part = infrastructure.New(newSessions())
		cloud = newServices(ctx, credentials)
		request = platform.ValidationRequest{Path: field.NewPath("spec", "providerConfig", "sites").Index(0)}
		DeferCleanup(func() { Expect(proxy.SetFaults()).To(Succeed()) })
	})

	demand := func(flavor string, minimum, maximum int32, sizes ...int) platform.Demand {
		return platform.Demand{
			Pool:        "pool",
			Path:        field.NewPath("spec", "provider", "workers").Index(len(request.Demands)),
			MachineType: &v1alpha1.SiteMachineType{Name: "cloud", OpenStack: &v1alpha1.OpenStackMachineType{Flavor: flavor}},
			VolumeSizes: sizes,
			Minimum:     minimum,
			Maximum:     maximum,
		}
	}
	validate := func(ctx SpecContext) platform.Findings {
		GinkgoHelper()
		findings, err := part.Validate(ctx, s, request)
		Expect(err).NotTo(HaveOccurred())
		return findings
	}
	failures := func(findings platform.Findings) []string {
		var texts []string
		for _, found := range findings.Found {
			if found.State == platform.Failed {
				texts = append(texts, found.Message())
			}
		}
		return texts
	}
	makeNetwork := func(ctx SpecContext, cidrs ...string) (string, []string) {
		GinkgoHelper()
		network, err := networks.Create(ctx, cloud.network, networks.CreateOpts{Name: "given"}).Extract()
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(func(ctx SpecContext) {
			Expect(networks.Delete(ctx, cloud.network, network.ID).ExtractErr()).To(Succeed())
		})
		var ids []string
		for _, cidr := range cidrs {
			subnet, err := subnets.Create(ctx, cloud.network,
				subnets.CreateOpts{NetworkID: network.ID, CIDR: cidr, IPVersion: 4, EnableDHCP: new(false)}).Extract()
			Expect(err).NotTo(HaveOccurred())
			ids = append(ids, subnet.ID)
		}
		return network.ID, ids
	}

	It("should find nothing, change nothing and ask little", func(ctx SpecContext) {
		request.Demands = []platform.Demand{demand("m1.tiny", 1, 3)}
		requests := label("validate")
		Expect(validate(ctx)).To(HaveField("Found", BeEmpty()))
		Expect(requests()).To(HaveEach(HaveField("Kind", Not(Equal(countproxy.KindWrite)))))
		reads := 0
		for _, r := range requests() {
			if r.Kind == countproxy.KindRead {
				reads++
			}
		}
		Expect(reads).To(BeNumerically("<=", 12))
	})

	DescribeTable("should name the field of what does not exist",
		func(ctx SpecContext, change func(*v1alpha1.OpenStackInfrastructure), path, value string) {
			change(s.Config.OpenStack)
			Expect(failures(validate(ctx))).To(ConsistOf(HavePrefix("spec.providerConfig.sites[0].openstack." + path + `: Invalid value: "` +
				value + `": `)))
		},
		Entry("floating pool", func(o *v1alpha1.OpenStackInfrastructure) { o.FloatingPoolName = "nowhere" }, "floatingPoolName", "nowhere"),
		Entry("floating subnet by ID", func(o *v1alpha1.OpenStackInfrastructure) {
			o.FloatingSubnet = &v1alpha1.OpenStackFloatingSubnet{ID: missing}
		}, "floatingSubnet.id", missing),
		Entry("floating subnet by name", func(o *v1alpha1.OpenStackInfrastructure) {
			o.FloatingSubnet = &v1alpha1.OpenStackFloatingSubnet{Name: "nowhere"}
		}, "floatingSubnet.name", "nowhere"),
		Entry("router", func(o *v1alpha1.OpenStackInfrastructure) { o.Router = &v1alpha1.OpenStackReference{ID: missing} }, "router.id", missing),
		Entry("network", func(o *v1alpha1.OpenStackInfrastructure) { o.Network = &v1alpha1.OpenStackNetwork{ID: missing} }, "network.id",
			missing),
		Entry("security group", func(o *v1alpha1.OpenStackInfrastructure) { o.SecurityGroup = &v1alpha1.OpenStackReference{ID: missing} },
			"securityGroup.id", missing),
	)

	It("should find a router without gateway", func(ctx SpecContext) {
		router, err := routers.Create(ctx, cloud.network, routers.CreateOpts{Name: "given"}).Extract()
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(func(ctx SpecContext) {
			Expect(routers.Delete(ctx, cloud.network, router.ID).ExtractErr()).To(Succeed())
		})
		s.Config.OpenStack.Router = &v1alpha1.OpenStackReference{ID: router.ID}
		Expect(failures(validate(ctx))).To(ConsistOf(And(HavePrefix("spec.providerConfig.sites[0].openstack.router.id: "),
			ContainSubstring("no external gateway"))))
	})

	It("should check the subnet that is given", func(ctx SpecContext) {
		network, ids := makeNetwork(ctx, "10.250.0.0/16", "10.251.0.0/16")
		other, _ := makeNetwork(ctx)
		s.Config.OpenStack.Network = &v1alpha1.OpenStackNetwork{ID: network}

		s.Config.OpenStack.Subnet = &v1alpha1.OpenStackReference{ID: ids[0]}
		findings := validate(ctx)
		Expect(failures(findings)).To(BeEmpty())
		Expect(findings.Warnings()).To(And(HaveEach(HavePrefix(`spec.providerConfig.sites[0].openstack.subnet.id: `)),
			ConsistOf(ContainSubstring("DHCP"), ContainSubstring("overlaps with 10.250.64.0/18, the nodes of another site"))))

		s.Config.OpenStack.Subnet = &v1alpha1.OpenStackReference{ID: ids[1]}
		Expect(failures(validate(ctx))).To(ConsistOf(
			ContainSubstring("range 10.251.0.0/16 of the subnet does not contain nodes 10.250.0.0/18")))

		s.Config.OpenStack.Subnet = &v1alpha1.OpenStackReference{ID: missing}
		Expect(failures(validate(ctx))).To(ConsistOf(And(HavePrefix("spec.providerConfig.sites[0].openstack.subnet.id: "),
			ContainSubstring("does not exist"))))

		s.Config.OpenStack.Network.ID, s.Config.OpenStack.Subnet.ID = other, ids[0]
		Expect(failures(validate(ctx))).To(ConsistOf(ContainSubstring("the subnet is not in network " + other)))
	})

	It("should check that the subnet that is made fits into the network that is given", func(ctx SpecContext) {
		network, ids := makeNetwork(ctx, "10.250.32.0/24")
		s.Config.OpenStack.Network = &v1alpha1.OpenStackNetwork{ID: network}
		Expect(failures(validate(ctx))).To(ConsistOf(ContainSubstring("its subnet " + ids[0] +
			" has the range 10.250.32.0/24, which overlaps with 10.250.0.0/18")))

		By("not taking its own subnet for another's")
		Expect(subnets.Delete(ctx, cloud.network, ids[0]).ExtractErr()).To(Succeed())
		_, err := part.Reconcile(ctx, s, keep(s))
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(func(ctx SpecContext) { Expect(part.Delete(ctx, s, keep(s))).To(Succeed()) })
		Expect(validate(ctx)).To(HaveField("Found", BeEmpty()))
		s.Network.Nodes = []netip.Prefix{netip.MustParsePrefix("10.250.0.0/19")}
		Expect(validate(ctx)).To(HaveField("Found", BeEmpty()))
	})

	It("should warn of zones that do not exist, and name flavors and volume types that do not exist", func(ctx SpecContext) {
		s.Profile.Zones = append(s.Profile.Zones, v1alpha1.SiteZone{Name: "cloud-z", OpenStack: &v1alpha1.OpenStackZone{AvailabilityZone: "az9"}})
		request.Demands = []platform.Demand{demand("m1.nothing", 1, 1), demand("m1.tiny", 1, 1, 10)}
		request.Demands[1].Path = field.NewPath("spec", "provider", "workers").Index(1)
		request.Demands[1].VolumeType = &v1alpha1.SiteVolumeType{Name: "cloud", OpenStack: &v1alpha1.OpenStackVolumeType{Type: "tape"}}
		findings := validate(ctx)
		Expect(findings.Warnings()).To(ConsistOf(
			`cloudProfileConfig.sites[cloud].zones[cloud-z].openstack.availabilityZone: availability zone "az9" does not exist or is not ` +
				`available`))
		Expect(failures(findings)).To(ConsistOf(
			HavePrefix(`spec.provider.workers[0].machine.type: Invalid value: "m1.nothing": `),
			HavePrefix(`spec.provider.workers[1].volume.type: Invalid value: "tape": `),
		))
	})

	It("should compare what the pools need with the quotas, and count what the shoot has for it", func(ctx SpecContext) {
		own := newProject(ctx, "member", "load-balancer_member")
		own.setQuotas(ctx, computequotas.UpdateOpts{Cores: new(8), Instances: new(-1), RAM: new(-1)}, networkquotas.UpdateOpts{Port: new(3)},
			volumequotas.UpdateOpts{Volumes: new(-1), Gigabytes: new(100)})
		s.Credentials = own.credentials

		request.Demands = []platform.Demand{demand("m1.large", 2, 2)}
		Expect(validate(ctx)).To(HaveField("Found", BeEmpty()), "8 of 8 cores")

		request.Demands[0].Maximum = 4
		findings := validate(ctx)
		Expect(failures(findings)).To(BeEmpty())
		Expect(findings.Warnings()).To(ConsistOf(
			`spec.provider.workers[0].maximum: the pools need up to 16 cores, the quota leaves 8`,
			`spec.provider.workers[0].maximum: the pools need up to 4 ports, the quota leaves 3`,
		))

		request.Demands[0].Minimum = 3
		request.Demands[0].VolumeSizes = []int{30, 10}
		findings = validate(ctx)
		Expect(failures(findings)).To(ConsistOf(
			"spec.provider.workers[0].minimum: Forbidden: the pools need at least 12 cores, the quota leaves 8",
			"spec.provider.workers[0].minimum: Forbidden: the pools need at least 120 GiB of volumes, the quota leaves 100",
		))
		Expect(platform.ClassOf(findings.Err())).To(Equal(platform.ClassQuota))

		By("using up the quota with a server of the shoot")
		request.Demands[0] = demand("m1.large", 1, 1)
		used := newServices(ctx, own.landscapeCredentials())
		network, err := networks.Create(ctx, used.network, networks.CreateOpts{Name: "used"}).Extract()
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(func(ctx SpecContext) {
			Expect(networks.Delete(ctx, used.network, network.ID).ExtractErr()).To(Succeed())
		})
		_, err = subnets.Create(ctx, used.network,
			subnets.CreateOpts{NetworkID: network.ID, CIDR: "10.250.0.0/24", IPVersion: 4, EnableDHCP: new(false)}).Extract()
		Expect(err).NotTo(HaveOccurred())
		o := owner.Owner{Shoot: s.Shoot, Site: s.Name}
		server := createServer(ctx, used,
			servers.CreateOpts{Name: s.Shoot + "-machine", Metadata: o.Metadata(), Networks: []servers.Network{{UUID: network.ID}}})
		_, err = computequotas.Update(ctx, own.admin.compute, own.id, computequotas.UpdateOpts{Cores: new(1), Force: true}).Extract()
		Expect(err).NotTo(HaveOccurred())
		request.Demands[0] = demand("m1.tiny", 1, 1)
		Expect(validate(ctx)).To(HaveField("Found", BeEmpty()), "the server is that of the pool")
		deleteServer(ctx, used, server.ID)
	})

	It("should refuse credentials that may only read, and warn of those that may not make load balancers", func(ctx SpecContext) {
		reader := newProject(ctx, "reader")
		s.Credentials = reader.credentials
		findings := validate(ctx)
		Expect(failures(findings)).To(ConsistOf(And(HavePrefix("spec.providerConfig.sites[0]: Forbidden: the credentials are read-only"),
			ContainSubstring("reader"))))
		Expect(failures(findings)).To(HaveEach(Not(ContainSubstring("secret"))))

		member := newProject(ctx, "member")
		s.Credentials = member.credentials
		findings = validate(ctx)
		Expect(failures(findings)).To(BeEmpty())
		Expect(findings.Warnings()).To(ConsistOf(And(HavePrefix(`spec.providerConfig.sites[0]: `),
			ContainSubstring("load-balancer_member"))))

		By("deleting nevertheless what they made")
		_, err := part.Reconcile(ctx, s, keep(s))
		Expect(err).NotTo(HaveOccurred())
		Expect(part.Delete(ctx, s, keep(s))).To(Succeed())
	})

	// ids returns the checks with findings and their states.
	ids := func(findings platform.Findings) []string {
		var texts []string
		for _, found := range findings.Found {
			texts = append(texts, found.Check.ID+" "+string(found.State))
		}
		return texts
	}

	It("should make each check of a shoot that uses everything, and find nothing", func(ctx SpecContext) {
		s.Profile.StorageClasses = []v1alpha1.StorageClass{{Name: "fast", OpenStack: &v1alpha1.OpenStackStorageClass{Type: "fake-ssd"}}}
		request.Demands = []platform.Demand{demand("m1.large", 1, 3, 20, 10)}
		d := &request.Demands[0]
		d.Image = &v1alpha1.SiteMachineImage{OpenStack: &v1alpha1.OpenStackImage{ImageName: "gardenlinux"}}
		d.Architecture = "amd64"
		d.VolumeType, d.VolumeSize = &v1alpha1.SiteVolumeType{OpenStack: &v1alpha1.OpenStackVolumeType{Type: "fake"}}, 20
		d.DataVolumes = []platform.DataVolume{{Name: "data", Size: 10, Type: d.VolumeType}}
		d.Zones = []platform.ZoneDemand{{Name: "cloud-a", Minimum: 1, Maximum: 3}}
		d.Settings.OpenStack = &v1alpha1.OpenStackWorker{ServerGroup: &v1alpha1.OpenStackServerGroup{Policy: "soft-anti-affinity"},
			AdditionalSecurityGroups: []string{"default"}}
		findings := validate(ctx)
		Expect(findings.Found).To(BeEmpty())
		Expect(findings.Checks).To(HaveLen(len(part.Checks())))
	})

	DescribeTable("should find what machines and Services would find later",
		func(ctx SpecContext, change func(), want ...string) {
			request.Demands = []platform.Demand{demand("m1.tiny", 1, 1)}
			request.Demands[0].Zones = []platform.ZoneDemand{{Name: "cloud-a", Minimum: 1, Maximum: 1}}
			change()
			Expect(ids(validate(ctx))).To(ConsistOf(want))
		},
		Entry("an image that does not exist", func() {
			request.Demands[0].Image = &v1alpha1.SiteMachineImage{OpenStack: &v1alpha1.OpenStackImage{ImageName: "nothing"}}
		}, "openstack-image Failed"),
		Entry("an image that does not exist, by ID", func() {
			request.Demands[0].Image = &v1alpha1.SiteMachineImage{OpenStack: &v1alpha1.OpenStackImage{ImageID: missing}}
		}, "openstack-image Failed"),
		Entry("another size of a flavor", func() {
			request.Demands[0].Capacity = corev1.ResourceList{
				corev1.ResourceCPU: resource.MustParse("64"), corev1.ResourceMemory: resource.MustParse("1Ti")}
		}, "openstack-flavor-capacity Warning", "openstack-flavor-capacity Warning"),
		Entry("a flavor without GPUs", func() {
			request.Demands[0].Capacity = corev1.ResourceList{"gpu": resource.MustParse("1")}
		}, "openstack-flavor-gpu Warning"),
		Entry("a zone of a pool", func() { s.Profile.Zones[0].OpenStack.AvailabilityZone = "az9" }, "openstack-pool-zones Failed"),
		Entry("a type of a data volume", func() {
			request.Demands[0].DataVolumes = []platform.DataVolume{{Name: "data", Size: 1, Settings: v1alpha1.WorkerDataVolumeSite{
				OpenStack: &v1alpha1.OpenStackVolumeType{Type: "tape"}}}}
		}, "openstack-volume-type Failed"),
		Entry("a storage class", func() {
			s.Profile.StorageClasses = []v1alpha1.StorageClass{{Name: "slow",
				OpenStack: &v1alpha1.OpenStackStorageClass{Type: "tape", AvailabilityZone: "moon"}}}
		}, "openstack-storage-class Warning", "openstack-storage-zone Warning"),
		Entry("an additional security group", func() {
			request.Demands[0].Settings.OpenStack = &v1alpha1.OpenStackWorker{AdditionalSecurityGroups: []string{"nothing", missing}}
		}, "openstack-pool-security-group Failed", "openstack-pool-security-group Failed"),
		Entry("a provider of load balancers", func() { s.Profile.OpenStack.LoadBalancerProviders = []string{"nothing"} },
			"openstack-load-balancer-provider Warning"),
		Entry("networks of a class of load balancers", func() {
			request.ControlPlane.LoadBalancer = &v1alpha1.SiteLoadBalancer{OpenStack: &v1alpha1.OpenStackLoadBalancerConfig{
				Classes: []v1alpha1.OpenStackLoadBalancerClass{{Name: "x", FloatingNetworkID: missing, SubnetID: missing}}}}
		}, "openstack-load-balancer-class Warning", "openstack-load-balancer-class Warning"),
	)

	It("should compare what the site lacks with the quotas of objects and load balancers", func(ctx SpecContext) {
		own := newProject(ctx, "member", "load-balancer_member")
		own.setQuotas(ctx, computequotas.UpdateOpts{Cores: new(-1), Instances: new(-1), RAM: new(-1), ServerGroupMembers: new(1)},
			networkquotas.UpdateOpts{Router: new(0), SecurityGroupRule: new(3), FloatingIP: new(0)},
			volumequotas.UpdateOpts{Volumes: new(-1), Gigabytes: new(-1)})
		s.Credentials = own.credentials
		request.Demands = []platform.Demand{demand("m1.tiny", 0, 3)}
		request.Demands[0].Settings.OpenStack = &v1alpha1.OpenStackWorker{ServerGroup: &v1alpha1.OpenStackServerGroup{Policy: "affinity"}}
		Expect(ids(validate(ctx))).To(ConsistOf("openstack-server-group-quota Warning", "openstack-network-quota Failed",
			"openstack-network-quota Failed", "openstack-load-balancer-quota Warning"))
	})

	DescribeTable("should return that the site could not be asked, and no mistake",
		func(ctx SpecContext, fault countproxy.Fault, class platform.Class) {
			request.Demands = []platform.Demand{demand("m1.tiny", 1, 1)}
			fault.Action, fault.Method = countproxy.ActionStatus, http.MethodGet
			Expect(proxy.SetFaults(fault)).To(Succeed())
			findings, err := part.Validate(ctx, s, request)
			Expect(err).To(MatchError(ContainSubstring(`site "cloud"`)))
			Expect(platform.ClassOf(err)).To(Equal(class))
			Expect(failures(findings)).To(BeEmpty())
		},
		Entry("Neutron is away", countproxy.Fault{Service: "neutron", Status: 503}, platform.ClassTransient),
		Entry("Nova is away", countproxy.Fault{Service: "nova", Status: 503}, platform.ClassTransient),
		Entry("Octavia is away", countproxy.Fault{Service: "octavia", Status: 503}, platform.ClassTransient),
		Entry("limits are away", countproxy.Fault{Path: "/limits$", Status: 503}, platform.ClassTransient),
	)

	It("should warn if the cloud does not tell the quota of ports or the zones", func(ctx SpecContext) {
		request.Demands = []platform.Demand{demand("m1.tiny", 1, 1)}
		Expect(proxy.SetFaults(
			countproxy.Fault{Path: "/details.json$", Action: countproxy.ActionStatus, Status: http.StatusForbidden},
			countproxy.Fault{Path: "/os-availability-zone$", Action: countproxy.ActionStatus, Status: http.StatusForbidden},
		)).To(Succeed())
		findings := validate(ctx)
		Expect(failures(findings)).To(BeEmpty())
		Expect(findings.Warnings()).To(ConsistOf(ContainSubstring("availability zones"), ContainSubstring("quota of ports")))
	})
})
