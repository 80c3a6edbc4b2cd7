// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/openstack"
)

const (
	// namespace is the shoot's namespace and technical ID in example/.
	namespace = "shoot--local--hybrid"
	// objectName is the name of the Infrastructure and the Worker in example/.
	objectName = "hybrid"
	// pool is the pool that is scaled and rolled: it spans both sites.
	pool = "mixed"
	// nextImageVersion is the version that the pool is rolled to.
	nextImageVersion = "1877.4.0"

	sizeAtStart, sizeScaled = int32(3), int32(6)
)

// sites are the names of the sites in example/, in the order of the projects.
var sites = [2]string{"cloud", "cloud2"}

// demo is what the steps share.
type demo struct {
	screen *screen
	keep   bool
	// cleaning is true while objects are deleted after a failure or an interrupt.
	cleaning bool

	bed         *openstack.Bed
	bedStarted  bool
	openrcs     []string
	credentials [2]openstack.Credentials
	clients     [2]*openstack.Client
	watch       *openstack.Watch
	landscape   *landscape.Landscape
	stopNodes   func()
}

// steps are the demo without what cleans up.
func (d *demo) steps() []step {
	prepare := []step{
		{name: "OpenStack", run: d.startOpenStack},
		{name: "Binaries and cluster", run: d.startCluster},
	}
	steps := []step{
		{name: "Prepare", parallel: prepare},
		{name: "Apply the examples", run: d.apply},
		{name: "Infrastructure on two sites", run: d.waitInfrastructure},
		{name: "Worker: pools on two sites", run: d.waitWorker},
		{name: "Scale a pool up", run: d.scaleUp},
		{name: "Scale it down", run: d.scaleDown},
		{name: "Roll its image", run: d.roll},
	}
	if d.keep {
		return steps
	}
	return append(steps, d.deletion(false)...)
}

// cleanUp are the steps that undo what is left to undo.
func (d *demo) cleanUp() []step {
	var steps []step
	if d.landscape != nil && d.landscape.Client != nil && d.exists(context.Background()) {
		d.cleaning = true
		steps = append(steps, step{name: "Start again what ended", run: d.restart, always: true})
		steps = append(steps, d.deletion(true)...)
	}
	return append(steps, step{name: "Stop what was started", run: d.stop, always: true})
}

// deletion are the steps that delete the shoot's objects and look for what is left.
func (d *demo) deletion(always bool) []step {
	return []step{
		{name: "Delete the Worker", run: d.deleteWorker, always: always, undo: true},
		{name: "Delete the Infrastructure", run: d.deleteInfrastructure, always: always, undo: true},
		{name: "Nothing is left in OpenStack", run: d.nothingLeft, always: always, undo: true},
	}
}

// exists reports whether objects of the shoot are there that clean-up has to delete.
func (d *demo) exists(ctx context.Context) bool {
	for _, object := range []client.Object{&extensionsv1alpha1.Infrastructure{}, &extensionsv1alpha1.Worker{}} {
		if err := d.get(ctx, object); !apierrors.IsNotFound(err) {
			return true
		}
	}
	return false
}

// restart starts the processes that ended, so that they can clean up.
func (d *demo) restart(context.Context) error {
	var errs []error
	for _, p := range d.landscape.Processes() {
		if !p.Running() {
			d.screen.print("    " + p.Name + " had ended")
			errs = append(errs, p.Start())
		}
	}
	return errors.Join(errs...)
}

// startOpenStack starts the landscape's OpenStack, unless $OPENRC names two projects, and signs in to both projects.
func (d *demo) startOpenStack(ctx context.Context) error {
	if given := os.Getenv("OPENRC"); given != "" {
		d.openrcs = strings.Split(given, ",")
		if len(d.openrcs) != len(d.credentials) {
			return errors.New("OPENRC must have the paths of two openrc files, divided by a comma")
		}
	} else if err := d.startBed(ctx); err != nil {
		return err
	}
	for i, path := range d.openrcs {
		var err error
		if d.credentials[i], err = openstack.ReadCredentials(path); err != nil {
			return err
		}
		if d.clients[i], err = openstack.NewClient(ctx, d.credentials[i]); err != nil {
			return err
		}
	}
	d.watch = openstack.NewWatch(namespace, d.clients[:]...)
	return d.sweep(ctx)
}

// sweep deletes what a demo left that was killed: the cluster that knew it is gone.
func (d *demo) sweep(ctx context.Context) error {
	objects, err := d.objects(ctx)
	if err != nil || len(objects) == 0 {
		return err
	}
	d.screen.print(fmt.Sprintf("    deleting %d objects that an earlier demo left", len(objects)))
	var errs []error
	for _, c := range d.clients {
		errs = append(errs, c.Sweep(ctx, namespace))
	}
	return errors.Join(errs...)
}

func (d *demo) startBed(ctx context.Context) error {
	bed, err := openstack.NewBed()
	if err != nil {
		return err
	}
	d.bed = bed
	d.bedStarted = !bed.Answers(ctx)
	if _, err := bed.Start(ctx, d.screen); err != nil {
		return err
	}
	for _, project := range openstack.Projects {
		d.openrcs = append(d.openrcs, bed.Openrc(project))
	}
	return nil
}

func (d *demo) openrc(site int) string {
	return d.openrcs[site]
}

func (d *demo) logs() string {
	return filepath.Join(filepath.Dir(d.landscape.Cluster.Kubeconfig), "logs")
}

// stop ends what the demo started.
func (d *demo) stop(context.Context) error {
	if d.stopNodes != nil {
		d.stopNodes()
	}
	if d.landscape != nil {
		d.landscape.Stop()
	}
	if d.bed == nil || !d.bedStarted {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := d.bed.Stop(ctx, d.screen); err != nil {
		return fmt.Errorf("stop OpenStack: %w", err)
	}
	return nil
}
