// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package machine_test

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	machinev1alpha1 "github.com/gardener/machine-controller-manager/pkg/apis/machine/v1alpha1"
	machinefake "github.com/gardener/machine-controller-manager/pkg/client/clientset/versioned/fake"
	"github.com/gardener/machine-controller-manager/pkg/util/provider/driver"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientfeatures "k8s.io/client-go/features"
	clientfeaturestesting "k8s.io/client-go/features/testing"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/machine"
)

var _ = Describe("Births", func() {
	const (
		namespace = "shoot--p--s"
		name      = "shoot--p--s-pool-1"
	)
	var (
		ctx     context.Context
		objects *machinefake.Clientset
		shoot   *fake.Clientset
		begin   time.Time
		m       *machinev1alpha1.Machine
		node    *corev1.Node
		site    string
		reads   atomic.Int32
		counter int
	)

	after := func(seconds int) metav1.Time { return metav1.NewTime(begin.Add(time.Duration(seconds) * time.Second)) }
	rfc := func(seconds int) string {
		return begin.Add(time.Duration(seconds) * time.Second).UTC().Format(time.RFC3339)
	}

	BeforeEach(func() {
		// The fake clients of machine-controller-manager do not have the API's bookmarks.
		clientfeaturestesting.SetFeatureDuringTest(GinkgoTB(), clientfeatures.WatchListClient, false)
		var cancel context.CancelFunc
		ctx, cancel = context.WithCancel(context.Background())
		DeferCleanup(func() { cancel() })
		begin = time.Now().Add(-2 * time.Minute).Truncate(time.Second)
		counter++
		site = "site-" + string(rune('a'+counter)) // whose metrics are those of this spec
		m = &machinev1alpha1.Machine{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace, UID: "1", CreationTimestamp: after(0),
			Labels: map[string]string{machinev1alpha1.NodeLabelKey: "node"}}}
		m.Spec.NodeTemplateSpec.Labels = map[string]string{v1alpha1.LabelSite: site, v1alpha1.LabelPlatform: "metal"}
		m.Status.CurrentStatus.Phase = machinev1alpha1.MachineRunning
		m.Status.LastOperation = machinev1alpha1.LastOperation{Type: machinev1alpha1.MachineOperationCreate,
			State: machinev1alpha1.MachineStateSuccessful, LastUpdateTime: after(60)}
		m.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue, LastTransitionTime: after(58)}}
		node = &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node", CreationTimestamp: after(31), Annotations: map[string]string{
			v1alpha1.AnnotationBirthTimes: "powered=" + rfc(9) + ",provisioned=" + rfc(20) + ",initialized=" + rfc(35),
		}}}
		objects, shoot = machinefake.NewSimpleClientset(), fake.NewClientset()
		reads.Store(0)
		shoot.PrependReactor("get", "nodes", func(clienttesting.Action) (bool, runtime.Object, error) {
			reads.Add(1)
			return false, nil, nil
		})
	})

	// run runs births of a new process until the spec or the returned function ends.
	run := func() (*machine.Births, context.CancelFunc) {
		own, cancel := context.WithCancel(ctx)
		b, done := machine.NewBirths(objects, shoot.CoreV1()), make(chan struct{})
		go func() {
			defer close(done)
			b.Run(own, namespace)
		}()
		stop := func() { cancel(); Eventually(done).Should(BeClosed()) }
		DeferCleanup(stop)
		return b, stop
	}
	add := func() {
		GinkgoHelper()
		Expect(objects.MachineV1alpha1().Machines(namespace).Create(ctx, m, metav1.CreateOptions{})).Error().NotTo(HaveOccurred())
		if node != nil {
			Expect(shoot.CoreV1().Nodes().Create(ctx, node, metav1.CreateOptions{})).Error().NotTo(HaveOccurred())
		}
	}
	profile := func() (string, error) {
		found, err := objects.MachineV1alpha1().Machines(namespace).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return "", err
		}
		return found.Annotations[v1alpha1.AnnotationBirthProfile], nil
	}
	// observed are the numbers and sums of the phases in the metric.
	observed := func() map[string][2]float64 {
		GinkgoHelper()
		registry := prometheus.NewPedanticRegistry()
		registry.MustRegister(machine.BirthDuration)
		families, err := registry.Gather()
		Expect(err).NotTo(HaveOccurred())
		found := map[string][2]float64{}
		for _, family := range families {
			for _, metric := range family.GetMetric() {
				labels := map[string]string{}
				for _, pair := range metric.GetLabel() {
					labels[pair.GetName()] = pair.GetValue()
				}
				if labels["site"] == site {
					Expect(labels).To(And(HaveLen(3), HaveKeyWithValue("platform", "metal")))
					found[labels["phase"]] = [2]float64{float64(metric.GetHistogram().GetSampleCount()), sumOf(metric)}
				}
			}
		}
		return found
	}
	const all = "powered=9s,provisioned=20s,registered=31s,initialized=35s,ready=58s"

	It("should be told once, also by another process", func() {
		_, stop := run()
		add()
		Eventually(profile).Should(Equal(all))
		expected := map[string][2]float64{"powered": {1, 9}, "provisioned": {1, 20}, "registered": {1, 31}, "initialized": {1, 35},
			"ready": {1, 58}}
		Eventually(observed).Should(Equal(expected))
		stop()
		run()
		Consistently(reads.Load, "300ms").Should(BeEquivalentTo(1))
		Expect(observed()).To(Equal(expected))
	})

	It("should tell when the driver created the machine, if that was the same process", func() {
		b, _ := run()
		m.CreationTimestamp = metav1.NewTime(time.Now().Truncate(time.Second))
		node.CreationTimestamp, m.Status.Conditions = metav1.Now(), nil
		d := b.Observe(&creator{})
		Expect(d.CreateMachine(ctx, &driver.CreateMachineRequest{Machine: m})).Error().NotTo(HaveOccurred())
		add()
		Eventually(profile).Should(MatchRegexp("^claimed=[01]s,registered=[01]s$"))

		fault := errors.New("no room")
		_, err := b.Observe(&creator{fault: fault}).CreateMachine(ctx, &driver.CreateMachineRequest{Machine: m})
		Expect(err).To(MatchError(fault))
	})

	It("should wait for a node that is not initialized, and for a Machine that is being changed", func() {
		annotations := node.Annotations
		node.Annotations = nil
		conflicts := atomic.Int32{}
		objects.PrependReactor("patch", "machines", func(clienttesting.Action) (bool, runtime.Object, error) {
			return conflicts.Add(1) == 1, nil, apierrors.NewConflict(schema.GroupResource{Resource: "machines"}, name, errors.New("changed"))
		})
		run()
		add()
		Eventually(reads.Load).Should(BeNumerically(">", 0))
		Expect(profile()).To(BeEmpty())
		node.Annotations = annotations
		Expect(shoot.CoreV1().Nodes().Update(ctx, node, metav1.UpdateOptions{})).Error().NotTo(HaveOccurred())
		Eventually(profile).Should(Equal(all))
		Expect(observed()).To(HaveKeyWithValue("ready", [2]float64{1, 58}))
	})

	DescribeTable("should not be told",
		func(change func()) {
			change()
			run()
			add()
			Consistently(profile, "300ms").Should(BeEmpty())
			Expect(observed()).To(BeEmpty())
		},
		Entry("of a machine that is still created", func() { m.Status.LastOperation.State = machinev1alpha1.MachineStateProcessing }),
		Entry("of a machine whose node was lost", func() { m.Status.LastOperation.Type = machinev1alpha1.MachineOperationHealthCheck }),
		Entry("of a machine whose node is lost", func() { m.Status.CurrentStatus.Phase = machinev1alpha1.MachineUnknown }),
		Entry("of a machine that joined long ago", func() { m.Status.LastOperation.LastUpdateTime = after(-3600) }),
		Entry("of a machine that is deleted", func() { m.DeletionTimestamp = new(metav1.Now()) }),
		Entry("of a machine of another provider", func() { m.Spec.NodeTemplateSpec.Labels = nil }),
		Entry("of a machine without a node", func() { node = nil }),
		Entry("of a Machine that was restored for its node", func() { node.CreationTimestamp = after(-100) }),
	)

	DescribeTable("should have no times that cannot be, whatever the node says",
		func(times, expected string) {
			node.Annotations[v1alpha1.AnnotationBirthTimes] = times
			run()
			add()
			Eventually(profile).Should(Equal(expected))
			Eventually(observed).Should(HaveLen(2))
		},
		Entry("nothing", "", "registered=31s,ready=58s"),
		Entry("garbage", "=,powered=\x00,provisioned=NaN,site=other,\"", "registered=31s,ready=58s"),
		Entry("the far past and future", "powered=0001-01-01T00:00:00Z,provisioned=-1,initialized=9999-12-31T23:59:59Z",
			"registered=31s,ready=58s"),
		Entry("what API servers know better", "claimed=2026-01-01T00:00:00Z,registered=2026-01-01T00:00:00Z,ready=2026-01-01T00:00:00Z",
			"registered=31s,ready=58s"),
	)
})

func sumOf(metric *dto.Metric) float64 { return metric.GetHistogram().GetSampleSum() }
