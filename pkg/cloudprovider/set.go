// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package cloudprovider

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	nodecontroller "k8s.io/cloud-provider/controllers/node"
	"k8s.io/cloud-provider/controllers/nodelifecycle"
	"k8s.io/klog/v2"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
)

const (
	// firstRetry and lastRetry are the shortest and the longest delay before a site that could not be opened is retried.
	firstRetry = time.Second
	lastRetry  = 30 * time.Second
	// mistakeRetry is the delay after errors that waiting does not fix: the site may lock the user out after failed logins.
	mistakeRetry = time.Minute
)

// set is the set of controllers of one site.
type set struct {
	*siteConfig

	options  *Options
	platform platform.Nodes
	client   kubernetes.Interface
	rules    *ruleSource
	cancel   context.CancelFunc
	done     chan struct{}
}

// isDone reports whether the controllers have ended.
func (s *set) isDone() bool {
	select {
	case <-s.done:
		return true
	default:
		return false
	}
}

// run runs the controllers until ctx is done. It retries until the site can be opened. The controllers of nodes do not wait for load
// balancers.
func (s *set) run(ctx context.Context) {
	site, ok := open(ctx, s.Site.Name, "machines", func() (platform.NodeSite, error) {
		return s.platform.Open(ctx, platform.NodesRequest{Shoot: s.Shoot, Site: s.Site, Credentials: s.Credentials, Client: s.client})
	})
	if !ok {
		return
	}
	drivers := newCSIDrivers(s.client, s.Site)
	var group wait.Group
	group.StartWithContext(ctx, drivers.run)
	group.StartWithContext(ctx, func(ctx context.Context) {
		klog.InfoS("Running the controllers of a site", "site", s.Site.Name)
		s.runNodes(ctx, newNodesCloud(ctx, s.siteConfig, site.Machines, drivers, newBirths(s.client)))
	})
	if site.OpenLoadBalancers != nil {
		group.StartWithContext(ctx, func(ctx context.Context) { s.openServices(ctx, site.OpenLoadBalancers) })
	}
	group.Wait()
}

// openServices runs the service controller as soon as the site's load balancers can be opened.
func (s *set) openServices(ctx context.Context, opener func(context.Context) (platform.LoadBalancers, error)) {
	balancers, ok := open(ctx, s.Site.Name, "load balancers", func() (platform.LoadBalancers, error) { return opener(ctx) })
	if !ok {
		return
	}
	klog.InfoS("Running the service controller of a site", "site", s.Site.Name)
	s.runServices(ctx, newServicesCloud(ctx, s.siteConfig, s.client, balancers))
}

// open retries opener until it succeeds. It returns false if ctx is done before.
func open[T any](ctx context.Context, site, what string, opener func() (T, error)) (T, bool) {
	backoff := wait.Backoff{Duration: firstRetry, Factor: 2, Jitter: 0.1, Steps: 10, Cap: lastRetry}
	for {
		opened, err := platform.Safely(opener)
		if err == nil {
			return opened, true
		}
		pause := backoff.Step()
		if platform.ClassOf(err) != platform.ClassTransient {
			pause = mistakeRetry
		}
		if ctx.Err() == nil {
			klog.ErrorS(err, "Site cannot be opened, retrying", "site", site, "class", platform.ClassOf(err), "for", what, "after", pause)
		}
		select {
		case <-ctx.Done():
			return opened, false
		case <-time.After(pause):
		}
	}
}

// runNodes runs the node controllers. The API server filters the nodes.
func (s *set) runNodes(ctx context.Context, cloud *cloud) {
	factory := informers.NewSharedInformerFactoryWithOptions(s.client, s.options.ResyncPeriod,
		informers.WithTweakListOptions(withLabels(siteSelector(s.Site.Name))))
	nodes := factory.Core().V1().Nodes()
	node, err := nodecontroller.NewCloudNodeController(cloud.instances.drivers.holdBack(nodes), s.client, cloud,
		s.options.NodeStatusUpdateFrequency, s.options.NodeSyncs, s.options.NodeStatusUpdates)
	if err != nil {
		klog.ErrorS(err, "Node controller cannot run", "site", s.Site.Name)
		return
	}
	lifecycle, err := nodelifecycle.NewCloudNodeLifecycleController(nodes, s.client, cloud, s.options.NodeMonitorPeriod)
	if err != nil {
		klog.ErrorS(err, "Node lifecycle controller cannot run", "site", s.Site.Name)
		return
	}
	if err := cloud.instances.births.watch(ctx, nodes.Informer()); err != nil {
		klog.ErrorS(err, "Births of machines are not reported", "site", s.Site.Name)
	}
	factory.StartWithContext(ctx)
	defer factory.Shutdown()
	var group wait.Group
	group.StartWithContext(ctx, func(ctx context.Context) { node.RunWithContext(ctx, s.options.Metrics) })
	group.StartWithContext(ctx, func(ctx context.Context) { lifecycle.Run(ctx, s.options.Metrics) })
	group.Wait()
}

func siteSelector(name string) string {
	return fmt.Sprintf("%s=%s", v1alpha1.LabelSite, name)
}

func withLabels(selector string) func(*metav1.ListOptions) {
	return func(options *metav1.ListOptions) { options.LabelSelector = selector }
}
