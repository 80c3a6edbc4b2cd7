// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"

	"github.com/vmware/govmomi/property"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
)

// folderProperty is a property of folders for which System.Read is needed, as it is for the search for virtual machines.
const folderProperty = "configStatus"

// CheckFolder proves that what is in a VM folder can be seen: a vCenter answers a search as if there was nothing where the credentials
// lack privileges. The error is of ClassForbidden then. A folder that does not exist has nothing in it, and is no error if the vCenter is
// known to be the one that had it: IDs are not given twice. Another vCenter never had it.
func (s *Session) CheckFolder(ctx context.Context, connection v1alpha1.VSphereConnection, id string) error {
	folder := types.ManagedObjectReference{Type: "Folder", Value: id}
	var contents []types.ObjectContent
	err := property.DefaultCollector(s.vim).Retrieve(ctx, []types.ManagedObjectReference{folder}, []string{folderProperty}, &contents)
	if IsMissing(err, folder) {
		if connection.InstanceUUID == "" {
			return platform.NewError(platform.ClassTransient,
				"folder %s does not exist, and it is not known which vCenter had it; the next reconciliation of the Infrastructure tells", id)
		}
		return nil
	}
	if err = Classify(err); IsNotFound(err) {
		return platform.NewError(platform.ClassTransient, "folder %s cannot be looked at: %w", id, err)
	}
	if err != nil {
		return platform.NewError(platform.ClassOf(err), "folder %s cannot be read: %w", id, err)
	}
	if len(contents[0].MissingSet) > 0 {
		return platform.NewError(platform.ClassForbidden, "folder %s cannot be read: the credentials lack System.Read", id)
	}
	return nil
}
