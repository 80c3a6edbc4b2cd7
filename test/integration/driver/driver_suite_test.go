// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package driver_test shows what machine-controller-manager makes of the driver's answers: its real machine controller with our
// driver, and a real OpenStack.
package driver_test

import (
	"context"
	"net/netip"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/util/rand"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/client"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/infrastructure"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/machineclasses"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/machines"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/openstack"
	"github.com/gardener/gardener-extension-provider-hybrid/test/specs"
	"github.com/gardener/gardener-extension-provider-hybrid/test/suite"
)

func TestDriver(t *testing.T) {
	suite.Run(t, "Driver Suite")
}

const siteName = "cloud"

var (
	seed        *landscape.Landscape
	credentials openstack.Credentials
	inspector   *openstack.Client
	parts       platform.Machines
	resolve     func(ctx SpecContext, flavor string) *v1alpha1.MachineProviderSpec
	// shoot is the technical ID of the shoot and its namespace in the seed.
	shoot = "shoot--it--" + rand.String(5)
)

var _ = BeforeSuite(func(ctx SpecContext) {
	dir := GinkgoT().TempDir()
	own, err := landscape.BuildOwn(ctx, GinkgoT().TempDir(), GinkgoWriter, "./cmd/machine-controller-manager-provider-hybrid")
	Expect(err).NotTo(HaveOccurred())
	binaries := landscape.DefaultBinaries().WithOwn(own)

	bed := specs.OpenStack(ctx)
	credentials, err = bed.Credentials(openstack.Projects[0])
	Expect(err).NotTo(HaveOccurred())
	inspector, err = openstack.NewClient(ctx, credentials)
	Expect(err).NotTo(HaveOccurred())
	makeNetwork(ctx)

	seed, err = landscape.New(landscape.Options{Dir: dir, Namespace: shoot, Binaries: binaries,
		DriverArgs: []string{"--machine-safety-orphan-vms-period=10s"}})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(seed.Stop)
	Expect(seed.StartCluster(ctx)).To(Succeed())
	Expect(seed.Driver.Start()).To(Succeed())
}, NodeTimeout(25*time.Minute))

var _ = specs.ShowTails(func() []*landscape.Process { return seed.Processes() })

// makeNetwork makes what the machines need in the project and takes it away in the end.
func makeNetwork(ctx SpecContext) {
	nodes := netip.MustParsePrefix("10.250.0.0/18")
	s := &site.Site{
		Name:     siteName,
		Platform: v1alpha1.PlatformOpenStack,
		Shoot:    shoot,
		Profile: &v1alpha1.CloudProfileSite{
			Name:      siteName,
			OpenStack: &v1alpha1.OpenStackProfile{AuthURL: credentials.AuthURL, Region: credentials.Region},
		},
		Config:      &v1alpha1.InfrastructureSite{Name: siteName, OpenStack: &v1alpha1.OpenStackInfrastructure{FloatingPoolName: "public"}},
		Credentials: site.Credentials(credentials.SiteCredentials()),
		Network: site.Network{
			Topology: v1alpha1.TopologyRouted, Subnets: []netip.Prefix{nodes}, Nodes: []netip.Prefix{nodes},
			Gateway: netip.MustParseAddr("10.250.0.1"),
		},
	}
	persist := func(_ context.Context, state *v1alpha1.SiteState) error {
		s.State = state
		return nil
	}
	sessions := client.NewSessions()
	network := infrastructure.New(sessions)
	status, err := network.Reconcile(ctx, s, persist)
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func(ctx SpecContext) {
		Expect(network.Delete(ctx, s, persist)).To(Succeed())
		Expect(inspector.Objects(ctx, shoot)).To(BeEmpty())
	}, NodeTimeout(4*time.Minute))

	parts = machines.New(sessions)
	resolve = func(ctx SpecContext, flavor string) *v1alpha1.MachineProviderSpec {
		spec := &v1alpha1.MachineProviderSpec{Site: siteName, Shoot: shoot}
		Expect(machineclasses.New(sessions).Resolve(ctx, platform.MachineClassRequest{
			Site:        s,
			Status:      status,
			Zone:        &v1alpha1.SiteZone{Name: "cloud-a", OpenStack: &v1alpha1.OpenStackZone{AvailabilityZone: "az1"}},
			MachineType: &v1alpha1.SiteMachineType{OpenStack: &v1alpha1.OpenStackMachineType{Flavor: flavor}},
			Image:       &v1alpha1.SiteMachineImage{OpenStack: &v1alpha1.OpenStackImage{ImageName: "gardenlinux"}},
		}, spec)).To(Succeed())
		return spec
	}
}
