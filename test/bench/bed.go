// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/openstack"
)

const (
	removeTimeout  = 3 * time.Minute
	removeInterval = 2 * time.Second
)

// Bed is a site in a real OpenStack behind the proxy. OpenStack is started for the first figure that needs it.
type Bed struct {
	*cloud

	progress  io.Writer
	openstack *openstack.Bed
	started   bool
	inspector *openstack.Client
	measured  map[uintptr]outcome
	peers     *peerBinary

	lab     *lab
	lookout *lookout
}

func newBed(progress io.Writer) *Bed {
	return &Bed{progress: progress, measured: map[uintptr]outcome{}, peers: &peerBinary{}}
}

// prepare starts what does not run, makes the site's infrastructure and leaves a warm session behind.
func (b *Bed) prepare(ctx context.Context) error {
	if b.cloud == nil {
		if err := b.start(ctx); err != nil {
			return err
		}
	}
	return b.cloud.prepare(ctx)
}

// start starts OpenStack if it does not run, and the proxy.
func (b *Bed) start(ctx context.Context) (err error) {
	fmt.Fprintln(b.progress, "  OpenStack")
	if b.openstack, err = openstack.NewBed(); err != nil {
		return err
	}
	if b.started, err = b.openstack.Start(ctx, b.progress); err != nil {
		return err
	}
	credentials, err := b.openstack.Credentials(openstack.Projects[0])
	if err != nil {
		return err
	}
	if b.inspector, err = openstack.NewClient(ctx, credentials); err != nil {
		return err
	}
	b.cloud, err = newCloud(newShootName(), credentials, openstack.Services()...)
	return err
}

// another returns a bed for another shoot in the same OpenStack, without infrastructure. Who gets it closes it.
func (b *Bed) another(ctx context.Context) (*Bed, error) {
	if b.cloud == nil {
		if err := b.start(ctx); err != nil {
			return nil, err
		}
	}
	other := &Bed{progress: b.progress, openstack: b.openstack, inspector: b.inspector, measured: b.measured, peers: b.peers}
	var err error
	other.cloud, err = newCloud(newShootName(), b.credentials, openstack.Services()...)
	return other, err
}

func newShootName() string {
	return "shoot--bench--" + rand.String(5)
}

// close removes everything that was made and stops what was started. It fails if something of the shoot is left.
func (b *Bed) close(ctx context.Context) error {
	var errs []error
	if b.lab != nil {
		b.lab.close()
	}
	if b.cloud != nil {
		fmt.Fprintln(b.progress, "> Clean up")
		errs = append(errs, b.proxy.SetFaults(), b.removeAll(ctx), b.cloud.close())
	}
	if b.started {
		errs = append(errs, b.openstack.Stop(ctx, b.progress))
	}
	return errors.Join(errs...)
}

// calm ends the faults that a figure left behind when it failed.
func (b *Bed) calm() error {
	if b.cloud == nil {
		return nil
	}
	return b.proxy.SetFaults()
}

// removeAll deletes until nothing is left: what an interrupted request still makes can appear after it was looked for.
func (b *Bed) removeAll(ctx context.Context) error {
	var last error
	err := wait.PollUntilContextTimeout(ctx, removeInterval, removeTimeout, true, func(ctx context.Context) (bool, error) {
		last = b.remove(ctx)
		return last == nil, nil
	})
	if err != nil {
		return fmt.Errorf("%s was not cleaned up: %w", b.shoot, last)
	}
	return nil
}

func (b *Bed) remove(ctx context.Context) error {
	if err := b.deleteMachines(ctx); err != nil {
		return err
	}
	if err := b.infrastructure.Delete(ctx, b.site, b.persist); err != nil {
		return fmt.Errorf("delete the infrastructure: %w", err)
	}
	left, err := b.inspector.Objects(ctx, b.shoot)
	if err == nil && len(left) > 0 {
		err = fmt.Errorf("objects are left: %v", left)
	}
	return err
}

// deleteMachines deletes the machines of all servers that there are.
func (b *Bed) deleteMachines(ctx context.Context) error {
	servers, err := b.inspector.Servers(ctx, b.shoot+"-")
	if err != nil {
		return err
	}
	specs, err := b.machineClasses.Locate(b.site, nil)
	if err != nil {
		return err
	}
	var (
		group sync.WaitGroup
		mutex sync.Mutex
		errs  []error
	)
	for id, server := range servers {
		group.Go(func() {
			request := platform.MachineRequest{Name: server.Name, ProviderID: "openstack:///" + id, Spec: specs[0], Credentials: b.site.Credentials}
			if err := b.machines.Delete(ctx, request); err != nil {
				mutex.Lock()
				defer mutex.Unlock()
				errs = append(errs, fmt.Errorf("delete machine %s: %w", server.Name, err))
			}
		})
	}
	group.Wait()
	return errors.Join(errs...)
}
