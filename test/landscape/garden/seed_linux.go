// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package garden

import (
	"context"
	"errors"
	"path/filepath"
	"sync"

	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/garden/kubelet"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/garden/played"
)

// Seed is a seed with its gardenlet.
type Seed struct {
	*Cluster
	// Name is its name.
	Name string
	// Client accesses it without a cache.
	Client client.Client

	garden    *Garden
	place     place
	gardenlet *landscape.Process
	// system is the extension for the operating system of nodes that are real, or nil.
	system    *landscape.Process
	kubelet   *kubelet.Kubelet
	operators *played.Operators

	dead   bool
	cancel context.CancelFunc
	group  sync.WaitGroup
	mutex  sync.Mutex
	shoots map[string]*shootMachines
}

// newSeed prepares a seed.
func (g *Garden) newSeed(p place) (*Seed, error) {
	s := &Seed{Name: p.name, garden: g, place: p, shoots: map[string]*shootMachines{}}
	var err error
	if s.Cluster, err = g.newCluster(p.name, p.address, p.services, p.controllers, seedControllers); err != nil {
		return nil, err
	}
	s.gardenlet, err = g.newGardenlet(p, s.Cluster)
	return s, err
}

// seeds are those of the garden.
func (g *Garden) seeds() []*Seed {
	return []*Seed{g.Seed, g.Second}
}

func (s *Seed) processes() []*landscape.Process {
	all := []*landscape.Process{s.apiServer, s.controllerManager, s.gardenlet}
	if s.system != nil {
		all = append(all, s.system)
	}
	return all
}

// Start starts the seed and gardenlet. StartVirtual must have returned.
func (s *Seed) Start(ctx context.Context) error {
	if err := s.startNode(ctx); err != nil {
		return err
	}
	return s.gardenlet.Start()
}

// startNode starts the cluster with its node and what is played in it.
func (s *Seed) startNode(ctx context.Context) error {
	if err := s.start(ctx); err != nil {
		return err
	}
	var err error
	if s.Client, err = client.New(s.Config, client.Options{Scheme: Scheme}); err != nil {
		return err
	}
	if err := create(ctx, s.Client, seedObjects()); err != nil {
		return err
	}
	background, cancel := context.WithCancel(context.WithoutCancel(ctx))
	s.cancel = cancel
	cached, err := s.cached(background)
	if err != nil {
		return err
	}
	programs, err := s.programs()
	if err != nil {
		return err
	}
	options := s.garden.options
	s.kubelet = &kubelet.Kubelet{
		Client: cached, Network: s.garden.Network, Dir: s.garden.nodeDir(s.Name), Programs: programs, APIServer: s.place.address + ":6443",
		Outside: options.Outside, Networks: s.place.networks, Names: s.names(cached), Authorities: options.Authorities, Log: options.Log,
	}
	if err := s.kubelet.Start(ctx); err != nil {
		return err
	}
	s.operators = &played.Operators{Client: cached, Types: s.garden.playedTypes(), Balancers: s.place.balancers, Log: options.Log}
	s.operators.Start(ctx)
	s.group.Go(func() { s.watchShoots(background, cached) })
	return nil
}

// StartSystem starts the extension for the operating system of nodes that are real. The custom resources of extensions must be there.
func (s *Seed) StartSystem() error {
	const name = "gardener-extension-os-suse-chost"
	s.system = s.garden.processIn(s.Name, name, filepath.Join(landscape.Root(), "hack", "bin", name), "--disable-controllers=heartbeat",
		"--leader-election=false", "--metrics-bind-address=0", "--health-bind-address=0", "--kubeconfig="+s.Kubeconfig)
	return s.system.Start()
}

// cached returns a client that reads from a cache.
func (s *Seed) cached(ctx context.Context) (client.Client, error) {
	objects, err := cache.New(s.Config, cache.Options{Scheme: Scheme})
	if err != nil {
		return nil, err
	}
	s.group.Go(func() {
		if err := objects.Start(ctx); err != nil && ctx.Err() == nil {
			s.garden.options.Log.Error(err, "The cache of a seed ended", "seed", s.Name)
		}
	})
	if !objects.WaitForCacheSync(ctx) {
		return nil, errors.New("the cache of the seed does not start")
	}
	return client.New(s.Config, client.Options{Scheme: Scheme, Cache: &client.CacheOptions{Reader: objects}})
}

// stopPods ends gardenlet and all that runs or is played in the seed.
func (s *Seed) stopPods(ctx context.Context) {
	s.gardenlet.Stop(ctx)
	if s.operators != nil {
		s.operators.Stop()
	}
	if s.cancel != nil {
		s.cancel()
	}
	s.group.Wait()
	s.stopShoots()
	if s.kubelet != nil {
		s.kubelet.Stop()
	}
}

// RestartGardenlet restarts gardenlet, which looks at all shoots then.
func (s *Seed) RestartGardenlet(ctx context.Context) error {
	s.gardenlet.Stop(ctx)
	return s.gardenlet.Start()
}

// CopyWithoutFinalSnapshots lets backups be copied to the seed at once: a seed that is dead takes no final snapshot.
func (s *Seed) CopyWithoutFinalSnapshots() {
	s.operators.WithoutFinalSnapshots.Store(true)
}

// Die ends the seed as a whole, at once: gardenlet, all pods, and the cluster. It does not come back.
func (s *Seed) Die(ctx context.Context) {
	s.dead = true
	s.apiServer.Kill()
	s.stopPods(ctx)
	s.controllerManager.Stop(ctx)
	s.apiServer.Stop(ctx)
}
