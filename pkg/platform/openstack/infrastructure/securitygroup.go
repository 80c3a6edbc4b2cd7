// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package infrastructure

import (
	"context"
	"errors"
	"slices"

	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/security/groups"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/security/rules"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/client"
)

func (f *flow) securityGroups(ctx context.Context, by filter) ([]groups.SecGroup, error) {
	return client.List(ctx, groups.List(f.network, groups.ListOpts{ID: by.id, Name: by.name}), groups.ExtractGroups)
}

func (f *flow) lookSecurityGroup(ctx context.Context, id string) (*groups.SecGroup, error) {
	return find(ctx, id, f.securityGroups, func(g groups.SecGroup) bool { return f.owner.Owns(g.Description, g.Tags) }, f.owner.Name())
}

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

func (f *flow) ownedSecurityGroups(ctx context.Context) ([]groups.SecGroup, error) {
	return owned(ctx, f.securityGroups, f.State().SecurityGroup, f.owner.Name(),
		func(g groups.SecGroup) (string, bool) { return g.ID, f.owner.Owns(g.Description, g.Tags) })
}

func (f *flow) deleteSecurityGroups(ctx context.Context) error {
	found, err := f.ownedSecurityGroups(ctx)
	if err != nil {
		return err
	}
	for _, group := range found {
		if err := client.IgnoreNotFound(groups.Delete(ctx, f.network, group.ID).ExtractErr()); err != nil {
			return err
		}
	}
	return f.forget(ctx, func(s *v1alpha1.OpenStackState) **v1alpha1.OpenStackObject { return &s.SecurityGroup })
}

// deleteServiceSecurityGroups deletes the security groups that the shoot's Services left behind.
func (f *flow) deleteServiceSecurityGroups(ctx context.Context) error {
	found, err := f.serviceSecurityGroups(ctx)
	if err != nil {
		return err
	}
	for i := range found {
		if err := client.IgnoreNotFound(groups.Delete(ctx, f.network, found[i].ID).ExtractErr()); err != nil {
			return err
		}
	}
	return nil
}

// serviceSecurityGroups lists the security groups that were made for the shoot's Services. They do not tell their site, and
// another one may be in the same project: there are some only if the whole shoot is deleted.
func (f *flow) serviceSecurityGroups(ctx context.Context) ([]groups.SecGroup, error) {
	if f.site.Removed() {
		return nil, nil
	}
	project, err := f.session.ProjectID()
	if err != nil {
		return nil, err
	}
	found, err := client.List(ctx, groups.List(f.network, groups.ListOpts{ProjectID: project}), groups.ExtractGroups)
	return slices.DeleteFunc(found, func(g groups.SecGroup) bool { return !f.owner.OwnsServiceSecurityGroup(g.Description) }), err
}

func (f *flow) orphanedSecurityGroups(ctx context.Context) ([]v1alpha1.Orphan, error) {
	own, ownErr := f.ownedSecurityGroups(ctx)
	ofServices, servicesErr := f.serviceSecurityGroups(ctx)
	identify := func(g groups.SecGroup) (string, string) { return g.ID, g.Name }
	return orphansOf(f, "security group", slices.Concat(own, ofServices), identify), errors.Join(ownErr, servicesErr)
}
