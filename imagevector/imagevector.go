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
	// ImageNameCinderCSIPlugin is the image of the CSI driver for Cinder.
	ImageNameCinderCSIPlugin = "cinder-csi-plugin-hybrid"
	// ImageNameManilaCSIPlugin is the image of the CSI driver for Manila.
	ImageNameManilaCSIPlugin = "manila-csi-plugin-hybrid"
	// ImageNameNFSCSIPlugin is the image of the CSI driver that mounts NFS shares on nodes.
	ImageNameNFSCSIPlugin = "nfs-csi-plugin"
	// ImageNameCSIProvisioner is the image of the sidecar that makes and deletes volumes.
	ImageNameCSIProvisioner = "csi-provisioner"
	// ImageNameCSIAttacher is the image of the sidecar that attaches volumes.
	ImageNameCSIAttacher = "csi-attacher"
	// ImageNameCSIResizer is the image of the sidecar that lets volumes grow.
	ImageNameCSIResizer = "csi-resizer"
	// ImageNameCSISnapshotter is the image of the sidecar that makes and deletes snapshots.
	ImageNameCSISnapshotter = "csi-snapshotter"
	// ImageNameCSISnapshotController is the image of the controller of volume snapshots.
	ImageNameCSISnapshotController = "csi-snapshot-controller"
	// ImageNameCSINodeDriverRegistrar is the image of the sidecar that registers CSI drivers at the kubelet.
	ImageNameCSINodeDriverRegistrar = "csi-node-driver-registrar"
	// ImageNameCSILivenessProbe is the image of the sidecar that asks whether a CSI driver answers.
	ImageNameCSILivenessProbe = "csi-liveness-probe"
	// ImageNameLocalPathProvisioner is the image of what makes volumes on the disks of hosts.
	ImageNameLocalPathProvisioner = "local-path-provisioner"
	// ImageNameLocalPathHelper is the image of the pods that make and remove the folders on the hosts.
	ImageNameLocalPathHelper = "local-path-helper"
	// ImageNameMetalLBController is the image of MetalLB's controller, which gives addresses to Services.
	ImageNameMetalLBController = "metallb-controller"
	// ImageNameMetalLBSpeaker is the image of what announces the addresses of Services.
	ImageNameMetalLBSpeaker = "metallb-speaker"
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
