// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package ccm_test

import (
	"cmp"
	"context"
	"net/netip"
	"strings"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/pools"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	openstackclient "github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/client"
	openstackinfrastructure "github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/infrastructure"
	openstackclasses "github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/machineclasses"
	openstackmachines "github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/machines"
	vsphereclient "github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/vsphere/client"
	vsphereinfrastructure "github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/vsphere/infrastructure"
	vsphereclasses "github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/vsphere/machineclasses"
	vspheremachines "github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/vsphere/machines"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
	"github.com/gardener/gardener-extension-provider-hybrid/test/countproxy"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/openstack"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/vcenter"
)

// availabilityZone is that of the servers. The Gardener zone of a site is its name with -a.
const availabilityZone = "az1"

// machinePlace is where machines are made: the driver's part and what it needs.
type machinePlace struct {
	part        platform.Machines
	spec        *v1alpha1.MachineProviderSpec
	credentials site.Credentials
	userData    string
	// silent is whether the driver knows no addresses of its machines.
	silent bool
}

// create makes a machine and returns its provider ID. It goes in the end.
func (p *machinePlace) create(ctx context.Context, name string) string {
	GinkgoHelper()
	r := platform.MachineRequest{Name: name, Spec: p.spec, Credentials: p.credentials, UserData: []byte(cmp.Or(p.userData, "#!/bin/sh\n"))}
	var created platform.Machine
	DeferCleanup(func(ctx SpecContext) { p.delete(ctx, name, created.ProviderID) }, NodeTimeout(4*time.Minute))
	Eventually(func(ctx context.Context) (err error) {
		created, err = p.part.Create(ctx, r)
		return err
	}).WithContext(ctx).Within(2 * time.Minute).Should(Succeed()) // the machine is busy with other tests, too
	if p.silent {
		return created.ProviderID
	}
	r.ProviderID = created.ProviderID
	Eventually(func(ctx context.Context) ([]any, error) {
		m, err := p.part.Get(ctx, r)
		var addresses []any
		for _, a := range m.Addresses {
			addresses = append(addresses, a)
		}
		return addresses, err
	}).WithContext(ctx).Within(time.Minute).ProbeEvery(500*time.Millisecond).Should(HaveLen(2), "it has no address")
	return created.ProviderID
}

func (p *machinePlace) delete(ctx context.Context, name, providerID string) {
	GinkgoHelper()
	Eventually(p.part.Delete).WithContext(ctx).WithArguments(platform.MachineRequest{Name: name, ProviderID: providerID, Spec: p.spec,
		Credentials: p.credentials}).
		Within(2 * time.Minute).Should(Succeed())
}

// cloud is an OpenStack site behind a proxy.
type cloud struct {
	machinePlace

	name      string
	proxy     *countproxy.Proxy
	status    *v1alpha1.OpenStackStatus
	inspector *openstack.Client
	project   openstack.Credentials
	balancing *gophercloud.ServiceClient
}

// members are the addresses of the members of all load balancers of the shoot in a project.
func members(ctx context.Context, c *cloud) []string {
	GinkgoHelper()
	all, err := openstackclient.List(ctx, pools.List(c.balancing, nil), pools.ExtractPools)
	Expect(err).NotTo(HaveOccurred())
	var addresses []string
	for _, pool := range all {
		if !strings.Contains(pool.Name, "kube_service_"+shoot+"_") {
			continue
		}
		found, err := openstackclient.List(ctx, pools.ListMembers(c.balancing, pool.ID, nil), pools.ExtractMembers)
		Expect(err).NotTo(HaveOccurred())
		for _, member := range found {
			addresses = append(addresses, member.Address)
		}
	}
	return addresses
}

// newCloud makes the infrastructure of the shoot in a project. It goes in the end.
func newCloud(ctx context.Context, name, project, nodes, gateway string) *cloud {
	GinkgoHelper()
	c := &cloud{name: name}
	var err error
	c.project, err = bed.Credentials(project)
	Expect(err).NotTo(HaveOccurred())
	c.inspector, err = openstack.NewClient(ctx, c.project)
	Expect(err).NotTo(HaveOccurred())
	c.proxy, err = countproxy.New(openstack.Services()...)
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func() { Expect(c.proxy.Close()).To(Succeed()) })
	c.credentials = site.Credentials(c.project.SiteCredentials())

	prefix := netip.MustParsePrefix(nodes)
	s := &site.Site{
		Name:     name,
		Platform: v1alpha1.PlatformOpenStack,
		Shoot:    shoot,
		Profile: &v1alpha1.CloudProfileSite{
			Name: name, Region: region,
			OpenStack: &v1alpha1.OpenStackProfile{AuthURL: c.project.AuthURL, Region: c.project.Region},
		},
		Config:      &v1alpha1.InfrastructureSite{Name: name, OpenStack: &v1alpha1.OpenStackInfrastructure{FloatingPoolName: "public"}},
		Credentials: c.credentials,
		Network: site.Network{
			Topology: v1alpha1.TopologyRouted, Subnets: []netip.Prefix{prefix}, Nodes: []netip.Prefix{prefix}, Gateway: netip.MustParseAddr(gateway),
		},
	}
	sessions := openstackclient.NewSessions()
	network := openstackinfrastructure.New(sessions)
	status, err := network.Reconcile(ctx, s, keep(s))
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func(ctx SpecContext) {
		Expect(network.Delete(ctx, s, keep(s))).To(Succeed())
		Expect(c.inspector.Objects(ctx, shoot)).To(BeEmpty())
	}, NodeTimeout(6*time.Minute))
	c.status = status.OpenStack

	session, err := sessions.Get(ctx, name, openstackclient.ConnectionOf(s.Profile), c.credentials)
	Expect(err).NotTo(HaveOccurred())
	c.balancing, err = session.LoadBalancer(ctx)
	Expect(err).NotTo(HaveOccurred())

	c.part = openstackmachines.New(sessions)
	c.spec = &v1alpha1.MachineProviderSpec{Site: name, Shoot: shoot}
	Expect(openstackclasses.New(sessions).Resolve(ctx, platform.MachineClassRequest{
		Site:        s,
		Status:      status,
		Zone:        &v1alpha1.SiteZone{Name: name + "-a", OpenStack: &v1alpha1.OpenStackZone{AvailabilityZone: availabilityZone}},
		MachineType: &v1alpha1.SiteMachineType{OpenStack: &v1alpha1.OpenStackMachineType{Flavor: "m1.small"}},
		Image:       &v1alpha1.SiteMachineImage{OpenStack: &v1alpha1.OpenStackImage{ImageName: "gardenlinux"}},
	}, c.spec)).To(Succeed())
	return c
}

func keep(s *site.Site) platform.Persist {
	return func(_ context.Context, state *v1alpha1.SiteState) error {
		s.State = state
		return nil
	}
}

// site is the site in the configuration of the cloud-controller-manager, with load balancers. Requests go through the proxy.
func (c *cloud) site() v1alpha1.CloudControllerSite {
	return v1alpha1.CloudControllerSite{Name: c.name, OpenStack: &v1alpha1.OpenStackCloudController{
		Connection: v1alpha1.OpenStackConnection{AuthURL: c.proxy.Rewrite(c.project.AuthURL), Region: c.project.Region},
		Zones:      []v1alpha1.OpenStackCloudControllerZone{{Name: c.name + "-a", AvailabilityZone: availabilityZone}},
		LoadBalancer: &v1alpha1.OpenStackLoadBalancer{
			SubnetID: c.status.SubnetID, FloatingNetworkID: c.status.FloatingNetworkID,
		},
	}}
}

// datacenter is the vSphere site.
type datacenter struct {
	machinePlace
}

// newDatacenter makes the infrastructure of the shoot in the vCenter.
func newDatacenter(ctx context.Context) *datacenter {
	GinkgoHelper()
	zone := v1alpha1.SiteZone{Name: vcSite + "-a", VSphere: &v1alpha1.VSphereZone{
		Datacenter: "DC0", ComputeCluster: "DC0_C0", Datastore: "LocalDS_0", Network: "DC0_DVPG0",
	}}
	s := &site.Site{
		Name:     vcSite,
		Platform: v1alpha1.PlatformVSphere,
		Shoot:    shoot,
		Profile: &v1alpha1.CloudProfileSite{
			Name: vcSite, Region: region, TLS: &v1alpha1.TLS{CACert: server.CA}, Zones: []v1alpha1.SiteZone{zone},
			VSphere: &v1alpha1.VSphereProfile{Server: "https://" + server.Address, Datacenter: "DC0"},
		},
		Config:      &v1alpha1.InfrastructureSite{Name: vcSite, VSphere: &v1alpha1.VSphereInfrastructure{}},
		Credentials: site.Credentials{"username": vcenter.Username, "password": vcenter.Password},
	}
	sessions := vsphereclient.NewSessions(vsphereclient.Intervals{Idle: time.Hour, KeepAlive: time.Hour})
	DeferCleanup(sessions.Close)
	status, err := vsphereinfrastructure.New(sessions).Reconcile(ctx, s, keep(s))
	Expect(err).NotTo(HaveOccurred())
	d := &datacenter{machinePlace{part: vspheremachines.New(sessions), credentials: s.Credentials,
		spec: &v1alpha1.MachineProviderSpec{Site: vcSite, Shoot: shoot}}}
	Expect(vsphereclasses.New(sessions).Resolve(ctx, platform.MachineClassRequest{
		Site:        s,
		Status:      status,
		Zone:        &zone,
		Capacity:    corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("4"), corev1.ResourceMemory: resource.MustParse("8Gi")},
		MachineType: &v1alpha1.SiteMachineType{VSphere: &v1alpha1.VSphereMachineType{}},
		Image:       &v1alpha1.SiteMachineImage{VSphere: &v1alpha1.VSphereImage{Template: vcenter.Template}},
	}, d.spec)).To(Succeed())
	return d
}

func (d *datacenter) site() v1alpha1.CloudControllerSite {
	return v1alpha1.CloudControllerSite{Name: vcSite, VSphere: &v1alpha1.VSphereCloudController{
		Connection: d.spec.VSphere.Connection,
		Zones: []v1alpha1.VSphereCloudControllerZone{{Name: vcSite + "-a", ComputeCluster: d.spec.VSphere.ComputeCluster,
			ResourcePool: d.spec.VSphere.ResourcePool}},
	}}
}
