// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package worker

import (
	"context"
	"fmt"
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/codec"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/eventnote"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
)

// reasonOrphansLeft is the reason of the events about machines that a forced deletion left behind.
const reasonOrphansLeft = "OrphansLeft"

// forceDelete deletes the machines of all sites without machine-controller-manager, which may be gone already, and writes down
// those that are left. The error is one of the seed: no site keeps a forced deletion. Machine objects are gardenlet's.
func (d *delegate) forceDelete(ctx context.Context, r remover) error {
	targets, err := d.targets(ctx)
	if err != nil {
		return err
	}
	orphans := r.removeAll(ctx, targets)
	d.cleanUpSitesAfterDeletion(ctx)
	d.tellOrphans(targets, orphans)
	return d.writeOrphans(ctx, orphans)
}

// target is a site that may have machines of the shoot.
type target struct {
	site string
	// specs are the places of the site that have the machines.
	specs       []*v1alpha1.MachineProviderSpec
	credentials site.Credentials
	// known are the machines that the seed knows of.
	known []platform.Machine
	// classes are the specs of the machine classes of the known machines, by name of the machine.
	classes map[string]*v1alpha1.MachineProviderSpec
}

// targets returns the sites of the shoot, and those that only machine classes have. A site of the shoot is reached as the
// CloudProfile says, the others as each of their machine classes does.
func (d *delegate) targets(ctx context.Context) ([]*target, error) {
	f, err := d.readFacts(ctx)
	if err != nil {
		d.log.Error(err, "Not all sites are known that may have machines")
	}
	objects, err := d.listMachineObjects(ctx)
	if err != nil {
		return nil, err
	}

	var targets []*target
	find := func(name string) *target {
		if i := slices.IndexFunc(targets, func(t *target) bool { return t.site == name }); i >= 0 {
			return targets[i]
		}
		t := &target{site: name, credentials: site.CredentialsOf(name, f.secret), classes: map[string]*v1alpha1.MachineProviderSpec{}}
		targets = append(targets, t)
		return t
	}
	for i := range f.sites {
		s := &f.sites[i]
		t := find(s.Name)
		t.specs, err = d.resolver.locate(s, f.siteStatus(s.Name))
		if err != nil {
			d.log.Error(err, "Site cannot be located", "site", s.Name)
		}
	}
	located := slices.DeleteFunc(slices.Clone(targets), func(t *target) bool { return len(t.specs) == 0 })
	siteOfClass, specOfClass := map[string]*target{}, map[string]*v1alpha1.MachineProviderSpec{}
	for i := range objects.classes.Items {
		class := &objects.classes.Items[i]
		spec, err := codec.Decode[v1alpha1.MachineProviderSpec](&class.ProviderSpec)
		if err != nil {
			d.log.Error(err, "Machine class cannot be read", "machineClass", class.Name)
			continue
		}
		t := find(spec.Site)
		if !slices.Contains(located, t) {
			t.specs = append(t.specs, spec)
		}
		siteOfClass[class.Name], specOfClass[class.Name] = t, spec
	}
	for _, machine := range objects.machines.Items {
		if t := siteOfClass[machine.Spec.Class.Name]; t != nil {
			t.known = append(t.known, platform.Machine{Name: machine.Name, ProviderID: machine.Spec.ProviderID})
			t.classes[machine.Name] = specOfClass[machine.Spec.Class.Name]
		}
	}
	return targets, nil
}

// locate returns what is needed to list and delete machines on the site.
func (r resolver) locate(s *site.Site, status *v1alpha1.SiteStatus) ([]*v1alpha1.MachineProviderSpec, error) {
	machineClasses, err := r.machineClasses.For(s.Platform)
	if err != nil {
		return nil, err
	}
	return machineClasses.Locate(s, status)
}

// tellOrphans writes a log entry and an event for each site with orphans.
func (d *delegate) tellOrphans(targets []*target, orphans []v1alpha1.Orphan) {
	for _, t := range targets {
		var items []string
		for _, orphan := range orphans {
			if orphan.Site != t.site {
				continue
			}
			d.log.Info("A forced deletion leaves a machine behind", "site", orphan.Site, "name", orphan.Name, "id", orphan.ID, "reason", orphan.Reason)
			items = append(items, describe(orphan))
		}
		if len(items) > 0 {
			d.events.Warn(d.worker, reasonOrphansLeft, eventnote.OnSite("Delete", t.site), "Site %q keeps %d: %s", t.site, len(items), eventnote.List(items))
		}
	}
}

func describe(orphan v1alpha1.Orphan) string {
	if orphan.Name == "" {
		return fmt.Sprintf("any %s (%s)", orphan.Kind, orphan.Reason)
	}
	return fmt.Sprintf("%s %s %s (%s)", orphan.Kind, orphan.Name, orphan.ID, orphan.Reason)
}

// writeOrphans writes the orphans into the status of the Worker.
func (d *delegate) writeOrphans(ctx context.Context, orphans []v1alpha1.Orphan) error {
	status, err := codec.Decode[v1alpha1.WorkerStatus](d.worker.Status.ProviderStatus)
	if err != nil {
		status = &v1alpha1.WorkerStatus{}
	}
	status.Orphans = orphans
	raw, err := codec.Encode(status)
	if err != nil {
		return err
	}
	patch := client.MergeFrom(d.worker.DeepCopy())
	d.worker.Status.ProviderStatus = raw
	if err := d.client.Status().Patch(ctx, d.worker, patch); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("writing the orphans into the status of the Worker: %w", err)
	}
	return nil
}
