// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package admission_test

import (
	"strings"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	. "github.com/onsi/ginkgo/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
)

var _ = Describe("Shoots are refused", func() {
	DescribeTable("with a node network", refuseNewShoot(allPlatforms),
		refused("no configuration", func(s *gardencorev1beta1.Shoot) { s.Spec.Provider.InfrastructureConfig = nil }, infrastructure,
			"must be an InfrastructureConfig"),
		refused("another kind", func(s *gardencorev1beta1.Shoot) {
			s.Spec.Provider.InfrastructureConfig = documentOf("WorkerConfig", "")
		}, infrastructure, "it is of kind WorkerConfig"),
		refused("an unknown field", func(s *gardencorev1beta1.Shoot) {
			s.Spec.Provider.InfrastructureConfig = documentOf("InfrastructureConfig", `,"size":1`)
		}, infrastructure, `unknown field "size"`),
		refused("no topology", onInfrastructure(func(c *v1alpha1.InfrastructureConfig) { c.Networks.Topology = "" }),
			infrastructure+".networks.topology", `must be one of ["Stretched" "Routed"]`),
		refused("another topology", onInfrastructure(func(c *v1alpha1.InfrastructureConfig) { c.Networks.Topology = "Flat" }),
			infrastructure+".networks.topology", `supported values: "Stretched", "Routed"`),
		refused("no CIDR", onInfrastructure(func(c *v1alpha1.InfrastructureConfig) { c.Networks.Nodes = []string{"10.250.0.0"} }),
			infrastructure+".networks.nodes[0]", "must be a CIDR"),
		refused("other nodes than the Shoot", func(s *gardencorev1beta1.Shoot) { s.Spec.Networking.Nodes = new("10.251.0.0/16") },
			infrastructure+".networks.nodes", "spec.networking.nodes, which is 10.251.0.0/16"),
		refused("a gateway outside", onInfrastructure(func(c *v1alpha1.InfrastructureConfig) { c.Networks.Gateway = "10.251.0.1" }),
			infrastructure+".networks.gateway", "must be an address in"),
		refused("an MTU of nothing", onInfrastructure(func(c *v1alpha1.InfrastructureConfig) { c.Networks.MTU = new(int32(500)) }),
			infrastructure+".networks.mtu", "must be between 1280 and 9216"),
		refused("nodes of the network for Routed",
			onInfrastructure(func(c *v1alpha1.InfrastructureConfig) { c.Networks.Topology = v1alpha1.TopologyRouted }),
			infrastructure+".networks.nodes", "topology Routed"),
		refused("a network that no other site has", onOpenStack(func(c *v1alpha1.OpenStackInfrastructure) { c.Network = nil }),
			infrastructure+".sites[0].openstack.network", "a tenant network exists at its own site only"),
	)

	DescribeTable("with sites", refuseNewShoot(allPlatforms),
		refused("none", onInfrastructure(func(c *v1alpha1.InfrastructureConfig) { c.Sites = nil }), infrastructure+".sites", "at least one site"),
		refused("that the CloudProfile does not have", onSite(vc, func(s *v1alpha1.InfrastructureSite) { s.Name = "moon" }),
			infrastructure+".sites[1].name", `supported values: "cloud", "vc", "racks"`),
		refused("twice the same", onSite(vc, func(s *v1alpha1.InfrastructureSite) { s.Name, s.VSphere, s.OpenStack = "cloud", nil, nil }),
			infrastructure+".sites[1].name", "Duplicate value"),
		refused("that overlap", onSite(vc, func(s *v1alpha1.InfrastructureSite) { s.Nodes = []string{"10.250.32.0/19"} }),
			infrastructure+".sites[1].nodes", `10.250.0.0/18 of site "cloud"`),
		refused("outside of the network", onSite(vc, func(s *v1alpha1.InfrastructureSite) { s.Nodes = []string{"10.251.0.0/18"} }),
			infrastructure+".sites[1].nodes", "must be within networks.nodes"),
		refused("with a gateway outside", onSite(vc, func(s *v1alpha1.InfrastructureSite) { s.Gateway = "192.0.2.1" }),
			infrastructure+".sites[1].gateway", "must be an address in"),
		refused("with a resolver that is no address",
			onSite(vc,
				func(s *v1alpha1.InfrastructureSite) { s.DNSServers = []string{"dns.example.com"} }), infrastructure+".sites[1].dnsServers[0]",
			"must be an IP address"),
		refused("with an MTU of nothing", onSite(vc, func(s *v1alpha1.InfrastructureSite) { s.MTU = new(int32(68)) }),
			infrastructure+".sites[1].mtu", "must be between 1280 and 9216"),
		refused("with more machines than the operator allows",
			onSite(cloud, func(s *v1alpha1.InfrastructureSite) { s.MaximumMachines = new(int32(61)) }),
			infrastructure+".sites[0].maximumMachines", `must not be greater than that of site "cloud" in the CloudProfile, which is 60`),
		refused("with another platform", onSite(vc, func(s *v1alpha1.InfrastructureSite) { s.Metal = &v1alpha1.MetalInfrastructure{} }),
			infrastructure+".sites[1].metal", `site "vc" is of platform "vsphere"`),

		refused("and an unknown floating pool", onOpenStack(func(c *v1alpha1.OpenStackInfrastructure) { c.FloatingPoolName = "private" }),
			infrastructure+".sites[0].openstack.floatingPoolName", `supported values: "public"`),
		refused("and a floating subnet with a router",
			onOpenStack(func(c *v1alpha1.OpenStackInfrastructure) { c.Router = &v1alpha1.OpenStackReference{ID: someID} }),
			infrastructure+".sites[0].openstack.floatingSubnet", "together with router"),
		refused("and a router without a UUID", onOpenStack(func(c *v1alpha1.OpenStackInfrastructure) {
			c.FloatingSubnet, c.Router = nil, &v1alpha1.OpenStackReference{ID: "r"}
		}), infrastructure+".sites[0].openstack.router.id", "must be a UUID"),
		refused("and a subnet without a network",
			onOpenStack(func(c *v1alpha1.OpenStackInfrastructure) { c.Subnet = &v1alpha1.OpenStackReference{ID: someID} }),
			infrastructure+".sites[0].openstack.subnet", "must not be set without network.id"),
		refused("and a security group without a UUID", onOpenStack(func(c *v1alpha1.OpenStackInfrastructure) {
			c.SecurityGroup = &v1alpha1.OpenStackReference{ID: "default"}
		}), infrastructure+".sites[0].openstack.securityGroup.id", "must be a UUID"),
		refused("and a network with ID and provider", onOpenStack(func(c *v1alpha1.OpenStackInfrastructure) { c.Network.ID = someID }),
			infrastructure+".sites[0].openstack.network.provider", "together with id"),
		refused("and an unknown type of network",
			onOpenStack(func(c *v1alpha1.OpenStackInfrastructure) { c.Network.Provider.NetworkType = "stt" }),
			infrastructure+".sites[0].openstack.network.provider.networkType", "supported values"),
		refused("and no physical network", onOpenStack(func(c *v1alpha1.OpenStackInfrastructure) { c.Network.Provider.PhysicalNetwork = "" }),
			infrastructure+".sites[0].openstack.network.provider.physicalNetwork", "must not be empty"),
		refused("and a VLAN that is none",
			onOpenStack(func(c *v1alpha1.OpenStackInfrastructure) { c.Network.Provider.SegmentationID = new(int32(4095)) }),
			infrastructure+".sites[0].openstack.network.provider.segmentationID", "must be between 1 and 4094"),

		refused("and an address pool without a name", onMetal(func(c *v1alpha1.MetalInfrastructure) { c.IPAM.PoolRef.Name = "" }),
			infrastructure+".sites[2].metal.ipam.poolRef.name", "must not be empty"),
		refused("and addresses that no pool gives", onMetal(func(c *v1alpha1.MetalInfrastructure) { c.IPAM = nil }),
			infrastructure+".sites[2].metal.ipam", "networkDataTemplate has $ADDRESS"),
		refused("and addresses that nobody is told", onMetal(func(c *v1alpha1.MetalInfrastructure) { c.NetworkDataTemplate = "" }),
			infrastructure+".sites[2].metal.networkDataTemplate", "must have $ADDRESS"),
		refused("and an unknown variable", onMetal(func(c *v1alpha1.MetalInfrastructure) { c.NetworkDataTemplate += "$ROUTER" }),
			infrastructure+".sites[2].metal.networkDataTemplate", "ROUTER"),
		refused("and network data of another inventory", onMetal(func(c *v1alpha1.MetalInfrastructure) {
			c.NetworkDataTemplate = "[Match]\nMACAddress=$MAC\n[Network]\nAddress=$ADDRESS/$PREFIX\n"
		}), infrastructure+".sites[2].metal.networkDataTemplate", `must be what inventory "Metal3" of site "racks" accepts`),
		refused("and network data with a field that hosts ignore", onMetal(func(c *v1alpha1.MetalInfrastructure) {
			c.NetworkDataTemplate = strings.Replace(c.NetworkDataTemplate, `"gateway"`, `"gatway"`, 1)
		}), infrastructure+".sites[2].metal.networkDataTemplate", `unknown field \"gatway\"`),
		refused("and network data of an unknown link", onMetal(func(c *v1alpha1.MetalInfrastructure) {
			c.NetworkDataTemplate = strings.Replace(c.NetworkDataTemplate, `"link": "nodes"`, `"link": "other"`, 1)
		}), infrastructure+".sites[2].metal.networkDataTemplate", `networks[0].link: "other" must be the ID of a link`),
	)

	DescribeTable("with the API of a site", refuseNewShoot(allPlatforms),
		refused("in its ranges of nodes", func(s *gardencorev1beta1.Shoot) { s.Spec.CloudProfile.Name = inNodes },
			infrastructure+".sites[1].name", "the API of the site is at 10.250.200.9, which is in the range 10.250.0.0/16 of the Shoot's nodes"),
	)

	DescribeTable("with a control plane", refuseNewShoot(allPlatforms),
		refused("without a default site", onControlPlane(func(c *v1alpha1.ControlPlaneConfig) { c.DefaultSite = "" }),
			controlPlane+".defaultSite", `must be one of ["cloud" "vc" "racks"]`),
		refused("with a default site that it does not use", onControlPlane(func(c *v1alpha1.ControlPlaneConfig) { c.DefaultSite = "moon" }),
			controlPlane+".defaultSite", "supported values"),
		refused("with a feature gate that is none", onControlPlane(func(c *v1alpha1.ControlPlaneConfig) {
			c.CloudControllerManager = &v1alpha1.CloudControllerManagerConfig{FeatureGates: map[string]bool{"a,B=true": true}}
		}), controlPlane+".cloudControllerManager.featureGates[a,B=true]", "must be the name of a feature gate"),
		refused("with settings of a site that it does not use", onControlPlane(func(c *v1alpha1.ControlPlaneConfig) { c.Sites[0].Name = "moon" }),
			controlPlane+".sites[0].name", "supported values"),
		refused("with an unknown provider of load balancers", onOctavia(func(c *v1alpha1.OpenStackLoadBalancerConfig) { c.Provider = "f5" }),
			controlPlane+".sites[0].loadBalancer.openstack.provider", `supported values: "amphora", "ovn"`),
		refused("with unknown members", onOctavia(func(c *v1alpha1.OpenStackLoadBalancerConfig) { c.Members = "Some" }),
			controlPlane+".sites[0].loadBalancer.openstack.members", `supported values: "Site", "All"`),
		refused("with members that OVN cannot have", onOctavia(func(c *v1alpha1.OpenStackLoadBalancerConfig) {
			c.Provider, c.Members = "ovn", v1alpha1.LoadBalancerMembersAll
		}), controlPlane+".sites[0].loadBalancer.openstack.members", "the provider ovn"),
		refused("with a class without a UUID", onOctavia(func(c *v1alpha1.OpenStackLoadBalancerConfig) {
			c.Classes = []v1alpha1.OpenStackLoadBalancerClass{{Name: "internal", SubnetID: "nodes"}}
		}), controlPlane+".sites[0].loadBalancer.openstack.classes[0].subnetID", "must be a UUID"),
		refused("with MetalLB on OpenStack",
			onControlPlane(func(c *v1alpha1.ControlPlaneConfig) { c.Sites[0].LoadBalancer = c.Sites[1].LoadBalancer }),
			controlPlane+".sites[0].loadBalancer.metalLB", `site "cloud" is an OpenStack site`),
		refused("with a pool without a name", onMetalLB(func(c *v1alpha1.MetalLB) { c.AddressPools[0].Name = "" }),
			controlPlane+".sites[1].loadBalancer.metalLB.addressPools[0].name", "must be a DNS label"),
		refused("with addresses of another Shoot at the site",
			onMetalLB(func(c *v1alpha1.MetalLB) { c.AddressPools[0].CIDRs = []string{"10.250.249.0-10.250.250.0"} }),
			controlPlane+".sites[1].loadBalancer.metalLB.addressPools[0].cidrs[0]", `in use for load balancers at site "racks"`),
		refused("with addresses of machines", onMetalLB(func(c *v1alpha1.MetalLB) { c.AddressPools[0].CIDRs = []string{"10.250.128.0/24"} }),
			controlPlane+".sites[1].loadBalancer.metalLB.addressPools[0].cidrs[0]", `machines of site "racks"`),
		refused("with an unknown advertisement", onMetalLB(func(c *v1alpha1.MetalLB) { c.AddressPools[0].Advertisement = "OSPF" }),
			controlPlane+".sites[1].loadBalancer.metalLB.addressPools[0].advertisement", "supported values"),
		refused("with no number of its own", onMetalLB(func(c *v1alpha1.MetalLB) { c.BGP.LocalASN = 0 }),
			controlPlane+".sites[1].loadBalancer.metalLB.bgp.localASN", "autonomous system"),
		refused("with a router without an address", onMetalLB(func(c *v1alpha1.MetalLB) { c.BGP.Peers[0].Address = "router" }),
			controlPlane+".sites[1].loadBalancer.metalLB.bgp.peers[0].address", "must be an IP address"),
		refused("with a router without a number", onMetalLB(func(c *v1alpha1.MetalLB) { c.BGP.Peers[0].ASN = 0 }),
			controlPlane+".sites[1].loadBalancer.metalLB.bgp.peers[0].asn", "autonomous system"),
	)

	DescribeTable("with a pool", refuseNewShoot(allPlatforms),
		refused("on a site that the Shoot does not use", withoutSite, workers+"[0].zones[0]", `belongs to site "racks"`),
		refused("with a type that one of its sites does not have", func(s *gardencorev1beta1.Shoot) {
			s.Spec.CloudProfile.Name, s.Spec.Provider.Workers[batch].Machine.Type = everywhere, "metal-32"
		}, workers+"[0].machine.type", `site "cloud"`),
		refused("with an image that one of its sites does not have", func(s *gardencorev1beta1.Shoot) {
			s.Spec.CloudProfile.Name, s.Spec.Provider.Workers[batch].Machine.Image.Version = everywhere, new(onCloudOnly)
		}, workers+"[0].machine.image", `site "racks"`),
		refused("with volumes on bare metal", onPool(batch, func(w *gardencorev1beta1.Worker) {
			w.Volume = &gardencorev1beta1.Volume{Type: new("fast"), VolumeSize: "50Gi"}
		}), workers+"[0].volume.type", `site "racks"`),
		refused("with data volumes on bare metal", onPool(batch, func(w *gardencorev1beta1.Worker) {
			w.Volume = &gardencorev1beta1.Volume{VolumeSize: "50Gi"}
			w.DataVolumes = []gardencorev1beta1.DataVolume{{Name: "containers", VolumeSize: "50Gi"}}
		}), workers+"[0].dataVolumes", "does not support volumes"),
		refused("with encrypted volumes", onPool(general, func(w *gardencorev1beta1.Worker) { w.Volume.Encrypted = new(true) }),
			workers+"[1].volume.encrypted", "use a volume type that encrypts"),
		refused("with the label of sites",
			onPool(general,
				func(w *gardencorev1beta1.Worker) { w.Labels = map[string]string{v1alpha1.LabelSite: "cloud"} }),
			workers+"[1].labels["+v1alpha1.LabelSite+"]", "it depends on the zone of a machine"),
		refused("with a configuration of another kind",
			onPool(general,
				func(w *gardencorev1beta1.Worker) {
					w.ProviderConfig = documentOf("ControlPlaneConfig",
						"")
				}), workers+"[1].providerConfig", "it is of kind ControlPlaneConfig"),

		refused("with settings of a site that it does not use", onPoolSite(0, func(s *v1alpha1.WorkerSite) { s.Name = "vc" }),
			workers+"[0].providerConfig.sites[0].name", `supported values: "racks", "cloud"`),
		refused("with a priority for one site only", onPoolSite(0, func(s *v1alpha1.WorkerSite) { s.Priority = nil }),
			workers+"[0].providerConfig.sites[0].priority", "for all sites of the pool or for none"),
		refused("with more machines on a site than in all", onPoolSite(0, func(s *v1alpha1.WorkerSite) { s.Maximum = new(int32(71)) }),
			workers+"[0].providerConfig.sites[0].maximum", "the pool's maximum, which is 70"),
		refused("with a threshold that is none", onPoolSite(1, func(s *v1alpha1.WorkerSite) {
			s.ClusterAutoscaler.ScaleDownUtilizationThreshold = new("70%")
		}), workers+"[0].providerConfig.sites[1].clusterAutoscaler.scaleDownUtilizationThreshold", "must be a number from 0 to 1"),
		refused("with minima that do not add up", onPoolSite(0, func(s *v1alpha1.WorkerSite) { s.Minimum = new(int32(1)) }),
			workers+"[0].providerConfig.sites", "must add up to the pool's minimum, which is 2"),
		refused("with a policy that the CloudProfile does not have",
			onServers(func(c *v1alpha1.OpenStackWorker) { c.ServerGroup.Policy = "affinity" }),
			workers+"[0].providerConfig.sites[1].openstack.serverGroup.policy", `supported values: "soft-anti-affinity"`),
		refused("with a security group without a name",
			onServers(func(c *v1alpha1.OpenStackWorker) { c.AdditionalSecurityGroups = []string{""} }),
			workers+"[0].providerConfig.sites[1].openstack.additionalSecurityGroups[0]", "must not be empty"),
		refused("with a machine label of ours", onServers(func(c *v1alpha1.OpenStackWorker) { c.MachineLabels[0].Name = "gardener-shoot" }),
			workers+"[0].providerConfig.sites[1].openstack.machineLabels[0].name", "which is reserved"),
		refused("with hosts that cannot be selected", onPoolSite(0, func(s *v1alpha1.WorkerSite) {
			s.Metal = &v1alpha1.MetalWorker{HostSelector: &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "team",
				Operator: "Is"}}}}
		}), workers+"[0].providerConfig.sites[0].metal.hostSelector.matchExpressions[0].operator", "not a valid selector operator"),
		refused("with tolerations of hosts without taints", onPoolSite(0, func(s *v1alpha1.WorkerSite) {
			s.Metal = &v1alpha1.MetalWorker{Tolerations: []corev1.Toleration{{Key: "a"}}}
		}), workers+"[0].providerConfig.sites[0].metal.tolerations", `inventory "Metal3" have no taints`),
		refused("with a tag without a category", onVirtualMachines(v1alpha1.VSphereWorker{Tags: []string{"daily"}}),
			workers+"[1].providerConfig.sites[0].vsphere.tags[0]", "must be <category>/<tag>"),
		refused("with extra configuration of ours", onVirtualMachines(v1alpha1.VSphereWorker{ExtraConfig: map[string]string{"guestinfo.x": "y"}}),
			workers+"[1].providerConfig.sites[0].vsphere.extraConfig[guestinfo.x]", "are reserved"),
		refused("with settings of a data volume that it does not have",
			onWorkerConfig(general,
				func(c *v1alpha1.WorkerConfig) { c.DataVolumes[0].Name = "logs" }), workers+"[1].providerConfig.dataVolumes[0].name",
			`supported values: "containers"`),
		refused("with less than no capacity", onWorkerConfig(batch, func(c *v1alpha1.WorkerConfig) {
			c.NodeTemplate.Capacity = corev1.ResourceList{"cpu": resource.MustParse("-1")}
		}), workers+"[0].providerConfig.nodeTemplate.capacity[cpu]", "must not be negative"),
		refused("with virtual capacity that is real", onWorkerConfig(batch, func(c *v1alpha1.WorkerConfig) {
			c.NodeTemplate.VirtualCapacity = corev1.ResourceList{"cpu": resource.MustParse("1")}
		}), workers+"[0].providerConfig.nodeTemplate.virtualCapacity[cpu]", "must be an extended resource"),
	)

	DescribeTable("with a network of pods", refuseNewShoot(allPlatforms),
		refused("without an overlay", pods("cilium", `{"overlay":{"enabled":false}}`), podNetwork+".overlay.enabled",
			"which are not created at all sites"),
		refused("without a tunnel", pods("cilium", `{"tunnel":"disabled"}`), podNetwork+".tunnel", "which are not created at all sites"),
		refused("with a larger MTU than a site", pods("cilium", `{"mtu":1500}`), podNetwork+".mtu", "must not be greater than 1450"),
		refused("that is IP in IP because nothing else is said", pods("calico", `{"backend":"bird"}`), podNetwork+".vxlan.enabled",
			"IP in IP, Calico's default"),
		refused("that is IP in IP", pods("calico", `{"backend":"bird","ipv4":{"mode":"Always"}}`), podNetwork+".ipv4.mode",
			"IP in IP over several sites"),
		refused("that is IP in IP between subnets", pods("calico", `{"ipv4":{"pool":"ipip","mode":"CrossSubnet"}}`), podNetwork+".ipv4.mode",
			"IP in IP over several sites"),
		refused("without encapsulation", pods("calico", `{"ipv4":{"pool":"vxlan","mode":"Never"}}`), podNetwork+".ipv4.mode",
			"which are not created at all sites"),
		refused("without a backend", pods("calico", `{"backend":"none"}`), podNetwork+".backend", "which are not created at all sites"),
		refused("with a larger MTU than VXLAN leaves", pods("calico", `{"vxlan":{"enabled":true},"vethMTU":"1450"}`), podNetwork+".vethMTU",
			"1450, less 50 for the encapsulation"),
		refused("for less nodes than there may be", func(s *gardencorev1beta1.Shoot) { s.Spec.Networking.Pods = new("100.96.0.0/18") },
			"spec.kubernetes.kubeControllerManager.nodeCIDRMaskSize", "64 nodes in spec.networking.pods, which is 100.96.0.0/18"),
	)

	DescribeTable("on routed sites", refuseNewShoot(shootFile),
		refused("without nodes", onSite(1, func(s *v1alpha1.InfrastructureSite) { s.Nodes = nil }), infrastructure+".sites[1].nodes",
			"one CIDR per IP family"),
		refused("with no site that has the nodes of the Shoot",
			func(s *gardencorev1beta1.Shoot) { s.Spec.Networking.Nodes = new("10.250.8.0/22") }, infrastructure+".sites",
			"must have a site whose nodes are the Shoot's spec.networking.nodes"),
		refused("with routes for pods", pods("cilium", `{"overlay":{"enabled":true,"createPodRoutes":true}}`),
			podNetwork+".overlay.createPodRoutes", "share no L2 network"),
		refused("with neither floating pool nor router", onOpenStack(func(c *v1alpha1.OpenStackInfrastructure) { c.FloatingPoolName = "" }),
			infrastructure+".sites[0].openstack.floatingPoolName", "must be set unless router.id is"),
		refused("with a gateway for all", onInfrastructure(func(c *v1alpha1.InfrastructureConfig) { c.Networks.Gateway = "10.250.0.1" }),
			infrastructure+".networks.gateway", "topology Routed"),
	)

	DescribeTable("that change", refuseChangedShoot(allPlatforms),
		refused("the topology", onInfrastructure(func(c *v1alpha1.InfrastructureConfig) {
			c.Networks.Topology, c.Networks.Nodes, c.Networks.Gateway = v1alpha1.TopologyRouted, nil, ""
		}), infrastructure+".networks.topology", "field is immutable"),
		refused("the nodes of a site", onSite(vc, func(s *v1alpha1.InfrastructureSite) { s.Nodes = []string{"10.250.192.0/19"} }),
			infrastructure+".sites[1].nodes", "field is immutable"),
		refused("the network of a site",
			onOpenStack(func(c *v1alpha1.OpenStackInfrastructure) { c.Network = &v1alpha1.OpenStackNetwork{ID: someID} }),
			infrastructure+".sites[0].openstack.network", "field is immutable"),
		refused("the sites while pools use them", withoutSite, infrastructure+".sites",
			`site "racks" must not be removed: the pools ["batch"] have zones of it`),
		refused("the binding to one without credentials of a site",
			func(s *gardencorev1beta1.Shoot) { s.Spec.CredentialsBindingName = new(lacking) }, "spec.credentialsBindingName[racks.token]",
			`site "racks" needs the keys racks.token`),
	)

	DescribeTable("that change machines or zones", func(ctx SpecContext, change shootChange, fieldPath, reason string) {
		shoot := shootOf(allPlatforms)
		shoot.Name = everywhere
		current(ctx, shoot)
		change(shoot)
		refuseUpdate(ctx, shoot, fieldPath, reason)
	},
		refused("to a type that one site does not have", onPool(batch, func(w *gardencorev1beta1.Worker) { w.Machine.Type = "metal-32" }),
			workers+"[0].machine.type", `site "cloud"`),
		refused("to a site without the type", onPool(general, func(w *gardencorev1beta1.Worker) { w.Zones = append(w.Zones, "rack-1") }),
			workers+"[1].machine.type", `site "racks"`),
		refused("to an image that one site does not have",
			onPool(general,
				func(w *gardencorev1beta1.Worker) { w.Machine.Image.Version = new(onCloudOnly) }), workers+"[1].machine.image", `site "vc"`),
		refused("of a new pool", func(s *gardencorev1beta1.Shoot) {
			pool := s.Spec.Provider.Workers[batch].DeepCopy()
			pool.Name, pool.Machine.Type = "more", "metal-32"
			s.Spec.Provider.Workers = append(s.Spec.Provider.Workers, *pool)
		}, workers+"[2].machine.type", `site "cloud"`),
	)

	It("should refuse a new Shoot without credentials of a site", func(ctx SpecContext) {
		shoot := newShoot(allPlatforms)
		shoot.Spec.CredentialsBindingName = new(lacking)
		refuseCreation(ctx, shoot, "spec.credentialsBindingName[racks.token]", `site "racks" needs the keys racks.token`)
	})
})
