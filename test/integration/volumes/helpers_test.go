// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package volumes_test

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// helpers are the helper pods that there were, by their names.
var helpers struct {
	sync.Mutex
	pods map[string]corev1.Pod
}

// playHelpers lets each helper pod succeed until the suite is over.
func playHelpers() {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	DeferCleanup(func() {
		cancel()
		<-done
	})
	helpers.pods = map[string]corev1.Pod{}
	go func() {
		defer GinkgoRecover()
		defer close(done)
		wait.UntilWithContext(ctx, playOnce, 200*time.Millisecond)
	}()
}

func playOnce(ctx context.Context) {
	pods := &corev1.PodList{}
	if err := shoot.Client.List(ctx, pods, client.InNamespace(metav1.NamespaceSystem),
		client.MatchingLabels{"role": "local-volumes-helper"}); err != nil {
		return
	}
	for _, pod := range pods.Items {
		helpers.Lock()
		helpers.pods[pod.Name] = pod
		helpers.Unlock()
		pod.Status.Phase = corev1.PodSucceeded
		_ = shoot.Client.Status().Update(ctx, &pod)
	}
}

// helpersOf are the helper pods of a volume.
func helpersOf(volume, action string) []corev1.Pod {
	helpers.Lock()
	defer helpers.Unlock()
	return slices.DeleteFunc(slices.Collect(maps.Values(helpers.pods)), func(pod corev1.Pod) bool {
		return pod.Name != "local-volumes-helper-"+action+"-"+volume
	})
}

// helpersOn are the names of the helper pods that there were on a node.
func helpersOn(node string) []string {
	helpers.Lock()
	defer helpers.Unlock()
	var names []string
	for name, pod := range helpers.pods {
		if pod.Spec.NodeName == node {
			names = append(names, name)
		}
	}
	return names
}

// claim creates a claim of a volume of the class.
func claim(ctx context.Context, name, class string) *corev1.PersistentVolumeClaim {
	claim := &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: metav1.NamespaceDefault},
		Spec: corev1.PersistentVolumeClaimSpec{
			StorageClassName: new(class),
			AccessModes:      []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources:        corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: quantity}},
		},
	}
	Expect(shoot.Client.Create(ctx, claim)).To(Succeed())
	return claim
}

// consume creates a pod with the volume of the claim. It tolerates that nobody says that nodes are ready.
func consume(ctx context.Context, claim *corev1.PersistentVolumeClaim, nodeSelector map[string]string) *corev1.Pod {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: claim.Name, Namespace: claim.Namespace},
		Spec: corev1.PodSpec{
			NodeSelector:                  nodeSelector,
			TerminationGracePeriodSeconds: new(int64(0)),
			Tolerations:                   []corev1.Toleration{{Operator: corev1.TolerationOpExists}},
			Containers:                    []corev1.Container{{Name: "test", Image: "test"}},
			Volumes: []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{
				PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim.Name},
			}}},
		},
	}
	Expect(shoot.Client.Create(ctx, pod)).To(Succeed())
	return pod
}
