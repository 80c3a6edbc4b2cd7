// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package validation_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"time"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	gomegatypes "github.com/onsi/gomega/types"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
)

const (
	uuid = "6a0f1f5e-0c5a-4d59-8a0b-6f5d6b1d3e21"

	duplicate    = field.ErrorTypeDuplicate
	forbidden    = field.ErrorTypeForbidden
	invalid      = field.ErrorTypeInvalid
	notSupported = field.ErrorTypeNotSupported
	required     = field.ErrorTypeRequired
	tooLong      = field.ErrorTypeTooLong
)

// problem is an expected error.
type problem struct {
	Type  field.ErrorType
	Field string
}

// haveProblems matches an ErrorList with exactly the problems.
func haveProblems(problems []problem) gomegatypes.GomegaMatcher {
	return WithTransform(func(errs field.ErrorList) []problem {
		result := make([]problem, 0, len(errs))
		for _, err := range errs {
			result = append(result, problem{err.Type, err.Field})
		}
		return result
	}, ConsistOf(problems))
}

// newProfile returns the configuration of a CloudProfile with a site of each platform.
func newProfile() *v1alpha1.CloudProfileConfig {
	config := &v1alpha1.CloudProfileConfig{
		Sites: []v1alpha1.CloudProfileSite{
			{
				Name: "cloud", Region: "west",
				OpenStack: &v1alpha1.OpenStackProfile{AuthURL: "https://keystone.example.com/v3", Region: "RegionOne",
					FloatingPools: []v1alpha1.OpenStackFloatingPool{{Name: "public"}}},
				StorageClasses: []v1alpha1.StorageClass{{Name: "cinder", OpenStack: &v1alpha1.OpenStackStorageClass{}}},
				Zones: []v1alpha1.SiteZone{
					{Name: "cloud-a", OpenStack: &v1alpha1.OpenStackZone{AvailabilityZone: "nova"}},
					{Name: "cloud-b", OpenStack: &v1alpha1.OpenStackZone{AvailabilityZone: "nova"}},
				},
			},
			{
				Name: "vc", Region: "west",
				VSphere: &v1alpha1.VSphereProfile{Server: "https://vcenter.example.com", Datacenter: "dc-1"},
				Zones:   []v1alpha1.SiteZone{{Name: "vc-1", VSphere: &v1alpha1.VSphereZone{ComputeCluster: "cl-1", Datastore: "vsan"}}},
			},
			{
				Name: "racks", Region: "west",
				Metal: &v1alpha1.MetalProfile{Inventory: v1alpha1.MetalInventoryMetal3, Server: "https://metal.example.com", Namespace: "hosts"},
				Zones: []v1alpha1.SiteZone{{Name: "rack-1", Metal: &v1alpha1.MetalZone{}}},
			},
			{
				Name: "far", Region: "east",
				OpenStack: &v1alpha1.OpenStackProfile{AuthURL: "https://keystone.example.com/v3", Region: "RegionTwo"},
				Zones:     []v1alpha1.SiteZone{{Name: "cloud-a", OpenStack: &v1alpha1.OpenStackZone{AvailabilityZone: "nova"}}},
			},
		},
		MachineTypes: []v1alpha1.MachineType{
			{Name: "std",
				Sites: []v1alpha1.SiteMachineType{{Name: "cloud", OpenStack: &v1alpha1.OpenStackMachineType{Flavor: "m1"}},
					{Name: "vc", VSphere: &v1alpha1.VSphereMachineType{}}}},
			{Name: "any",
				Sites: []v1alpha1.SiteMachineType{{Name: "cloud", OpenStack: &v1alpha1.OpenStackMachineType{Flavor: "m1"}},
					{Name: "racks", Metal: &v1alpha1.MetalMachineType{}}}},
		},
		VolumeTypes: []v1alpha1.VolumeType{
			{Name: "fast",
				Sites: []v1alpha1.SiteVolumeType{{Name: "cloud", OpenStack: &v1alpha1.OpenStackVolumeType{Type: "ssd"}},
					{Name: "vc", VSphere: &v1alpha1.VSphereVolumeType{StoragePolicy: "vSAN"}}}},
		},
		MachineImages: []v1alpha1.MachineImage{{Name: "gardenlinux",
			Versions: []v1alpha1.MachineImageVersion{{Version: "1.0.0", CapabilityFlavors: []v1alpha1.MachineImageFlavor{{
				Capabilities: map[string][]string{"architecture": {"amd64"}},
				Sites: []v1alpha1.SiteMachineImage{
					{Name: "cloud", OpenStack: &v1alpha1.OpenStackImage{ImageID: uuid}},
					{Name: "racks", Metal: &v1alpha1.MetalImage{URL: "https://images.example.com/a.raw", Checksum: "abc"}},
				},
			}}}}}},
	}
	v1alpha1.SetCloudProfileConfigDefaults(config)
	return config
}

// newSpec returns the CloudProfile that fits to newProfile.
func newSpec() *gardencorev1beta1.CloudProfileSpec {
	amd64 := gardencorev1beta1.Capabilities{"architecture": {"amd64"}}
	return &gardencorev1beta1.CloudProfileSpec{
		MachineCapabilities: []gardencorev1beta1.CapabilityDefinition{{Name: "architecture", Values: []string{"amd64", "arm64"}}},
		MachineTypes:        []gardencorev1beta1.MachineType{{Name: "std", Capabilities: amd64}, {Name: "any", Capabilities: amd64}},
		VolumeTypes:         []gardencorev1beta1.VolumeType{{Name: "fast"}},
		MachineImages: []gardencorev1beta1.MachineImage{{Name: "gardenlinux", Versions: []gardencorev1beta1.MachineImageVersion{{
			ExpirableVersion:  gardencorev1beta1.ExpirableVersion{Version: "1.0.0"},
			CapabilityFlavors: []gardencorev1beta1.MachineImageFlavor{{Capabilities: amd64}},
		}}}},
		Regions: []gardencorev1beta1.Region{
			{Name: "west", Zones: []gardencorev1beta1.AvailabilityZone{{Name: "cloud-a"}, {Name: "cloud-b"}, {Name: "vc-1"}, {Name: "rack-1"}}},
			{Name: "east", Zones: []gardencorev1beta1.AvailabilityZone{{Name: "cloud-a"}}},
		},
	}
}

// newStretched returns an InfrastructureConfig with one network.
func newStretched() *v1alpha1.InfrastructureConfig {
	return &v1alpha1.InfrastructureConfig{
		Networks: v1alpha1.Networks{Topology: v1alpha1.TopologyStretched, Nodes: []string{"10.250.0.0/16"}, Gateway: "10.250.0.1"},
		Sites: []v1alpha1.InfrastructureSite{
			{Name: "cloud", Nodes: []string{"10.250.0.0/18"},
				OpenStack: &v1alpha1.OpenStackInfrastructure{FloatingPoolName: "public", Network: &v1alpha1.OpenStackNetwork{ID: uuid}}},
			{Name: "racks", Nodes: []string{"10.250.64.0/18"}},
		},
	}
}

// newRouted returns an InfrastructureConfig with a subnet per site.
func newRouted() *v1alpha1.InfrastructureConfig {
	return &v1alpha1.InfrastructureConfig{
		Networks: v1alpha1.Networks{Topology: v1alpha1.TopologyRouted},
		Sites: []v1alpha1.InfrastructureSite{
			{Name: "cloud", Nodes: []string{"10.250.0.0/24"}, OpenStack: &v1alpha1.OpenStackInfrastructure{FloatingPoolName: "public"}},
			{Name: "racks", Nodes: []string{"10.250.1.0/24"}},
		},
	}
}

func newNetworking() *gardencorev1beta1.Networking {
	return &gardencorev1beta1.Networking{Pods: new("100.96.0.0/11"), Services: new("100.64.0.0/13")}
}

func newWorker() *gardencorev1beta1.Worker {
	return &gardencorev1beta1.Worker{
		Name:    "pool",
		Machine: gardencorev1beta1.Machine{Type: "any", Image: &gardencorev1beta1.ShootMachineImage{Name: "gardenlinux", Version: new("1.0.0")}},
		Minimum: 3,
		Maximum: 10,
		Zones:   []string{"rack-1", "cloud-a", "cloud-b"},
	}
}

// newTopology returns the categories of the tags of a vSphere site.
func newTopology() *v1alpha1.VSphereTopology {
	return &v1alpha1.VSphereTopology{RegionCategory: "region", ZoneCategory: "zone"}
}

func duration(d time.Duration) *metav1.Duration {
	return &metav1.Duration{Duration: d}
}

// newCertificate returns a certificate and its private key in PEM.
func newCertificate() (certificate, key string) {
	GinkgoHelper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	Expect(err).NotTo(HaveOccurred())
	template := &x509.Certificate{SerialNumber: big.NewInt(1)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	Expect(err).NotTo(HaveOccurred())
	privateDER, err := x509.MarshalECPrivateKey(private)
	Expect(err).NotTo(HaveOccurred())
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})),
		string(pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: privateDER}))
}
