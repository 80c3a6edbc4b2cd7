// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package vspherecsi_test runs the vSphere CSI driver with the charts, the configuration and the permissions of a shoot, and the
// sidecars of Kubernetes, as processes beside a real kube-apiserver and two simulated vCenters. The nodes are objects that stand for
// virtual machines; their node service is not there. hack/vsphere-csi.sh builds the driver and runs it.
package vspherecsi_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/charts"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/vsphere/controlplane"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/containers"
	"github.com/gardener/gardener-extension-provider-hybrid/test/rendering"
	"github.com/gardener/gardener-extension-provider-hybrid/test/skip"
	"github.com/gardener/gardener-extension-provider-hybrid/test/suite"
)

func TestVSphereCSI(t *testing.T) {
	suite.Run(t, "vSphere CSI Suite")
}

var (
	dir        string
	cluster    *landscape.Cluster
	shoot      client.Client
	east, west *vCenter
	storage    *platform.Storage
	driver     *landscape.Process
	processes  []*landscape.Process
)

var _ = BeforeSuite(func(ctx SpecContext) {
	if _, err := os.Stat(binary("vsphere-csi")); err != nil {
		skip.Because("hack/vsphere-csi.sh builds the driver")
	}
	dir = GinkgoT().TempDir()
	var err error
	cluster, err = landscape.NewCluster(dir, landscape.Binaries{Etcd: binary("etcd"), KubeAPIServer: binary("kube-apiserver")})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(cluster.Stop)
	Expect(cluster.Start(ctx)).To(Succeed())
	shoot, err = client.New(cluster.Config, client.Options{})
	Expect(err).NotTo(HaveOccurred())

	east, west = startVCenter(ctx, "east", "localhost"), startVCenter(ctx, "west", "127.0.0.1")
	DeferCleanup(east.stop)
	storage, err = controlplane.New().Storage([]platform.ControlPlaneSite{east.controlPlaneSite(), west.controlPlaneSite()})
	Expect(err).NotTo(HaveOccurred())
	deployShoot(ctx)
	startDriver(ctx)
})

func binary(name string) string {
	return filepath.Join(landscape.Root(), "hack", "bin", name)
}

// deployShoot applies what the shoot has of the driver.
func deployShoot(ctx context.Context) {
	GinkgoHelper()
	images := map[string]string{}
	for _, image := range controlplane.New().StorageChart().ShootImages {
		images[image] = "registry.example.com/" + image + ":v1"
	}
	values, err := rendering.Merge(storage.Shoot, map[string]any{"enabled": true, "images": images})
	Expect(err).NotTo(HaveOccurred())
	enabled := map[string]any{"enabled": true}
	apply(ctx, charts.ShootCRDs, map[string]any{"snapshots": enabled, "vsphere": enabled})
	apply(ctx, charts.ShootSystemComponents,
		map[string]any{controlplane.Chart: values, "global": map[string]any{"kubernetesVersion": "1.36.1"}})
	for _, class := range storage.Classes {
		createClass(ctx, class)
	}
}

func apply(ctx context.Context, chart string, values map[string]any) {
	GinkgoHelper()
	rendered, err := rendering.Chart(chart, "kube-system", values)
	Expect(err).NotTo(HaveOccurred())
	objects, err := rendering.Objects(rendered)
	Expect(err).NotTo(HaveOccurred())
	for _, object := range objects {
		Eventually(ctx, func() error {
			//nolint:staticcheck // the objects have no types
			return shoot.Patch(ctx, object, client.Apply, client.FieldOwner("test"), client.ForceOwnership)
		}).Should(Succeed(), "%s %s", object.GetKind(), object.GetName())
	}
}

func createClass(ctx context.Context, class platform.StorageClass) {
	GinkgoHelper()
	Expect(shoot.Create(ctx, &storagev1.StorageClass{
		ObjectMeta:           metav1.ObjectMeta{Name: class.Name},
		Provisioner:          class.Provisioner,
		Parameters:           class.Parameters,
		AllowedTopologies:    class.AllowedTopologies,
		AllowVolumeExpansion: &class.AllowVolumeExpansion,
		VolumeBindingMode:    new(storagev1.VolumeBindingWaitForFirstConsumer),
	})).To(Succeed())
}

// startDriver starts the containers of the Deployment in the seed, with the files of the driver's Secret and the access of its service
// account.
func startDriver(ctx context.Context) {
	GinkgoHelper()
	const account = "csi-vsphere-controller"
	Expect(controlplane.New().StorageChart().AccessSecrets).To(ConsistOf(account))
	config, access := filepath.Join(dir, "cloud"), filepath.Join(dir, "access")
	for _, folder := range []string{config, access} {
		Expect(os.Mkdir(folder, 0o700)).To(Succeed())
	}
	for name, content := range storage.Files {
		Expect(os.WriteFile(filepath.Join(config, name), []byte(strings.ReplaceAll(content, "/etc/cloud", config)), 0o600)).To(Succeed())
	}
	Expect(shoot.Create(ctx,
		&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: account, Namespace: metav1.NamespaceSystem}})).To(Succeed())
	Expect(rendering.WriteKubeconfig(ctx, cluster.Config, metav1.NamespaceSystem, account, filepath.Join(access, "kubeconfig"))).To(Succeed())
	deployment := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: account}}
	values, err := rendering.Merge(storage.ControlPlane, map[string]any{"enabled": true})
	Expect(err).NotTo(HaveOccurred())
	Expect(rendering.ControlPlane("shoot", map[string]any{controlplane.Chart: values}, deployment)).To(Succeed())

	for name, executable := range map[string]string{
		"csi-vsphere": "vsphere-csi", "csi-vsphere-syncer": "vsphere-syncer", "csi-provisioner": "csi-provisioner",
		"csi-attacher": "csi-attacher", "csi-resizer": "csi-resizer", "csi-snapshotter": "csi-snapshotter",
	} {
		process, err := containers.Process(deployment, name, binary(executable),
			map[string]string{"/csi": dir, "/etc/cloud": config, containers.Kubeconfig: access})
		Expect(err).NotTo(HaveOccurred())
		if name == executable { // a sidecar, whose log is searched
			process.Args = append(process.Args, "--v=4")
		}
		process.LogFile = filepath.Join(dir, "logs", name+".log")
		Expect(process.Start()).To(Succeed())
		DeferCleanup(process.Stop)
		if processes = append(processes, process); name == "csi-vsphere" {
			driver = process
		}
	}
}

// logs returns the log of the process.
func logs(process *landscape.Process) string {
	content, err := os.ReadFile(process.LogFile)
	Expect(err).NotTo(HaveOccurred())
	return string(content)
}

// soon is how long the driver, its syncer and sidecars may take for something.
const soon = 45 * time.Second
