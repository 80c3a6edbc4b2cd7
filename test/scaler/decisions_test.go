// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package scaler_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	kubernetesclient "github.com/gardener/gardener/pkg/client/kubernetes"
	machinev1alpha1 "github.com/gardener/machine-controller-manager/pkg/apis/machine/v1alpha1"
	"github.com/gardener/machine-controller-manager/pkg/util/provider/machinecodes/codes"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	testingclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	fakeclient "sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/gardener/gardener-extension-provider-hybrid/test/scaler"
)

var running = machinev1alpha1.MachineStatus{CurrentStatus: machinev1alpha1.CurrentStatus{Phase: machinev1alpha1.MachineRunning}}

// cluster is a shoot whose machines, nodes and time the test plays.
type cluster struct {
	*WithT

	client client.Client
	clock  *testingclock.FakePassiveClock
	scaler *scaler.Scaler
	start  time.Time
}

// newCluster returns a shoot with deployments "a" and "b", of which "a" has the higher priority, with as many ready nodes.
func newCluster(t *testing.T, a, b int, change ...func(a, b *extensionsv1alpha1.MachineDeployment)) *cluster {
	t.Helper()
	c := &cluster{WithT: NewWithT(t), start: time.Now().Truncate(time.Second)}
	c.client = fakeclient.NewClientBuilder().WithScheme(kubernetesclient.SeedScheme).
		WithStatusSubresource(&machinev1alpha1.Machine{}, &extensionsv1alpha1.Worker{}).Build()
	c.clock = testingclock.NewFakePassiveClock(c.start)
	c.scaler = &scaler.Scaler{Seed: c.client, Shoot: c.client, Worker: client.ObjectKey{Namespace: namespace, Name: "w"}, Clock: c.clock}
	groups := []extensionsv1alpha1.MachineDeployment{{Name: "a", Maximum: 20, Priority: new(int32(2))},
		{Name: "b", Maximum: 20, Priority: new(int32(1))}}
	for _, f := range change {
		f(&groups[0], &groups[1])
	}
	worker := &extensionsv1alpha1.Worker{ObjectMeta: metav1.ObjectMeta{Name: "w", Namespace: namespace},
		Status: extensionsv1alpha1.WorkerStatus{MachineDeployments: groups}}
	c.Expect(c.client.Create(t.Context(), worker)).To(Succeed())
	for name, count := range map[string]int{"a": a, "b": b} {
		s := &share{name: name}
		deployment := s.deployment()
		deployment.Spec.Replicas = int32(count)
		c.Expect(c.client.Create(t.Context(), s.class())).To(Succeed())
		c.Expect(c.client.Create(t.Context(), deployment)).To(Succeed())
		for i := range count {
			c.addNode(name, i)
		}
	}
	return c
}

func minimum(a, b int32) func(*extensionsv1alpha1.MachineDeployment, *extensionsv1alpha1.MachineDeployment) {
	return func(first, second *extensionsv1alpha1.MachineDeployment) { first.Minimum, second.Minimum = a, b }
}

// addMachine adds a machine of the deployment without a node.
func (c *cluster) addMachine(deployment string, i int, status machinev1alpha1.MachineStatus) {
	name := fmt.Sprintf("%s-%d", deployment, i)
	m := &machinev1alpha1.Machine{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace,
		CreationTimestamp: metav1.NewTime(c.clock.Now().Add(time.Duration(i) * time.Second)),
		Labels:            map[string]string{"name": deployment, machinev1alpha1.NodeLabelKey: name}}, Status: status}
	c.Expect(c.client.Create(context.Background(), m)).To(Succeed())
	m.Status = status
	c.Expect(c.client.Status().Update(context.Background(), m)).To(Succeed())
}

// addNode adds a machine of the deployment with a node that has been ready for a day.
func (c *cluster) addNode(deployment string, i int) {
	c.addMachine(deployment, i, running)
	c.Expect(c.client.Create(context.Background(), &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("%s-%d", deployment, i), CreationTimestamp: metav1.NewTime(c.start.Add(-24 * time.Hour))},
		Status:     corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}},
	})).To(Succeed())
}

func (c *cluster) changeNode(name string, change func(*corev1.Node)) {
	n := &corev1.Node{}
	c.Expect(c.client.Get(context.Background(), client.ObjectKey{Name: name}, n)).To(Succeed())
	change(n)
	c.Expect(c.client.Update(context.Background(), n.DeepCopy())).To(Succeed())
	n.ResourceVersion = ""
	c.Expect(c.client.Status().Update(context.Background(), n)).To(Succeed())
}

// cutOff lets the first nodes of the deployment lose their kubelets, or get them back.
func (c *cluster) cutOff(deployment string, count int, status corev1.ConditionStatus) {
	for i := range count {
		c.changeNode(fmt.Sprintf("%s-%d", deployment, i), func(n *corev1.Node) { n.Status.Conditions[0].Status = status })
	}
}

func (c *cluster) annotate(deployment, annotation, value string) {
	d := &machinev1alpha1.MachineDeployment{}
	c.Expect(c.client.Get(context.Background(), client.ObjectKey{Namespace: namespace, Name: deployment}, d)).To(Succeed())
	if delete(d.Annotations, annotation); value != "" {
		metav1.SetMetaDataAnnotation(&d.ObjectMeta, annotation, value)
	}
	c.Expect(c.client.Update(context.Background(), d)).To(Succeed())
}

// loop lets time pass and returns what the scaler does then.
func (c *cluster) loop(after time.Duration) scaler.Outcome {
	c.clock.SetTime(c.clock.Now().Add(after))
	outcome, err := c.scaler.Sync(context.Background())
	c.Expect(err).NotTo(HaveOccurred())
	return outcome
}

func resized(deployment string, from, to int32, why string) scaler.Action {
	return scaler.Action{Deployment: deployment, From: from, To: to, Why: why}
}

// core/scaledown/unneeded/nodes.go: updateInternalState, lookupAndSetRemovalThreshold, unremovableReason.
func TestScaleDown(t *testing.T) {
	t.Run("removes nodes that have been unneeded for long enough, the youngest first, down to the minimum", func(t *testing.T) {
		c := newCluster(t, 4, 0, minimum(2, 0))
		c.scaler.SetPods(scaler.Pods{Count: 1})
		c.Expect(c.loop(0).Actions).To(BeEmpty())
		c.Expect(c.loop(30 * time.Minute).Actions).To(BeEmpty())
		c.Expect(c.loop(time.Second).Actions).To(ConsistOf(resized("a", 4, 2, "unneeded")))
	})

	t.Run("counts the time anew if a node was needed meanwhile", func(t *testing.T) {
		c := newCluster(t, 2, 0)
		c.scaler.SetPods(scaler.Pods{Count: 1})
		c.loop(0)
		c.scaler.SetPods(scaler.Pods{Count: 2})
		c.loop(20 * time.Minute)
		c.scaler.SetPods(scaler.Pods{Count: 1})
		c.Expect(c.loop(20 * time.Minute).Actions).To(BeEmpty())
		c.Expect(c.loop(31 * time.Minute).Actions).To(ConsistOf(resized("a", 2, 1, "unneeded")))
	})

	// core/static_autoscaler.go: isScaleDownInCooldown.
	t.Run("removes nothing for a while after an increase", func(t *testing.T) {
		c := newCluster(t, 1, 1, func(a, _ *extensionsv1alpha1.MachineDeployment) { a.Maximum = 2 })
		c.scaler.SetPods(scaler.Pods{Count: 3})
		c.Expect(c.loop(0).Actions).To(HaveLen(1))
		c.addNode("a", 1)
		c.scaler.SetPods(scaler.Pods{})
		c.loop(time.Minute)
		c.Expect(c.loop(50 * time.Minute).Actions).To(BeEmpty())
		c.Expect(c.loop(10 * time.Minute).Actions).To(ConsistOf(resized("a", 2, 0, "unneeded"), resized("b", 1, 0, "unneeded")))
	})

	// cloudprovider/mcm/mcm_cloud_provider.go: GetOptions; core/scaledown/eligibility/eligibility.go: FilterOutUnremovable.
	t.Run("heeds the annotations of deployments and nodes", func(t *testing.T) {
		c := newCluster(t, 2, 1)
		c.annotate("a", scaler.AnnotationUnneededTime, "2m")
		c.changeNode("a-0", func(n *corev1.Node) {
			metav1.SetMetaDataAnnotation(&n.ObjectMeta, "cluster-autoscaler.kubernetes.io/scale-down-disabled", "true")
		})
		c.loop(0)
		c.Expect(c.loop(3 * time.Minute).Actions).To(ConsistOf(resized("a", 2, 1, "unneeded")))
	})
}

func TestUnready(t *testing.T) {
	t.Run("removes unready nodes after their time, also without pods elsewhere", func(t *testing.T) {
		c := newCluster(t, 3, 5)
		c.scaler.SetPods(scaler.Pods{Count: 8})
		c.scaler.Settings = scaler.DefaultSettings
		c.scaler.Settings.DelayAfterAdd = 0
		c.cutOff("a", 3, corev1.ConditionUnknown)
		c.Expect(c.loop(0).Actions).To(ConsistOf(resized("a", 3, 6, "priority 2")), "unready nodes have no room")
		c.Expect(c.loop(20 * time.Minute).Actions).To(BeEmpty())
		c.Expect(c.loop(time.Second).Actions).To(ContainElement(resized("a", 6, 3, "unneeded")))
	})

	t.Run("keeps them for as long as the annotation says", func(t *testing.T) {
		c := newCluster(t, 3, 5)
		c.scaler.SetPods(scaler.Pods{Count: 5})
		c.annotate("a", scaler.AnnotationUnreadyTime, "24h")
		c.cutOff("a", 3, corev1.ConditionUnknown)
		c.loop(0)
		c.Expect(c.loop(23 * time.Hour).Actions).To(BeEmpty())
		c.Expect(c.loop(2 * time.Hour).Actions).To(ConsistOf(resized("a", 3, 0, "unneeded")))
	})

	// The time since when a node is unneeded survives changes of its readiness: only the threshold differs.
	t.Run("removes nodes as soon as they are back, if they were vacant for longer than the time of ready nodes", func(t *testing.T) {
		c := newCluster(t, 3, 5)
		c.scaler.SetPods(scaler.Pods{Count: 3})
		c.annotate("a", scaler.AnnotationUnreadyTime, "24h")
		c.annotate("b", scaler.AnnotationUnneededTime, "24h")
		c.cutOff("a", 3, corev1.ConditionUnknown)
		c.loop(0)
		c.Expect(c.loop(2 * time.Hour).Actions).To(BeEmpty())
		c.cutOff("a", 3, corev1.ConditionTrue)
		c.scaler.SetPods(scaler.Pods{})
		c.Expect(c.loop(time.Second).Actions).To(ConsistOf(resized("a", 3, 0, "unneeded")))
	})

	t.Run("begins anew after a threshold that no node can be below", func(t *testing.T) {
		c := newCluster(t, 3, 5)
		c.scaler.SetPods(scaler.Pods{Count: 3})
		c.annotate("a", scaler.AnnotationUtilizationThreshold, "-1")
		c.annotate("b", scaler.AnnotationUnneededTime, "24h")
		c.cutOff("a", 3, corev1.ConditionUnknown)
		c.loop(0)
		c.Expect(c.loop(2 * time.Hour).Actions).To(BeEmpty())
		c.cutOff("a", 3, corev1.ConditionTrue)
		c.scaler.SetPods(scaler.Pods{})
		c.loop(time.Second)
		c.annotate("a", scaler.AnnotationUtilizationThreshold, "")
		c.loop(time.Second)
		c.Expect(c.loop(29 * time.Minute).Actions).To(BeEmpty())
		c.Expect(c.loop(2 * time.Minute).Actions).To(ConsistOf(resized("a", 3, 0, "unneeded")))
	})

	// clusterstate/clusterstate.go: updateReadinessStats, GetUpcomingNodes.
	t.Run("waits for nodes that have never been ready", func(t *testing.T) {
		c := newCluster(t, 4, 0)
		c.scaler.SetPods(scaler.Pods{Count: 4})
		for i := range 4 {
			c.changeNode(fmt.Sprintf("a-%d", i), func(n *corev1.Node) {
				n.CreationTimestamp = metav1.NewTime(c.start)
				n.Status.Conditions[0].Status = corev1.ConditionFalse
			})
		}
		c.Expect(c.loop(14 * time.Minute)).To(Equal(scaler.Outcome{}))
		c.Expect(c.loop(2 * time.Minute)).To(Equal(scaler.Outcome{Unhealthy: true}))
	})

	// core/static_autoscaler.go: removeOldUnregisteredNodes, which comes before the check of the cluster's health.
	t.Run("removes machines without nodes, also while too many nodes are unready", func(t *testing.T) {
		c := newCluster(t, 4, 0)
		c.addMachine("b", 0, running)
		d := &machinev1alpha1.MachineDeployment{}
		c.Expect(c.client.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: "b"}, d)).To(Succeed())
		d.Spec.Replicas = 1
		c.Expect(c.client.Update(t.Context(), d)).To(Succeed())
		c.cutOff("a", 4, corev1.ConditionUnknown)
		c.Expect(c.loop(0)).To(Equal(scaler.Outcome{Unhealthy: true}))
		c.Expect(c.loop(21 * time.Minute)).To(Equal(scaler.Outcome{Unhealthy: true,
			Actions: []scaler.Action{resized("b", 1, 0, "not registered in time")}}))
	})
}

// clusterstate/clusterstate.go: IsClusterHealthy, IsNodeGroupHealthy; core/static_autoscaler.go: RunOnce.
func TestUnreadyLimit(t *testing.T) {
	for _, test := range []struct {
		name            string
		a, b, lost      int
		percentage      int
		expectUnhealthy bool
	}{
		{name: "3 of 3 nodes are always accepted", a: 3, lost: 3},
		{name: "4 of 9 nodes are 44 %", a: 4, b: 5, lost: 4},
		{name: "4 of 8 nodes are too many", a: 4, b: 4, lost: 4, expectUnhealthy: true},
		{name: "4 of 8 nodes are accepted without the limit", a: 4, b: 4, lost: 4, percentage: 100},
		{name: "all nodes are accepted without the limit", a: 8, lost: 8, percentage: 100},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := newCluster(t, test.a, test.b)
			c.scaler.Settings = scaler.DefaultSettings
			if test.percentage > 0 {
				c.scaler.Settings.MaxTotalUnreadyPercentage = test.percentage
			}
			c.scaler.SetPods(scaler.Pods{Count: test.a + test.b})
			c.cutOff("a", test.lost, corev1.ConditionUnknown)
			outcome := c.loop(0)
			c.Expect(outcome.Unhealthy).To(Equal(test.expectUnhealthy))
			if test.expectUnhealthy {
				c.Expect(outcome.Actions).To(BeEmpty())
			} else {
				c.Expect(outcome.Actions).NotTo(BeEmpty())
			}
		})
	}

	t.Run("forgets unneeded nodes while it is exceeded", func(t *testing.T) {
		c := newCluster(t, 4, 4)
		c.loop(0)
		c.cutOff("a", 4, corev1.ConditionUnknown)
		c.Expect(c.loop(20 * time.Minute).Unhealthy).To(BeTrue())
		c.cutOff("a", 4, corev1.ConditionTrue)
		c.Expect(c.loop(20 * time.Minute).Actions).To(BeEmpty())
	})

	t.Run("raises no deployment that lacks too many ready nodes, unless there is no limit", func(t *testing.T) {
		c := newCluster(t, 4, 6)
		c.scaler.SetPods(scaler.Pods{Count: 10})
		c.cutOff("a", 4, corev1.ConditionUnknown)
		c.Expect(c.loop(0).Actions).To(ConsistOf(resized("b", 6, 10, "priority 1")))

		c = newCluster(t, 4, 6)
		c.scaler.SetPods(scaler.Pods{Count: 10})
		c.scaler.Settings = scaler.DefaultSettings
		c.scaler.Settings.MaxTotalUnreadyPercentage = 100
		c.cutOff("a", 4, corev1.ConditionUnknown)
		c.Expect(c.loop(0).Actions).To(ConsistOf(resized("a", 4, 8, "priority 2")))
	})
}

// clusterstate/clusterstate.go: handleInstanceCreationErrors, updateScaleRequests; utils/backoff/exponential_backoff.go: Backoff;
// core/static_autoscaler.go: deleteCreatedNodesWithErrors.
func TestCutOffSite(t *testing.T) {
	exhausted := machinev1alpha1.MachineStatus{
		CurrentStatus: machinev1alpha1.CurrentStatus{Phase: machinev1alpha1.MachineCrashLoopBackOff},
		LastOperation: machinev1alpha1.LastOperation{Type: machinev1alpha1.MachineOperationCreate, State: machinev1alpha1.MachineStateFailed,
			ErrorCode: codes.ResourceExhausted.String(), Description: "in quarantine"},
	}
	unavailable := exhausted
	unavailable.LastOperation.ErrorCode = codes.Unavailable.String()

	for _, test := range []struct {
		name   string
		status machinev1alpha1.MachineStatus
		after  time.Duration
	}{
		{"goes to the next site at once if the driver says so", exhausted, 10 * time.Second},
		{"goes to the next site when the machines have not come in time otherwise", unavailable, 20*time.Minute + time.Second},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := newCluster(t, 4, 4)
			c.scaler.Settings = scaler.DefaultSettings
			c.scaler.Settings.MaxTotalUnreadyPercentage = 100
			c.annotate("a", scaler.AnnotationUnreadyTime, "24h")
			c.scaler.SetPods(scaler.Pods{Count: 8})
			c.cutOff("a", 4, corev1.ConditionUnknown)
			c.Expect(c.loop(0).Actions).To(ConsistOf(resized("a", 4, 8, "priority 2")))
			for i := range 4 {
				c.addMachine("a", 4+i, test.status)
			}
			if test.after > time.Minute {
				c.Expect(c.loop(0).Actions).To(BeEmpty())
			}
			c.Expect(c.loop(test.after).Actions).To(ConsistOf(
				And(HaveField("Deployment", "a"), HaveField("From", BeEquivalentTo(8)), HaveField("To", BeEquivalentTo(4))),
				resized("b", 4, 8, "priority 1")))
		})
	}

	t.Run("does not back a deployment off for machines that its minimum asks for", func(t *testing.T) {
		c := newCluster(t, 0, 0, minimum(1, 0))
		c.addMachine("a", 0, exhausted)
		d := &machinev1alpha1.MachineDeployment{}
		c.Expect(c.client.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: "a"}, d)).To(Succeed())
		d.Spec.Replicas = 1
		c.Expect(c.client.Update(t.Context(), d)).To(Succeed())
		c.scaler.SetPods(scaler.Pods{Count: 2})
		c.Expect(c.loop(0).Actions).To(ConsistOf(resized("a", 1, 2, "priority 2")))
	})
}
