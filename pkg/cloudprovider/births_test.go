// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package cloudprovider

import (
	"context"
	"errors"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	cloudproviderapi "k8s.io/cloud-provider/api"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
)

var _ = Describe("Births", func() {
	var (
		client *fake.Clientset
		b      *births
		node   *corev1.Node
	)

	BeforeEach(func() {
		ctx, cancel := context.WithCancel(context.Background())
		DeferCleanup(cancel)
		node = &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node", UID: "1"}}
		node.Spec.Taints = []corev1.Taint{{Key: cloudproviderapi.TaintExternalCloudProvider}}
		client = fake.NewClientset(node.DeepCopy())
		b = newBirths(client)
		factory := informers.NewSharedInformerFactory(client, 0)
		Expect(b.watch(ctx, factory.Core().V1().Nodes().Informer())).To(Succeed())
		factory.Start(ctx.Done())
		factory.WaitForCacheSync(ctx.Done())
	})

	update := func(ctx SpecContext, change func(*corev1.Node)) {
		GinkgoHelper()
		current, err := client.CoreV1().Nodes().Get(ctx, node.Name, metav1.GetOptions{})
		Expect(err).NotTo(HaveOccurred())
		change(current)
		Expect(client.CoreV1().Nodes().Update(ctx, current, metav1.UpdateOptions{})).Error().NotTo(HaveOccurred())
	}
	initialize := func(n *corev1.Node) { n.Spec.Taints = nil }
	written := func(ctx SpecContext) func() (platform.BirthTimes, error) {
		return func() (platform.BirthTimes, error) {
			current, err := client.CoreV1().Nodes().Get(ctx, node.Name, metav1.GetOptions{})
			if err != nil {
				return nil, err
			}
			return platform.ParseBirthTimes(current.Annotations[v1alpha1.AnnotationBirthTimes]), nil
		}
	}
	known := func() int {
		b.mutex.Lock()
		defer b.mutex.Unlock()
		return len(b.described)
	}
	patches := func() int {
		count := 0
		for _, action := range client.Actions() {
			if action.GetVerb() == "patch" {
				count++
			}
		}
		return count
	}

	It("are written once, when the node is initialized", func(ctx SpecContext) {
		powered := time.Now().Add(-time.Minute).UTC().Truncate(time.Second)
		b.describe(node, platform.BirthTimes{platform.BirthPowered: powered})
		update(ctx, func(n *corev1.Node) { n.Labels = map[string]string{"not": "yet"} })
		Consistently(written(ctx), "200ms").Should(BeEmpty())
		update(ctx, initialize)
		Eventually(written(ctx)).Should(And(HaveLen(2), HaveKeyWithValue(platform.BirthPowered, powered),
			HaveKeyWithValue(platform.BirthInitialized, BeTemporally("~", time.Now(), 2*time.Second))))

		b.describe(node, nil) // by a controller whose cache is late
		update(ctx, func(n *corev1.Node) { n.Labels = map[string]string{"a": "heartbeat"} })
		Eventually(known).Should(BeZero())
		Expect(patches()).To(Equal(1))
	})

	It("are not known of a node that another process initialized", func(ctx SpecContext) {
		update(ctx, initialize)
		update(ctx, func(n *corev1.Node) { n.Labels = map[string]string{"a": "heartbeat"} })
		Consistently(written(ctx), "200ms").Should(BeEmpty())
		Expect(patches()).To(BeZero())
	})

	It("are forgotten with their node, and if they cannot be written", func(ctx SpecContext) {
		b.describe(node, nil)
		Expect(client.CoreV1().Nodes().Delete(ctx, node.Name, metav1.DeleteOptions{})).To(Succeed())
		Eventually(known).Should(BeZero())

		next := node.DeepCopy()
		next.UID = types.UID("2")
		Expect(client.CoreV1().Nodes().Create(ctx, next, metav1.CreateOptions{})).Error().NotTo(HaveOccurred())
		client.PrependReactor("patch", "nodes", func(clienttesting.Action) (bool, runtime.Object, error) {
			return true, nil, errors.New("forbidden")
		})
		b.describe(next, nil)
		update(ctx, initialize)
		Eventually(known).Should(BeZero())
		Eventually(patches).Should(Equal(1))
	})
})
