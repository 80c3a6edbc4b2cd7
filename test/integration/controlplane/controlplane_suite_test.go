// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package controlplane_test runs a shoot on OpenStack, vSphere and bare metal with the control plane that the charts make of its
// ControlPlane: gardener-resource-manager applies it, and its cloud-controller-manager and its storage drivers run as processes.
package controlplane_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/test/countproxy"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/metal"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/openstack"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/pods"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/shoot"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/vcenter"
	"github.com/gardener/gardener-extension-provider-hybrid/test/specs"
	"github.com/gardener/gardener-extension-provider-hybrid/test/suite"
)

func TestControlPlane(t *testing.T) {
	SetDefaultEventuallyTimeout(inTime)
	SetDefaultEventuallyPollingInterval(200 * time.Millisecond)
	suite.Run(t, "Control Plane Suite")
}

// inTime is enough for what happens at once, on a machine that is busy with other tests, too.
const inTime = 2 * time.Minute

// The sites of the shoot, and the zone of each.
const (
	cloud, vc, racks, hall                = "cloud", "vc", "racks", "hall"
	cloudZone, vcZone, rackZone, hallZone = "cloud-a", "vc-1", "rack-1", "hall-1"
)

var zones = map[string]string{cloud: cloudZone, vc: vcZone, racks: rackZone, hall: hallZone}

// The Deployments and containers that run as processes.
const (
	manager, managerContainer = "cloud-controller-manager", "cloud-controller-manager-hybrid"
	cinder, cinderContainer   = "csi-cinder-controller", "cinder-csi-plugin"
)

// accounts are the service accounts of the processes.
var accounts = []string{manager, cinder, "csi-snapshot-controller", "local-volumes-controller"}

var (
	inventory *metal.Inventory
	// proxy stands between the shoot's processes and OpenStack. The test and the played kubelets do not use it.
	proxy *countproxy.Proxy
	local *shoot.Shoot
	c     client.Client
	bed   *openstack.Bed
	// key is the credential of the OpenStack site.
	key *openstack.Key
)

var _ = BeforeSuite(func(ctx SpecContext) {
	bed = specs.OpenStack(ctx)
	proxy = specs.Proxy()
	server := specs.VCenter(ctx, vcenter.Options{Guest: time.Second})
	startInventory(ctx)

	binaries, err := shoot.Build(ctx, GinkgoT().TempDir(), GinkgoWriter)
	Expect(err).NotTo(HaveOccurred())
	dir, err := os.MkdirTemp("", "cp") // the sockets of the storage drivers have short paths
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(os.RemoveAll, dir)
	var users []string
	for _, account := range accounts {
		users = append(users, user(account))
	}
	local = specs.Shoot(ctx, shoot.Options{
		Name: "shoot--cp--" + rand.String(5), Dir: dir, Bed: bed, VCenter: server, Inventory: inventory, Binaries: binaries,
		Workloads: true, Programs: programs(filepath.Dir(binaries.Extension)), Audited: users,
	}, func(site *v1alpha1.CloudProfileSite) {
		if site.OpenStack != nil {
			site.OpenStack.AuthURL = proxy.Rewrite(site.OpenStack.AuthURL)
		}
	})
	c = local.Seed.Client
	Expect(landscape.CRDs{
		Module: "github.com/gardener/gardener",
		Folder: filepath.Join("example", "seed-crds"),
		Files:  []string{"10-crd-monitoring.coreos.com_prometheusrules.yaml", "10-crd-monitoring.coreos.com_servicemonitors.yaml"},
	}.Install(ctx, local.Seed.Cluster.Config)).To(Succeed())

	key = newKey(ctx, local.Name)
	DeferCleanup(func(ctx SpecContext) { Expect(key.Revoke(ctx)).To(Succeed()) })
	use(ctx, key)
	changeShoot(ctx, func(s *shootChange) { s.controlPlane.Sites = []v1alpha1.ControlPlaneSite{balancedRacks} })
}, NodeTimeout(25*time.Minute))

// user is who a service account is for kube-apiserver.
func user(account string) string {
	return serviceaccount.MakeUsername(metav1.NamespaceSystem, account)
}

// programs are the containers of the control plane that run here: all that need no data path.
func programs(ours string) []pods.Program {
	bin := filepath.Join(landscape.Root(), "hack", "bin")
	election := []string{"--leader-elect-lease-duration=10s", "--leader-elect-renew-deadline=8s", "--leader-elect-retry-period=500ms",
		"--node-monitor-period=1s"}
	result := []pods.Program{
		{Deployment: manager, Container: managerContainer, Path: filepath.Join(ours, "cloud-controller-manager-hybrid"), Args: election},
		{Deployment: cinder, Container: cinderContainer, Path: filepath.Join(ours, "cinder-csi-plugin-hybrid")},
		{Deployment: "csi-snapshot-controller", Container: "csi-snapshot-controller", Path: filepath.Join(bin, "snapshot-controller")},
		{Deployment: "local-volumes-controller", Container: "local-path-provisioner", Path: filepath.Join(bin, "local-path-provisioner")},
	}
	for _, sidecar := range []string{"csi-provisioner", "csi-attacher", "csi-resizer", "csi-snapshotter"} {
		result = append(result, pods.Program{Deployment: cinder, Container: sidecar, Path: filepath.Join(bin, sidecar)})
	}
	return result
}

// startInventory starts the inventory and makes its hosts.
func startInventory(ctx context.Context) {
	GinkgoHelper()
	inventory = specs.Inventory(ctx, metal.Options{Metal3: true, IronCore: true, IPAM: true})
	Expect(inventory.MakePool(ctx,
		metal.Pool{Name: "racks", Addresses: []string{"10.250.8.10-10.250.11.250"}, Prefix: 22, Gateway: "10.250.8.1"})).To(Succeed())
	for _, size := range []string{"s", "l"} {
		_, err := inventory.MakeHosts(ctx, metal.Batch{Prefix: "rack-1-" + size, Count: 2, Labels: map[string]string{"rack": "r1", "size": size}})
		Expect(err).NotTo(HaveOccurred())
	}
	_, err := inventory.MakeServers(ctx, metal.Batch{Prefix: "hall-1-s", Count: 2, Labels: map[string]string{"hall": "h1", "size": "s"}})
	Expect(err).NotTo(HaveOccurred())
}

var _ = specs.ShowTails(func() []*landscape.Process {
	processes := local.Processes()
	if local != nil && local.ControlPlane != nil {
		for _, p := range programs("") {
			if process := local.ControlPlane.Process(p.Deployment, p.Container); process != nil {
				processes = append(processes, process)
			}
		}
	}
	return processes
})
