// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package machines_test

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/metallb"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/garden/netns"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/shoot"
	"github.com/gardener/gardener-extension-provider-hybrid/test/rendering"
)

const (
	servicePort = 80
	// proxyAccount is the service account of kube-proxy.
	proxyAccount = "kube-proxy"
)

// balancedSites have MetalLB, each with addresses of its own in the network of its nodes.
var balancedSites = []string{shoot.MetalSites[0], shoot.VSphereSite}

// addressesOf are the addresses of Services at a site.
func addressesOf(site string) netip.Prefix {
	base := lab.nodes(siteNumber(site)).Addr().As4()
	base[3] += 48
	return netip.PrefixFrom(netip.AddrFrom4(base), 30)
}

// balancerSpecs are about MetalLB as the chart configures it, with its programs as processes: its controllers, and its speakers and
// kube-proxy on the nodes. The nodes have pods that listen at otherPort.
func balancerSpecs(addressOf func(ctx context.Context, pool string) (name, address string), at onNode) {
	services := map[string]*corev1.Service{}
	space := func(site string) string { return "metallb-" + site }
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
			startMetalLBController(ctx, space(site))
			name, address := addressOf(ctx, site)
			startOnNode(ctx, at, site, space(site), name, address)
			services[site] = createService(ctx, site, podOf(address), name)
		}
		for _, site := range balancedSites {
			begin := time.Now()
			Eventually(ctx, addressAt, joinTime, time.Second).WithArguments(site).Should(Satisfy(func(address string) bool {
				parsed, err := netip.ParseAddr(address)
				return err == nil && addressesOf(site).Contains(parsed)
			}))
			_, address := addressOf(ctx, site)
			Eventually(ctx, ask, flowTime, time.Second).WithArguments(site).Should(MatchRegexp(`^\d+\.\d+\.\d+\.\d+$`))
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

// applyMetalLB applies the charts of MetalLB for all sites that have it, and what kube-proxy needs.
func applyMetalLB(ctx context.Context) {
	GinkgoHelper()
	var settings []v1alpha1.ControlPlaneSite
	for _, site := range balancedSites {
		settings = append(settings, v1alpha1.ControlPlaneSite{Name: site, LoadBalancer: &v1alpha1.SiteLoadBalancer{MetalLB: &v1alpha1.MetalLB{
			AddressPools: []v1alpha1.MetalLBAddressPool{
				{Name: "vips", CIDRs: []string{addressesOf(site).String()}, Advertisement: v1alpha1.MetalLBAdvertisementL2}}}}})
	}
	values, err := rendering.Merge(metallb.Values(settings, balancedSites[0]),
		map[string]any{"enabled": true, "images": map[string]string{"metallb-controller": "controller:v1", "metallb-speaker": "speaker:v1"}})
	Expect(err).NotTo(HaveOccurred())
	var objects []*unstructured.Unstructured
	for _, chart := range []struct {
		name   string
		values any
	}{{"shoot-crds", map[string]any{"enabled": true}}, {"shoot-system-components", values}} {
		rendered, err := rendering.Chart(chart.name, metav1.NamespaceSystem, map[string]any{metallb.ChartName: chart.values})
		Expect(err).NotTo(HaveOccurred())
		more, err := rendering.Objects(rendered)
		Expect(err).NotTo(HaveOccurred())
		objects = append(objects, more...)
	}
	// The namespaces and the kinds of some objects are there a moment after others were created.
	Eventually(ctx, func() error {
		var errs []error
		for _, object := range objects {
			if err := lab.shoot.Seed.Client.Create(ctx, object.DeepCopy()); err != nil && !apierrors.IsAlreadyExists(err) {
				errs = append(errs, err)
			}
		}
		return errors.Join(errs...)
	}, flowTime, time.Second).Should(Succeed())
	for _, object := range []client.Object{
		&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: proxyAccount, Namespace: metav1.NamespaceSystem}},
		&rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: proxyAccount},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "system:node-proxier"},
			Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Name: proxyAccount, Namespace: metav1.NamespaceSystem}},
		},
	} {
		Expect(lab.shoot.Seed.Client.Create(ctx, object)).To(Succeed())
	}
}

// startMetalLBController starts the controller of a site with the arguments and the permissions that the chart gives it. Its pod is only
// an object.
func startMetalLBController(ctx context.Context, space string) {
	GinkgoHelper()
	deployment := &appsv1.Deployment{}
	Expect(lab.shoot.Seed.Client.Get(ctx, client.ObjectKey{Namespace: space, Name: "metallb-controller"}, deployment)).To(Succeed())
	pod := createPodOf(ctx, space, deployment.Name, deployment.Spec.Template)
	dir := GinkgoT().TempDir()
	kubeconfig := filepath.Join(dir, "kubeconfig")
	Expect(rendering.WriteKubeconfig(ctx, lab.shoot.Seed.Cluster.Config, space, deployment.Spec.Template.Spec.ServiceAccountName, kubeconfig)).
		To(Succeed())
	ports, err := landscape.FreePorts(2)
	Expect(err).NotTo(HaveOccurred())
	process := &landscape.Process{
		Name: "controller of " + space, Path: filepath.Join(landscape.Root(), "hack", "bin", "metallb-controller"),
		LogFile: filepath.Join(lab.dir, space+".log"),
		Args: append(slices.Clone(deployment.Spec.Template.Spec.Containers[0].Args), "--kubeconfig="+kubeconfig,
			"--port="+strconv.Itoa(ports[0]), "--health-probe-port="+strconv.Itoa(ports[1]), "--pod-name="+pod),
	}
	Expect(process.Start()).To(Succeed())
	lab.balancers = append(lab.balancers, process)
}

// createPodOf makes a pod that no kubelet runs, for a program that wants to own objects, and returns its name.
func createPodOf(ctx context.Context, space, name string, template corev1.PodTemplateSpec) string {
	GinkgoHelper()
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: space, Labels: template.Labels}, Spec: template.Spec}
	pod.Spec.PriorityClassName = ""
	Expect(lab.shoot.Seed.Client.Create(ctx, pod)).To(Succeed())
	return name
}

// startOnNode starts kube-proxy and MetalLB's speaker on the node of a pool, with the arguments, environment, and permissions that the
// chart gives the speaker.
func startOnNode(ctx context.Context, at onNode, pool, space, node, address string) {
	GinkgoHelper()
	speakers := &appsv1.DaemonSet{}
	Expect(lab.shoot.Seed.Client.Get(ctx, client.ObjectKey{Namespace: space, Name: "metallb-speaker"}, speakers)).To(Succeed())
	pod := createPodOf(ctx, space, speakers.Name, speakers.Spec.Template)
	secret := &corev1.Secret{}
	Eventually(ctx, func() error {
		return lab.shoot.Seed.Client.Get(ctx, client.ObjectKey{Namespace: space, Name: "memberlist"}, secret)
	}, flowTime, time.Second).Should(Succeed(), "the controller makes it")
	excluded := &corev1.ConfigMap{}
	Expect(lab.shoot.Seed.Client.Get(ctx, client.ObjectKey{Namespace: space, Name: "metallb-excludel2"}, excluded)).To(Succeed())

	var script strings.Builder
	file := func(path, content string) {
		fmt.Fprintf(&script, "mkdir -p %s; base64 -d >%s <<<%s\n", filepath.Dir(path), path, base64.StdEncoding.EncodeToString([]byte(content)))
	}
	file("/run/balancer/proxy", accessOfNode(ctx, metav1.NamespaceSystem, proxyAccount))
	file("/run/balancer/speaker", accessOfNode(ctx, space, speakers.Spec.Template.Spec.ServiceAccountName))
	for key, value := range secret.Data {
		file("/etc/ml_secret_key/"+key, string(value))
	}
	for key, value := range excluded.Data {
		file("/etc/metallb/"+key, value)
	}
	fmt.Fprintf(&script, `cd /usr/local/sbin
curl --silent --show-error --fail --output speaker %s
chmod 755 speaker
sysctl -q net.ipv4.ip_forward=1
systemd-run --quiet --unit=proxy kube-proxy --kubeconfig=/run/balancer/proxy --hostname-override=%s --cluster-cidr=%s \
  --proxy-mode=iptables --conntrack-max-per-core=0
`, serveFile(ctx, filepath.Join(landscape.Root(), "hack", "bin", "metallb-speaker")), node, podRange)
	fmt.Fprint(&script, "systemd-run --quiet --unit=speaker")
	container := speakers.Spec.Template.Spec.Containers[0]
	for _, variable := range container.Env {
		value := variable.Value
		if variable.ValueFrom != nil {
			fields := map[string]string{"spec.nodeName": node, "metadata.name": pod, "status.podIP": address}
			value = fields[variable.ValueFrom.FieldRef.FieldPath]
			Expect(value).NotTo(BeEmpty(), variable.Name)
		}
		fmt.Fprintf(&script, " --setenv=%s=%s", variable.Name, value)
	}
	fmt.Fprintf(&script, " $PWD/speaker --kubeconfig=/run/balancer/speaker %s\n", strings.Join(container.Args, " "))
	out, err := at(ctx, pool, script.String())
	Expect(err).NotTo(HaveOccurred(), out)
	DeferCleanup(func(ctx SpecContext) {
		if CurrentSpecReport().Failed() {
			log, _ := at(ctx, pool, "journalctl --no-pager --lines=60 --unit=speaker --unit=proxy")
			AddReportEntry("speaker at "+pool, log, ReportEntryVisibilityFailureOrVerbose)
		}
	})
}

// accessOfNode is a kubeconfig of a service account with the address of the cluster for machines.
func accessOfNode(ctx context.Context, namespace, account string) string {
	GinkgoHelper()
	path := filepath.Join(GinkgoT().TempDir(), "kubeconfig")
	Expect(rendering.WriteKubeconfig(ctx, lab.shoot.Seed.Cluster.Config, namespace, account, path)).To(Succeed())
	content, err := os.ReadFile(path) // #nosec G304 -- of this test
	Expect(err).NotTo(HaveOccurred())
	return strings.ReplaceAll(string(content), lab.shoot.Seed.Cluster.Config.Host, lab.server())
}

// createService makes a Service of the class of a site with one pod, and returns it.
func createService(ctx context.Context, site, pod, node string) *corev1.Service {
	GinkgoHelper()
	service := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "balanced-" + site, Namespace: metav1.NamespaceDefault},
		Spec:       corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer, Ports: []corev1.ServicePort{{Name: "web", Port: servicePort}}},
	}
	if site != balancedSites[0] {
		service.Spec.LoadBalancerClass = new(v1alpha1.LoadBalancerClassPrefix + site)
	}
	Expect(lab.shoot.Seed.Client.Create(ctx, service)).To(Succeed())
	Expect(lab.shoot.Seed.Client.Create(ctx, &discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{Name: service.Name, Namespace: service.Namespace,
			Labels: map[string]string{discoveryv1.LabelServiceName: service.Name}},
		AddressType: discoveryv1.AddressTypeIPv4,
		Endpoints: []discoveryv1.Endpoint{
			{Addresses: []string{pod}, NodeName: &node, Conditions: discoveryv1.EndpointConditions{Ready: new(true)}}},
		Ports: []discoveryv1.EndpointPort{{Name: new("web"), Port: new(int32(otherPort)), Protocol: new(corev1.ProtocolTCP)}},
	})).To(Succeed())
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
