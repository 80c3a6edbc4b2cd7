// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package cloudprovider runs the cloud controllers of Kubernetes once for each site of a shoot. Each set of controllers sees only the nodes
// and Services of its site, so that no site can harm or delay another.
package cloudprovider

import (
	"cmp"
	"context"
	"maps"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/component-base/featuregate"
	controllersmetrics "k8s.io/component-base/metrics/prometheus/controllers"
	"k8s.io/klog/v2"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/validation"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
)

// reloadPeriod is the default ReloadPeriod. The kubelet takes longer to update a mounted Secret.
const reloadPeriod = 10 * time.Second

// Options are the options of a Manager.
type Options struct {
	// Files are reread periodically.
	Files Files
	// Platforms are the supported platforms.
	Platforms platform.Registry[platform.Nodes]
	// NewClient returns the client of a site's controllers. Sites do not share clients, and so their rate limits.
	NewClient func(site string) (kubernetes.Interface, error)
	// FeatureGate has the feature gates of the cloud controllers.
	FeatureGate featuregate.FeatureGate
	// Metrics counts the running controllers.
	Metrics *controllersmetrics.ControllerManagerMetrics
	// ReloadPeriod is the time between two reads of the files. Default: 10s.
	ReloadPeriod time.Duration
	// NodeMonitorPeriod is the time between two checks of nodes that are not ready.
	NodeMonitorPeriod time.Duration
	// NodeStatusUpdateFrequency is the time between two updates of the addresses of nodes.
	NodeStatusUpdateFrequency time.Duration
	// NodeSyncs is the number of nodes of a site that are initialized concurrently.
	NodeSyncs int32
	// NodeStatusUpdates is the number of nodes of a site whose addresses are updated concurrently.
	NodeStatusUpdates int32
	// ServiceSyncs is the number of Services of a site that are reconciled concurrently.
	ServiceSyncs int
	// ResyncPeriod is the resync period of the informers.
	ResyncPeriod time.Duration
}

// Manager runs a set of controllers for each site in the files.
type Manager struct {
	options Options
	sets    map[string]*set
	// ended are the sets of removed sites whose controllers have not ended yet.
	ended map[string]*set
	// broken are the last logged errors, by the names of the sites.
	broken map[string]string
	// joined is closed when nodes without machines are no longer initialized, nil before they are.
	joined chan struct{}
}

// NewManager returns a manager that is not running.
func NewManager(options Options) *Manager {
	if options.ReloadPeriod == 0 {
		options.ReloadPeriod = reloadPeriod
	}
	return &Manager{options: options, sets: map[string]*set{}, ended: map[string]*set{}, broken: map[string]string{}}
}

// Run runs the controllers until ctx is done. Errors in the files and of sites are logged and retried; they affect neither the process nor
// the controllers of other sites.
func (m *Manager) Run(ctx context.Context) {
	wait.UntilWithContext(ctx, m.reload, m.options.ReloadPeriod)
	for _, sets := range []map[string]*set{m.sets, m.ended} {
		for _, s := range sets {
			<-s.done
		}
	}
	if m.joined != nil {
		<-m.joined
	}
}

// reload starts the sets of new sites, replaces those whose configuration or credentials changed, and ends those of removed sites. A site
// whose configuration or credentials are invalid keeps its set.
func (m *Manager) reload(ctx context.Context) {
	config, credentials, err := m.options.Files.read()
	if m.report("", err); err != nil {
		return
	}
	m.report(joinedClient, m.join(ctx, config.Shoot))
	configs, errs := siteConfigs(config, credentials)
	rules := newServiceRules(config)
	names := map[string]bool{}
	for i := range config.Sites {
		name := config.Sites[i].Name
		names[name] = true
		err := errs[name]
		if err == nil {
			err = m.apply(ctx, configs[name])
		}
		m.report(name, err)
	}
	for name, s := range m.sets {
		if !names[name] {
			klog.InfoS("Ending the controllers of a removed site", "site", name)
			s.cancel()
			m.ended[name] = s
			delete(m.sets, name)
			delete(m.broken, name)
			continue
		}
		s.rules.set(rules)
	}
	maps.DeleteFunc(m.ended, func(_ string, s *set) bool { return s.isDone() })
}

// apply starts or replaces the set of a site unless its configuration is unchanged.
func (m *Manager) apply(ctx context.Context, config *siteConfig) error {
	name := config.Site.Name
	old := m.sets[name]
	if old != nil && equality.Semantic.DeepEqual(old.siteConfig, config) {
		return nil
	}
	platformName, _ := config.Site.Platform()
	if old != nil {
		if err := cmp.Or(config.Credentials.Check(), validation.CheckCredentials(platformName, config.Credentials)); err != nil {
			return err
		}
	}
	part, err := m.options.Platforms.For(platformName)
	if err != nil {
		return err
	}
	client, err := m.options.NewClient(name)
	if err != nil {
		return err
	}

	setCtx, cancel := context.WithCancel(ctx)
	s := &set{
		siteConfig: config,
		options:    &m.options,
		platform:   part,
		client:     client,
		rules:      newRuleSource(),
		cancel:     cancel,
		done:       make(chan struct{}),
	}
	before := cmp.Or(old, m.ended[name])
	m.sets[name] = s
	delete(m.ended, name)
	klog.InfoS("Starting the controllers of a site", "site", name, "platform", platformName, "replaced", old != nil)
	go func() {
		defer close(s.done)
		if before != nil {
			before.cancel()
			<-before.done
		}
		s.run(setCtx)
	}()
	return nil
}

// join begins to initialize nodes without machines.
func (m *Manager) join(ctx context.Context, shoot string) error {
	if m.joined != nil {
		return nil
	}
	client, err := m.options.NewClient(joinedClient)
	if err != nil {
		return err
	}
	m.joined = make(chan struct{})
	go func() {
		defer close(m.joined)
		runJoined(ctx, client, shoot, m.options.ResyncPeriod)
	}()
	return nil
}

// report logs err unless it was already logged for the site.
func (m *Manager) report(name string, err error) {
	if err == nil {
		delete(m.broken, name)
		return
	}
	if message := err.Error(); m.broken[name] != message {
		m.broken[name] = message
		klog.ErrorS(err, "Configuration is invalid, keeping the running controllers", "site", name)
	}
}
