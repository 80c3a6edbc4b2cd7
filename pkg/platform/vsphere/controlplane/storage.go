// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"errors"
	"slices"
	"strings"

	"github.com/gardener/gardener-extension-provider-hybrid/imagevector"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
)

const (
	// Driver is the name of the CSI driver and of its provisioner.
	Driver = "csi.vsphere.vmware.com"

	snapshotClass    = "vsphere"
	accessController = "csi-vsphere-controller"
)

// SeedValues are the values of the driver's chart in the seed.
type SeedValues struct {
	// Proxy is the proxy of the vCenters, nil if there is none.
	Proxy *ProxyValues `json:"proxy,omitempty"`
}

// ProxyValues are a proxy and who is reached without it.
type ProxyValues struct {
	// URL is the address of the proxy.
	URL string `json:"url"`
	// NoProxy are hosts, domains and CIDRs, divided by commas.
	NoProxy string `json:"noProxy"`
}

// ShootValues are the values of the driver's chart in the shoot.
type ShootValues struct {
	// Sites are the names of the sites whose nodes have the driver.
	Sites []string `json:"sites"`
}

// StorageChart implements platform.ControlPlane.
func (controlPlane) StorageChart() platform.SubChart {
	return platform.SubChart{
		Name: Chart,
		ControlPlaneImages: []string{
			imagevector.ImageNameVSphereCSIDriver,
			imagevector.ImageNameVSphereCSISyncer,
			imagevector.ImageNameCSIAttacher,
			imagevector.ImageNameCSIProvisioner,
			imagevector.ImageNameCSIResizer,
			imagevector.ImageNameCSISnapshotter,
			imagevector.ImageNameCSILivenessProbe,
		},
		ShootImages: []string{
			imagevector.ImageNameVSphereCSIDriver,
			imagevector.ImageNameCSINodeDriverRegistrar,
			imagevector.ImageNameCSILivenessProbe,
		},
		AccessSecrets: []string{accessController},
	}
}

// Storage implements platform.ControlPlane. All sites have volumes or none has; the error is that of all sites.
func (controlPlane) Storage(sites []platform.ControlPlaneSite) (*platform.Storage, error) {
	sites, err := withTopology(sites)
	if err != nil || len(sites) == 0 {
		return nil, err
	}
	vCenters, mistakes, err := vCentersOf(sites)
	if err != nil {
		return nil, err
	}
	if len(vCenters) == 0 {
		return nil, mistakes
	}
	files, err := filesOf(sites[0].Site, vCenters)
	if err != nil {
		return nil, err
	}
	result := &platform.Storage{
		CSIDriver:    Driver,
		Files:        files,
		ControlPlane: SeedValues{Proxy: proxyOf(vCenters)},
		SnapshotClasses: []platform.SnapshotClass{
			{Name: snapshotClass, Site: sites[0].Site.Name, Driver: Driver},
		},
	}
	shoot := ShootValues{}
	for _, s := range sites {
		shoot.Sites = append(shoot.Sites, s.Site.Name)
		classes, classesErr := classesOf(s)
		result.Classes = append(result.Classes, classes...)
		err = errors.Join(err, platform.InSite(s.Site.Name, classesErr))
	}
	if err != nil {
		return nil, err
	}
	result.Shoot = shoot
	return result, mistakes
}

func classesOf(s platform.ControlPlaneSite) ([]platform.StorageClass, error) {
	var (
		result []platform.StorageClass
		errs   []error
	)
	for _, class := range s.Site.Profile.StorageClasses {
		if class.VSphere == nil {
			errs = append(errs, mistake("storage class %q has no vsphere block", class.Name))
			continue
		}
		storageClass := platform.NewStorageClass(s.Site.Name, &class, Driver, map[string]string{"storagepolicyname": class.VSphere.StoragePolicy})
		storageClass.AllowVolumeExpansion = true
		storageClass.AllowedTopologies = allowedTopologies(s.Site.Profile)
		result = append(result, storageClass)
	}
	return result, errors.Join(errs...)
}

// proxyOf returns the proxy of the vCenters. The API server of the shoot and vCenters without a proxy are reached directly.
func proxyOf(vCenters []vCenter) *ProxyValues {
	var (
		proxy  string
		direct = []string{"localhost", "127.0.0.1", "kube-apiserver", ".svc", ".svc.cluster.local"}
	)
	for _, v := range vCenters {
		if v.proxy.URL == "" {
			direct = append(direct, v.host)
			continue
		}
		proxy = v.proxy.URL
		direct = append(direct, v.proxy.NoProxy...)
	}
	if proxy == "" {
		return nil
	}
	slices.Sort(direct)
	return &ProxyValues{URL: proxy, NoProxy: strings.Join(slices.Compact(direct), ",")}
}
