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
	cpoerrors "k8s.io/cloud-provider-openstack/pkg/util/errors"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/client"
)

// watched is the cloud of one request. It remembers the class of the last error, because the library's driver tells its callers
// no more than a message. It is not safe for concurrent use, and the driver does not use it so.
type watched struct {
	library.IOpenStack

	class platform.Class
}

// note remembers the class of err and returns err. That an object does not exist is believed
// only if OpenStack said so and not a proxy: the driver takes a volume that is not found for deleted, and those of a server for detached.
func (w *watched) note(err error) error {
	if err == nil {
		return nil
	}
	w.class = classOf(err)
	if w.class == platform.ClassTransient && cpoerrors.IsNotFound(err) {
		return errors.New(client.Classify(err).Error()) // the driver must not find the 404 in it
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

func (w *watched) CreateVolume(ctx context.Context, options *volumes.CreateOpts, hints volumes.SchedulerHintOptsBuilder) (*volumes.Volume, error) {
	volume, err := w.IOpenStack.CreateVolume(ctx, options, hints)
	return volume, w.note(err)
}

func (w *watched) DeleteVolume(ctx context.Context, id string) error {
	return w.note(w.IOpenStack.DeleteVolume(ctx, id))
}

func (w *watched) AttachVolume(ctx context.Context, server, id string) (string, error) {
	volume, err := w.IOpenStack.AttachVolume(ctx, server, id)
	return volume, w.note(err)
}

func (w *watched) ListVolumes(ctx context.Context, limit int, token string) ([]volumes.Volume, string, error) {
	list, next, err := w.IOpenStack.ListVolumes(ctx, limit, token)
	return list, next, w.note(err)
}

func (w *watched) WaitDiskAttached(ctx context.Context, server, id string) error {
	return w.note(w.IOpenStack.WaitDiskAttached(ctx, server, id))
}

func (w *watched) DetachVolume(ctx context.Context, server, id string) error {
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
	return volume, w.note(err)
}

func (w *watched) GetVolumesByName(ctx context.Context, name string) ([]volumes.Volume, error) {
	list, err := w.IOpenStack.GetVolumesByName(ctx, name)
	return list, w.note(err)
}

func (w *watched) CreateSnapshot(ctx context.Context, name, volume string, tags map[string]string) (*snapshots.Snapshot, error) {
	snapshot, err := w.IOpenStack.CreateSnapshot(ctx, name, volume, tags)
	return snapshot, w.note(err)
}

func (w *watched) ListSnapshots(ctx context.Context, filters map[string]string) ([]snapshots.Snapshot, string, error) {
	list, next, err := w.IOpenStack.ListSnapshots(ctx, filters)
	return list, next, w.note(err)
}

func (w *watched) DeleteSnapshot(ctx context.Context, id string) error {
	return w.note(w.IOpenStack.DeleteSnapshot(ctx, id))
}

func (w *watched) GetSnapshotByID(ctx context.Context, id string) (*snapshots.Snapshot, error) {
	snapshot, err := w.IOpenStack.GetSnapshotByID(ctx, id)
	return snapshot, w.note(err)
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
	list, err := w.IOpenStack.ListBackups(ctx, filters)
	return list, w.note(err)
}

func (w *watched) DeleteBackup(ctx context.Context, id string) error {
	return w.note(w.IOpenStack.DeleteBackup(ctx, id))
}

func (w *watched) GetBackupByID(ctx context.Context, id string) (*backups.Backup, error) {
	backup, err := w.IOpenStack.GetBackupByID(ctx, id)
	return backup, w.note(err)
}

func (w *watched) WaitBackupReady(ctx context.Context, id string, size, secondsPerGB int) (string, error) {
	status, err := w.IOpenStack.WaitBackupReady(ctx, id, size, secondsPerGB)
	return status, w.note(err)
}

func (w *watched) GetInstanceByID(ctx context.Context, id string) (*servers.Server, error) {
	server, err := w.IOpenStack.GetInstanceByID(ctx, id)
	return server, w.note(err)
}

func (w *watched) ExpandVolume(ctx context.Context, id, status string, size int) error {
	return w.note(w.IOpenStack.ExpandVolume(ctx, id, status, size))
}

func (w *watched) ResolveVolumeListToUUIDs(ctx context.Context, names string) (string, error) {
	ids, err := w.IOpenStack.ResolveVolumeListToUUIDs(ctx, names)
	return ids, w.note(err)
}
