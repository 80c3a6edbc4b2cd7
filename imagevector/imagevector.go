// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package imagevector says which images the extension deploys and is deployed with.
package imagevector

import (
	_ "embed"

	"github.com/gardener/gardener/pkg/utils/imagevector"
	"k8s.io/apimachinery/pkg/util/runtime"
)

const (
	// ImageNameExtension is the image of the extension.
	ImageNameExtension = "gardener-extension-provider-hybrid"
	// ImageNameMachineControllerManagerDriver is the image of the driver of machine-controller-manager.
	ImageNameMachineControllerManagerDriver = "machine-controller-manager-provider-hybrid"
	// ImageNameCloudControllerManager is the image of the cloud-controller-manager.
	ImageNameCloudControllerManager = "cloud-controller-manager-hybrid"
	// ImageNameVSphereCSIDriver is the image of the CSI driver for vSphere.
	ImageNameVSphereCSIDriver = "vsphere-csi-driver"
	// ImageNameVSphereCSISyncer is the image of what keeps the vCenters' view of volumes up to date.
	ImageNameVSphereCSISyncer = "vsphere-csi-syncer"
)

var (
	//go:embed images.yaml
	imagesYAML  string
	imageVector imagevector.ImageVector
)

func init() {
	var err error

	imageVector, _, err = imagevector.Read([]byte(imagesYAML))
	runtime.Must(err)
	imageVector, _, err = imagevector.WithEnvOverride(imageVector, nil, imagevector.OverrideEnv)
	runtime.Must(err)
}

// ImageVector returns the images, with what the file in $IMAGEVECTOR_OVERWRITE says instead.
func ImageVector() imagevector.ImageVector {
	return imageVector
}
