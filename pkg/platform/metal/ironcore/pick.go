// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package ironcore

import (
	"context"
	"math/rand/v2"
	"strings"

	metalv1alpha1 "github.com/ironcore-dev/metal-operator/api/v1alpha1"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/kubernetes"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/metal/inventory"
)

// pick reserves a random free server. It reads again without watches before it returns that none is free. The servers to avoid are free,
// but metal-operator did not bind them.
func (i *Inventory) pick(ctx context.Context, reader client.Reader, request *inventory.Claim, avoid sets.Set[string]) (string, error) {
	server, err := i.pickFrom(ctx, reader, request, avoid)
	if err != nil && !kubernetes.IsLive(reader) {
		server, err = i.pickFrom(ctx, i.Client(), request, avoid)
	}
	return server, err
}

func (i *Inventory) pickFrom(ctx context.Context, reader client.Reader, request *inventory.Claim, avoid sets.Set[string]) (string, error) {
	claims, err := i.claims(ctx, reader)
	if err != nil {
		return "", err
	}
	servers, err := i.servers(ctx, reader)
	if err != nil {
		return "", err
	}
	for index := range servers {
		// metal-operator considers a server bound to any claim with the name of its last one.
		if isOf(&servers[index], i.Session.Namespace, request.Machine) {
			return "", releasing(&servers[index])
		}
	}
	free, counts := candidates(servers, claims, &request.Selection)
	picked := free.Difference(avoid).UnsortedList()
	rand.Shuffle(len(picked), func(a, b int) { picked[a], picked[b] = picked[b], picked[a] })
	for _, server := range picked {
		if i.Reservations.Reserve(server, true) {
			return server, nil
		}
	}
	if len(picked) == 0 && free.Len() > 0 {
		return "", platform.NewError(platform.ClassTransient, "metal-operator does not bind servers that are free: %s",
			strings.Join(sets.List(free), ", "))
	}
	return "", counts.Exhausted("servers", obstacles)
}

// candidates returns the free servers that the selection selects. Those that are not bound yet to claims that name them are taken.
func candidates(servers []metalv1alpha1.Server, claims []metalv1alpha1.ServerClaim, selection *inventory.Selection) (sets.Set[string],
	inventory.Counts) {
	named := sets.New[string]()
	for index := range claims {
		named.Insert(serverName(&claims[index]))
	}
	free, result := sets.New[string](), inventory.Counts{Total: len(servers), Obstacles: map[obstacle]int{}}
	for index := range servers {
		server := &servers[index]
		if !selection.Matches(server.Labels) {
			continue
		}
		result.Matching++
		found := obstacleTo(server, selection)
		if found == obstacleNone && named.Has(server.Name) {
			found = obstacleTaken
		}
		if found == obstacleNone {
			free.Insert(server.Name)
			continue
		}
		result.Obstacles[found]++
	}
	result.Free = free.Len()
	return free, result
}
