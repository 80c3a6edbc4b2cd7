// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package openstack_test

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/client"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/infrastructure"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/machineclasses"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/machines"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
)

// resolveFlavor returns the spec of machines of a flavor.
type resolveFlavor func(ctx SpecContext, flavor string) *v1alpha1.MachineProviderSpec

// newMachineSite makes the infrastructure of a shoot for machines. It goes in the end.
func newMachineSite(ctx SpecContext, sessions *client.Sessions) (shoot string, resolve resolveFlavor) {
	shoot = shootName()
	s := newSite(shoot)
	network := infrastructure.New(sessions)
	status, err := network.Reconcile(ctx, s, keep(s))
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func(ctx SpecContext) { Expect(network.Delete(ctx, s, keep(s))).To(Succeed()) })

	return shoot, func(ctx SpecContext, flavor string) *v1alpha1.MachineProviderSpec {
		resolved := &v1alpha1.MachineProviderSpec{Site: "cloud", Shoot: shoot}
		Expect(machineclasses.New(sessions).Resolve(ctx, machineClass(s, status, flavor), resolved)).To(Succeed())
		return resolved
	}
}

// machineClass asks for machines of a flavor.
func machineClass(s *site.Site, status *v1alpha1.SiteStatus, flavor string) platform.MachineClassRequest {
	return platform.MachineClassRequest{
		Site:        s,
		Status:      status,
		Zone:        &v1alpha1.SiteZone{Name: "cloud-a", OpenStack: &v1alpha1.OpenStackZone{AvailabilityZone: "az1"}},
		MachineType: &v1alpha1.SiteMachineType{OpenStack: &v1alpha1.OpenStackMachineType{Flavor: flavor}},
		Image:       &v1alpha1.SiteMachineImage{OpenStack: &v1alpha1.OpenStackImage{ImageName: "gardenlinux"}},
		PodCIDRs:    []string{"100.96.0.0/11", "fd00:10::/56"},
	}
}

// deleteMachines takes away what a test changed and made.
func deleteMachines(ctx SpecContext, spec *v1alpha1.MachineProviderSpec) {
	GinkgoHelper()
	Expect(proxy.SetFaults()).To(Succeed())
	Expect(bed.SetBootDelay(0, spec.Shoot)).To(Succeed())
	part := machines.New(newSessions())
	existing, err := part.List(ctx, platform.MachineRequest{Spec: spec, Credentials: siteCredentials()})
	Expect(err).NotTo(HaveOccurred())
	for _, m := range existing {
		request := platform.MachineRequest{Name: m.Name, ProviderID: m.ProviderID, Spec: spec, Credentials: siteCredentials()}
		Eventually(part.Delete).WithContext(ctx).WithArguments(request).Within(2 * time.Minute).Should(Succeed())
	}
}
