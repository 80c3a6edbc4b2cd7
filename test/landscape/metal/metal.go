// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package metal runs the inventory of bare-metal sites: a cluster with permissions of its own, Metal3's and IronCore's operators
// and an address pool. What is behind the operators is played: the hardware of Metal3's hosts is in the operator's process, that
// of IronCore's servers is BMCs which are processes of their own, and two agents.
package metal

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape"
)

// Namespace is the namespace of the hosts, claims and address claims.
const Namespace = "hosts"

const (
	stopTimeout  = 30 * time.Second
	pollInterval = 200 * time.Millisecond
)

// Options say what an inventory has.
type Options struct {
	// Dir is the folder for data, keys, the kubeconfig and logs.
	Dir string
	// Metal3 is whether it has BareMetalHosts.
	Metal3 bool
	// IronCore is whether it has Servers.
	IronCore bool
	// Static is whether it has StaticHosts. No operator looks after them.
	Static bool
	// IPAM is whether it has address pools.
	IPAM bool
	// Provisioning is how long writing an image to a BareMetalHost takes. Default: 1s.
	Provisioning time.Duration
	// Cleaning is how long cleaning a BareMetalHost takes. Default: 1s.
	Cleaning time.Duration
}

// Inventory is a cluster with hosts.
type Inventory struct {
	// Cluster is the cluster.
	Cluster *landscape.Cluster
	// Client is an administrator's access without a cache.
	Client client.Client
	// Journal is the history of the hosts.
	Journal *Journal
	// Metal3 is baremetal-operator, nil if there is none.
	Metal3 *landscape.Process
	// IronCore is metal-operator, nil if there is none.
	IronCore *landscape.Process
	// IPAM is the address pools' controller, nil if there is none.
	IPAM *landscape.Process

	dir      string
	binaries landscape.Binaries
	macs     atomic.Uint32
	stop     context.CancelFunc
	group    sync.WaitGroup

	mutex sync.Mutex
	bmcs  []*landscape.Process
}

// Start starts an inventory without hosts. Stop ends what was started, also after an error.
func Start(ctx context.Context, o Options) (*Inventory, error) {
	i := &Inventory{dir: o.Dir, binaries: landscape.DefaultBinaries()}
	if err := i.binaries.CheckMetal(); err != nil {
		return i, err
	}
	if err := os.RemoveAll(filepath.Join(o.Dir, "logs")); err != nil {
		return i, err
	}
	var err error
	if i.Cluster, err = landscape.NewCluster(o.Dir, i.binaries); err != nil {
		return i, err
	}
	if err := i.Cluster.Start(ctx); err != nil {
		return i, err
	}
	if err := i.installCRDs(ctx, o); err != nil {
		return i, fmt.Errorf("install the inventory's custom resource definitions: %w", err)
	}
	if i.Client, err = client.New(i.Cluster.Config, client.Options{Scheme: landscape.Scheme}); err != nil {
		return i, err
	}
	if err := i.Client.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: Namespace}}); err != nil {
		return i, err
	}

	background, stop := context.WithCancel(context.Background())
	i.stop = stop
	if i.Journal, err = i.startJournal(background, o); err != nil {
		return i, err
	}
	return i, i.startOperators(ctx, background, o)
}

// CA is the PEM certificate that the cluster's own is trusted with.
func (i *Inventory) CA() string {
	return string(i.Cluster.Config.CAData)
}

// Server is the address of the cluster.
func (i *Inventory) Server() string {
	return i.Cluster.Config.Host
}

// Processes are all processes in the order of their start.
func (i *Inventory) Processes() []*landscape.Process {
	if i.Cluster == nil {
		return nil
	}
	processes := []*landscape.Process{i.Cluster.Etcd, i.Cluster.APIServer}
	for _, p := range []*landscape.Process{i.Metal3, i.IronCore, i.IPAM} {
		if p != nil {
			processes = append(processes, p)
		}
	}
	i.mutex.Lock()
	defer i.mutex.Unlock()
	return append(processes, i.bmcs...)
}

// Check returns an error if a process ended without having been asked to.
func (i *Inventory) Check() error {
	var errs []error
	for _, p := range i.Processes() {
		errs = append(errs, p.Check())
	}
	return errors.Join(errs...)
}

// Stop ends what Start started, in reverse order.
func (i *Inventory) Stop() {
	if i.stop != nil {
		i.stop()
	}
	ctx, cancel := context.WithTimeout(context.Background(), stopTimeout)
	defer cancel()
	processes := i.Processes()
	for n := range processes {
		processes[len(processes)-1-n].Stop(ctx)
	}
	i.group.Wait()
}

// until polls until check is true.
func until(ctx context.Context, timeout time.Duration, what string, check func(context.Context) (bool, error)) error {
	if err := wait.PollUntilContextTimeout(ctx, pollInterval, timeout, true, check); err != nil {
		return fmt.Errorf("wait until %s: %w", what, err)
	}
	return nil
}
