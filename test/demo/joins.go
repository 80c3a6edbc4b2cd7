// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
)

// join is what is seen of a node while it joins.
type join struct {
	// joined is when the node was there, initialised when a cloud controller had removed its taint.
	joined, initialised time.Time
}

// joins watches nodes.
type joins struct {
	stop func()

	mutex sync.Mutex
	nodes map[string]join
	most  int
}

// watchJoins watches nodes until stop is called.
func watchJoins(clients kubernetes.Interface) *joins {
	ctx, cancel := context.WithCancel(context.Background())
	factory := informers.NewSharedInformerFactory(clients, 0)
	j := &joins{nodes: map[string]join{}}
	j.stop = func() {
		cancel()
		factory.Shutdown()
	}
	_, _ = factory.Core().V1().Nodes().Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(object any) { j.see(object.(*corev1.Node), time.Now()) },
		UpdateFunc: func(_, object any) { j.see(object.(*corev1.Node), time.Now()) },
		DeleteFunc: func(object any) {
			if name, err := cache.DeletionHandlingMetaNamespaceKeyFunc(object); err == nil {
				j.forget(name)
			}
		},
	}) // an informer that does not run yet takes every handler
	factory.Start(ctx.Done())
	return j
}

func (j *joins) see(node *corev1.Node, now time.Time) {
	j.mutex.Lock()
	defer j.mutex.Unlock()
	n, ok := j.nodes[node.Name]
	if !ok {
		n.joined = now
	}
	if n.initialised.IsZero() && !hasTaint(node, uninitialized) {
		n.initialised = now
	}
	j.nodes[node.Name] = n
	j.most = max(j.most, len(j.nodes))
}

func (j *joins) forget(name string) {
	j.mutex.Lock()
	defer j.mutex.Unlock()
	delete(j.nodes, name)
}

// took is how long it took to initialise a node after it had joined, 0 if it is not initialised.
func (j *joins) took(name string) time.Duration {
	j.mutex.Lock()
	defer j.mutex.Unlock()
	if n := j.nodes[name]; !n.initialised.IsZero() {
		return n.initialised.Sub(n.joined)
	}
	return 0
}

// maximum is how many nodes there were at most.
func (j *joins) maximum() int {
	j.mutex.Lock()
	defer j.mutex.Unlock()
	return j.most
}
