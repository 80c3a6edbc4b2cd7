// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package ccm_test runs the cloud-controller-manager as a process beside a real kube-apiserver, with two projects of a real
// OpenStack, a simulated vCenter and an inventory with Metal3's and IronCore's operators as sites. The nodes are objects without kubelets.
package ccm_test

import (
	"path/filepath"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/client-go/kubernetes"

	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/metal"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/openstack"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/vcenter"
	"github.com/gardener/gardener-extension-provider-hybrid/test/specs"
	"github.com/gardener/gardener-extension-provider-hybrid/test/suite"
)

func TestCloudControllerManager(t *testing.T) {
	suite.Run(t, "Cloud Controller Manager Suite")
}

const (
	cloudSite   = "cloud"
	anotherSite = "another"
	vcSite      = "vc"
	racksSite   = "racks"
	hallSite    = "hall"
	region      = "west"
)

var (
	binary   string
	cluster  *landscape.Cluster
	shootAPI kubernetes.Interface
	bed      *openstack.Bed
	server   *vcenter.VCenter
	// clouds are the two OpenStack sites by name.
	clouds map[string]*cloud
	place  *datacenter
	// inventory has the hosts of the bare-metal sites.
	inventory *metal.Inventory
	// halls are the bare-metal sites by name.
	halls map[string]*hall
	// shoot is the technical ID of the shoot.
	shoot = "shoot--ccm--" + rand.String(5)
)

var _ = BeforeSuite(func(ctx SpecContext) {
	own, err := landscape.BuildOwn(ctx, GinkgoT().TempDir(), GinkgoWriter, "./cmd/cloud-controller-manager-hybrid")
	Expect(err).NotTo(HaveOccurred())
	binary = filepath.Join(own, "cloud-controller-manager-hybrid")

	cluster, err = landscape.NewCluster(GinkgoT().TempDir(), landscape.DefaultBinaries())
	Expect(err).NotTo(HaveOccurred())
	auditLog = filepath.Join(GinkgoT().TempDir(), "audit.log")
	Expect(cluster.Audit(auditLog, user)).To(Succeed())
	DeferCleanup(func(ctx SpecContext) { cluster.Stop(ctx) })
	Expect(cluster.Start(ctx)).To(Succeed())
	grant(ctx)
	shootAPI, err = kubernetes.NewForConfig(cluster.Config)
	Expect(err).NotTo(HaveOccurred())

	bed = specs.OpenStack(ctx)
	clouds = map[string]*cloud{
		cloudSite:   newCloud(ctx, cloudSite, openstack.Projects[0], "10.250.0.0/24", "10.250.0.1"),
		anotherSite: newCloud(ctx, anotherSite, openstack.Projects[1], "10.250.4.0/24", "10.250.4.1"),
	}

	server = specs.VCenter(ctx, vcenter.Options{Guest: 100 * time.Millisecond})
	place = newDatacenter(ctx)

	inventory = specs.Inventory(ctx, metal.Options{Metal3: true, IronCore: true})
	DeferCleanup(func() { Expect(inventory.Check()).To(Succeed()) })
	halls = newHalls(ctx)
}, NodeTimeout(25*time.Minute))
