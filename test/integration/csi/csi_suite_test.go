// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package csi_test runs the CSI driver for Cinder with the sidecars of Kubernetes as processes beside a real kube-apiserver,
// kube-controller-manager and kube-scheduler, with two projects of a real OpenStack as sites. The nodes are objects without kubelets
// that stand for servers of those projects.
package csi_test

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/rand"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/openstack"
	"github.com/gardener/gardener-extension-provider-hybrid/test/specs"
	"github.com/gardener/gardener-extension-provider-hybrid/test/suite"
)

func TestCSI(t *testing.T) {
	suite.Run(t, "CSI Suite")
}

const (
	cloudSite   = "cloud"
	anotherSite = "another"
	// availabilityZone is that of the servers of both sites, and volumeZone that of the volumes.
	availabilityZone = "az1"
	volumeZone       = "nova"
)

var (
	binary  string
	cluster *landscape.Cluster
	shoot   client.Client
	bed     *openstack.Bed
	clouds  map[string]*cloud
	driver  *sidecars
	// clusterID is the technical ID of the shoot, and name that of its objects in OpenStack.
	clusterID = "shoot--csi--" + rand.String(5)
)

var _ = BeforeSuite(func(ctx SpecContext) {
	own, err := landscape.BuildOwn(ctx, GinkgoT().TempDir(), GinkgoWriter, "./cmd/cinder-csi-plugin-hybrid")
	Expect(err).NotTo(HaveOccurred())
	binary = filepath.Join(own, "cinder-csi-plugin-hybrid")

	dir := GinkgoT().TempDir()
	cluster, err = landscape.NewCluster(dir, landscape.DefaultBinaries())
	Expect(err).NotTo(HaveOccurred())
	auditLog = filepath.Join(dir, "audit.log")
	Expect(cluster.Audit(auditLog, user(driverAccount), user(snapshotAccount))).To(Succeed())
	DeferCleanup(func(ctx SpecContext) { cluster.Stop(ctx) })
	Expect(cluster.Start(ctx)).To(Succeed())
	shoot, err = client.New(cluster.Config, client.Options{Scheme: landscape.Scheme})
	Expect(err).NotTo(HaveOccurred())
	Expect(landscape.CRDs{
		Main:   filepath.Join("hack", "landscape", "binaries", "csi"),
		Module: "github.com/kubernetes-csi/external-snapshotter/client/v8",
		Folder: filepath.Join("config", "crd"),
	}.Install(ctx, cluster.Config)).To(Succeed())

	workloads, err := landscape.NewWorkloads(dir, cluster, landscape.DefaultBinaries())
	Expect(err).NotTo(HaveOccurred())
	for i, arg := range workloads.ControllerManager.Args {
		// No kubelet says that the nodes are well.
		workloads.ControllerManager.Args[i] = strings.Replace(arg, "node-lifecycle-controller,", "", 1)
	}
	for _, process := range []*landscape.Process{workloads.ControllerManager, workloads.Scheduler} {
		Expect(process.Start()).To(Succeed())
		DeferCleanup(func(ctx SpecContext) {
			Expect(process.Check()).To(Succeed())
			process.Stop(ctx)
		})
	}

	bed = specs.OpenStack(ctx)
	clouds = map[string]*cloud{
		cloudSite:   newCloud(ctx, cloudSite, openstack.Projects[0]),
		anotherSite: newCloud(ctx, anotherSite, openstack.Projects[1]),
	}
	Expect(shoot.Create(ctx, csiDriver())).To(Succeed())
	for _, c := range clouds {
		c.createNode(ctx)
		c.createClasses(ctx)
	}

	grant(ctx)
	driver = newSidecars()
	driver.writeConfig()
	driver.start()
	DeferCleanup(func(ctx SpecContext) { driver.stop(ctx) })
}, NodeTimeout(25*time.Minute))

var _ = specs.ShowTails(func() []*landscape.Process {
	if driver == nil {
		return nil
	}
	return driver.processes()
})

// namespaced is the metadata of an object that goes in the end of the spec.
func namespaced(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: name, Namespace: corev1.NamespaceDefault}
}
