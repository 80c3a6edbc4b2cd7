// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package sitefaults

import (
	"context"
	"errors"
	"strings"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/controller/sitehealth"
	"github.com/gardener/gardener-extension-provider-hybrid/test/countproxy"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/openstack"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/shoot"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/vcenter"
)

// ironCoreResources are the resources of IronCore, which has the same API server as Metal3 here.
var ironCoreResources = []string{"serverclaims", "servers"}

// resourceOf returns the resource that a request to a Kubernetes API is about.
func resourceOf(request countproxy.Request) string {
	parts := strings.Split(request.Path, "/")
	return parts[len(parts)-1]
}

// Fault is something that goes wrong with sites and gets well again.
type Fault struct {
	// Name tells what it is.
	Name string
	// Sites are the sites that it concerns.
	Sites []string
	// Reason is that of the conditions of the sites meanwhile.
	Reason string
	// Begin makes it happen, End ends it.
	Begin, End func(context.Context) error
}

// Faults are those that the lab can make happen, all of them real but the first two, which a proxy makes.
func (l *Lab) Faults() []Fault {
	cloud, vc, metal := shoot.Sites[:1], []string{shoot.VSphereSite}, shoot.MetalSites[:]
	return []Fault{
		{
			Name: "OpenStack's APIs hang", Sites: cloud, Reason: sitehealth.ReasonUnreachable,
			Begin: func(context.Context) error { return l.cloud.SetFaults(countproxy.Fault{Action: countproxy.ActionHang}) },
			End:   func(context.Context) error { return l.cloud.SetFaults() },
		},
		{
			Name: "the inventory's API hangs", Sites: metal, Reason: sitehealth.ReasonUnreachable,
			Begin: func(context.Context) error {
				return l.others.SetFaults(countproxy.Fault{Service: inventoryService, Action: countproxy.ActionHang})
			},
			End: func(context.Context) error { return l.others.SetFaults() },
		},
		{
			Name: "OpenStack is down", Sites: cloud, Reason: sitehealth.ReasonUnreachable,
			Begin: func(context.Context) error { return eachService(l.cloud.TakeDown) },
			End:   func(context.Context) error { return eachService(l.cloud.BringUp) },
		},
		{
			Name: "the vCenter is down", Sites: vc, Reason: sitehealth.ReasonUnreachable,
			Begin: func(context.Context) error { return l.others.TakeDown(vcenterService) },
			End:   func(context.Context) error { return l.others.BringUp(vcenterService) },
		},
		{
			Name: "the inventory is down", Sites: metal, Reason: sitehealth.ReasonUnreachable,
			Begin: func(context.Context) error { return l.others.TakeDown(inventoryService) },
			End:   func(context.Context) error { return l.others.BringUp(inventoryService) },
		},
		{
			Name: "the password of OpenStack is wrong", Sites: cloud, Reason: sitehealth.ReasonUnauthorized,
			Begin: func(ctx context.Context) error {
				return l.SetCredentials(ctx, map[string]string{shoot.Sites[0] + ".password": "wrong"})
			},
			End: func(ctx context.Context) error {
				return l.SetCredentials(ctx, map[string]string{shoot.Sites[0] + ".password": l.project.Credentials.Password})
			},
		},
		{
			Name: "the password of the vCenter is wrong", Sites: vc, Reason: sitehealth.ReasonUnauthorized,
			Begin: func(ctx context.Context) error {
				return l.SetCredentials(ctx, map[string]string{shoot.VSphereSite + ".password": "wrong"})
			},
			End: func(ctx context.Context) error {
				return l.SetCredentials(ctx, map[string]string{shoot.VSphereSite + ".password": vcenter.Password})
			},
		},
		{
			Name: "the inventory revoked the permissions", Sites: metal, Reason: sitehealth.ReasonUnauthorized,
			Begin: l.inventory.Revoke, End: l.inventory.Grant,
		},
		{
			Name: "the quota of servers is used up", Sites: cloud, Reason: sitehealth.ReasonQuota,
			Begin: func(ctx context.Context) error { return l.project.SetServerQuota(ctx, 0) },
			End:   func(ctx context.Context) error { return l.project.SetServerQuota(ctx, 10) },
		},
	}
}

func eachService(do func(string) error) error {
	var errs []error
	for _, service := range openstack.Services() {
		errs = append(errs, do(service.Name))
	}
	return errors.Join(errs...)
}
