// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package returnhome_test fills the hosts of a pool, bursts into OpenStack, frees hosts, and watches how the machines return, with the
// real machine-controller-manager. The kubelets and their pods are played.
package returnhome_test

import (
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/util/rand"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/metal"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/shoot"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/vcenter"
	"github.com/gardener/gardener-extension-provider-hybrid/test/specs"
	"github.com/gardener/gardener-extension-provider-hybrid/test/suite"
)

func TestReturnHome(t *testing.T) {
	suite.Run(t, "Return Home Suite")
}

// The zones of the pool, and their sites.
const cloud, rack = "cloud-a", "rack-1"

// hosts are all hosts for the pool. As many as servers are paused at first, so that the pool needs as many servers in the cloud.
const hosts, servers = 5, 2

var (
	inventory *metal.Inventory
	local     *shoot.Shoot
)

var _ = BeforeSuite(func(ctx SpecContext) {
	bed := specs.OpenStack(ctx)
	server := specs.VCenter(ctx, vcenter.Options{Guest: time.Second})
	inventory = specs.Inventory(ctx, metal.Options{Metal3: true, IronCore: true, IPAM: true})
	Expect(inventory.MakePool(ctx,
		metal.Pool{Name: "racks", Addresses: []string{"10.250.8.10-10.250.11.250"}, Prefix: 22, Gateway: "10.250.8.1"})).To(Succeed())
	names, err := inventory.MakeHosts(ctx, metal.Batch{Prefix: "rack-1-l", Count: hosts, Labels: map[string]string{"rack": "r1", "size": "l"}})
	Expect(err).NotTo(HaveOccurred())
	// The other pool of the example, which has no machines here, needs hosts, too.
	_, err = inventory.MakeHosts(ctx, metal.Batch{Prefix: "rack-1-s", Count: 1, Labels: map[string]string{"rack": "r1", "size": "s"}})
	Expect(err).NotTo(HaveOccurred())
	_, err = inventory.MakeServers(ctx, metal.Batch{Prefix: "hall-1-s", Count: 1, Labels: map[string]string{"hall": "h1", "size": "s"}})
	Expect(err).NotTo(HaveOccurred())
	for _, name := range names[:servers] {
		Expect(inventory.PauseHost(ctx, name)).To(Succeed())
	}
	local = specs.Shoot(ctx, shoot.Options{
		Name: "shoot--home--" + rand.String(5), Bed: bed, VCenter: server, Inventory: inventory, Pods: true,
		DriverArgs: []string{"--resource-exhausted-retry=5s", "--machine-drain-timeout=10m"},
	}, func(*v1alpha1.CloudProfileSite) {})
	startWorkloadControllers(ctx)
}, NodeTimeout(25*time.Minute))

// startWorkloadControllers starts kube-scheduler and the controllers of kube-controller-manager that Deployments and
// PodDisruptionBudgets need.
func startWorkloadControllers(ctx SpecContext) {
	GinkgoHelper()
	ports, err := landscape.FreePorts(2)
	Expect(err).NotTo(HaveOccurred())
	var (
		dir, kubeconfig = GinkgoT().TempDir(), "--kubeconfig=" + local.Seed.Cluster.Kubeconfig
		binaries        = landscape.DefaultBinaries()
		controllers     = []string{"deployment-controller", "replicaset-controller", "disruption-controller", "garbage-collector-controller",
			"node-lifecycle-controller"} // The last one removes the taint that nodes are created with.
	)
	for _, p := range []*landscape.Process{
		{Name: "kube-controller-manager", Path: binaries.KubeControllerManager, Args: []string{kubeconfig, "--leader-elect=false",
			"--controllers=" + strings.Join(controllers, ","), "--node-monitor-period=1s",
			"--bind-address=127.0.0.1", "--secure-port=" + strconv.Itoa(ports[0])}},
		{Name: "kube-scheduler", Path: binaries.KubeScheduler, Args: []string{kubeconfig, "--leader-elect=false",
			"--bind-address=127.0.0.1", "--secure-port=" + strconv.Itoa(ports[1])}},
	} {
		p.LogFile = filepath.Join(dir, p.Name+".log")
		Expect(p.Start()).To(Succeed())
		DeferCleanup(p.Stop)
	}
}

var _ = specs.ShowTails(func() []*landscape.Process { return local.Processes() })
