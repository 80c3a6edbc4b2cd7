// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package loadbalancers_test runs MetalLB's controllers of two sites as processes beside a real kube-apiserver, with what the chart made
// of them. The nodes are objects without kubelets.
package loadbalancers_test

import (
	"context"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/metallb"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape"
	"github.com/gardener/gardener-extension-provider-hybrid/test/rendering"
	"github.com/gardener/gardener-extension-provider-hybrid/test/specs"
	"github.com/gardener/gardener-extension-provider-hybrid/test/suite"
)

func TestLoadBalancers(t *testing.T) {
	suite.Run(t, "Load Balancers Suite")
}

const (
	namespace = "shoot--test--balancers"
	// racks is the default site.
	racks, vc = "racks", "vc"
	// components and definitions are the names of ManagedResources.
	components, definitions = "extension-controlplane-shoot", "extension-controlplane-shoot-crds"
)

var (
	shoot *landscape.Landscape
	// controllers are MetalLB's by the names of their sites.
	controllers = map[string]*landscape.Process{}
)

var _ = BeforeSuite(func(ctx SpecContext) {
	binary := filepath.Join(landscape.Root(), "hack", "bin", "metallb-controller")
	Expect(binary).To(BeAnExistingFile(), "hack/landscape/build.sh builds it")

	var err error
	shoot, err = landscape.New(landscape.Options{Dir: GinkgoT().TempDir(), Namespace: namespace, Workloads: true,
		Audited: []string{account(racks), account(vc)}})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(shoot.Stop)
	DeferCleanup(func() { GinkgoWriter.Println(shoot.Workloads.ResourceManager.Tail(60)) })
	Expect(shoot.StartCluster(ctx)).To(Succeed())

	for name, site := range map[string]string{"racks-1": racks, "racks-2": racks, "vc-1": vc, "cloud-1": "cloud", "by-hand": ""} {
		createNode(ctx, name, site)
	}
	deploy(ctx)
	for _, site := range []string{racks, vc} {
		controllers[site] = startController(ctx, binary, site)
	}
}, NodeTimeout(10*time.Minute))

var _ = AfterEach(func() {
	Expect(shoot.Check()).To(Succeed())
	for _, controller := range controllers {
		Expect(controller.Check()).To(Succeed())
	}
})

var _ = specs.ShowTails(func() []*landscape.Process { return slices.Collect(maps.Values(controllers)) })

func createNode(ctx context.Context, name, site string) {
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if site != "" {
		node.Labels = map[string]string{v1alpha1.LabelSite: site}
	}
	Expect(shoot.Client.Create(ctx, node)).To(Succeed())
	before := client.MergeFrom(node.DeepCopy())
	node.Status.Allocatable = corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse("4"), corev1.ResourceMemory: resource.MustParse("8Gi"),
		corev1.ResourcePods: resource.MustParse("110"),
	}
	node.Status.Capacity = node.Status.Allocatable
	Expect(shoot.Client.Status().Patch(ctx, node, before)).To(Succeed()) // the controller of taints has it, too
}

// account is the service account of MetalLB's controller of a site.
func account(site string) string {
	return "system:serviceaccount:metallb-" + site + ":metallb-controller"
}

// settings are those of a site with MetalLB.
func settings(site, addresses string, named ...string) v1alpha1.ControlPlaneSite {
	balancer := &v1alpha1.MetalLB{AddressPools: []v1alpha1.MetalLBAddressPool{
		{Name: "vips", CIDRs: []string{addresses}, Advertisement: v1alpha1.MetalLBAdvertisementL2},
	}}
	if len(named) > 0 {
		balancer.AddressPools = append(balancer.AddressPools,
			v1alpha1.MetalLBAddressPool{Name: "named", CIDRs: named, Advertisement: v1alpha1.MetalLBAdvertisementBGP, AutoAssign: new(false)})
		balancer.BGP = &v1alpha1.MetalLBBGP{LocalASN: 64512,
			Peers: []v1alpha1.MetalLBPeer{{Address: "192.0.2.1", ASN: 64513, EBGPMultiHop: true}}}
	}
	return v1alpha1.ControlPlaneSite{Name: site, LoadBalancer: &v1alpha1.SiteLoadBalancer{MetalLB: balancer}}
}

// deploy applies the charts in the order in which the extension does: the objects come before the definitions of their kinds.
func deploy(ctx context.Context) {
	values, err := rendering.Merge(
		metallb.Values([]v1alpha1.ControlPlaneSite{settings(racks, "192.0.2.10-192.0.2.19", "198.51.100.7/32"),
			settings(vc, "192.0.2.128/28")}, racks),
		map[string]any{"enabled": true, "images": map[string]string{"metallb-controller": "controller:v1", "metallb-speaker": "speaker:v1"}})
	Expect(err).NotTo(HaveOccurred())
	for _, chart := range []struct {
		name, resource string
		values         any
	}{
		{"shoot-system-components", components, values},
		{"shoot-crds", definitions, map[string]any{"enabled": true}},
	} {
		rendered, err := rendering.Chart(chart.name, metav1.NamespaceSystem, map[string]any{metallb.ChartName: chart.values})
		Expect(err).NotTo(HaveOccurred())
		Expect(rendering.Deploy(ctx, shoot.Client, namespace, chart.resource, rendered, nil)).To(Succeed())
	}
	for _, resource := range []string{definitions, components} {
		Eventually(ctx, func() error { return rendering.Applied(ctx, shoot.Client, namespace, resource) }, "2m", "500ms").Should(Succeed(),
			resource)
	}
}

// pod is the name of the controller's pod.
func pod(ctx context.Context, space string) string {
	pods := &corev1.PodList{}
	Eventually(ctx, func(g Gomega) {
		g.Expect(shoot.Client.List(ctx, pods, client.InNamespace(space), client.MatchingLabels{"component": "controller"})).To(Succeed())
		g.Expect(pods.Items).To(HaveLen(1))
	}, "30s").Should(Succeed())
	return pods.Items[0].Name
}

// startController starts the controller of a site with the arguments and the permissions that it has in the shoot.
func startController(ctx context.Context, binary, site string) *landscape.Process {
	dir, space := GinkgoT().TempDir(), "metallb-"+site
	deployment := &appsv1.Deployment{}
	Expect(shoot.Client.Get(ctx, client.ObjectKey{Namespace: space, Name: "metallb-controller"}, deployment)).To(Succeed())
	kubeconfig := filepath.Join(dir, "kubeconfig")
	Expect(rendering.WriteKubeconfig(ctx, shoot.Cluster.Config, space, deployment.Spec.Template.Spec.ServiceAccountName,
		kubeconfig)).To(Succeed())
	ports, err := landscape.FreePorts(2)
	Expect(err).NotTo(HaveOccurred())
	process := &landscape.Process{
		Name: "metallb-controller of " + site, Path: binary, LogFile: filepath.Join(dir, "log"),
		Args: append(slices.Clone(deployment.Spec.Template.Spec.Containers[0].Args), "--kubeconfig="+kubeconfig,
			"--port="+strconv.Itoa(ports[0]), "--health-probe-port="+strconv.Itoa(ports[1]), "--pod-name="+pod(ctx, space)),
	}
	Expect(process.Start()).To(Succeed())
	DeferCleanup(func(ctx SpecContext) { process.Stop(ctx) })
	return process
}
