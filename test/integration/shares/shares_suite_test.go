// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package shares_test runs the CSI driver for Manila with the sidecars of Kubernetes beside a real kube-apiserver and
// kube-controller-manager. The site is a project of a real OpenStack, whose Manila has a scheduler and a share manager with the dummy back
// end of its own tests: shares, share servers, access rules and export locations are Manila's, and no file is stored.
package shares_test

import (
	"context"
	"net/netip"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/sharedfilesystems/v2/shares"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"k8s.io/apimachinery/pkg/util/rand"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/client"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/controlplane"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/infrastructure"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
	"github.com/gardener/gardener-extension-provider-hybrid/test/countproxy"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/openstack"
	"github.com/gardener/gardener-extension-provider-hybrid/test/specs"
	"github.com/gardener/gardener-extension-provider-hybrid/test/suite"
)

func TestShares(t *testing.T) {
	suite.Run(t, "Shares Suite")
}

const siteName = "cloud"

var (
	// shootID is the technical ID of the shoot.
	shootID = "shoot--shares--" + rand.String(5)
	nodes   = netip.MustParsePrefix("10.250.0.0/18")
	proxy   *countproxy.Proxy
	// manila is the client of a member of the project, past the proxy.
	manila  *gophercloud.ServiceClient
	network string
	// storage is what is deployed for the site.
	storage *platform.Storage
	plugin  *landscape.Process
	socket  string
	driver  csi.ControllerClient
)

var _ = BeforeSuite(func(ctx SpecContext) {
	own, err := landscape.BuildOwn(ctx, GinkgoT().TempDir(), GinkgoWriter, "./cmd/manila-csi-plugin-hybrid")
	Expect(err).NotTo(HaveOccurred())
	bed := specs.OpenStackWithShares(ctx)
	credentials, err := bed.Credentials(openstack.Projects[0])
	Expect(err).NotTo(HaveOccurred())
	proxy = specs.Proxy()

	s := &site.Site{
		Name: siteName, Platform: v1alpha1.PlatformOpenStack, Shoot: shootID,
		Profile: &v1alpha1.CloudProfileSite{
			Name: siteName, OpenStack: &v1alpha1.OpenStackProfile{AuthURL: proxy.Rewrite(credentials.AuthURL), Region: credentials.Region},
		},
		Config: &v1alpha1.InfrastructureSite{Name: siteName, OpenStack: &v1alpha1.OpenStackInfrastructure{
			FloatingPoolName: "public", ShareNetwork: &v1alpha1.OpenStackShareNetwork{Enabled: true},
		}},
		Credentials: site.Credentials(credentials.SiteCredentials()),
		Network: site.Network{
			Topology: v1alpha1.TopologyRouted, Subnets: []netip.Prefix{nodes}, Nodes: []netip.Prefix{nodes},
			Gateway: netip.MustParseAddr("10.250.0.1"), DNSServers: []string{"192.0.2.53"},
		},
	}
	persist := func(_ context.Context, state *v1alpha1.SiteState) error {
		s.State = state
		return nil
	}
	part := infrastructure.New(client.NewSessions())
	status, err := part.Reconcile(ctx, s, persist)
	DeferCleanup(func(ctx SpecContext) {
		Expect(proxy.SetFaults()).To(Succeed())
		// Manila tears share servers down after the share network is deleted. Until then, their ports are in the subnet.
		Eventually(func() error { return part.Delete(ctx, s, persist) }).WithContext(ctx).Within(2 * time.Minute).ProbeEvery(time.Second).
			Should(Succeed())
	}, NodeTimeout(4*time.Minute))
	Expect(err).NotTo(HaveOccurred())
	network = status.OpenStack.ShareNetworkID

	session, err := client.NewSessions().Get(ctx, siteName,
		v1alpha1.OpenStackConnection{AuthURL: credentials.AuthURL, Region: credentials.Region}, s.Credentials)
	Expect(err).NotTo(HaveOccurred())
	service, err := session.SharedFileSystem(ctx)
	Expect(err).NotTo(HaveOccurred())
	manila = new(gophercloud.ServiceClient)
	*manila = *service
	manila.Microversion = "2.38"

	storage, err = controlplane.New().Storage([]platform.ControlPlaneSite{{
		Site: s, Status: status,
		Settings: v1alpha1.ControlPlaneSite{Name: siteName, Storage: &v1alpha1.SiteStorage{CSIManila: &v1alpha1.CSIManila{Enabled: true}}},
	}})
	Expect(err).NotTo(HaveOccurred())
	dir, err := os.MkdirTemp("", "csi") // a socket has a short path
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(os.RemoveAll, dir)
	config := filepath.Join(dir, "cloud.conf")
	Expect(os.WriteFile(config, []byte(storage.Files["cloud.conf"]), 0o600)).To(Succeed())
	socket = filepath.Join(dir, "csi.sock")
	plugin = &landscape.Process{
		Name: "manila-csi-plugin-hybrid", Path: filepath.Join(own, "manila-csi-plugin-hybrid"), LogFile: filepath.Join(dir, "plugin.log"),
		Args: []string{"--endpoint=unix://" + socket, "--cloud-config=" + config, "--cluster=" + shootID, "--http-endpoint=127.0.0.1:0"},
	}
	Expect(plugin.Start()).To(Succeed())
	DeferCleanup(func(ctx SpecContext) { plugin.Stop(ctx) })
	connection, err := grpc.NewClient("unix://"+socket, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.WaitForReady(true)))
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(connection.Close)
	driver = csi.NewControllerClient(connection)
}, NodeTimeout(25*time.Minute))

var _ = specs.ShowTails(func() []*landscape.Process {
	if plugin == nil {
		return nil
	}
	return []*landscape.Process{plugin}
})

// secrets name the site.
var secrets = map[string]string{"cloud": siteName}

func request(name string, gib int64) *csi.CreateVolumeRequest {
	return &csi.CreateVolumeRequest{
		Name: name, Secrets: secrets, CapacityRange: &csi.CapacityRange{RequiredBytes: gib << 30},
		VolumeCapabilities: []*csi.VolumeCapability{{
			AccessType: &csi.VolumeCapability_Mount{Mount: &csi.VolumeCapability_MountVolume{}},
			AccessMode: &csi.VolumeCapability_AccessMode{Mode: csi.VolumeCapability_AccessMode_MULTI_NODE_MULTI_WRITER},
		}},
	}
}

// named are the shares with the name.
func named(ctx context.Context, name string) []shares.Share {
	GinkgoHelper()
	found, err := client.List(ctx, shares.ListDetail(manila, shares.ListOpts{Name: name}), shares.ExtractShares)
	Expect(err).NotTo(HaveOccurred())
	return found
}

// remove deletes a volume and checks that its share is gone.
func remove(ctx context.Context, id string) {
	GinkgoHelper()
	_, err := driver.DeleteVolume(ctx, &csi.DeleteVolumeRequest{VolumeId: id, Secrets: secrets})
	Expect(err).NotTo(HaveOccurred())
	_, err = shares.Get(ctx, manila, id).Extract()
	Expect(client.IsNotFound(err)).To(BeTrue())
}
