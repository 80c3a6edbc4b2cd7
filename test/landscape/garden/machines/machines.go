// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package machines plays what runs inside the machines of a shoot whose servers boot no operating system: kubelets with their API,
// and gardener-node-agents. The kubelets' certificates are requested, approved and signed as in Gardener.
//
// It also plays the tunnel between a shoot's kube-apiserver and its nodes: connections to the kubelets' port end here.
package machines

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/test/kubelets"
)

const period = time.Second

// Machines are those of a shoot.
type Machines struct {
	// Seed has the machines and the authority of the kubelets' clients. It may read from a cache.
	Seed client.Client
	// Shoot has the nodes.
	Shoot client.Client
	// Config is an administrator's access to the shoot.
	Config *rest.Config
	// Namespace is the namespace of the shoot in the seed.
	Namespace string
	// Servers looks at the sites.
	Servers kubelets.ActiveServers
	// Version is that of the kubelets.
	Version string
	// Log receives what is not possible.
	Log logr.Logger

	cancel   context.CancelFunc
	group    sync.WaitGroup
	server   *http.Server
	incoming *listener

	mutex sync.Mutex
	nodes map[string]*node
}

// node is what is known about a node.
type node struct {
	name      string
	addresses []corev1.NodeAddress
	// certificate is that of the kubelet's API for the addresses, nil as long as there is none.
	certificate *tls.Certificate
	requesting  bool
	// beat is when the leases were renewed.
	beat time.Time
}

// Start plays the machines until Stop.
func (m *Machines) Start(ctx context.Context) {
	ctx, m.cancel = context.WithCancel(context.WithoutCancel(ctx))
	m.nodes, m.incoming = map[string]*node{}, newListener()
	m.server = m.newServer()
	m.group.Go(func() { _ = m.server.Serve(m.incoming) })
	kubelet := &kubelets.Kubelets{
		Seed: m.Seed, Shoot: m.Shoot, Namespace: m.Namespace, Servers: m.Servers, Pods: true, Cloud: true,
		Taints: []corev1.Taint{kubelets.CriticalComponentsTaint}, Log: logr.Discard(),
	}
	m.group.Go(func() { kubelet.Run(ctx) })
	m.group.Go(func() { m.run(ctx) })
}

// Stop ends it.
func (m *Machines) Stop() {
	if m == nil || m.cancel == nil {
		return
	}
	m.cancel()
	_ = m.server.Close()
	m.group.Wait()
}

func (m *Machines) run(ctx context.Context) {
	ticker := time.NewTicker(period)
	defer ticker.Stop()
	failing := false // what fails again, as in a shoot that is hibernated, is told once
	for {
		err := m.sync(ctx)
		if err != nil && ctx.Err() == nil && !failing {
			m.Log.Info("Not all machines are up to date", "reason", err.Error())
		}
		failing = err != nil
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// sync looks once at the nodes, which the kubelets register.
func (m *Machines) sync(ctx context.Context) error {
	list := &corev1.NodeList{}
	if err := m.Shoot.List(ctx, list); err != nil {
		return fmt.Errorf("list nodes: %w", err)
	}
	checksums, err := m.checksums(ctx)
	if err != nil {
		return err
	}
	known := map[string]bool{}
	var errs []error
	for i := range list.Items {
		object := &list.Items[i]
		known[object.Name] = true
		if !isReady(object) {
			continue
		}
		if err := m.syncNode(ctx, object, checksums); err != nil {
			errs = append(errs, fmt.Errorf("node %s: %w", object.Name, err))
		}
	}
	m.mutex.Lock()
	defer m.mutex.Unlock()
	for name := range m.nodes {
		if !known[name] {
			delete(m.nodes, name)
		}
	}
	return errors.Join(errs...)
}

func (m *Machines) syncNode(ctx context.Context, object *corev1.Node, checksums map[string]string) error {
	m.mutex.Lock()
	n := m.nodes[object.Name]
	if n == nil {
		n = &node{name: object.Name}
		m.nodes[object.Name] = n
	}
	m.mutex.Unlock()
	if err := m.report(ctx, object); err != nil {
		return err
	}
	if err := m.applySystemConfig(ctx, object, checksums); err != nil {
		return err
	}
	if err := m.renewLeases(ctx, n, object); err != nil {
		return err
	}
	m.syncCertificate(ctx, n, object.Status.Addresses)
	return nil
}

func isReady(n *corev1.Node) bool {
	for _, c := range n.Status.Conditions {
		if c.Type == corev1.NodeReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}
