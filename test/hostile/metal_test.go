// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package hostile

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	metalclient "github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/metal/client"
)

const hostNamespace = "hosts"

func metalWorld(string) (peer, world, error) {
	return newKubePeer(), world{Credentials: map[string]string{"token": secretToken}}, nil
}

func (s *subject) inventory() v1alpha1.MetalInventory {
	if s.Protocol == ironCore {
		return v1alpha1.MetalInventoryIronCore
	}
	return v1alpha1.MetalInventoryMetal3
}

func metalSite(s *subject, profile *v1alpha1.CloudProfileSite, machineType *v1alpha1.SiteMachineType) {
	profile.Metal = &v1alpha1.MetalProfile{
		Inventory: s.inventory(), Server: "https://" +
			s.address, Namespace: hostNamespace, Cleaning: v1alpha1.MetalCleaningMetadata, NodeName: v1alpha1.MetalNodeNameMachine,
	}
	selector := &metav1.LabelSelector{MatchLabels: map[string]string{"rack": "r1"}}
	profile.Zones = []v1alpha1.SiteZone{{Name: "zone-a", Metal: &v1alpha1.MetalZone{HostSelector: selector}}}
	machineType.Metal = &v1alpha1.MetalMachineType{HostSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"size": "s"}}}
}

func metalController(s *subject, of *v1alpha1.CloudControllerSite) {
	of.Metal = &v1alpha1.MetalCloudController{
		Connection: metalclient.ConnectionOf(s.site().Profile),
		Zones: []v1alpha1.MetalCloudControllerZone{{Name: "zone-a",
			HostSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"rack": "r1"}}}},
	}
}
