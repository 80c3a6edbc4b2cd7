// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package csi_test

import (
	"context"
	"slices"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/blockstorage/v3/snapshots"
	"github.com/gophercloud/gophercloud/v2/openstack/blockstorage/v3/volumes"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/flavors"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"
	"github.com/gophercloud/gophercloud/v2/openstack/image/v2/images"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	openstackclient "github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/client"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
	"github.com/gardener/gardener-extension-provider-hybrid/test/countproxy"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/openstack"
)

const (
	driverName = "cinder.csi.openstack.org"
	zoneKey    = "topology.cinder.csi.openstack.org/zone"
	// noNetwork is the first version of the compute API that makes servers without a network.
	noNetwork = "2.37"
)

// cloud is an OpenStack site. The driver reaches it through the proxy.
type cloud struct {
	name    string
	project openstack.Credentials
	proxy   *countproxy.Proxy
	volumes *gophercloud.ServiceClient
	server  string
}

// newCloud returns the site with a server. That goes in the end, and no volume of the shoot may be left then.
func newCloud(ctx context.Context, name, project string) *cloud {
	GinkgoHelper()
	c := &cloud{name: name}
	var err error
	c.project, err = bed.Credentials(project)
	Expect(err).NotTo(HaveOccurred())
	c.proxy, err = countproxy.New(openstack.Services()...)
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func() { Expect(c.proxy.Close()).To(Succeed()) })

	connection := v1alpha1.OpenStackConnection{AuthURL: c.project.AuthURL, Region: c.project.Region}
	session, err := openstackclient.NewSessions().Get(ctx, name, connection, site.Credentials(c.project.SiteCredentials()))
	Expect(err).NotTo(HaveOccurred())
	c.volumes, err = session.Volume(ctx)
	Expect(err).NotTo(HaveOccurred())
	catalog, err := session.Image(ctx)
	Expect(err).NotTo(HaveOccurred())
	shared, err := session.Compute(ctx)
	Expect(err).NotTo(HaveOccurred())
	compute := *shared
	compute.Microversion = noNetwork

	created, err := servers.Create(ctx, &compute, servers.CreateOpts{
		Name: clusterID + "-" + name, FlavorRef: flavor(ctx, &compute), ImageRef: image(ctx, catalog), AvailabilityZone: availabilityZone,
		Networks: "none",
	}, nil).Extract()
	Expect(err).NotTo(HaveOccurred())
	c.server = created.ID
	DeferCleanup(func(ctx SpecContext) {
		Expect(c.ours(ctx)).To(BeEmpty(), "volumes are left")
		Expect(servers.Delete(ctx, &compute, c.server).ExtractErr()).To(Succeed())
	}, NodeTimeout(2*time.Minute))
	Eventually(func() (string, error) {
		s, err := servers.Get(ctx, &compute, c.server).Extract()
		if err != nil {
			return "", err
		}
		return s.Status, nil
	}).WithContext(ctx).Within(time.Minute).ProbeEvery(500 * time.Millisecond).Should(Equal("ACTIVE"))
	return c
}

func flavor(ctx context.Context, compute *gophercloud.ServiceClient) string {
	GinkgoHelper()
	all, err := openstackclient.List(ctx, flavors.ListDetail(compute, nil), flavors.ExtractFlavors)
	Expect(err).NotTo(HaveOccurred())
	i := slices.IndexFunc(all, func(f flavors.Flavor) bool { return f.Name == "m1.tiny" })
	Expect(i).To(BeNumerically(">=", 0))
	return all[i].ID
}

func image(ctx context.Context, service *gophercloud.ServiceClient) string {
	GinkgoHelper()
	all, err := openstackclient.List(ctx, images.List(service, images.ListOpts{Name: "gardenlinux"}), images.ExtractImages)
	Expect(err).NotTo(HaveOccurred())
	Expect(all).NotTo(BeEmpty())
	return all[0].ID
}

// ours are the volumes of the shoot by their IDs.
func (c *cloud) ours(ctx context.Context) map[string]volumes.Volume {
	GinkgoHelper()
	all, err := openstackclient.List(ctx, volumes.List(c.volumes, nil), volumes.ExtractVolumes)
	Expect(err).NotTo(HaveOccurred())
	found := map[string]volumes.Volume{}
	for _, v := range all {
		if v.Metadata["cinder.csi.openstack.org/cluster"] == clusterID {
			found[v.ID] = v
		}
	}
	return found
}

// snapshots are the IDs of the snapshots of a volume.
func (c *cloud) snapshots(ctx context.Context, volume string) []string {
	GinkgoHelper()
	all, err := openstackclient.List(ctx, snapshots.List(c.volumes, snapshots.ListOpts{VolumeID: volume}), snapshots.ExtractSnapshots)
	Expect(err).NotTo(HaveOccurred())
	var ids []string
	for _, s := range all {
		ids = append(ids, s.ID)
	}
	return ids
}

// createNode creates the node of the server as the kubelet and the node service of the driver do.
func (c *cloud) createNode(ctx context.Context) {
	GinkgoHelper()
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{
		Name:        c.nodeName(),
		Labels:      map[string]string{v1alpha1.LabelSite: c.name, zoneKey: availabilityZone},
		Annotations: map[string]string{"volumes.kubernetes.io/controller-managed-attach-detach": "true"},
	}}
	Expect(shoot.Create(ctx, node)).To(Succeed())
	node.Spec.Taints = nil
	Expect(shoot.Update(ctx, node)).To(Succeed())
	node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	node.Status.Allocatable = corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse("4"), corev1.ResourceMemory: resource.MustParse("8Gi"),
		corev1.ResourcePods: resource.MustParse("100"),
	}
	node.Status.Capacity = node.Status.Allocatable
	Expect(shoot.Status().Update(ctx, node)).To(Succeed())
	Expect(shoot.Create(ctx, &storagev1.CSINode{
		ObjectMeta: metav1.ObjectMeta{
			Name:            c.nodeName(),
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "Node", Name: node.Name, UID: node.UID}},
		},
		Spec: storagev1.CSINodeSpec{Drivers: []storagev1.CSINodeDriver{{
			Name: driverName, NodeID: c.server, TopologyKeys: []string{v1alpha1.LabelSite, zoneKey},
		}}},
	})).To(Succeed())
}

func (c *cloud) nodeName() string { return "node-" + c.name }

// createClasses creates the classes of the site and the Secret that tells the driver its name.
func (c *cloud) createClasses(ctx context.Context) {
	GinkgoHelper()
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: "csi-cinder-" + c.name, Namespace: metav1.NamespaceSystem},
		StringData: map[string]string{"cloud": c.name},
	}
	Expect(shoot.Create(ctx, secret)).To(Succeed())
	parameters := func(uses ...string) map[string]string {
		p := map[string]string{}
		for _, use := range uses {
			p["csi.storage.k8s.io/"+use+"-secret-name"] = secret.Name
			p["csi.storage.k8s.io/"+use+"-secret-namespace"] = secret.Namespace
		}
		return p
	}
	class := &storagev1.StorageClass{
		ObjectMeta:           metav1.ObjectMeta{Name: c.name},
		Provisioner:          driverName,
		Parameters:           parameters("provisioner", "controller-publish", "controller-expand"),
		AllowVolumeExpansion: new(true),
		VolumeBindingMode:    new(storagev1.VolumeBindingWaitForFirstConsumer),
		AllowedTopologies: []corev1.TopologySelectorTerm{{MatchLabelExpressions: []corev1.TopologySelectorLabelRequirement{
			{Key: zoneKey, Values: []string{availabilityZone}},
			{Key: v1alpha1.LabelSite, Values: []string{c.name}},
		}}},
	}
	class.Parameters["availability"] = volumeZone
	Expect(shoot.Create(ctx, class)).To(Succeed())

	snapshotClass := &unstructured.Unstructured{}
	snapshotClass.SetAPIVersion("snapshot.storage.k8s.io/v1")
	snapshotClass.SetKind("VolumeSnapshotClass")
	snapshotClass.SetName(c.name)
	snapshotClass.Object["driver"] = driverName
	snapshotClass.Object["deletionPolicy"] = "Delete"
	Expect(unstructured.SetNestedStringMap(snapshotClass.Object, parameters("snapshotter", "snapshotter-list"), "parameters")).To(Succeed())
	Expect(shoot.Create(ctx, snapshotClass)).To(Succeed())
}

func csiDriver() *storagev1.CSIDriver {
	return &storagev1.CSIDriver{
		ObjectMeta: metav1.ObjectMeta{Name: driverName},
		Spec:       storagev1.CSIDriverSpec{AttachRequired: new(true), PodInfoOnMount: new(true)},
	}
}
