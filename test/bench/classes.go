// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"

	machinev1alpha1 "github.com/gardener/machine-controller-manager/pkg/apis/machine/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/codec"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/machine"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/owner"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
)

// machineClass is a class of machines with the provider spec.
func (c *cloud) machineClass(name string, spec *v1alpha1.MachineProviderSpec) (*machinev1alpha1.MachineClass, error) {
	return newMachineClass(c.shoot, name, spec)
}

// newMachineClass is a class of machines with the provider spec, as the Worker controller writes it.
func newMachineClass(namespace, name string, spec *v1alpha1.MachineProviderSpec) (*machinev1alpha1.MachineClass, error) {
	raw, err := codec.Encode(spec)
	if err != nil {
		return nil, err
	}
	return &machinev1alpha1.MachineClass{
		ObjectMeta:   metav1.ObjectMeta{Name: name, Namespace: namespace},
		Provider:     machine.Provider,
		ProviderSpec: *raw,
		SecretRef:    &corev1.SecretReference{Name: secretName(spec.Site), Namespace: namespace},
	}, nil
}

// secretName is the name of the secret of all classes of a site.
func secretName(site string) string {
	return "bench-" + site
}

// secret holds the credentials and the user data of the site's classes.
func (c *cloud) secret() *corev1.Secret {
	return newSecret(c.shoot, c.site)
}

// newSecret holds the credentials of the site and the user data.
func newSecret(namespace string, s *site.Site) *corev1.Secret {
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: secretName(s.Name), Namespace: namespace},
		Data:       map[string][]byte{"userData": []byte("#cloud-config\n")},
	}
	for key, value := range s.Credentials {
		secret.Data[s.Name+"."+key] = []byte(value)
	}
	return secret
}

// poolClasses are the classes of several pools.
func (c *cloud) poolClasses(spec *v1alpha1.MachineProviderSpec, count int) ([]*machinev1alpha1.MachineClass, error) {
	var classes []*machinev1alpha1.MachineClass
	for i := range count {
		of := spec.DeepCopy()
		of.OpenStack.Metadata = map[string]string{owner.MetadataPool: fmt.Sprintf("pool-%d", i)}
		class, err := c.machineClass(fmt.Sprintf("%s-pool-%d", c.shoot, i), of)
		if err != nil {
			return nil, err
		}
		classes = append(classes, class)
	}
	return classes, nil
}
