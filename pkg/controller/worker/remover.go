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

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
)

const (
	// removeTimeout is how long a forced deletion tries to delete machines. gardenlet waits 5 minutes for all of it.
	removeTimeout = 3 * time.Minute
	// concurrentRemovals is how many machines of a site are deleted at the same time.
	concurrentRemovals = 10
	// removeInterval is the time between two attempts to delete machines that take a while, such as hosts that are cleaned.
	removeInterval = 2 * time.Second
	// kindMachine is the kind of the orphans of a Worker.
	kindMachine = "machine"
)

var errNoTime = errors.New("there was no time left to delete it")

// remover deletes machines without machine-controller-manager.
type remover struct {
	machines platform.Registry[platform.Machines]
	timeout  time.Duration
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

// removeAll deletes the machines of all targets at the same time and returns what is left of them.
func (r remover) removeAll(ctx context.Context, targets []*target) []v1alpha1.Orphan {
	// Listing what is left needs time, too.
	ctx, cancel := context.WithTimeout(ctx, r.timeout+r.timeout/6)
	defer cancel()

	answers := make([]<-chan platform.Answer[[]v1alpha1.Orphan], len(targets))
	for i, t := range targets {
		answers[i] = platform.Ask(func() ([]v1alpha1.Orphan, error) { return r.remove(ctx, t), nil })
	}
	var orphans []v1alpha1.Orphan
	for i, t := range targets {
		select {
		case left := <-answers[i]:
			orphans = append(orphans, left.Value...)
			if left.Err != nil {
				orphans = append(orphans, t.unseen(t.known, left.Err)...)
			}
		case <-ctx.Done():
			orphans = append(orphans, t.unseen(t.known, fmt.Errorf("no answer: %w", ctx.Err()))...)
		}
	}
	return orphans
}

// removal is what is found out about the machines of a target while they are deleted.
type removal struct {
	*target

	machines platform.Machines
	// places are the specs that machines were listed by, by provider ID.
	places map[string]*v1alpha1.MachineProviderSpec
	// settled are the names of the machines that were listed or whose deletion succeeded.
	settled sets.Set[string]
	// results are what came of the last deletions, by the keys of the machines.
	results map[string]error
}

// remove deletes the machines of the target until there are none, none of them can be deleted or the time is over. A site that has
// been looked at once is looked at again after an error that may pass. Places that cannot be looked at do not keep the others. A known
// machine that no place lists counts as left until its deletion succeeds: it may still be being made, or be where no place of the site
// is any more.
func (r remover) remove(ctx context.Context, t *target) []v1alpha1.Orphan {
	if len(t.specs) == 0 {
		return t.unseen(t.known, errors.New("it is not known how the site is reached"))
	}
	platformName, _ := t.specs[0].Platform()
	machines, err := r.machines.For(platformName)
	if err != nil {
		return t.unseen(t.known, err)
	}

	removing, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	var (
		m           = removal{target: t, machines: machines, places: map[string]*v1alpha1.MachineProviderSpec{}, settled: sets.New[string]()}
		seen, tried bool
	)
	for {
		left, silent, err := m.list(ctx)
		seen = seen || err == nil
		final := err == nil || !seen || platform.ClassOf(err) != platform.ClassTransient
		switch {
		case removing.Err() != nil, final && m.stuck(left):
			orphans := t.orphans(left, m.results)
			if err != nil {
				orphans = append(orphans, t.unseen(m.hidden(silent), err)...)
			}
			return orphans
		case !final || tried:
			pause(removing, removeInterval)
		}
		if len(left) > 0 {
			tried = true
			m.delete(removing, left)
		}
	}
}

// list returns the machines that are left, each of them once, and the places that did not answer with their errors.
func (m *removal) list(ctx context.Context) (left []platform.Machine, silent []*v1alpha1.MachineProviderSpec, err error) {
	found := make([][]platform.Machine, len(m.specs))
	errs := platform.Each(len(m.specs), func(i int) (err error) {
		found[i], err = m.machines.List(ctx, platform.MachineRequest{Spec: m.specs[i], Credentials: m.credentials})
		return err
	})
	seen := sets.New[string]()
	for i, spec := range m.specs {
		if errs[i] != nil {
			silent = append(silent, spec)
			continue
		}
		for _, machine := range found[i] {
			if seen.Has(machine.ProviderID) {
				continue
			}
			seen.Insert(machine.ProviderID)
			m.settled.Insert(machine.Name)
			m.places[machine.ProviderID] = spec
			left = append(left, machine)
		}
	}
	if err = errors.Join(errs...); err != nil {
		return left, silent, err
	}
	for _, machine := range m.known {
		if m.places[machine.ProviderID] == nil && !m.settled.Has(machine.Name) && m.classes[machine.Name] != nil {
			left = append(left, machine)
		}
	}
	return left, nil, nil
}

// hidden returns the known machines that may be in the silent places: those that were not listed by another.
func (m *removal) hidden(silent []*v1alpha1.MachineProviderSpec) []platform.Machine {
	return slices.DeleteFunc(slices.Clone(m.known), func(machine platform.Machine) bool {
		spec := m.places[machine.ProviderID]
		return spec != nil && !slices.Contains(silent, spec)
	})
}

// stuck reports whether all machines that are left failed to be deleted with errors that do not pass.
func (m *removal) stuck(left []platform.Machine) bool {
	return !slices.ContainsFunc(left, func(machine platform.Machine) bool {
		err := m.results[keyOf(machine)]
		return err == nil || platform.ClassOf(err) == platform.ClassTransient
	})
}

// delete deletes each machine with the place that listed it, or else with its class.
func (m *removal) delete(ctx context.Context, left []platform.Machine) {
	var (
		errs  = make([]error, len(left))
		tasks []flow.TaskFn
	)
	for i, machine := range left {
		tasks = append(tasks, func(ctx context.Context) error {
			errs[i] = platform.Try(func() error {
				return m.machines.Delete(ctx, platform.MachineRequest{
					Name:        machine.Name,
					ProviderID:  machine.ProviderID,
					Spec:        cmp.Or(m.places[machine.ProviderID], m.classes[machine.Name]),
					Credentials: m.credentials,
					Once:        true,
				})
			})
			return nil
		})
	}
	_ = flow.ParallelN(concurrentRemovals, tasks...)(ctx)

	m.results = map[string]error{}
	for i, machine := range left {
		m.results[keyOf(machine)] = errs[i]
		if errs[i] == nil {
			m.settled.Insert(machine.Name)
		}
	}
}

// keyOf tells machines apart. One whose creation was interrupted has no provider ID.
func keyOf(m platform.Machine) string {
	return cmp.Or(m.ProviderID, m.Name)
}

// orphans returns the machines that are left, with the reason.
func (t *target) orphans(left []platform.Machine, results map[string]error) []v1alpha1.Orphan {
	var orphans []v1alpha1.Orphan
	for _, machine := range left {
		err := cmp.Or(results[keyOf(machine)], errNoTime)
		orphans = append(orphans, v1alpha1.Orphan{
			Site: t.site, Kind: kindMachine, ID: machine.ProviderID, Name: machine.Name, Reason: err.Error(),
		})
	}
	slices.SortFunc(orphans, func(a, b v1alpha1.Orphan) int { return cmp.Compare(a.Name, b.Name) })
	return orphans
}

// unseen returns the known machines that could not be looked at, or one orphan without a name for whatever is there.
func (t *target) unseen(known []platform.Machine, err error) []v1alpha1.Orphan {
	if len(known) == 0 {
		known = []platform.Machine{{}}
	}
	results := map[string]error{}
	for _, machine := range known {
		results[keyOf(machine)] = fmt.Errorf("the site could not be looked at: %w", err)
	}
	return t.orphans(known, results)
}
