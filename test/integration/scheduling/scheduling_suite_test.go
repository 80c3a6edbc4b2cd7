// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package scheduling_test shows that pods and volumes in the landscape go where they go in a shoot: with the real controllers, scheduler
// and gardener-resource-manager, and with played kubelets, whose nodes are of two sites.
package scheduling_test

import (
	"context"
	"sync"
	"testing"
	"time"

	machinev1alpha1 "github.com/gardener/machine-controller-manager/pkg/apis/machine/v1alpha1"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/test/kubelets"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape"
	"github.com/gardener/gardener-extension-provider-hybrid/test/suite"
)

func TestScheduling(t *testing.T) {
	SetDefaultEventuallyTimeout(30 * time.Second)
	SetDefaultEventuallyPollingInterval(50 * time.Millisecond)
	suite.Run(t, "Scheduling Suite")
}

const (
	namespace = "shoot--local--scheduling"
	siteKey   = "hybrid.provider.extensions.gardener.cloud/site"
	zoneKey   = "topology.example.org/zone"
	zone      = "nova"
)

// sites have a CSI driver each, which works on their servers alone.
var sites = map[string]string{"a": "a.csi.example.org", "b": "b.csi.example.org"}

var (
	cluster   *landscape.Cluster
	workloads *landscape.Workloads
	c         client.Client
	servers   machineRoom
)

// machineRoom has the servers that are active.
type machineRoom struct {
	mutex   sync.Mutex
	servers map[string]kubelets.Server
}

func (m *machineRoom) active(context.Context) (map[string]kubelets.Server, error) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	result := make(map[string]kubelets.Server, len(m.servers))
	for id, server := range m.servers {
		result[id] = server
	}
	return result, nil
}

func (m *machineRoom) add(id string, server kubelets.Server) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	if m.servers == nil {
		m.servers = map[string]kubelets.Server{}
	}
	m.servers[id] = server
}

var _ = BeforeSuite(func(ctx SpecContext) {
	var err error
	dir := GinkgoT().TempDir()
	cluster, err = landscape.NewCluster(dir, landscape.DefaultBinaries())
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func(ctx SpecContext) { cluster.Stop(ctx) })
	Expect(cluster.Start(ctx)).To(Succeed())
	Expect(landscape.InstallCRDs(ctx, cluster.Config)).To(Succeed())
	c, err = client.New(cluster.Config, client.Options{Scheme: landscape.Scheme})
	Expect(err).NotTo(HaveOccurred())
	Expect(c.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}})).To(Succeed())

	workloads, err = landscape.NewWorkloads(dir, cluster, landscape.DefaultBinaries())
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func(ctx SpecContext) { workloads.Stop(ctx) })
	Expect(workloads.Start(ctx)).To(Succeed())

	play(ctx, (&kubelets.Kubelets{
		Seed: c, Shoot: c, Namespace: namespace, Servers: servers.active, Period: 200 * time.Millisecond, Heartbeat: time.Second,
		Pods: true, Starting: time.Second, Taints: []corev1.Taint{kubelets.CriticalComponentsTaint}, Log: GinkgoLogr,
	}).Run)
	play(ctx, (&csiControllers{client: c}).run)
}, NodeTimeout(6*time.Minute))

var _ = AfterEach(func() { Expect(workloads.Check()).To(Succeed()) })

// play runs until the end of the suite.
func play(_ context.Context, run func(context.Context)) {
	ctx, cancel := context.WithCancel(context.Background())
	var group sync.WaitGroup
	group.Go(func() { run(ctx) })
	DeferCleanup(func() {
		cancel()
		group.Wait()
	})
}

// join lets a server of a site become a node that joins with labels, and returns it once it has joined.
func join(ctx context.Context, name, site string, labels map[string]string) *corev1.Node {
	GinkgoHelper()
	servers.add(name, kubelets.Server{Labels: labels, Topology: map[string]map[string]string{sites[site]: {zoneKey: zone}}})
	Expect(c.Create(ctx, &machinev1alpha1.Machine{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace}, Spec: machinev1alpha1.MachineSpec{ProviderID: site + ":///" + name},
	})).To(Succeed())
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
	Eventually(func() error { return c.Get(ctx, client.ObjectKeyFromObject(node), node) }).Should(Succeed())
	return node
}

// label gives a node the label of its site, as machine-controller-manager does.
func label(ctx context.Context, node *corev1.Node, site string) {
	GinkgoHelper()
	before := node.DeepCopy()
	metav1.SetMetaDataLabel(&node.ObjectMeta, siteKey, site)
	Expect(c.Patch(ctx, node, client.MergeFrom(before))).To(Succeed())
}
