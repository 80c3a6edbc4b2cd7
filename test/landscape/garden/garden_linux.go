// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package garden

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/test/kubelets"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/garden/kubelet"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/garden/netns"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/garden/played"
)

// virtualName and seedName are the names of the clusters in paths.
const virtualName, seedName = "garden", "seed"

// gardenerVersion is the version of Gardener that runs.
const gardenerVersion = "v1.149.3"

// Options say what a garden is.
type Options struct {
	// Dir is the folder for data, keys, kubeconfigs and logs. What an earlier garden left there is deleted.
	Dir string
	// Own is the folder with our executables. Default: hack/bin.
	Own string
	// Outside are addresses on this machine's loopback interface that pods of the seed reach under the same address: those of the sites.
	Outside []string
	// DNS are the credentials for DNS records in the zone Domain.
	DNS map[string]string
	// Backup is where the seed's backups are kept.
	Backup Backup
	// Servers looks at the servers of a shoot, by its technical ID.
	Servers func(shoot string) kubelets.ActiveServers
	// Log receives what is not possible.
	Log logr.Logger
}

// Backup is where backups are kept.
type Backup struct {
	// Config is the store.
	Config *v1alpha1.BackupBucketConfig
	// Credentials are the data of its Secret.
	Credentials map[string]string
}

// Garden is a virtual garden with a seed.
type Garden struct {
	// Network is the namespace that everything runs in.
	Network *netns.Namespace
	// Virtual is the virtual garden, Seed the seed.
	Virtual, Seed *Cluster
	// Client accesses the virtual garden, SeedClient the seed, both without a cache.
	Client, SeedClient client.Client

	options  Options
	binaries landscape.Binaries
	keys     *keys

	etcd, apiServer, controllerManager, scheduler, gardenlet *landscape.Process

	kubelet   *kubelet.Kubelet
	operators *played.Operators

	cancel context.CancelFunc
	group  sync.WaitGroup
	mutex  sync.Mutex
	shoots map[string]*shootMachines
}

// New prepares a garden; nothing runs yet.
func New(o Options) (*Garden, error) {
	if os.Getuid() != 0 {
		return nil, errors.New("a garden needs root, for network and mount namespaces")
	}
	g := &Garden{options: o, binaries: landscape.DefaultBinaries(), shoots: map[string]*shootMachines{}}
	if g.options.Own == "" {
		g.options.Own = filepath.Join(landscape.Root(), "hack", "bin")
	}
	if err := os.RemoveAll(o.Dir); err != nil {
		return nil, err
	}
	if err := errors.Join(kubelet.MakeHostsFile(g.path(nodeFolder)), writeFile(g.resolverFile(), "")); err != nil {
		return nil, err
	}
	var err error
	if g.Network, err = newNetwork(); err != nil {
		return nil, err
	}
	if g.keys, err = newKeys(g.path("keys")); err != nil {
		return nil, err
	}
	if g.Virtual, err = g.newCluster(virtualName, virtualAddress, 10258, virtualControllers); err != nil {
		return nil, err
	}
	if g.Seed, err = g.newCluster(seedName, seedAddress, 10257, seedControllers); err != nil {
		return nil, err
	}
	g.etcd, g.apiServer = g.newEtcd(), g.newAPIServer()
	if g.controllerManager, err = g.configured("gardener-controller-manager"); err != nil {
		return nil, err
	}
	if g.scheduler, err = g.configured("gardener-scheduler"); err != nil {
		return nil, err
	}
	g.gardenlet, err = g.newGardenlet()
	return g, err
}

// path is a path below the folder of the garden.
func (g *Garden) path(elem ...string) string {
	return filepath.Join(append([]string{g.options.Dir}, elem...)...)
}

// StartVirtual starts the virtual garden and waits until Gardener's API is served.
func (g *Garden) StartVirtual(ctx context.Context) error {
	if err := g.etcd.Start(); err != nil {
		return err
	}
	if err := g.Virtual.start(ctx); err != nil {
		return err
	}
	var err error
	if g.Client, err = client.New(g.Virtual.Config, client.Options{Scheme: Scheme}); err != nil {
		return err
	}
	if err := g.startAPIServer(ctx); err != nil {
		return err
	}
	if err := create(ctx, g.Client, projects()); err != nil {
		return err
	}
	return errors.Join(g.controllerManager.Start(), g.scheduler.Start())
}

// StartSeed starts the seed and gardenlet. StartVirtual must have returned.
func (g *Garden) StartSeed(ctx context.Context) error {
	if err := g.Seed.start(ctx); err != nil {
		return err
	}
	var err error
	if g.SeedClient, err = client.New(g.Seed.Config, client.Options{Scheme: Scheme}); err != nil {
		return err
	}
	if err := create(ctx, g.SeedClient, seedObjects()); err != nil {
		return err
	}
	background, cancel := context.WithCancel(context.WithoutCancel(ctx))
	g.cancel = cancel
	cached, err := g.cachedSeed(background)
	if err != nil {
		return err
	}
	programs, err := g.programs()
	if err != nil {
		return err
	}
	g.kubelet = &kubelet.Kubelet{
		Client: cached, Network: g.Network, Dir: g.path(nodeFolder), Programs: programs, APIServer: seedAddress + ":6443",
		Outside: g.options.Outside, Networks: podNetworks, Names: g.names(cached), Log: g.options.Log,
	}
	if err := g.kubelet.Start(ctx); err != nil {
		return err
	}
	g.operators = &played.Operators{Client: cached, Types: playedTypes, Balancers: balancers, Log: g.options.Log}
	g.operators.Start(ctx)
	g.group.Go(func() { g.watchShoots(background, cached) })
	return g.gardenlet.Start()
}

// cachedSeed returns a client for the seed that reads from a cache.
func (g *Garden) cachedSeed(ctx context.Context) (client.Client, error) {
	objects, err := cache.New(g.Seed.Config, cache.Options{Scheme: Scheme})
	if err != nil {
		return nil, err
	}
	g.group.Go(func() {
		if err := objects.Start(ctx); err != nil && ctx.Err() == nil {
			g.options.Log.Error(err, "The cache of the seed ended")
		}
	})
	if !objects.WaitForCacheSync(ctx) {
		return nil, errors.New("the cache of the seed does not start")
	}
	return client.New(g.Seed.Config, client.Options{Scheme: Scheme, Cache: &client.CacheOptions{Reader: objects}})
}

// Processes are those of the garden itself in the order of their start.
func (g *Garden) Processes() []*landscape.Process {
	return []*landscape.Process{
		g.etcd, g.Virtual.apiServer, g.Virtual.controllerManager, g.apiServer, g.controllerManager, g.scheduler,
		g.Seed.apiServer, g.Seed.controllerManager, g.gardenlet,
	}
}

// Check returns an error if a process ended without having been asked to.
func (g *Garden) Check() error {
	var errs []error
	for _, p := range g.Processes() {
		errs = append(errs, p.Check())
	}
	return errors.Join(errs...)
}

// PID is the ID of a process in the network namespace of the garden, for tools that enter it.
func (g *Garden) PID() int {
	return g.etcd.PID()
}

// Stop ends everything. The folder with the logs stays.
func (g *Garden) Stop() {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	g.gardenlet.Stop(ctx)
	if g.operators != nil {
		g.operators.Stop()
	}
	if g.cancel != nil {
		g.cancel()
	}
	g.group.Wait()
	g.stopShoots()
	if g.kubelet != nil {
		g.kubelet.Stop()
	}
	var stopping sync.WaitGroup
	for _, p := range g.Processes() {
		stopping.Go(func() { p.Stop(ctx) })
	}
	stopping.Wait()
	if err := g.Network.Close(); err != nil {
		g.options.Log.Error(err, "The network namespace is not closed")
	}
}

func (g *Garden) startAPIServer(ctx context.Context) error {
	if err := create(ctx, g.Client, g.virtualObjects()); err != nil {
		return err
	}
	if err := g.apiServer.Start(); err != nil {
		return err
	}
	_, config, err := g.access("gardener-apiserver", gardenerAPIServer)
	if err != nil {
		return err
	}
	if err := waitReady(ctx, g.apiServer, config); err != nil {
		return err
	}
	if err := g.waitServed(ctx); err != nil {
		return fmt.Errorf("wait for Gardener's API in the virtual garden: %w", err)
	}
	return nil
}
