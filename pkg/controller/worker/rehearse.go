// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package worker

import (
	"context"
	"time"

	extensionscontroller "github.com/gardener/gardener/extensions/pkg/controller"
	"github.com/gardener/gardener/extensions/pkg/controller/worker"
	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
)

// Zone is what a reconciliation makes of a zone of a pool.
type Zone struct {
	// Pool and Name are the names of the pool and the zone.
	Pool, Name string
	// Site is the name of the zone's site, empty if it is not known.
	Site string
	// MachineDeployment is the name of the zone's machine deployment.
	MachineDeployment string
	// ClassName is the name of the desired machine class, empty if it is not known.
	ClassName string
	// Held is true if the zone waits for the end of a quarantine.
	Held bool
	// Err is the reason why the zone cannot be resolved. Its machine deployment keeps its machine class.
	Err error
}

// Rehearse reconciles a Worker once, and returns its zones also beside an error, which includes those of the zones. The objects are read
// from and written to the client of the manager, which has a copy of the seed whose machines are always ready.
func Rehearse(ctx context.Context, mgr manager.Manager, platforms platform.Registry[platform.MachineClasses], timeout time.Duration,
	w *extensionsv1alpha1.Worker, c *extensionscontroller.Cluster) ([]Zone, error) {
	a := NewActuator(mgr, nil, platforms, nil, timeout).(*actuator)
	var zones []Zone
	newGeneric := a.newGeneric
	a.newGeneric = func(d *delegate) worker.Actuator {
		zones = zonesOf(d.zones)
		return newGeneric(d)
	}
	err := a.Reconcile(ctx, logr.FromContextOrDiscard(ctx), w, c)
	return zones, err
}

func zonesOf(zones []*resolved) []Zone {
	var result []Zone
	for _, z := range zones {
		result = append(result, Zone{Pool: z.spec.Name, Name: z.name, Site: z.siteName, MachineDeployment: z.deploymentName,
			ClassName: z.className, Held: z.held, Err: z.err})
	}
	return result
}

// ClassNames returns the names of the desired machine classes of a Worker by machine deployment, as far as they are known without requests
// to sites.
func ClassNames(ctx context.Context, c client.Client, platforms platform.Registry[platform.MachineClasses],
	w *extensionsv1alpha1.Worker, cluster *extensionscontroller.Cluster) (map[string]string, error) {
	f, err := readFacts(ctx, &call{log: logr.Discard(), client: c, reader: c, worker: w, cluster: cluster}, former{})
	if err != nil {
		return nil, err
	}
	var (
		r     = resolver{machineClasses: platforms}
		names = map[string]string{}
	)
	for _, z := range plan(f) {
		if z.planErr != nil {
			continue
		}
		zone := &resolved{zone: z}
		if _, _, err := r.describe(f, zone); err == nil {
			names[z.deploymentName] = zone.className
		}
	}
	return names, nil
}
