// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package machines

import (
	"context"
	"slices"
	"sync"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/blockstorage/v3/volumes"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/lists"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/client"
)

const (
	volumeDeleting = "deleting"
	// blankSuffix follows the ID of the server in the compute API's names for volumes that it creates empty.
	blankSuffix = "-blank-vol"
)

// volumeCache has the IDs of the volumes that were created with servers being deleted, by server ID. The compute API forgets a server even
// if the volume service failed to delete its volumes.
type volumeCache struct{ sync.Map }

func (c *volumeCache) of(serverID string) ([]string, bool) {
	value, known := c.Load(serverID)
	ids, _ := value.([]string)
	return ids, known
}

// recordVolumes records the volumes that were created with a server that is about to be deleted. A server that is being built does not
// show all of them and is read again. One that is being deleted may no longer show them.
func (c *call) recordVolumes(ctx context.Context, s *server) error {
	if _, known := c.volumes.of(s.ID); known && s.Task == taskDeleting {
		return nil
	}
	if s.Status == statusBuild {
		var err error
		if s, err = getServer(ctx, c.compute, s.ID); client.IsNotFound(err) {
			return nil
		} else if err != nil {
			return err
		}
	}
	if s.Status != statusBuild {
		c.volumes.Store(s.ID, s.ownVolumes())
	}
	return nil
}

// deleteVolumes deletes the remaining volumes of a deleted server. Usually there are none.
func (c *call) deleteVolumes(ctx context.Context, serverID string) error {
	ids, known := c.volumes.of(serverID)
	blank := !known && serverID != "" && len(c.request.Spec.OpenStack.DataDisks) > 0
	if len(ids) == 0 && !blank {
		c.volumes.Delete(serverID)
		return nil
	}
	service, err := c.volume(ctx)
	if err != nil {
		return err
	}
	if blank {
		if ids, err = blankVolumes(ctx, service, serverID); err != nil {
			return err
		}
	}
	for _, id := range ids {
		if err := deleteVolume(ctx, service, serverID, id); err != nil {
			return err
		}
	}
	c.volumes.Delete(serverID)
	return nil
}

// blankVolumes finds the volumes that were created empty with a server that is not in the cache.
func blankVolumes(ctx context.Context, service *gophercloud.ServiceClient, serverID string) ([]string, error) {
	found, err := client.List(ctx, volumes.List(service, volumes.ListOpts{Name: serverID + blankSuffix}), volumes.ExtractVolumes)
	return lists.Map(found, func(volume volumes.Volume) string { return volume.ID }), err
}

// deleteVolume deletes a volume that should have been deleted with the server, unless it was attached to another server since.
func deleteVolume(ctx context.Context, service *gophercloud.ServiceClient, serverID, id string) error {
	volume, err := client.Extracted(volumes.Get(ctx, service, id).Extract())
	if err != nil {
		return client.IgnoreNotFound(err)
	}
	elsewhere := slices.ContainsFunc(volume.Attachments, func(a volumes.Attachment) bool { return a.ServerID != serverID })
	if volume.Status == volumeDeleting || elsewhere {
		return nil
	}
	err = client.IgnoreNotFound(volumes.Delete(ctx, service, id, nil).ExtractErr())
	if err == nil {
		return nil
	}
	class := platform.ClassOf(err)
	if class == platform.ClassConfiguration {
		// The volume service responds with 400 for a volume that is in use or has snapshots.
		class = platform.ClassConflict
	}
	return platform.NewError(class, "volume %s of the deleted server %s is in status %q: %w", id, serverID, volume.Status, err)
}
