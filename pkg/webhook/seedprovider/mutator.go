// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package seedprovider

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	druidcorev1alpha1 "github.com/gardener/etcd-druid/api/core/v1alpha1"
	extensionscontroller "github.com/gardener/gardener/extensions/pkg/controller"
	extensionswebhook "github.com/gardener/gardener/extensions/pkg/webhook"
	v1beta1constants "github.com/gardener/gardener/pkg/apis/core/v1beta1/constants"
	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	resourcesv1alpha1 "github.com/gardener/gardener/pkg/apis/resources/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/codec"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/helper"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/lists"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
)

// roles are those of the Etcds of a shoot.
var roles = map[string]v1alpha1.EtcdRole{
	v1beta1constants.ETCDMain:   v1alpha1.EtcdRoleMain,
	v1beta1constants.ETCDEvents: v1alpha1.EtcdRoleEvents,
}

// maxMembers is more members than an etcd has.
const maxMembers = 100

type mutator struct {
	cache, api client.Reader
}

// NewMutator returns a mutator of PersistentVolumeClaims of etcds. Clusters are read from cache; namespaces and other claims from api,
// because they are written immediately before.
func NewMutator(cache, api client.Reader) extensionswebhook.Mutator {
	return &mutator{cache: cache, api: api}
}

// Mutate sets the storage class and the capacity of a new claim. A claim that exists is not changed.
func (m *mutator) Mutate(ctx context.Context, newObj, oldObj client.Object) error {
	claim, ok := newObj.(*corev1.PersistentVolumeClaim)
	if !ok {
		return fmt.Errorf("expected a PersistentVolumeClaim, got %T", newObj)
	}
	role, isEtcd := roles[claim.Labels[druidcorev1alpha1.LabelPartOfKey]]
	ordinal, isMember := ordinalOf(claim)
	if oldObj != nil || claim.DeletionTimestamp != nil || !isEtcd || !isMember {
		return nil
	}
	volumes, err := m.volumes(ctx, claim.Namespace, role)
	if err != nil || len(volumes) == 0 {
		return err
	}
	zones, err := m.zones(ctx, claim.Namespace)
	if err != nil {
		return err
	}
	members, err := m.members(ctx, claim)
	if err != nil {
		return err
	}
	volume := volumeOf(ordinal, members, volumesIn(zones, volumes, role))
	if volume.StorageClassName != "" {
		claim.Spec.StorageClassName = &volume.StorageClassName
	}
	if volume.Capacity != nil {
		if claim.Spec.Resources.Requests == nil {
			claim.Spec.Resources.Requests = corev1.ResourceList{}
		}
		claim.Spec.Resources.Requests[corev1.ResourceStorage] = *volume.Capacity
	}
	return nil
}

// volumes returns the volumes of the role that the Seed configures.
func (m *mutator) volumes(ctx context.Context, namespace string, role v1alpha1.EtcdRole) ([]v1alpha1.EtcdVolume, error) {
	cluster := &extensionsv1alpha1.Cluster{}
	if err := m.cache.Get(ctx, client.ObjectKey{Name: namespace}, cluster); err != nil {
		return nil, fmt.Errorf("could not read Cluster %s: %w", namespace, err)
	}
	seed, err := extensionscontroller.SeedFromCluster(cluster)
	if err != nil {
		return nil, fmt.Errorf("could not read the Seed of Cluster %s: %w", namespace, err)
	}
	if seed == nil || seed.Spec.Provider.ProviderConfig == nil {
		return nil, nil
	}
	config, err := codec.Decode[v1alpha1.SeedConfig](seed.Spec.Provider.ProviderConfig)
	if err != nil {
		return nil, fmt.Errorf("could not read spec.provider.providerConfig of Seed %s: %w", seed.Name, err)
	}
	return slices.DeleteFunc(config.EtcdVolumes, func(v v1alpha1.EtcdVolume) bool {
		return len(v.Roles) > 0 && !slices.Contains(v.Roles, role)
	}), nil
}

// zones returns those of the control plane in the namespace, one empty name if the Seed has none.
func (m *mutator) zones(ctx context.Context, namespace string) ([]string, error) {
	object := &corev1.Namespace{}
	if err := m.api.Get(ctx, client.ObjectKey{Name: namespace}, object); err != nil {
		return nil, fmt.Errorf("could not read the zones of namespace %s: %w", namespace, err)
	}
	return strings.Split(object.Annotations[resourcesv1alpha1.HighAvailabilityConfigZones], ","), nil
}

// members returns the storage classes of the other members by their ordinals.
func (m *mutator) members(ctx context.Context, claim *corev1.PersistentVolumeClaim) (map[int]string, error) {
	claims := &corev1.PersistentVolumeClaimList{}
	if err := m.api.List(ctx, claims, client.InNamespace(claim.Namespace), client.MatchingLabels{
		druidcorev1alpha1.LabelManagedByKey: druidcorev1alpha1.LabelManagedByValue,
		druidcorev1alpha1.LabelPartOfKey:    claim.Labels[druidcorev1alpha1.LabelPartOfKey],
	}); err != nil {
		return nil, fmt.Errorf("could not read the volumes of the other members: %w", err)
	}
	members := map[int]string{}
	for i := range claims.Items {
		if ordinal, ok := ordinalOf(&claims.Items[i]); ok && claims.Items[i].Name != claim.Name {
			members[ordinal] = ptr.Deref(claims.Items[i].Spec.StorageClassName, "")
		}
	}
	return members, nil
}

// ordinalOf returns the number at the end of the claim's name, which is that of the pod.
func ordinalOf(claim *corev1.PersistentVolumeClaim) (int, bool) {
	ordinal, err := strconv.Atoi(claim.Name[strings.LastIndex(claim.Name, "-")+1:])
	return ordinal, err == nil && ordinal >= 0 && ordinal < maxMembers
}

// volumesIn returns the volume of each zone, an empty one if it has none.
func volumesIn(zones []string, volumes []v1alpha1.EtcdVolume, role v1alpha1.EtcdRole) []v1alpha1.EtcdVolume {
	return lists.Map(zones, func(zone string) v1alpha1.EtcdVolume {
		return ptr.Deref(helper.FindEtcdVolume(volumes, zone, role), v1alpha1.EtcdVolume{})
	})
}

// volumeOf returns the volume of a member. A storage class binds its member to the zones of the class, so each zone must have its share of
// the members. The other members have theirs; of what remains, members without a volume get the first in the order of their ordinals.
// They get the same if all are created concurrently.
func volumeOf(ordinal int, members map[int]string, zones []v1alpha1.EtcdVolume) v1alpha1.EtcdVolume {
	highest, before := ordinal, ordinal
	for other := range members {
		highest = max(highest, other)
	}
	var remaining []v1alpha1.EtcdVolume
	for len(remaining) <= highest {
		remaining = append(remaining, zones...)
	}
	for other, class := range members {
		i := slices.IndexFunc(remaining, func(v v1alpha1.EtcdVolume) bool { return v.StorageClassName == class })
		if i < 0 {
			continue
		}
		remaining = slices.Delete(remaining, i, i+1)
		if other < ordinal {
			before--
		}
	}
	return remaining[before]
}
