// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package worker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/gardener/gardener/pkg/utils/flow"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/codec"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/eventnote"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
)

const (
	// reasonOrphansLeft is the reason of events about machines that a forced deletion left behind.
	reasonOrphansLeft = "OrphansLeft"
	// kindMachine is the kind of the orphans of a Worker.
	kindMachine = "machine"

	// forceDeleteTimeout limits the deletion of machines. gardenlet waits 5 minutes for the whole forced deletion.
	forceDeleteTimeout = 3 * time.Minute
	// forceDeleteInterval is the time between two attempts to delete the machines of a site.
	forceDeleteInterval = 2 * time.Second
	// concurrentDeletions is the number of machines of a site that are deleted in parallel.
	concurrentDeletions = 10
)

// forceDelete deletes the machines of all sites without machine-controller-manager, which may be gone already, and stores those that
// are left in the status. A failing site does not fail the forced deletion. gardenlet deletes the machine objects.
func forceDelete(ctx context.Context, c *call, sites resolver, d forceDeleter) error {
	targets, err := targets(ctx, c, sites.machineClasses)
	if err != nil {
		return err
	}
	orphans := d.deleteAll(ctx, targets)
	cleanUpSitesAfterDeletion(ctx, c, sites)
	reportOrphans(c, targets, orphans)
	return writeOrphans(ctx, c, orphans)
}

// target is a site that may have machines of the shoot.
type target struct {
	site        string
	credentials site.Credentials
	// scopes are the provider specs by which the machines of the site can be listed.
	scopes []*v1alpha1.MachineProviderSpec
	// known are the machines that have objects in the seed.
	known []machine
}

// machine is a machine of a target.
type machine struct {
	platform.Machine

	// class is the provider spec of its machine class, nil if the machine has no object in the seed.
	class *v1alpha1.MachineProviderSpec
	// scope is the provider spec by which it was listed, nil if it was not listed yet.
	scope *v1alpha1.MachineProviderSpec
	// deleted is true if its deletion succeeded, and err is the error of the last attempt otherwise.
	deleted bool
	err     error
}

// targets returns the sites of the shoot, and those that only machine classes have. Sites of the shoot are accessed as the CloudProfile
// says, the others as their machine classes say.
func targets(ctx context.Context, c *call, machineClasses platform.Registry[platform.MachineClasses]) ([]*target, error) {
	d := readDocuments(ctx, c)
	if d.err != nil {
		c.log.Error(d.err, "Some sites that may have machines are unknown")
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
		t := &target{site: name, credentials: site.CredentialsOf(name, d.secret)}
		targets = append(targets, t)
		return t
	}
	located := sets.New[string]()
	for i := range d.sites {
		s := &d.sites[i]
		t := find(s.Name)
		of, err := machineClasses.For(s.Platform)
		if err == nil {
			t.scopes, err = of.Locate(s, d.siteStatus(s.Name))
		}
		if err != nil {
			c.log.Error(err, "Machines of the site cannot be located", "site", s.Name)
		}
		if len(t.scopes) > 0 {
			located.Insert(s.Name)
		}
	}
	specs := map[string]*v1alpha1.MachineProviderSpec{}
	for i := range objects.classes.Items {
		class := &objects.classes.Items[i]
		spec, err := codec.Decode[v1alpha1.MachineProviderSpec](&class.ProviderSpec)
		if err != nil {
			c.log.Error(err, "Machine class cannot be decoded", "machineClass", class.Name)
			continue
		}
		specs[class.Name] = spec
		if t := find(spec.Site); !located.Has(spec.Site) {
			t.scopes = append(t.scopes, spec)
		}
	}
	for _, m := range objects.machines.Items {
		if class := specs[m.Spec.Class.Name]; class != nil {
			t := find(class.Site)
			t.known = append(t.known, machine{Machine: platform.Machine{Name: m.Name, ProviderID: m.Spec.ProviderID}, class: class})
		}
	}
	return targets, nil
}

// forceDeleter deletes machines without machine-controller-manager.
type forceDeleter struct {
	machines platform.Registry[platform.Machines]
	timeout  time.Duration
}

// deleteAll deletes the machines of all targets in parallel and returns what is left of them.
func (d forceDeleter) deleteAll(ctx context.Context, targets []*target) []v1alpha1.Orphan {
	// The last list needs time, too.
	ctx, cancel := context.WithTimeout(ctx, d.timeout+d.timeout/6)
	defer cancel()

	answers := make([]<-chan platform.Answer[[]v1alpha1.Orphan], len(targets))
	for i, t := range targets {
		answers[i] = platform.Ask(func() ([]v1alpha1.Orphan, error) { return d.deleteMachines(ctx, t) })
	}
	var orphans []v1alpha1.Orphan
	for i, t := range targets {
		var left platform.Answer[[]v1alpha1.Orphan]
		select {
		case left = <-answers[i]:
		case <-ctx.Done():
			left.Err = fmt.Errorf("no answer: %w", ctx.Err())
		}
		orphans = append(orphans, left.Value...)
		if left.Err != nil {
			orphans = append(orphans, t.orphans(unlisted(t.known, left.Err))...)
		}
	}
	return orphans
}

// deleteMachines lists and deletes the machines of the target until there are none, none of the remaining ones can be deleted, or the
// timeout expires. Transient errors are retried once the site could be listed. Scopes that cannot be listed do not block the others.
func (d forceDeleter) deleteMachines(ctx context.Context, t *target) ([]v1alpha1.Orphan, error) {
	if len(t.scopes) == 0 {
		return nil, errors.New("access to the site is unknown")
	}
	name, _ := t.scopes[0].Platform()
	machines, err := d.machines.For(name)
	if err != nil {
		return nil, err
	}

	deleting, cancel := context.WithTimeout(ctx, d.timeout)
	defer cancel()
	var (
		s                  = siteMachines{target: t, platform: machines}
		reached, attempted bool
	)
	for i := range t.known {
		m := t.known[i] // deleteAll may give up the target and read known at any time.
		s.all = append(s.all, &m)
	}
	for {
		left, unreachable, err := s.list(ctx)
		reached = reached || err == nil
		retry := err != nil && reached && platform.ClassOf(err) == platform.ClassTransient
		if deleting.Err() != nil || !retry && !slices.ContainsFunc(left, (*machine).canBeDeleted) {
			if err != nil {
				left = append(left, unlisted(s.knownIn(unreachable), err)...)
			}
			return t.orphans(left), nil
		}
		if retry || attempted {
			pause(deleting, forceDeleteInterval)
		}
		if len(left) > 0 {
			attempted = true
			s.delete(deleting, left)
		}
	}
}

// siteMachines are the machines of a target that were found so far.
type siteMachines struct {
	*target

	platform platform.Machines
	all      []*machine
}

// list returns the machines that are left, and the scopes that could not be listed with their errors. If all scopes are listed, known
// machines that none of them has ever listed are left until their deletion succeeds: they may still be being created, or be in a scope
// that the site no longer has.
func (s *siteMachines) list(ctx context.Context) (left []*machine, unreachable []*v1alpha1.MachineProviderSpec, err error) {
	listed := make([][]platform.Machine, len(s.scopes))
	errs := platform.Each(len(s.scopes), func(i int) (err error) {
		listed[i], err = s.platform.List(ctx, platform.MachineRequest{Spec: s.scopes[i], Credentials: s.credentials})
		return err
	})
	for i, scope := range s.scopes {
		if errs[i] != nil {
			unreachable = append(unreachable, scope)
			continue
		}
		for _, found := range listed[i] {
			m := s.record(found)
			m.scope = scope
			if !slices.Contains(left, m) {
				left = append(left, m)
			}
		}
	}
	if err = errors.Join(errs...); err != nil {
		return left, unreachable, err
	}
	for _, m := range s.all {
		if m.scope == nil && !m.deleted {
			left = append(left, m)
		}
	}
	return left, nil, nil
}

// record returns the machine that was found. A known machine has no provider ID if its creation was interrupted.
func (s *siteMachines) record(found platform.Machine) *machine {
	i := slices.IndexFunc(s.all, func(m *machine) bool {
		return m.ProviderID == found.ProviderID && (m.ProviderID != "" || m.Name == found.Name)
	})
	if i < 0 {
		i = slices.IndexFunc(s.all, func(m *machine) bool { return m.scope == nil && m.Name == found.Name })
	}
	if i < 0 {
		s.all = append(s.all, &machine{Machine: found})
		return s.all[len(s.all)-1]
	}
	s.all[i].Machine = found
	return s.all[i]
}

// delete deletes each machine with the scope that listed it, or with its class.
func (s *siteMachines) delete(ctx context.Context, left []*machine) {
	var tasks []flow.TaskFn
	for _, m := range left {
		tasks = append(tasks, func(ctx context.Context) error {
			m.err = platform.Try(func() error {
				return s.platform.Delete(ctx, platform.MachineRequest{Name: m.Name, ProviderID: m.ProviderID, Spec: cmp.Or(m.scope, m.class),
					Credentials: s.credentials, Once: true})
			})
			m.deleted = m.err == nil
			return nil
		})
	}
	_ = flow.ParallelN(concurrentDeletions, tasks...)(ctx)
}

// knownIn returns the known machines that may be in the scopes, because no other scope has listed them.
func (s *siteMachines) knownIn(scopes []*v1alpha1.MachineProviderSpec) []machine {
	var known []machine
	for _, m := range s.all {
		if m.class != nil && (m.scope == nil || slices.Contains(scopes, m.scope)) {
			known = append(known, *m)
		}
	}
	return known
}

// canBeDeleted returns false if the last attempt failed with an error that is not transient.
func (m *machine) canBeDeleted() bool {
	return m.err == nil || platform.ClassOf(m.err) == platform.ClassTransient
}

// orphans returns the machines with the reasons why they are left.
func (t *target) orphans(left []*machine) []v1alpha1.Orphan {
	var orphans []v1alpha1.Orphan
	for _, m := range left {
		reason := "not deleted before the timeout"
		if m.err != nil {
			reason = m.err.Error()
		}
		orphans = append(orphans, v1alpha1.Orphan{Site: t.site, Kind: kindMachine, ID: m.ProviderID, Name: m.Name, Reason: reason})
	}
	slices.SortFunc(orphans, func(a, b v1alpha1.Orphan) int { return cmp.Compare(a.Name, b.Name) })
	return orphans
}

// unlisted returns the known machines of a site that cannot be listed, or one without a name if none is known, with the error.
func unlisted(known []machine, err error) []*machine {
	if len(known) == 0 {
		known = []machine{{}}
	}
	var left []*machine
	for _, m := range known {
		left = append(left, &machine{Machine: m.Machine, err: fmt.Errorf("machines of the site cannot be listed: %w", err)})
	}
	return left
}

// reportOrphans writes a log entry for each orphan and an event for each site with orphans.
func reportOrphans(c *call, targets []*target, orphans []v1alpha1.Orphan) {
	for _, t := range targets {
		var items []string
		for _, orphan := range orphans {
			if orphan.Site != t.site {
				continue
			}
			c.log.Info("Forced deletion left a machine behind", "site", orphan.Site, "name", orphan.Name, "id", orphan.ID, "reason",
				orphan.Reason)
			item := fmt.Sprintf("%s %s %s (%s)", orphan.Kind, orphan.Name, orphan.ID, orphan.Reason)
			if orphan.Name == "" {
				item = fmt.Sprintf("any %s (%s)", orphan.Kind, orphan.Reason)
			}
			items = append(items, item)
		}
		if len(items) > 0 {
			c.events.Warning(c.worker, reasonOrphansLeft, eventnote.OnSite("Delete", t.site), "Site %q still has %d machine(s): %s", t.site,
				len(items),
				eventnote.List(items))
		}
	}
}
