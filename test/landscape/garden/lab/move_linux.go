// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"context"
	"fmt"
	"slices"
	"strings"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	v1beta1constants "github.com/gardener/gardener/pkg/apis/core/v1beta1/constants"
	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	"github.com/gophercloud/gophercloud/v2/openstack/objectstorage/v1/objects"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/garden"
)

// Move moves the control plane of the shoot to another seed, as an operator does, and waits until it is restored there.
func (s *Shoot) Move(ctx context.Context, to *garden.Seed, tell func(string)) error {
	if err := s.bind(ctx, to); err != nil {
		return err
	}
	return s.waitRestored(ctx, to, tell)
}

// Rescue moves the control plane of the shoot from a seed that is dead, which takes no part in it, and waits until it is restored. Gardener
// lets the gardenlet of the former seed prepare a move; as that is not there, an operator reports in its place that all is prepared.
func (s *Shoot) Rescue(ctx context.Context, to *garden.Seed, tell func(string)) error {
	entry, err := s.backupEntry(ctx)
	if err != nil || entry == nil {
		return fmt.Errorf("the shoot has no BackupEntry: %w", err)
	}
	prepared := func(description string) *gardencorev1beta1.LastOperation {
		return &gardencorev1beta1.LastOperation{
			Type: gardencorev1beta1.LastOperationTypeMigrate, State: gardencorev1beta1.LastOperationStateSucceeded, Progress: 100,
			Description: description, LastUpdateTime: metav1.Now(),
		}
	}
	before := entry.DeepCopy()
	entry.Spec.SeedName = new(to.Name)
	if err := s.lab.Client.Patch(ctx, entry, client.MergeFrom(before)); err != nil {
		return err
	}
	before = entry.DeepCopy()
	entry.Status.SeedName, entry.Status.LastError = nil, nil
	entry.Status.LastOperation = prepared("The seed of the BackupEntry is dead.")
	if err := s.lab.Client.Status().Patch(ctx, entry, client.MergeFrom(before)); err != nil {
		return err
	}
	if err := s.bind(ctx, to); err != nil {
		return err
	}
	shoot, err := s.Get(ctx)
	if err != nil {
		return err
	}
	of := shoot.DeepCopy()
	shoot.Status.SeedName, shoot.Status.LastErrors = new(to.Name), nil
	shoot.Status.LastOperation = prepared("The seed of the shoot is dead.")
	if err := s.lab.Client.Status().Patch(ctx, shoot, client.MergeFrom(of)); err != nil {
		return err
	}
	return s.waitRestored(ctx, to, tell)
}

// WaitState waits until the garden has a ShootState of the shoot with its machines.
func (s *Shoot) WaitState(ctx context.Context, tell func(string)) error {
	return s.lab.wait(ctx, tell, func(ctx context.Context) (bool, string, error) {
		state := &gardencorev1beta1.ShootState{}
		err := s.lab.Client.Get(ctx, client.ObjectKey{Namespace: garden.Namespace, Name: s.name}, state)
		machines := slices.ContainsFunc(state.Spec.Gardener, func(d gardencorev1beta1.GardenerResourceData) bool {
			return d.Type == v1beta1constants.DataTypeMachineState
		})
		return err == nil && machines, "waiting for a ShootState", client.IgnoreNotFound(err)
	})
}

// bind assigns the shoot to another seed.
func (s *Shoot) bind(ctx context.Context, to *garden.Seed) error {
	shoot, err := s.Get(ctx)
	if err != nil {
		return err
	}
	shoot.Spec.SeedName = new(to.Name)
	return s.lab.Client.SubResource("binding").Update(ctx, shoot)
}

// waitRestored waits until the seed has the control plane. gardenlet may begin to reconcile the shoot at once.
func (s *Shoot) waitRestored(ctx context.Context, to *garden.Seed, tell func(string)) error {
	err := s.lab.wait(ctx, tell, func(ctx context.Context) (bool, string, error) {
		shoot, err := s.Get(ctx)
		if err != nil {
			return false, "", err
		}
		last := shoot.Status.LastOperation
		restored := last.Type == gardencorev1beta1.LastOperationTypeRestore && last.State == gardencorev1beta1.LastOperationStateSucceeded ||
			last.Type == gardencorev1beta1.LastOperationTypeReconcile
		there := shoot.Status.SeedName != nil && *shoot.Status.SeedName == to.Name
		return there && restored, describe(shoot), nil
	})
	s.seed = to
	return err
}

// Nodes are the UIDs of the nodes of the shoot by their names.
func (s *Shoot) Nodes(ctx context.Context) (map[string]types.UID, error) {
	shoot := s.seed.ShootClient(s.TechnicalID())
	if shoot == nil {
		return nil, fmt.Errorf("seed %s has no machines of shoot %s", s.seed.Name, s.name)
	}
	nodes := &corev1.NodeList{}
	if err := shoot.List(ctx, nodes); err != nil {
		return nil, err
	}
	result := map[string]types.UID{}
	for _, node := range nodes.Items {
		result[node.Name] = node.UID
	}
	return result, nil
}

// InSeed are the namespace of the shoot in a seed, and the objects of the shoot without a namespace, for people.
func (s *Shoot) InSeed(ctx context.Context, seed *garden.Seed) ([]string, error) {
	var result []string
	for _, list := range []client.ObjectList{
		&corev1.NamespaceList{}, &extensionsv1alpha1.ClusterList{}, &extensionsv1alpha1.BackupEntryList{},
	} {
		if err := seed.Client.List(ctx, list); err != nil {
			return nil, err
		}
		if err := meta.EachListItem(list, func(o runtime.Object) error {
			object, err := meta.Accessor(o)
			if err == nil && strings.Contains(object.GetName(), s.TechnicalID()) {
				result = append(result, fmt.Sprintf("%T %s", o, object.GetName()))
			}
			return err
		}); err != nil {
			return nil, err
		}
	}
	return result, nil
}

// SwiftBackups are the keys of the shoot's backups in Swift, in the container of the second seed. Those of another garden are elsewhere.
func (s *Shoot) SwiftBackups(ctx context.Context) ([]string, error) {
	seed := &gardencorev1beta1.Seed{}
	if err := s.lab.Client.Get(ctx, client.ObjectKey{Name: garden.SecondName}, seed); err != nil {
		return nil, err
	}
	pages, err := objects.List(s.lab.swift, string(seed.UID), objects.ListOpts{Prefix: s.TechnicalID() + "--"}).AllPages(ctx)
	if err != nil {
		return nil, err
	}
	return objects.ExtractNames(pages)
}
