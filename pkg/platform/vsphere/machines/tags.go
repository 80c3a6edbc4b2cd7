// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package machines

import (
	"context"
	"slices"

	"github.com/vmware/govmomi/vim25/types"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/vsphere/client"
)

// attachTags attaches the tags of the machine in one request. Those that it has already are no error.
func (c *call) attachTags(ctx context.Context, vm types.ManagedObjectReference) error {
	if len(c.spec.TagIDs) == 0 {
		return nil
	}
	err := client.Classify(c.session.Tags().AttachMultipleTagsToObject(ctx, c.spec.TagIDs, vm))
	if client.IsNotFound(err) {
		return platform.NewError(platform.ClassConfiguration, "one of the tags %q does not exist any more: %w", c.spec.TagIDs, err)
	}
	return err
}

// missingTag says which tag the virtual machine lacks, and is empty if that is none.
func (c *call) missingTag(ctx context.Context, vm types.ManagedObjectReference) (string, error) {
	if len(c.spec.TagIDs) == 0 {
		return "", nil
	}
	attached, err := c.session.Tags().ListAttachedTags(ctx, vm)
	if err != nil {
		return "", client.Classify(err)
	}
	for _, id := range c.spec.TagIDs {
		if !slices.Contains(attached, id) {
			return "it does not have the tag " + id, nil
		}
	}
	return "", nil
}
