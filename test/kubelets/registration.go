// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package kubelets

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// registrationFlag is a flag of node-driver-registrar: the path of the driver's socket, which is in a folder with its name.
	registrationFlag = "--kubelet-registration-path="
	// topologyFlag is a flag of node services of CSI drivers: what is added to the topology that they find themselves.
	topologyFlag = "--additional-topology="
	// nodeIDAnnotation is the annotation of nodes with their IDs by driver.
	nodeIDAnnotation = "csi.volume.kubernetes.io/nodeid"
)

// registration returns the container of a pod that registers a CSI driver and the name of that driver, both empty if there is none.
func registration(pod *corev1.Pod) (container, driver string) {
	for _, c := range pod.Spec.Containers {
		for _, arg := range slices.Concat(c.Command, c.Args) {
			if socket, ok := strings.CutPrefix(arg, registrationFlag); ok {
				return c.Name, path.Base(path.Dir(socket))
			}
		}
	}
	return "", ""
}

// topology is what the node service of a driver tells about the node: what the server's platform says, and what the arguments of the
// pod's containers add.
func topology(n *node, driver string, pod *corev1.Pod) (map[string]string, error) {
	own, ok := n.server.Topology[driver]
	if !ok && n.server.Topology != nil {
		return nil, fmt.Errorf("the node service of %s does not find out on what server it runs", driver)
	}
	result := maps.Clone(own)
	if result == nil {
		result = map[string]string{}
	}
	for _, c := range pod.Spec.Containers {
		for _, arg := range slices.Concat(c.Command, c.Args) {
			pairs, ok := strings.CutPrefix(arg, topologyFlag)
			if !ok {
				continue
			}
			for pair := range strings.SplitSeq(pairs, ",") {
				key, value, _ := strings.Cut(pair, "=")
				result[key] = value
			}
		}
	}
	return result, nil
}

// registerDriver registers a CSI driver: first the node gets the labels and its ID, then its CSINode the driver.
func (k *Kubelets) registerDriver(ctx context.Context, n *node, driver string, pod *corev1.Pod) error {
	labels, err := topology(n, driver, pod)
	if err != nil {
		return err
	}
	object := &corev1.Node{}
	if err := k.Shoot.Get(ctx, client.ObjectKey{Name: n.name}, object); err != nil {
		return err
	}
	before := object.DeepCopy()
	for key, value := range labels {
		if has, ok := object.Labels[key]; ok && has != value {
			return fmt.Errorf("the node has the label %s=%s, but the driver says %s", key, has, value)
		}
		metav1.SetMetaDataLabel(&object.ObjectMeta, key, value)
	}
	ids := map[string]string{}
	if annotation := object.Annotations[nodeIDAnnotation]; annotation != "" {
		if err := json.Unmarshal([]byte(annotation), &ids); err != nil {
			return err
		}
	}
	ids[driver] = n.id
	annotation, err := json.Marshal(ids)
	if err != nil {
		return err
	}
	metav1.SetMetaDataAnnotation(&object.ObjectMeta, nodeIDAnnotation, string(annotation))
	if err := k.Shoot.Patch(ctx, object, client.MergeFrom(before)); err != nil {
		return err
	}

	return k.changeDrivers(ctx, n, driver,
		&storagev1.CSINodeDriver{Name: driver, NodeID: n.id, TopologyKeys: slices.Sorted(maps.Keys(labels))})
}

// unregisterDriver removes a driver from the node's CSINode. The node keeps its labels.
func (k *Kubelets) unregisterDriver(ctx context.Context, n *node, driver string) error {
	if driver == "" {
		return nil
	}
	return client.IgnoreNotFound(k.changeDrivers(ctx, n, driver, nil))
}

// changeDrivers replaces a driver in the node's CSINode.
func (k *Kubelets) changeDrivers(ctx context.Context, n *node, driver string, entry *storagev1.CSINodeDriver) error {
	object, err := k.drivers(ctx, n)
	if err != nil {
		return err
	}
	object.Spec.Drivers = slices.DeleteFunc(object.Spec.Drivers, func(d storagev1.CSINodeDriver) bool { return d.Name == driver })
	if entry != nil {
		object.Spec.Drivers = append(object.Spec.Drivers, *entry)
	}
	return k.Shoot.Update(ctx, object)
}

// createCSINode creates the object that has the node's CSI drivers.
func (k *Kubelets) createCSINode(ctx context.Context, owner *corev1.Node) error {
	object := &storagev1.CSINode{ObjectMeta: metav1.ObjectMeta{Name: owner.Name, OwnerReferences: []metav1.OwnerReference{
		{APIVersion: "v1", Kind: "Node", Name: owner.Name, UID: owner.UID},
	}}}
	if err := k.Shoot.Create(ctx, object); err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("create CSINode %s: %w", owner.Name, err)
	}
	return nil
}
