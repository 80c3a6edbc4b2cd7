// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package cloudprovider

import (
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	coreinformers "k8s.io/client-go/informers/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
)

// waitingLogInterval is after how long it is logged again that a node waits for the same drivers. It is looked at when the node
// changes.
const waitingLogInterval = 5 * time.Minute

// waitingNodes are nodes for the controller that initializes them. It hears of a node when that has its CSI drivers: it would try again
// after ever longer pauses, and log each try as an error.
type waitingNodes struct {
	coreinformers.NodeInformer
	drivers *csiDrivers
}

// Informer implements coreinformers.NodeInformer.
func (n *waitingNodes) Informer() cache.SharedIndexInformer {
	return &waitingInformer{SharedIndexInformer: n.NodeInformer.Informer(), nodes: n}
}

type waitingInformer struct {
	cache.SharedIndexInformer
	nodes *waitingNodes
}

// AddEventHandler implements cache.SharedInformer. The cache of nodes and that of CSINodes are up to date before the handler of either
// is called, so that the later one of two events finds both objects.
func (i *waitingInformer) AddEventHandler(next cache.ResourceEventHandler) (cache.ResourceEventHandlerRegistration, error) {
	h := &waitingHandler{next: next, nodes: i.nodes, waiting: map[string]waiting{}}
	if _, err := i.nodes.drivers.csiNodes.Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    h.registered,
		UpdateFunc: func(_, csiNode any) { h.registered(csiNode) },
	}); err != nil {
		return nil, err
	}
	return i.SharedIndexInformer.AddEventHandler(h)
}

// waitingHandler tells the next handler of nodes that need not wait.
type waitingHandler struct {
	next  cache.ResourceEventHandler
	nodes *waitingNodes

	mutex   sync.Mutex
	waiting map[string]waiting
}

// waiting is what was logged about a node that waits.
type waiting struct {
	missing string
	logged  time.Time
}

// OnAdd implements cache.ResourceEventHandler.
func (h *waitingHandler) OnAdd(object any, isInInitialList bool) {
	if h.pass(object) {
		h.next.OnAdd(object, isInInitialList)
	}
}

// OnUpdate implements cache.ResourceEventHandler.
func (h *waitingHandler) OnUpdate(old, object any) {
	if h.pass(object) {
		h.next.OnUpdate(old, object)
	}
}

// OnDelete implements cache.ResourceEventHandler.
func (h *waitingHandler) OnDelete(object any) {
	if name, err := cache.DeletionHandlingObjectToName(object); err == nil {
		h.mutex.Lock()
		delete(h.waiting, name.Name)
		h.mutex.Unlock()
	}
	h.next.OnDelete(object)
}

// registered tells of the node of a CSINode that changed if it need not wait any more.
func (h *waitingHandler) registered(object any) {
	csiNode, ok := object.(*storagev1.CSINode)
	if !ok {
		return
	}
	// Most CSINodes are those of nodes of other sites, or of nodes that do not wait.
	node, err := h.nodes.Lister().Get(csiNode.Name)
	if err == nil && !initialized(node) && h.pass(node) {
		h.next.OnUpdate(node, node)
	}
}

// pass reports whether the node has its drivers, and logs when that changes.
func (h *waitingHandler) pass(object any) bool {
	node, ok := object.(*corev1.Node)
	if !ok {
		return true
	}
	drivers := h.nodes.drivers
	missing := strings.Join(drivers.missingOn(node), ", ")

	h.mutex.Lock()
	defer h.mutex.Unlock()
	before, waited := h.waiting[node.Name]
	switch {
	case missing == "":
		if waited {
			delete(h.waiting, node.Name)
			klog.InfoS("Node has its CSI drivers", "site", drivers.site, "node", node.Name)
		}
	case before.missing != missing, time.Since(before.logged) > waitingLogInterval:
		h.waiting[node.Name] = waiting{missing: missing, logged: time.Now()}
		klog.InfoS("Node waits for its CSI drivers", "site", drivers.site, "node", node.Name, "missing", missing)
	}
	return missing == ""
}
