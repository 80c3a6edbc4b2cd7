// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package worker

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/util/sets"

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
func forceDelete(ctx context.Context, c *call, sites resolver, r remover) error {
	targets, err := targets(ctx, c, sites.machineClasses)
	if err != nil {
		return err
	}
	orphans := r.removeAll(ctx, targets)
	cleanUpSitesAfterDeletion(ctx, c, sites)
	tellOrphans(c, targets, orphans)
	return writeOrphans(ctx, c, orphans)
}

// targets returns the sites of the shoot, and those that only machine classes have. A site of the shoot is reached as the
// CloudProfile says, the others as each of their machine classes does.
func targets(ctx context.Context, c *call, machineClasses platform.Registry[platform.MachineClasses]) ([]*target, error) {
	d := readDocuments(ctx, c)
	if d.err != nil {
		c.log.Error(d.err, "Not all sites are known that may have machines")
	}
	objects, err := c.listMachineObjects(ctx)
	if err != nil {
		return nil, err
	}

	var targets []*target
	find := func(name string) *target {
		if i := slices.IndexFunc(targets, func(t *target) bool { return t.site == name }); i >= 0 {
			return targets[i]
		}
		t := &target{site: name, credentials: site.CredentialsOf(name, d.secret), classes: map[string]*v1alpha1.MachineProviderSpec{}}
		targets = append(targets, t)
		return t
	}
	located := sets.New[string]()
	for i := range d.sites {
		s := &d.sites[i]
		t := find(s.Name)
		of, err := machineClasses.For(s.Platform)
		if err == nil {
			t.specs, err = of.Locate(s, d.siteStatus(s.Name))
		}
		if err != nil {
			c.log.Error(err, "Site cannot be located", "site", s.Name)
		}
		if len(t.specs) > 0 {
			located.Insert(s.Name)
		}
	}
	specs := map[string]*v1alpha1.MachineProviderSpec{}
	for i := range objects.classes.Items {
		class := &objects.classes.Items[i]
		spec, err := codec.Decode[v1alpha1.MachineProviderSpec](&class.ProviderSpec)
		if err != nil {
			c.log.Error(err, "Machine class cannot be read", "machineClass", class.Name)
			continue
		}
		specs[class.Name] = spec
		if t := find(spec.Site); !located.Has(spec.Site) {
			t.specs = append(t.specs, spec)
		}
	}
	for _, machine := range objects.machines.Items {
		if spec := specs[machine.Spec.Class.Name]; spec != nil {
			t := find(spec.Site)
			t.known = append(t.known, platform.Machine{Name: machine.Name, ProviderID: machine.Spec.ProviderID})
			t.classes[machine.Name] = spec
		}
	}
	return targets, nil
}

// tellOrphans writes a log entry and an event for each site with orphans.
func tellOrphans(c *call, targets []*target, orphans []v1alpha1.Orphan) {
	for _, t := range targets {
		var items []string
		for _, orphan := range orphans {
			if orphan.Site != t.site {
				continue
			}
			c.log.Info("A forced deletion leaves a machine behind", "site", orphan.Site, "name", orphan.Name, "id", orphan.ID, "reason",
				orphan.Reason)
			items = append(items, describe(orphan))
		}
		if len(items) > 0 {
			c.events.Warning(c.worker, reasonOrphansLeft, eventnote.OnSite("Delete", t.site), "Site %q keeps %d: %s", t.site, len(items),
				eventnote.List(items))
		}
	}
}

func describe(orphan v1alpha1.Orphan) string {
	if orphan.Name == "" {
		return fmt.Sprintf("any %s (%s)", orphan.Kind, orphan.Reason)
	}
	return fmt.Sprintf("%s %s %s (%s)", orphan.Kind, orphan.Name, orphan.ID, orphan.Reason)
}
