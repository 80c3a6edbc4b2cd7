// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package cloudprovider

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	coreinformers "k8s.io/client-go/informers/core/v1"
	storageinformers "k8s.io/client-go/informers/storage/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
)

// csiDrivers are the CSI drivers without which no node of a site is initialized. A nil one is none. What is registered comes from a
// watch: it costs no request while nodes wait, and tells at once when they need not any more.
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

// run watches the registrations until ctx ends.
func (d *csiDrivers) run(ctx context.Context) {
	if d == nil {
		return
	}
	d.factory.StartWithContext(ctx)
	<-ctx.Done()
	d.factory.Shutdown()
}

// missingOn returns the drivers that the node must have before it is initialized, and has not. An initialized node misses none.
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

// isOf reports whether the CSINode is that of the node, and not of an earlier one of its name.
func isOf(csiNode *storagev1.CSINode, node *corev1.Node) bool {
	return !slices.ContainsFunc(csiNode.OwnerReferences, func(owner metav1.OwnerReference) bool { return owner.UID != node.UID })
}

// holdBack returns the nodes as the controller shall see them that initializes nodes.
func (d *csiDrivers) holdBack(nodes coreinformers.NodeInformer) coreinformers.NodeInformer {
	if d == nil {
		return nodes
	}
	return &waitingNodes{NodeInformer: nodes, drivers: d}
}

// stripCSINode takes from a CSINode what nobody reads, because each site watches those of all nodes: they have no labels to select by.
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
