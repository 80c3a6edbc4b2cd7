// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package kubelets

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const defaultStarting = 500 * time.Millisecond

// playedPod is what a kubelet knows about a pod that is bound to its node.
type playedPod struct {
	// seen is when the kubelet saw it first, started when its containers started.
	seen, started time.Time
	// driver is the CSI driver that it registered.
	driver string
}

// syncPods plays the pods that are bound to the nodes.
func (k *Kubelets) syncPods(ctx context.Context) error {
	list := &corev1.PodList{}
	if err := k.Shoot.List(ctx, list); err != nil {
		return fmt.Errorf("list pods: %w", err)
	}
	nodes := map[string]*node{}
	for _, n := range k.nodes {
		if n.registered && !n.deleted {
			nodes[n.name] = n
		}
	}

	known := make(map[types.UID]*playedPod, len(list.Items))
	var errs []error
	for i := range list.Items {
		pod := &list.Items[i]
		n := nodes[pod.Spec.NodeName]
		switch {
		case n == nil:
			errs = append(errs, k.removeOrphan(ctx, pod))
			continue
		case !n.ready || pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed && pod.DeletionTimestamp == nil:
			continue
		}
		p := k.pods[pod.UID]
		if p == nil {
			p = &playedPod{seen: time.Now()}
		}
		known[pod.UID] = p
		if err := k.syncPod(ctx, n, p, pod); err != nil {
			errs = append(errs, fmt.Errorf("pod %s/%s: %w", pod.Namespace, pod.Name, err))
		}
	}
	k.pods = known
	return errors.Join(errs...)
}

// removeOrphan removes a pod of a node that was played and is gone, as pod-garbage-collector does.
func (k *Kubelets) removeOrphan(ctx context.Context, pod *corev1.Pod) error {
	if !k.played[pod.Spec.NodeName] {
		return nil
	}
	err := k.Shoot.Get(ctx, client.ObjectKey{Name: pod.Spec.NodeName}, &corev1.Node{})
	if !apierrors.IsNotFound(err) {
		return err
	}
	return k.remove(ctx, pod)
}

func (k *Kubelets) remove(ctx context.Context, pod *corev1.Pod) error {
	return client.IgnoreNotFound(k.Shoot.Delete(ctx, pod, client.GracePeriodSeconds(0), client.Preconditions{UID: &pod.UID}))
}

// syncPod starts the containers of a pod, or ends them at once if it is being deleted.
func (k *Kubelets) syncPod(ctx context.Context, n *node, p *playedPod, pod *corev1.Pod) error {
	if pod.DeletionTimestamp != nil {
		if err := k.unregisterDriver(ctx, n, p.driver); err != nil {
			return err
		}
		return k.remove(ctx, pod)
	}
	starting := k.Starting
	if starting == 0 {
		starting = defaultStarting
	}
	if time.Since(p.seen) < starting {
		return nil
	}

	var waiting error
	if p.started.IsZero() {
		if waiting = k.volumesReady(ctx, n, pod); waiting == nil {
			p.started = time.Now()
		}
	}
	registrar, driver := registration(pod)
	var registered error
	if driver != "" && !p.started.IsZero() && p.driver == "" {
		if registered = k.registerDriver(ctx, n, driver, pod); registered == nil {
			p.driver = driver
		}
	}

	status := PodStatus(pod, func(container string) ContainerState {
		switch {
		case waiting != nil:
			return ContainerState{Message: waiting.Error()}
		case container == registrar && registered != nil:
			return ContainerState{Reason: "CrashLoopBackOff", Message: registered.Error()}
		}
		return ContainerState{Started: p.started, Ready: true}
	})
	if equality.Semantic.DeepEqual(status, pod.Status) {
		return nil
	}
	before := pod.DeepCopy()
	pod.Status = status
	return client.IgnoreNotFound(k.Shoot.Status().Patch(ctx, pod, client.StrategicMergeFrom(before)))
}
