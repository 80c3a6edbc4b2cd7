// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
)

const (
	// provisioner is the name of the provisioner of local volumes.
	provisioner = v1alpha1.GroupName + "/local"
	// parameterPath is the provisioner's parameter with the folder of the volumes.
	parameterPath = "nodePath"
)

// controlPlaneValues are the values of the chart in the seed.
type controlPlaneValues struct {
	// Paths are the folders that volumes may be in.
	Paths []string `json:"paths"`
}

// shootValues are the values of the chart in the shoot.
type shootValues struct{}

// Storage implements platform.ControlPlane. Local volumes need no node service, so that there is no CSI driver.
func (controlPlane) Storage(sites []platform.ControlPlaneSite) (*platform.Storage, error) {
	var (
		classes []platform.StorageClass
		paths   []string
	)
	for _, s := range sites {
		if s.Site.Profile == nil {
			continue
		}
		for _, class := range s.Site.Profile.StorageClasses {
			if class.Metal == nil {
				return nil, platform.InSite(s.Site.Name, platform.NewError(platform.ClassConfiguration,
					"storage class %q has no metal block in the CloudProfile", class.Name))
			}
			path := cmp.Or(class.Metal.Path, v1alpha1.DefaultMetalVolumesPath)
			paths = append(paths, path)
			classes = append(classes, storageClass(s.Site.Name, &class, path))
		}
	}
	if len(classes) == 0 {
		return nil, nil
	}
	slices.Sort(paths)
	return &platform.Storage{
		ControlPlane: controlPlaneValues{Paths: slices.Compact(paths)},
		Shoot:        shootValues{},
		Classes:      classes,
	}, nil
}

func storageClass(site string, class *v1alpha1.StorageClass, path string) platform.StorageClass {
	result := platform.NewStorageClass(site, class, provisioner, map[string]string{parameterPath: path})
	result.AllowedTopologies = []corev1.TopologySelectorTerm{{
		MatchLabelExpressions: []corev1.TopologySelectorLabelRequirement{{Key: v1alpha1.LabelSite, Values: []string{site}}},
	}}
	return result
}
