// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package machine

import (
	machinev1alpha1 "github.com/gardener/machine-controller-manager/pkg/apis/machine/v1alpha1"
	corev1 "k8s.io/api/core/v1"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/codec"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
)

// userDataKey is the key of the user data in the secret of a machine class.
const userDataKey = "userData"

// target is what a call is about: the platform's machines and what they are asked.
type target struct {
	machines platform.Machines
	request  platform.MachineRequest
}

// resolve completes t. It fills in the spec before anything else can fail, so that errors and metrics name the site.
func (d *hybridDriver) resolve(t *target, class *machinev1alpha1.MachineClass, secret *corev1.Secret) error {
	if class.Provider != Provider {
		return platform.NewError(platform.ClassConfiguration, "machine class %q is for provider %q, but this driver is for %q", class.Name,
			class.Provider, Provider)
	}
	spec, err := codec.Decode[v1alpha1.MachineProviderSpec](&class.ProviderSpec)
	if err != nil {
		return platform.NewError(platform.ClassConfiguration, "provider spec of machine class %q: %w", class.Name, err)
	}
	t.request.Spec = spec
	name, ok := spec.Platform()
	if !ok {
		return platform.NewError(platform.ClassConfiguration, "provider spec of machine class %q must have the block of exactly one platform",
			class.Name)
	}
	if t.machines, err = d.machines.For(name); err != nil {
		return err
	}
	if secret == nil {
		return platform.NewError(platform.ClassConfiguration, "machine class %q has no secret", class.Name)
	}
	t.request.Credentials = site.CredentialsOf(spec.Site, secret.Data)
	return nil
}
