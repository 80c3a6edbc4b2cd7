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

// guardedCloud is the cloud of one request. It records the class of the last error, because the library's driver only reports a message. It
// rejects objects of another cluster in the same project; unmarked ones may be imported. Whether a 404 is OpenStack's is decided by the
// transport. It is not safe for concurrent use, which the driver does not require.
type guardedCloud struct {
	library.IOpenStack

	cluster owner.Owner
	class   platform.Class
}

// refuse returns an error for an object of another cluster. It does not name that cluster.
func (w *guardedCloud) refuse(kind, id string, foreign bool) error {
	if !foreign || w.cluster.Shoot == "" {
		return nil
	}
	return w.record(platform.NewError(platform.ClassForbidden, "%s %q was not made for this shoot and cannot be used", kind, id))
}

// record records the class of err and returns err.
func (w *guardedCloud) record(err error) error {
	if err != nil {
		w.class = classOf(err)
	}
	return err
}

// classOf returns the class of an error of the site, and an empty class for errors of the driver itself.
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

func (w *guardedCloud) CreateVolume(ctx context.Context, options *volumes.CreateOpts,
	hints volumes.SchedulerHintOptsBuilder) (*volumes.Volume, error) {
	volume, err := w.IOpenStack.CreateVolume(ctx, options, hints)
	return volume, w.record(err)
}

func (w *guardedCloud) DeleteVolume(ctx context.Context, id string) error {
	if _, err := w.GetVolume(ctx, id); err != nil {
		return err
	}
	return w.record(w.IOpenStack.DeleteVolume(ctx, id))
}

func (w *guardedCloud) AttachVolume(ctx context.Context, server, id string) (string, error) {
	volume, err := w.IOpenStack.AttachVolume(ctx, server, id)
	return volume, w.record(err)
}

func (w *guardedCloud) ListVolumes(ctx context.Context, limit int, token string) ([]volumes.Volume, string, error) {
	list, next, err := w.IOpenStack.ListVolumes(transport.OneOperation(ctx), limit, token)
	return list, next, w.record(err)
}

func (w *guardedCloud) WaitDiskAttached(ctx context.Context, server, id string) error {
	return w.record(w.IOpenStack.WaitDiskAttached(ctx, server, id))
}

func (w *guardedCloud) DetachVolume(ctx context.Context, server, id string) error {
	if _, err := w.GetVolume(ctx, id); err != nil {
		return err
	}
	return w.record(w.IOpenStack.DetachVolume(ctx, server, id))
}

func (w *guardedCloud) WaitDiskDetached(ctx context.Context, server, id string) error {
	return w.record(w.IOpenStack.WaitDiskDetached(ctx, server, id))
}

func (w *guardedCloud) WaitVolumeTargetStatus(ctx context.Context, id string, status []string) error {
	return w.record(w.IOpenStack.WaitVolumeTargetStatus(ctx, id, status))
}

func (w *guardedCloud) GetAttachmentDiskPath(ctx context.Context, server, id string) (string, error) {
	path, err := w.IOpenStack.GetAttachmentDiskPath(ctx, server, id)
	return path, w.record(err)
}

func (w *guardedCloud) GetVolume(ctx context.Context, id string) (*volumes.Volume, error) {
	volume, err := w.IOpenStack.GetVolume(ctx, id)
	if err != nil {
		return nil, w.record(err)
	}
	return volume, w.refuse("volume", id, w.cluster.IsForeignVolume(volume.Metadata))
}

func (w *guardedCloud) GetVolumesByName(ctx context.Context, name string) ([]volumes.Volume, error) {
	list, err := w.IOpenStack.GetVolumesByName(transport.OneOperation(ctx), name)
	return list, w.record(err)
}

func (w *guardedCloud) CreateSnapshot(ctx context.Context, name, volume string, tags map[string]string) (*snapshots.Snapshot, error) {
	if _, err := w.GetVolume(ctx, volume); err != nil {
		return nil, err
	}
	snapshot, err := w.IOpenStack.CreateSnapshot(ctx, name, volume, tags)
	return snapshot, w.record(err)
}

func (w *guardedCloud) ListSnapshots(ctx context.Context, filters map[string]string) ([]snapshots.Snapshot, string, error) {
	list, next, err := w.IOpenStack.ListSnapshots(transport.OneOperation(ctx), filters)
	return list, next, w.record(err)
}

func (w *guardedCloud) DeleteSnapshot(ctx context.Context, id string) error {
	if _, err := w.GetSnapshotByID(ctx, id); err != nil {
		return err
	}
	return w.record(w.IOpenStack.DeleteSnapshot(ctx, id))
}

func (w *guardedCloud) GetSnapshotByID(ctx context.Context, id string) (*snapshots.Snapshot, error) {
	snapshot, err := w.IOpenStack.GetSnapshotByID(ctx, id)
	if err != nil {
		return nil, w.record(err)
	}
	return snapshot, w.refuse("snapshot", id, w.cluster.IsForeignVolume(snapshot.Metadata))
}

func (w *guardedCloud) WaitSnapshotReady(ctx context.Context, id string) (string, error) {
	status, err := w.IOpenStack.WaitSnapshotReady(ctx, id)
	return status, w.record(err)
}

func (w *guardedCloud) CreateBackup(ctx context.Context, name, volume, snapshot, zone string, tags map[string]string) (*backups.Backup,
	error) {
	backup, err := w.IOpenStack.CreateBackup(ctx, name, volume, snapshot, zone, tags)
	return backup, w.record(err)
}

func (w *guardedCloud) ListBackups(ctx context.Context, filters map[string]string) ([]backups.Backup, error) {
	list, err := w.IOpenStack.ListBackups(transport.OneOperation(ctx), filters)
	return list, w.record(err)
}

func (w *guardedCloud) DeleteBackup(ctx context.Context, id string) error {
	return w.record(w.IOpenStack.DeleteBackup(ctx, id))
}

func (w *guardedCloud) GetBackupByID(ctx context.Context, id string) (*backups.Backup, error) {
	backup, err := w.IOpenStack.GetBackupByID(ctx, id)
	if err != nil {
		return nil, w.record(err)
	}
	return backup, w.refuse("backup", id, backup.Metadata != nil && w.cluster.IsForeignVolume(*backup.Metadata))
}

func (w *guardedCloud) WaitBackupReady(ctx context.Context, id string, size, secondsPerGB int) (string, error) {
	status, err := w.IOpenStack.WaitBackupReady(ctx, id, size, secondsPerGB)
	return status, w.record(err)
}

func (w *guardedCloud) GetInstanceByID(ctx context.Context, id string) (*servers.Server, error) {
	server, err := w.IOpenStack.GetInstanceByID(ctx, id)
	if err != nil {
		return nil, w.record(err)
	}
	return server, w.refuse("server", id, w.cluster.IsForeignServer(server.Metadata))
}

func (w *guardedCloud) ExpandVolume(ctx context.Context, id, status string, size int) error {
	return w.record(w.IOpenStack.ExpandVolume(ctx, id, status, size))
}

func (w *guardedCloud) ResolveVolumeListToUUIDs(ctx context.Context, names string) (string, error) {
	ids, err := w.IOpenStack.ResolveVolumeListToUUIDs(ctx, names)
	return ids, w.record(err)
}
