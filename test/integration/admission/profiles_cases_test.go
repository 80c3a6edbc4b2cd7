// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package admission_test

import (
	"fmt"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
)

type (
	profileChange = change[gardencorev1beta1.CloudProfile]
	configChange  = func(config *v1alpha1.CloudProfileConfig)
)

// configPath is the path of the configuration in a CloudProfile.
const configPath = "spec.providerConfig"

// profileCase is a change of the CloudProfile of all platforms that is refused. Its sites are cloud, vc and racks.
type profileCase struct {
	name   string
	change configChange
	// field is the path of the field in the configuration.
	field, reason string
}

var wrongSelector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "size", Operator: "Near"}}}

var profileCases = []profileCase{
	{"no sites", func(c *v1alpha1.CloudProfileConfig) { c.Sites = nil }, "sites", "must have at least one site"},
	{"a reserved name", func(c *v1alpha1.CloudProfileConfig) { c.Sites[0].Name = "dns" }, "sites[0].name",
		"must not be one of the reserved names"},
	{"a name twice", func(c *v1alpha1.CloudProfileConfig) { c.Sites[1].Name = "cloud" }, "sites[1].name", "Duplicate value"},
	{"a long name", func(c *v1alpha1.CloudProfileConfig) { c.Sites[0].Name = "abcdefghijklmnopqrstu" }, "sites[0].name",
		"may not be more than 20"},
	{"an unknown region", func(c *v1alpha1.CloudProfileConfig) { c.Sites[0].Region = "east" }, "sites[0].region", "supported values"},
	{"a DNS server's name", func(c *v1alpha1.CloudProfileConfig) { c.Sites[0].DNSServers[0] = "ns.example.com" }, "sites[0].dnsServers[0]",
		"must be"},
	{"a small MTU", func(c *v1alpha1.CloudProfileConfig) { c.Sites[0].MTU = new(int32(100)) }, "sites[0].mtu", "must be"},
	{"no certificate", func(c *v1alpha1.CloudProfileConfig) { c.Sites[0].TLS.CACert = "text" }, "sites[0].tls.caCert",
		"must consist of PEM blocks"},
	{"no thumbprint", func(c *v1alpha1.CloudProfileConfig) { c.Sites[1].TLS.Thumbprint = "5A" }, "sites[1].tls.thumbprint",
		"hexadecimal bytes"},
	{"a thumbprint and no check", func(c *v1alpha1.CloudProfileConfig) { c.Sites[1].TLS.InsecureSkipVerify = true },
		"sites[1].tls.insecureSkipVerify", "must not be set together"},
	{"a proxy with a password", func(c *v1alpha1.CloudProfileConfig) { c.Sites[0].Proxy.URL = "http://u:p@proxy.example.com" },
		"sites[0].proxy.url", "must not contain credentials"},
	{"a list in an exception of the proxy", func(c *v1alpha1.CloudProfileConfig) { c.Sites[0].Proxy.NoProxy[0] = "a,b" },
		"sites[0].proxy.noProxy[0]", "must be one host, domain or CIDR"},
	{"no time for requests", func(c *v1alpha1.CloudProfileConfig) { c.Sites[0].RequestTimeout = &metav1.Duration{} },
		"sites[0].requestTimeout", "must be greater than zero"},
	{"no time for creation", func(c *v1alpha1.CloudProfileConfig) { c.Sites[0].Timeouts.Creation = &metav1.Duration{} },
		"sites[0].timeouts.creation", "must be greater than zero"},
	{"no time for health", func(c *v1alpha1.CloudProfileConfig) { c.Sites[0].Timeouts.Health = &metav1.Duration{} },
		"sites[0].timeouts.health", "must be greater than zero"},
	{"no time for a drain", func(c *v1alpha1.CloudProfileConfig) { c.Sites[0].Timeouts.Drain = &metav1.Duration{Duration: -1} },
		"sites[0].timeouts.drain", "must be greater than zero"},
	{"less than no machines", func(c *v1alpha1.CloudProfileConfig) { c.Sites[0].MaximumMachines = new(int32(-1)) },
		"sites[0].maximumMachines", "must not be negative"},
	{"no settings of nodes", func(c *v1alpha1.CloudProfileConfig) { c.Sites[0].NodeSettings = &v1alpha1.NodeSettings{} },
		"sites[0].nodeSettings", "must have at least one setting"},
	{"a time server on two lines", func(c *v1alpha1.CloudProfileConfig) { c.Sites[0].NodeSettings.NTPServers[0] = "a\nb" },
		"sites[0].nodeSettings.ntpServers[0]", "must be a DNS name or an IP address"},
	{"a path as registry", func(c *v1alpha1.CloudProfileConfig) {
		c.Sites[0].NodeSettings.RegistryMirrors[0].Upstream = "../passwd"
	},
		"sites[0].nodeSettings.registryMirrors[0].upstream", "must be a host"},
	{"a mirror with a password", func(c *v1alpha1.CloudProfileConfig) {
		c.Sites[0].NodeSettings.RegistryMirrors[0].Endpoints[0] = "https://u:p@mirror.example.com"
	}, "sites[0].nodeSettings.registryMirrors[0].endpoints[0]", "must not contain credentials"},
	{"a proxy of nodes with a password", func(c *v1alpha1.CloudProfileConfig) { c.Sites[0].NodeSettings.Proxy.URL = "http://u:p@proxy" },
		"sites[0].nodeSettings.proxy.url", "must not contain credentials"},
	{"a quote in an exception of nodes", func(c *v1alpha1.CloudProfileConfig) { c.Sites[0].NodeSettings.Proxy.NoProxy[0] = `a"` },
		"sites[0].nodeSettings.proxy.noProxy[0]", "must be one host"},
	{"no authority of nodes", func(c *v1alpha1.CloudProfileConfig) { c.Sites[0].NodeSettings.CABundle = "text" },
		"sites[0].nodeSettings.caBundle", "must consist of PEM blocks"},
	{"no platform", func(c *v1alpha1.CloudProfileConfig) { c.Sites[0].OpenStack = nil }, "sites[0]", "must have exactly one of"},
	{"two platforms", func(c *v1alpha1.CloudProfileConfig) { c.Sites[0].VSphere = c.Sites[1].VSphere }, "sites[0].vsphere",
		"must have exactly one of"},

	{"an address without scheme", func(c *v1alpha1.CloudProfileConfig) { c.Sites[0].OpenStack.AuthURL = "keystone.example.com" },
		"sites[0].openstack.authURL", "must have the scheme http or https"},
	{"no Keystone region", func(c *v1alpha1.CloudProfileConfig) { c.Sites[0].OpenStack.Region = "" }, "sites[0].openstack.region",
		"must not be empty"},
	{"an unknown endpoint type", func(c *v1alpha1.CloudProfileConfig) { c.Sites[0].OpenStack.EndpointType = "private" },
		"sites[0].openstack.endpointType", "supported values"},
	{"a floating pool without name", func(c *v1alpha1.CloudProfileConfig) { c.Sites[0].OpenStack.FloatingPools[0].Name = "" },
		"sites[0].openstack.floatingPools[0].name", "must not be empty"},
	{"a class without name", func(c *v1alpha1.CloudProfileConfig) {
		c.Sites[0].OpenStack.FloatingPools[0].LoadBalancerClasses[0].Name = ""
	}, "sites[0].openstack.floatingPools[0].loadBalancerClasses[0].name", "must not be empty"},
	{"an unknown purpose", func(c *v1alpha1.CloudProfileConfig) {
		c.Sites[0].OpenStack.FloatingPools[0].LoadBalancerClasses[0].Purpose = "public"
	}, "sites[0].openstack.floatingPools[0].loadBalancerClasses[0].purpose", "supported values"},
	{"a subnet's name", func(c *v1alpha1.CloudProfileConfig) {
		c.Sites[0].OpenStack.FloatingPools[0].LoadBalancerClasses[0].SubnetID = "internal"
	}, "sites[0].openstack.floatingPools[0].loadBalancerClasses[0].subnetID", "must be a UUID"},
	{"a network's name", func(c *v1alpha1.CloudProfileConfig) {
		c.Sites[0].OpenStack.FloatingPools[0].LoadBalancerClasses[0].NetworkID = "internal"
	}, "sites[0].openstack.floatingPools[0].loadBalancerClasses[0].networkID", "must be a UUID"},
	{"a floating network's name", func(c *v1alpha1.CloudProfileConfig) {
		c.Sites[0].OpenStack.FloatingPools[0].LoadBalancerClasses[0].FloatingNetworkID = "public"
	}, "sites[0].openstack.floatingPools[0].loadBalancerClasses[0].floatingNetworkID", "must be a UUID"},
	{"a floating subnet's name", func(c *v1alpha1.CloudProfileConfig) {
		c.Sites[0].OpenStack.FloatingPools[0].LoadBalancerClasses[0].FloatingSubnetID = "public"
	}, "sites[0].openstack.floatingPools[0].loadBalancerClasses[0].floatingSubnetID", "must be a UUID"},
	{"a load balancer provider twice", func(c *v1alpha1.CloudProfileConfig) { c.Sites[0].OpenStack.LoadBalancerProviders[1] = "amphora" },
		"sites[0].openstack.loadBalancerProviders[1]", "Duplicate value"},
	{"a network of nodes by its name", func(c *v1alpha1.CloudProfileConfig) { c.Sites[0].OpenStack.Networks = []string{"internal"} },
		"sites[0].openstack.networks[0]", "must be a UUID"},
	{"a security group twice", func(c *v1alpha1.CloudProfileConfig) { c.Sites[0].OpenStack.SecurityGroups = []string{"web", "web"} },
		"sites[0].openstack.securityGroups[1]", "Duplicate value"},
	{"an external network by its name", func(c *v1alpha1.CloudProfileConfig) { c.Sites[0].OpenStack.FloatingNetworks = []string{"public"} },
		"sites[0].openstack.floatingNetworks[0]", "must be a UUID"},
	{"an unknown policy", func(c *v1alpha1.CloudProfileConfig) { c.Sites[0].OpenStack.ServerGroupPolicies[0] = "near" },
		"sites[0].openstack.serverGroupPolicies[0]", "supported values"},

	{"a vCenter without encryption", func(c *v1alpha1.CloudProfileConfig) { c.Sites[1].VSphere.Server = "http://vcenter.example.com" },
		"sites[1].vsphere.server", "must have the scheme https"},
	{"no datacenter", func(c *v1alpha1.CloudProfileConfig) { c.Sites[1].VSphere.Datacenter = "" }, "sites[1].vsphere.datacenter",
		"must not be empty"},
	{"no category of regions", func(c *v1alpha1.CloudProfileConfig) { c.Sites[1].VSphere.Topology.RegionCategory = "" },
		"sites[1].vsphere.topology.regionCategory", "must not be empty"},
	{"one category", func(c *v1alpha1.CloudProfileConfig) { c.Sites[1].VSphere.Topology.ZoneCategory = "k8s-region" },
		"sites[1].vsphere.topology.zoneCategory", "Duplicate value"},

	{"an API of address pools without encryption", func(c *v1alpha1.CloudProfileConfig) {
		c.Sites[1].VSphere.IPAM = &v1alpha1.VSphereIPAMProfile{Server: "http://ipam.example.com", Namespace: "nodes"}
	}, "sites[1].vsphere.ipam.server", "must have the scheme https"},
	{"no namespace of address claims", func(c *v1alpha1.CloudProfileConfig) {
		c.Sites[1].VSphere.IPAM = &v1alpha1.VSphereIPAMProfile{Server: "https://ipam.example.com"}
	}, "sites[1].vsphere.ipam.namespace", "must be a DNS label"},
	{"no certificate of an API of address pools", func(c *v1alpha1.CloudProfileConfig) {
		c.Sites[1].VSphere.IPAM = &v1alpha1.VSphereIPAMProfile{Server: "https://ipam.example.com", Namespace: "nodes",
			TLS: &v1alpha1.TLS{Thumbprint: "ab"}}
	}, "sites[1].vsphere.ipam.tls.thumbprint", "hexadecimal bytes"},
	{"an authority of an API of address pools that is none", func(c *v1alpha1.CloudProfileConfig) {
		c.Sites[1].VSphere.IPAM = &v1alpha1.VSphereIPAMProfile{Server: "https://ipam.example.com", Namespace: "nodes",
			TLS: &v1alpha1.TLS{CACert: "none"}}
	}, "sites[1].vsphere.ipam.tls.caCert", "must"},
	{"a pool of addresses without kind", func(c *v1alpha1.CloudProfileConfig) {
		c.Sites[1].VSphere.IPAM = &v1alpha1.VSphereIPAMProfile{Server: "https://ipam.example.com", Namespace: "nodes",
			AddressPools: []corev1.TypedLocalObjectReference{{APIGroup: new("ipam.cluster.x-k8s.io"), Name: "nodes"}}}
	}, "sites[1].vsphere.ipam.addressPools[0].kind", "must not be empty"},

	{"an unknown inventory", func(c *v1alpha1.CloudProfileConfig) { c.Sites[2].Metal.Inventory = "Tinkerbell" }, "sites[2].metal.inventory",
		"supported values"},
	{"an inventory without encryption", func(c *v1alpha1.CloudProfileConfig) { c.Sites[2].Metal.Server = "http://metal-api.example.com" },
		"sites[2].metal.server", "must have the scheme https"},
	{"no namespace", func(c *v1alpha1.CloudProfileConfig) { c.Sites[2].Metal.Namespace = "" }, "sites[2].metal.namespace",
		"must be a DNS label"},
	{"an unknown cleaning", func(c *v1alpha1.CloudProfileConfig) { c.Sites[2].Metal.Cleaning = "full" }, "sites[2].metal.cleaning",
		"supported values"},
	{"an unknown name of nodes", func(c *v1alpha1.CloudProfileConfig) { c.Sites[2].Metal.NodeName = "Rack" }, "sites[2].metal.nodeName",
		"supported values"},

	{"tolerations of pools on hosts without taints", func(c *v1alpha1.CloudProfileConfig) {
		c.Sites[2].Metal.PoolTolerations = []corev1.Toleration{{Key: "a"}}
	}, "sites[2].metal.poolTolerations", `hosts of the inventory "Metal3" have no taints`},
	{"a pool of addresses without name", func(c *v1alpha1.CloudProfileConfig) {
		c.Sites[2].Metal.AddressPools = []corev1.TypedLocalObjectReference{{APIGroup: new("ipam.cluster.x-k8s.io"), Kind: "InClusterIPPool"}}
	}, "sites[2].metal.addressPools[0].name", "must not be empty"},

	{"a storage class without name", func(c *v1alpha1.CloudProfileConfig) { c.Sites[0].StorageClasses[0].Name = "" },
		"sites[0].storageClasses[0].name", "RFC 1123 subdomain"},
	{"two defaults", func(c *v1alpha1.CloudProfileConfig) {
		second := c.Sites[0].StorageClasses[0]
		second.Name = "second"
		c.Sites[0].StorageClasses = append(c.Sites[0].StorageClasses, second)
	}, "sites[0].storageClasses[1].default", "must be set for one class of the site only"},
	{"another platform's storage class", func(c *v1alpha1.CloudProfileConfig) {
		c.Sites[2].StorageClasses[0].OpenStack = &v1alpha1.OpenStackStorageClass{}
	}, "sites[2].storageClasses[0].openstack", `site "racks" is of platform "metal"`},
	{"no storage policy", func(c *v1alpha1.CloudProfileConfig) { c.Sites[1].StorageClasses[0].VSphere.StoragePolicy = "" },
		"sites[1].storageClasses[0].vsphere.storagePolicy", "must not be empty"},
	{"another reclaim policy", func(c *v1alpha1.CloudProfileConfig) { c.Sites[0].StorageClasses[0].ReclaimPolicy = "Recycle" },
		"sites[0].storageClasses[0].reclaimPolicy", "supported values"},
	{"the Secret of another site", func(c *v1alpha1.CloudProfileConfig) {
		c.Sites[0].StorageClasses[0].Parameters = map[string]string{"csi.storage.k8s.io/provisioner-secret-name": "other"}
	}, "sites[0].storageClasses[0].parameters[csi.storage.k8s.io/provisioner-secret-name]", "fstype is supported"},
	{"a label of the site", func(c *v1alpha1.CloudProfileConfig) {
		c.Sites[0].StorageClasses[0].Labels = map[string]string{v1alpha1.LabelSite: "vc"}
	}, "sites[0].storageClasses[0].labels[" + v1alpha1.LabelSite + "]", "is reserved"},
	{"an annotation of Gardener", func(c *v1alpha1.CloudProfileConfig) {
		c.Sites[0].StorageClasses[0].Annotations = map[string]string{"resources.gardener.cloud/ignore": "true"}
	}, "sites[0].storageClasses[0].annotations[resources.gardener.cloud/ignore]", "is reserved"},
	{"no volume on a node", func(c *v1alpha1.CloudProfileConfig) { c.Sites[0].OpenStack.NodeVolumeAttachLimit = new(int32(0)) },
		"sites[0].openstack.nodeVolumeAttachLimit", "must be from 1 to 256"},
	{"volumes that are no folder", func(c *v1alpha1.CloudProfileConfig) { c.Sites[2].StorageClasses[0].Metal.Path = "../etc" },
		"sites[2].storageClasses[0].metal.path", "must"},

	{"an unknown zone", func(c *v1alpha1.CloudProfileConfig) { c.Sites[0].Zones[0].Name = "cloud-x" }, "sites[0].zones[0].name",
		"supported values"},
	{"another site's zone", func(c *v1alpha1.CloudProfileConfig) { c.Sites[1].Zones[0].Name = "cloud-a" }, "sites[1].zones[0].name",
		`belongs to site "cloud" already`},
	{"no availability zone", func(c *v1alpha1.CloudProfileConfig) { c.Sites[0].Zones[0].OpenStack.AvailabilityZone = "" },
		"sites[0].zones[0].openstack.availabilityZone", "must not be empty"},
	{"no cluster", func(c *v1alpha1.CloudProfileConfig) { c.Sites[1].Zones[0].VSphere.ComputeCluster = "" },
		"sites[1].zones[0].vsphere.computeCluster", "must not be empty"},
	{"no datastore", func(c *v1alpha1.CloudProfileConfig) { c.Sites[1].Zones[0].VSphere.Datastore = "" },
		"sites[1].zones[0].vsphere.datastore", "either datastore or storagePolicy must be set"},
	{"a datastore and a policy", func(c *v1alpha1.CloudProfileConfig) { c.Sites[1].Zones[0].VSphere.StoragePolicy = "vSAN Default" },
		"sites[1].zones[0].vsphere.storagePolicy", "must not be set together with datastore"},
	{"a tag without categories", func(c *v1alpha1.CloudProfileConfig) { c.Sites[1].VSphere.Topology = nil },
		"sites[1].zones[0].vsphere.topologyTag", "must not be set unless the site has topology"},
	{"a wrong selector of a zone", func(c *v1alpha1.CloudProfileConfig) { c.Sites[2].Zones[0].Metal.HostSelector = wrongSelector },
		"sites[2].zones[0].metal.hostSelector.matchExpressions[0].operator", "not a valid selector operator"},

	{"an unknown machine type", func(c *v1alpha1.CloudProfileConfig) { c.MachineTypes[0].Name = "huge" }, "machineTypes[0].name",
		"supported values"},
	{"a machine type that is nowhere", func(c *v1alpha1.CloudProfileConfig) { c.MachineTypes = c.MachineTypes[1:] }, "machineTypes",
		`must map machine type "std-4" to at least one site`},
	{"an unknown site of a machine type", func(c *v1alpha1.CloudProfileConfig) { c.MachineTypes[0].Sites[0].Name = "moon" },
		"machineTypes[0].sites[0].name", "supported values"},
	{"no flavor", func(c *v1alpha1.CloudProfileConfig) { c.MachineTypes[0].Sites[0].OpenStack.Flavor = "" },
		"machineTypes[0].sites[0].openstack.flavor", "must not be empty"},
	{"what the driver sets itself", func(c *v1alpha1.CloudProfileConfig) {
		c.MachineTypes[0].Sites[1].VSphere.ExtraConfig = map[string]string{"guestinfo.userdata": "x"}
	}, "machineTypes[0].sites[1].vsphere.extraConfig[guestinfo.userdata]", "are reserved"},
	{"a negative capacity", func(c *v1alpha1.CloudProfileConfig) {
		c.MachineTypes[1].Sites[1].Capacity["cpu"] = resource.MustParse("-1")
	}, "machineTypes[1].sites[1].capacity[cpu]", "must not be negative"},
	{"a wrong selector of a machine type",
		func(c *v1alpha1.CloudProfileConfig) { c.MachineTypes[1].Sites[1].Metal.HostSelector = wrongSelector },
		"machineTypes[1].sites[1].metal.hostSelector.matchExpressions[0].operator", "not a valid selector operator"},
	{"tolerations of hosts without taints", func(c *v1alpha1.CloudProfileConfig) {
		c.MachineTypes[1].Sites[1].Metal.Tolerations = []corev1.Toleration{{Key: "a"}}
	}, "machineTypes[1].sites[1].metal.tolerations", `hosts of the inventory "Metal3" have no taints`},

	{"an unknown volume type", func(c *v1alpha1.CloudProfileConfig) { c.VolumeTypes[0].Name = "slow" }, "volumeTypes[0].name",
		"supported values"},
	{"volumes of bare metal", func(c *v1alpha1.CloudProfileConfig) {
		c.VolumeTypes[0].Sites[0] = v1alpha1.SiteVolumeType{Name: "racks"}
	}, "volumeTypes[0].sites[0]", "racks"},
	{"a site of a volume type twice", func(c *v1alpha1.CloudProfileConfig) { c.VolumeTypes[0].Sites[1] = c.VolumeTypes[0].Sites[0] },
		"volumeTypes[0].sites[1].name", "Duplicate value"},
	{"no type of a volume", func(c *v1alpha1.CloudProfileConfig) { c.VolumeTypes[0].Sites[0].OpenStack.Type = "" },
		"volumeTypes[0].sites[0].openstack.type", "must not be empty"},
	{"no policy of a volume", func(c *v1alpha1.CloudProfileConfig) { c.VolumeTypes[0].Sites[1].VSphere.StoragePolicy = "" },
		"volumeTypes[0].sites[1].vsphere.storagePolicy", "must not be empty"},

	{"an unknown image", func(c *v1alpha1.CloudProfileConfig) { c.MachineImages[0].Name = "other" }, "machineImages[0].name",
		"supported values"},
	{"an unknown version", func(c *v1alpha1.CloudProfileConfig) { c.MachineImages[0].Versions[0].Version = "1.0.0" },
		"machineImages[0].versions[0].version", "supported values"},
	{"another architecture", func(c *v1alpha1.CloudProfileConfig) {
		c.MachineImages[0].Versions[0].CapabilityFlavors[0].Capabilities["architecture"][0] = "riscv"
	}, "machineImages[0].versions[0].capabilityFlavors[0].capabilities[architecture][0]", "supported values"},
	{"no variant", func(c *v1alpha1.CloudProfileConfig) { c.MachineImages[0].Versions[0].CapabilityFlavors = nil },
		"machineImages[0].versions[0].capabilityFlavors", "must have at least one variant"},
	{"an unknown site of an image", imageOf(0, func(i *v1alpha1.SiteMachineImage) { i.Name = "moon" }), imageField(0, "name"),
		"supported values"},
	{"an image ID that is none", imageOf(0, func(i *v1alpha1.SiteMachineImage) { i.OpenStack.ImageID = "gardenlinux" }),
		imageField(0, "openstack.imageID"), "must be a UUID"},
	{"an ID and a name", imageOf(0, func(i *v1alpha1.SiteMachineImage) { i.OpenStack.ImageName = "gardenlinux" }),
		imageField(0, "openstack.imageName"), "must not be set together with imageID"},
	{"no template", imageOf(1, func(i *v1alpha1.SiteMachineImage) { i.VSphere.Template = "" }), imageField(1, "vsphere.template"),
		"must not be empty"},
	{"no template of a zone", imageOf(1, func(i *v1alpha1.SiteMachineImage) { i.VSphere.Zones = []v1alpha1.VSphereImageZone{{Name: "vc-1"}} }),
		imageField(1, "vsphere.zones[0].template"), "must not be empty"},
	{"no zone of a template",
		imageOf(1, func(i *v1alpha1.SiteMachineImage) { i.VSphere.Zones = []v1alpha1.VSphereImageZone{{Template: "a"}} }), imageField(1,
			"vsphere.zones[0].name"), "must not be empty"},
	{"a template for another site's zone", imageOf(1, func(i *v1alpha1.SiteMachineImage) {
		i.VSphere.Zones = []v1alpha1.VSphereImageZone{{Name: "cloud-a", Template: "a"}}
	}), imageField(1, "vsphere.zones[0].name"), `supported values: "vc-1"`},
	{"an unknown format of user data", imageOf(2, func(i *v1alpha1.SiteMachineImage) { i.UserData.Format = "Cloud" }),
		imageField(2, "userData.format"), "supported values"},
	{"an image without address", imageOf(2, func(i *v1alpha1.SiteMachineImage) { i.Metal.URL = "" }), imageField(2, "metal.url"),
		"must be a URL"},
	{"no checksum", imageOf(2, func(i *v1alpha1.SiteMachineImage) { i.Metal.Checksum = "" }), imageField(2, "metal.checksum"),
		"must not be empty"},
	{"an unknown checksum", imageOf(2, func(i *v1alpha1.SiteMachineImage) { i.Metal.ChecksumType = "crc" }),
		imageField(2, "metal.checksumType"), "supported values"},
	{"an operating system where an image is written", imageOf(2, func(i *v1alpha1.SiteMachineImage) {
		i.Metal.OSRelease = &v1alpha1.MetalOSRelease{ID: "debian", VersionID: "12"}
	}), imageField(2, "metal.osRelease"), "must not be set"},
	{"an unknown format of an image", imageOf(2, func(i *v1alpha1.SiteMachineImage) { i.Metal.Format = "zip" }), imageField(2, "metal.format"),
		"supported values"},
}

// acceptedProfiles have the fields that may have any value.
var acceptedProfiles = map[string]configChange{
	"the example": func(*v1alpha1.CloudProfileConfig) {},
	"the rest of vSphere": func(c *v1alpha1.CloudProfileConfig) {
		c.Sites[1].VSphere.Topology.Create = true
		c.Sites[1].VSphere.ResourcePools = &v1alpha1.VSphereResourcePools{PerShoot: true}
		c.Sites[1].Zones[0].VSphere.Datacenter = "dc-2"
		c.Sites[1].VSphere.IPAM = &v1alpha1.VSphereIPAMProfile{Server: "https://ipam.example.com", Namespace: "nodes",
			TLS: &v1alpha1.TLS{InsecureSkipVerify: true}, AddressPools: []corev1.TypedLocalObjectReference{
				{APIGroup: new("ipam.cluster.x-k8s.io"), Kind: "InClusterIPPool", Name: "nodes"}}}
	},
	"what shoots may choose": func(c *v1alpha1.CloudProfileConfig) {
		c.Sites[0].OpenStack.ProviderNetworks = new(false)
		c.Sites[0].OpenStack.UseSNAT = new(false)
		c.Sites[2].Metal.AddressPools = []corev1.TypedLocalObjectReference{{APIGroup: new("ipam.cluster.x-k8s.io"), Kind: "InClusterIPPool",
			Name: "racks"}}
	},
	"own hosts": func(c *v1alpha1.CloudProfileConfig) {
		c.Sites[2].Metal.Inventory = v1alpha1.MetalInventoryStatic
		for i := range c.MachineImages {
			for j := range c.MachineImages[i].Versions {
				for k := range c.MachineImages[i].Versions[j].CapabilityFlavors {
					sites := c.MachineImages[i].Versions[j].CapabilityFlavors[k].Sites
					for l := range sites {
						if sites[l].Name == c.Sites[2].Name {
							sites[l].UserData = &v1alpha1.UserData{Format: v1alpha1.UserDataFormatScript}
							sites[l].Metal = &v1alpha1.MetalImage{OSRelease: &v1alpha1.MetalOSRelease{ID: "debian", VersionID: "12"}}
						}
					}
				}
			}
		}
	},
	"a site less that nobody's types and images need": func(c *v1alpha1.CloudProfileConfig) {
		c.MachineTypes[0].Sites = c.MachineTypes[0].Sites[:1]
		c.VolumeTypes[0].Sites = c.VolumeTypes[0].Sites[:1]
	},
	"other addresses": func(c *v1alpha1.CloudProfileConfig) {
		c.Sites[0].OpenStack.AuthURL = "https://a.example.com/v3"
		c.Sites[1].VSphere.Server, c.Sites[2].Metal.Server = "https://b.example.com", "https://c.example.com"
	},
}

func imageOf(site int, change func(image *v1alpha1.SiteMachineImage)) configChange {
	return func(c *v1alpha1.CloudProfileConfig) {
		change(&c.MachineImages[0].Versions[0].CapabilityFlavors[0].Sites[site])
	}
}

func imageField(site int, field string) string {
	return fmt.Sprintf("machineImages[0].versions[0].capabilityFlavors[0].sites[%d].%s", site, field)
}
