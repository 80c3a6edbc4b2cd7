// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package returnhome_test

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	machinev1alpha1 "github.com/gardener/machine-controller-manager/pkg/apis/machine/v1alpha1"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/codec"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/shoot"
	"github.com/gardener/gardener-extension-provider-hybrid/test/scaler"
	"github.com/gardener/gardener-extension-provider-hybrid/test/specs"
)

// inTime is how long machines may take.
const inTime = 4 * time.Minute

// replicas are the pods of the workload: two for each node, so that a node is only drained if the budget is respected twice.
const replicas = 2 * hosts

func burst() shoot.Pool { return shoot.Pool{Shoot: local, Name: "burst"} }

// setHome sets the returnHome of the pool, with a window that begins and ends so long after now.
func setHome(w *extensionsv1alpha1.Worker, begin, end time.Duration) {
	GinkgoHelper()
	pool := &w.Spec.Pools[0]
	config, err := codec.Decode[v1alpha1.WorkerConfig](pool.ProviderConfig)
	Expect(err).NotTo(HaveOccurred())
	at := func(after time.Duration) string { return time.Now().Add(after).UTC().Format("150405") + "+0000" }
	config.ReturnHome = &v1alpha1.ReturnHome{MachinesPerHour: new(int32(60)),
		TimeWindow: &v1alpha1.ReturnHomeTimeWindow{Begin: at(begin), End: at(end)}}
	pool.ProviderConfig, err = codec.Encode(config)
	Expect(err).NotTo(HaveOccurred())
}

// createWorkload creates a Deployment whose pods all run if all nodes do, and a PodDisruptionBudget that allows to evict one at a time.
func createWorkload(ctx context.Context) {
	GinkgoHelper()
	labels := map[string]string{"app": "home"}
	Expect(local.Seed.Client.Create(ctx, &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "home", Namespace: metav1.NamespaceDefault},
		Spec: appsv1.DeploymentSpec{
			Replicas: new(int32(replicas)), Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{
				NodeSelector: map[string]string{shoot.PoolLabel: "burst"},
				Containers: []corev1.Container{{Name: "home", Image: "home",
					Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1500m")}}}},
			}},
		},
	})).To(Succeed())
	Expect(local.Seed.Client.Create(ctx, &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Name: "home", Namespace: metav1.NamespaceDefault},
		Spec: policyv1.PodDisruptionBudgetSpec{Selector: &metav1.LabelSelector{MatchLabels: labels},
			MaxUnavailable: new(intstr.FromInt32(1))},
	})).To(Succeed())
}

// observer watches pods and machines, and remembers the worst.
type observer struct {
	mutex   sync.Mutex
	healthy map[types.UID]bool
	leaving map[types.UID]bool
	all     map[types.UID]bool

	leastHealthy, mostLeaving, mostMachines int
}

// observe watches until ctx ends.
func observe(ctx context.Context, group *sync.WaitGroup) *observer {
	GinkgoHelper()
	o := &observer{healthy: map[types.UID]bool{}, leaving: map[types.UID]bool{}, all: map[types.UID]bool{}, leastHealthy: replicas}
	c, err := client.NewWithWatch(local.Seed.Cluster.Config, client.Options{Scheme: landscape.Scheme})
	Expect(err).NotTo(HaveOccurred())
	for namespace, list := range map[string]client.ObjectList{
		metav1.NamespaceDefault: &corev1.PodList{}, local.Name: &machinev1alpha1.MachineList{},
	} {
		group.Go(func() {
			for ctx.Err() == nil { // The API server ends watches.
				if w, err := c.Watch(ctx, list, client.InNamespace(namespace)); err == nil {
					o.forget(list)
					o.follow(w)
				}
			}
		})
	}
	return o
}

// forget forgets what may have gone since the last watch. The first events of a watch are those of what exists.
func (o *observer) forget(list client.ObjectList) {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	if _, pods := list.(*corev1.PodList); pods {
		clear(o.healthy)
	} else {
		clear(o.leaving)
		clear(o.all)
	}
}

func (o *observer) follow(w watch.Interface) {
	defer w.Stop()
	for e := range w.ResultChan() {
		o.mutex.Lock()
		switch object := e.Object.(type) {
		case *corev1.Pod:
			ready := slices.ContainsFunc(object.Status.Conditions, func(c corev1.PodCondition) bool {
				return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
			})
			o.healthy[object.UID] = ready && object.DeletionTimestamp == nil && e.Type != watch.Deleted
		case *machinev1alpha1.Machine:
			if object.DeletionTimestamp != nil || e.Type == watch.Deleted {
				GinkgoWriter.Println("machine", object.Name, e.Type, object.DeletionTimestamp, object.Status.LastOperation.Description)
			}
			// machine-controller-manager marks a machine and lowers its set in two writes. In between, it may create another machine, which it
			// deletes before that has a server.
			hasServer := object.Spec.ProviderID != "" && e.Type != watch.Deleted
			o.all[object.UID] = hasServer
			o.leaving[object.UID] = hasServer && object.DeletionTimestamp != nil
		}
		if len(o.healthy) >= replicas { // The first events are those of what exists.
			o.note()
		}
		o.mutex.Unlock()
	}
}

func (o *observer) note() {
	o.leastHealthy = min(o.leastHealthy, count(o.healthy))
	o.mostLeaving = max(o.mostLeaving, count(o.leaving))
	o.mostMachines = max(o.mostMachines, count(o.all))
}

func count(set map[types.UID]bool) int {
	n := 0
	for _, in := range set {
		if in {
			n++
		}
	}
	return n
}

// healthyPods returns how many pods of the workload are ready.
func healthyPods(ctx context.Context) (int32, error) {
	deployment := &appsv1.Deployment{}
	err := local.Seed.Client.Get(ctx, client.ObjectKey{Namespace: metav1.NamespaceDefault, Name: "home"}, deployment)
	return deployment.Status.ReadyReplicas, err
}

// notes returns the notes of the events with the reason.
func notes(ctx context.Context, reason string) []string {
	GinkgoHelper()
	list := &eventsv1.EventList{}
	Expect(local.Seed.Client.List(ctx, list, client.InNamespace(local.Name))).To(Succeed())
	var found []string
	for _, e := range list.Items {
		if e.Reason == reason && e.Regarding.Kind == "Worker" {
			found = append(found, e.Note)
		}
	}
	return found
}

var _ = Describe("A pool that prefers bare metal", Ordered, func() {
	BeforeAll(func(ctx SpecContext) {
		infrastructure, err := local.Infrastructure()
		Expect(err).NotTo(HaveOccurred())
		Expect(local.Create(ctx, infrastructure)).To(Succeed())
		worker, err := local.Worker(infrastructure)
		Expect(err).NotTo(HaveOccurred())
		worker.Spec.Pools = slices.DeleteFunc(worker.Spec.Pools, func(p extensionsv1alpha1.WorkerPool) bool { return p.Name != "burst" })
		setHome(worker, -2*time.Hour, -time.Hour)
		Expect(local.Create(ctx, worker)).To(Succeed())

		// The cluster-autoscaler is played, and scales until the end, so that nothing that it does is disturbed.
		s := &scaler.Scaler{Seed: local.Seed.Client, Worker: client.ObjectKeyFromObject(worker),
			Report: func(line string) { GinkgoWriter.Println("scaler: " + line) }}
		s.SetPods(scaler.Pods{Count: hosts, NodeSelector: map[string]string{shoot.PoolLabel: "burst"}})
		scaling, end := context.WithCancel(context.Background())
		var group sync.WaitGroup
		group.Go(func() { s.Run(scaling) })
		DeferCleanup(func() {
			end()
			group.Wait()
		})
	}, NodeTimeout(8*time.Minute))

	It("should burst into the cloud", func(ctx SpecContext) {
		specs.ExpectRunning(ctx, burst(), cloud, servers, inTime)
		specs.ExpectRunning(ctx, burst(), rack, hosts-servers, inTime)
		createWorkload(ctx)
		Eventually(healthyPods).WithContext(ctx).Within(time.Minute).Should(BeEquivalentTo(replicas))
	}, SpecTimeout(10*time.Minute))

	It("should stay there outside its window, also when hosts are free", func(ctx SpecContext) {
		all, err := inventory.Hosts(ctx)
		Expect(err).NotTo(HaveOccurred())
		for name, host := range all {
			if host.Consumer == "" && strings.HasPrefix(name, "rack-1-l-") {
				Expect(inventory.ResumeHost(ctx, name)).To(Succeed())
			}
		}
		Consistently(func() error { return burst().Running(ctx, cloud, servers) }).WithContext(ctx).
			WithTimeout(75 * time.Second).WithPolling(time.Second).Should(Succeed())
		Expect(notes(ctx, "MachineReturning")).To(BeEmpty())
	}, SpecTimeout(3*time.Minute))

	It("should be home again within its window, and respect the PodDisruptionBudget", func(ctx SpecContext) {
		watching, end := context.WithCancel(ctx)
		var group sync.WaitGroup
		observed := observe(watching, &group)
		DeferCleanup(func() {
			end()
			group.Wait()
		})
		since := time.Now()
		changed, err := local.ChangeWorker(ctx, func(w *extensionsv1alpha1.Worker) { setHome(w, -time.Minute, 20*time.Minute) })
		Expect(err).NotTo(HaveOccurred())
		Expect(local.Reconciled(ctx, changed, since)).To(Succeed())

		specs.ExpectRunning(ctx, burst(), cloud, 0, 10*time.Minute)
		specs.ExpectRunning(ctx, burst(), rack, hosts, inTime)
		Eventually(healthyPods).WithContext(ctx).Within(time.Minute).Should(BeEquivalentTo(replicas))
		GinkgoWriter.Println("home again after", time.Since(since))
		Expect(specs.Identities(ctx, burst(), "")).To(HaveEach(HavePrefix("metal3://hosts/rack-1-l-")))
		Expect(notes(ctx, "MachineReturned")).To(HaveLen(servers))
		Expect(notes(ctx, "ReturnHomeFailed")).To(BeEmpty())

		observed.mutex.Lock()
		defer observed.mutex.Unlock()
		Expect(len(observed.healthy)).To(BeNumerically(">", replicas), "pods were evicted while they were watched")
		Expect(observed.leastHealthy).To(Equal(replicas-1), "the budget allows one unavailable pod")
		Expect(observed.mostLeaving).To(Equal(1), "machines move one at a time")
		Expect(observed.mostMachines).To(Equal(hosts+1), "a machine leaves after its replacement has come")
	}, SpecTimeout(15*time.Minute))
})
