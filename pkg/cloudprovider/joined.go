// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package cloudprovider

import (
	"context"
	"path"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"
	cloudproviderapi "k8s.io/cloud-provider/api"
	nodehelpers "k8s.io/cloud-provider/node/helpers"
	"k8s.io/klog/v2"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
)

const (
	// joinedPrefix begins the provider IDs of nodes that joined without a machine.
	joinedPrefix = "static://"
	// joinedClient is the name of the client for such nodes. No site has a name with a dot.
	joinedClient = "joined.nodes"
	// joinedPeriod is how often nodes that could not be initialized are tried again.
	joinedPeriod = 30 * time.Second
)

// joined initializes nodes that joined without a machine. It knows no site, so that none can delay it, and never deletes a node.
type joined struct {
	client kubernetes.Interface
	// shoot is the technical ID of the shoot.
	shoot    string
	recorder record.EventRecorder
}

// isJoined reports whether the node joined without a machine. The names of machines begin with that of the shoot, and their nodes
// have a label with their site.
func isJoined(node *corev1.Node, shoot string) bool {
	_, hasSite := node.Labels[v1alpha1.LabelSite]
	return !hasSite && strings.HasPrefix(node.Spec.ProviderID, joinedPrefix) && !strings.HasPrefix(path.Base(node.Spec.ProviderID), shoot+"-")
}

// runJoined initializes nodes until the context ends.
func runJoined(ctx context.Context, client kubernetes.Interface, shoot string, resync time.Duration) {
	broadcaster := record.NewBroadcaster(record.WithContext(ctx))
	defer broadcaster.Shutdown()
	broadcaster.StartRecordingToSink(&typedcorev1.EventSinkImpl{Interface: client.CoreV1().Events("")})
	j := &joined{client: client, shoot: shoot,
		recorder: broadcaster.NewRecorder(scheme.Scheme, corev1.EventSource{Component: "cloud-node-controller"})}

	factory := informers.NewSharedInformerFactoryWithOptions(client, resync,
		informers.WithTweakListOptions(withLabels("!"+v1alpha1.LabelSite)), informers.WithTransform(memberTransform))
	initialize := func(object any) {
		if node, ok := object.(*corev1.Node); ok && ctx.Err() == nil {
			j.initialize(node)
		}
	}
	if _, err := factory.Core().V1().Nodes().Informer().AddEventHandlerWithResyncPeriod(cache.ResourceEventHandlerFuncs{
		AddFunc: initialize, UpdateFunc: func(_, node any) { initialize(node) },
	}, joinedPeriod); err != nil {
		klog.ErrorS(err, "Nodes without machines cannot be initialized")
		return
	}
	factory.StartWithContext(ctx)
	<-ctx.Done()
	factory.Shutdown()
}

// initialize removes the taint of a node that joined. Its kubelet knows its addresses, and no site does.
func (j *joined) initialize(node *corev1.Node) {
	if !isJoined(node, j.shoot) || initialized(node) {
		return
	}
	if !slices.ContainsFunc(node.Status.Addresses, func(a corev1.NodeAddress) bool { return a.Type == corev1.NodeInternalIP }) {
		j.recorder.Event(node, corev1.EventTypeWarning, "AddressUnknown",
			"The kubelet reports no internal IP address, and the node is not initialized before; start the kubelet with --node-ip")
		return
	}
	changed := node.DeepCopy()
	changed.Spec.Taints = slices.DeleteFunc(changed.Spec.Taints, func(t corev1.Taint) bool {
		return t.Key == cloudproviderapi.TaintExternalCloudProvider
	})
	if err := nodehelpers.PatchNodeTaints(j.client, node.Name, node, changed); err != nil {
		klog.ErrorS(err, "Node without a machine cannot be initialized, retrying", "node", node.Name)
		return
	}
	klog.InfoS("Node without a machine is initialized", "node", node.Name, "providerID", node.Spec.ProviderID)
}
