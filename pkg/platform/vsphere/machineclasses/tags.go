// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package machineclasses

import (
	"context"
	"errors"
	"strings"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/vsphere/client"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/vsphere/inventory"
)

// findTags returns the IDs of tags that are named <category>/<tag>.
func findTags(ctx context.Context, session *client.Session, names []string) ([]string, error) {
	if len(names) == 0 {
		return nil, nil
	}
	var (
		manager = session.Tags()
		ids     []string
		errs    []error
	)
	for _, name := range names {
		categoryName, tagName, _ := strings.Cut(name, "/")
		category, err := inventory.LookupCategory(ctx, manager, categoryName)
		if err != nil {
			return nil, err
		}
		if category == nil {
			errs = append(errs,
				platform.NewError(platform.ClassConfiguration, "tag %q: category %q does not exist or is not visible to the credentials", name,
					categoryName))
			continue
		}
		tag, err := inventory.LookupTag(ctx, manager, category.ID, tagName)
		if err != nil {
			return nil, err
		}
		if tag == nil {
			errs = append(errs, platform.NewError(platform.ClassConfiguration, "tag %q does not exist or is not visible to the credentials", name))
			continue
		}
		ids = append(ids, tag.ID)
	}
	return ids, errors.Join(errs...)
}
