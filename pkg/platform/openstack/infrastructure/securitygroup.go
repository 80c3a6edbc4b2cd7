// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package infrastructure

import (
	"context"
	"slices"

	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/security/groups"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/security/rules"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/client"
)

func (f *flow) ensureSecurityGroup(seen *seen) func(context.Context) error {
	place := func(s *v1alpha1.OpenStackState) **v1alpha1.OpenStackObject { return &s.SecurityGroup }
	return func(ctx context.Context) error {
		if given := referenceID(f.config().SecurityGroup); given != "" {
			if seen.securityGroup == nil || seen.securityGroup.ID != given {
				return notFound("securityGroup.id", given)
			}
			if err := f.refuseForeign("securityGroup.id", given, seen.securityGroup.Description, seen.securityGroup.Tags, f.profile().SecurityGroups); err != nil {
				return err
			}
			return f.recordObject(ctx, given, false, place)
		}
		if seen.securityGroup == nil {
			created, err := client.Extracted(groups.Create(ctx, f.network, groups.CreateOpts{Name: f.owner.Name(), Description: f.owner.Description()}).Extract())
			if err != nil {
				return client.Classify(err)
			}
			seen.securityGroup = created
		}
		if err := f.adopt(ctx, "security-groups", seen.securityGroup.ID, seen.securityGroup.Tags, place); err != nil {
			return err
		}
		return f.ensureRules(ctx, seen.securityGroup)
	}
}

// ensureRules adds missing rules in one request, before it deletes those that are not wanted. Rules for metrics come last, and not at
// all if the quota does not suffice for them: no machine has to wait for metrics. Existing ones give way if the quota does not suffice
// for what is needed.
func (f *flow) ensureRules(ctx context.Context, group *groups.SecGroup) error {
	needed, metrics := wantedRules(group.ID, f.site.Network), metricRules(f.site.Network)
	missing := map[rule]bool{}
	for _, r := range slices.Concat(needed, metrics) {
		missing[r] = true
	}

	var unwanted, optional []string
	for _, existing := range group.Rules {
		r := ruleOf(existing)
		switch {
		case !missing[r]:
			unwanted = append(unwanted, existing.ID)
		case slices.Contains(metrics, r):
			optional = append(optional, existing.ID)
		}
		delete(missing, r)
	}

	err := f.createRules(ctx, group.ID, needed, missing)
	crowded := platform.ClassOf(err) == platform.ClassQuota && len(optional) > 0
	if crowded {
		if err := f.deleteRules(ctx, optional); err != nil {
			return err
		}
		err = f.createRules(ctx, group.ID, needed, missing)
	}
	if err != nil {
		return err
	}
	// What just gave way is tried again by the next reconciliation.
	if err := f.deleteRules(ctx, unwanted); err != nil || crowded {
		return err
	}
	if err := f.createRules(ctx, group.ID, metrics, missing); err != nil && platform.ClassOf(err) != platform.ClassQuota {
		return err
	}
	return nil
}

// createRules creates those that are missing, all or none.
func (f *flow) createRules(ctx context.Context, groupID string, wanted []rule, missing map[rule]bool) error {
	var (
		options []rules.CreateOpts
		added   = map[rule]bool{}
	)
	for _, r := range wanted {
		if missing[r] && !added[r] {
			options = append(options, r.options(groupID))
			added[r] = true
		}
	}
	if len(options) == 0 {
		return nil
	}
	_, err := rules.CreateBulk(ctx, f.network, options).Extract()
	return client.Classify(err)
}

func (f *flow) deleteRules(ctx context.Context, ids []string) error {
	for _, id := range ids {
		if err := client.IgnoreNotFound(rules.Delete(ctx, f.network, id).ExtractErr()); err != nil {
			return err
		}
	}
	return nil
}
