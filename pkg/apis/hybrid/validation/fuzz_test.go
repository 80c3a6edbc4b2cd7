// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package validation_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	"go4.org/netipx"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/codec"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/validation"
)

// The fuzz targets give documents of shoot owners and operators to the decoders and to all validation functions, which must not panic.
// Their seeds are the examples, which also stand for what is beside the document.

var fuzzPath = field.NewPath("spec")

// fuzzBeside are the examples of what is beside a document.
type fuzzBeside struct {
	profile        *gardencorev1beta1.CloudProfile
	config         *v1alpha1.CloudProfileConfig
	shoot          *gardencorev1beta1.Shoot
	infrastructure *v1alpha1.InfrastructureConfig
}

func newFuzzBeside(f *testing.F) fuzzBeside {
	b := fuzzBeside{
		profile: readExample[gardencorev1beta1.CloudProfile](f, "cloudprofile-all-platforms.yaml"),
		shoot:   readExample[gardencorev1beta1.Shoot](f, "shoot-all-platforms.yaml"),
	}
	b.config = decodeExample[v1alpha1.CloudProfileConfig](f, b.profile.Spec.ProviderConfig)
	b.infrastructure = decodeExample[v1alpha1.InfrastructureConfig](f, b.shoot.Spec.Provider.InfrastructureConfig)
	return b
}

// seed adds what pick takes from each of the Shoots in example/.
func seed(f *testing.F, pick func(*gardencorev1beta1.Shoot) []*runtime.RawExtension) {
	for _, shoot := range readExamples[gardencorev1beta1.Shoot](f, "40-shoot.yaml", "shoot-all-platforms.yaml") {
		for _, raw := range pick(shoot) {
			if raw != nil {
				f.Add(raw.Raw)
			}
		}
	}
}

// decodeFuzzed returns the document, which must be the same when it was encoded and decoded again.
func decodeFuzzed[T any, P codec.Object[T]](t *testing.T, data []byte) (P, bool) {
	document, err := codec.DecodeBytes[T, P](data)
	if err != nil {
		return nil, false
	}
	raw, err := codec.Encode(document)
	if err != nil {
		t.Fatalf("it can be decoded and not be encoded: %v", err)
	}
	again, err := codec.Decode[T, P](raw)
	if err != nil {
		t.Fatalf("what was encoded cannot be decoded: %v\n%s", err, raw.Raw)
	}
	if !equality.Semantic.DeepEqual(document, again) {
		t.Fatalf("it changes when it is encoded and decoded again: %s", raw.Raw)
	}
	return document, true
}

func FuzzCloudProfileConfig(f *testing.F) {
	beside := newFuzzBeside(f)
	for _, profile := range readExamples[gardencorev1beta1.CloudProfile](f, "20-cloudprofile.yaml", "cloudprofile-all-platforms.yaml") {
		f.Add(profile.Spec.ProviderConfig.Raw)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		config, ok := decodeFuzzed[v1alpha1.CloudProfileConfig](t, data)
		if !ok {
			return
		}
		provider := beside.shoot.Spec.Provider
		validation.ValidateCloudProfileConfig(config, &beside.profile.Spec, fuzzPath)
		validation.ValidateCloudProfileConfig(config, nil, fuzzPath)
		uses := []validation.ProfileUse{{Shoot: "a/b", Region: "west", Sites: []string{"cloud", "gone"}, Zones: []string{"cloud-a", "gone"}}}
		validation.ValidateCloudProfileConfigUpdate(config, beside.config, uses, fuzzPath)
		validation.ValidateCloudProfileConfigUpdate(beside.config, config, uses, fuzzPath)
		validation.ValidateInfrastructureConfig(beside.infrastructure, config, beside.shoot.Spec.Networking, "west", fuzzPath)
		validation.ValidateEndpoints(beside.infrastructure, config, beside.shoot.Spec.Networking, fuzzPath)
		uses[0].Networks = func() []validation.ShootNetwork {
			return validation.ShootNetworks(beside.infrastructure, beside.shoot.Spec.Networking)
		}
		validation.EndpointsInShoots(config, beside.config, uses, fuzzPath)
		validation.ValidateWorkers(provider.Workers, &beside.profile.Spec, config, beside.infrastructure, fuzzPath)
	})
}

func FuzzInfrastructureConfig(f *testing.F) {
	beside := newFuzzBeside(f)
	seed(f, func(shoot *gardencorev1beta1.Shoot) []*runtime.RawExtension {
		return []*runtime.RawExtension{shoot.Spec.Provider.InfrastructureConfig}
	})
	f.Fuzz(func(t *testing.T, data []byte) {
		config, ok := decodeFuzzed[v1alpha1.InfrastructureConfig](t, data)
		if !ok {
			return
		}
		networking, workers := beside.shoot.Spec.Networking, beside.shoot.Spec.Provider.Workers
		validation.ValidateInfrastructureConfig(config, beside.config, networking, "west", fuzzPath)
		validation.ValidateInfrastructureConfig(config, nil, nil, "", fuzzPath)
		validation.ValidateEndpoints(config, beside.config, networking, fuzzPath)
		validation.ValidateNetworkData(config, beside.config, fuzzPath)
		validation.ValidateInfrastructureConfigUpdate(beside.infrastructure, config, networking, fuzzPath)
		validation.ValidateInfrastructureConfigUpdate(config, beside.infrastructure, networking, fuzzPath)
		validation.ValidateReplacedSites(config, beside.infrastructure, beside.config, fuzzPath)
		validation.ValidateReplacedSites(beside.infrastructure, config, beside.config, fuzzPath)
		validation.ValidateRemovedSites(config, beside.infrastructure, workers, beside.config, fuzzPath)
		validation.ValidateRemovedSites(beside.infrastructure, config, workers, beside.config, fuzzPath)
		validation.ValidateWorkers(workers, &beside.profile.Spec, beside.config, config, fuzzPath)
		validation.ValidatePodNetwork(networking, config, 1450, fuzzPath)
	})
}

func FuzzControlPlaneConfig(f *testing.F) {
	beside := newFuzzBeside(f)
	seed(f, func(shoot *gardencorev1beta1.Shoot) []*runtime.RawExtension {
		return []*runtime.RawExtension{shoot.Spec.Provider.ControlPlaneConfig}
	})
	f.Fuzz(func(t *testing.T, data []byte) {
		config, ok := decodeFuzzed[v1alpha1.ControlPlaneConfig](t, data)
		if !ok {
			return
		}
		validation.ValidateControlPlaneConfig(config, beside.infrastructure, beside.config, beside.shoot.Spec.Networking, fuzzPath)
		validation.ValidateControlPlaneConfig(config, beside.infrastructure, nil, nil, fuzzPath)
		validation.ValidateAddressesInUse(config, beside.config, func(string, netipx.IPRange) bool { return true }, fuzzPath)
	})
}

func FuzzWorkerConfig(f *testing.F) {
	beside := newFuzzBeside(f)
	seed(f, func(shoot *gardencorev1beta1.Shoot) []*runtime.RawExtension {
		var raws []*runtime.RawExtension
		for _, worker := range shoot.Spec.Provider.Workers {
			raws = append(raws, worker.ProviderConfig)
		}
		return raws
	})
	f.Fuzz(func(t *testing.T, data []byte) {
		config, ok := decodeFuzzed[v1alpha1.WorkerConfig](t, data)
		workers := beside.shoot.DeepCopy().Spec.Provider.Workers
		for i := range workers {
			if ok {
				validation.ValidateWorkerConfig(config, &workers[i], beside.config, []string{"cloud", "racks"}, fuzzPath)
			}
			workers[i].ProviderConfig = &runtime.RawExtension{Raw: data}
		}
		validation.ValidateWorkers(workers, &beside.profile.Spec, beside.config, beside.infrastructure, fuzzPath)
		v := validation.NewWorkerValidator(&beside.profile.Spec, beside.config, beside.infrastructure)
		v.ValidateUpdate(beside.shoot.Spec.Provider.Workers, workers, fuzzPath)
		v.ValidateUpdate(workers, beside.shoot.Spec.Provider.Workers, fuzzPath)
	})
}

func FuzzPodNetwork(f *testing.F) {
	beside := newFuzzBeside(f)
	for _, config := range []string{
		`{"overlay":{"enabled":true},"vxlan":{"enabled":true},"backend":"vxlan","ipv4":{"pool":"vxlan","mode":"Never"},"vethMTU":"1400"}`,
		`{"overlay":{"enabled":false,"createPodRoutes":true},"tunnel":"vxlan","mtu":1400,"ipv4":null}`,
		`[]`, `null`,
	} {
		f.Add([]byte(config), true, int32(1450))
		f.Add([]byte(config), false, int32(0))
	}
	f.Fuzz(func(_ *testing.T, data []byte, calico bool, carried int32) {
		networking := &gardencorev1beta1.Networking{Type: new("cilium"), ProviderConfig: &runtime.RawExtension{Raw: data}}
		if calico {
			networking.Type = new("calico")
		}
		validation.ValidatePodNetwork(networking, beside.infrastructure, carried, fuzzPath)
		networking.IPFamilies = []gardencorev1beta1.IPFamily{gardencorev1beta1.IPFamilyIPv6}
		validation.ValidatePodNetwork(networking, nil, carried, fuzzPath)
	})
}

func FuzzCredentials(f *testing.F) {
	for _, secret := range readExamples[corev1.Secret](f, "30-secret-cloudprovider.yaml") {
		for key, value := range secret.StringData {
			f.Add(key, value, "vc.password", "secret of vc")
		}
	}
	f.Add("cloud.applicationCredentialID", "id", "dns.site", "cloud")
	f.Add("racks.clientCertificate", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", "racks.clientKey",
		"-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n")
	f.Add("dns.server", "192.0.2.53:53", "dns.tsigSecret", "c2VjcmV0")
	f.Fuzz(func(t *testing.T, key1, value1, key2, value2 string) {
		data := map[string][]byte{key1: []byte(value1), key2: []byte(value2)}
		sites := []validation.SiteCredentials{{Site: "cloud", Platform: v1alpha1.PlatformOpenStack},
			{Site: "vc", Platform: v1alpha1.PlatformVSphere}, {Site: "racks", Platform: v1alpha1.PlatformMetal}}
		errs := validation.ValidateSecret(data, fuzzPath)
		errs = append(errs, validation.ValidateCredentials(data, sites, fuzzPath)...)
		for _, recordType := range []string{v1alpha1.DNSTypeDesignate, v1alpha1.DNSTypeRFC2136} {
			errs = append(errs, validation.ValidateDNSCredentials(recordType, map[string]string{key1: value1, key2: value2}, "dns.", fuzzPath)...)
		}
		if len(errs) == 0 {
			return
		}
		for _, secret := range []struct{ key, value string }{{key1, value1}, {key2, value2}} {
			if isSecret(secret.key) && len(secret.value) > 20 && !strings.Contains(key1+key2, secret.value) &&
				strings.Contains(errs.ToAggregate().Error(), secret.value) {
				t.Fatalf("the value of %q is told: %v", secret.key, errs)
			}
		}
	})
}

// isSecret returns whether the value of a key must not be told.
func isSecret(key string) bool {
	for _, suffix := range []string{"password", "Secret", "token", "clientKey"} {
		if strings.HasSuffix(key, suffix) {
			return true
		}
	}
	return false
}

func decodeExample[T any, P codec.Object[T]](f *testing.F, raw *runtime.RawExtension) P {
	document, err := codec.Decode[T, P](raw)
	if err != nil {
		f.Fatal(err)
	}
	return document
}

func readExample[T any](f *testing.F, file string) *T {
	objects := readExamples[T](f, file)
	if len(objects) != 1 {
		f.Fatalf("%s is there %d times", file, len(objects))
	}
	return objects[0]
}

// readExamples reads the files of these names in all folders of example/.
func readExamples[T any](f *testing.F, names ...string) []*T {
	var objects []*T
	for _, name := range names {
		for _, folder := range []string{"", "*"} {
			files, err := filepath.Glob(filepath.Join("..", "..", "..", "..", "example", folder, name))
			if err != nil {
				f.Fatal(err)
			}
			for _, file := range files {
				data, err := os.ReadFile(file) // #nosec G304 -- an example
				if err != nil {
					f.Fatal(err)
				}
				object := new(T)
				if err := yaml.Unmarshal(data, object); err != nil {
					f.Fatal(err)
				}
				objects = append(objects, object)
			}
		}
	}
	return objects
}
