// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package machines_test

import (
	"context"
	"fmt"
	"io"
	"net/netip"
	"os"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/metallb"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/garden/netns"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/shoot"
	"github.com/gardener/gardener-extension-provider-hybrid/test/rendering"
)

const servicePort = 80

// balancedSites have MetalLB, each with addresses of its own in the network of its nodes.
var balancedSites = []string{shoot.MetalSites[0], shoot.VSphereSite}

// addressesOf are the addresses of Services at a site.
func addressesOf(site string) netip.Prefix {
	base := lab.nodes(siteNumber(site)).Addr().As4()
	base[3] += 48
	return netip.PrefixFrom(netip.AddrFrom4(base), 30)
}

// balancerSpecs are about MetalLB as the chart configures it. The nodes have peers.
func balancerSpecs(addressOf func(ctx context.Context, pool string) (name, address string)) {
	services := map[string]*corev1.Service{}
	given := func(site string) string { return services[site].Status.LoadBalancer.Ingress[0].IP }
	// addressAt is the address of the Service of a site, empty if it has none.
	addressAt := func(ctx context.Context, site string) (string, error) {
		err := lab.shoot.Seed.Client.Get(ctx, client.ObjectKeyFromObject(services[site]), services[site])
		if ingress := services[site].Status.LoadBalancer.Ingress; err == nil && len(ingress) > 0 {
			return ingress[0].IP, nil
		}
		return "", err
	}
	// ask connects to the Service of a site from outside, and returns what the pod says.
	ask := func(ctx context.Context, site string) (string, error) {
		dialing, cancel := context.WithTimeout(ctx, dialTime)
		defer cancel()
		conn, err := dialFrom(administrator)(dialing, "tcp", fmt.Sprintf("%s:%d", given(site), servicePort))
		if err != nil {
			return "", err
		}
		defer func() { _ = conn.Close() }()
		answer, err := io.ReadAll(conn)
		return strings.TrimSpace(string(answer)), err
	}

	It("should be reached at the addresses that MetalLB announces for Services, each on its own site", func(ctx SpecContext) {
		applyMetalLB(ctx)
		for _, site := range balancedSites {
			services[site] = createService(ctx, site)
		}
		for _, site := range balancedSites {
			begin := time.Now()
			Eventually(ctx, addressAt, joinTime, time.Second).WithArguments(site).Should(Satisfy(func(address string) bool {
				parsed, err := netip.ParseAddr(address)
				return err == nil && addressesOf(site).Contains(parsed)
			}))
			_, address := addressOf(ctx, site)
			Eventually(ctx, ask, flowTime, time.Second).WithArguments(site).Should(Equal(administrator.String()), "it is told who asks")
			AddReportEntry("reached", fmt.Sprintf("%s at %s after %.0f s", site, given(site), time.Since(begin).Seconds()))
			Expect(neighbor(given(site))).To(Equal(neighbor(address)), "a node of the site answers for it")
		}
	}, SpecTimeout(specTime))

	It("should not answer for a Service of another site, nor after it was deleted", func(ctx SpecContext) {
		vc := shoot.VSphereSite
		Expect(lab.machine(vc).PullCable()).To(Succeed())
		forget(given(vc))
		Expect(ask(ctx, vc)).Error().To(HaveOccurred(), "no other site answers for the Service of a site that is cut off")
		Expect(ask(ctx, shoot.MetalSites[0])).NotTo(BeEmpty(), "the other site goes on")
		Expect(lab.machine(vc).PlugCable()).To(Succeed())
		Eventually(ctx, ask, flowTime, time.Second).WithArguments(vc).ShouldNot(BeEmpty())

		for _, site := range balancedSites {
			Expect(lab.shoot.Seed.Client.Delete(ctx, services[site])).To(Succeed())
			Eventually(ctx, func(ctx context.Context) error {
				forget(given(site))
				_, err := ask(ctx, site)
				return err
			}, flowTime, time.Second).WithContext(ctx).ShouldNot(Succeed(), site)
		}
	}, SpecTimeout(specTime))
}

// applyMetalLB applies the charts of MetalLB for all sites that have it.
func applyMetalLB(ctx context.Context) {
	GinkgoHelper()
	var settings []v1alpha1.ControlPlaneSite
	for _, site := range balancedSites {
		settings = append(settings, v1alpha1.ControlPlaneSite{Name: site, LoadBalancer: &v1alpha1.SiteLoadBalancer{MetalLB: &v1alpha1.MetalLB{
			AddressPools: []v1alpha1.MetalLBAddressPool{
				{Name: "vips", CIDRs: []string{addressesOf(site).String()}, Advertisement: v1alpha1.MetalLBAdvertisementL2}}}}})
	}
	values, err := rendering.Merge(metallb.Values(settings, balancedSites[0]),
		map[string]any{"enabled": true, "images": map[string]string{"metallb-controller": controllerImage, "metallb-speaker": speakerImage}})
	Expect(err).NotTo(HaveOccurred())
	applyChart(ctx, "shoot-crds", map[string]any{metallb.ChartName: map[string]any{"enabled": true}})
	applyChart(ctx, "shoot-system-components", map[string]any{metallb.ChartName: values})
}

// createService makes a Service of the class of a site for the peers, and returns it.
func createService(ctx context.Context, site string) *corev1.Service {
	GinkgoHelper()
	service := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "balanced-" + site, Namespace: metav1.NamespaceDefault},
		Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer, Selector: map[string]string{"app": peers},
			ExternalTrafficPolicy: corev1.ServiceExternalTrafficPolicyLocal,
			Ports:                 []corev1.ServicePort{{Name: "web", Port: servicePort, TargetPort: intstr.FromInt32(otherPort)}}},
	}
	if site != balancedSites[0] {
		service.Spec.LoadBalancerClass = new(v1alpha1.LoadBalancerClassPrefix + site)
	}
	Expect(lab.shoot.Seed.Client.Create(ctx, service)).To(Succeed())
	return service
}

// neighbor is the hardware address that answered for an address.
func neighbor(address string) string {
	GinkgoHelper()
	lines, err := os.ReadFile("/proc/net/arp")
	Expect(err).NotTo(HaveOccurred())
	for line := range strings.Lines(string(lines)) {
		if fields := strings.Fields(line); len(fields) > 3 && fields[0] == address {
			return fields[3]
		}
	}
	Fail("nobody answered for " + address)
	return ""
}

// forget lets this process ask again who has an address.
func forget(address string) {
	GinkgoHelper()
	namespace, err := netns.Own()
	Expect(err).NotTo(HaveOccurred())
	defer func() { Expect(namespace.Close()).To(Succeed()) }()
	_ = namespace.IP(fmt.Sprintf("neigh flush to %s", address)) // it fails if there is no such neighbor
}
