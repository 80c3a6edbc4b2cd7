// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package owner says how objects in the inventory of a bare-metal site are named and marked, and so which ones are ours.
package owner

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
)

const (
	// LabelShoot is the label of claimed hosts, server claims, Secrets and address claims with the technical ID of the shoot.
	LabelShoot = v1alpha1.GroupName + "/shoot"
	// LabelSite is the label of the same objects with the name of the site.
	LabelSite = v1alpha1.LabelSite
	// LabelMachine is the label of the same objects with the name of the machine.
	LabelMachine = v1alpha1.GroupName + "/machine"
	// AnnotationNode is the annotation of claimed hosts and server claims with the name of the machine's node.
	AnnotationNode = v1alpha1.GroupName + "/node"
	// AnnotationNetworkData is the annotation of claimed hosts with the namespace and name of the Secret that they had as network data
	// before.
	AnnotationNetworkData = v1alpha1.GroupName + "/network-data"

	machineAPIVersion = "machine.sapcloud.io/v1alpha1"
	machineKind       = "Machine"
)

// Owner is the shoot and site that objects are made for.
type Owner struct {
	// Shoot is the technical ID of the shoot, which is the namespace of its machines in the seed, too.
	Shoot string
	// Site is the name of the site.
	Site string
}

// Of returns the owner that the labels say.
func Of(labels map[string]string) Owner {
	return Owner{Shoot: labels[LabelShoot], Site: labels[LabelSite]}
}

// OnSite selects everything that the shoots have on the site.
func OnSite(site string, shoots []string) (client.MatchingLabelsSelector, error) {
	ofShoots, err := labels.NewRequirement(LabelShoot, selection.In, shoots)
	if err != nil {
		return client.MatchingLabelsSelector{}, platform.NewError(platform.ClassConfiguration, "%w", err)
	}
	return client.MatchingLabelsSelector{Selector: labels.SelectorFromSet(labels.Set{LabelSite: site}).Add(*ofShoots)}, nil
}

// Labels mark everything that the shoot has on the site.
func (o Owner) Labels() map[string]string {
	return map[string]string{LabelShoot: o.Shoot, LabelSite: o.Site}
}

// MachineLabels mark what belongs to a machine.
func (o Owner) MachineLabels(machine string) map[string]string {
	return map[string]string{LabelShoot: o.Shoot, LabelSite: o.Site, LabelMachine: machine}
}

// Owns reports whether an object with the labels is ours.
func (o Owner) Owns(labels map[string]string) bool {
	return labels[LabelShoot] == o.Shoot && labels[LabelSite] == o.Site
}

// OwnsMachine reports whether an object with the labels belongs to the machine.
func (o Owner) OwnsMachine(labels map[string]string, machine string) bool {
	return o.Owns(labels) && labels[LabelMachine] == machine
}

// Reference is how an object names the machine that uses it, such as a BareMetalHost in its consumerRef.
func (o Owner) Reference(machine string) corev1.ObjectReference {
	return corev1.ObjectReference{APIVersion: machineAPIVersion, Kind: machineKind, Namespace: o.Shoot, Name: machine}
}

// IsReference reports whether an object names the machine as its user. The API server of the inventory need not know machines, so
// that a UID cannot be compared.
func (o Owner) IsReference(ref *corev1.ObjectReference, machine string) bool {
	return ref != nil && ref.Kind == machineKind && ref.Namespace == o.Shoot && ref.Name == machine
}
