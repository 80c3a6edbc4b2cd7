// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package platform

import (
	"cmp"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
)

// ControlPlane returns what the sites of a platform need in the control plane of a shoot and in the shoot itself. The ControlPlane
// controller uses it. It sends no requests to sites. Errors are classified and name the site.
type ControlPlane interface {
	// CloudController returns the site's configuration for the cloud-controller-manager, without its CSI drivers.
	CloudController(s ControlPlaneSite) (*v1alpha1.CloudControllerSite, error)
	// Storage returns the storage driver of the sites, nil if there is none. The sites are those of the platform with nodes; there is at
	// least one. The result is complete if all errors are CredentialsErrors: it keeps what is deployed for these sites.
	Storage(sites []ControlPlaneSite) (*Storage, error)
	// StorageChart is the sub-chart of the storage driver.
	StorageChart() SubChart
}

// ControlPlaneSite is a site that has, or is about to have, nodes.
type ControlPlaneSite struct {
	// Site is the site.
	Site *site.Site
	// Status is the observed state of the site's infrastructure.
	Status *v1alpha1.SiteStatus
	// Settings are the shoot owner's settings for the site, empty if there are none.
	Settings v1alpha1.ControlPlaneSite
	// Deployed are the Files that are deployed for the sites of the platform, nil if there are none.
	Deployed map[string]string
}

// CredentialsError is why the credentials of a site cannot be used. What is deployed for the site is kept.
type CredentialsError struct {
	// Err names the key, never its value.
	Err error
}

// NewCredentialsError returns a CredentialsError of ClassConfiguration in the site. consequence describes what is deployed meanwhile, and
// may be empty.
func NewCredentialsError(site string, err error, consequence string) error {
	return InSite(site, &CredentialsError{Err: NewError(ClassConfiguration, "%w%s", err, consequence)})
}

// UntilUsable is the consequence for a site for which no credentials are deployed.
const UntilUsable = "; it has no volumes until they can be used"

// Error implements error.
func (e *CredentialsError) Error() string {
	return e.Err.Error()
}

// Unwrap returns the cause.
func (e *CredentialsError) Unwrap() error {
	return e.Err
}

// SubChart is a chart of the same name in the folder charts of seed-controlplane and in that of shoot-system-components.
type SubChart struct {
	// Name is the name of the chart.
	Name string
	// ControlPlaneImages and ShootImages are the names of the images that its part in the seed and its part in the shoot use.
	ControlPlaneImages, ShootImages []string
	// AccessSecrets are the names of the service accounts of the shoot that its components in the seed use.
	AccessSecrets []string
	// Further is the chart of the Further storage driver, nil if the platform has none.
	Further *SubChart
}

// Storage is the storage driver for the sites of a platform.
type Storage struct {
	// CSIDriver is the name of the CSI driver whose node service runs on nodes, empty if there is none.
	CSIDriver string
	// Files are the files of the Secret with the configuration of the driver in the seed, by their names. They may hold credentials.
	// The name of the Secret is that of the chart with the suffix -config.
	Files map[string]string
	// ControlPlane are the values of the chart in the seed. They are encoded as JSON.
	ControlPlane any
	// Shoot are the values of the chart in the shoot. They are encoded as JSON.
	Shoot any
	// Classes are the storage classes of all of the sites.
	Classes []StorageClass
	// SnapshotClasses are the classes of volume snapshots of all of the sites.
	SnapshotClasses []SnapshotClass
	// Further is the driver for another kind of volumes, nil if there is none. It uses the Files of this one and has none itself, and nodes do
	// not wait for it.
	Further *Storage
}

// StorageClass is a StorageClass of a shoot.
type StorageClass struct {
	// Name is the name of the class.
	Name string `json:"name"`
	// Site is the name of the site.
	Site string `json:"site"`
	// SiteDefault is true for the default class of the site.
	SiteDefault bool `json:"-"`
	// NeverDefault is true for a class that claims must name.
	NeverDefault bool `json:"-"`
	// Provisioner is the name of the provisioner.
	Provisioner string `json:"provisioner"`
	// Parameters are those of the provisioner.
	Parameters map[string]string `json:"parameters,omitempty"`
	// ReclaimPolicy is what happens to a volume whose claim is deleted.
	ReclaimPolicy corev1.PersistentVolumeReclaimPolicy `json:"reclaimPolicy"`
	// Labels are further labels of the class.
	Labels map[string]string `json:"labels,omitempty"`
	// Annotations are further annotations of the class.
	Annotations map[string]string `json:"annotations,omitempty"`
	// VolumeBindingMode is when volumes are bound. Default: when their first pod is scheduled.
	VolumeBindingMode storagev1.VolumeBindingMode `json:"volumeBindingMode,omitempty"`
	// AllowVolumeExpansion says whether volumes can grow.
	AllowVolumeExpansion bool `json:"allowVolumeExpansion"`
	// AllowedTopologies restrict volumes to nodes of the site.
	AllowedTopologies []corev1.TopologySelectorTerm `json:"allowedTopologies"`
}

// NewStorageClass returns the class of the CloudProfile with the provisioner and its parameters, which take precedence over further ones.
func NewStorageClass(site string, class *v1alpha1.StorageClass, provisioner string, parameters map[string]string) StorageClass {
	return StorageClass{
		Name:          class.Name,
		Site:          site,
		SiteDefault:   class.Default,
		Provisioner:   provisioner,
		Parameters:    labels.Merge(class.Parameters, parameters),
		ReclaimPolicy: cmp.Or(class.ReclaimPolicy, corev1.PersistentVolumeReclaimDelete),
		Labels:        class.Labels,
		Annotations:   class.Annotations,
	}
}

// SnapshotClass is a VolumeSnapshotClass of a shoot.
type SnapshotClass struct {
	// Name is the name of the class.
	Name string `json:"name"`
	// Site is the name of the site.
	Site string `json:"site"`
	// Driver is the name of the CSI driver.
	Driver string `json:"driver"`
	// Parameters are those of the driver.
	Parameters map[string]string `json:"parameters,omitempty"`
}
