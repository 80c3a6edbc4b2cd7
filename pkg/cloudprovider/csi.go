// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package cloudprovider

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	coreinformers "k8s.io/client-go/informers/core/v1"
	storageinformers "k8s.io/client-go/informers/storage/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	cloudproviderapi "k8s.io/cloud-provider/api"
	"k8s.io/klog/v2"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
)

// csiDrivers are the CSI drivers that must be registered on a node of a site before it is initialized. Nil means none. CSINodes are
// watched, which takes no requests while nodes wait and shows at once when they need not wait any longer.
type csiDrivers struct {
	site     string
	names    []string
	factory  informers.SharedInformerFactory
	csiNodes storageinformers.CSINodeInformer
}

// newCSIDrivers returns the CSI drivers of the site, nil if it has none.
func newCSIDrivers(client kubernetes.Interface, site *v1alpha1.CloudControllerSite) *csiDrivers {
	if len(site.CSIDrivers) == 0 {
		return nil
	}
	factory := informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithTransform(stripCSINode))
	d := &csiDrivers{site: site.Name, names: site.CSIDrivers, factory: factory, csiNodes: factory.Storage().V1().CSINodes()}
	d.csiNodes.Informer()
	return d
}

// run watches the registrations until ctx is done.
func (d *csiDrivers) run(ctx context.Context) {
	if d == nil {
		return
	}
	d.factory.StartWithContext(ctx)
	<-ctx.Done()
	d.factory.Shutdown()
}

// missingOn returns the drivers that are not registered on the node yet. It returns nil for an initialized node.
func (d *csiDrivers) missingOn(node *corev1.Node) []string {
	if d == nil || initialized(node) {
		return nil
	}
	csiNode, err := d.csiNodes.Lister().Get(node.Name)
	if err != nil || !isOf(csiNode, node) {
		return d.names
	}
	return slices.DeleteFunc(slices.Clone(d.names), func(name string) bool {
		return slices.ContainsFunc(csiNode.Spec.Drivers, func(driver storagev1.CSINodeDriver) bool { return driver.Name == name })
	})
}

// initialized reports whether the controllers have initialized the node. Its zone is only set then.
func initialized(node *corev1.Node) bool {
	return !slices.ContainsFunc(node.Spec.Taints, func(t corev1.Taint) bool { return t.Key == cloudproviderapi.TaintExternalCloudProvider })
}

// isOf reports whether the CSINode belongs to the node and not to an earlier one of the same name.
func isOf(csiNode *storagev1.CSINode, node *corev1.Node) bool {
	return !slices.ContainsFunc(csiNode.OwnerReferences, func(owner metav1.OwnerReference) bool { return owner.UID != node.UID })
}

// holdBack returns an informer that does not notify of nodes with missing drivers, for the controller that initializes nodes.
func (d *csiDrivers) holdBack(nodes coreinformers.NodeInformer) coreinformers.NodeInformer {
	if d == nil {
		return nodes
	}
	return &waitingNodes{NodeInformer: nodes, SharedIndexInformer: nodes.Informer(), drivers: d}
}

// stripCSINode drops unused parts of a CSINode. Each site caches the CSINodes of all nodes, because they have no labels to select by.
func stripCSINode(object any) (any, error) {
	csiNode, ok := object.(*storagev1.CSINode)
	if !ok {
		return object, nil
	}
	csiNode.ManagedFields, csiNode.Annotations = nil, nil
	for i := range csiNode.Spec.Drivers {
		csiNode.Spec.Drivers[i] = storagev1.CSINodeDriver{Name: csiNode.Spec.Drivers[i].Name}
	}
	return csiNode, nil
}

// waitingLogInterval is the minimum time between two log lines about a node that waits for the same drivers.
const waitingLogInterval = 5 * time.Minute

// waitingNodes is an informer that notifies of a node as soon as its CSI drivers are registered. Otherwise the controller would retry with
// growing back-off and log each attempt as an error.
type waitingNodes struct {
	coreinformers.NodeInformer
	cache.SharedIndexInformer
	drivers *csiDrivers
}

// Informer implements coreinformers.NodeInformer.
func (n *waitingNodes) Informer() cache.SharedIndexInformer {
	return n
}

// AddEventHandler implements cache.SharedInformer. Caches are updated before handlers are called, so that the handler of the later one of
// two events finds both the node and the CSINode.
func (n *waitingNodes) AddEventHandler(next cache.ResourceEventHandler) (cache.ResourceEventHandlerRegistration, error) {
	h := &waitingHandler{next: next, nodes: n, waiting: map[string]waiting{}}
	if _, err := n.drivers.csiNodes.Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    h.registered,
		UpdateFunc: func(_, csiNode any) { h.registered(csiNode) },
	}); err != nil {
		return nil, err
	}
	return n.SharedIndexInformer.AddEventHandler(h)
}

// waitingHandler passes nodes that need not wait to the next handler.
type waitingHandler struct {
	next  cache.ResourceEventHandler
	nodes *waitingNodes

	mutex   sync.Mutex
	waiting map[string]waiting
}

// waiting is the last log line about a node that waits.
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

// registered passes on the node of a CSINode if it need not wait any longer.
func (h *waitingHandler) registered(object any) {
	csiNode, ok := object.(*storagev1.CSINode)
	if !ok {
		return
	}
	// Most CSINodes belong to other sites or to initialized nodes.
	node, err := h.nodes.Lister().Get(csiNode.Name)
	if err == nil && !initialized(node) && h.pass(node) {
		h.next.OnUpdate(node, node)
	}
}

// pass reports whether the drivers are registered on the node, and logs changes.
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
