// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package vspherecsi_test

import (
	"context"
	"crypto/tls"
	"net"
	"net/url"

	"github.com/google/uuid"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/vmware/govmomi"
	_ "github.com/vmware/govmomi/cns/simulator"
	"github.com/vmware/govmomi/find"
	"github.com/vmware/govmomi/object"
	_ "github.com/vmware/govmomi/pbm/simulator"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vapi/rest"
	_ "github.com/vmware/govmomi/vapi/simulator"
	"github.com/vmware/govmomi/vapi/tags"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
	_ "github.com/vmware/govmomi/vslm/simulator"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/pki"
)

const (
	username = "k8s@vsphere.local"
	password = `pa"ss\word;#` // #nosec G101 -- of the simulator

	// apiVersion is the version that the vCenters say they have. The driver takes none before 7.
	apiVersion = "8.0.3.0"
)

// vCenter is a simulated vCenter with a site.
type vCenter struct {
	site, address string
	authority     *pki.Authority
	server        *simulator.Server
	model         *simulator.Model
	finder        *find.Finder
}

// startVCenter starts a vCenter with two clusters that is reached by the host, which stands for loopback.
func startVCenter(ctx context.Context, site, host string) *vCenter {
	GinkgoHelper()
	authority, err := pki.NewAuthority()
	Expect(err).NotTo(HaveOccurred())
	pair, err := authority.Server("vcenter")
	Expect(err).NotTo(HaveOccurred())
	certificate, err := tls.X509KeyPair([]byte(pair.Certificate), []byte(pair.Key))
	Expect(err).NotTo(HaveOccurred())

	model := simulator.VPX()
	model.Cluster, model.ClusterHost, model.Host, model.Machine = 2, 2, 0, 1
	model.ServiceContent.About.ApiVersion = apiVersion
	Expect(model.Create()).To(Succeed())
	model.Service.RegisterEndpoints = true
	model.Service.TLS = &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12}
	model.Service.Listen = &url.URL{Host: "127.0.0.1:0", User: url.UserPassword(username, password)}
	v := &vCenter{site: site, authority: authority, model: model, server: model.Service.NewServer()}
	v.address = net.JoinHostPort(host, v.server.URL.Port())

	client, err := govmomi.NewClient(ctx, v.server.URL, true)
	Expect(err).NotTo(HaveOccurred())
	v.finder = find.NewFinder(client.Client)
	datacenter, err := v.finder.Datacenter(ctx, "/DC0")
	Expect(err).NotTo(HaveOccurred())
	v.finder.SetDatacenter(datacenter)

	session := rest.NewClient(client.Client)
	Expect(session.Login(ctx, v.server.URL.User)).To(Succeed())
	manager := tags.NewManager(session)
	v.tag(ctx, manager, "k8s-region", map[string]mo.Reference{"europe": datacenter})
	v.tag(ctx, manager, "k8s-zone", map[string]mo.Reference{site + "-1": v.cluster(ctx, "DC0_C0"), site + "-2": v.cluster(ctx, "DC0_C1")})
	return v
}

// stop refuses connections from now on. It waits for no requests, because some of the driver wait for what never happens.
func (v *vCenter) stop() {
	_ = v.server.Listener.Close()
	v.server.CloseClientConnections()
}

func (v *vCenter) cluster(ctx context.Context, name string) *object.ClusterComputeResource {
	GinkgoHelper()
	cluster, err := v.finder.ClusterComputeResource(ctx, name)
	Expect(err).NotTo(HaveOccurred())
	return cluster
}

func (v *vCenter) tag(ctx context.Context, manager *tags.Manager, category string, objects map[string]mo.Reference) {
	GinkgoHelper()
	id, err := manager.CreateCategory(ctx, &tags.Category{Name: category, Cardinality: "SINGLE"})
	Expect(err).NotTo(HaveOccurred())
	for name, o := range objects {
		tag, err := manager.CreateTag(ctx, &tags.Tag{Name: name, CategoryID: id})
		Expect(err).NotTo(HaveOccurred())
		Expect(manager.AttachTag(ctx, tag, o)).To(Succeed())
	}
}

// machine gives a virtual machine of the cluster with the number a UUID of its own, because all simulators give the same, and returns it.
func (v *vCenter) machine(ctx context.Context, cluster string) string {
	GinkgoHelper()
	machine, err := v.finder.VirtualMachine(ctx, cluster+"_RP0_VM0")
	Expect(err).NotTo(HaveOccurred())
	id := uuid.NewString()
	task, err := machine.Reconfigure(ctx, types.VirtualMachineConfigSpec{Uuid: id})
	Expect(err).NotTo(HaveOccurred())
	Expect(task.Wait(ctx)).To(Succeed())
	return id
}

// controlPlaneSite is the site of a shoot at the vCenter.
func (v *vCenter) controlPlaneSite() platform.ControlPlaneSite {
	zone := func(name, cluster string) v1alpha1.SiteZone {
		return v1alpha1.SiteZone{Name: name, VSphere: &v1alpha1.VSphereZone{ComputeCluster: cluster, TopologyTag: name}}
	}
	return platform.ControlPlaneSite{Site: &site.Site{
		Name:        v.site,
		Platform:    v1alpha1.PlatformVSphere,
		Shoot:       "shoot--csi--vsphere",
		Credentials: site.Credentials{"username": username, "password": password},
		Profile: &v1alpha1.CloudProfileSite{
			Name:   v.site,
			Region: "europe",
			TLS:    &v1alpha1.TLS{CACert: v.authority.PEM},
			VSphere: &v1alpha1.VSphereProfile{
				Server:     "https://" + v.address,
				Datacenter: "DC0",
				Topology:   &v1alpha1.VSphereTopology{RegionCategory: "k8s-region", ZoneCategory: "k8s-zone"},
			},
			Zones: []v1alpha1.SiteZone{zone(v.site+"-1", "DC0_C0"), zone(v.site+"-2", "DC0_C1")},
			StorageClasses: []v1alpha1.StorageClass{{Name: v.site, Default: true,
				VSphere: &v1alpha1.VSphereStorageClass{StoragePolicy: "vSAN Default Storage Policy"}}},
		},
	}}
}
