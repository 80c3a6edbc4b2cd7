// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"time"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/test/kubelets"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/vcenter"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/vcenter/control"
)

const (
	// bootTime is the time from power-on to the first address of a guest.
	bootTime = 2 * time.Second
	// taskTime is how long the vCenter takes to make or delete a virtual machine.
	taskTime = time.Second
)

// vCenterSite is a simulated vCenter.
type vCenterSite struct {
	server *vcenter.VCenter
	watch  *vcenter.Watch
}

func (s *vCenterSite) name() string { return vc }

func (s *vCenterSite) platform() string { return "vSphere (simulated)" }

func (s *vCenterSite) start(ctx context.Context) error {
	dir, err := landscape.CacheDir("demo-vcenter")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return err
	}
	if s.server, err = vcenter.Start(ctx, dir, vcenter.Options{Guest: bootTime}); err != nil {
		return err
	}
	s.watch = vcenter.NewWatch(s.server, namespace)
	return s.server.Set(ctx, control.Settings{Task: taskTime})
}

func (s *vCenterSite) stop(ctx context.Context) error {
	if s.server == nil {
		return nil
	}
	err := s.server.Check()
	s.server.Stop(ctx)
	return err
}

func (s *vCenterSite) locate(profile *v1alpha1.CloudProfileSite) {
	profile.VSphere.Server, profile.TLS = "https://"+s.server.Address, &v1alpha1.TLS{CACert: s.server.CA}
}

func (s *vCenterSite) credentials() map[string]string {
	return map[string]string{"username": vcenter.Username, "password": vcenter.Password}
}

func (s *vCenterSite) servers(ctx context.Context) (map[string]server, error) {
	found, err := s.watch.Machines(ctx)
	servers := map[string]server{}
	for id, m := range found {
		status := "off"
		if m.On {
			status = "on"
		}
		servers[id] = server{name: m.Name, status: status, image: m.Guest, active: m.On && len(m.Addresses) > 0, addresses: m.Addresses}
	}
	return servers, err
}

func (s *vCenterSite) active(ctx context.Context) (map[string]kubelets.Server, error) {
	return s.watch.Active(ctx)
}

func (s *vCenterSite) objects(ctx context.Context) ([]object, error) {
	found, err := s.server.Objects(ctx, namespace)
	var objects []object
	for _, o := range found {
		objects = append(objects, object{kind: o.Kind, text: o.String()})
	}
	return objects, err
}

func (s *vCenterSite) kinds() string {
	return "virtual machine, folder, resource pool, rule, disk or tag"
}

func (s *vCenterSite) hint() string {
	address := url.URL{Scheme: "https", Host: s.server.Address, User: url.UserPassword(vcenter.Username, vcenter.Password)}
	return fmt.Sprintf("export GOVC_INSECURE=1 GOVC_URL='%s'     (govc find / -name '%s*')", &address, namespace)
}
