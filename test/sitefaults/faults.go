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
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/metal"
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

// Well is the reason of the same conditions when the fault has ended.
func (f Fault) Well() string {
	if f.Reason == sitehealth.ReasonQuota {
		return sitehealth.ReasonHasRoom
	}
	return sitehealth.ReasonAvailable
}

// FarEnds are the APIs of the sites, and what is behind them.
type FarEnds struct {
	// Cloud is the proxy before the services of OpenStack, Others that before VCenterService and InventoryService.
	Cloud, Others *countproxy.Proxy
	// Project is the project of the OpenStack site.
	Project *openstack.Project
	// Inventory has the hosts of the sites of bare metal.
	Inventory *metal.Inventory
	// SetCredentials changes entries of the shoot's Secret.
	SetCredentials func(context.Context, map[string]string) error
}

// Faults are those that can be made to happen, all of them real but the first two, which a proxy makes.
func (f *FarEnds) Faults() []Fault {
	cloud, vc, metal := shoot.Sites[:1], []string{shoot.VSphereSite}, shoot.MetalSites[:]
	return []Fault{
		{
			Name: "OpenStack's APIs hang", Sites: cloud, Reason: sitehealth.ReasonUnreachable,
			Begin: func(context.Context) error { return f.Cloud.SetFaults(countproxy.Fault{Action: countproxy.ActionHang}) },
			End:   func(context.Context) error { return f.Cloud.SetFaults() },
		},
		{
			Name: "the inventory's API hangs", Sites: metal, Reason: sitehealth.ReasonUnreachable,
			Begin: func(context.Context) error {
				return f.Others.SetFaults(countproxy.Fault{Service: InventoryService, Action: countproxy.ActionHang})
			},
			End: func(context.Context) error { return f.Others.SetFaults() },
		},
		{
			Name: "OpenStack is down", Sites: cloud, Reason: sitehealth.ReasonUnreachable,
			Begin: func(context.Context) error { return eachService(f.Cloud.TakeDown) },
			End:   func(context.Context) error { return eachService(f.Cloud.BringUp) },
		},
		{
			Name: "the vCenter is down", Sites: vc, Reason: sitehealth.ReasonUnreachable,
			Begin: func(context.Context) error { return f.Others.TakeDown(VCenterService) },
			End:   func(context.Context) error { return f.Others.BringUp(VCenterService) },
		},
		{
			Name: "the inventory is down", Sites: metal, Reason: sitehealth.ReasonUnreachable,
			Begin: func(context.Context) error { return f.Others.TakeDown(InventoryService) },
			End:   func(context.Context) error { return f.Others.BringUp(InventoryService) },
		},
		{
			Name: "the password of OpenStack is wrong", Sites: cloud, Reason: sitehealth.ReasonUnauthorized,
			Begin: func(ctx context.Context) error {
				return f.SetCredentials(ctx, map[string]string{shoot.Sites[0] + ".password": "wrong"})
			},
			End: func(ctx context.Context) error {
				return f.SetCredentials(ctx, map[string]string{shoot.Sites[0] + ".password": f.Project.Credentials.Password})
			},
		},
		{
			Name: "the password of the vCenter is wrong", Sites: vc, Reason: sitehealth.ReasonUnauthorized,
			Begin: func(ctx context.Context) error {
				return f.SetCredentials(ctx, map[string]string{shoot.VSphereSite + ".password": "wrong"})
			},
			End: func(ctx context.Context) error {
				return f.SetCredentials(ctx, map[string]string{shoot.VSphereSite + ".password": vcenter.Password})
			},
		},
		{
			Name: "the inventory revoked the permissions", Sites: metal, Reason: sitehealth.ReasonUnauthorized,
			Begin: f.Inventory.Revoke, End: f.Inventory.Grant,
		},
		{
			Name: "the quota of servers is used up", Sites: cloud, Reason: sitehealth.ReasonQuota,
			Begin: func(ctx context.Context) error { return f.Project.SetServerQuota(ctx, 0) },
			End:   func(ctx context.Context) error { return f.Project.SetServerQuota(ctx, 10) },
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
