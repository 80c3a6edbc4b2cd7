// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync"

	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/pods"
	"github.com/gardener/gardener-extension-provider-hybrid/test/memory"
)

const (
	// namespace is the shoot's namespace and technical ID in example/.
	namespace = "shoot--local--hybrid"
	// cloud, vc, racks and hall are the sites of one example, and cloud and own those of another.
	cloud, vc, racks, hall, own = "cloud", "vc", "racks", "hall", "own"
	// defaultSites are the sites if none are asked for.
	defaultSites = cloud + "," + vc + "," + racks + "," + hall
	// pool is the pool that is scaled and rolled: it spans all sites.
	pool = "mixed"
	// nextImageVersion is the version that the pool is rolled to.
	nextImageVersion = "1877.4.0"
)

// demo is what the steps share.
type demo struct {
	screen *screen
	keep   bool
	// cleaning is true while objects are deleted after a failure or an interrupt.
	cleaning bool
	// built is closed when all executables are there.
	built chan struct{}
	// chosen are the sites that were asked for.
	chosen []site

	mu sync.Mutex
	// sites are those of the shoot, leftOut says why others are not.
	sites   []site
	leftOut []string

	example   example
	selection selection
	// size is the number of the pool's machines before it is scaled: one in each zone.
	size      int32
	landscape *landscape.Landscape
	stopNodes func()

	// seed plays the node of the control plane's pods, some of whose containers run as the programs.
	seed     *pods.Node
	programs []pods.Program
	joins    *joins

	sampler      memory.Sampler
	stopSampling func()

	// api is the record of the shoot's API, nil until it is made.
	api *apiRecord
}

// newDemo returns a demo with the sites whose names are divided by commas; all if there are none.
func newDemo(screen *screen, keep bool, names string) (*demo, error) {
	d := &demo{screen: screen, keep: keep, built: make(chan struct{}), example: onAllPlatforms}
	hosts := &inventory{built: d.built}
	var err error
	d.chosen, err = choose([]site{
		&openStackSite{screen: screen}, &vCenterSite{},
		&metalSite{called: racks, kind: v1alpha1.MetalInventoryMetal3, inventory: hosts},
		&metalSite{called: hall, kind: v1alpha1.MetalInventoryIronCore, inventory: hosts},
		&ownSite{inventory: hosts, command: d.command},
	}, cmp.Or(names, defaultSites))
	d.sites = d.chosen
	for _, s := range d.chosen {
		if m, ok := s.(*metalSite); ok {
			hosts.metal3 = hosts.metal3 || m.kind == v1alpha1.MetalInventoryMetal3
			hosts.ironCore = hosts.ironCore || m.kind == v1alpha1.MetalInventoryIronCore
		}
		if _, ok := s.(*ownSite); ok {
			d.example = onOwnHosts
		}
	}
	isOther := func(s site) bool { return s.name() != own && s.name() != cloud }
	if err == nil && d.example == onOwnHosts && slices.ContainsFunc(d.chosen, isOther) {
		err = fmt.Errorf("site %q can be used by itself or with %q", own, cloud)
	}
	return d, err
}

// steps are the demo without what cleans up.
func (d *demo) steps() []step {
	prepare := []step{{name: "Binaries and cluster", run: d.startCluster}}
	for _, s := range d.chosen {
		prepare = append(prepare, step{name: fmt.Sprintf("Site %s: %s", s.name(), s.platform()), run: d.startSite(s)})
	}
	steps := []step{
		{name: "Prepare", parallel: prepare},
		{name: "Sites of the shoot", run: d.checkSites},
		{name: "Apply the examples", run: d.apply},
		{name: "Infrastructure on all sites", run: d.waitInfrastructure},
		{name: "DNS record of the shoot's API", run: d.resolveAPI},
		{name: "ControlPlane: cloud controllers and storage drivers", run: d.waitControlPlane},
		{name: "Worker: a pool on all sites", run: d.waitWorker},
		{name: "Nodes are initialised", run: d.waitInitialised},
	}
	if d.example == onOwnHosts {
		steps = append(steps, []step{
			{name: "Scale the pool up on own hosts", run: d.scaleOwn},
			{name: "Fill own hosts, then the cloud", run: d.fillOwn},
			{name: "Scale the pool down", run: d.emptyOwn},
			{name: "A Service has a load balancer", run: d.waitBalancer},
		}...)
	} else {
		steps = append(steps, []step{
			{name: "Scale the pool up", run: d.scaleUp},
			{name: "Fill bare metal, then the cloud", run: d.fill},
			{name: "Scale all down", run: d.scaleDown},
			{name: "A Service has a load balancer", run: d.waitBalancer},
			{name: "Roll its image", run: d.roll},
		}...)
	}
	steps = append(steps, step{name: "Memory of the shoot's processes", run: d.printMemory})
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
		{name: "Delete the Service", run: d.deleteService, always: always, undo: true},
		{name: "Delete the DNS record", run: d.deleteAPI, always: always, undo: true},
		{name: "Delete the Worker", run: d.deleteWorker, always: always, undo: true},
		{name: "Delete the ControlPlane", run: d.deleteControlPlane, always: always, undo: true},
		{name: "Delete the Infrastructure", run: d.deleteInfrastructure, always: always, undo: true},
		{name: "Nothing is left on any site", run: d.nothingLeft, always: always, undo: true},
	}
}

// exists reports whether objects of the shoot are there that clean-up has to delete.
func (d *demo) exists(ctx context.Context) bool {
	for _, object := range []client.Object{&extensionsv1alpha1.Infrastructure{}, &extensionsv1alpha1.ControlPlane{},
		&extensionsv1alpha1.Worker{}} {
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

func (d *demo) logs() string {
	return filepath.Join(filepath.Dir(d.landscape.Cluster.Kubeconfig), "logs")
}

// stop ends what the demo started.
func (d *demo) stop(ctx context.Context) error {
	for _, stop := range []func(){d.stopSampling, d.stopNodes} {
		if stop != nil {
			stop()
		}
	}
	if d.joins != nil {
		d.joins.stop()
	}
	if d.seed != nil {
		d.seed.Stop()
	}
	if d.landscape != nil {
		d.landscape.Stop()
	}
	d.stopDNS(ctx)
	var errs []error
	for _, s := range d.chosen {
		errs = append(errs, s.stop(ctx))
	}
	return errors.Join(errs...)
}
