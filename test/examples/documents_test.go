// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package examples_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	gardenvalidation "github.com/gardener/gardener/pkg/api/core/validation"
	gardencore "github.com/gardener/gardener/pkg/apis/core"
	gardencoreinstall "github.com/gardener/gardener/pkg/apis/core/install"
	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	securityv1alpha1 "github.com/gardener/gardener/pkg/apis/security/v1alpha1"
	gardenfeatures "github.com/gardener/gardener/pkg/apiserver/features"
	"github.com/google/uuid"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/codec"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/validation"
	"github.com/gardener/gardener-extension-provider-hybrid/test/documents"
)

// kinds are the kinds that documents show whole, and parts are types that documents show a part of.
var (
	kinds = map[string]func() any{
		"BackupBucketConfig":                  func() any { return &v1alpha1.BackupBucketConfig{} },
		"CloudControllerManagerConfiguration": func() any { return &v1alpha1.CloudControllerManagerConfiguration{} },
		"CloudProfile":                        func() any { return &gardencorev1beta1.CloudProfile{} },
		"CloudProfileConfig":                  func() any { return &v1alpha1.CloudProfileConfig{} },
		"ControlPlaneConfig":                  func() any { return &v1alpha1.ControlPlaneConfig{} },
		"CredentialsBinding":                  func() any { return &securityv1alpha1.CredentialsBinding{} },
		"InfrastructureConfig":                func() any { return &v1alpha1.InfrastructureConfig{} },
		"Secret":                              func() any { return &corev1.Secret{} },
		"SeedConfig":                          func() any { return &v1alpha1.SeedConfig{} },
		"Shoot":                               func() any { return &gardencorev1beta1.Shoot{} },
		"StorageClass":                        func() any { return &storagev1.StorageClass{} },
		"VolumeSnapshot":                      func() any { return &volumeSnapshot{} },
		"WorkerConfig":                        func() any { return &v1alpha1.WorkerConfig{} },
	}
	parts = []func() any{
		func() any { return &gardencorev1beta1.Shoot{} },
		func() any { return &gardencorev1beta1.ShootSpec{} },
		func() any { return &gardencorev1beta1.Provider{} },
		func() any { return &gardencorev1beta1.Worker{} },
		func() any { return &gardencorev1beta1.Seed{} },
		func() any { return &v1alpha1.CloudProfileConfig{} },
		func() any { return &v1alpha1.CloudProfileSite{} },
		func() any { return &v1alpha1.InfrastructureConfig{} },
		func() any { return &corev1.Secret{} },
		func() any { return &corev1.Service{} },
		func() any { return &chartValues{} },
	}
)

// volumeSnapshot has the fields of a VolumeSnapshot that documents show.
type volumeSnapshot struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec struct {
		VolumeSnapshotClassName string `json:"volumeSnapshotClassName"`
		Source                  struct {
			PersistentVolumeClaimName string `json:"persistentVolumeClaimName"`
		} `json:"source"`
	} `json:"spec"`
}

// chartValues are values of the chart of the extension that documents show.
type chartValues struct {
	ImageVectorOverwrite string `json:"imageVectorOverwrite"`
}

// fieldsOfKinds are fields with a configuration whose kind is known although documents leave it out.
var fieldsOfKinds = map[string]string{"infrastructureConfig": "InfrastructureConfig", "controlPlaneConfig": "ControlPlaneConfig"}

// decode decodes a block strictly: as the kind that it has, or as a type that it can be a part of.
func decode(text string) error {
	var meta metav1.TypeMeta
	if err := yaml.Unmarshal([]byte(text), &meta); err != nil {
		return err
	}
	if meta.Kind != "" {
		target, ok := kinds[meta.Kind]
		if !ok {
			return runtime.NewMissingKindErr(text)
		}
		return yaml.UnmarshalStrict([]byte(text), target())
	}
	var err error
	for _, part := range parts {
		if err = yaml.UnmarshalStrict([]byte(text), part()); err == nil {
			return nil
		}
	}
	return err
}

// embedded returns the configurations in a document, which are values of any type for those around them.
func embedded(value any, kind string) []string {
	var found []string
	switch v := value.(type) {
	case []any:
		for _, item := range v {
			found = append(found, embedded(item, "")...)
		}
	case map[string]any:
		own, _ := v["kind"].(string)
		if version, _ := v["apiVersion"].(string); version == v1alpha1.SchemeGroupVersion.String() || kind != "" && own == "" {
			if own == "" {
				v["kind"] = kind
			}
			data, err := json.Marshal(v)
			Expect(err).NotTo(HaveOccurred())
			found = append(found, string(data))
		}
		for name, item := range v {
			found = append(found, embedded(item, fieldsOfKinds[name])...)
		}
	}
	return found
}

// toyDocument has documents with types of test/toyplatform, whose suite decodes and uses them.
const toyDocument = "docs/development/adding-a-platform.md"

// expectFields expects fields that exist, in each document of the block and in the configurations in it.
func expectFields(_ SpecContext, b documents.Block) {
	GinkgoHelper()
	if b.Document == toyDocument {
		return
	}
	for _, document := range manifestsOf(b) {
		Expect(decode(document)).To(Succeed(), b.String())
		var value any
		Expect(yaml.Unmarshal([]byte(document), &value)).To(Succeed())
		for _, configuration := range embedded(value, "") {
			Expect(decode(configuration)).To(Succeed(), b.String())
		}
	}
}

// manifestsOf are the documents of a block of YAML.
func manifestsOf(b documents.Block) []string {
	return strings.Split(b.Text, "\n---\n")
}

// gardenScheme has the defaults and conversions of Gardener's API server.
var gardenScheme = func() *runtime.Scheme {
	scheme := runtime.NewScheme()
	gardencoreinstall.Install(scheme)
	gardenfeatures.RegisterFeatureGates()
	return scheme
}()

// inGardener returns an object with Gardener's defaults, as Gardener validates it.
func inGardener[T any, P interface {
	*T
	runtime.Object
}](object runtime.Object) P {
	GinkgoHelper()
	gardenScheme.Default(object)
	internal := P(new(T))
	Expect(gardenScheme.Convert(object, internal, nil)).To(Succeed())
	return internal
}

// validateShoot returns what Gardener and our validation find wrong with a Shoot.
func validateShoot(shoot *gardencorev1beta1.Shoot, profile *gardencorev1beta1.CloudProfile) field.ErrorList {
	GinkgoHelper()
	config, provider, path := profileConfig(profile), &shoot.Spec.Provider, field.NewPath("spec", "provider")
	infrastructure, err := codec.Decode[v1alpha1.InfrastructureConfig](provider.InfrastructureConfig)
	Expect(err).NotTo(HaveOccurred())
	controlPlane, err := codec.Decode[v1alpha1.ControlPlaneConfig](provider.ControlPlaneConfig)
	Expect(err).NotTo(HaveOccurred())
	return slices.Concat(
		gardenvalidation.ValidateShoot(inGardener[gardencore.Shoot](shoot)),
		validation.ValidateInfrastructureConfig(infrastructure, config, shoot.Spec.Networking, shoot.Spec.Region,
			path.Child("infrastructureConfig")),
		validation.ValidateControlPlaneConfig(controlPlane, infrastructure, config, shoot.Spec.Networking, path.Child("controlPlaneConfig")),
		validation.ValidateWorkers(provider.Workers, &profile.Spec, config, infrastructure, path.Child("workers")))
}

var _ = Describe("YAML in documents", func() {
	var (
		profile        gardencorev1beta1.CloudProfile
		config         *v1alpha1.CloudProfileConfig
		shoot          gardencorev1beta1.Shoot
		infrastructure *v1alpha1.InfrastructureConfig
	)
	BeforeEach(func() {
		profile = readOne[gardencorev1beta1.CloudProfile]("cloudprofile-all-platforms.yaml")
		config = profileConfig(&profile)
		shoot = readOne[gardencorev1beta1.Shoot]("shoot-all-platforms.yaml")
		var err error
		infrastructure, err = codec.Decode[v1alpha1.InfrastructureConfig](shoot.Spec.Provider.InfrastructureConfig)
		Expect(err).NotTo(HaveOccurred())
	})

	// each calls a function for all documents that are of a type and of no other type.
	each := func(into func() any, other func() any, do func(b documents.Block, value any)) {
		checked := 0
		for _, b := range ofLanguage("yaml", 45) {
			for _, document := range manifestsOf(b) {
				value := into()
				text := regexp.MustCompile(`id: [0-9a-f-]*…`).ReplaceAllString(document, "id: "+uuid.NewString())
				if yaml.UnmarshalStrict([]byte(text), value) == nil && (other == nil || yaml.UnmarshalStrict([]byte(text), other()) != nil) {
					checked++
					do(b, value)
				}
			}
		}
		Expect(checked).To(BeNumerically(">", 0))
	}
	// ofKind is each for documents with a kind, and for the configurations in others.
	ofKind := func(kind string, do func(b documents.Block, text string)) {
		checked := 0
		for _, b := range ofLanguage("yaml", 45) {
			for _, document := range manifestsOf(b) {
				var value any
				Expect(yaml.Unmarshal([]byte(document), &value)).To(Succeed())
				for _, text := range append(embedded(value, ""), document) {
					var meta metav1.TypeMeta
					if yaml.Unmarshal([]byte(text), &meta) == nil && meta.Kind == kind && b.Document != toyDocument {
						checked++
						do(b, text)
					}
				}
			}
		}
		Expect(checked).To(BeNumerically(">", 0), kind)
	}

	It("should have infrastructures that are valid with the CloudProfile of all platforms", func() {
		each(func() any { return &v1alpha1.InfrastructureConfig{} }, func() any { return &v1alpha1.CloudProfileConfig{} },
			func(b documents.Block, value any) {
				infrastructure := value.(*v1alpha1.InfrastructureConfig)
				if infrastructure.Networks.Topology == "" { // documents show it once
					infrastructure.Networks.Topology = v1alpha1.TopologyRouted
				}
				shoot.Spec.Networking.Nodes = &infrastructure.Sites[0].Nodes[0]
				Expect(validation.ValidateInfrastructureConfig(infrastructure, config, shoot.Spec.Networking, shoot.Spec.Region,
					field.NewPath("infrastructureConfig"))).To(BeEmpty(), b.String())
			})
	})

	It("should have whole Shoots that Gardener and admission accept with an example of a CloudProfile", func() {
		profile := readOne[gardencorev1beta1.CloudProfile]("openstack-vsphere/20-cloudprofile.yaml")
		ofKind("Shoot", func(b documents.Block, text string) {
			var shoot gardencorev1beta1.Shoot
			Expect(yaml.UnmarshalStrict([]byte(text), &shoot)).To(Succeed())
			Expect(shoot.Spec.CloudProfile.Name).To(Equal(profile.Name), b.String())
			Expect(validateShoot(&shoot, &profile)).To(BeEmpty(), b.String())
		})
	})

	It("should have control planes that are valid with the infrastructure of all platforms, stretched or routed", func() {
		infrastructure.Sites[0].OpenStack.ShareNetwork = &v1alpha1.OpenStackShareNetwork{Enabled: true}
		routed, networking := infrastructure.DeepCopy(), shoot.Spec.Networking.DeepCopy()
		routed.Networks, networking.Nodes = v1alpha1.Networks{Topology: v1alpha1.TopologyRouted}, nil
		for i := range routed.Sites { // the ranges of documents
			routed.Sites[i].Nodes = []string{fmt.Sprintf("10.250.%d.0/22", 4*i)}
		}
		ofKind("ControlPlaneConfig", func(b documents.Block, text string) {
			controlPlane := &v1alpha1.ControlPlaneConfig{}
			Expect(yaml.UnmarshalStrict([]byte(text), controlPlane)).To(Succeed())
			if controlPlane.DefaultSite == "" { // documents show it once
				controlPlane.DefaultSite = "cloud"
			}
			path := field.NewPath("controlPlaneConfig")
			Expect([]field.ErrorList{
				validation.ValidateControlPlaneConfig(controlPlane, infrastructure, config, shoot.Spec.Networking, path),
				validation.ValidateControlPlaneConfig(controlPlane, routed, config, networking, path),
			}).To(ContainElement(BeEmpty()), b.String())
		})
	})

	It("should have pools that are valid in the zones of all platforms", func() {
		hall := *config.Sites[slices.IndexFunc(config.Sites, func(s v1alpha1.CloudProfileSite) bool { return s.Name == "racks" })].DeepCopy()
		hall.Name, hall.Zones[0].Name, hall.Metal.Inventory = "hall", "hall-1", v1alpha1.MetalInventoryIronCore
		hall.Metal.PoolTolerations = []corev1.Toleration{{Key: "example.com/gpu", Operator: corev1.TolerationOpExists}}
		config.Sites = append(config.Sites, hall)
		ofKind("WorkerConfig", func(b documents.Block, text string) {
			pool := &v1alpha1.WorkerConfig{}
			Expect(yaml.UnmarshalStrict([]byte(text), pool)).To(Succeed())
			worker := shoot.Spec.Provider.Workers[0].DeepCopy()
			worker.Minimum, worker.Maximum, worker.Zones = 2, 12, nil
			if own := (gardencorev1beta1.Worker{}); yaml.UnmarshalStrict([]byte(b.Text), &own) == nil {
				worker.DataVolumes = own.DataVolumes
			}
			var sites []string
			for _, site := range config.Sites {
				if slices.ContainsFunc(pool.Sites, func(s v1alpha1.WorkerSite) bool { return s.Name == site.Name }) {
					worker.Zones, sites = append(worker.Zones, site.Zones[0].Name), append(sites, site.Name)
				}
			}
			Expect(validation.ValidateWorkerConfig(pool, worker, config, sites, field.NewPath("providerConfig"))).To(BeEmpty(), b.String())
		})
	})

	It("should have Secrets with keys that admission knows", func() {
		ofKind("Secret", func(b documents.Block, text string) {
			var secret corev1.Secret
			Expect(yaml.UnmarshalStrict([]byte(text), &secret)).To(Succeed())
			data := map[string][]byte{}
			for key, value := range secret.StringData {
				data[key] = []byte(value)
			}
			Expect(data).NotTo(BeEmpty(), b.String())
			Expect(validation.ValidateSecret(data, field.NewPath("data"))).To(BeEmpty(), b.String())
		})
	})
})
