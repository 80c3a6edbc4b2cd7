// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package kubelets

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"time"

	machinev1alpha1 "github.com/gardener/machine-controller-manager/pkg/apis/machine/v1alpha1"
	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	defaultPeriod    = time.Second
	defaultHeartbeat = 10 * time.Second
)

// Server is a server that is active.
type Server struct {
	// NodeName is what its system is named. Default: the name of the machine.
	NodeName string
	// ProviderID is the provider ID that its system was told. Default: that of the machine.
	ProviderID string
	// Addresses are the addresses that the node reports.
	Addresses []corev1.NodeAddress
	// Labels are further labels that its system was told, with which the node joins.
	Labels map[string]string
	// SystemUUID is what the server's firmware says. Default: nothing.
	SystemUUID string
	// Topology is what the node services of CSI drivers find out about the server, by the name of the driver. Those that are not in
	// it do not work there. If it is nil all work and find out nothing.
	Topology map[string]map[string]string
}

// ActiveServers returns the active servers of all sites by their ID, which is the last element of the provider ID. Servers
// of sites that do not answer may be missing if it returns an error, too.
type ActiveServers func(ctx context.Context) (map[string]Server, error)

// Kubelets are the kubelets of all machines of a namespace.
type Kubelets struct {
	// Seed has the machines.
	Seed client.Client
	// Shoot has the nodes. It may be the same cluster.
	Shoot client.Client
	// Namespace is the namespace of the machines.
	Namespace string
	// Servers looks at the sites.
	Servers ActiveServers
	// Period is the time between two looks at the machines and the sites. Default: 1s.
	Period time.Duration
	// Heartbeat is the time between two status updates of a node. Default: 10s.
	Heartbeat time.Duration
	// Pods lets the kubelets play the pods that are bound to their nodes, too.
	Pods bool
	// Starting is the time that the containers of a pod take to start. Default: 500ms.
	Starting time.Duration
	// Cloud lets the nodes join as with --cloud-provider=external: with the taint for it, and without addresses and a provider ID
	// that their systems were not told.
	Cloud bool
	// Taints are further taints that the nodes join with.
	Taints []corev1.Taint
	// Cut reports whether the kubelet of a node is cut off from the API server, or its server is dead: nothing is written about the node. If
	// it is set, a real kube-controller-manager finds out which nodes are unknown, also those of servers that are not active any more.
	Cut func(node string) bool
	// Log receives what is not possible.
	Log logr.Logger

	nodes map[string]*node
	pods  map[types.UID]*playedPod
	// played are the names of all nodes that were registered.
	played map[string]bool
}

// node is what a kubelet knows about its node.
type node struct {
	// name is the node's name, id that of its server.
	name, id                   string
	server                     Server
	registered, ready, deleted bool
	// silent is set after the kubelet did not report for some time.
	silent bool
	// beat is when the status was written, since is when ready changed.
	beat, since time.Time
}

// Run plays the kubelets until ctx ends.
func (k *Kubelets) Run(ctx context.Context) {
	period := k.Period
	if period == 0 {
		period = defaultPeriod
	}
	ticker := time.NewTicker(period)
	defer ticker.Stop()
	for {
		if err := k.Sync(ctx); err != nil && ctx.Err() == nil {
			k.Log.Error(err, "Not all nodes are up to date")
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// Sync looks once at the machines and the servers and updates the nodes.
func (k *Kubelets) Sync(ctx context.Context) error {
	machines := &machinev1alpha1.MachineList{}
	if err := k.Seed.List(ctx, machines, client.InNamespace(k.Namespace)); err != nil {
		return fmt.Errorf("list machines: %w", err)
	}
	servers, err := k.Servers(ctx)
	errs := []error{err}

	if k.nodes == nil {
		k.nodes, k.played = map[string]*node{}, map[string]bool{}
	}
	known := make(map[string]*node, len(k.nodes))
	for i := range machines.Items {
		m := &machines.Items[i]
		if m.Spec.ProviderID == "" {
			continue
		}
		server, active := servers[path.Base(m.Spec.ProviderID)]
		n := k.nodes[m.Name]
		if n == nil {
			if !active || m.DeletionTimestamp != nil {
				continue
			}
			n = &node{name: cmp.Or(server.NodeName, m.Name), id: path.Base(m.Spec.ProviderID)}
		}
		known[m.Name] = n
		if active {
			n.server = server
		}
		if !active && err != nil {
			active = n.ready // the site did not tell
		}
		errs = append(errs, k.sync(ctx, m, n, server, active))
	}
	k.nodes = known
	if k.Pods {
		errs = append(errs, k.syncPods(ctx))
	}
	return errors.Join(errs...)
}

// sync registers a node or updates its status if that is due. A node that was deleted stays so: kubelets register theirs once.
func (k *Kubelets) sync(ctx context.Context, m *machinev1alpha1.Machine, n *node, server Server, active bool) error {
	heartbeat := k.Heartbeat
	if heartbeat == 0 {
		heartbeat = defaultHeartbeat
	}
	switch {
	case n.deleted:
		return nil
	case k.Cut != nil && (!active || k.Cut(n.name)):
		n.silent = true
		return nil
	case !n.registered:
		return k.register(ctx, m, n, server)
	case n.silent:
		return k.report(ctx, n)
	case n.ready == active && (!active || time.Since(n.beat) < heartbeat):
		return nil
	}
	return k.write(ctx, n, active)
}

// report writes the status of a node whose kubelet did not report for some time, in which the node may have become unknown.
func (k *Kubelets) report(ctx context.Context, n *node) error {
	object := &corev1.Node{}
	if err := k.Shoot.Get(ctx, client.ObjectKey{Name: n.name}, object); apierrors.IsNotFound(err) {
		n.deleted = true
		return nil
	} else if err != nil {
		return err
	}
	for _, condition := range object.Status.Conditions {
		if condition.Type == corev1.NodeReady {
			n.ready = condition.Status == corev1.ConditionTrue
		}
	}
	n.silent = false
	return k.write(ctx, n, true)
}

func (k *Kubelets) write(ctx context.Context, n *node, ready bool) error {
	err := k.patchStatus(ctx, n, ready, nodeStatus{})
	if apierrors.IsNotFound(err) {
		n.deleted = true
		return nil
	}
	return err
}
