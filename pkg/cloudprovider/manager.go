// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package cloudprovider

import (
	"cmp"
	"context"
	"maps"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/component-base/featuregate"
	controllersmetrics "k8s.io/component-base/metrics/prometheus/controllers"
	"k8s.io/klog/v2"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/validation"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
)

// reloadPeriod is the time between two looks at the files. The kubelet takes longer to bring a change of a Secret there.
const reloadPeriod = 10 * time.Second

// Options say how the controllers run.
type Options struct {
	// Files are read again and again.
	Files Files
	// Platforms are the parts of the platforms.
	Platforms platform.Registry[platform.Nodes]
	// NewClient returns the client of a site's controllers. Each has one of its own, so that they do not share its rate limit.
	NewClient func(site string) (kubernetes.Interface, error)
	// FeatureGate has the feature gates of the cloud controllers.
	FeatureGate featuregate.FeatureGate
	// Metrics count the controllers that run.
	Metrics *controllersmetrics.ControllerManagerMetrics
	// ReloadPeriod is the time between two looks at the files. Default: 10s.
	ReloadPeriod time.Duration
	// NodeMonitorPeriod is the time between two looks at nodes that are not ready.
	NodeMonitorPeriod time.Duration
	// NodeStatusUpdateFrequency is the time between two updates of the addresses of nodes.
	NodeStatusUpdateFrequency time.Duration
	// NodeSyncs is the number of nodes of a site that are initialized at the same time.
	NodeSyncs int32
	// NodeStatusUpdates is the number of nodes of a site whose addresses are updated at the same time.
	NodeStatusUpdates int32
	// ServiceSyncs is the number of Services of a site that are worked on at the same time.
	ServiceSyncs int
	// ResyncPeriod is the time after which informers show all objects again.
	ResyncPeriod time.Duration
}

// Manager runs a set of controllers for each site that the files name.
type Manager struct {
	options Options
	sets    map[string]*set
	// ended are the last sets of sites that are gone, as long as their controllers are about to end.
	ended  map[string]*set
	broken map[string]string
}

// NewManager returns a manager that does nothing yet.
func NewManager(options Options) *Manager {
	if options.ReloadPeriod == 0 {
		options.ReloadPeriod = reloadPeriod
	}
	return &Manager{options: options, sets: map[string]*set{}, ended: map[string]*set{}, broken: map[string]string{}}
}

// Run runs the controllers until ctx ends. What is wrong in the files, or with a site, is logged and tried again: it ends neither
// the process nor the controllers of other sites.
func (m *Manager) Run(ctx context.Context) {
	wait.UntilWithContext(ctx, m.reload, m.options.ReloadPeriod)
	for _, sets := range []map[string]*set{m.sets, m.ended} {
		for _, s := range sets {
			<-s.done
		}
	}
}

// reload starts the sets of new sites, replaces those whose configuration or credentials changed, and ends those of sites that are
// gone. A site whose configuration is wrong, or whose credentials cannot be used, keeps the set that it has.
func (m *Manager) reload(ctx context.Context) {
	config, credentials, err := m.options.Files.read()
	if m.report("", err); err != nil {
		return
	}
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
			klog.InfoS("Site is gone, its controllers end", "site", name)
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

// apply makes the set of a site what its configuration says.
func (m *Manager) apply(ctx context.Context, config *siteConfig) error {
	fingerprint, err := config.fingerprint()
	if err != nil {
		return err
	}
	name := config.Site.Name
	old := m.sets[name]
	if old != nil && old.fingerprint == fingerprint {
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
		siteConfig:  config,
		options:     &m.options,
		platform:    part,
		client:      client,
		rules:       newRuleSource(),
		fingerprint: fingerprint,
		cancel:      cancel,
		done:        make(chan struct{}),
	}
	before := cmp.Or(old, m.ended[name])
	m.sets[name] = s
	delete(m.ended, name)
	klog.InfoS("Controllers of a site begin", "site", name, "platform", platformName, "replaced", old != nil)
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

// report logs err unless it was the last one of the site, too.
func (m *Manager) report(name string, err error) {
	if err == nil {
		delete(m.broken, name)
		return
	}
	if message := err.Error(); m.broken[name] != message {
		m.broken[name] = message
		klog.ErrorS(err, "Configuration is wrong, what runs stays as it is", "site", name)
	}
}

// newServiceRules returns what decides which site serves a Service.
func newServiceRules(config *v1alpha1.CloudControllerManagerConfiguration) serviceRules {
	rules := serviceRules{defaultSite: config.DefaultSite}
	for i := range config.Sites {
		if config.Sites[i].LoadBalancerMembers() != "" {
			rules.sites = append(rules.sites, config.Sites[i].Name)
		}
	}
	return rules
}
