// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package sitehealth

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	machinev1alpha1 "github.com/gardener/machine-controller-manager/pkg/apis/machine/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/record"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/eventnote"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
)

// siteFaults are the faults of a shoot's machines on a site.
type siteFaults struct {
	Site string
	// Faults are the last known faults. They stay while the site is unavailable.
	Faults []platform.Fault
	// Appeared and Gone are the changes since the last call.
	Appeared, Gone []platform.Fault
	// Answered is false until the site was probed for faults.
	Answered bool
	// Err is why the site reports no faults since then, nil if it reports them.
	Err   error
	Since time.Time
}

// faults returns the faults on the sites of an Infrastructure that have machines and report faults, ordered by site. Each change is
// returned once.
func (p *probers) faults(infra types.NamespacedName) []siteFaults {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	known := p.known(infra)
	result := make([]siteFaults, 0, len(known.faults))
	for _, name := range slices.Sorted(maps.Keys(known.faults)) {
		last, ok := p.probers[known.keys[name]].last()
		asked := slices.Contains(last.shoots, infra.Namespace)
		f := siteFaults{Site: name, Answered: ok && (asked || last.err != nil), Err: last.err, Since: last.since}
		if asked && last.err == nil {
			now := faultsOf(infra.Namespace, last.observed.Faults)
			f.Appeared, f.Gone = compare(known.faults[name], now)
			known.faults[name] = now
		}
		f.Faults = known.faults[name]
		result = append(result, f)
	}
	return result
}

func faultsOf(shoot string, faults []platform.Fault) []platform.Fault {
	return slices.DeleteFunc(slices.Clone(faults), func(f platform.Fault) bool { return f.Shoot != shoot })
}

// compare returns the faults that are new or changed, and the old ones of machines that no longer have any.
func compare(before, after []platform.Fault) (appeared, gone []platform.Fault) {
	appeared = slices.DeleteFunc(slices.Clone(after), func(f platform.Fault) bool { return slices.Contains(before, f) })
	gone = slices.DeleteFunc(slices.Clone(before), func(f platform.Fault) bool {
		return slices.ContainsFunc(after, func(is platform.Fault) bool { return is.Machine == f.Machine && is.Host == f.Host })
	})
	return appeared, gone
}

func note(siteName string, fault platform.Fault) string {
	return fmt.Sprintf("site %q: %s", siteName, fault)
}

// sitesOf returns the names of the sites with zones of the Worker's pools. The Worker may be nil.
func sitesOf(worker *extensionsv1alpha1.Worker, sites []site.Site) []string {
	if worker == nil {
		return nil
	}
	var names []string
	for _, pool := range worker.Spec.Pools {
		for _, zone := range pool.Zones {
			if s, _ := site.FindZone(sites, zone); s != nil {
				names = append(names, s.Name)
			}
		}
	}
	return names
}

const (
	// ReasonMachineFault is the reason of events about faults of machines.
	ReasonMachineFault = "MachineFault"
	// ReasonMachineFaultGone is the reason of events about machines whose faults are resolved.
	ReasonMachineFaultGone = "MachineFaultGone"
)

// recordFaults records changes of faults in events of the Worker and of the Machines.
func (r *reconciler) recordFaults(ctx context.Context, worker *extensionsv1alpha1.Worker, faults []siteFaults) {
	for _, f := range faults {
		for _, fault := range f.Appeared {
			r.recordFault(ctx, worker, fault.Machine, corev1.EventTypeWarning, ReasonMachineFault, note(f.Site, fault))
		}
		for _, fault := range f.Gone {
			fault.Message = "the fault is resolved"
			r.recordFault(ctx, worker, fault.Machine, corev1.EventTypeNormal, ReasonMachineFaultGone, note(f.Site, fault))
		}
	}
}

func (r *reconciler) recordFault(ctx context.Context, worker *extensionsv1alpha1.Worker, machineName, eventType, reason, note string) {
	note = eventnote.Shorten(note)
	r.faultEvents.Event(worker, eventType, reason, note)

	// A host may outlive its Machine.
	machine := &machinev1alpha1.Machine{}
	if err := r.client.Get(ctx, client.ObjectKey{Namespace: worker.Namespace, Name: machineName}, machine); err == nil {
		r.faultEvents.Event(machine, eventType, reason, note)
	}
}

// newFaultRecorder returns a recorder that writes an event for each fault. The recorders of the manager merge events with the same object
// and reason, so that only the first faulty host of a rack would be reported.
func newFaultRecorder(mgr manager.Manager) (record.EventRecorder, error) {
	core, err := corev1client.NewForConfigAndClient(mgr.GetConfig(), mgr.GetHTTPClient())
	if err != nil {
		return nil, err
	}
	const unlimited = 10000 // events of one object within ten minutes
	broadcaster := record.NewBroadcaster(record.WithCorrelatorOptions(record.CorrelatorOptions{MaxEvents: unlimited, BurstSize: unlimited}))
	broadcaster.StartRecordingToSink(&corev1client.EventSinkImpl{Interface: core.Events("")})
	err = mgr.Add(manager.RunnableFunc(func(ctx context.Context) error {
		<-ctx.Done()
		broadcaster.Shutdown()
		return nil
	}))
	return broadcaster.NewRecorder(mgr.GetScheme(), corev1.EventSource{Component: v1alpha1.ExtensionName + "-faults"}), err
}
