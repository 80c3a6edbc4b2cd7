// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package kubelets

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	v1beta1constants "github.com/gardener/gardener/pkg/apis/core/v1beta1/constants"
	machinev1alpha1 "github.com/gardener/machine-controller-manager/pkg/apis/machine/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	cloudproviderapi "k8s.io/cloud-provider/api"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// attachAnnotation is the annotation of nodes whose volumes kube-controller-manager attaches.
const attachAnnotation = "volumes.kubernetes.io/controller-managed-attach-detach"

// CriticalComponentsTaint is the taint that nodes of Gardener join with until their node-critical components are ready.
var CriticalComponentsTaint = corev1.Taint{Key: v1beta1constants.TaintNodeCriticalComponentsNotReady, Effect: corev1.TaintEffectNoSchedule}

// cloudTaint is the taint that nodes join with until a cloud controller has initialised them.
var cloudTaint = corev1.Taint{Key: cloudproviderapi.TaintExternalCloudProvider, Value: "true", Effect: corev1.TaintEffectNoSchedule}

// register creates the node of a machine and makes it ready.
func (k *Kubelets) register(ctx context.Context, m *machinev1alpha1.Machine, n *node, server Server) error {
	object := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: n.name, Labels: map[string]string{
			corev1.LabelHostname:   n.name,
			corev1.LabelOSStable:   "linux",
			corev1.LabelArchStable: "amd64",
		}},
		Spec: corev1.NodeSpec{ProviderID: cmp.Or(server.ProviderID, m.Spec.ProviderID), Taints: slices.Clone(k.Taints)},
	}
	maps.Copy(object.Labels, server.Labels)
	if k.Cloud {
		object.Spec.ProviderID, object.Spec.Taints = server.ProviderID, append(object.Spec.Taints, cloudTaint)
		server.Addresses = nil
	}
	if k.Pods {
		object.Annotations = map[string]string{attachAnnotation: "true"}
	}
	if err := k.Shoot.Create(ctx, object); err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("register node %s: %w", n.name, err)
	}
	k.played[n.name] = true
	if k.Pods {
		if err := k.Shoot.Get(ctx, client.ObjectKeyFromObject(object), object); err != nil {
			return err
		}
		if err := k.createCSINode(ctx, object); err != nil {
			return err
		}
	}
	size := corev1.ResourceList{
		corev1.ResourceCPU:    resource.MustParse("4"),
		corev1.ResourceMemory: resource.MustParse("16Gi"),
		corev1.ResourcePods:   resource.MustParse("110"),
	}
	status := nodeStatus{Addresses: server.Addresses, Capacity: size, Allocatable: size}
	if server.SystemUUID != "" {
		status.NodeInfo = &nodeInfo{SystemUUID: server.SystemUUID}
	}
	if err := k.patchStatus(ctx, n, true, status); err != nil {
		return err
	}
	n.registered = true
	return nil
}

// nodeStatus is the part of a node's status that kubelets write.
type nodeStatus struct {
	Conditions  []corev1.NodeCondition `json:"conditions"`
	Addresses   []corev1.NodeAddress   `json:"addresses,omitempty"`
	Capacity    corev1.ResourceList    `json:"capacity,omitempty"`
	Allocatable corev1.ResourceList    `json:"allocatable,omitempty"`
	NodeInfo    *nodeInfo              `json:"nodeInfo,omitempty"`
}

// nodeInfo is the part of a node's description that somebody reads.
type nodeInfo struct {
	SystemUUID string `json:"systemUUID"`
}

// patchStatus writes the status with the condition Ready. It is a patch because others write the status of nodes, too.
func (k *Kubelets) patchStatus(ctx context.Context, n *node, ready bool, status nodeStatus) error {
	now, since := time.Now(), n.since
	if n.ready != ready {
		since = now
	}
	condition := corev1.NodeCondition{
		Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "KubeletReady", Message: "kubelet is posting ready status",
		LastHeartbeatTime: metav1.NewTime(now), LastTransitionTime: metav1.NewTime(since),
	}
	if !ready {
		condition.Status, condition.Reason = corev1.ConditionUnknown, "NodeStatusUnknown"
		condition.Message = "Kubelet stopped posting node status."
	}
	status.Conditions = []corev1.NodeCondition{condition}
	if k.Cut != nil {
		// kube-controller-manager writes them when the kubelet does not report, and machine-controller-manager reads them.
		for _, kind := range []corev1.NodeConditionType{corev1.NodeMemoryPressure, corev1.NodeDiskPressure, corev1.NodePIDPressure} {
			status.Conditions = append(status.Conditions, corev1.NodeCondition{
				Type: kind, Status: corev1.ConditionFalse, LastHeartbeatTime: metav1.NewTime(now), LastTransitionTime: metav1.NewTime(since),
			})
		}
	}

	patch, err := json.Marshal(map[string]nodeStatus{"status": status})
	if err != nil {
		return err
	}
	object := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: n.name}}
	if err := k.Shoot.Status().Patch(ctx, object, client.RawPatch(types.StrategicMergePatchType, patch)); err != nil {
		return fmt.Errorf("patch status of node %s: %w", n.name, err)
	}
	n.ready, n.beat, n.since = ready, now, since
	return nil
}
