// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"slices"

	extensionssecretsmanager "github.com/gardener/gardener/extensions/pkg/util/secret/manager"
	"github.com/gardener/gardener/pkg/utils/chart"
	gardenerutils "github.com/gardener/gardener/pkg/utils/gardener"
	kubernetesutils "github.com/gardener/gardener/pkg/utils/kubernetes"
	secretsutils "github.com/gardener/gardener/pkg/utils/secrets"
	secretsmanager "github.com/gardener/gardener/pkg/utils/secrets/manager"

	"github.com/gardener/gardener-extension-provider-hybrid/charts"
	"github.com/gardener/gardener-extension-provider-hybrid/imagevector"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/lists"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/metallb"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
)

const (
	cloudControllerManager = "cloud-controller-manager"
	snapshotController     = "csi-snapshot-controller"
	metalLB                = metallb.ChartName

	caName         = "ca-" + v1alpha1.ExtensionName + "-controlplane"
	serverCertName = cloudControllerManager + "-server"
)

// secretConfigs are the configurations of the Secrets that the secrets manager generates and rotates.
func secretConfigs(namespace string) []extensionssecretsmanager.SecretConfigWithOptions {
	return []extensionssecretsmanager.SecretConfigWithOptions{
		{
			Config:  &secretsutils.CertificateSecretConfig{Name: caName, CommonName: caName, CertType: secretsutils.CACert},
			Options: []secretsmanager.GenerateOption{secretsmanager.Persist()},
		},
		{
			Config: &secretsutils.CertificateSecretConfig{
				Name:                        serverCertName,
				CommonName:                  cloudControllerManager,
				DNSNames:                    kubernetesutils.DNSNamesForService(cloudControllerManager, namespace),
				CertType:                    secretsutils.ServerCert,
				SkipPublishingCACertificate: true,
			},
			Options: []secretsmanager.GenerateOption{secretsmanager.SignedByCA(caName)},
		},
	}
}

// accessSecrets returns the Secrets with tokens for the shoot. They are the same for all shoots, because Gardener only deletes those that
// it is given.
func accessSecrets(platforms platform.Registry[platform.ControlPlane]) func(namespace string) []*gardenerutils.AccessSecret {
	names := []string{cloudControllerManager, snapshotController}
	for _, c := range storageCharts(platforms) {
		names = append(names, c.AccessSecrets...)
	}
	slices.Sort(names)
	names = slices.Compact(names)
	return func(namespace string) []*gardenerutils.AccessSecret {
		return lists.Map(names, func(name string) *gardenerutils.AccessSecret {
			return gardenerutils.NewShootAccessSecret(name, namespace)
		})
	}
}

// storageCharts returns the charts of the storage drivers of all platforms.
func storageCharts(platforms platform.Registry[platform.ControlPlane]) []platform.SubChart {
	var result []platform.SubChart
	for _, name := range platforms.Platforms() {
		c := platforms[name].StorageChart()
		if c.Name != "" {
			result = append(result, c)
		}
		if c.Further != nil {
			result = append(result, *c.Further)
		}
	}
	return result
}

// StorageDeployments returns the Deployments of the storage drivers in the seed.
func StorageDeployments(platforms platform.Registry[platform.ControlPlane]) []string {
	names := []string{snapshotController}
	for _, c := range storageCharts(platforms) {
		names = append(names, c.Name+"-controller")
	}
	return names
}

func controlPlaneChart(platforms platform.Registry[platform.ControlPlane]) *chart.Chart {
	c := newChart(charts.SeedControlPlane,
		subChart(cloudControllerManager, imagevector.ImageNameCloudControllerManager),
		subChart(snapshotController, imagevector.ImageNameCSISnapshotController))
	for _, s := range storageCharts(platforms) {
		c.SubCharts = append(c.SubCharts, subChart(s.Name, s.ControlPlaneImages...))
	}
	return c
}

func shootChart(platforms platform.Registry[platform.ControlPlane]) *chart.Chart {
	c := newChart(charts.ShootSystemComponents, subChart(metalLB, metallb.Images()...))
	for _, s := range storageCharts(platforms) {
		c.SubCharts = append(c.SubCharts, subChart(s.Name, s.ShootImages...))
	}
	return c
}

func newChart(name string, subCharts ...*chart.Chart) *chart.Chart {
	return &chart.Chart{Name: name, EmbeddedFS: charts.Internal, Path: charts.InternalPath + "/" + name, SubCharts: subCharts}
}

func subChart(name string, images ...string) *chart.Chart {
	return &chart.Chart{Name: name, Images: images}
}
