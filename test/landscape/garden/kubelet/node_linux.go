// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package kubelet

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	heartbeat = 10 * time.Second
	// Zone is the zone of the node.
	Zone = "0"
)

// syncNode registers the node and keeps it ready.
func (k *Kubelet) syncNode(ctx context.Context) error {
	if time.Since(k.beat) < heartbeat {
		return nil
	}
	node := &corev1.Node{}
	err := k.Client.Get(ctx, client.ObjectKey{Name: Name}, node)
	if apierrors.IsNotFound(err) {
		node = &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: Name, Labels: map[string]string{
			corev1.LabelHostname: Name, corev1.LabelOSStable: "linux", corev1.LabelArchStable: "amd64", corev1.LabelTopologyZone: Zone,
		}}}
		err = client.IgnoreAlreadyExists(k.Client.Create(ctx, node))
	}
	if err != nil {
		return fmt.Errorf("register the node: %w", err)
	}

	before := node.DeepCopy()
	size := corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse("1000"), corev1.ResourceMemory: resource.MustParse("1000Gi"),
		corev1.ResourcePods: resource.MustParse("5000"),
	}
	now := metav1.Now()
	node.Status.Capacity, node.Status.Allocatable = size, size
	node.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: k.Networks.Node}}
	node.Status.Conditions = []corev1.NodeCondition{
		{Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "KubeletReady", LastHeartbeatTime: now,
			LastTransitionTime: node.CreationTimestamp},
	}
	if err := k.Client.Status().Patch(ctx, node, client.MergeFrom(before)); err != nil {
		return fmt.Errorf("patch the status of the node: %w", err)
	}
	k.beat = time.Now()
	return nil
}
