// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package preflight_test

import (
	"context"
	"crypto/x509"
	"strings"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	volumequotas "github.com/gophercloud/gophercloud/v2/openstack/blockstorage/v3/quotasets"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/flavors"
	computequotas "github.com/gophercloud/gophercloud/v2/openstack/compute/v2/quotasets"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/applicationcredentials"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/users"
	"github.com/gophercloud/gophercloud/v2/openstack/image/v2/images"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/external"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/routers"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/mtu"
	networkquotas "github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/quotas"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/security/groups"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/networks"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/subnets"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/test/countproxy"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/openstack"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/pki"
)

// openStackRows are what is wrong with the OpenStack site.
var openStackRows = []row{
	// Images.
	{wrong: "the image was deleted", id: "openstack-image",
		field: `machineImages.*image|machine.image`, documents: func(d *documents, made string) {
			d.image(0, cloudSite).OpenStack = &v1alpha1.OpenStackImage{ImageID: made}
		}, make: func(ctx SpecContext) string {
			id := makeImage(ctx, bed.member, images.CreateOpts{Name: "deleted"}, true)
			Expect(images.Delete(ctx, bed.member.image, id).ExtractErr()).To(Succeed())
			return id
		}},
	{wrong: "the image is private to another project", id: "openstack-image",
		field: `machineImages.*image|machine.image`, documents: useImage, make: func(ctx SpecContext) string {
			private := images.ImageVisibilityPrivate
			makeImage(ctx, bed.admin, images.CreateOpts{Name: bed.images[0] + "-private", Visibility: &private}, true)
			return bed.images[0] + "-private"
		}},
	{wrong: "the image is deactivated", id: "openstack-image",
		field: `machineImages.*image|machine.image`, make: func(ctx SpecContext) string {
			setImage(ctx, "deactivate")
			DeferCleanup(func(ctx SpecContext) { setImage(ctx, "reactivate") })
			return ""
		}},
	{wrong: "the upload of the image never ended", id: "openstack-image",
		field: `machineImages.*image|machine.image`, documents: useImage, make: func(ctx SpecContext) string {
			makeImage(ctx, bed.member, images.CreateOpts{Name: bed.images[0] + "-queued"}, false)
			return bed.images[0] + "-queued"
		}},
	{wrong: "two images have the name", id: "openstack-image",
		field: `machineImages.*image|machine.image`, make: func(ctx SpecContext) string {
			makeImage(ctx, bed.member, images.CreateOpts{Name: bed.images[0]}, true)
			return ""
		}},
	{wrong: "the image is for another architecture", id: "openstack-image-architecture",
		field: `machineImages.*image|machine.image`, documents: useImage, make: func(ctx SpecContext) string {
			makeImage(ctx, bed.member,
				images.CreateOpts{Name: bed.images[0] + "-arm", Properties: map[string]string{"architecture": "aarch64"}}, true)
			return bed.images[0] + "-arm"
		}},
	{wrong: "the image needs a larger disk than the flavor has", id: "openstack-image-size",
		field: `flavor|image|machine.type`, documents: useImage, make: func(ctx SpecContext) string {
			makeImage(ctx, bed.member, images.CreateOpts{Name: bed.images[0] + "-large", MinDisk: 100}, true)
			return bed.images[0] + "-large"
		}},
	{wrong: "the image needs more memory than the flavor has", id: "openstack-image-size",
		field: `flavor|image|machine.type`, documents: useImage, make: func(ctx SpecContext) string {
			makeImage(ctx, bed.member, images.CreateOpts{Name: bed.images[0] + "-hungry", MinRAM: 16384}, true)
			return bed.images[0] + "-hungry"
		}},

	// Flavors.
	{wrong: "the flavor is misspelt", id: "openstack-flavor",
		field: `machineTypes.*flavor|machine.type`, documents: func(d *documents, _ string) {
			d.machineType("small", cloudSite).OpenStack.Flavor = "m1-small"
		}},
	{wrong: "the flavor belongs to other projects", id: "openstack-flavor",
		field: `machineTypes.*flavor|machine.type`, documents: useFlavor, make: func(ctx SpecContext) string {
			return makeFlavor(ctx, flavors.CreateOpts{VCPUs: 1, RAM: 2048, Disk: new(20), IsPublic: new(false)})
		}},
	{wrong: "the flavor has other CPUs than the machine type", id: "openstack-flavor-capacity",
		field: `machineTypes.*flavor|machine.type|capacity|cpu`, documents: useFlavor,
		make: func(ctx SpecContext) string {
			return makeFlavor(ctx, flavors.CreateOpts{VCPUs: 4, RAM: 2048, Disk: new(20)})
		}, states: []string{warning, failed}},
	{wrong: "the flavor has less memory than the machine type", id: "openstack-flavor-capacity",
		field: `machineTypes.*flavor|machine.type|capacity|memory`, documents: useFlavor,
		make: func(ctx SpecContext) string {
			return makeFlavor(ctx, flavors.CreateOpts{VCPUs: 1, RAM: 1024, Disk: new(20)})
		}, states: []string{warning, failed}},
	{wrong: "the flavor has no disk, and the pool no volume", id: "openstack-flavor-disk",
		states: []string{warning}, field: `flavor|volume|machine.type`, documents: useFlavor, make: func(ctx SpecContext) string {
			return makeFlavor(ctx, flavors.CreateOpts{VCPUs: 1, RAM: 2048, Disk: new(0)})
		}},

	// Quotas. The pools have 4 to 8 machines at the site.
	{wrong: "the quota of servers is too small for the minima", id: "openstack-compute-quota",
		field: `workers`, make: computeQuota(computequotas.UpdateOpts{Instances: new(1)})},
	{wrong: "the quota of servers is too small for the maxima", id: "openstack-compute-quota", field: `workers`, states: []string{warning},
		make: computeQuota(computequotas.UpdateOpts{Instances: new(4)})},
	{wrong: "the quota of cores is too small", id: "openstack-compute-quota",
		field: `workers`, make: computeQuota(computequotas.UpdateOpts{Cores: new(1)})},
	{wrong: "the quota of memory is too small", id: "openstack-compute-quota",
		field: `workers`, make: computeQuota(computequotas.UpdateOpts{RAM: new(2048)})},
	{wrong: "no key pair may be made", id: "openstack-key-pair-quota",
		field: `sites|workers`, make: computeQuota(computequotas.UpdateOpts{KeyPairs: new(0)})},
	{wrong: "the user may not make a key pair, but others of the project may",
		unnamed: "the limits that Nova reports are those of the project", field: `sites|workers`,
		make: userQuota(computequotas.UpdateOpts{KeyPairs: new(0)})},
	{wrong: "no server group may be made", id: "openstack-server-group-quota",
		field: `workers|sites`, make: computeQuota(computequotas.UpdateOpts{ServerGroups: new(0)})},
	{wrong: "the quota of ports is too small", id: "openstack-port-quota",
		field: `workers|sites`, make: networkQuota(networkquotas.UpdateOpts{Port: new(1)})},
	{wrong: "no network may be made", id: "openstack-network-quota",
		field: `sites`, make: networkQuota(networkquotas.UpdateOpts{Network: new(0)})},
	{wrong: "no subnet may be made", id: "openstack-network-quota",
		field: `sites`, make: networkQuota(networkquotas.UpdateOpts{Subnet: new(0)})},
	{wrong: "no router may be made", id: "openstack-network-quota",
		field: `sites`, make: networkQuota(networkquotas.UpdateOpts{Router: new(0)})},
	{wrong: "no security group may be made", id: "openstack-network-quota",
		field: `sites`, make: networkQuota(networkquotas.UpdateOpts{SecurityGroup: new(0)})},
	{wrong: "too few security group rules may be made", id: "openstack-network-quota",
		field: `sites`, make: networkQuota(networkquotas.UpdateOpts{SecurityGroupRule: new(12)})},
	{wrong: "no floating IP may be made for load balancers", id: "openstack-load-balancer-quota",
		field: `sites|floating`, states: []string{warning},
		make: networkQuota(networkquotas.UpdateOpts{FloatingIP: new(0)})},
	{wrong: "the quota of volumes is too small", id: "openstack-volume-quota",
		field: `workers`, make: volumeQuota(volumequotas.UpdateOpts{Volumes: new(0)})},
	{wrong: "the quota of gigabytes is too small", id: "openstack-volume-quota",
		field: `workers`, make: volumeQuota(volumequotas.UpdateOpts{Gigabytes: new(10)})},

	// Networks.
	{wrong: "the floating pool is misspelt", id: "openstack-floating-pool",
		field: `floatingPoolName`, documents: func(d *documents, _ string) {
			d.network(cloudSite).OpenStack.FloatingPoolName = "pubilc"
			d.site(cloudSite).OpenStack.FloatingPools[0].Name = "pubilc"
		}},
	{wrong: "the floating pool is not external", id: "openstack-floating-pool",
		field: `floatingPoolName`, documents: useFloatingPool, make: func(ctx SpecContext) string {
			makeNetwork(ctx, bed.member, networks.CreateOpts{Name: "internal-" + bed.images[0]})
			return "internal-" + bed.images[0]
		}},
	{wrong: "the floating pool has no free address", unnamed: "Neutron tells only administrators how many addresses are free",
		field: `floatingPoolName`, documents: useFloatingPool, states: []string{failed, warning},
		make: func(ctx SpecContext) string {
			name := "full-" + bed.images[0]
			network := makeNetwork(ctx, bed.admin, external.CreateOptsExt{CreateOptsBuilder: networks.CreateOpts{Name: name}, External: new(true)})
			makeSubnet(ctx, bed.admin, subnets.CreateOpts{NetworkID: network, CIDR: "203.0.113.0/30", IPVersion: gophercloud.IPv4})
			router, err := routers.Create(ctx, bed.admin.network,
				routers.CreateOpts{GatewayInfo: &routers.GatewayInfo{NetworkID: network}}).Extract()
			Expect(err).NotTo(HaveOccurred())
			DeferCleanup(func(ctx SpecContext) {
				Expect(routers.Delete(ctx, bed.admin.network, router.ID).ExtractErr()).To(Succeed())
			})
			return name
		}},
	{wrong: "the floating subnet is not one of the floating pool", id: "openstack-floating-subnet",
		field: `floatingSubnet`, documents: func(d *documents, made string) {
			d.network(cloudSite).OpenStack.FloatingSubnet = &v1alpha1.OpenStackFloatingSubnet{ID: made}
		}, make: func(ctx SpecContext) string { return makeSubnetOf(ctx, "10.99.0.0/24") }},
	{wrong: "the given router is that of another project", id: "openstack-router",
		field: `router`, documents: useRouter, make: func(ctx SpecContext) string {
			return makeRouter(ctx, bed.admin, &routers.GatewayInfo{NetworkID: publicNetwork(ctx)})
		}},
	{wrong: "the given router has no gateway", id: "openstack-router",
		field: `router`, documents: useRouter, states: []string{failed, warning},
		make: func(ctx SpecContext) string { return makeRouter(ctx, bed.member, nil) }},
	{wrong: "the given router is in another external network than the floating pool", id: "openstack-router", field: `router|floatingPoolName`,
		states: []string{failed, warning}, documents: func(d *documents, made string) {
			d.network(cloudSite).OpenStack.Router = &v1alpha1.OpenStackReference{ID: made}
		}, make: func(ctx SpecContext) string {
			network := makeNetwork(ctx, bed.admin,
				external.CreateOptsExt{CreateOptsBuilder: networks.CreateOpts{Name: "other-" + bed.images[0]}, External: new(true)})
			makeSubnet(ctx, bed.admin, subnets.CreateOpts{NetworkID: network, CIDR: "198.51.100.0/24", IPVersion: gophercloud.IPv4})
			return makeRouter(ctx, bed.member, &routers.GatewayInfo{NetworkID: network})
		}},
	{wrong: "the given network was deleted", id: "openstack-network", field: `network`, documents: useNetwork,
		make: func(SpecContext) string { return "6a0f1f5e-0c5a-4d59-8a0b-6f5d6b1d3e21" }},
	{wrong: "the given network has a subnet that overlaps with the nodes", id: "openstack-subnet",
		field: `network|nodes`, documents: useNetwork,
		make: func(ctx SpecContext) string {
			network := makeNetwork(ctx, bed.member, networks.CreateOpts{Name: "overlapping"})
			makeSubnet(ctx, bed.member, subnets.CreateOpts{NetworkID: network, CIDR: "10.250.2.0/24", IPVersion: gophercloud.IPv4})
			return network
		}},
	{wrong: "the given subnet has another range than the nodes", id: "openstack-subnet", field: `subnet|nodes`, documents: useSubnet,
		make: func(ctx SpecContext) string { return makeNetworkOf(ctx, subnets.CreateOpts{CIDR: "10.251.0.0/22"}) }},
	{wrong: "the given subnet has no DHCP", id: "openstack-subnet", field: `subnet`, documents: useSubnet, states: []string{failed, warning},
		make: func(ctx SpecContext) string {
			return makeNetworkOf(ctx, subnets.CreateOpts{CIDR: "10.250.0.0/22", EnableDHCP: new(false)})
		}},
	{wrong: "the given subnet has too few addresses", id: "openstack-subnet-size",
		field: `subnet|nodes|workers`, documents: useSubnet, states: []string{failed, warning},
		make: func(ctx SpecContext) string {
			return makeNetworkOf(ctx, subnets.CreateOpts{CIDR: "10.250.0.0/22",
				AllocationPools: []subnets.AllocationPool{{Start: "10.250.0.10", End: "10.250.0.11"}}})
		}},
	{wrong: "the given security group is that of another project", id: "openstack-security-group",
		field: `securityGroup`, documents: func(d *documents, made string) {
			d.network(cloudSite).OpenStack.SecurityGroup = &v1alpha1.OpenStackReference{ID: made}
		}, make: func(ctx SpecContext) string { return makeGroup(ctx, bed.admin, "foreign") }},
	{wrong: "an additional security group of a pool does not exist", id: "openstack-pool-security-group",
		field: `workers.*additionalSecurityGroups`,
		documents: func(d *documents, _ string) {
			d.poolAt(volumesPool, cloudSite).OpenStack.AdditionalSecurityGroups = []string{"db-cleints"}
		}},
	{wrong: "the given network has a smaller MTU than the shoot", id: "openstack-mtu", field: `mtu|network`, states: []string{failed, warning},
		documents: func(d *documents, made string) {
			useSubnet(d, made)
			d.infra.Networks.MTU = new(int32(1450))
		}, make: func(ctx SpecContext) string {
			network := makeNetwork(ctx, bed.member, mtu.CreateOptsExt{CreateOptsBuilder: networks.CreateOpts{Name: "small"}, MTU: 1300})
			return network + "/" + makeSubnet(ctx, bed.member,
				subnets.CreateOpts{NetworkID: network, CIDR: "10.250.0.0/22", IPVersion: gophercloud.IPv4})
		}},

	// The connection and the credentials.
	{wrong: "the region is misspelt", id: "openstack-services", field: `region|authURL`,
		documents: func(d *documents, _ string) { d.site(cloudSite).OpenStack.Region = "RegionTwo" }},
	{wrong: "the authority is another one", id: "site-certificate-trust",
		also: connection, field: `tls|authURL`, documents: otherAuthority(cloudSite)},
	{wrong: "the certificate has expired", id: "site-certificate-end",
		also: connection, field: `tls|authURL`, documents: func(d *documents, made string) {
			d.site(cloudSite).OpenStack.AuthURL = made
		}, make: func(SpecContext) string {
			return expired(openstack.Services()...).Rewrite(bed.Project.Credentials.AuthURL)
		}},
	{wrong: "the certificate is for another host", id: "site-certificate-name",
		also: connection, field: `tls|authURL`, documents: func(d *documents, made string) {
			d.site(cloudSite).OpenStack.AuthURL = made
		}, make: func(SpecContext) string {
			pair, err := bed.authority.Server("other", func(c *x509.Certificate) {
				c.IPAddresses, c.DNSNames, c.NotAfter = nil, []string{"keystone.example.com"}, bed.pair.Parsed.NotAfter
			})
			Expect(err).NotTo(HaveOccurred())
			return securedWith(pair, openstack.Services()...).Rewrite(bed.Project.Credentials.AuthURL)
		}},
	{wrong: "the certificate ends in three days", id: "site-certificate-end",
		field: `tls|authURL`, states: []string{warning}, documents: func(d *documents, made string) {
			d.site(cloudSite).OpenStack.AuthURL = made
		}, make: func(SpecContext) string {
			return endingSoon(openstack.Services()...).Rewrite(bed.Project.Credentials.AuthURL)
		}},
	{wrong: "the project is misspelt", id: "openstack-authentication",
		field: `tenantName|credentials|secret`, documents: func(d *documents, _ string) {
			d.secret.StringData[cloudSite+".tenantName"] += "x"
		}},
	{wrong: "the project is one that the user has no role in", id: "openstack-authentication", field: `tenantName|credentials|secret`,
		documents: func(d *documents, _ string) { d.secret.StringData[cloudSite+".tenantName"] = "gardener2" }},
	{wrong: "the user has no role in the project", id: "openstack-authentication", field: `credentials|secret|username`, make: setRoles()},
	{wrong: "the user may only read", id: "openstack-roles",
		field: `credentials|secret|username`, make: setRoles("reader"), states: []string{failed, warning}},
	{wrong: "the user may not make load balancers", id: "openstack-load-balancer-role",
		field: `credentials|secret|username`, states: []string{warning}, make: setRoles("member")},
	{wrong: "the user is disabled", id: "openstack-authentication", field: `credentials|secret|username`, make: func(ctx SpecContext) string {
		enable := func(ctx context.Context, enabled bool) {
			_, err := users.Update(ctx, bed.admin.identity, bed.Project.UserID(), users.UpdateOpts{Enabled: &enabled}).Extract()
			Expect(err).NotTo(HaveOccurred())
		}
		enable(ctx, false)
		DeferCleanup(func(ctx SpecContext) { enable(ctx, true) })
		return ""
	}},
	{wrong: "the application credential may only read", id: "openstack-roles",
		field: `credentials|secret|applicationCredential`, states: []string{failed, warning},
		documents: useApplicationCredential, make: func(ctx SpecContext) string {
			Expect(bed.Project.SetRoles(ctx, append([]string{"reader"}, openstack.MemberRoles...)...)).To(Succeed())
			DeferCleanup(func(ctx SpecContext) { Expect(bed.Project.SetRoles(ctx, openstack.MemberRoles...)).To(Succeed()) })
			return makeApplicationCredential(ctx, applicationcredentials.CreateOpts{Roles: []applicationcredentials.Role{{Name: "reader"}}})
		}},
	{wrong: "the application credential has expired", id: "openstack-authentication", field: `credentials|secret|applicationCredential`,
		documents: useApplicationCredential, make: func(ctx SpecContext) string {
			soon := time.Now().Add(1500 * time.Millisecond)
			made := makeApplicationCredential(ctx, applicationcredentials.CreateOpts{ExpiresAt: &soon})
			Eventually(time.Now).WithTimeout(time.Minute).Should(BeTemporally(">", soon.Add(time.Second)))
			return made
		}},

	// What the CloudProfile names.
	{wrong: "the load balancer provider is not installed", id: "openstack-load-balancer-provider",
		field: `loadBalancer`, documents: func(d *documents, _ string) {
			d.site(cloudSite).OpenStack.LoadBalancerProviders = []string{"ovn"}
		}, states: []string{failed, warning}},
	{wrong: "the network of a load balancer class was deleted", id: "openstack-load-balancer-class",
		field:  `loadBalancerClasses|floatingPools|classes`,
		states: []string{failed, warning}, documents: func(d *documents, _ string) {
			d.site(cloudSite).OpenStack.FloatingPools[0].LoadBalancerClasses = []v1alpha1.OpenStackLoadBalancerClass{
				{Name: "outside", Purpose: "default", FloatingNetworkID: "3e9a5b7c-1d2f-4c68-9b0a-7f6e5d4c3b20"},
			}
		}},
	{wrong: "the volume type was deleted", id: "openstack-volume-type",
		field: `volumeTypes.*type|volume.type`, documents: func(d *documents, _ string) {
			d.config.VolumeTypes[0].Sites[0].OpenStack.Type = "fake-hdd"
		}},
	{wrong: "the volume type of a storage class was deleted", id: "openstack-storage-class",
		field: `storageClasses.*type`, states: []string{failed, warning},
		documents: func(d *documents, _ string) { d.site(cloudSite).StorageClasses[0].OpenStack.Type = "fake-hdd" }},
	{wrong: "the zone of a storage class does not exist", id: "openstack-storage-zone",
		field: `storageClasses.*availabilityZone`, states: []string{failed, warning},
		documents: func(d *documents, _ string) { d.site(cloudSite).StorageClasses[0].OpenStack.AvailabilityZone = "az9" }},
	{wrong: "the availability zone does not exist", id: "openstack-pool-zones", field: `zones`, documents: func(d *documents, _ string) {
		d.zone(cloudSite).OpenStack.AvailabilityZone = "az9"
	}},
}

func useImage(d *documents, name string) {
	d.image(0, cloudSite).OpenStack.ImageName = name
}

func setImage(ctx context.Context, action string) {
	GinkgoHelper()
	//nolint:bodyclose // gophercloud closes it
	_, err := bed.admin.image.Post(ctx, bed.admin.image.ServiceURL("images", bed.imageIDs[0], "actions", action), nil, nil,
		&gophercloud.RequestOpts{OkCodes: []int{204}})
	Expect(err).NotTo(HaveOccurred())
}

func useFlavor(d *documents, name string) {
	d.machineType("small", cloudSite).OpenStack.Flavor = name
}

func makeFlavor(ctx context.Context, o flavors.CreateOpts) string {
	GinkgoHelper()
	o.Name = "preflight-" + bed.Project.ID()
	flavor, err := flavors.Create(ctx, bed.admin.compute, o).Extract()
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func(ctx SpecContext) {
		Expect(flavors.Delete(ctx, bed.admin.compute, flavor.ID).ExtractErr()).To(Succeed())
	})
	return o.Name
}

func computeQuota(o computequotas.UpdateOpts) func(SpecContext) string {
	return func(ctx SpecContext) string {
		Expect(computequotas.Update(ctx, bed.admin.compute, bed.Project.ID(), o).Err).NotTo(HaveOccurred())
		DeferCleanup(func(ctx SpecContext) {
			Expect(computequotas.Delete(ctx, bed.admin.compute, bed.Project.ID()).Err).NotTo(HaveOccurred())
		})
		return ""
	}
}

// userQuota sets the quota of the project's user, as that of key pairs is.
func userQuota(o computequotas.UpdateOpts) func(SpecContext) string {
	return func(ctx SpecContext) string {
		query := "?user_id=" + bed.Project.UserID()
		body, err := o.ToComputeQuotaUpdateMap()
		Expect(err).NotTo(HaveOccurred())
		url := bed.admin.compute.ServiceURL("os-quota-sets", bed.Project.ID()) + query
		_, err = bed.admin.compute.Put(ctx, url, body, nil, &gophercloud.RequestOpts{OkCodes: []int{200}})
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(func(ctx SpecContext) {
			_, err := bed.admin.compute.Delete(ctx, url, nil) //nolint:bodyclose // gophercloud closes it
			Expect(err).NotTo(HaveOccurred())
		})
		return ""
	}
}

func networkQuota(o networkquotas.UpdateOpts) func(SpecContext) string {
	return func(ctx SpecContext) string {
		Expect(networkquotas.Update(ctx, bed.admin.network, bed.Project.ID(), o).Err).NotTo(HaveOccurred())
		DeferCleanup(func(ctx SpecContext) {
			_, err := bed.admin.network.Delete(ctx, bed.admin.network.ServiceURL("quotas", bed.Project.ID()), nil)
			Expect(err).NotTo(HaveOccurred())
		})
		return ""
	}
}

func volumeQuota(o volumequotas.UpdateOpts) func(SpecContext) string {
	return func(ctx SpecContext) string {
		Expect(volumequotas.Update(ctx, bed.admin.volume, bed.Project.ID(), o).Err).NotTo(HaveOccurred())
		DeferCleanup(func(ctx SpecContext) {
			Expect(volumequotas.Delete(ctx, bed.admin.volume, bed.Project.ID()).Err).NotTo(HaveOccurred())
		})
		return ""
	}
}

func useFloatingPool(d *documents, name string) {
	d.network(cloudSite).OpenStack.FloatingPoolName = name
	d.site(cloudSite).OpenStack.FloatingPools[0].Name = name
}

func makeNetwork(ctx context.Context, as services, o networks.CreateOptsBuilder) string {
	GinkgoHelper()
	network, err := networks.Create(ctx, as.network, o).Extract()
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func(ctx SpecContext) { Expect(networks.Delete(ctx, as.network, network.ID).ExtractErr()).To(Succeed()) })
	return network.ID
}

// makeSubnet makes a subnet, which is deleted with its network.
func makeSubnet(ctx context.Context, as services, o subnets.CreateOpts) string {
	GinkgoHelper()
	o.IPVersion = gophercloud.IPv4
	subnet, err := subnets.Create(ctx, as.network, o).Extract()
	Expect(err).NotTo(HaveOccurred())
	return subnet.ID
}

func makeSubnetOf(ctx context.Context, cidr string) string {
	GinkgoHelper()
	return makeSubnet(ctx, bed.member,
		subnets.CreateOpts{NetworkID: makeNetwork(ctx, bed.member, networks.CreateOpts{Name: "given"}), CIDR: cidr})
}

// makeNetworkOf makes a network with a subnet, and returns both IDs.
func makeNetworkOf(ctx context.Context, o subnets.CreateOpts) string {
	GinkgoHelper()
	o.NetworkID = makeNetwork(ctx, bed.member, networks.CreateOpts{Name: "given"})
	return o.NetworkID + "/" + makeSubnet(ctx, bed.member, o)
}

func useNetwork(d *documents, id string) {
	d.network(cloudSite).OpenStack.Network = &v1alpha1.OpenStackNetwork{ID: id}
}

func useRouter(d *documents, id string) {
	d.network(cloudSite).OpenStack.FloatingPoolName = ""
	d.network(cloudSite).OpenStack.Router = &v1alpha1.OpenStackReference{ID: id}
}

func makeRouter(ctx context.Context, as services, gateway *routers.GatewayInfo) string {
	GinkgoHelper()
	o := routers.CreateOpts{Name: "given"}
	if gateway != nil {
		router, err := routers.Create(ctx, bed.admin.network,
			routers.CreateOpts{Name: "given", GatewayInfo: gateway, ProjectID: projectOf(as)}).Extract()
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(func(ctx SpecContext) {
			Expect(routers.Delete(ctx, bed.admin.network, router.ID).ExtractErr()).To(Succeed())
		})
		return router.ID
	}
	router, err := routers.Create(ctx, as.network, o).Extract()
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func(ctx SpecContext) { Expect(routers.Delete(ctx, as.network, router.ID).ExtractErr()).To(Succeed()) })
	return router.ID
}

// projectOf is the project that objects are made for, empty for the administrator's own.
func projectOf(as services) string {
	if as == bed.member {
		return bed.Project.ID()
	}
	return ""
}

func publicNetwork(ctx context.Context) string {
	GinkgoHelper()
	pages, err := networks.List(bed.admin.network, networks.ListOpts{Name: "public"}).AllPages(ctx)
	Expect(err).NotTo(HaveOccurred())
	found, err := networks.ExtractNetworks(pages)
	Expect(err).NotTo(HaveOccurred())
	Expect(found).To(HaveLen(1))
	return found[0].ID
}

func makeGroup(ctx context.Context, as services, name string) string {
	GinkgoHelper()
	group, err := groups.Create(ctx, as.network, groups.CreateOpts{Name: name}).Extract()
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func(ctx SpecContext) { Expect(groups.Delete(ctx, as.network, group.ID).ExtractErr()).To(Succeed()) })
	return group.ID
}

func setRoles(names ...string) func(SpecContext) string {
	return func(ctx SpecContext) string {
		Expect(bed.Project.SetRoles(ctx, names...)).To(Succeed())
		DeferCleanup(func(ctx SpecContext) { Expect(bed.Project.SetRoles(ctx, openstack.MemberRoles...)).To(Succeed()) })
		return ""
	}
}

func useSubnet(d *documents, networkAndSubnet string) {
	network, subnet, _ := strings.Cut(networkAndSubnet, "/")
	useNetwork(d, network)
	d.network(cloudSite).OpenStack.Subnet = &v1alpha1.OpenStackReference{ID: subnet}
}

func makeApplicationCredential(ctx context.Context, o applicationcredentials.CreateOpts) string {
	GinkgoHelper()
	o.Name = "preflight"
	member := servicesOf(ctx, bed.Project.Credentials)
	made, err := applicationcredentials.Create(ctx, member.identity, bed.Project.UserID(), o).Extract()
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func(ctx SpecContext) {
		member := servicesOf(ctx, bed.Project.Credentials)
		Expect(applicationcredentials.Delete(ctx, member.identity, bed.Project.UserID(), made.ID).ExtractErr()).To(Succeed())
	})
	return made.ID + "/" + made.Secret
}

func useApplicationCredential(d *documents, idAndSecret string) {
	for key := range bed.Project.Credentials.SiteCredentials() {
		delete(d.secret.StringData, cloudSite+"."+key)
	}
	id, secret, _ := strings.Cut(idAndSecret, "/")
	d.secret.StringData[cloudSite+".applicationCredentialID"], d.secret.StringData[cloudSite+".applicationCredentialSecret"] = id, secret
}

// otherAuthority lets a site have the certificate of an authority that signed nothing.
func otherAuthority(site string) func(*documents, string) {
	return func(d *documents, _ string) {
		other, err := pki.NewAuthority()
		Expect(err).NotTo(HaveOccurred())
		d.site(site).TLS.CACert = other.PEM
	}
}

// expired starts a proxy before services whose certificate has expired, endingSoon one whose certificate is about to.
func expired(services ...countproxy.Service) *countproxy.Proxy {
	return endingAt(time.Now().Add(-time.Minute), services...)
}

func endingSoon(services ...countproxy.Service) *countproxy.Proxy {
	return endingAt(time.Now().Add(72*time.Hour), services...)
}

func endingAt(end time.Time, services ...countproxy.Service) *countproxy.Proxy {
	GinkgoHelper()
	pair, err := bed.authority.Server("ending", func(c *x509.Certificate) { c.NotAfter = end })
	Expect(err).NotTo(HaveOccurred())
	return securedWith(pair, services...)
}
