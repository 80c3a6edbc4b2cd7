// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"context"

	"github.com/vmware/govmomi/vapi/tags"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/vsphere/client"
)

// LookupCategory returns the category of tags with the name, nil if there is none.
func LookupCategory(ctx context.Context, manager *tags.Manager, name string) (*tags.Category, error) {
	ids, err := manager.ListCategories(ctx)
	if err != nil {
		return nil, client.Classify(err)
	}
	for _, id := range ids {
		category, err := manager.GetCategory(ctx, id)
		switch {
		case err == nil && category.Name == name:
			return category, nil
		case client.IgnoreNotFound(err) != nil:
			return nil, client.Classify(err)
		}
	}
	return nil, nil
}

// LookupTag returns the tag of the category with the name, nil if there is none.
func LookupTag(ctx context.Context, manager *tags.Manager, categoryID, name string) (*tags.Tag, error) {
	ids, err := manager.ListTagsForCategory(ctx, categoryID)
	if err != nil {
		return nil, client.Classify(err)
	}
	for _, id := range ids {
		tag, err := manager.GetTag(ctx, id)
		switch {
		case err == nil && tag.Name == name:
			return tag, nil
		case client.IgnoreNotFound(err) != nil:
			return nil, client.Classify(err)
		}
	}
	return nil, nil
}
