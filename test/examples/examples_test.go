// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package examples_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/codec"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/validation"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
)

const technicalID = "shoot--local--hybrid"

// The folders of shoots, and what is the same in all.
const (
	twoProjects, twoPlatforms, allPlatforms, ownHosts = "", "openstack-vsphere/", "openstack-vsphere-metal/", "static/"

	namespaceFile, userDataFile = "10-namespace.yaml", "30-secret-userdata.yaml"
)

// read decodes the documents of a file strictly.
func read[T any](file string) []T {
	GinkgoHelper()
	data, err := os.ReadFile(filepath.Join("..", "..", "example", file))
	Expect(err).NotTo(HaveOccurred())
	var objects []T
	for _, document := range bytes.Split(data, []byte("\n---\n")) {
		var object T
		Expect(yaml.UnmarshalStrict(document, &object)).To(Succeed(), file)
		objects = append(objects, object)
	}
	return objects
}

func readOne[T any](file string) T {
	GinkgoHelper()
	objects := read[T](file)
	Expect(objects).To(HaveLen(1))
	return objects[0]
}

func profileConfig(profile *gardencorev1beta1.CloudProfile) *v1alpha1.CloudProfileConfig {
	GinkgoHelper()
	config, err := codec.Decode[v1alpha1.CloudProfileConfig](profile.Spec.ProviderConfig)
	Expect(err).NotTo(HaveOccurred())
	return config
}

func secretData(folder string) map[string][]byte {
	GinkgoHelper()
	data := map[string][]byte{}
	for key, value := range readOne[corev1.Secret](folder + "30-secret-cloudprovider.yaml").StringData {
		data[key] = []byte(value)
	}
	return data
}

var _ = Describe("Examples", func() {
	DescribeTable("CloudProfiles are valid",
		func(file string) {
			profile := readOne[gardencorev1beta1.CloudProfile](file)
			Expect(profile.Spec.Type).To(Equal(v1alpha1.ProviderType))
			Expect(profile.Spec.SeedSelector).To(HaveValue(HaveField("ProviderTypes", ConsistOf("*"))),
				"a seed of another provider is not scheduled to")
			Expect(validation.ValidateCloudProfileConfig(profileConfig(&profile), &profile.Spec,
				field.NewPath("spec", "providerConfig"))).To(BeEmpty())
		},
		Entry("two OpenStack sites", "20-cloudprofile.yaml"),
		Entry("OpenStack and vSphere", twoPlatforms+"20-cloudprofile.yaml"),
		Entry("OpenStack, vSphere and bare metal", allPlatforms+"20-cloudprofile.yaml"),
		Entry("OpenStack and own hosts", ownHosts+"20-cloudprofile.yaml"),
		Entry("all platforms", "cloudprofile-all-platforms.yaml"),
	)

	DescribeTable("Shoots are valid",
		func(shootFile, profileFile string) {
			shoot := readOne[gardencorev1beta1.Shoot](shootFile)
			profile := readOne[gardencorev1beta1.CloudProfile](profileFile)
			config := profileConfig(&profile)
			provider := shoot.Spec.Provider
			path := field.NewPath("spec", "provider")

			infrastructure, err := codec.Decode[v1alpha1.InfrastructureConfig](provider.InfrastructureConfig)
			Expect(err).NotTo(HaveOccurred())
			Expect(validation.ValidateInfrastructureConfig(infrastructure, config, shoot.Spec.Networking, shoot.Spec.Region,
				path.Child("infrastructureConfig"))).To(BeEmpty())

			controlPlane, err := codec.Decode[v1alpha1.ControlPlaneConfig](provider.ControlPlaneConfig)
			Expect(err).NotTo(HaveOccurred())
			Expect(validation.ValidateControlPlaneConfig(controlPlane, infrastructure, config, shoot.Spec.Networking,
				path.Child("controlPlaneConfig"))).To(BeEmpty())

			Expect(validation.ValidateWorkers(provider.Workers, &profile.Spec, config, infrastructure, path.Child("workers"))).To(BeEmpty())
		},
		Entry("two OpenStack sites", "40-shoot.yaml", "20-cloudprofile.yaml"),
		Entry("OpenStack and vSphere", twoPlatforms+"40-shoot.yaml", twoPlatforms+"20-cloudprofile.yaml"),
		Entry("OpenStack, vSphere and bare metal", allPlatforms+"40-shoot.yaml", allPlatforms+"20-cloudprofile.yaml"),
		Entry("OpenStack and own hosts", ownHosts+"40-shoot.yaml", ownHosts+"20-cloudprofile.yaml"),
		Entry("all platforms", "shoot-all-platforms.yaml", "cloudprofile-all-platforms.yaml"),
	)

	DescribeTable("a shoot has a Cluster with the CloudProfile and the Shoot", func(folder string) {
		cluster := readOne[extensionsv1alpha1.Cluster](folder + "30-cluster.yaml")
		Expect(cluster.Name).To(Equal(technicalID))

		var profile gardencorev1beta1.CloudProfile
		Expect(json.Unmarshal(cluster.Spec.CloudProfile.Raw, &profile)).To(Succeed())
		Expect(profile).To(Equal(readOne[gardencorev1beta1.CloudProfile](folder + "20-cloudprofile.yaml")))

		var shoot gardencorev1beta1.Shoot
		Expect(json.Unmarshal(cluster.Spec.Shoot.Raw, &shoot)).To(Succeed())
		Expect(shoot.Status.TechnicalID).To(Equal(technicalID))
		shoot.Status = gardencorev1beta1.ShootStatus{}
		Expect(shoot).To(Equal(readOne[gardencorev1beta1.Shoot](folder + "40-shoot.yaml")))

		var seed gardencorev1beta1.Seed
		Expect(json.Unmarshal(cluster.Spec.Seed.Raw, &seed)).To(Succeed())
	},
		Entry("two OpenStack sites", twoProjects),
		Entry("OpenStack and vSphere", twoPlatforms),
		Entry("OpenStack, vSphere and bare metal", allPlatforms),
		Entry("OpenStack and own hosts", ownHosts),
	)

	DescribeTable("a shoot has an Infrastructure, a ControlPlane, a Worker and a Secret that belong to the Shoot", func(folder string) {
		shoot := readOne[gardencorev1beta1.Shoot](folder + "40-shoot.yaml")
		infrastructure := readOne[extensionsv1alpha1.Infrastructure](folder + "30-infrastructure.yaml")
		controlPlane := readOne[extensionsv1alpha1.ControlPlane](folder + "30-controlplane.yaml")
		worker := readOne[extensionsv1alpha1.Worker](folder + "30-worker.yaml")
		namespace := readOne[corev1.Namespace](namespaceFile)

		Expect(namespace.Name).To(Equal(technicalID))
		Expect(infrastructure.Namespace).To(Equal(technicalID))
		Expect(worker.Namespace).To(Equal(technicalID))
		Expect(infrastructure.Spec.ProviderConfig).To(Equal(shoot.Spec.Provider.InfrastructureConfig))
		Expect(controlPlane.Namespace).To(Equal(technicalID))
		Expect(controlPlane.Spec.ProviderConfig).To(Equal(shoot.Spec.Provider.ControlPlaneConfig))
		Expect(controlPlane.Spec).To(And(HaveField("Type", shoot.Spec.Provider.Type), HaveField("Region", shoot.Spec.Region),
			HaveField("SecretRef", worker.Spec.SecretRef)))

		userData := map[string]corev1.Secret{}
		for _, secret := range read[corev1.Secret](userDataFile) {
			userData[secret.Name] = secret
		}
		Expect(worker.Spec.Pools).To(HaveLen(len(shoot.Spec.Provider.Workers)))
		for i, pool := range worker.Spec.Pools {
			of := shoot.Spec.Provider.Workers[i]
			Expect(pool.Name).To(Equal(of.Name))
			Expect(pool.Zones).To(Equal(of.Zones))
			Expect(pool.MachineType).To(Equal(of.Machine.Type))
			Expect(pool.MachineImage.Version).To(Equal(*of.Machine.Image.Version))
			Expect(pool.Minimum).To(Equal(of.Minimum))
			Expect(pool.Maximum).To(Equal(of.Maximum))
			Expect(pool.ProviderConfig).To(Equal(of.ProviderConfig))
			Expect(userData).To(HaveKey(pool.UserDataSecretRef.Name))
			Expect(userData[pool.UserDataSecretRef.Name].StringData).To(HaveKey(pool.UserDataSecretRef.Key))
		}
	},
		Entry("two OpenStack sites", twoProjects),
		Entry("OpenStack and vSphere", twoPlatforms),
		Entry("OpenStack, vSphere and bare metal", allPlatforms),
		Entry("OpenStack and own hosts", ownHosts),
	)

	DescribeTable("a shoot has credentials for all sites, which can be resolved", func(folder string) {
		profile := readOne[gardencorev1beta1.CloudProfile](folder + "20-cloudprofile.yaml")
		config, err := codec.Decode[v1alpha1.InfrastructureConfig](readOne[extensionsv1alpha1.Infrastructure](folder +
			"30-infrastructure.yaml").Spec.ProviderConfig)
		Expect(err).NotTo(HaveOccurred())

		sites, err := site.Resolve(site.Input{Shoot: technicalID, Profile: profileConfig(&profile), Config: config, Secret: secretData(folder)})
		Expect(err).NotTo(HaveOccurred())
		Expect(sites).To(HaveLen(len(config.Sites)))

		var credentials []validation.SiteCredentials
		for _, s := range sites {
			credentials = append(credentials, validation.SiteCredentials{Site: s.Name, Platform: s.Platform})
		}
		Expect(validation.ValidateCredentials(secretData(folder), credentials, field.NewPath("data"))).To(BeEmpty())
	},
		Entry("two OpenStack sites", twoProjects),
		Entry("OpenStack and vSphere", twoPlatforms),
		Entry("OpenStack, vSphere and bare metal", allPlatforms),
		Entry("OpenStack and own hosts", ownHosts),
	)
})
