// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package kubelets

import (
	"context"
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// volumesReady returns an error as long as a volume of the pod cannot be mounted: its claim is not bound, its CSI driver is not
// registered, or it is not attached.
func (k *Kubelets) volumesReady(ctx context.Context, n *node, pod *corev1.Pod) error {
	for _, volume := range pod.Spec.Volumes {
		var name string
		switch {
		case volume.PersistentVolumeClaim != nil:
			name = volume.PersistentVolumeClaim.ClaimName
		case volume.Ephemeral != nil:
			name = pod.Name + "-" + volume.Name
		default:
			continue
		}
		claim := &corev1.PersistentVolumeClaim{}
		if err := k.Shoot.Get(ctx, client.ObjectKey{Namespace: pod.Namespace, Name: name}, claim); err != nil {
			return err
		}
		if claim.Status.Phase != corev1.ClaimBound {
			return fmt.Errorf("claim %s is not bound", name)
		}
		if err := k.volumeReady(ctx, n, claim.Spec.VolumeName); err != nil {
			return fmt.Errorf("claim %s: %w", name, err)
		}
	}
	return nil
}

func (k *Kubelets) volumeReady(ctx context.Context, n *node, name string) error {
	volume := &corev1.PersistentVolume{}
	if err := k.Shoot.Get(ctx, client.ObjectKey{Name: name}, volume); err != nil {
		return err
	}
	if volume.Spec.CSI == nil {
		return nil
	}
	drivers, err := k.drivers(ctx, n)
	if err != nil {
		return err
	}
	driver := volume.Spec.CSI.Driver
	if !slices.ContainsFunc(drivers.Spec.Drivers, func(d storagev1.CSINodeDriver) bool { return d.Name == driver }) {
		return fmt.Errorf("driver %s is not registered", driver)
	}
	object := &storagev1.CSIDriver{}
	if err := k.Shoot.Get(ctx, client.ObjectKey{Name: driver}, object); client.IgnoreNotFound(err) != nil {
		return err
	}
	if required := object.Spec.AttachRequired; required != nil && !*required {
		return nil
	}
	attachments := &storagev1.VolumeAttachmentList{}
	if err := k.Shoot.List(ctx, attachments); err != nil {
		return err
	}
	for _, a := range attachments.Items {
		if a.Spec.NodeName == n.name && a.Spec.Source.PersistentVolumeName != nil && *a.Spec.Source.PersistentVolumeName == name &&
			a.Status.Attached {
			return nil
		}
	}
	return errors.New("volume is not attached")
}

// drivers is the CSINode of the node.
func (k *Kubelets) drivers(ctx context.Context, n *node) (*storagev1.CSINode, error) {
	object := &storagev1.CSINode{}
	return object, k.Shoot.Get(ctx, client.ObjectKey{Name: n.name}, object)
}
