// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"context"
	"errors"
	"fmt"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/quotasets"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/projects"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/roles"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/users"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/quotas"
)

// admin is the name of the administrator and of the administrator's project.
const admin = "admin"

// MemberRoles are the roles of users in their projects.
var MemberRoles = []string{"member", "load-balancer_member"}

// Project is a project that only one test uses, so that its quotas can be changed.
type Project struct {
	// Credentials are those of its only user.
	Credentials Credentials

	identity, compute, network *gophercloud.ServiceClient
	project, user              string
}

// NewProject makes a project and its user, who has the name of the project. Delete deletes both.
func (b *Bed) NewProject(ctx context.Context, name, password string) (*Project, error) {
	credentials, err := b.Credentials(admin)
	if err != nil {
		return nil, err
	}
	provider, err := openstack.AuthenticatedClient(ctx, credentials.authOptions())
	if err != nil {
		return nil, fmt.Errorf("sign in as administrator: %w", err)
	}
	endpoint := gophercloud.EndpointOpts{Region: credentials.Region}
	p := &Project{}
	if p.identity, err = openstack.NewIdentityV3(provider, endpoint); err != nil {
		return nil, err
	}
	if p.compute, err = openstack.NewComputeV2(provider, endpoint); err != nil {
		return nil, err
	}
	if p.network, err = openstack.NewNetworkV2(provider, endpoint); err != nil {
		return nil, err
	}
	if err := p.create(ctx, name, password); err != nil {
		return nil, errors.Join(err, p.Delete(ctx))
	}
	p.Credentials = credentials
	p.Credentials.Project, p.Credentials.Username, p.Credentials.Password = name, name, password
	return p, nil
}

func (p *Project) create(ctx context.Context, name, password string) error {
	project, err := projects.Create(ctx, p.identity, projects.CreateOpts{Name: name}).Extract()
	if err != nil {
		return fmt.Errorf("create project %s: %w", name, err)
	}
	p.project = project.ID
	user, err := users.Create(ctx, p.identity, users.CreateOpts{Name: name, Password: password, DefaultProjectID: project.ID}).Extract()
	if err != nil {
		return fmt.Errorf("create user %s: %w", name, err)
	}
	p.user = user.ID
	return p.SetRoles(ctx, MemberRoles...)
}

func (p *Project) assign(ctx context.Context, role string) error {
	pages, err := roles.List(p.identity, roles.ListOpts{Name: role}).AllPages(ctx)
	if err != nil {
		return err
	}
	found, err := roles.ExtractRoles(pages)
	if err != nil {
		return err
	}
	if len(found) != 1 {
		return fmt.Errorf("%d roles have the name", len(found))
	}
	return roles.Assign(ctx, p.identity, found[0].ID, roles.AssignOpts{ProjectID: p.project, UserID: p.user}).ExtractErr()
}

// ID is the ID of the project.
func (p *Project) ID() string { return p.project }

// UserID is the ID of its user.
func (p *Project) UserID() string { return p.user }

// SetRoles lets the user have these roles in the project. Without roles, the user is no member.
func (p *Project) SetRoles(ctx context.Context, names ...string) error {
	pages, err := roles.ListAssignmentsOnResource(p.identity,
		roles.ListAssignmentsOnResourceOpts{ProjectID: p.project, UserID: p.user}).AllPages(ctx)
	if err != nil {
		return err
	}
	assigned, err := roles.ExtractRoles(pages)
	if err != nil {
		return err
	}
	for _, role := range assigned {
		opts := roles.UnassignOpts{ProjectID: p.project, UserID: p.user}
		if err := roles.Unassign(ctx, p.identity, role.ID, opts).ExtractErr(); err != nil {
			return err
		}
	}
	for _, name := range names {
		if err := p.assign(ctx, name); err != nil {
			return fmt.Errorf("assign role %s: %w", name, err)
		}
	}
	return nil
}

// SetServerQuota limits the servers of the project.
func (p *Project) SetServerQuota(ctx context.Context, servers int) error {
	return quotasets.Update(ctx, p.compute, p.project, quotasets.UpdateOpts{Instances: &servers}).Err
}

// SetPortQuota limits the ports of the project; -1 is no limit.
func (p *Project) SetPortQuota(ctx context.Context, ports int) error {
	return quotas.Update(ctx, p.network, p.project, quotas.UpdateOpts{Port: &ports}).Err
}

// Delete deletes what NewProject made.
func (p *Project) Delete(ctx context.Context) error {
	var errs []error
	if p.user != "" {
		errs = append(errs, users.Delete(ctx, p.identity, p.user).ExtractErr())
	}
	if p.project != "" {
		errs = append(errs, projects.Delete(ctx, p.identity, p.project).ExtractErr())
	}
	return errors.Join(errs...)
}
