// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package worker

import (
	"context"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/helper"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
)

// resolver asks the sites what their machines are.
type resolver struct {
	machineClasses platform.Registry[platform.MachineClasses]
	timeout        time.Duration
}

type answer = platform.Answer[*v1alpha1.MachineProviderSpec]

// resolve asks for all zones that have no error yet at the same time. It returns after the timeout even if a site does not
// answer and its platform does not give up; the zone then has an error. Machines of a zone that runs with its class already are not
// replaced, so that nothing is asked of the site for that.
func (r resolver) resolve(ctx context.Context, d *delegate, p *plan, f *facts, running map[string]sets.Set[string]) {
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()

	answers := map[*zone]<-chan answer{}
	p.zones(func(pool *pool, z *zone) {
		if z.err != nil {
			return
		}
		request, err := d.request(pool, z, f)
		if err != nil {
			z.err = platform.InSite(z.siteName, err)
			return
		}
		machineClasses, err := r.machineClasses.For(z.site.Platform)
		if err == nil {
			z.labels = machineClasses.NodeLabels(request.Site, request.Zone)
			z.className, err = d.className(pool, z, machineClasses.RollsFor(request))
		}
		if err != nil {
			z.err = platform.InSite(z.siteName, err)
			return
		}
		if running[z.deploymentName].Has(z.className) {
			request.Rolling = nil
		}
		spec := d.newSpec(z)
		answers[z] = platform.Ask(func() (*v1alpha1.MachineProviderSpec, error) {
			return spec, machineClasses.Resolve(ctx, request, spec)
		})
	})

	p.zones(func(_ *pool, z *zone) {
		answers, ok := answers[z]
		if !ok {
			return
		}
		a := r.await(ctx, answers)
		z.spec, z.err = a.Value, a.Err
		if z.err != nil {
			z.spec, z.err = nil, platform.InSite(z.siteName, z.err)
		}
	})
}

// await returns the answer, also if it is there when the time is over because another site took all of it.
func (r resolver) await(ctx context.Context, answers <-chan answer) answer {
	select {
	case a := <-answers:
		return a
	case <-ctx.Done():
	}
	select {
	case a := <-answers:
		return a
	default:
		return answer{Err: platform.NewError(platform.ClassTransient, "no answer within %s: %w", r.timeout, ctx.Err())}
	}
}

// newSpec returns what all platforms have in common.
func (d *delegate) newSpec(z *zone) *v1alpha1.MachineProviderSpec {
	spec := &v1alpha1.MachineProviderSpec{Site: z.siteName, Shoot: d.cluster.Shoot.Status.TechnicalID}
	if z.image.Site.UserData != nil {
		spec.UserDataFormat = z.image.Site.UserData.Format
	}
	return spec
}

// request finds what the zone's machines are on its site. Its errors name what is missing.
func (d *delegate) request(p *pool, z *zone, f *facts) (platform.MachineClassRequest, error) {
	none := platform.MachineClassRequest{}

	status := f.siteStatus(z.siteName)
	if status == nil {
		return none, platform.NewError(platform.ClassTransient, "the infrastructure of the site is not ready")
	}
	if z.machineType = helper.FindMachineType(f.profile, p.spec.MachineType, z.siteName); z.machineType == nil {
		return none, platform.NewError(platform.ClassConfiguration, "the CloudProfile does not have machine type %q on the site", p.spec.MachineType)
	}
	capabilities, definitions := d.capabilities(p)
	z.image = helper.FindMachineImage(helper.MachineImageRequest{
		Name:         p.spec.MachineImage.Name,
		Version:      p.spec.MachineImage.Version,
		Site:         z.siteName,
		Capabilities: capabilities,
		Definitions:  definitions,
	}, f.profile.MachineImages, f.images)
	if z.image == nil {
		return none, platform.NewError(platform.ClassConfiguration, "neither the CloudProfile nor the status of the Worker has machine image %q in version %q for machine type %q on the site",
			p.spec.MachineImage.Name, p.spec.MachineImage.Version, p.spec.MachineType)
	}
	rootType, rootSize, err := rootVolume(p, z, f)
	if err != nil {
		return none, err
	}
	dataVolumes, err := dataVolumes(p, z, f)
	if err != nil {
		return none, err
	}

	share := d.share(p, z)
	i := slices.IndexFunc(z.site.Profile.Zones, func(s v1alpha1.SiteZone) bool { return s.Name == z.name })
	return platform.MachineClassRequest{
		Site:        z.site,
		Status:      status,
		Zone:        &z.site.Profile.Zones[i],
		MachineType: z.machineType,
		Capacity:    d.machineCapacity(p, z),
		Image:       z.image.Site,
		VolumeType:  rootType,
		VolumeSize:  rootSize,
		DataVolumes: dataVolumes,
		Settings:    p.workerSite(z.siteName),
		PodCIDRs:    d.podCIDRs(),
		Pool:        p.spec.Name,
		Minimum:     share.minimum,
		Rolling:     rolling(p, share),
	}, nil
}

// podCIDRs returns the shoot's pod ranges, one per IP family.
func (d *delegate) podCIDRs() []string {
	if networking := d.cluster.Shoot.Status.Networking; networking != nil && len(networking.Pods) > 0 {
		return networking.Pods
	}
	if networking := d.cluster.Shoot.Spec.Networking; networking != nil && networking.Pods != nil {
		return []string{*networking.Pods}
	}
	return nil
}
