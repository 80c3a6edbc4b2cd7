// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package preflight_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/vcenter"
	"github.com/gardener/gardener-extension-provider-hybrid/test/sitefaults"
)

// documents are what a user gives to hybridctl.
type documents struct {
	profile *gardencorev1beta1.CloudProfile
	config  *v1alpha1.CloudProfileConfig
	shoot   *gardencorev1beta1.Shoot
	infra   *v1alpha1.InfrastructureConfig
	control *v1alpha1.ControlPlaneConfig
	// workers are the configurations of the pools, by the names of the pools.
	workers map[string]*v1alpha1.WorkerConfig
	secret  *corev1.Secret
	// seed is nil if it is not given.
	seed *gardencorev1beta1.Seed
}

// The pools of the Shoot.
const (
	mixedPool   = "mixed"
	burstPool   = "burst"
	volumesPool = "volumes"
)

// example reads an object of example/openstack-vsphere-metal.
func example[T any](name string) *T {
	GinkgoHelper()
	content, err := os.ReadFile(filepath.Join(landscape.Root(), "example", "openstack-vsphere-metal", name))
	Expect(err).NotTo(HaveOccurred())
	object := new(T)
	Expect(yaml.UnmarshalStrict(content, object)).To(Succeed())
	return object
}

func decoded[T any](raw *runtime.RawExtension) *T {
	GinkgoHelper()
	config := new(T)
	if raw != nil {
		Expect(json.Unmarshal(raw.Raw, config)).To(Succeed())
	}
	return config
}

// goodDocuments are those of example/, for the landscape: addresses, authorities and credentials, images, and as many machines as there
// are hosts. A further pool has volumes.
func goodDocuments() *documents {
	GinkgoHelper()
	d := &documents{
		profile: example[gardencorev1beta1.CloudProfile]("20-cloudprofile.yaml"),
		shoot:   example[gardencorev1beta1.Shoot]("40-shoot.yaml"),
		secret:  example[corev1.Secret]("30-secret-cloudprovider.yaml"),
		workers: map[string]*v1alpha1.WorkerConfig{},
	}
	d.config = decoded[v1alpha1.CloudProfileConfig](d.profile.Spec.ProviderConfig)
	d.infra = decoded[v1alpha1.InfrastructureConfig](d.shoot.Spec.Provider.InfrastructureConfig)
	d.control = decoded[v1alpha1.ControlPlaneConfig](d.shoot.Spec.Provider.ControlPlaneConfig)

	tls := &v1alpha1.TLS{CACert: bed.authority.PEM}
	for i := range d.config.Sites {
		site := &d.config.Sites[i]
		site.TLS = tls.DeepCopy()
		switch {
		case site.OpenStack != nil:
			site.OpenStack.AuthURL = bed.Cloud.Rewrite(bed.Project.Credentials.AuthURL)
			site.OpenStack.Region = bed.Project.Credentials.Region
		case site.VSphere != nil:
			site.VSphere.Server = bed.Others.URL(sitefaults.VCenterService)
		case site.Metal != nil:
			site.Metal.Server = bed.Others.URL(sitefaults.InventoryService)
		}
	}
	for i, version := range imageVersion {
		d.image(i, cloudSite).OpenStack.ImageName = bed.images[i]
		racks := d.image(i, racksSite).Metal
		racks.URL = bed.files.URL + "/gardenlinux-" + version + ".raw"
	}

	// The hardware of the hosts is that of the landscape.
	d.machineType("large", racksSite).Capacity = corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse("1"), corev1.ResourceMemory: resource.MustParse("2Gi"),
	}

	pools := d.shoot.Spec.Provider.Workers
	burst := pools[slices.IndexFunc(pools, func(p gardencorev1beta1.Worker) bool { return p.Name == burstPool })]
	volumes := *burst.DeepCopy()
	volumes.Name, volumes.Zones, volumes.Priority, volumes.Minimum, volumes.Maximum = volumesPool, []string{"cloud-b", "vc-2"}, nil, 2, 4
	volumes.Machine.Type = "small"
	volumes.Volume = &gardencorev1beta1.Volume{Type: new("standard"), VolumeSize: "25Gi"}
	volumes.ProviderConfig = nil
	d.shoot.Spec.Provider.Workers = append(pools, volumes)
	for _, p := range d.shoot.Spec.Provider.Workers {
		config := decoded[v1alpha1.WorkerConfig](p.ProviderConfig)
		config.APIVersion, config.Kind = d.infra.APIVersion, "WorkerConfig"
		d.workers[p.Name] = config
	}
	d.pool(burstPool).Maximum = 4
	for i := range d.workers[burstPool].Sites {
		d.workers[burstPool].Sites[i].Maximum = new(int32(2))
	}
	d.workers[volumesPool].Sites = []v1alpha1.WorkerSite{{
		Name:      cloudSite,
		OpenStack: &v1alpha1.OpenStackWorker{ServerGroup: &v1alpha1.OpenStackServerGroup{Policy: "soft-anti-affinity"}},
	}, {Name: vcSite, VSphere: &v1alpha1.VSphereWorker{}}}

	d.secret.StringData = map[string]string{
		vcSite + ".username": vcenter.Username, vcSite + ".password": vcenter.Password,
		racksSite + ".token": bed.token, hallSite + ".token": bed.token,
	}
	for key, value := range bed.Project.Credentials.SiteCredentials() {
		d.secret.StringData[cloudSite+"."+key] = value
	}
	for key, value := range bed.overrides {
		d.secret.StringData[key] = value
	}
	return d
}

// site returns a site of the CloudProfile.
func (d *documents) site(name string) *v1alpha1.CloudProfileSite {
	GinkgoHelper()
	i := slices.IndexFunc(d.config.Sites, func(s v1alpha1.CloudProfileSite) bool { return s.Name == name })
	Expect(i).To(BeNumerically(">=", 0))
	return &d.config.Sites[i]
}

// zone returns the first zone of a site.
func (d *documents) zone(site string) *v1alpha1.SiteZone {
	GinkgoHelper()
	return &d.site(site).Zones[0]
}

// network returns a site of the InfrastructureConfig.
func (d *documents) network(name string) *v1alpha1.InfrastructureSite {
	GinkgoHelper()
	i := slices.IndexFunc(d.infra.Sites, func(s v1alpha1.InfrastructureSite) bool { return s.Name == name })
	Expect(i).To(BeNumerically(">=", 0))
	return &d.infra.Sites[i]
}

// image returns the image of a version at a site.
func (d *documents) image(version int, site string) *v1alpha1.SiteMachineImage {
	GinkgoHelper()
	sites := d.config.MachineImages[0].Versions[version].CapabilityFlavors[0].Sites
	i := slices.IndexFunc(sites, func(s v1alpha1.SiteMachineImage) bool { return s.Name == site })
	Expect(i).To(BeNumerically(">=", 0))
	return &sites[i]
}

// machineType returns a machine type at a site.
func (d *documents) machineType(name, site string) *v1alpha1.SiteMachineType {
	GinkgoHelper()
	i := slices.IndexFunc(d.config.MachineTypes, func(t v1alpha1.MachineType) bool { return t.Name == name })
	Expect(i).To(BeNumerically(">=", 0))
	sites := d.config.MachineTypes[i].Sites
	j := slices.IndexFunc(sites, func(s v1alpha1.SiteMachineType) bool { return s.Name == site })
	Expect(j).To(BeNumerically(">=", 0))
	return &sites[j]
}

// pool returns a pool of the Shoot.
func (d *documents) pool(name string) *gardencorev1beta1.Worker {
	GinkgoHelper()
	// The hardware of the hosts is that of the landscape.
	d.machineType("large", racksSite).Capacity = corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse("1"), corev1.ResourceMemory: resource.MustParse("2Gi"),
	}

	pools := d.shoot.Spec.Provider.Workers
	i := slices.IndexFunc(pools, func(p gardencorev1beta1.Worker) bool { return p.Name == name })
	Expect(i).To(BeNumerically(">=", 0))
	return &pools[i]
}

// poolAt returns the settings of a pool for a site.
func (d *documents) poolAt(pool, site string) *v1alpha1.WorkerSite {
	GinkgoHelper()
	sites := d.workers[pool].Sites
	i := slices.IndexFunc(sites, func(s v1alpha1.WorkerSite) bool { return s.Name == site })
	Expect(i).To(BeNumerically(">=", 0))
	return &sites[i]
}

// write writes the documents into a folder.
func (d *documents) write(dir string) {
	GinkgoHelper()
	raw := func(config any) *runtime.RawExtension {
		content, err := json.Marshal(config)
		Expect(err).NotTo(HaveOccurred())
		return &runtime.RawExtension{Raw: content}
	}
	d.profile.Spec.ProviderConfig = raw(d.config)
	d.shoot.Spec.Provider.InfrastructureConfig = raw(d.infra)
	d.shoot.Spec.Provider.ControlPlaneConfig = raw(d.control)
	for name, config := range d.workers {
		if len(config.Sites) > 0 {
			d.pool(name).ProviderConfig = raw(config)
		}
	}
	all := map[string]any{"cloudprofile.yaml": d.profile, "shoot.yaml": d.shoot, "secret.yaml": d.secret}
	if d.seed != nil {
		all["seed.yaml"] = d.seed
	}
	for name, object := range all {
		content, err := yaml.Marshal(object)
		Expect(err).NotTo(HaveOccurred())
		Expect(os.WriteFile(filepath.Join(dir, name), bytes.TrimSpace(content), 0o600)).To(Succeed())
	}
}
