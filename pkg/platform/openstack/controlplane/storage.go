// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"cmp"
	"errors"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/lists"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/client"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/topology"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
)

const (
	// driver is the name of the CSI driver.
	driver = "cinder.csi.openstack.org"
	// configFile is the name of the file with the configuration of the driver.
	configFile = "cloud.conf"
)

// controlPlaneValues are the values of the chart in the seed.
type controlPlaneValues struct {
	// Cluster is the technical ID of the shoot. Volumes, snapshots and their names are marked with it.
	Cluster string `json:"cluster"`
}

// shootValues are the values of the chart in the shoot.
type shootValues struct {
	// Sites are the sites with nodes.
	Sites []siteValues `json:"sites"`
}

// siteValues are the values of a site.
type siteValues struct {
	// Name is the name of the site.
	Name string `json:"name"`
	// Secret is the name of the Secret that identifies the site.
	Secret string `json:"secret"`
	// VolumeAttachLimit is the maximum number of volumes on a node, nil if there is none.
	VolumeAttachLimit *int32 `json:"volumeAttachLimit,omitempty"`
}

// Storage implements platform.ControlPlane.
func (controlPlane) Storage(sites []platform.ControlPlaneSite) (*platform.Storage, error) {
	errs := lists.Map(sites, func(s platform.ControlPlaneSite) error { return platform.InSite(s.Site.Name, checkStorage(s.Site)) })
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	sorted := slices.Clone(sites)
	// The order of the sites in the Shoot must not matter.
	slices.SortFunc(sorted, func(a, b platform.ControlPlaneSite) int { return cmp.Compare(a.Site.Name, b.Site.Name) })

	config, mistakes, err := cloudConf(sorted)
	if err != nil {
		return nil, err
	}
	var (
		shoot   shootValues
		cluster string
		storage = &platform.Storage{CSIDriver: driver, Files: map[string]string{configFile: config}}
	)
	for i := range sorted {
		s := sorted[i].Site
		cluster = s.Shoot
		shoot.Sites = append(shoot.Sites, siteValues{Name: s.Name, Secret: secretName(s.Name),
			VolumeAttachLimit: s.Profile.OpenStack.NodeVolumeAttachLimit})
		storage.Classes = append(storage.Classes, storageClasses(s)...)
		storage.SnapshotClasses = append(storage.SnapshotClasses, snapshotClass(s.Name))
	}
	storage.ControlPlane, storage.Shoot = controlPlaneValues{Cluster: cluster}, shoot
	storage.Further = shareStorage(sorted)
	return storage, mistakes
}

func checkStorage(s *site.Site) error {
	if s.Profile == nil || s.Profile.OpenStack == nil {
		return client.ErrNoProfile
	}
	for _, zone := range s.Profile.Zones {
		if zone.OpenStack == nil {
			return platform.NewError(platform.ClassConfiguration, "zone %q has no openstack block in the CloudProfile", zone.Name)
		}
	}
	for _, class := range s.Profile.StorageClasses {
		if class.OpenStack == nil {
			return platform.NewError(platform.ClassConfiguration, "storage class %q has no openstack block in the CloudProfile", class.Name)
		}
	}
	return nil
}

// secretName is the name of the Secret in the shoot that identifies the site. It holds no credentials.
func secretName(siteName string) string {
	return chartName + "-" + siteName
}

// secretParameters pass the site's Secret to operations of the driver, which thereby learns the site of a call.
func secretParameters(siteName string, operations ...string) map[string]string {
	parameters := map[string]string{}
	for _, operation := range operations {
		parameters["csi.storage.k8s.io/"+operation+"-secret-name"] = secretName(siteName)
		parameters["csi.storage.k8s.io/"+operation+"-secret-namespace"] = metav1.NamespaceSystem
	}
	return parameters
}

func storageClasses(s *site.Site) []platform.StorageClass {
	marked := slices.IndexFunc(s.Profile.StorageClasses, func(class v1alpha1.StorageClass) bool { return class.Default })
	var classes []platform.StorageClass
	for i, class := range s.Profile.StorageClasses {
		parameters := secretParameters(s.Name, "provisioner", "controller-publish", "controller-expand")
		if class.OpenStack.Type != "" {
			parameters["type"] = class.OpenStack.Type
		}
		if class.OpenStack.AvailabilityZone != "" {
			parameters["availability"] = class.OpenStack.AvailabilityZone
		}
		result := platform.NewStorageClass(s.Name, &class, driver, parameters)
		result.SiteDefault = i == max(marked, 0)
		result.AllowVolumeExpansion = true
		result.AllowedTopologies = allowedTopologies(s)
		classes = append(classes, result)
	}
	return classes
}

// allowedTopologies selects the nodes of the site. Another site may have availability zones of the same names.
func allowedTopologies(s *site.Site) []corev1.TopologySelectorTerm {
	zones := lists.Map(s.Profile.Zones, func(zone v1alpha1.SiteZone) string { return zone.OpenStack.AvailabilityZone })
	slices.Sort(zones)
	return []corev1.TopologySelectorTerm{{MatchLabelExpressions: []corev1.TopologySelectorLabelRequirement{
		{Key: v1alpha1.LabelSite, Values: []string{s.Name}},
		{Key: topology.ZoneKey, Values: slices.Compact(zones)},
	}}}
}

// snapshotClass returns the class for snapshots of a site's volumes.
func snapshotClass(siteName string) platform.SnapshotClass {
	parameters := secretParameters(siteName, "snapshotter", "snapshotter-list")
	// Cinder refuses snapshots of attached volumes otherwise.
	parameters["force-create"] = "true"
	return platform.SnapshotClass{Name: "cinder-" + siteName, Site: siteName, Driver: driver, Parameters: parameters}
}
