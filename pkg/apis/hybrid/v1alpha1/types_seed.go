// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// SeedConfig is the provider configuration of a Seed.
type SeedConfig struct {
	metav1.TypeMeta `json:",inline"`
	// EtcdVolumes are the volumes of the etcds in the seed. A member of an etcd gets the first that has its zone and its role. Without one,
	// its volume has the default storage class and the capacity that gardenlet requests.
	// +optional
	EtcdVolumes []EtcdVolume `json:"etcdVolumes,omitempty"`
}

// EtcdRole is what an etcd of a shoot stores.
type EtcdRole string

const (
	// EtcdRoleMain is the etcd of all objects but events.
	EtcdRoleMain EtcdRole = "main"
	// EtcdRoleEvents is the etcd of events.
	EtcdRoleEvents EtcdRole = "events"
)

// EtcdVolume is the volume of a member of an etcd. At least one of storageClassName and capacity must be set.
type EtcdVolume struct {
	// Zones are zones of the Seed. Default: all.
	// +optional
	Zones []string `json:"zones,omitempty"`
	// Roles are main and events. Default: both.
	// +optional
	Roles []EtcdRole `json:"roles,omitempty"`
	// StorageClassName is the name of a storage class in the seed that has volumes in all of the zones. Default: the default class.
	// +optional
	StorageClassName string `json:"storageClassName,omitempty"`
	// Capacity is the size of the volume. Default: what gardenlet requests.
	// +optional
	Capacity *resource.Quantity `json:"capacity,omitempty"`
}
