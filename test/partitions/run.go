// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package partitions

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	machinev1alpha1 "github.com/gardener/machine-controller-manager/pkg/apis/machine/v1alpha1"
	"github.com/gardener/machine-controller-manager/pkg/util/provider/machineutils"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
)

// deletionTimeout is how long the deletion of a machine may take to begin.
const deletionTimeout = 30 * time.Second

// step is something that happens at a time after the cut.
type step struct {
	at   time.Duration
	what string
	do   func(context.Context) error
}

// Run creates a shoot for each row, all at the same time, lets the partitions happen, all at the same time, and returns their outcomes by
// their IDs. Rows with which the extension is restarted come after the others, because all shoots have the same.
func (l *Lab) Run(ctx context.Context, t Timing, rows ...Row) (map[string]Outcome, error) {
	shoots, err := each(rows, func(row Row) (*Shoot, error) { return l.NewShoot(ctx, row.ShootOptions(t)) })
	if err != nil {
		return nil, err
	}
	outcomes := map[string]Outcome{}
	for _, restart := range []bool{false, true} {
		wave := slices.DeleteFunc(slices.Clone(rows), func(r Row) bool { return (r.Restart == RestartExtension) != restart })
		if len(wave) == 0 {
			continue
		}
		fmt.Fprintf(l.options.Progress, "  cut %d shoots off\n", len(wave))
		var restarted sync.WaitGroup
		var restartErr error
		if restart {
			l.Seed.Extension.Kill()
			restarted.Go(func() {
				restartErr = errors.Join(pause(ctx, t.Grace+t.Health/4), l.Seed.Extension.Start())
			})
		}
		of, err := each(wave, func(row Row) (Outcome, error) { return shoots[row.ID].partition(ctx, t, row) })
		restarted.Wait()
		if err := errors.Join(err, restartErr); err != nil {
			return nil, err
		}
		maps.Copy(outcomes, of)
	}
	return outcomes, nil
}

// each does something for all rows at the same time.
func each[T any](rows []Row, do func(Row) (T, error)) (map[string]T, error) {
	var (
		group  sync.WaitGroup
		mutex  sync.Mutex
		result = map[string]T{}
		errs   []error
	)
	for _, row := range rows {
		group.Go(func() {
			value, err := do(row)
			mutex.Lock()
			defer mutex.Unlock()
			result[row.ID] = value
			if err != nil {
				errs = append(errs, fmt.Errorf("row %s: %w", row.ID, err))
			}
		})
	}
	group.Wait()
	return result, errors.Join(errs...)
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// partition lets a row happen and returns what it came to.
func (s *Shoot) partition(ctx context.Context, t Timing, row Row) (Outcome, error) {
	o, err := newObserver(ctx, s, row.sites())
	if err != nil {
		return Outcome{}, err
	}
	cut := s.nodesOf(o, row)
	dead := ""
	if row.Dead {
		dead = cut[0]
	}
	if row.Begun {
		o.begun = cut[0]
	}
	observing, stop := context.WithCancel(ctx)
	defer stop()
	var (
		group     sync.WaitGroup
		observed  error
		problems  []string
		happening error
	)
	group.Go(func() { observed = o.run(observing) })

	for _, step := range s.steps(t, row, cut, dead, o.begun, &problems) {
		if happening = pause(ctx, time.Until(o.start.Add(step.at))); happening != nil {
			break
		}
		if happening = step.do(ctx); happening != nil {
			happening = fmt.Errorf("%s: %w", step.what, happening)
			break
		}
	}
	stop()
	group.Wait()
	if err := errors.Join(observed, happening); err != nil {
		return Outcome{}, err
	}
	if err := o.confirm(ctx); err != nil {
		return Outcome{}, err
	}
	out := o.outcome(row)
	out.Dead, out.Problems = cmp.Or(dead, o.begun), append(out.Problems, problems...)
	return out, nil
}

// nodesOf are the nodes that are cut off.
func (s *Shoot) nodesOf(o *observer, row Row) []string {
	var nodes []string
	for _, name := range slices.Sorted(maps.Keys(o.machines)) {
		for _, site := range row.sites() {
			if s.isOn(name, site) {
				nodes = append(nodes, name)
			}
		}
	}
	if row.Nodes > 0 {
		nodes = nodes[:row.Nodes]
	}
	return nodes
}

// steps are what happens in a row. The machine dead never comes back, and the deletion of the machine begun begins when the APIs are down.
func (s *Shoot) steps(t Timing, row Row, cut []string, dead, begun string, problems *[]string) []step {
	takeDown := func(ctx context.Context) error {
		if err := s.setAPIs(row, false); err != nil {
			return err
		}
		if begun != "" {
			if err := s.beginDeletion(ctx, row.Site, begun); err != nil {
				return err
			}
		}
		if row.Nodes > 0 {
			s.CutNodes(cut...)
		} else {
			for _, site := range row.sites() {
				s.CutSite(site)
			}
		}
		return nil
	}
	bringUp := func(context.Context) error {
		if dead == "" {
			s.Mend()
		} else {
			s.Mend(dead)
		}
		return s.setAPIs(row, true)
	}
	nothing := func(context.Context) error { return nil }
	steps := []step{{0, "cut off", takeDown}}
	lost := t.Grace + 2*time.Second
	if row.Restart == RestartMCM {
		steps = append(steps, step{lost + t.Health/4, "restart machine-controller-manager", func(context.Context) error {
			s.MCM.Kill()
			s.Driver.Kill()
			return errors.Join(s.MCM.Start(), s.Driver.Start())
		}})
	}
	if row.Reconcile {
		steps = append(steps, step{lost + t.Health/2, "reconcile the Worker", func(ctx context.Context) error {
			_, err := s.ChangeWorker(ctx, func(*extensionsv1alpha1.Worker) {})
			return err
		}})
	}
	at := lost + 2*t.Health
	for range row.Flaps {
		flap := steps[len(steps)-1].at + 2*t.Grace
		steps = append(steps, step{flap, "link up", bringUp}, step{flap + t.Flap, "link down", takeDown})
		at = flap + t.Flap + 2*t.Grace
	}
	held := row.Expect != ExpectExpired && row.Expect != ExpectMCM
	if held {
		steps = append(steps, step{at - time.Second, "look at what is set", func(ctx context.Context) error {
			found, err := s.unheld(ctx, row.sites())
			*problems = append(*problems, found...)
			return err
		}})
	}
	switch row.Back {
	case BackLater:
		end := at + t.Health + 15*time.Second
		if row.Dead || row.Begun {
			end += t.Health
		}
		return append(steps, step{at, "link back", bringUp}, step{end, "end", nothing})
	case BackAfterMaximum:
		at = lost + t.Maximum + t.Health
		return append(steps, step{at, "link back", bringUp}, step{at + t.Health, "end", nothing})
	default:
		return append(steps, step{at + 3*t.Health/2, "end", nothing})
	}
}

// beginDeletion scales the pool on a site down by a machine, and returns when the machine is being deleted.
func (s *Shoot) beginDeletion(ctx context.Context, site, name string) error {
	machine := &machinev1alpha1.Machine{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: s.Name}}
	first := fmt.Appendf(nil, `{"metadata":{"annotations":{%q:"1"}}}`, machineutils.MachinePriority)
	if err := s.Seed.Client.Patch(ctx, machine, client.RawPatch(types.MergePatchType, first)); err != nil {
		return err
	}
	if _, err := s.Pool(site).Scale(ctx, zones[site], -1); err != nil {
		return err
	}
	return wait.PollUntilContextTimeout(ctx, poll, deletionTimeout, true, func(ctx context.Context) (bool, error) {
		err := s.Seed.Client.Get(ctx, client.ObjectKeyFromObject(machine), machine)
		return machine.DeletionTimestamp != nil, err
	})
}

// setAPIs takes the APIs of the cut sites down or brings them up, if they are to be.
func (s *Shoot) setAPIs(row Row, up bool) error {
	if !row.APIDown {
		return nil
	}
	set := s.Proxy.TakeDown
	if up {
		set = s.Proxy.BringUp
	}
	var names []string
	for _, site := range row.sites() {
		names = append(names, servicesOf(site)...)
	}
	slices.Sort(names)
	var errs []error
	for _, service := range slices.Compact(names) {
		errs = append(errs, set(service))
	}
	return errors.Join(errs...)
}

// unheld says what a quarantine must have set on the machine deployments and machine classes of sites, but is not.
func (s *Shoot) unheld(ctx context.Context, sites []string) ([]string, error) {
	var missing []string
	deployments := &machinev1alpha1.MachineDeploymentList{}
	if err := s.Seed.Client.List(ctx, deployments, client.InNamespace(s.Name)); err != nil {
		return nil, err
	}
	for _, d := range deployments.Items {
		if !slices.Contains(sites, d.Spec.Template.Spec.NodeTemplateSpec.Labels[v1alpha1.LabelSite]) {
			continue
		}
		config := d.Spec.Template.Spec.MachineConfiguration
		if config == nil || config.DisableHealthTimeout == nil || !*config.DisableHealthTimeout {
			missing = append(missing, fmt.Sprintf("machine deployment %s has its health timeout", d.Name))
		}
		class := &machinev1alpha1.MachineClass{}
		if err := s.Seed.Client.Get(ctx, client.ObjectKey{Namespace: s.Name, Name: d.Spec.Template.Spec.Class.Name}, class); err != nil {
			return nil, err
		}
		if class.Annotations[v1alpha1.AnnotationQuarantinedUntil] == "" {
			missing = append(missing, fmt.Sprintf("machine class %s is not marked", class.Name))
		}
	}
	return missing, nil
}
