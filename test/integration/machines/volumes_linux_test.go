// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package machines_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"github.com/gophercloud/gophercloud/v2"
	openstackclient "github.com/gophercloud/gophercloud/v2/openstack"
	"github.com/gophercloud/gophercloud/v2/openstack/blockstorage/v3/snapshots"
	"github.com/gophercloud/gophercloud/v2/openstack/blockstorage/v3/volumes"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	drivers "github.com/gardener/gardener-extension-provider-hybrid/pkg/csi"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/containers"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/openstack"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/shoot"
	"github.com/gardener/gardener-extension-provider-hybrid/test/rendering"
	"github.com/gardener/gardener-extension-provider-hybrid/test/specs"
)

const (
	volumeDriver = "cinder-csi-plugin-hybrid"
	driverName   = "cinder.csi.openstack.org"
	// siteSecret is the Secret that tells the driver the site of a volume.
	siteSecret = "csi-cinder-cloud" // #nosec G101 -- a name
	// anotherSite is the second project of OpenStack, in which the shoot has no machines.
	anotherSite = "another"

	gibibyte = 1 << 30
)

// driverAccount and snapshotAccount are the service accounts of the driver with its sidecars and of the snapshot controller.
const driverAccount, snapshotAccount = "csi-cinder-controller", "csi-snapshot-controller"

// capability is a file system for one node.
var capability = &csi.VolumeCapability{
	AccessType: &csi.VolumeCapability_Mount{Mount: &csi.VolumeCapability_MountVolume{FsType: "ext4"}},
	AccessMode: &csi.VolumeCapability_AccessMode{Mode: csi.VolumeCapability_AccessMode_SINGLE_NODE_WRITER},
}

// volumeSpecs need nodes that are ready. The node services of the driver are pods of the chart; its controller services are processes with
// the service accounts of the chart, as those of a shoot are in its seed.
func volumeSpecs() {
	cloud := shoot.Sites[0]
	var (
		controller csi.ControllerClient
		// projects are those of the sites in Cinder.
		projects = map[string]*gophercloud.ServiceClient{}
		// handle is the ID of the volume of the claim "data".
		handle string
		// first and second are the sums of what was written on the first node and the second.
		first, second string
	)
	inCinder := func(ctx context.Context, site, id string) (*volumes.Volume, error) {
		return volumes.Get(ctx, projects[site], id).Extract()
	}
	secrets := func(site string) map[string]string { return map[string]string{drivers.SiteKey: site} }
	create := func(ctx context.Context, site string) string {
		GinkgoHelper()
		created, err := controller.CreateVolume(ctx, &csi.CreateVolumeRequest{Name: "pv-" + site, Secrets: secrets(site),
			CapacityRange: &csi.CapacityRange{RequiredBytes: gibibyte}, VolumeCapabilities: []*csi.VolumeCapability{capability}})
		Expect(err).NotTo(HaveOccurred())
		Eventually(ctx, inCinder, flowTime, time.Second).WithArguments(site, created.Volume.VolumeId).Should(HaveField("Status", "available"))
		return created.Volume.VolumeId
	}
	remove := func(ctx context.Context, site, id string) {
		GinkgoHelper()
		Expect(controller.DeleteVolume(ctx, &csi.DeleteVolumeRequest{VolumeId: id, Secrets: secrets(site)})).Error().NotTo(HaveOccurred())
	}
	attach := func(ctx context.Context, site, id, server string) error {
		_, err := controller.ControllerPublishVolume(ctx, &csi.ControllerPublishVolumeRequest{VolumeId: id, NodeId: server,
			VolumeCapability: capability, Secrets: secrets(site)})
		return err
	}

	BeforeAll(func(ctx SpecContext) {
		access := map[string]openstack.Credentials{}
		for n, site := range []string{cloud, anotherSite} {
			var err error
			access[site], err = lab.stack.bed.Credentials(openstack.Projects[n])
			Expect(err).NotTo(HaveOccurred())
			projects[site], err = service(ctx, access[site], openstackclient.NewBlockStorageV3)
			Expect(err).NotTo(HaveOccurred())
		}
		applyCinder(ctx)
		socket := startCinder(ctx, cloudConfig(access))
		conn, err := grpc.NewClient("unix://"+socket, grpc.WithTransportCredentials(insecure.NewCredentials()),
			grpc.WithDefaultCallOptions(grpc.WaitForReady(true)))
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(conn.Close)
		controller = csi.NewControllerClient(conn)
		for _, pool := range []string{cloud, peerPool} {
			Eventually(ctx, nodeIDOf, joinTime, time.Second).WithArguments(pool).Should(Equal(serverOf(ctx, pool)), "the config drive tells the ID")
		}
	})

	It("should have a volume that a pod writes on one, and others read on the next", func(ctx SpecContext) {
		createClaim(ctx, "data", nil)
		begin := time.Now()
		first = useVolume(ctx, "data", peerPool, "dd if=/dev/urandom of=/data/first bs=1M count=8; sync; sha256sum /data/first")
		AddReportEntry("written", fmt.Sprintf("%.0f s after the first pod with the claim", time.Since(begin).Seconds()))
		Expect(first).To(HaveSuffix(" /data/first"))
		out := useVolume(ctx, "data", cloud, "dd if=/dev/urandom of=/data/second bs=1M count=8; sync; sha256sum /data/first /data/second")
		var found bool
		second, found = strings.CutPrefix(out, first+"\n")
		Expect(found).To(BeTrue(), out)
		volume := &corev1.PersistentVolume{}
		Expect(lab.shoot.Seed.Client.Get(ctx, client.ObjectKey{Name: claimOf(ctx, "data").Spec.VolumeName}, volume)).To(Succeed())
		handle = volume.Spec.CSI.VolumeHandle
		Expect(inCinder(ctx, cloud, handle)).To(HaveField("Size", 1))
	}, SpecTimeout(specTime))

	It("should not have a volume that another one has, nor one of another site, nor lend theirs to it", func(ctx SpecContext) {
		Expect(lab.shoot.Seed.Client.Create(ctx, keeper("data", cloud))).To(Succeed())
		Eventually(ctx, keeperOn, joinTime, time.Second).ShouldNot(BeEmpty())
		late := specs.Mount(podOn(peerPool, "true"), "data")
		Expect(lab.shoot.Seed.Client.Create(ctx, late)).To(Succeed())
		Eventually(ctx, eventsOf, joinTime, time.Second).WithArguments(late.Name).Should(ContainElement("FailedAttachVolume"))
		Expect(lab.shoot.Seed.Client.Delete(ctx, late)).To(Succeed())

		foreign, server := create(ctx, anotherSite), serverOf(ctx, peerPool)
		for _, try := range []struct{ site, volume string }{
			{anotherSite, handle}, {cloud, foreign}, {anotherSite, foreign},
		} {
			Expect(status.Code(attach(ctx, try.site, try.volume, server))).To(Equal(codes.NotFound), "%+v", try)
		}
		remove(ctx, anotherSite, handle)
		remove(ctx, cloud, foreign)
		Expect(inCinder(ctx, cloud, handle)).To(And(HaveField("Status", "in-use"),
			HaveField("Attachments", ConsistOf(HaveField("ServerID", serverOf(ctx, cloud))))))
		Expect(inCinder(ctx, anotherSite, foreign)).To(HaveField("Status", "available"))
		remove(ctx, anotherSite, foreign)
	}, SpecTimeout(specTime))

	It("should lose nothing of a volume that is attached to a machine which is deleted, and have it on the next", func(ctx SpecContext) {
		old, before := serverOf(ctx, cloud), machineOf(ctx, cloud)
		begin := time.Now()
		Expect(lab.shoot.Seed.Client.Delete(ctx, before)).To(Succeed())
		Eventually(ctx, lab.stack.servers.All, joinTime, time.Second).ShouldNot(HaveKey(old))
		AddReportEntry("server", fmt.Sprintf("gone %.0f s after the Machine was deleted", time.Since(begin).Seconds()))
		Eventually(ctx, keeperOn, joinTime, time.Second).ShouldNot(BeElementOf("", before.Name))
		AddReportEntry("next pod", fmt.Sprintf("runs %.0f s after the Machine was deleted", time.Since(begin).Seconds()))
		rename(ctx, cloud)
		Expect(inCinder(ctx, cloud, handle)).To(HaveField("Attachments", ConsistOf(HaveField("ServerID", serverOf(ctx, cloud)))))
		Expect(useVolume(ctx, "data", cloud, "sha256sum /data/first /data/second")).To(Equal(first + "\n" + second))
	}, SpecTimeout(specTime))

	It("should have a larger volume from a snapshot, and one that grows", func(ctx SpecContext) {
		snapshot := newSnapshot("data")
		Expect(lab.shoot.Seed.Client.Create(ctx, snapshot)).To(Succeed())
		Eventually(ctx, func() (bool, error) {
			err := lab.shoot.Seed.Client.Get(ctx, client.ObjectKeyFromObject(snapshot), snapshot)
			ready, _, _ := unstructured.NestedBool(snapshot.Object, "status", "readyToUse")
			return ready, err
		}, joinTime, time.Second).Should(BeTrue())
		createClaim(ctx, "copy", func(claim *corev1.PersistentVolumeClaim) {
			claim.Spec.Resources.Requests[corev1.ResourceStorage] = resource.MustParse("2Gi")
			claim.Spec.DataSource = &corev1.TypedLocalObjectReference{APIGroup: new("snapshot.storage.k8s.io"), Kind: "VolumeSnapshot", Name: "data"}
		})
		sizeAndSums := "df --output=size --block-size=1M /data | tail -n 1; sha256sum /data/first /data/second"
		// A file system of 2 GiB has less room than that, and one of 1 GiB much less.
		large := MatchRegexp(`^ *(19\d\d|20[0-4]\d)\n` + first + "\n" + second + "$")
		Expect(useVolume(ctx, "copy", peerPool, sizeAndSums)).To(large)

		Expect(lab.shoot.Seed.Client.Delete(ctx, keeper("data", cloud))).To(Succeed())
		Eventually(ctx, inCinder, joinTime, time.Second).WithArguments(cloud, handle).Should(HaveField("Status", "available"))
		claim := claimOf(ctx, "data")
		before := claim.DeepCopy()
		claim.Spec.Resources.Requests[corev1.ResourceStorage] = resource.MustParse("2Gi")
		Expect(lab.shoot.Seed.Client.Patch(ctx, claim, client.MergeFrom(before))).To(Succeed())
		Eventually(ctx, inCinder, joinTime, time.Second).WithArguments(cloud, handle).Should(HaveField("Size", 2))
		Expect(useVolume(ctx, "data", cloud, sizeAndSums)).To(large)
	}, SpecTimeout(specTime))

	It("should leave no volume and no snapshot whose claims are deleted", func(ctx SpecContext) {
		Expect(lab.shoot.Seed.Client.Delete(ctx, newSnapshot("data"))).To(Succeed())
		for _, name := range []string{"copy", "data"} {
			Expect(lab.shoot.Seed.Client.Delete(ctx, claimOf(ctx, name))).To(Succeed())
		}
		Eventually(ctx, func(g Gomega) {
			pages, err := volumes.List(projects[cloud], nil).AllPages(ctx)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(volumes.ExtractVolumes(pages)).To(BeEmpty())
			pages, err = snapshots.List(projects[cloud], nil).AllPages(ctx)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(snapshots.ExtractSnapshots(pages)).To(BeEmpty())
		}, joinTime, time.Second).Should(Succeed())
	}, SpecTimeout(specTime))
}

// applyCinder applies the charts of the driver for the site, and its classes.
func applyCinder(ctx context.Context) {
	GinkgoHelper()
	Expect(landscape.CRDs{
		Main:   filepath.Join("hack", "landscape", "binaries", "csi"),
		Module: "github.com/kubernetes-csi/external-snapshotter/client/v8",
		Folder: filepath.Join("config", "crd"),
	}.Install(ctx, lab.shoot.Seed.Cluster.Config)).To(Succeed())
	parameters := func(uses ...string) map[string]string {
		all := map[string]string{}
		for _, use := range uses {
			all["csi.storage.k8s.io/"+use+"-secret-name"] = siteSecret
			all["csi.storage.k8s.io/"+use+"-secret-namespace"] = metav1.NamespaceSystem
		}
		return all
	}
	site := shoot.Sites[0]
	class := map[string]any{"name": site, "site": site, "default": false, "provisioner": driverName, "allowVolumeExpansion": true,
		"reclaimPolicy": "Delete", "parameters": parameters("provisioner", "controller-publish", "controller-expand"),
		"allowedTopologies": []any{map[string]any{"matchLabelExpressions": []any{
			map[string]any{"key": v1alpha1.LabelSite, "values": []string{site}}}}}}
	forced := parameters("snapshotter", "snapshotter-list")
	forced["force-create"] = "true" // also while it is attached
	snapshotClass := map[string]any{"name": site, "site": site, "default": false, "driver": driverName, "parameters": forced}
	for chart, values := range map[string]map[string]any{
		"shoot-system-components": {
			"csi-cinder": map[string]any{"enabled": true, "sites": []any{map[string]any{"name": site, "secret": siteSecret}},
				"images": map[string]string{volumeDriver: cinderImage, "csi-node-driver-registrar": registrarImage,
					"csi-liveness-probe": registrarImage}},
			"csi-snapshot-controller": map[string]any{"enabled": true},
		},
		"shoot-storageclasses": {"storageClasses": []any{class}, "snapshotClasses": []any{snapshotClass}},
	} {
		applyChart(ctx, chart, values)
	}
	for _, account := range []string{driverAccount, snapshotAccount} {
		Expect(lab.shoot.Seed.Client.Create(ctx,
			&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: account, Namespace: metav1.NamespaceSystem}})).To(Succeed())
	}
}

// startCinder starts the driver's controller service, its sidecars and the snapshot controller, and returns the socket of the first.
func startCinder(ctx context.Context, config string) string {
	GinkgoHelper()
	dir, err := os.MkdirTemp("", "csi") // a socket has a short path
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(os.RemoveAll, dir)
	file, socket := filepath.Join(dir, "cloud.conf"), filepath.Join(dir, "csi.sock")
	Expect(os.WriteFile(file, []byte(config), 0o600)).To(Succeed())
	bin := filepath.Join(landscape.Root(), "hack", "bin")
	for account, executables := range map[string]map[string]string{
		driverAccount: {
			"cinder-csi-plugin": filepath.Join(filepath.Dir(lab.cloudController), volumeDriver),
			"csi-provisioner":   filepath.Join(bin, "csi-provisioner"), "csi-attacher": filepath.Join(bin, "csi-attacher"),
			"csi-resizer": filepath.Join(bin, "csi-resizer"), "csi-snapshotter": filepath.Join(bin, "csi-snapshotter"),
		},
		snapshotAccount: {snapshotAccount: filepath.Join(bin, "snapshot-controller")},
	} {
		deployment := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: account}}
		Expect(rendering.ControlPlane(shootName, map[string]any{
			"csi-cinder": map[string]any{"enabled": true, "cluster": shootName}, "csi-snapshot-controller": map[string]any{"enabled": true},
		}, deployment)).To(Succeed())
		access := filepath.Join(dir, account)
		Expect(os.Mkdir(access, 0o700)).To(Succeed())
		Expect(rendering.WriteKubeconfig(ctx, lab.shoot.Seed.Cluster.Config, metav1.NamespaceSystem, account,
			filepath.Join(access, "kubeconfig"))).To(Succeed())
		for name, path := range executables {
			process, err := containers.Process(deployment, name, path,
				map[string]string{"/csi": dir, "/etc/csi-cinder": dir, containers.Kubeconfig: access})
			Expect(err).NotTo(HaveOccurred())
			process.LogFile = filepath.Join(lab.dir, name+".log")
			Expect(process.Start()).To(Succeed())
			DeferCleanup(func(ctx SpecContext) {
				Expect(process.Check()).To(Succeed())
				process.Stop(ctx)
			})
		}
	}
	return socket
}

// nodeIDOf is the ID of the node of a pool for the driver, empty before that is registered.
func nodeIDOf(ctx context.Context, pool string) (string, error) {
	node, err := lab.node(ctx, pool)
	if err != nil {
		return "", err
	}
	registered := &storagev1.CSINode{}
	if err := lab.shoot.Seed.Client.Get(ctx, client.ObjectKeyFromObject(node), registered); err != nil {
		return "", err
	}
	for _, driver := range registered.Spec.Drivers {
		if driver.Name == driverName {
			return driver.NodeID, nil
		}
	}
	return "", nil
}

// createClaim creates a claim for 1 GiB at the site.
func createClaim(ctx context.Context, name string, change func(*corev1.PersistentVolumeClaim)) {
	GinkgoHelper()
	claim := specs.Claim(name, shoot.Sites[0])
	if change != nil {
		change(claim)
	}
	Expect(lab.shoot.Seed.Client.Create(ctx, claim)).To(Succeed())
}

func claimOf(ctx context.Context, name string) *corev1.PersistentVolumeClaim {
	GinkgoHelper()
	claim := &corev1.PersistentVolumeClaim{}
	Expect(lab.shoot.Seed.Client.Get(ctx, client.ObjectKey{Namespace: metav1.NamespaceDefault, Name: name}, claim)).To(Succeed())
	return claim
}

// podOn is a pod that runs a script on the node of a pool.
func podOn(pool, script string) *corev1.Pod {
	return specs.Script("script", toolsImage, script, map[string]string{shoot.PoolLabel: pool})
}

// useVolume runs a script in a pod on the node of a pool with the volume of a claim at /data, and returns what it prints. Then the pod is
// deleted.
func useVolume(ctx context.Context, claim, pool, script string) string {
	GinkgoHelper()
	pod := specs.Mount(podOn(pool, "{ "+script+"; } >/dev/termination-log"), claim)
	return specs.Complete(ctx, lab.shoot.Seed.Client, pod, joinTime)
}

// keeper is a Deployment whose pod keeps a volume.
func keeper(claim, pool string) *appsv1.Deployment {
	spec := specs.Mount(podOn(pool, "exec sleep infinity"), claim).Spec
	spec.RestartPolicy = corev1.RestartPolicyAlways
	labels := map[string]string{"app": "keeper"}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "keeper", Namespace: metav1.NamespaceDefault},
		Spec: appsv1.DeploymentSpec{Selector: &metav1.LabelSelector{MatchLabels: labels},
			Strategy: appsv1.DeploymentStrategy{Type: appsv1.RecreateDeploymentStrategyType},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: spec}},
	}
}

// keeperOn is the name of the node on which the keeper's pod runs, empty if it does not.
func keeperOn(ctx context.Context) (string, error) {
	pods := &corev1.PodList{}
	err := lab.shoot.Seed.Client.List(ctx, pods, client.MatchingLabels{"app": "keeper"})
	for _, pod := range pods.Items {
		if pod.DeletionTimestamp == nil && pod.Status.Phase == corev1.PodRunning {
			return pod.Spec.NodeName, err
		}
	}
	return "", err
}

// eventsOf are the reasons of the events of a pod.
func eventsOf(ctx context.Context, pod string) ([]string, error) {
	events := &corev1.EventList{}
	err := lab.shoot.Seed.Client.List(ctx, events, client.InNamespace(metav1.NamespaceDefault))
	var reasons []string
	for _, event := range events.Items {
		if event.InvolvedObject.Name == pod {
			reasons = append(reasons, event.Reason)
		}
	}
	return reasons, err
}

// newSnapshot is the snapshot of a claim with its name.
func newSnapshot(claim string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "snapshot.storage.k8s.io/v1", "kind": "VolumeSnapshot",
		"metadata": map[string]any{"name": claim, "namespace": metav1.NamespaceDefault},
		"spec":     map[string]any{"volumeSnapshotClassName": shoot.Sites[0], "source": map[string]any{"persistentVolumeClaimName": claim}},
	}}
}

// cloudConfig is the configuration of the driver for projects of one OpenStack, by site.
func cloudConfig(sites map[string]openstack.Credentials) string {
	var config strings.Builder
	for name, c := range sites {
		fmt.Fprintf(&config, "[Global %q]\nauth-url=%q\nregion=%q\ndomain-name=%q\ntenant-name=%q\nusername=%q\npassword=%q\n",
			name, c.AuthURL, c.Region, c.Domain, c.Project, c.Username, c.Password)
	}
	config.WriteString("[BlockStorage]\nignore-volume-az=true\n")
	return config.String()
}
