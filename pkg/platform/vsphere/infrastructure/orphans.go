// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package infrastructure

import (
	"context"
	"strconv"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/vsphere/client"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
)

// kinds are how the objects are called in lists of orphans, by their types.
var kinds = map[string]string{
	"VirtualMachine": "virtual machine",
	"Folder":         "folder",
	"ResourcePool":   "resource pool",
}

// Orphans implements platform.Infrastructure.
func (i *infrastructure) Orphans(ctx context.Context, s *site.Site) ([]v1alpha1.Orphan, error) {
	f, err := i.forExisting(ctx, s, nil)
	if f == nil {
		return nil, platform.InSite(s.Name, err)
	}
	orphans, err := f.orphans(ctx)
	return orphans, platform.InSite(s.Name, err)
}

func (f *flow) orphans(ctx context.Context) ([]v1alpha1.Orphan, error) {
	owned, err := f.owned(ctx)
	if err != nil {
		return nil, err
	}
	var orphans []v1alpha1.Orphan
	for _, reference := range owned.all() {
		name, err := f.nameOf(ctx, reference)
		if client.IsNotFound(err) {
			continue
		}
		if err != nil {
			return orphans, err
		}
		orphans = append(orphans, v1alpha1.Orphan{Site: f.site.Name, Kind: kinds[reference.Type], ID: reference.Value, Name: name})
	}
	rules, err := f.rules(ctx)
	if err != nil {
		return orphans, err
	}
	for _, rule := range rules {
		orphans = append(orphans,
			v1alpha1.Orphan{Site: f.site.Name, Kind: "anti-affinity rule", ID: strconv.Itoa(int(rule.key)), Name: rule.name})
	}
	if owned.tagID != "" {
		orphans = append(orphans, v1alpha1.Orphan{Site: f.site.Name, Kind: "tag", ID: owned.tagID, Name: f.owner.Name()})
	}
	return orphans, nil
}
