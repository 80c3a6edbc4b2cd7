// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package cloudprovider

import (
	"context"
	"encoding/json"
	"maps"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
)

// births writes to each node that is initialized when that was, and when the site powered and provisioned its machine. The driver of
// machine-controller-manager reads it there. The birth of a node that was initialized by an earlier process is not known.
type births struct {
	client kubernetes.Interface

	mutex sync.Mutex
	// described are the times of sites, by the UIDs of nodes that are not initialized yet.
	described map[types.UID]platform.BirthTimes
}

func newBirths(client kubernetes.Interface) *births {
	return &births{client: client, described: map[types.UID]platform.BirthTimes{}}
}

// describe keeps what the site says about the birth of a node that is about to be initialized.
func (b *births) describe(node *corev1.Node, times platform.BirthTimes) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	b.described[node.UID] = times
}

// take returns what is known about the node, and false if it was not about to be initialized.
func (b *births) take(node *corev1.Node) (platform.BirthTimes, bool) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	times, ok := b.described[node.UID]
	delete(b.described, node.UID)
	return times, ok
}

// watch writes the births of nodes until ctx is done.
func (b *births) watch(ctx context.Context, nodes cache.SharedInformer) error {
	_, err := nodes.AddEventHandler(cache.ResourceEventHandlerFuncs{
		UpdateFunc: func(_, object any) {
			if node, ok := object.(*corev1.Node); ok && initialized(node) {
				b.write(ctx, node)
			}
		},
		DeleteFunc: func(object any) {
			if unknown, ok := object.(cache.DeletedFinalStateUnknown); ok {
				object = unknown.Obj
			}
			if node, ok := object.(*corev1.Node); ok {
				b.take(node)
			}
		},
	})
	return err
}

// write writes the birth of a node that was just initialized. It is not essential, so that a failure is not repeated.
func (b *births) write(ctx context.Context, node *corev1.Node) {
	described, ok := b.take(node)
	if _, written := node.Annotations[v1alpha1.AnnotationBirthTimes]; !ok || written {
		return
	}
	times := platform.BirthTimes{platform.BirthInitialized: time.Now()}
	maps.Copy(times, described)
	patch, err := json.Marshal(metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{UID: node.UID,
		Annotations: map[string]string{v1alpha1.AnnotationBirthTimes: times.String()}}})
	if err == nil {
		_, err = b.client.CoreV1().Nodes().Patch(ctx, node.Name, types.MergePatchType, patch, metav1.PatchOptions{})
	}
	if err != nil && ctx.Err() == nil {
		klog.ErrorS(err, "Birth of the machine is not reported", "node", node.Name)
	}
}
