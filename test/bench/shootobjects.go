// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/codec"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/openstack"
)

const (
	exampleShoot   = "shoot--local--hybrid"
	exampleAuthURL = "http://127.0.0.1:5000/v3"
	// examplePool is the pool of example/ that is on the first site only.
	examplePool = "single"
)

// shoot is a shoot of example/ on its first site, with a pool that is scaled to zero.
type shoot struct {
	namespace   string
	authURL     string
	credentials openstack.Credentials
}

// example reads the objects of one kind from a file in example/ for the shoot.
func example[T any](s shoot, name string) ([]*T, error) {
	content, err := os.ReadFile(filepath.Join(landscape.Root(), "example", name)) // #nosec G304 -- constant names
	if err != nil {
		return nil, err
	}
	content = bytes.ReplaceAll(content, []byte(exampleShoot), []byte(s.namespace))
	content = bytes.ReplaceAll(content, []byte(exampleAuthURL), []byte(s.authURL))
	var objects []*T
	for decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(content), len(content)); ; {
		object := new(T)
		if decoder.Decode(object) != nil {
			return objects, nil
		}
		objects = append(objects, object)
	}
}

// objects are what there is before the Infrastructure, and the Infrastructure.
func (s shoot) objects() ([]client.Object, error) {
	clusters, err := example[extensionsv1alpha1.Cluster](s, "30-cluster.yaml")
	if err != nil {
		return nil, err
	}
	if err := onFirstSite(clusters[0]); err != nil {
		return nil, err
	}
	secrets, err := example[corev1.Secret](s, "30-secret-userdata.yaml")
	if err != nil {
		return nil, err
	}
	infrastructures, err := example[extensionsv1alpha1.Infrastructure](s, "30-infrastructure.yaml")
	if err != nil {
		return nil, err
	}
	if infrastructures[0].Spec.ProviderConfig, err = firstSite(infrastructures[0].Spec.ProviderConfig); err != nil {
		return nil, err
	}

	credentials := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "cloudprovider", Namespace: s.namespace},
		StringData: map[string]string{}}
	for key, value := range s.credentials.SiteCredentials() {
		credentials.StringData[siteName+"."+key] = value
	}
	objects := []client.Object{&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: s.namespace}}, clusters[0], credentials}
	for _, secret := range secrets {
		objects = append(objects, secret)
	}
	return append(objects, infrastructures[0]), nil
}

// worker is the Worker for the status of the Infrastructure.
func (s shoot) worker(status *runtime.RawExtension) (*extensionsv1alpha1.Worker, error) {
	workers, err := example[extensionsv1alpha1.Worker](s, "30-worker.yaml")
	if err != nil {
		return nil, err
	}
	worker := workers[0]
	worker.Spec.InfrastructureProviderStatus = status
	worker.Spec.Pools = slices.DeleteFunc(worker.Spec.Pools, func(p extensionsv1alpha1.WorkerPool) bool { return p.Name != examplePool })
	for i := range worker.Spec.Pools {
		worker.Spec.Pools[i].Minimum = 0
	}
	return worker, nil
}

// onFirstSite leaves the Cluster's Shoot on its first site.
func onFirstSite(cluster *extensionsv1alpha1.Cluster) error {
	shoot := &gardencorev1beta1.Shoot{}
	if err := json.Unmarshal(cluster.Spec.Shoot.Raw, shoot); err != nil {
		return err
	}
	provider := &shoot.Spec.Provider
	var err error
	if provider.InfrastructureConfig, err = firstSite(provider.InfrastructureConfig); err != nil {
		return err
	}
	provider.Workers = slices.DeleteFunc(provider.Workers, func(w gardencorev1beta1.Worker) bool { return w.Name != examplePool })
	if len(provider.Workers) != 1 {
		return fmt.Errorf("example/ has no pool %q", examplePool)
	}
	provider.Workers[0].Minimum = 0
	content, err := json.Marshal(shoot)
	cluster.Spec.Shoot = runtime.RawExtension{Raw: content}
	return err
}

func firstSite(raw *runtime.RawExtension) (*runtime.RawExtension, error) {
	config, err := codec.Decode[v1alpha1.InfrastructureConfig](raw)
	if err != nil {
		return nil, err
	}
	config.Sites = config.Sites[:1]
	return codec.Encode(config)
}
