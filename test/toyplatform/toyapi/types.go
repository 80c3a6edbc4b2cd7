// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package toyapi

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// Profile describes a toy site in the CloudProfile.
type Profile struct {
	metav1.TypeMeta `json:"-"`

	// Connection is how the site is reached.
	Connection `json:",inline"`
}

// Endpoint returns the address of the site.
func (p *Profile) Endpoint() string { return p.Address }

// Scope returns the place.
func (p *Profile) Scope() map[string]string { return map[string]string{"toy.place": p.Place} }

// Connection is how a toy site is reached.
type Connection struct {
	// Address is the address of the site's API.
	Address string `json:"address"`
	// Place is where machines are; a site that has several lists each by itself. Default: floor.
	// +optional
	Place string `json:"place,omitempty"`
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// Zone is a zone of a toy site.
type Zone struct {
	metav1.TypeMeta `json:"-"`

	// Shelf is the platform's own name of the zone.
	Shelf string `json:"shelf"`
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// StorageClass is a class of volumes of a toy site.
type StorageClass struct {
	metav1.TypeMeta `json:"-"`

	// Medium is Memory or Paper. Default: Memory.
	// +optional
	Medium string `json:"medium,omitempty"`
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// MachineType is a machine type on a toy site.
type MachineType struct {
	metav1.TypeMeta `json:"-"`

	// Model is the platform's own name of the machine type.
	// +optional
	Model string `json:"model,omitempty"`
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// Image is a machine image on a toy site.
type Image struct {
	metav1.TypeMeta `json:"-"`

	// URL is the address of the image.
	URL string `json:"url"`
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// Infrastructure configures a toy site of a shoot.
type Infrastructure struct {
	metav1.TypeMeta `json:"-"`

	// Colour is the colour of the shoot's machines. It is immutable.
	// +optional
	Colour string `json:"colour,omitempty"`
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// Worker configures a pool at a toy site.
type Worker struct {
	metav1.TypeMeta `json:"-"`

	// Group is the policy of the group that the pool's machines are in: Together or Apart. Default: they are in none.
	// +optional
	Group string `json:"group,omitempty"`
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// Status is the observed state of the infrastructure of a toy site.
type Status struct {
	metav1.TypeMeta `json:"-"`

	// Network is the ID of the node network.
	Network string `json:"network"`
	// MTU is the MTU of the node network in bytes.
	// +optional
	MTU int32 `json:"mtu,omitempty"`
}

// DiscoveredMTU returns the MTU of the node network in bytes.
func (s *Status) DiscoveredMTU() int32 { return s.MTU }

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// State is the state of a toy site.
type State struct {
	metav1.TypeMeta `json:"-"`

	// Connection is how the site is reached, even after it was removed from the CloudProfile.
	Connection Connection `json:"connection"`
}

// Scope returns the place.
func (s *State) Scope() map[string]string { return map[string]string{"toy.place": s.Connection.Place} }

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// MachineSpec is everything that the driver needs to create a machine.
type MachineSpec struct {
	metav1.TypeMeta `json:"-"`

	// Connection is how the site is reached.
	Connection Connection `json:"connection"`
	// Image is the address of the image.
	Image string `json:"image"`
	// Model is the platform's own name of the machine type.
	// +optional
	Model string `json:"model,omitempty"`
	// Group is the name of the group that the machine is in, empty if it is in none.
	// +optional
	Group string `json:"group,omitempty"`
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// CloudController is a toy site for the cloud-controller-manager.
type CloudController struct {
	metav1.TypeMeta `json:"-"`

	// Zones are the names of the Gardener zones.
	Zones []string `json:"zones"`
}

// HasZones reports whether the site has at least one zone.
func (c *CloudController) HasZones() bool { return len(c.Zones) > 0 }
