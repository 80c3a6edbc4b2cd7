// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package specs

import (
	"context"
	"strings"
	"time"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Claim is a claim of 1 GiB of a class.
func Claim(name, class string) *corev1.PersistentVolumeClaim {
	return &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: metav1.NamespaceDefault},
		Spec: corev1.PersistentVolumeClaimSpec{
			StorageClassName: &class, AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources: corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
		},
	}
}

// Script is a pod that runs a shell script of an image on nodes with labels.
func Script(name, image, script string, nodes map[string]string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{GenerateName: name + "-", Namespace: metav1.NamespaceDefault},
		Spec: corev1.PodSpec{
			NodeSelector: nodes, RestartPolicy: corev1.RestartPolicyNever, TerminationGracePeriodSeconds: new(int64(1)),
			EnableServiceLinks: new(false), AutomountServiceAccountToken: new(false),
			Containers: []corev1.Container{{Name: "script", Image: image, Command: []string{"sh", "-ec", script}}},
		},
	}
}

// Mount lets a pod have the volume of a claim at /data, and returns it.
func Mount(pod *corev1.Pod, claim string) *corev1.Pod {
	pod.Spec.Containers[0].VolumeMounts = []corev1.VolumeMount{{Name: "data", MountPath: "/data"}}
	pod.Spec.Volumes = []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{
		PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim}}}}
	return pod
}

// Complete creates a pod, waits until it has succeeded, deletes it, and returns its termination message.
func Complete(ctx context.Context, c client.Client, pod *corev1.Pod, within time.Duration) string {
	ginkgo.GinkgoHelper()
	gomega.Expect(c.Create(ctx, pod)).To(gomega.Succeed())
	gomega.Eventually(ctx, func() (corev1.PodPhase, error) {
		err := c.Get(ctx, client.ObjectKeyFromObject(pod), pod)
		if pod.Status.Phase == corev1.PodFailed {
			err = gomega.StopTrying("the script failed: " + message(pod))
		}
		return pod.Status.Phase, err
	}, within, time.Second).Should(gomega.Equal(corev1.PodSucceeded))
	gomega.Expect(c.Delete(ctx, pod)).To(gomega.Succeed())
	return message(pod)
}

func message(pod *corev1.Pod) string {
	for _, status := range pod.Status.ContainerStatuses {
		if status.State.Terminated != nil {
			return strings.TrimRight(status.State.Terminated.Message, "\n")
		}
	}
	return pod.Status.Message
}
