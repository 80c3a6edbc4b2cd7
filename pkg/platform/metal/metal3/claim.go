// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package metal3

import (
	"context"
	"math/rand/v2"

	metal3v1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/metal/bootdata"
	metalclient "github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/metal/client"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/metal/inventory"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/metal/owner"
)

const (
	// maxLost is how many hosts may be lost to others before a watch is considered stale.
	maxLost = 3
	// maxPatches is how often a patch is retried because of a conflict.
	maxPatches = 5
)

// Claim implements inventory.Inventory. A single patch claims a host and sets its image, so that no claimed host is left without one. The
// Secret with the machine's data is written before.
func (i *Inventory) Claim(ctx context.Context, request inventory.Claim) (*inventory.Host, error) {
	host, err := i.find(ctx, request.Machine, "")
	switch {
	case err != nil:
		return nil, err
	case host == nil:
		host, err = i.claimFree(ctx, &request)
	case isComplete(host):
		err = i.restoreSecret(ctx, host, &request)
	default:
		host, err = i.write(ctx, host, &request, isMachine(i.Owner, request.Machine))
		if host == nil && err == nil {
			err = platform.NewError(platform.ClassTransient, "machine %q lost its host to someone else", request.Machine)
		}
	}
	if err != nil {
		return nil, err
	}
	return new(hostOf(host, request.Machine, "")), nil
}

// claimFree claims one of the free hosts. It lists all hosts without a watch before it returns that none is free.
func (i *Inventory) claimFree(ctx context.Context, request *inventory.Claim) (*metal3v1alpha1.BareMetalHost, error) {
	readers := []client.Reader{i.reader(ctx)}
	if !metalclient.IsLive(readers[0]) {
		readers = append(readers, i.Client())
	}
	var (
		none error
		lost int
	)
	for _, reader := range readers {
		hosts, err := i.hosts(ctx, reader)
		if err != nil {
			return nil, err
		}
		free, found := candidates(hosts, &request.Selection)
		none = found.Exhausted("hosts", obstacles)
		for _, candidate := range free {
			if !metalclient.IsLive(reader) && lost >= maxLost {
				break
			}
			if !i.Reservations.Reserve(candidate.Name, metalclient.IsLive(reader)) {
				continue
			}
			host, tried, err := i.try(ctx, reader, candidate, request)
			i.Reservations.Release(candidate.Name, host != nil)
			if host != nil || err != nil {
				return host, err
			}
			if tried {
				lost++
			}
		}
	}
	if lost > 0 {
		if err := bootdata.DeleteSecret(ctx, i.Client(), i.Session.Namespace, i.Owner, request.Machine); err != nil {
			return nil, err
		}
	}
	return nil, none
}

// try claims the host, and returns nil if others were faster. It does not try if a watch has already seen that.
func (i *Inventory) try(ctx context.Context, reader client.Reader, host *metal3v1alpha1.BareMetalHost,
	request *inventory.Claim) (claimed *metal3v1alpha1.BareMetalHost, tried bool, err error) {
	if !metalclient.IsLive(reader) {
		if host, err = i.read(ctx, reader, host.Name); host == nil || err != nil || !isFree(request)(host) {
			return nil, false, err
		}
	}
	claimed, err = i.write(ctx, host.DeepCopy(), request, isFree(request))
	return claimed, true, err
}

// isFree reports whether a host can be claimed with the request.
func isFree(request *inventory.Claim) func(*metal3v1alpha1.BareMetalHost) bool {
	return func(host *metal3v1alpha1.BareMetalHost) bool {
		return obstacleTo(host, request.Cleaning) == obstacleNone
	}
}

// isMachine reports whether a host is the machine.
func isMachine(o owner.Owner, machine string) func(*metal3v1alpha1.BareMetalHost) bool {
	return func(host *metal3v1alpha1.BareMetalHost) bool { return isOf(host, o, machine) }
}

// write makes the host the machine, and returns the updated host. It returns nil if the host is no longer usable.
func (i *Inventory) write(ctx context.Context, host *metal3v1alpha1.BareMetalHost, request *inventory.Claim,
	usable func(*metal3v1alpha1.BareMetalHost) bool) (*metal3v1alpha1.BareMetalHost, error) {
	data, err := request.Data(ctx, new(hostOf(host, request.Machine, "")))
	if err != nil {
		return nil, err
	}
	if err := i.writeSecret(ctx, host, request.Machine, data); err != nil {
		return nil, err
	}
	return i.change(ctx, host, usable, func(host *metal3v1alpha1.BareMetalHost) any {
		return i.claimPatch(host, request, data)
	})
}

// change patches the host, retries after a conflict if it is still usable, and returns the updated host. It returns nil if it is no longer
// usable.
func (i *Inventory) change(ctx context.Context, host *metal3v1alpha1.BareMetalHost, usable func(*metal3v1alpha1.BareMetalHost) bool,
	changed func(*metal3v1alpha1.BareMetalHost) any) (*metal3v1alpha1.BareMetalHost, error) {
	name := host.Name
	for range maxPatches {
		err := i.patch(ctx, host, changed(host))
		if err == nil {
			return host, nil
		}
		if !apierrors.IsConflict(err) {
			return nil, metalclient.IgnoreNotFound(err)
		}
		if host, err = i.read(ctx, i.Client(), name); host == nil || err != nil || !usable(host) {
			return nil, err
		}
	}
	return nil, platform.NewError(platform.ClassTransient, "host %q is changed by others continuously", name)
}

func (i *Inventory) claimPatch(host *metal3v1alpha1.BareMetalHost, request *inventory.Claim, data inventory.Data) patch[claimSpec] {
	reference := &corev1.SecretReference{Namespace: host.Namespace, Name: request.Machine}
	result := patch[claimSpec]{
		Metadata: metadata{
			ResourceVersion: host.ResourceVersion,
			Labels:          pointers(i.Owner.MachineLabels(request.Machine)),
			Annotations:     pointers(map[string]string{owner.AnnotationNode: data.NodeName}),
		},
		Spec: claimSpec{
			ConsumerRef:           i.Owner.Reference(request.Machine),
			UserData:              reference,
			MetaData:              reference,
			AutomatedCleaningMode: metal3v1alpha1.AutomatedCleaningMode(request.Cleaning),
			Online:                true,
		},
	}
	if host.Spec.Image == nil {
		result.Spec.Image = imageOf(&request.Image)
	}
	if len(data.NetworkData) > 0 {
		if former := host.Spec.NetworkData; former != nil && !isData(former, request.Machine) {
			result.Metadata.Annotations[owner.AnnotationNetworkData] = new(former.Namespace + "/" + former.Name)
		}
		result.Spec.NetworkData = reference
	}
	return result
}

// candidates returns the free hosts that the selection selects, in random order.
func candidates(hosts []metal3v1alpha1.BareMetalHost, selection *inventory.Selection) ([]*metal3v1alpha1.BareMetalHost, inventory.Counts) {
	var (
		free   []*metal3v1alpha1.BareMetalHost
		result = inventory.Counts{Total: len(hosts), Obstacles: map[obstacle]int{}}
	)
	for index := range hosts {
		host := &hosts[index]
		if !selection.Matches(host.Labels) {
			continue
		}
		result.Matching++
		if found := obstacleTo(host, selection.Cleaning); found != obstacleNone {
			result.Obstacles[found]++
			continue
		}
		free = append(free, host)
	}
	result.Free = len(free)
	rand.Shuffle(len(free), func(a, b int) { free[a], free[b] = free[b], free[a] })
	return free, result
}
