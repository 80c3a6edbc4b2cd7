// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package openstack_test

import (
	"context"

	"github.com/gophercloud/gophercloud/v2"
	gopheropenstack "github.com/gophercloud/gophercloud/v2/openstack"
	volumequotas "github.com/gophercloud/gophercloud/v2/openstack/blockstorage/v3/quotasets"
	computequotas "github.com/gophercloud/gophercloud/v2/openstack/compute/v2/quotasets"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/endpoints"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/projectendpoints"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/projects"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/roles"
	identityservices "github.com/gophercloud/gophercloud/v2/openstack/identity/v3/services"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/users"
	networkquotas "github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/quotas"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/security/groups"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/util/rand"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/openstack"
)

// project is a project of one test, with one user.
type project struct {
	id          string
	credentials site.Credentials
	admin       *administrator
}

// administrator may do everything in the cloud.
type administrator struct {
	*services
	identity *gophercloud.ServiceClient
	domain   string
}

func newAdministrator(ctx context.Context) *administrator {
	GinkgoHelper()
	c, err := openstack.ReadCredentials(bed.Openrc("admin"))
	Expect(err).NotTo(HaveOccurred())
	provider, err := gopheropenstack.AuthenticatedClient(ctx, gophercloud.AuthOptions{
		IdentityEndpoint: c.AuthURL,
		Username:         c.Username,
		Password:         c.Password,
		DomainName:       c.Domain,
		TenantName:       c.Project,
	})
	Expect(err).NotTo(HaveOccurred())
	identity, err := gopheropenstack.NewIdentityV3(provider, gophercloud.EndpointOpts{Region: c.Region})
	Expect(err).NotTo(HaveOccurred())
	return &administrator{services: newServices(ctx, c), identity: identity, domain: c.Domain}
}

// newProject makes a project whose user has the roles.
func newProject(ctx context.Context, names ...string) *project {
	GinkgoHelper()
	admin := newAdministrator(ctx)
	name := "it-" + rand.String(5)
	created, err := projects.Create(ctx, admin.identity, projects.CreateOpts{Name: name}).Extract()
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func(ctx SpecContext) {
		Expect(projects.Delete(ctx, admin.identity, created.ID).ExtractErr()).To(Succeed())
	})
	DeferCleanup(func(ctx SpecContext) { admin.deleteSecurityGroups(ctx, created.ID) })

	user, err := users.Create(ctx, admin.identity, users.CreateOpts{Name: name, Password: "secret"}).Extract()
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func(ctx SpecContext) { Expect(users.Delete(ctx, admin.identity, user.ID).ExtractErr()).To(Succeed()) })
	for _, name := range names {
		pages, err := roles.List(admin.identity, roles.ListOpts{Name: name}).AllPages(ctx)
		Expect(err).NotTo(HaveOccurred())
		found, err := roles.ExtractRoles(pages)
		Expect(err).NotTo(HaveOccurred())
		Expect(found).To(HaveLen(1))
		Expect(roles.Assign(ctx, admin.identity, found[0].ID,
			roles.AssignOpts{UserID: user.ID, ProjectID: created.ID}).ExtractErr()).To(Succeed())
	}
	return &project{
		id:          created.ID,
		credentials: site.Credentials{"domainName": admin.domain, "tenantName": name, "username": name, "password": "secret"},
		admin:       admin,
	}
}

// deleteSecurityGroups deletes what Neutron made in a project.
func (a *administrator) deleteSecurityGroups(ctx context.Context, project string) {
	GinkgoHelper()
	pages, err := groups.List(a.network, groups.ListOpts{ProjectID: project}).AllPages(ctx)
	Expect(err).NotTo(HaveOccurred())
	found, err := groups.ExtractGroups(pages)
	Expect(err).NotTo(HaveOccurred())
	for _, group := range found {
		Expect(groups.Delete(ctx, a.network, group.ID).ExtractErr()).To(Succeed())
	}
}

// setQuotas sets the quotas of the project: cores and servers, ports, volumes and their GiB.
func (p *project) setQuotas(ctx context.Context, compute computequotas.UpdateOpts, network networkquotas.UpdateOpts,
	volume volumequotas.UpdateOpts) {
	GinkgoHelper()
	_, err := computequotas.Update(ctx, p.admin.compute, p.id, compute).Extract()
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func(ctx SpecContext) { Expect(computequotas.Delete(ctx, p.admin.compute, p.id).Err).To(Succeed()) })
	_, err = networkquotas.Update(ctx, p.admin.network, p.id, network).Extract()
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func(ctx SpecContext) { Expect(networkquotas.Delete(ctx, p.admin.network, p.id).Err).To(Succeed()) })
	_, err = volumequotas.Update(ctx, p.admin.volume, p.id, volume).Extract()
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func(ctx SpecContext) { Expect(volumequotas.Delete(ctx, p.admin.volume, p.id).Err).To(Succeed()) })
}

// hide makes the catalog of the project not have a service.
func (p *project) hide(ctx context.Context, serviceType string) {
	GinkgoHelper()
	servicePages, err := identityservices.List(p.admin.identity, identityservices.ListOpts{ServiceType: serviceType}).AllPages(ctx)
	Expect(err).NotTo(HaveOccurred())
	hidden, err := identityservices.ExtractServices(servicePages)
	Expect(err).NotTo(HaveOccurred())
	Expect(hidden).To(HaveLen(1))
	endpointPages, err := endpoints.List(p.admin.identity, endpoints.ListOpts{}).AllPages(ctx)
	Expect(err).NotTo(HaveOccurred())
	all, err := endpoints.ExtractEndpoints(endpointPages)
	Expect(err).NotTo(HaveOccurred())
	for _, endpoint := range all {
		if endpoint.ServiceID != hidden[0].ID {
			Expect(projectendpoints.Create(ctx, p.admin.identity, p.id, endpoint.ID).ExtractErr()).To(Succeed())
		}
	}
}

// landscapeCredentials are the credentials of the project's user.
func (p *project) landscapeCredentials() openstack.Credentials {
	return openstack.Credentials{
		AuthURL:  credentials.AuthURL,
		Region:   credentials.Region,
		Domain:   p.credentials["domainName"],
		Project:  p.credentials["tenantName"],
		Username: p.credentials["username"],
		Password: p.credentials["password"],
	}
}
