// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package shoot_test

import (
	"context"
	"slices"
	"strings"
	"time"

	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	"github.com/gophercloud/gophercloud/v2"
	gopheropenstack "github.com/gophercloud/gophercloud/v2/openstack"
	"github.com/gophercloud/gophercloud/v2/openstack/blockstorage/v3/volumes"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servergroups"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/security/groups"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/ports"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/codec"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/openstack"
	"github.com/gardener/gardener-extension-provider-hybrid/test/suite"
)

var _ = Describe("A pool with all that an OpenStack site can give it", Ordered, func() {
	var (
		compute, network, volume *gophercloud.ServiceClient
		db                       *groups.SecGroup
		firstGroup               servergroups.ServerGroup
		firstServer              string
	)

	settings := func(policy, note string) *runtime.RawExtension {
		raw, err := codec.Encode(&v1alpha1.WorkerConfig{
			Sites: []v1alpha1.WorkerSite{{Name: "cloud", OpenStack: &v1alpha1.OpenStackWorker{
				ServerGroup:              &v1alpha1.OpenStackServerGroup{Policy: policy},
				AdditionalSecurityGroups: []string{db.Name},
				MachineLabels:            []v1alpha1.OpenStackMachineLabel{{Name: "cost-centre", Value: "7"}, {Name: "note", Value: note}},
			}}},
			DataVolumes: []v1alpha1.WorkerDataVolume{{Name: "fast",
				Sites: []v1alpha1.WorkerDataVolumeSite{{Name: "cloud", OpenStack: &v1alpha1.OpenStackVolumeType{Type: "fake-ssd"}}}}},
		})
		Expect(err).NotTo(HaveOccurred())
		return raw
	}
	serverGroups := func(ctx context.Context) []servergroups.ServerGroup {
		GinkgoHelper()
		versioned := *compute
		versioned.Microversion = "2.64"
		pages, err := servergroups.List(&versioned, nil).AllPages(ctx)
		Expect(err).NotTo(HaveOccurred())
		all, err := servergroups.ExtractServerGroups(pages)
		Expect(err).NotTo(HaveOccurred())
		return slices.DeleteFunc(all, func(g servergroups.ServerGroup) bool { return !strings.HasPrefix(g.Name, shoot) })
	}
	// only returns the ID of the one server of the shoot.
	only := func(ctx context.Context) string {
		GinkgoHelper()
		now := identities(ctx)
		Expect(now).To(HaveLen(1))
		for _, providerID := range now {
			return strings.TrimPrefix(providerID, "openstack:///")
		}
		return ""
	}

	BeforeAll(func(ctx SpecContext) {
		c, err := bed.Credentials(openstack.Projects[0])
		Expect(err).NotTo(HaveOccurred())
		provider, err := gopheropenstack.AuthenticatedClient(ctx, gophercloud.AuthOptions{
			IdentityEndpoint: c.AuthURL, Username: c.Username, Password: c.Password, DomainName: c.Domain, TenantName: c.Project,
		})
		Expect(err).NotTo(HaveOccurred())
		region := gophercloud.EndpointOpts{Region: c.Region}
		compute, err = gopheropenstack.NewComputeV2(provider, region)
		Expect(err).NotTo(HaveOccurred())
		network, err = gopheropenstack.NewNetworkV2(provider, region)
		Expect(err).NotTo(HaveOccurred())
		volume, err = gopheropenstack.NewBlockStorageV3(provider, region)
		Expect(err).NotTo(HaveOccurred())
		db, err = groups.Create(ctx, network, groups.CreateOpts{Name: "db-of-" + shoot}).Extract()
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(func(ctx SpecContext) { Expect(groups.Delete(ctx, network, db.ID).ExtractErr()).To(Succeed()) })

		since := time.Now()
		apply(ctx, example("30-cluster.yaml")...)
		apply(ctx, example("30-secret-userdata.yaml")...)
		setCredentials(ctx, shoot, nil)
		apply(ctx, example("30-infrastructure.yaml")...)
		infra := infrastructure()
		Expect(finished(ctx, infra, since)).To(Equal(succeeded), "%v", infra.Status.LastError)

		since = time.Now()
		for _, object := range example("30-worker.yaml") {
			w := &extensionsv1alpha1.Worker{}
			Expect(runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, w)).To(Succeed())
			single := pool(w, "single")
			single.ProviderConfig = settings("soft-anti-affinity", "first")
			single.Volume = &extensionsv1alpha1.Volume{Size: "2Gi", Type: new("standard")}
			single.DataVolumes = []extensionsv1alpha1.DataVolume{{Name: "logs", Size: "1Gi", Type: new("standard")},
				{Name: "fast", Size: "3Gi", Type: new("standard")}}
			w.Spec.Pools = []extensionsv1alpha1.WorkerPool{*single}
			w.Spec.InfrastructureProviderStatus = infra.Status.ProviderStatus
			content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(w)
			Expect(err).NotTo(HaveOccurred())
			delete(content, "status")
			unstructured.RemoveNestedField(content, "metadata", "creationTimestamp")
			apply(ctx, &unstructured.Unstructured{Object: content})
		}
		w := worker()
		Expect(finished(ctx, w, since)).To(Equal(succeeded), "%v", w.Status.LastError)
	}, NodeTimeout(16*time.Minute))

	It("should have a server with group, security groups, metadata and volumes", func(ctx SpecContext) {
		firstServer = only(ctx)
		found := serverGroups(ctx)
		Expect(found).To(HaveLen(1))
		firstGroup = found[0]
		Expect(firstGroup.Name).To(HavePrefix(shoot + "-cloud-single-"))
		Expect(*firstGroup.Policy).To(Equal("soft-anti-affinity"))
		Expect(firstGroup.Members).To(ConsistOf(firstServer))

		server, err := servers.Get(ctx, compute, firstServer).Extract()
		Expect(err).NotTo(HaveOccurred())
		Expect(server.Metadata).To(And(HaveKeyWithValue("cost-centre", "7"), HaveKeyWithValue("note", "first"),
			HaveKeyWithValue("gardener-pool", "single"), HaveKeyWithValue("gardener-shoot", shoot), HaveKeyWithValue("gardener-site", "cloud")))
		Expect(server.Image).To(BeEmpty(), "it boots from a volume")

		pages, err := ports.List(network, ports.ListOpts{DeviceID: firstServer}).AllPages(ctx)
		Expect(err).NotTo(HaveOccurred())
		found2, err := ports.ExtractPorts(pages)
		Expect(err).NotTo(HaveOccurred())
		Expect(found2).To(HaveExactElements(HaveField("SecurityGroups", And(HaveLen(2), ContainElement(db.ID)))))

		type disk struct {
			size           int
			kind, bootable string
		}
		var disks []disk
		for _, attached := range server.AttachedVolumes {
			v, err := volumes.Get(ctx, volume, attached.ID).Extract()
			Expect(err).NotTo(HaveOccurred())
			disks = append(disks, disk{v.Size, v.VolumeType, v.Bootable})
		}
		Expect(disks).To(ConsistOf(disk{2, "fake", "true"}, disk{1, "fake", "false"}, disk{3, "fake-ssd", "false"}))
	}, SpecTimeout(20*time.Minute))

	It("should not be rolled by a label that does not ask for it", func(ctx SpecContext) {
		Expect(change(ctx, func(w *extensionsv1alpha1.Worker) {
			pool(w, "single").ProviderConfig = settings("soft-anti-affinity", "second")
		})).To(Equal(succeeded))
		Expect(only(ctx)).To(Equal(firstServer))
	}, SpecTimeout(6*time.Minute))

	suite.NightlyIt("should be rolled by another policy, and the old group go with the old server", func(ctx SpecContext) {
		Expect(change(ctx, func(w *extensionsv1alpha1.Worker) {
			pool(w, "single").ProviderConfig = settings("soft-affinity", "second")
		})).To(Equal(succeeded))
		Eventually(identities).WithContext(ctx).Within(time.Minute).Should(HaveLen(1))
		now := only(ctx)
		Expect(now).NotTo(Equal(firstServer))

		// What the last machines still used is deleted with the next reconciliation.
		Expect(change(ctx, func(*extensionsv1alpha1.Worker) {})).To(Equal(succeeded))
		Expect(serverGroups(ctx)).To(HaveExactElements(And(HaveField("ID", Not(Equal(firstGroup.ID))), HaveField("Members", ConsistOf(now)))))
		server, err := servers.Get(ctx, compute, now).Extract()
		Expect(err).NotTo(HaveOccurred())
		Expect(server.Metadata).To(HaveKeyWithValue("note", "second"))
	}, SpecTimeout(12*time.Minute))

	It("should leave nothing", func(ctx SpecContext) {
		w := worker()
		Expect(seed.Client.Delete(ctx, w)).To(Succeed())
		Eventually(func(ctx context.Context) error {
			return seed.Client.Get(ctx, client.ObjectKeyFromObject(w), w)
		}).WithContext(ctx).Within(4 * time.Minute).ProbeEvery(time.Second).Should(MatchError(apierrors.IsNotFound, "not found"))
		Expect(serverGroups(ctx)).To(BeEmpty(), "with the Worker")

		infra := infrastructure()
		Expect(seed.Client.Delete(ctx, infra)).To(Succeed())
		Eventually(func(ctx context.Context) error {
			return seed.Client.Get(ctx, client.ObjectKeyFromObject(infra), infra)
		}).WithContext(ctx).Within(4 * time.Minute).ProbeEvery(time.Second).Should(MatchError(apierrors.IsNotFound, "not found"))
		for _, inspector := range inspectors {
			Expect(objectsOf(ctx, shoot, inspector)).To(BeEmpty())
		}
	}, SpecTimeout(18*time.Minute))
})
