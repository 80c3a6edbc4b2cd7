// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package scheduling_test

import (
	"context"
	"slices"
	"time"

	. "github.com/onsi/ginkgo/v2"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// selectedNode is the annotation of a claim with the node that the scheduler wants its volume for.
const selectedNode = "volume.kubernetes.io/selected-node"

// csiControllers play the provisioner and the attacher of the drivers.
type csiControllers struct {
	client client.Client
}

func (p *csiControllers) run(ctx context.Context) {
	wait.UntilWithContext(ctx, func(ctx context.Context) {
		for _, step := range []func(context.Context) error{p.provision, p.attach} {
			if err := step(ctx); err != nil && ctx.Err() == nil {
				GinkgoLogr.Error(err, "CSI controllers")
			}
		}
	}, 200*time.Millisecond)
}

// provision makes the volumes of claims whose node the scheduler has selected. If the driver is not registered there, another node
// has to be selected, as external-provisioner does.
func (p *csiControllers) provision(ctx context.Context) error {
	claims := &corev1.PersistentVolumeClaimList{}
	if err := p.client.List(ctx, claims); err != nil {
		return err
	}
	for _, claim := range claims.Items {
		if claim.Spec.VolumeName != "" || claim.Annotations[selectedNode] == "" || claim.Spec.StorageClassName == nil {
			continue
		}
		class := &storagev1.StorageClass{}
		if err := p.client.Get(ctx, client.ObjectKey{Name: *claim.Spec.StorageClassName}, class); err != nil {
			return err
		}
		topology, err := p.topology(ctx, claim.Annotations[selectedNode], class.Provisioner)
		if err != nil {
			return err
		}
		if topology == nil {
			before := claim.DeepCopy()
			delete(claim.Annotations, selectedNode)
			if err := p.client.Patch(ctx, &claim, client.MergeFrom(before)); err != nil {
				return err
			}
			continue
		}
		volume := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "pvc-" + string(claim.UID)}, Spec: corev1.PersistentVolumeSpec{
			AccessModes: claim.Spec.AccessModes, Capacity: claim.Spec.Resources.Requests, StorageClassName: class.Name,
			ClaimRef: &corev1.ObjectReference{
				APIVersion: "v1", Kind: "PersistentVolumeClaim", Namespace: claim.Namespace, Name: claim.Name, UID: claim.UID,
			},
			PersistentVolumeSource: corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{Driver: class.Provisioner,
				VolumeHandle: string(claim.UID)}},
			NodeAffinity: &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{
				NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchExpressions: topology}},
			}},
		}}
		if err := p.client.Create(ctx, volume); client.IgnoreAlreadyExists(err) != nil {
			return err
		}
	}
	return nil
}

// topology is where a volume for a node can be used, nil if the driver is not registered there.
func (p *csiControllers) topology(ctx context.Context, name, driver string) ([]corev1.NodeSelectorRequirement, error) {
	csiNode, node := &storagev1.CSINode{}, &corev1.Node{}
	if err := p.client.Get(ctx, client.ObjectKey{Name: name}, csiNode); err != nil {
		return nil, err
	}
	if err := p.client.Get(ctx, client.ObjectKey{Name: name}, node); err != nil {
		return nil, err
	}
	i := slices.IndexFunc(csiNode.Spec.Drivers, func(d storagev1.CSINodeDriver) bool { return d.Name == driver })
	if i < 0 {
		return nil, nil
	}
	var requirements []corev1.NodeSelectorRequirement
	for _, key := range csiNode.Spec.Drivers[i].TopologyKeys {
		requirements = append(requirements,
			corev1.NodeSelectorRequirement{Key: key, Operator: corev1.NodeSelectorOpIn, Values: []string{node.Labels[key]}})
	}
	return requirements, nil
}

// attach attaches what shall be attached.
func (p *csiControllers) attach(ctx context.Context) error {
	attachments := &storagev1.VolumeAttachmentList{}
	if err := p.client.List(ctx, attachments); err != nil {
		return err
	}
	for _, attachment := range attachments.Items {
		if attachment.Status.Attached {
			continue
		}
		before := attachment.DeepCopy()
		attachment.Status.Attached = true
		if err := p.client.Status().Patch(ctx, &attachment, client.MergeFrom(before)); err != nil {
			return err
		}
	}
	return nil
}
