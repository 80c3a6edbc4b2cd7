// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package worker

import (
	"context"
	"errors"

	v1beta1helper "github.com/gardener/gardener/pkg/api/core/v1beta1/helper"
	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	v1beta1constants "github.com/gardener/gardener/pkg/apis/core/v1beta1/constants"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/codec"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/helper"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/controller/workersites"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
)

// facts are what the shoot's documents say about its sites. Documents that cannot be read are nil.
type facts struct {
	region  string
	profile *v1alpha1.CloudProfileConfig
	sites   []site.Site
	// sitesErr says why sites of the shoot are not in sites.
	sitesErr error
	status   *v1alpha1.InfrastructureStatus
	// secret is the data of the shoot's Secret.
	secret map[string][]byte
	// images are those that the Worker's machines used when it was reconciled the last time.
	images []v1alpha1.MachineImage
}

// readFacts always returns facts. The error says what of them is missing for all sites.
func (d *delegate) readFacts(ctx context.Context) (*facts, error) {
	var (
		f    = &facts{region: d.worker.Spec.Region}
		errs []error
	)

	known, err := workersites.Read(ctx, d.client, d.worker, d.cluster)
	errs = append(errs, err)
	f.profile, f.sites, f.sitesErr, f.secret = known.Profile, known.Sites, known.Unresolved, known.Secret
	status, err := workersites.Decode[v1alpha1.InfrastructureStatus]("infrastructureProviderStatus of the Worker", d.worker.Spec.InfrastructureProviderStatus)
	errs = append(errs, err)
	f.status = status

	workerStatus, err := codec.Decode[v1alpha1.WorkerStatus](d.worker.Status.ProviderStatus)
	switch {
	case err == nil:
		f.images = workerStatus.MachineImages
	case !errors.Is(err, codec.ErrEmpty):
		d.log.Error(err, "The machine images in the status of the Worker cannot be read")
	}

	return f, errors.Join(errs...)
}

// locate finds the site of the zone. Its error is that of the zone.
func (f *facts) locate(z *zone) {
	if s, _ := site.FindZone(f.sites, z.name); s != nil {
		z.site, z.siteName = s, s.Name
		return
	}
	if z.err == nil {
		z.err = f.sitesErr
	}
	if profile, _ := helper.FindZone(f.profile, f.region, z.name); profile != nil {
		z.siteName = profile.Name
		if z.err == nil {
			z.err = platform.InSite(z.siteName, platform.NewError(platform.ClassConfiguration, "the infrastructureConfig of the Shoot does not list the site"))
		}
		return
	}
	if z.err == nil {
		z.err = platform.NewError(platform.ClassConfiguration, "no site in region %q of the CloudProfile has the zone", f.region)
	}
}

// siteStatus returns what the infrastructure of the site came to, nil if it is not ready.
func (f *facts) siteStatus(name string) *v1alpha1.SiteStatus {
	if f.status == nil {
		return nil
	}
	for i := range f.status.Sites {
		if f.status.Sites[i].Name == name {
			return &f.status.Sites[i]
		}
	}
	return nil
}

// capabilities returns those of the machine type and their definitions. For a CloudProfile without capabilities they are the
// pool's architecture.
func (d *delegate) capabilities(p *pool) (gardencorev1beta1.Capabilities, []gardencorev1beta1.CapabilityDefinition) {
	spec := d.cluster.CloudProfile.Spec
	if len(spec.MachineCapabilities) > 0 {
		if machineType := v1beta1helper.FindMachineTypeByName(spec.MachineTypes, p.spec.MachineType); machineType != nil {
			return machineType.Capabilities, spec.MachineCapabilities
		}
		return nil, spec.MachineCapabilities
	}
	return gardencorev1beta1.Capabilities{v1beta1constants.ArchitectureName: {architecture(p)}},
		[]gardencorev1beta1.CapabilityDefinition{{
			Name:   v1beta1constants.ArchitectureName,
			Values: []string{v1beta1constants.ArchitectureAMD64, v1beta1constants.ArchitectureARM64},
		}}
}
