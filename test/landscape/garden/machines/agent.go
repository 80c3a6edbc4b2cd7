// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package machines

import (
	"context"
	"time"

	nodeagentconfigv1alpha1 "github.com/gardener/gardener/pkg/apis/config/nodeagent/v1alpha1"
	v1beta1constants "github.com/gardener/gardener/pkg/apis/core/v1beta1/constants"
	gardenerutils "github.com/gardener/gardener/pkg/utils/gardener"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	leasePeriod  = 10 * time.Second
	leaseSeconds = 40
)

// report writes what only the system of a machine knows: versions, and that all systemd units run.
func (m *Machines) report(ctx context.Context, object *corev1.Node) error {
	if object.Status.NodeInfo.KubeletVersion == m.Version {
		return nil
	}
	before, now := object.DeepCopy(), metav1.Now()
	info := &object.Status.NodeInfo
	info.KubeletVersion, info.ContainerRuntimeVersion = m.Version, "containerd://2.1.0"
	info.OperatingSystem, info.Architecture, info.OSImage = "linux", "amd64", "Garden Linux"
	object.Status.DaemonEndpoints.KubeletEndpoint.Port = KubeletPort
	object.Status.Conditions = append(object.Status.Conditions, corev1.NodeCondition{
		Type: nodeagentconfigv1alpha1.ConditionTypeSystemdUnitsReady, Status: corev1.ConditionTrue, Reason: "SystemdUnitsRunning",
		Message:           "All systemd units run",
		LastHeartbeatTime: now, LastTransitionTime: now,
	})
	return m.Shoot.Status().Patch(ctx, object, client.StrategicMergeFrom(before))
}

// checksums are those of the operating system configs by the names of their Secrets.
func (m *Machines) checksums(ctx context.Context) (map[string]string, error) {
	list := &corev1.SecretList{}
	if err := m.Shoot.List(ctx, list, client.InNamespace(metav1.NamespaceSystem),
		client.MatchingLabels{v1beta1constants.GardenRole: v1beta1constants.GardenRoleOperatingSystemConfig}); err != nil {
		return nil, err
	}
	result := map[string]string{}
	for _, secret := range list.Items {
		result[secret.Name] = secret.Annotations[nodeagentconfigv1alpha1.AnnotationKeyChecksumDownloadedOperatingSystemConfig]
	}
	return result, nil
}

// applySystemConfig reports that the operating system config of the node was applied.
func (m *Machines) applySystemConfig(ctx context.Context, object *corev1.Node, checksums map[string]string) error {
	checksum := checksums[object.Labels[v1beta1constants.LabelWorkerPoolGardenerNodeAgentSecretName]]
	if checksum == "" || object.Annotations[nodeagentconfigv1alpha1.AnnotationKeyChecksumAppliedOperatingSystemConfig] == checksum {
		return nil
	}
	before := object.DeepCopy()
	metav1.SetMetaDataAnnotation(&object.ObjectMeta, nodeagentconfigv1alpha1.AnnotationKeyChecksumAppliedOperatingSystemConfig, checksum)
	return m.Shoot.Patch(ctx, object, client.MergeFrom(before))
}

// renewLeases renews the leases of the kubelet and of gardener-node-agent.
func (m *Machines) renewLeases(ctx context.Context, n *node, object *corev1.Node) error {
	if time.Since(n.beat) < leasePeriod {
		return nil
	}
	for _, key := range []client.ObjectKey{
		{Namespace: corev1.NamespaceNodeLease, Name: object.Name},
		{Namespace: metav1.NamespaceSystem, Name: gardenerutils.NodeLeasePrefix + object.Name},
	} {
		if err := m.renewLease(ctx, key, object); err != nil {
			return err
		}
	}
	n.beat = time.Now()
	return nil
}

func (m *Machines) renewLease(ctx context.Context, key client.ObjectKey, object *corev1.Node) error {
	lease := &coordinationv1.Lease{}
	err := m.Shoot.Get(ctx, key, lease)
	if err != nil && !apierrors.IsNotFound(err) {
		return err
	}
	lease.Spec = coordinationv1.LeaseSpec{HolderIdentity: &object.Name, LeaseDurationSeconds: new(int32(leaseSeconds)),
		RenewTime: new(metav1.NowMicro())}
	if err == nil {
		return m.Shoot.Update(ctx, lease)
	}
	lease.ObjectMeta = metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name, OwnerReferences: []metav1.OwnerReference{
		{APIVersion: "v1", Kind: "Node", Name: object.Name, UID: object.UID},
	}}
	return m.Shoot.Create(ctx, lease)
}
