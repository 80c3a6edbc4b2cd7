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
	"sync"
	"time"

	"github.com/gardener/gardener/pkg/utils/flow"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
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

// remover deletes machines without machine-controller-manager.
type remover struct {
	machines platform.Registry[platform.Machines]
	timeout  time.Duration
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
				orphans = append(orphans, t.unseen(left.Err)...)
			}
		case <-ctx.Done():
			orphans = append(orphans, t.unseen(fmt.Errorf("no answer: %w", ctx.Err()))...)
		}
	}
	return orphans
}

// remove deletes the machines of the target until there are none, none of them can be deleted or the time is over. A site that has
// been looked at once is looked at again after an error that may pass. Places that cannot be looked at do not keep the others. A known
// machine that no place lists counts as left until its deletion succeeds: it may still be being made, or be where no place of the site
// is any more.
func (r remover) remove(ctx context.Context, t *target) []v1alpha1.Orphan {
	if len(t.specs) == 0 {
		return t.unseen(errors.New("it is not known how the site is reached"))
	}
	platformName, _ := t.specs[0].Platform()
	machines, err := r.machines.For(platformName)
	if err != nil {
		return t.unseen(err)
	}

	removing, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	var (
		seen     bool
		tried    bool
		failures = map[string]error{}
		where    = newPlaces()
	)
	for {
		left, silent, err := where.list(ctx, machines, t)
		seen = seen || err == nil
		if err == nil {
			left = append(left, where.unlisted(t)...)
		}
		final := err == nil || !seen || platform.ClassOf(err) != platform.ClassTransient
		switch {
		case removing.Err() != nil, final && stuck(left, failures):
			orphans := t.orphans(left, failures)
			if err != nil {
				orphans = append(orphans, where.unseen(t, silent).unseen(err)...)
			}
			return orphans
		case !final || tried:
			pause(removing, removeInterval)
		}
		if len(left) > 0 {
			tried = true
			failures = r.round(removing, machines, t, left, where)
			where.settle(left, failures)
		}
	}
}

// places are where the machines of a target were found.
type places struct {
	// specs are those that machines were listed by, by provider ID.
	specs map[string]*v1alpha1.MachineProviderSpec
	// settled are the names of the machines that were listed or whose deletion succeeded.
	settled sets.Set[string]
}

func newPlaces() places {
	return places{specs: map[string]*v1alpha1.MachineProviderSpec{}, settled: sets.New[string]()}
}

// unlisted returns the known machines that no place listed and that may be there for all that.
func (p places) unlisted(t *target) []platform.Machine {
	return slices.DeleteFunc(slices.Clone(t.known), func(m platform.Machine) bool {
		return p.specs[m.ProviderID] != nil || p.settled.Has(m.Name) || t.classes[m.Name] == nil
	})
}

// settle remembers the machines whose deletion succeeded.
func (p places) settle(tried []platform.Machine, failures map[string]error) {
	for _, m := range tried {
		if err, ok := failures[keyOf(m)]; ok && err == nil {
			p.settled.Insert(m.Name)
		}
	}
}

// specOf returns what the machine is deleted with: the place that listed it, or else its class.
func (p places) specOf(t *target, m platform.Machine) *v1alpha1.MachineProviderSpec {
	return cmp.Or(p.specs[m.ProviderID], t.classes[m.Name])
}

// keyOf tells machines apart. One whose creation was interrupted has no provider ID.
func keyOf(m platform.Machine) string {
	return cmp.Or(m.ProviderID, m.Name)
}

// list returns the machines of all places of the target, each of them once, and the places that did not answer with their errors.
func (p places) list(ctx context.Context, machines platform.Machines, t *target) (left []platform.Machine, silent []*v1alpha1.MachineProviderSpec, err error) {
	var (
		found = make([][]platform.Machine, len(t.specs))
		seen  = map[string]bool{}
	)
	errs := platform.Each(len(t.specs), func(i int) (err error) {
		found[i], err = machines.List(ctx, platform.MachineRequest{Spec: t.specs[i], Credentials: t.credentials})
		return err
	})
	for i, spec := range t.specs {
		if errs[i] != nil {
			silent = append(silent, spec)
			continue
		}
		for _, machine := range found[i] {
			if seen[machine.ProviderID] {
				continue
			}
			seen[machine.ProviderID], p.specs[machine.ProviderID] = true, spec
			p.settled.Insert(machine.Name)
			left = append(left, machine)
		}
	}
	return left, silent, errors.Join(errs...)
}

// unseen returns the target with the machines that may be in the silent places: those that were not listed by another.
func (p places) unseen(t *target, silent []*v1alpha1.MachineProviderSpec) *target {
	result := *t
	result.known = slices.DeleteFunc(slices.Clone(t.known), func(m platform.Machine) bool {
		spec := p.specs[m.ProviderID]
		return spec != nil && !slices.Contains(silent, spec)
	})
	return &result
}

// stuck reports whether all machines that are left failed to be deleted with errors that do not pass.
func stuck(left []platform.Machine, failures map[string]error) bool {
	return !slices.ContainsFunc(left, func(m platform.Machine) bool {
		err := failures[keyOf(m)]
		return err == nil || platform.ClassOf(err) == platform.ClassTransient
	})
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// round deletes the machines and returns how that went for each, by its key.
func (r remover) round(ctx context.Context, machines platform.Machines, t *target, left []platform.Machine, where places) map[string]error {
	var (
		mutex    sync.Mutex
		failures = map[string]error{}
		tasks    []flow.TaskFn
	)
	for _, machine := range left {
		request := platform.MachineRequest{Name: machine.Name, ProviderID: machine.ProviderID, Spec: where.specOf(t, machine), Credentials: t.credentials, Once: true}
		tasks = append(tasks, func(ctx context.Context) error {
			err := platform.Try(func() error { return machines.Delete(ctx, request) })
			mutex.Lock()
			defer mutex.Unlock()
			failures[keyOf(machine)] = err
			return nil
		})
	}
	_ = flow.ParallelN(concurrentRemovals, tasks...)(ctx)
	return failures
}

// orphans returns the machines that are left, with the reason.
func (t *target) orphans(left []platform.Machine, failures map[string]error) []v1alpha1.Orphan {
	var orphans []v1alpha1.Orphan
	for _, machine := range left {
		reason := "there was no time left to delete it"
		if err := failures[keyOf(machine)]; err != nil {
			reason = err.Error()
		}
		orphans = append(orphans, v1alpha1.Orphan{Site: t.site, Kind: kindMachine, ID: machine.ProviderID, Name: machine.Name, Reason: reason})
	}
	slices.SortFunc(orphans, func(a, b v1alpha1.Orphan) int { return cmp.Compare(a.Name, b.Name) })
	return orphans
}

// unseen returns the machines that the seed knows of, or one orphan without a name for whatever a site has that could not be looked
// at.
func (t *target) unseen(err error) []v1alpha1.Orphan {
	reason := fmt.Sprintf("the site could not be looked at: %v", err)
	if len(t.known) == 0 {
		return []v1alpha1.Orphan{{Site: t.site, Kind: kindMachine, Reason: reason}}
	}
	failures := map[string]error{}
	for _, machine := range t.known {
		failures[keyOf(machine)] = errors.New(reason)
	}
	return t.orphans(t.known, failures)
}
