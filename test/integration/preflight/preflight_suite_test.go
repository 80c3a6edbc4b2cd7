// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package preflight_test runs hybridctl preflight, as it is built, for a shoot at an OpenStack, a vCenter and two inventories: one that is
// good, and ones with what operators get wrong.
package preflight_test

import (
	"bytes"
	"context"
	"crypto/x509"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	gophercloudopenstack "github.com/gophercloud/gophercloud/v2/openstack"
	"github.com/gophercloud/gophercloud/v2/openstack/image/v2/imagedata"
	"github.com/gophercloud/gophercloud/v2/openstack/image/v2/images"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/vmware/govmomi/vim25"
	"k8s.io/apimachinery/pkg/util/rand"

	"github.com/gardener/gardener-extension-provider-hybrid/test/countproxy"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/metal"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/openstack"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/pki"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/vcenter"
	"github.com/gardener/gardener-extension-provider-hybrid/test/sitefaults"
	"github.com/gardener/gardener-extension-provider-hybrid/test/specs"
	"github.com/gardener/gardener-extension-provider-hybrid/test/suite"
)

func TestPreflight(t *testing.T) {
	suite.Run(t, "Preflight Suite")
}

// The sites of example/openstack-vsphere-metal.
const (
	cloudSite = "cloud"
	vcSite    = "vc"
	racksSite = "racks"
	hallSite  = "hall"
)

const (
	pool = "racks"
	// hosts is how many hosts there are of each kind.
	hosts = 4
)

// labels of the hosts.
var (
	smallInRack  = map[string]string{"rack": "r1", "size": "s"}
	largeInRack  = map[string]string{"rack": "r1", "size": "l"}
	smallInHall  = map[string]string{"hall": "h1", "size": "s"}
	imageVersion = [2]string{"1877.3.0", "1877.4.0"}
)

// services are an account's access to OpenStack.
type services struct {
	identity, compute, network, volume, image *gophercloud.ServiceClient
}

// bed is everything that the shoot needs.
var bed struct {
	sitefaults.FarEnds

	hybridctl string
	openStack *openstack.Bed
	admin     services
	member    services
	authority *pki.Authority
	pair      *pki.Pair
	vCenter   *vcenter.VCenter
	vim       *vim25.Client
	// images are the names of the images of the versions, imageIDs their IDs.
	images, imageIDs [2]string
	// files is a server with the image of the racks.
	files *httptest.Server
	token string
	// overrides are entries of the Secret that a fault replaced.
	overrides map[string]string
	// racks, large and hall are names of hosts.
	racks, large, hall []string
}

var _ = BeforeSuite(func(ctx SpecContext) {
	own, err := landscape.BuildOwn(ctx, GinkgoT().TempDir(), GinkgoWriter, "./cmd/hybridctl")
	Expect(err).NotTo(HaveOccurred())
	bed.hybridctl = filepath.Join(own, "hybridctl")
	bed.authority, err = pki.NewAuthority()
	Expect(err).NotTo(HaveOccurred())
	bed.pair, err = bed.authority.Server("sites", func(c *x509.Certificate) { c.NotAfter = time.Now().AddDate(1, 0, 0) })
	Expect(err).NotTo(HaveOccurred())
	bed.overrides = map[string]string{}
	bed.SetCredentials = func(_ context.Context, entries map[string]string) error {
		for key, value := range entries {
			bed.overrides[key] = value
		}
		return nil
	}

	bed.vCenter = specs.VCenter(ctx, vcenter.Options{})
	bed.vim, err = bed.vCenter.Client(ctx)
	Expect(err).NotTo(HaveOccurred())
	startInventory(ctx)
	startOpenStack(ctx)
	bed.Cloud = secured(openstack.Services()...)
	bed.Others = secured(
		countproxy.Service{Name: sitefaults.VCenterService, Upstream: "https://" + bed.vCenter.Address, CA: bed.vCenter.CA},
		countproxy.Service{Name: sitefaults.InventoryService, Upstream: bed.Inventory.Server(), CA: bed.Inventory.CA()},
	)
}, NodeTimeout(25*time.Minute))

// secured starts a proxy that serves TLS with the suite's certificate.
func secured(services ...countproxy.Service) *countproxy.Proxy {
	GinkgoHelper()
	return securedWith(bed.pair, services...)
}

func securedWith(pair *pki.Pair, services ...countproxy.Service) *countproxy.Proxy {
	GinkgoHelper()
	for i := range services {
		services[i].Certificate, services[i].Key = pair.Certificate, pair.Key
	}
	proxy, err := countproxy.New(services...)
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(proxy.Close)
	return proxy
}

// startOpenStack makes a project of its own, with images.
func startOpenStack(ctx SpecContext) {
	GinkgoHelper()
	bed.openStack = specs.OpenStack(ctx)
	name := "preflight-" + rand.String(5)
	project, err := bed.openStack.NewProject(ctx, name, "password-of-"+name)
	Expect(err).NotTo(HaveOccurred())
	bed.Project = project
	DeferCleanup(func(ctx SpecContext) { Expect(project.Delete(ctx)).To(Succeed()) })
	admin, err := bed.openStack.Credentials("admin")
	Expect(err).NotTo(HaveOccurred())
	bed.admin, bed.member = servicesOf(ctx, admin), servicesOf(ctx, project.Credentials)
	for i, version := range imageVersion {
		bed.images[i] = name + "-" + version
		bed.imageIDs[i] = makeImage(ctx, bed.member, images.CreateOpts{Name: bed.images[i]}, true)
	}
}

func servicesOf(ctx context.Context, c openstack.Credentials) services {
	GinkgoHelper()
	provider, err := gophercloudopenstack.AuthenticatedClient(ctx, gophercloud.AuthOptions{
		IdentityEndpoint: c.AuthURL, Username: c.Username, Password: c.Password, DomainName: c.Domain, TenantName: c.Project, AllowReauth: true,
	})
	Expect(err).NotTo(HaveOccurred())
	var (
		result   services
		endpoint = gophercloud.EndpointOpts{Region: c.Region}
	)
	for _, service := range []struct {
		into *(*gophercloud.ServiceClient)
		make func(*gophercloud.ProviderClient, gophercloud.EndpointOpts) (*gophercloud.ServiceClient, error)
	}{
		{&result.identity, gophercloudopenstack.NewIdentityV3},
		{&result.compute, gophercloudopenstack.NewComputeV2},
		{&result.network, gophercloudopenstack.NewNetworkV2},
		{&result.volume, gophercloudopenstack.NewBlockStorageV3},
		{&result.image, gophercloudopenstack.NewImageV2},
	} {
		*service.into, err = service.make(provider, endpoint)
		Expect(err).NotTo(HaveOccurred())
	}
	return result
}

// makeImage makes an image, which is deleted in the end, and returns its ID.
func makeImage(ctx context.Context, as services, o images.CreateOpts, upload bool) string {
	GinkgoHelper()
	o.DiskFormat, o.ContainerFormat = "raw", "bare"
	image, err := images.Create(ctx, as.image, o).Extract()
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func(ctx SpecContext) {
		err := images.Delete(ctx, as.image, image.ID).ExtractErr()
		Expect(gophercloud.ResponseCodeIs(err, http.StatusNotFound) || err == nil).To(BeTrue(), "%v", err)
	})
	if upload {
		Expect(imagedata.Upload(ctx, as.image, image.ID, bytes.NewReader(make([]byte, 1024))).ExtractErr()).To(Succeed())
	}
	return image.ID
}

// startInventory makes the hosts of both inventories and an address pool, and serves the image of the hosts.
func startInventory(ctx SpecContext) {
	GinkgoHelper()
	bed.Inventory = specs.Inventory(ctx, metal.Options{Metal3: true, IronCore: true, IPAM: true})
	credentials, err := bed.Inventory.Token(ctx)
	Expect(err).NotTo(HaveOccurred())
	bed.token = credentials.Token
	Expect(bed.Inventory.MakePool(ctx, goodPool())).To(Succeed())
	bed.racks, err = bed.Inventory.MakeHosts(ctx, metal.Batch{Prefix: "small", Count: hosts, Labels: smallInRack})
	Expect(err).NotTo(HaveOccurred())
	bed.large, err = bed.Inventory.MakeHosts(ctx, metal.Batch{Prefix: "large", Count: hosts, Labels: largeInRack})
	Expect(err).NotTo(HaveOccurred())
	bed.hall, err = bed.Inventory.MakeServers(ctx, metal.Batch{Prefix: "hall", Count: hosts, Labels: smallInHall})
	Expect(err).NotTo(HaveOccurred())

	bed.files = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasPrefix(r.URL.Path, "/gardenlinux-") {
			http.NotFound(w, r)
			return
		}
		_, _ = fmt.Fprint(w, strings.Repeat("0", 64))
	}))
	DeferCleanup(bed.files.Close)
}

// goodPool is the address pool of the racks.
func goodPool() metal.Pool {
	return metal.Pool{Name: pool, Addresses: []string{"10.250.8.16-10.250.9.250"}, Prefix: 22, Gateway: "10.250.8.1"}
}
