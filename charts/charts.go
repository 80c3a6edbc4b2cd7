// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package charts has the charts that the extension deploys for shoots.
package charts

import (
	"embed"
)

// Internal are the charts below the folder internal.
//
//go:embed all:internal
var Internal embed.FS

const (
	// InternalPath is the folder of the charts in Internal.
	InternalPath = "internal"
	// CloudProviderConfig is the name of the chart with the configuration of what runs in the control plane.
	CloudProviderConfig = "cloud-provider-config"
	// SeedControlPlane is the name of the chart of what runs in the control plane.
	SeedControlPlane = "seed-controlplane"
	// ShootSystemComponents is the name of the chart of what runs in a shoot.
	ShootSystemComponents = "shoot-system-components"
	// ShootCRDs is the name of the chart of custom resource definitions.
	ShootCRDs = "shoot-crds"
	// ShootStorageClasses is the name of the chart of storage classes and volume snapshot classes.
	ShootStorageClasses = "shoot-storageclasses"
	// LabelStorageConfig is the label of the Secrets of the chart cloud-provider-config.
	LabelStorageConfig = "hybrid.provider.extensions.gardener.cloud/storage-config"
)
