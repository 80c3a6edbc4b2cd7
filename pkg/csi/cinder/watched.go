// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package cinder

import (
	"context"
	"errors"
	"io"
	"net"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/blockstorage/v3/backups"
	"github.com/gophercloud/gophercloud/v2/openstack/blockstorage/v3/snapshots"
	"github.com/gophercloud/gophercloud/v2/openstack/blockstorage/v3/volumes"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"
	library "k8s.io/cloud-provider-openstack/pkg/csi/cinder/openstack"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/client"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/owner"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/transport"
)

// watched is the cloud of one request. It remembers the class of the last error, because the library's driver tells its callers
// no more than a message. It refuses what was made for another cluster in the same project; what nobody marked may be imported.
// It is not safe for concurrent use, and the driver does not use it so.
type watched struct {
	library.IOpenStack

	cluster owner.Owner
	class   platform.Class
}

// refuse returns an error for an object of another cluster. It does not tell which.
func (w *watched) refuse(kind, id string, foreign bool) error {
	if !foreign || w.cluster.Shoot == "" {
		return nil
	}
	return w.note(platform.NewError(platform.ClassForbidden, "%s %q was not made for this shoot and cannot be used", kind, id))
}

// note remembers the class of err and returns err.
func (w *watched) note(err error) error {
	if err != nil {
		w.class = classOf(err)
	}
	return err
}

// classOf is the class of an error of the site. It is empty for what the driver itself found wrong.
func classOf(err error) platform.Class {
	var (
		classified *platform.Error
		response   gophercloud.ErrUnexpectedResponseCode
		renewal    *gophercloud.ErrUnableToReauthenticate
		network    net.Error
	)
	switch {
	case errors.As(err, &classified), errors.As(err, &response), errors.As(err, &renewal), errors.As(err, &network),
		errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded), errors.Is(err, io.ErrUnexpectedEOF):
		return platform.ClassOf(client.Classify(err))
	}
	return ""
}

func (w *watched) CreateVolume(ctx context.Context, options *volumes.CreateOpts, hints volumes.SchedulerHintOptsBuilder) (*volumes.Volume,
	error) {
	volume, err := w.IOpenStack.CreateVolume(ctx, options, hints)
	return volume, w.note(err)
}

func (w *watched) DeleteVolume(ctx context.Context, id string) error {
	if _, err := w.GetVolume(ctx, id); err != nil {
		return err
	}
	return w.note(w.IOpenStack.DeleteVolume(ctx, id))
}

func (w *watched) AttachVolume(ctx context.Context, server, id string) (string, error) {
	volume, err := w.IOpenStack.AttachVolume(ctx, server, id)
	return volume, w.note(err)
}

func (w *watched) ListVolumes(ctx context.Context, limit int, token string) ([]volumes.Volume, string, error) {
	list, next, err := w.IOpenStack.ListVolumes(transport.OneOperation(ctx), limit, token)
	return list, next, w.note(err)
}

func (w *watched) WaitDiskAttached(ctx context.Context, server, id string) error {
	return w.note(w.IOpenStack.WaitDiskAttached(ctx, server, id))
}

func (w *watched) DetachVolume(ctx context.Context, server, id string) error {
	if _, err := w.GetVolume(ctx, id); err != nil {
		return err
	}
	return w.note(w.IOpenStack.DetachVolume(ctx, server, id))
}

func (w *watched) WaitDiskDetached(ctx context.Context, server, id string) error {
	return w.note(w.IOpenStack.WaitDiskDetached(ctx, server, id))
}

func (w *watched) WaitVolumeTargetStatus(ctx context.Context, id string, status []string) error {
	return w.note(w.IOpenStack.WaitVolumeTargetStatus(ctx, id, status))
}

func (w *watched) GetAttachmentDiskPath(ctx context.Context, server, id string) (string, error) {
	path, err := w.IOpenStack.GetAttachmentDiskPath(ctx, server, id)
	return path, w.note(err)
}

func (w *watched) GetVolume(ctx context.Context, id string) (*volumes.Volume, error) {
	volume, err := w.IOpenStack.GetVolume(ctx, id)
	if err != nil {
		return nil, w.note(err)
	}
	return volume, w.refuse("volume", id, w.cluster.IsForeignVolume(volume.Metadata))
}

func (w *watched) GetVolumesByName(ctx context.Context, name string) ([]volumes.Volume, error) {
	list, err := w.IOpenStack.GetVolumesByName(transport.OneOperation(ctx), name)
	return list, w.note(err)
}

func (w *watched) CreateSnapshot(ctx context.Context, name, volume string, tags map[string]string) (*snapshots.Snapshot, error) {
	if _, err := w.GetVolume(ctx, volume); err != nil {
		return nil, err
	}
	snapshot, err := w.IOpenStack.CreateSnapshot(ctx, name, volume, tags)
	return snapshot, w.note(err)
}

func (w *watched) ListSnapshots(ctx context.Context, filters map[string]string) ([]snapshots.Snapshot, string, error) {
	list, next, err := w.IOpenStack.ListSnapshots(transport.OneOperation(ctx), filters)
	return list, next, w.note(err)
}

func (w *watched) DeleteSnapshot(ctx context.Context, id string) error {
	if _, err := w.GetSnapshotByID(ctx, id); err != nil {
		return err
	}
	return w.note(w.IOpenStack.DeleteSnapshot(ctx, id))
}

func (w *watched) GetSnapshotByID(ctx context.Context, id string) (*snapshots.Snapshot, error) {
	snapshot, err := w.IOpenStack.GetSnapshotByID(ctx, id)
	if err != nil {
		return nil, w.note(err)
	}
	return snapshot, w.refuse("snapshot", id, w.cluster.IsForeignVolume(snapshot.Metadata))
}

func (w *watched) WaitSnapshotReady(ctx context.Context, id string) (string, error) {
	status, err := w.IOpenStack.WaitSnapshotReady(ctx, id)
	return status, w.note(err)
}

func (w *watched) CreateBackup(ctx context.Context, name, volume, snapshot, zone string, tags map[string]string) (*backups.Backup, error) {
	backup, err := w.IOpenStack.CreateBackup(ctx, name, volume, snapshot, zone, tags)
	return backup, w.note(err)
}

func (w *watched) ListBackups(ctx context.Context, filters map[string]string) ([]backups.Backup, error) {
	list, err := w.IOpenStack.ListBackups(transport.OneOperation(ctx), filters)
	return list, w.note(err)
}

func (w *watched) DeleteBackup(ctx context.Context, id string) error {
	return w.note(w.IOpenStack.DeleteBackup(ctx, id))
}

func (w *watched) GetBackupByID(ctx context.Context, id string) (*backups.Backup, error) {
	backup, err := w.IOpenStack.GetBackupByID(ctx, id)
	if err != nil {
		return nil, w.note(err)
	}
	return backup, w.refuse("backup", id, backup.Metadata != nil && w.cluster.IsForeignVolume(*backup.Metadata))
}

func (w *watched) WaitBackupReady(ctx context.Context, id string, size, secondsPerGB int) (string, error) {
	status, err := w.IOpenStack.WaitBackupReady(ctx, id, size, secondsPerGB)
	return status, w.note(err)
}

func (w *watched) GetInstanceByID(ctx context.Context, id string) (*servers.Server, error) {
	server, err := w.IOpenStack.GetInstanceByID(ctx, id)
	if err != nil {
		return nil, w.note(err)
	}
	return server, w.refuse("server", id, w.cluster.IsForeignServer(server.Metadata))
}

func (w *watched) ExpandVolume(ctx context.Context, id, status string, size int) error {
	return w.note(w.IOpenStack.ExpandVolume(ctx, id, status, size))
}

func (w *watched) ResolveVolumeListToUUIDs(ctx context.Context, names string) (string, error) {
	ids, err := w.IOpenStack.ResolveVolumeListToUUIDs(ctx, names)
	return ids, w.note(err)
}
