// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"context"
	"slices"
	"strings"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	v1beta1constants "github.com/gardener/gardener/pkg/apis/core/v1beta1/constants"
	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Available is the name of a shoot with a control plane that is highly available.
const Available = "available"

// Elected are the Deployments in the control plane of a shoot with processes of ours or beside ours that elect leaders, with their Leases:
// those in the shoot, and those of machine-controller-manager in the seed.
var Elected = map[string][]string{
	"cloud-controller-manager":                              {"cloud-controller-manager"},
	"csi-cinder-controller":                                 {"cinder-csi-openstack-org", "external-attacher-leader-cinder-csi-openstack-org"},
	"csi-snapshot-controller":                               {"snapshot-controller-leader"},
	v1beta1constants.DeploymentNameMachineControllerManager: {"machine-controller", "machine-controller-manager"},
}

// Available is a shoot whose control plane tolerates the loss of a node. Its tunnel is in a pod of its own: that of kube-apiserver has no
// player for it.
func (s *Shoot) Available(sites ...string) (*gardencorev1beta1.Shoot, error) {
	shoot, err := s.Object(sites...)
	if err != nil {
		return nil, err
	}
	metav1.SetMetaDataAnnotation(&shoot.ObjectMeta, v1beta1constants.ShootAlphaControlPlaneHAVPN, "false")
	shoot.Spec.ControlPlane = &gardencorev1beta1.ControlPlane{HighAvailability: &gardencorev1beta1.HighAvailability{
		FailureTolerance: gardencorev1beta1.FailureTolerance{Type: gardencorev1beta1.FailureToleranceTypeNode}}}
	return shoot, nil
}

// Replicas are the numbers of replicas of the Deployments of the control plane, by their names.
func (s *Shoot) Replicas(ctx context.Context) (map[string]int32, error) {
	list := &appsv1.DeploymentList{}
	if err := s.seed.Client.List(ctx, list, client.InNamespace(s.TechnicalID())); err != nil {
		return nil, err
	}
	result := map[string]int32{}
	for _, d := range list.Items {
		result[d.Name] = min(*d.Spec.Replicas, d.Status.ReadyReplicas)
	}
	return result, nil
}

// Leaders are the pods of a Deployment that have its Leases, by the names of the Leases.
func (s *Shoot) Leaders(ctx context.Context, deployment string) (map[string]string, error) {
	pods := &corev1.PodList{}
	if err := s.seed.Client.List(ctx, pods, client.InNamespace(s.TechnicalID())); err != nil {
		return nil, err
	}
	result := map[string]string{}
	for _, in := range []struct {
		client    client.Client
		namespace string
	}{{s.seed.Client, s.TechnicalID()}, {s.seed.ShootClient(s.TechnicalID()), metav1.NamespaceSystem}} {
		leases := &coordinationv1.LeaseList{}
		if err := in.client.List(ctx, leases, client.InNamespace(in.namespace)); err != nil {
			return nil, err
		}
		for _, lease := range leases.Items {
			if !slices.Contains(Elected[deployment], lease.Name) || lease.Spec.HolderIdentity == nil {
				continue
			}
			for _, pod := range pods.Items {
				if strings.HasPrefix(pod.Name, deployment+"-") && strings.HasPrefix(*lease.Spec.HolderIdentity, pod.Name) {
					result[lease.Name] = pod.Name
				}
			}
		}
	}
	return result, nil
}

// Lose deletes a pod of the control plane at once. It is a no-op if the pod is gone, as after the loss of another one of its Leases.
func (s *Shoot) Lose(ctx context.Context, pod string) error {
	object := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: s.TechnicalID(), Name: pod}}
	return client.IgnoreNotFound(s.seed.Client.Delete(ctx, object, client.GracePeriodSeconds(0)))
}
