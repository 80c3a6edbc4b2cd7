// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package workerplan

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	extensionscontroller "github.com/gardener/gardener/extensions/pkg/controller"
	v1beta1constants "github.com/gardener/gardener/pkg/apis/core/v1beta1/constants"
	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/controller/worker"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
)

// grace is how long a reconciliation may take in addition to the requests to sites.
const grace = 10 * time.Second

// Planner plans what the next reconciliation does to the pools of a shoot.
type Planner struct {
	// Platforms have sessions that write nothing to the sites.
	Platforms platform.Registry[platform.MachineClasses]
	// Timeout limits the requests to all sites, which run in parallel.
	Timeout time.Duration
}

// Input is what is known about a shoot.
type Input struct {
	// After is what is to be reconciled. Its name is the technical ID of the shoot.
	After *extensionscontroller.Cluster
	// Before is what was reconciled last. It is nil if the shoot does not exist or that is not known.
	Before *extensionscontroller.Cluster
	// Worker and Infrastructure are the existing ones, nil if they do not exist or are not known.
	Worker         *extensionsv1alpha1.Worker
	Infrastructure *extensionsv1alpha1.Infrastructure
	// InfrastructureStatus is the provider status of the Infrastructure after its reconciliation.
	InfrastructureStatus *runtime.RawExtension
	// Secret has the credentials of the sites. It may be nil.
	Secret *corev1.Secret
	// Seed reads the machines. It is nil without access to them.
	Seed client.Reader
}

// Plan is what the next reconciliation does to the pools.
type Plan struct {
	// Pools are first those of the Shoot in their order, then those that were removed from it.
	Pools []v1alpha1.PoolPlan
	// Before and After read what the seed has before the reconciliation, and after it when all machines are ready. Both have the Secret.
	Before, After client.Reader
}

// Plan returns what the next reconciliation does to the pools. Errors of zones and sites are those of the zones.
func (p *Planner) Plan(ctx context.Context, in Input) (*Plan, error) {
	ctx, cancel := context.WithTimeout(ctx, p.Timeout+grace)
	defer cancel()
	in.After = withTechnicalID(in.After)
	before := &machines{}
	var err error
	if in.Seed != nil {
		if before, err = readMachines(ctx, in.Seed, in.After.ObjectMeta.Name); err != nil {
			return nil, err
		}
	}
	if in.After.Shoot.DeletionTimestamp != nil {
		return &Plan{Pools: newComparison(in, before, &machines{}).pools(nil), Before: newRehearsal(in.objects(before)...).client,
			After: newRehearsal(in.objects(&machines{})...).client}, nil
	}
	agents, unknown, err := in.agents()
	if err != nil {
		return nil, err
	}
	seed := newRehearsal(in.objects(before)...)
	w, err := deployWorker(ctx, seed.client, in.After, agents, in.Worker, in.InfrastructureStatus)
	if err != nil {
		return nil, err
	}
	zones, err := worker.Rehearse(ctx, seed, p.Platforms, p.Timeout, w, in.After)
	if err != nil && !slices.ContainsFunc(zones, func(z worker.Zone) bool { return z.Err != nil }) {
		return nil, err
	}
	after, err := readMachines(ctx, seed.client, in.After.ObjectMeta.Name)
	if err != nil {
		return nil, err
	}
	c := newComparison(in, before, after)
	c.unknown = unknown
	for _, m := range w.Status.MachineDeployments {
		c.limitsAfter[m.Name] = m
	}
	plan := &Plan{Pools: c.pools(zones), Before: newRehearsal(in.objects(before)...).client, After: seed.client}
	return plan, p.explain(ctx, in, plan.Pools)
}

// withTechnicalID returns the Cluster with the technical ID in the status of the Shoot, which a Shoot that does not exist lacks.
func withTechnicalID(c *extensionscontroller.Cluster) *extensionscontroller.Cluster {
	result := *c
	result.Shoot = c.Shoot.DeepCopy()
	result.Shoot.Status.TechnicalID = cmp.Or(result.Shoot.Status.TechnicalID, c.ObjectMeta.Name)
	return &result
}

// agents returns the names of the Secrets of gardener-node-agent by pool, and why those of some pools are not known.
func (in *Input) agents() (agents, unknown map[string]string, err error) {
	if agents, err = agentsOf(in.After.Shoot); err != nil {
		return nil, nil, err
	}
	before, unknown := map[string]string{}, map[string]string{}
	if in.Before != nil && in.Before.Shoot != nil {
		if before, err = agentsOf(in.Before.Shoot); err != nil {
			return nil, nil, fmt.Errorf("last reconciliation: %w", err)
		}
	}
	for pool, agent := range agents {
		existing := agentOf(in.Worker, pool)
		switch {
		case existing == "" || existing == agent || existing == before[pool]:
		case before[pool] == agent:
			agents[pool] = existing
		case before[pool] == "":
			unknown[pool] = "The Shoot of the last reconciliation is not known, and the garden may name machine classes in another way."
		default:
			unknown[pool] = "The machine class has another name than the Shoot of the last reconciliation has in this version of Gardener."
		}
	}
	return agents, unknown, nil
}

// objects returns the objects of a seed before gardenlet writes the Worker.
func (in *Input) objects(m *machines) []client.Object {
	namespace := in.After.ObjectMeta.Name
	all := m.objects()
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: v1beta1constants.SecretNameCloudProvider, Namespace: namespace}}
	if in.Secret != nil {
		secret.Data = in.Secret.Data
	}
	all = append(all, secret)
	if in.Infrastructure != nil {
		all = append(all, &extensionsv1alpha1.Infrastructure{
			ObjectMeta: metav1.ObjectMeta{Name: in.Infrastructure.Name, Namespace: namespace},
			Status:     *in.Infrastructure.Status.DeepCopy(),
		})
	}
	if in.Worker != nil {
		all = append(all, &extensionsv1alpha1.Worker{
			ObjectMeta: metav1.ObjectMeta{Name: in.After.Shoot.Name, Namespace: namespace},
			Spec:       *in.Worker.Spec.DeepCopy(),
			Status:     *in.Worker.Status.DeepCopy(),
		})
	}
	return all
}
