// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
)

const (
	// shareDriver is the name of the CSI driver for shares.
	shareDriver = "nfs.manila.csi.openstack.org"
	// sharesChartName is the name of the charts of the driver for shares.
	sharesChartName = "csi-manila"
	// sharesServiceAccount is the identity of the driver's Deployment in the shoot.
	sharesServiceAccount = "csi-manila-controller"
)

// shareStorage returns the driver for the shares of the sites, nil if no site has shares. Its configuration is that of the driver for
// volumes, as are the Secrets that identify the sites.
func shareStorage(sites []platform.ControlPlaneSite) *platform.Storage {
	var (
		values  shootValues
		storage = &platform.Storage{CSIDriver: shareDriver}
	)
	for i := range sites {
		s := &sites[i]
		if !s.Settings.HasShares() {
			continue
		}
		storage.ControlPlane = controlPlaneValues{Cluster: s.Site.Shoot}
		values.Sites = append(values.Sites, siteValues{Name: s.Site.Name, Secret: secretName(s.Site.Name)})
		storage.Classes = append(storage.Classes, shareClass(s))
	}
	if len(values.Sites) == 0 {
		return nil
	}
	storage.Shoot = values
	return storage
}

// shareClass returns the storage class for shares of the site. The node service of csi-driver-nfs reports no topology, without which
// csi-provisioner makes no volume for a node. So volumes are bound at once, which is as good: the class determines the site.
func shareClass(s *platform.ControlPlaneSite) platform.StorageClass {
	parameters := secretParameters(s.Site.Name, "provisioner", "controller-expand")
	if shareType := s.Settings.Storage.CSIManila.ShareType; shareType != "" {
		parameters["type"] = shareType
	}
	return platform.StorageClass{
		Name:                 v1alpha1.ShareClass(s.Site.Name),
		Site:                 s.Site.Name,
		NeverDefault:         true,
		Provisioner:          shareDriver,
		Parameters:           parameters,
		ReclaimPolicy:        corev1.PersistentVolumeReclaimDelete,
		VolumeBindingMode:    storagev1.VolumeBindingImmediate,
		AllowVolumeExpansion: true,
		AllowedTopologies: []corev1.TopologySelectorTerm{{MatchLabelExpressions: []corev1.TopologySelectorLabelRequirement{
			{Key: v1alpha1.LabelSite, Values: []string{s.Site.Name}},
		}}},
	}
}

// shareEntries are the entries of the site's configuration for shares. The share network may not exist yet.
func shareEntries(s *platform.ControlPlaneSite) []entry {
	if s.Status == nil || s.Status.OpenStack == nil || s.Status.OpenStack.ShareNetworkID == "" {
		return nil
	}
	entries := []entry{{"share-network-id", s.Status.OpenStack.ShareNetworkID}}
	for _, nodes := range s.Site.Network.Nodes {
		entries = append(entries, entry{"share-client", nodes.String()})
	}
	return entries
}
