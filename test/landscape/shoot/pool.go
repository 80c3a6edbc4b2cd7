// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package shoot

import (
	"context"
	"fmt"

	machinev1alpha1 "github.com/gardener/machine-controller-manager/pkg/apis/machine/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// PoolLabel is the label of nodes with the name of their pool.
const PoolLabel = "worker.gardener.cloud/pool"

// Pool is a pool of the shoot's Worker.
type Pool struct {
	// Shoot is the shoot.
	Shoot *Shoot
	// Name is the name of the pool.
	Name string
}

// Machines are the pool's machines in a zone, or in all zones if that is empty.
func (p Pool) Machines(ctx context.Context, zone string) ([]machinev1alpha1.Machine, error) {
	all, err := p.Shoot.Machines(ctx)
	if err != nil {
		return nil, err
	}
	zones := map[string]string{}
	var machines []machinev1alpha1.Machine
	for _, m := range all {
		if m.Spec.NodeTemplateSpec.Labels[PoolLabel] != p.Name {
			continue
		}
		class := m.Spec.Class.Name
		if _, ok := zones[class]; !ok && zone != "" {
			if zones[class], err = p.Shoot.zoneOf(ctx, class); err != nil {
				return nil, err
			}
		}
		if zone == "" || zones[class] == zone {
			machines = append(machines, m)
		}
	}
	return machines, nil
}

// Identities are the provider IDs of the pool's machines in a zone, or in all zones if that is empty, by name.
func (p Pool) Identities(ctx context.Context, zone string) (map[string]string, error) {
	machines, err := p.Machines(ctx, zone)
	result := map[string]string{}
	for _, m := range machines {
		result[m.Name] = m.Spec.ProviderID
	}
	return result, err
}

// Running returns an error unless the pool has exactly so many machines in a zone, or in all zones if that is empty, and all of
// them run with nodes that have their provider IDs.
func (p Pool) Running(ctx context.Context, zone string, size int) error {
	if err := p.Shoot.Seed.Check(); err != nil {
		return err
	}
	machines, err := p.Machines(ctx, zone)
	if err != nil {
		return err
	}
	if len(machines) != size {
		return fmt.Errorf("pool %s has %d machines in zone %q, not %d", p.Name, len(machines), zone, size)
	}
	for _, m := range machines {
		if phase := m.Status.CurrentStatus.Phase; phase != machinev1alpha1.MachineRunning {
			return fmt.Errorf("machine %s is %q: %s", m.Name, phase, m.Status.LastOperation.Description)
		}
		node := &corev1.Node{}
		if err := p.Shoot.Seed.Client.Get(ctx, client.ObjectKey{Name: m.Labels[machinev1alpha1.NodeLabelKey]}, node); err != nil {
			return err
		}
		if node.Spec.ProviderID != m.Spec.ProviderID {
			return fmt.Errorf("machine %s is %s, but its node %s", m.Name, m.Spec.ProviderID, node.Spec.ProviderID)
		}
	}
	return nil
}

// Deployment is the pool's machine deployment in a zone.
func (p Pool) Deployment(ctx context.Context, zone string) (*machinev1alpha1.MachineDeployment, error) {
	deployments := &machinev1alpha1.MachineDeploymentList{}
	if err := p.Shoot.Seed.Client.List(ctx, deployments, client.InNamespace(p.Shoot.Name)); err != nil {
		return nil, err
	}
	for i, d := range deployments.Items {
		if d.Spec.Template.Spec.NodeTemplateSpec.Labels[PoolLabel] != p.Name {
			continue
		}
		if in, err := p.Shoot.zoneOf(ctx, d.Spec.Template.Spec.Class.Name); err != nil {
			return nil, err
		} else if in == zone {
			return &deployments.Items[i], nil
		}
	}
	return nil, fmt.Errorf("pool %s has no machine deployment in zone %q", p.Name, zone)
}

// Scale adds machines to the pool in a zone, or removes them, and returns how many are wanted then.
func (p Pool) Scale(ctx context.Context, zone string, by int32) (int, error) {
	deployment, err := p.Deployment(ctx, zone)
	if err != nil {
		return 0, err
	}
	before := deployment.DeepCopy()
	deployment.Spec.Replicas += by
	return int(deployment.Spec.Replicas), p.Shoot.Seed.Client.Patch(ctx, deployment, client.MergeFrom(before))
}

// zoneOf is the zone of a machine class, empty if that is gone.
func (s *Shoot) zoneOf(ctx context.Context, class string) (string, error) {
	object := &machinev1alpha1.MachineClass{}
	err := s.Seed.Client.Get(ctx, client.ObjectKey{Namespace: s.Name, Name: class}, object)
	if apierrors.IsNotFound(err) {
		return "", nil
	} else if err != nil {
		return "", err
	}
	return object.NodeTemplate.Zone, nil
}
