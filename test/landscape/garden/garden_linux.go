// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package garden

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/test/kubelets"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/garden/kubelet"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/garden/netns"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/registry"
)

// virtualName is the name of the virtual garden in paths.
const virtualName = "garden"

// Version is the version of Gardener that runs.
const Version = "v1.149.3"

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
	// Backups say where the backups of seeds are kept, by the names of seeds.
	Backups map[string]Backup
	// Authorities are certificate authorities that all pods trust, in PEM. It may be empty.
	Authorities string
	// Foreign says that the seeds are of another provider, which is played, and have no backups: they do not need our extension.
	Foreign bool
	// SeedType is the type of the seeds. Default: that of the other provider if Foreign, or else ours.
	SeedType string
	// Registry is where nodes of the seeds get our images from, which are named by their digests. If it is nil, they have Own instead.
	Registry *registry.Registry
	// Servers looks at the servers of a shoot, by its technical ID.
	Servers func(shoot string) kubelets.ActiveServers
	// DialNode connects to an address in the network of nodes that are real: a real extension renders their user data. If it is nil, nodes are
	// played, and so is their operating system.
	DialNode func(ctx context.Context, network, address string) (net.Conn, error)
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

// Garden is a virtual garden with two seeds.
type Garden struct {
	// Network is the namespace that everything runs in.
	Network *netns.Namespace
	// Virtual is the virtual garden.
	Virtual *Cluster
	// Seed is the seed that shoots are scheduled to, Second the other one.
	Seed, Second *Seed
	// Client accesses the virtual garden without a cache.
	Client client.Client

	options  Options
	binaries landscape.Binaries
	keys     *keys

	etcd, apiServer, controllerManager, scheduler *landscape.Process
	// resourceManager applies ManagedResources of gardener-operator in the virtual garden.
	resourceManager *landscape.Process
}

// New prepares a garden; nothing runs yet.
func New(o Options) (*Garden, error) {
	if os.Getuid() != 0 {
		return nil, errors.New("a garden needs root, for network and mount namespaces")
	}
	g := &Garden{options: o, binaries: landscape.DefaultBinaries()}
	if g.options.Own == "" {
		g.options.Own = filepath.Join(landscape.Root(), "hack", "bin")
	}
	if err := os.RemoveAll(o.Dir); err != nil {
		return nil, err
	}
	if err := errors.Join(kubelet.MakeHostsFile(g.nodeDir(SeedName)), kubelet.MakeHostsFile(g.nodeDir(SecondName)),
		writeFile(g.resolverFile(), "")); err != nil {
		return nil, err
	}
	var err error
	if g.Network, err = newNetwork(); err != nil {
		return nil, err
	}
	if err := g.serveRegistry(); err != nil {
		return nil, err
	}
	if g.keys, err = newKeys(g.path("keys")); err != nil {
		return nil, err
	}
	if g.Virtual, err = g.newCluster(virtualName, virtualAddress, firstPlace.services, 10258, virtualControllers); err != nil {
		return nil, err
	}
	g.etcd, g.apiServer = g.newEtcd(), g.newAPIServer()
	if g.controllerManager, err = g.configured("gardener-controller-manager"); err != nil {
		return nil, err
	}
	if g.scheduler, err = g.configured("gardener-scheduler"); err != nil {
		return nil, err
	}
	if g.Seed, err = g.newSeed(firstPlace); err != nil {
		return nil, err
	}
	if g.Second, err = g.newSeed(secondPlace); err != nil {
		return nil, err
	}
	g.resourceManager, err = g.newResourceManager()
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

// Processes are those of the garden itself in the order of their start.
func (g *Garden) Processes() []*landscape.Process {
	return slices.Concat([]*landscape.Process{
		g.etcd, g.Virtual.apiServer, g.Virtual.controllerManager, g.apiServer, g.controllerManager, g.scheduler,
		g.resourceManager,
	}, g.Seed.processes(), g.Second.processes())
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
	for _, seed := range g.seeds() {
		seed.stopPods(ctx)
	}
	var stopping sync.WaitGroup
	for _, p := range g.Processes() {
		stopping.Go(func() { p.Stop(ctx) })
	}
	stopping.Wait()
	if g.options.Registry != nil {
		_ = g.options.Registry.Stop()
	}
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
