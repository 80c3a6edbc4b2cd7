// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package worker

import (
	"context"
	"fmt"

	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	machinev1alpha1 "github.com/gardener/machine-controller-manager/pkg/apis/machine/v1alpha1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// reasonUnresolved is the reason of the events about zones that cannot be resolved.
const reasonUnresolved = "ZoneUnresolved"

// keptZone is what exists of a zone that cannot be resolved now.
type keptZone struct {
	deployment *machinev1alpha1.MachineDeployment
	className  string
	secretName string
}

// findKept returns what exists of the zone, and nil if nothing does. It reads from the API server: a zone that was missed
// because a cache is late would lose its machines.
func (d *delegate) findKept(ctx context.Context, z *zone) (*keptZone, error) {
	deployment := &machinev1alpha1.MachineDeployment{}
	if err := d.reader.Get(ctx, client.ObjectKey{Namespace: d.worker.Namespace, Name: z.deploymentName}, deployment); err != nil {
		if apierrors.IsNotFound(err) {
			return nil, nil
		}
		return nil, fmt.Errorf("reading machine deployment %s: %w", z.deploymentName, err)
	}
	if deployment.DeletionTimestamp != nil {
		return nil, nil
	}

	kept := &keptZone{deployment: deployment, className: deployment.Spec.Template.Spec.Class.Name}
	kept.secretName = kept.className
	class := &machinev1alpha1.MachineClass{}
	err := d.reader.Get(ctx, client.ObjectKey{Namespace: d.worker.Namespace, Name: kept.className}, class)
	if client.IgnoreNotFound(err) != nil {
		return nil, fmt.Errorf("reading machine class %s: %w", kept.className, err)
	}
	if class.SecretRef != nil {
		kept.secretName = class.SecretRef.Name
	}
	return kept, nil
}

// tellUnresolved writes a log entry and an event about a zone that cannot be resolved.
func (d *delegate) tellUnresolved(p *pool, z *zone) {
	d.log.Error(z.err, "Zone cannot be resolved", "pool", p.spec.Name, "zone", z.name, "site", z.siteName, "kept", z.kept != nil)
	what := "has no machines yet"
	if z.kept != nil {
		what = "keeps machine class " + z.kept.className
	}
	// The recorder makes one event of those with equal reasons and actions.
	d.events.Warn(d.worker, reasonUnresolved, "Reconcile-"+z.deploymentName, "Pool %q in zone %q %s: %v", p.spec.Name, z.name, what, z.err)
}

// keepHashes takes back the new hash of each pool with a zone that keeps its machine class. The generic actuator finds the machines
// of such a zone as their machine deployment wants them. With the hash, Gardener would take the pool for updated in place and let a
// rotation of credentials be completed that these machines have not seen.
func (d *delegate) keepHashes(w *extensionsv1alpha1.Worker) {
	if d.planned == nil || w.Status.InPlaceUpdates == nil {
		return
	}
	hashes := w.Status.InPlaceUpdates.WorkerPoolToHashMap
	d.planned.zones(func(p *pool, z *zone) {
		name := p.spec.Name
		if _, ok := hashes[name]; !ok || z.kept == nil {
			return
		}
		if before, ok := d.hashes[name]; ok {
			hashes[name] = before
		} else {
			delete(hashes, name)
		}
	})
}
