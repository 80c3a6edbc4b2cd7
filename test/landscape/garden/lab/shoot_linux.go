// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"context"
	"errors"
	"fmt"
	"slices"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	securityv1alpha1 "github.com/gardener/gardener/pkg/apis/security/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/codec"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/garden"
)

// folder is where the examples are in example/.
const folder = "openstack-vsphere-metal/"

// Pool is the name of the pool on all sites.
const Pool = "mixed"

// zones are the zones of the pool on all sites.
var zones = map[string]string{Cloud: "cloud-a", VC: "vc-1", Racks: "rack-1", Hall: "hall-1"}

// CreateProfile creates the CloudProfile, and the credentials of all sites for shoots.
func (l *Lab) CreateProfile(ctx context.Context) error {
	profiles, err := garden.Example[*gardencorev1beta1.CloudProfile](folder + "20-cloudprofile.yaml")
	if err != nil {
		return err
	}
	config, err := codec.Decode[v1alpha1.CloudProfileConfig](profiles[0].Spec.ProviderConfig)
	if err != nil {
		return err
	}
	for i := range config.Sites {
		l.locate(&config.Sites[i])
	}
	if profiles[0].Spec.ProviderConfig, err = codec.Encode(config); err != nil {
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
	result := map[string]string{}
	for site, keys := range l.credentials {
		for key, value := range keys {
			result[site+"."+key] = value
		}
	}
	return result
}

// Shoot is the shoot of the example with some of its sites. It is not created yet.
func (l *Lab) Shoot(sites ...string) (*gardencorev1beta1.Shoot, error) {
	shoots, err := garden.Example[*gardencorev1beta1.Shoot](folder + "40-shoot.yaml")
	if err != nil {
		return nil, err
	}
	shoot := shoots[0]
	shoot.Name, shoot.Namespace, shoot.Spec.CredentialsBindingName = ShootName, garden.Namespace, new("hybrid")
	return shoot, SetSites(shoot, sites...)
}

// PoolOf is the pool of the shoot on all sites.
func PoolOf(shoot *gardencorev1beta1.Shoot) *gardencorev1beta1.Worker {
	workers := shoot.Spec.Provider.Workers
	i := slices.IndexFunc(workers, func(w gardencorev1beta1.Worker) bool { return w.Name == Pool })
	return &workers[i]
}

// Overlap gives the second site of a shoot the nodes of the first one, which cannot work.
func Overlap(shoot *gardencorev1beta1.Shoot) error {
	config, err := codec.Decode[v1alpha1.InfrastructureConfig](shoot.Spec.Provider.InfrastructureConfig)
	if err != nil {
		return err
	}
	config.Sites[1].Nodes = config.Sites[0].Nodes
	shoot.Spec.Provider.InfrastructureConfig, err = codec.Encode(config)
	return err
}

// SetSites lets a shoot have some sites of the example, and the pool on all sites a machine on each. The other pool is there if both
// of its sites are.
func SetSites(shoot *gardencorev1beta1.Shoot, sites ...string) error {
	shoots, err := garden.Example[*gardencorev1beta1.Shoot](folder + "40-shoot.yaml")
	if err != nil {
		return err
	}
	full := shoots[0].Spec.Provider
	config, err := codec.Decode[v1alpha1.InfrastructureConfig](full.InfrastructureConfig)
	if err != nil {
		return err
	}
	config.Sites = slices.DeleteFunc(config.Sites, func(s v1alpha1.InfrastructureSite) bool { return !slices.Contains(sites, s.Name) })
	if shoot.Spec.Provider.InfrastructureConfig, err = codec.Encode(config); err != nil {
		return err
	}
	var workers []gardencorev1beta1.Worker
	for _, worker := range full.Workers {
		worker.Zones = slices.DeleteFunc(worker.Zones, func(zone string) bool {
			return !slices.ContainsFunc(sites, func(site string) bool { return zones[site] == zone })
		})
		if worker.Name == Pool {
			worker.Minimum, worker.Maximum = int32(len(worker.Zones)), 2*int32(len(worker.Zones)) // #nosec G115 -- a pool has few zones
		} else if len(worker.Zones) < 2 {
			continue
		}
		workers = append(workers, worker)
	}
	if len(workers) == 0 {
		return errors.New("no pool is left")
	}
	shoot.Spec.Provider.Workers = workers
	return nil
}
