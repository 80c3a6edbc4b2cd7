// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/test/kubelets"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/openstack"
)

// openStackSite is a project of the landscape's OpenStack, or of the one that $OPENRC names.
type openStackSite struct {
	screen *screen

	bed     *openstack.Bed
	started bool
	openrc  string
	access  openstack.Credentials
	client  *openstack.Client
	watch   *openstack.Watch
}

func (s *openStackSite) name() string { return cloud }

func (s *openStackSite) platform() string { return "OpenStack" }

func (s *openStackSite) start(ctx context.Context) error {
	if s.openrc = os.Getenv("OPENRC"); s.openrc == "" {
		if err := s.startBed(ctx); err != nil {
			return err
		}
	}
	var err error
	if s.access, err = openstack.ReadCredentials(s.openrc); err != nil {
		return err
	}
	if s.client, err = openstack.NewClient(ctx, s.access); err != nil {
		return err
	}
	s.watch = openstack.NewWatch(namespace, s.client)
	return s.sweep(ctx)
}

func (s *openStackSite) startBed(ctx context.Context) error {
	bed, err := openstack.NewBed()
	if err != nil {
		return err
	}
	s.bed = bed
	s.started = !bed.Answers(ctx)
	s.openrc = bed.Openrc(openstack.Projects[0])
	_, err = bed.Start(ctx, s.screen)
	if errors.Is(err, openstack.ErrNotPossible) {
		s.started = false // there is nothing to stop
	}
	return err
}

// sweep deletes what a demo left that was killed: the cluster that knew it is gone.
func (s *openStackSite) sweep(ctx context.Context) error {
	objects, err := s.objects(ctx)
	if err != nil || len(objects) == 0 {
		return err
	}
	s.screen.print(fmt.Sprintf("    deleting %d objects that an earlier demo left", len(objects)))
	return s.client.Sweep(ctx, namespace)
}

func (s *openStackSite) stop(context.Context) error {
	if s.bed == nil || !s.started {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := s.bed.Stop(ctx, s.screen); err != nil {
		return fmt.Errorf("stop OpenStack: %w", err)
	}
	return nil
}

func (s *openStackSite) locate(profile *v1alpha1.CloudProfileSite) {
	profile.OpenStack.AuthURL, profile.OpenStack.Region = s.access.AuthURL, s.access.Region
}

func (s *openStackSite) credentials() map[string]string {
	return s.access.SiteCredentials()
}

func (s *openStackSite) servers(ctx context.Context) (map[string]server, error) {
	found, err := s.watch.Servers(ctx)
	servers := map[string]server{}
	for id, f := range found {
		servers[id] = server{name: f.Name, status: f.Status, image: f.Image, active: f.Status == "ACTIVE", addresses: f.Addresses}
	}
	return servers, err
}

func (s *openStackSite) active(ctx context.Context) (map[string]kubelets.Server, error) {
	return s.watch.Active(ctx)
}

func (s *openStackSite) objects(ctx context.Context) ([]object, error) {
	found, err := s.client.Objects(ctx, namespace)
	var objects []object
	for _, o := range found {
		objects = append(objects, object{kind: o.Kind, text: o.String()})
	}
	return objects, err
}

func (s *openStackSite) kinds() string {
	return "server, port, network, subnet, router, security group, key pair, server group, floating IP, load balancer, share network or volume"
}

func (s *openStackSite) hint() string {
	return fmt.Sprintf(". %s     (openstack server list)", s.openrc)
}
