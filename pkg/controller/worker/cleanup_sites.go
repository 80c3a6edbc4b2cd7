// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package worker

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/codec"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
)

// reasonNotCleanedUp is the reason of the events about sites that keep something which no pool needs any more.
const reasonNotCleanedUp = "SiteNotCleanedUp"

// cleanUpSites deletes what sites have for pools that no machine needs any more. It does nothing if it is not known what machines
// need.
func (d *delegate) cleanUpSites(ctx context.Context) error {
	if d.planned == nil {
		return nil
	}
	inUse, err := d.specsInUse(ctx, d.planned)
	if err != nil {
		return err
	}
	return d.resolver.cleanUp(ctx, d.planned.sites, inUse)
}

// cleanUpSitesAfterDeletion deletes all that sites have for pools. A site that cannot be cleaned up keeps no Worker from being
// deleted: the deletion of the Infrastructure comes next, finds the same objects and knows when a site may be given up.
func (d *delegate) cleanUpSitesAfterDeletion(ctx context.Context) {
	f, err := d.readFacts(ctx)
	if err != nil {
		d.log.Error(err, "Not all sites are known that may have something for pools")
	}
	if err := d.resolver.cleanUp(ctx, f.sites, nil); err != nil {
		d.log.Error(err, "Not all sites could be cleaned up")
		d.events.Warn(d.worker, reasonNotCleanedUp, "Delete", "%v", err)
	}
}

// cleanUp asks all sites at the same time. Those that do not answer in time have an error.
func (r resolver) cleanUp(ctx context.Context, sites []site.Site, inUse []*v1alpha1.MachineProviderSpec) error {
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()

	answers := make([]<-chan answer, len(sites))
	for i := range sites {
		s := &sites[i]
		answers[i] = platform.Ask(func() (*v1alpha1.MachineProviderSpec, error) {
			machineClasses, err := r.machineClasses.For(s.Platform)
			if err == nil {
				err = machineClasses.CleanUp(ctx, s, ofSite(inUse, s.Name))
			}
			return nil, err
		})
	}

	var errs []error
	for i := range sites {
		if err := r.await(ctx, answers[i]).Err; err != nil {
			errs = append(errs, fmt.Errorf("deleting what no pool needs any more: %w", platform.InSite(sites[i].Name, err)))
		}
	}
	return errors.Join(errs...)
}

func ofSite(specs []*v1alpha1.MachineProviderSpec, siteName string) []*v1alpha1.MachineProviderSpec {
	return slices.DeleteFunc(slices.Clone(specs), func(spec *v1alpha1.MachineProviderSpec) bool { return spec.Site != siteName })
}

// specsInUse returns the provider specs of all machines that there are or will be: those of the plan, and of the classes that machine
// deployments, machine sets with replicas and machines have.
func (d *delegate) specsInUse(ctx context.Context, p *plan) ([]*v1alpha1.MachineProviderSpec, error) {
	objects, err := d.listMachineObjects(ctx)
	if err != nil {
		return nil, err
	}
	var (
		specs []*v1alpha1.MachineProviderSpec
		used  = sets.New[string]()
	)
	p.zones(func(_ *pool, z *zone) {
		if z.err == nil {
			specs = append(specs, z.spec)
		}
		if z.kept != nil {
			used.Insert(z.kept.className)
		}
	})
	for _, deployment := range objects.deployments.Items {
		used.Insert(deployment.Spec.Template.Spec.Class.Name)
	}
	for _, machineSet := range objects.machineSets.Items {
		if machineSet.Spec.Replicas > 0 {
			used.Insert(machineSet.Spec.Template.Spec.Class.Name)
		}
	}
	for _, machine := range objects.machines.Items {
		used.Insert(machine.Spec.Class.Name)
	}
	for i := range objects.classes.Items {
		class := &objects.classes.Items[i]
		if !used.Has(class.Name) {
			continue
		}
		spec, err := codec.Decode[v1alpha1.MachineProviderSpec](&class.ProviderSpec)
		if err != nil {
			return nil, fmt.Errorf("machine class %s: %w", class.Name, err)
		}
		specs = append(specs, spec)
	}
	return specs, nil
}
