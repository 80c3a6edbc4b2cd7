// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package shoot

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/vcenter"
)

// exampleName is the technical ID of the shoot in example/.
const exampleName = "shoot--local--hybrid"

// userDataFile has the user data of the pools of all examples.
const userDataFile = "30-secret-userdata.yaml"

// example reads the objects of one kind from a file in example/ for the shoot.
func example[T any](s *Shoot, name string) ([]*T, error) {
	content, err := os.ReadFile(filepath.Join(landscape.Root(), "example", name)) // #nosec G304 -- constant names
	if err != nil {
		return nil, err
	}
	content = bytes.ReplaceAll(content, []byte(exampleName), []byte(s.Name))
	var objects []*T
	for decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(content), len(content)); ; {
		object := new(T)
		if decoder.Decode(object) != nil {
			return objects, nil
		}
		objects = append(objects, object)
	}
}

// Infrastructure is the Infrastructure of example/, which is not created yet.
func (s *Shoot) Infrastructure() (*extensionsv1alpha1.Infrastructure, error) {
	objects, err := example[extensionsv1alpha1.Infrastructure](s, s.folder()+"30-infrastructure.yaml")
	if err != nil {
		return nil, err
	}
	return objects[0], nil
}

// Worker is the Worker of example/ on an Infrastructure that was reconciled. It is not created yet.
func (s *Shoot) Worker(infrastructure *extensionsv1alpha1.Infrastructure) (*extensionsv1alpha1.Worker, error) {
	objects, err := example[extensionsv1alpha1.Worker](s, s.folder()+"30-worker.yaml")
	if err != nil {
		return nil, err
	}
	objects[0].Spec.InfrastructureProviderStatus = infrastructure.Status.ProviderStatus.DeepCopy()
	return objects[0], nil
}

// ControlPlaneObject is the ControlPlane of example/ on an Infrastructure that was reconciled. It is not created yet.
func (s *Shoot) ControlPlaneObject(infrastructure *extensionsv1alpha1.Infrastructure) (*extensionsv1alpha1.ControlPlane, error) {
	objects, err := example[extensionsv1alpha1.ControlPlane](s, s.folder()+"30-controlplane.yaml")
	if err != nil {
		return nil, err
	}
	objects[0].Spec.InfrastructureProviderStatus = infrastructure.Status.ProviderStatus.DeepCopy()
	return objects[0], nil
}

// CreateCluster creates what gardenlet creates before the Infrastructure: the Cluster, whose sites are changed before, and the
// Secrets.
func (s *Shoot) CreateCluster(ctx context.Context, change func(*v1alpha1.CloudProfileSite)) error {
	clusters, err := example[extensionsv1alpha1.Cluster](s, s.folder()+"30-cluster.yaml")
	if err != nil {
		return err
	}
	if err := changeSites(clusters[0], func(site *v1alpha1.CloudProfileSite) {
		if s.VCenter != nil && site.VSphere != nil {
			site.VSphere.Server, site.TLS = "https://"+s.VCenter.Address, &v1alpha1.TLS{CACert: s.VCenter.CA}
		}
		if s.Inventory != nil && site.Metal != nil {
			site.Metal.Server, site.TLS = s.Inventory.Server(), &v1alpha1.TLS{CACert: s.Inventory.CA()}
		}
		change(site)
	}); err != nil {
		return err
	}
	secrets, err := example[corev1.Secret](s, userDataFile)
	if err != nil {
		return err
	}
	credentials, err := s.credentials(ctx)
	if err != nil {
		return err
	}

	objects := []client.Object{clusters[0], credentials}
	for _, secret := range secrets {
		objects = append(objects, secret)
	}
	for _, object := range objects {
		if err := s.Seed.Client.Create(ctx, object); err != nil {
			return err
		}
	}
	return nil
}

func changeSites(cluster *extensionsv1alpha1.Cluster, change func(*v1alpha1.CloudProfileSite)) error {
	profile, config := &gardencorev1beta1.CloudProfile{}, &v1alpha1.CloudProfileConfig{}
	if err := json.Unmarshal(cluster.Spec.CloudProfile.Raw, profile); err != nil {
		return err
	}
	if err := json.Unmarshal(profile.Spec.ProviderConfig.Raw, config); err != nil {
		return err
	}
	for i := range config.Sites {
		change(&config.Sites[i])
	}
	var err error
	if profile.Spec.ProviderConfig.Raw, err = json.Marshal(config); err != nil {
		return err
	}
	content, err := json.Marshal(profile)
	cluster.Spec.CloudProfile = runtime.RawExtension{Raw: content}
	return err
}

// credentials is the Secret with the credentials of all sites.
func (s *Shoot) credentials(ctx context.Context) (*corev1.Secret, error) {
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "cloudprovider", Namespace: s.Name}, StringData: map[string]string{}}
	if s.VCenter != nil {
		secret.StringData[VSphereSite+".username"], secret.StringData[VSphereSite+".password"] = vcenter.Username, vcenter.Password
	}
	if s.Inventory != nil {
		token, err := s.Inventory.Token(ctx)
		if err != nil {
			return nil, err
		}
		for _, site := range MetalSites {
			secret.StringData[site+".token"] = token.Token
		}
	}
	for i, site := range s.openStackSites() {
		for key, value := range s.Access[i].SiteCredentials() {
			secret.StringData[site+"."+key] = value
		}
	}
	return secret, nil
}
