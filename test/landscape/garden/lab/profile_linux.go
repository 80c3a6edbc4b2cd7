// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	securityv1alpha1 "github.com/gardener/gardener/pkg/apis/security/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/codec"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/garden"
)

// folder is where the examples are in example/.
const folder = "openstack-vsphere-metal/"

// CreateProfile creates the CloudProfile, and the credentials of all sites for shoots.
func (l *Lab) CreateProfile(ctx context.Context) error {
	profiles, err := garden.Example[*gardencorev1beta1.CloudProfile](folder + "20-cloudprofile.yaml")
	if err != nil {
		return err
	}
	if err := l.locateSites(profiles[0]); err != nil {
		return err
	}
	name := metav1.ObjectMeta{Name: "hybrid", Namespace: garden.Namespace}
	for _, object := range []client.Object{
		profiles[0],
		&corev1.Secret{ObjectMeta: name, StringData: l.secretData()},
		&securityv1alpha1.CredentialsBinding{
			ObjectMeta: name, Provider: securityv1alpha1.CredentialsBindingProvider{Type: garden.ProviderType},
			CredentialsRef: corev1.ObjectReference{APIVersion: "v1", Kind: "Secret", Name: name.Name, Namespace: name.Namespace},
		},
	} {
		if err := l.Client.Create(ctx, object); err != nil {
			return fmt.Errorf("create %T: %w", object, err)
		}
	}
	return nil
}

// secretData has the credentials of all sites.
func (l *Lab) secretData() map[string]string {
	return l.SiteCredentials(slices.Collect(maps.Keys(l.credentials))...)
}

// SiteCredentials has the credentials of some sites, for the Secret of a shoot.
func (l *Lab) SiteCredentials(sites ...string) map[string]string {
	result := map[string]string{}
	for _, site := range sites {
		for key, value := range l.credentials[site] {
			result[site+"."+key] = value
		}
	}
	return result
}

// Locate says in a file with a CloudProfile where its sites are.
func (l *Lab) Locate(path string) error {
	content, err := os.ReadFile(path) // #nosec G304 -- a file of the caller
	if err != nil {
		return err
	}
	profile := &gardencorev1beta1.CloudProfile{}
	if err := yaml.UnmarshalStrict(content, profile); err != nil {
		return err
	}
	if err := l.locateSites(profile); err != nil {
		return err
	}
	if content, err = yaml.Marshal(profile); err != nil {
		return err
	}
	return os.WriteFile(path, content, 0o600)
}

// locateSites says in a CloudProfile where its sites are.
func (l *Lab) locateSites(profile *gardencorev1beta1.CloudProfile) error {
	config, err := codec.Decode[v1alpha1.CloudProfileConfig](profile.Spec.ProviderConfig)
	if err != nil {
		return err
	}
	for i := range config.Sites {
		l.locate(&config.Sites[i])
	}
	if l.Machinery != nil {
		// The image has the type of the extension that renders what its machines do at first.
		profile.Spec.MachineImages[0].Name, config.MachineImages[0].Name = garden.NodeSystem, garden.NodeSystem
	}
	profile.Spec.ProviderConfig, err = codec.Encode(config)
	return err
}
