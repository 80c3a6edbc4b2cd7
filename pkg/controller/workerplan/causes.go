// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package workerplan

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	extensionscontroller "github.com/gardener/gardener/extensions/pkg/controller"
	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/controller/differences"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/controller/worker"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
)

// maxDifferences is the maximum number of fields that are tried.
const maxDifferences = 300

// documents are what the names of machine classes are derived from.
type documents struct {
	Shoot        *gardencorev1beta1.Shoot        `json:"Shoot"`
	CloudProfile *gardencorev1beta1.CloudProfile `json:"CloudProfile"`
}

// documentsOf returns the documents without what is neither desired nor part of a name.
func documentsOf(c *extensionscontroller.Cluster) (json.RawMessage, error) {
	return json.Marshal(documents{
		Shoot: &gardencorev1beta1.Shoot{
			ObjectMeta: metav1.ObjectMeta{Name: c.Shoot.Name},
			Spec:       c.Shoot.Spec,
			Status:     gardencorev1beta1.ShootStatus{TechnicalID: c.Shoot.Status.TechnicalID, Credentials: c.Shoot.Status.Credentials},
		},
		CloudProfile: &gardencorev1beta1.CloudProfile{Spec: c.CloudProfile.Spec},
	})
}

// explain adds to the zones that get another machine class the fields that cause it: those whose change alone, in the documents before or
// back in the documents after, results in another name.
func (p *Planner) explain(ctx context.Context, in Input, plans []v1alpha1.PoolPlan) error {
	zones := replaced(plans)
	if len(zones) == 0 {
		return nil
	}
	if in.Before == nil || in.Before.Shoot == nil || in.Before.CloudProfile == nil {
		for _, z := range zones {
			z.Notes = append(z.Notes, "The Shoot and the CloudProfile of the last reconciliation are not known, so the fields that differ are not.")
		}
		return nil
	}
	before, beforeErr := documentsOf(withTechnicalID(in.Before))
	after, afterErr := documentsOf(in.After)
	if err := errors.Join(beforeErr, afterErr); err != nil {
		return err
	}
	namesBefore := p.names(ctx, in, before)
	namesAfter := p.names(ctx, in, after)

	found := differences.Between(before, after)
	for i := range found {
		if i == maxDifferences {
			for _, z := range zones {
				z.Notes = append(z.Notes, fmt.Sprintf("Only %d of %d fields that differ were tried.", maxDifferences, len(found)))
			}
			break
		}
		p.try(ctx, in, &found[i], before, namesBefore, zones, found[i].After)
		p.try(ctx, in, &found[i], after, namesAfter, zones, found[i].Before)
	}
	for _, z := range zones {
		if known := namesBefore[z.MachineDeployment]; len(z.Causes) == 0 || known != "" && known != z.MachineClass.Before {
			z.Notes = append(z.Notes, "The machine class is not that of the last reconciled Shoot and CloudProfile: its last change is not "+
				"complete, or it has a cause in Gardener.")
		}
	}
	return ctx.Err()
}

// replaced returns the zones that get another machine class.
func replaced(plans []v1alpha1.PoolPlan) []*v1alpha1.ZonePlan {
	var zones []*v1alpha1.ZonePlan
	for i := range plans {
		for j := range plans[i].Zones {
			if z := &plans[i].Zones[j]; z.Action == v1alpha1.ZoneActionRoll || z.Action == v1alpha1.ZoneActionUpdateInPlace {
				zones = append(zones, z)
			}
		}
	}
	return zones
}

// try adds the field to the causes of the zones whose machine class has another name if the document has the value.
func (p *Planner) try(ctx context.Context, in Input, d *differences.Difference, document json.RawMessage, names map[string]string,
	zones []*v1alpha1.ZonePlan, value json.RawMessage) {
	changed, err := differences.With(document, d.Steps, value)
	if err != nil {
		return
	}
	others := p.names(ctx, in, changed)
	for _, z := range zones {
		name, other := names[z.MachineDeployment], others[z.MachineDeployment]
		if name == "" || other == "" || name == other {
			continue
		}
		cause := causeOf(d)
		if len(z.Causes) == 0 || z.Causes[len(z.Causes)-1] != cause {
			z.Causes = append(z.Causes, cause)
		}
	}
}

func causeOf(d *differences.Difference) v1alpha1.PlanCause {
	field := *d
	field.Steps = d.Steps[1:]
	return v1alpha1.PlanCause{Kind: d.Steps[0].Name, Field: field.Path(), Before: platform.Printable(string(d.Before)),
		After: platform.Printable(string(d.After))}
}

// names returns the names of the machine classes by machine deployment, without those that are not known for the documents.
func (p *Planner) names(ctx context.Context, in Input, document json.RawMessage) map[string]string {
	d := &documents{}
	if json.Unmarshal(document, d) != nil || d.Shoot == nil || d.CloudProfile == nil {
		return nil
	}
	cluster := &extensionscontroller.Cluster{ObjectMeta: in.After.ObjectMeta, Shoot: d.Shoot, CloudProfile: d.CloudProfile}
	agents, err := agentsOf(d.Shoot)
	if err != nil {
		return nil
	}
	only := Input{After: cluster, Secret: in.Secret, Worker: in.Worker}
	seed := newRehearsal(only.objects(&machines{})...)
	w, err := deployWorker(ctx, seed.client, cluster, agents, nil, in.InfrastructureStatus)
	if err != nil {
		return nil
	}
	names, err := worker.ClassNames(ctx, seed.client, p.Platforms, w, cluster)
	if err != nil {
		return nil
	}
	return names
}
