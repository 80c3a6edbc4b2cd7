// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/client"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/infrastructure"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/machineclasses"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/machines"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
	"github.com/gardener/gardener-extension-provider-hybrid/test/countproxy"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/openstack"
)

const (
	removeTimeout  = 3 * time.Minute
	removeInterval = 2 * time.Second
)

// Bed is a site in a real OpenStack behind the proxy, and the product's code that works on it with one warm session.
type Bed struct {
	progress  io.Writer
	openstack *openstack.Bed
	started   bool
	inspector *openstack.Client
	proxy     *countproxy.Proxy
	counter   *counter

	recordings int

	infrastructure platform.Infrastructure
	machineClasses platform.MachineClasses
	machines       platform.Machines

	credentials openstack.Credentials
	shoot       string
	site        *site.Site
	status      *v1alpha1.SiteStatus
	created     []platform.MachineRequest
}

// newBed starts OpenStack if it does not run, and the proxy.
func newBed(ctx context.Context, progress io.Writer) (*Bed, error) {
	landscape, err := openstack.NewBed()
	if err != nil {
		return nil, err
	}
	sessions := client.NewSessions()
	b := &Bed{
		progress:       progress,
		openstack:      landscape,
		infrastructure: infrastructure.New(sessions),
		machineClasses: machineclasses.New(sessions),
		machines:       machines.New(sessions),
		shoot:          "shoot--bench--" + rand.String(5),
	}
	if err := b.start(ctx); err != nil {
		return nil, errors.Join(err, b.close(context.WithoutCancel(ctx)))
	}
	return b, nil
}

func (b *Bed) start(ctx context.Context) (err error) {
	fmt.Fprintln(b.progress, "> OpenStack")
	if b.started, err = b.openstack.Start(ctx, b.progress); err != nil {
		return err
	}
	if b.credentials, err = b.openstack.Credentials(openstack.Projects[0]); err != nil {
		return err
	}
	if b.inspector, err = openstack.NewClient(ctx, b.credentials); err != nil {
		return err
	}
	if b.proxy, err = countproxy.New(openstack.Services()...); err != nil {
		return err
	}
	if b.counter, err = newCounter(); err != nil {
		return err
	}
	b.site, err = newSite(b.shoot, b.proxy.Rewrite(b.credentials.AuthURL), b.credentials)
	return err
}

// prepare makes the site's infrastructure and leaves a warm session behind.
func (b *Bed) prepare(ctx context.Context) error {
	if b.status != nil {
		return nil
	}
	fmt.Fprintf(b.progress, "  create the infrastructure of %s\n", b.shoot)
	for range 2 {
		if err := b.reconcile(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (b *Bed) reconcile(ctx context.Context) error {
	status, err := b.infrastructure.Reconcile(ctx, b.site, b.persist)
	if err == nil {
		b.status = status
	}
	return err
}

func (b *Bed) persist(_ context.Context, state *v1alpha1.SiteState) error {
	b.site.State = state.DeepCopy()
	return nil
}

// observe returns the requests that do makes. It fails if the product's own metric counted other requests than the proxy,
// because then some went past it.
func (b *Bed) observe(ctx context.Context, run string, do func(context.Context) error) ([]Record, error) {
	before, err := b.counter.requests()
	if err != nil {
		return nil, err
	}
	records, err := b.record(ctx, run, do)
	if err != nil {
		return nil, err
	}
	after, err := b.counter.requests()
	if err != nil {
		return nil, err
	}
	if after-before != len(records) {
		return nil, fmt.Errorf("the metric counted %d requests, the proxy %d", after-before, len(records))
	}
	return records, nil
}

// record returns the requests that arrive at the proxy while do runs.
func (b *Bed) record(ctx context.Context, run string, do func(context.Context) error) ([]Record, error) {
	b.recordings++
	label := strconv.Itoa(b.recordings)
	b.proxy.SetLabel(label)
	defer b.proxy.SetLabel("")
	if err := do(ctx); err != nil {
		return nil, err
	}
	return recordsOf(run, b.proxy.Requests(label)), nil
}

// close removes everything that was made and stops what was started. It fails if something of the shoot is left.
func (b *Bed) close(ctx context.Context) error {
	var errs []error
	if b.site != nil {
		fmt.Fprintln(b.progress, "> Clean up")
		errs = append(errs, b.proxy.SetFaults(), b.removeAll(ctx))
	}
	if b.proxy != nil {
		errs = append(errs, b.proxy.Close())
	}
	if b.started {
		errs = append(errs, b.openstack.Stop(ctx, b.progress))
	}
	return errors.Join(errs...)
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
