// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package sitehealth

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/types"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/discovery"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
)

// DefaultDiscoveryInterval is the default interval between two comparisons of a CloudProfile with a site.
const DefaultDiscoveryInterval = time.Hour

const (
	// firstShare is the share of the interval within which a site is asked first: a change of a CloudProfile concerns all of its shoots.
	firstShare = 4
	// jitter is the maximum share by which intervals are longer.
	jitter = 5
)

// offered is what a CloudProfile says about all of its sites.
type offered struct {
	spec   *gardencorev1beta1.CloudProfileSpec
	config *v1alpha1.CloudProfileConfig
}

// version returns the same for CloudProfiles that say the same about sites.
func (o offered) version() string {
	var raw []byte
	if o.spec.ProviderConfig != nil {
		raw = o.spec.ProviderConfig.Raw
	}
	types, err := json.Marshal([]any{o.spec.MachineTypes, o.spec.MachineImages})
	utilruntime.Must(err)
	sum := sha256.Sum256(slices.Concat(raw, types))
	return hex.EncodeToString(sum[:])
}

// inspectors compare CloudProfiles with sites, each site once for equal CloudProfiles and credentials. They are independent of the
// probers: a site that takes long to list what it has is neither probed later nor delays others. It is safe for concurrent use.
type inspectors struct {
	log       logr.Logger
	platforms platform.Registry[platform.Discovery]
	interval  time.Duration
	// changed is called with an Infrastructure when the differences of one of its sites have changed.
	changed func(types.NamespacedName)
	ctx     context.Context
	stop    context.CancelFunc
	group   sync.WaitGroup

	mutex      sync.Mutex
	stopped    bool
	inspectors map[string]*inspector
	// shoots are the keys of the inspectors of Infrastructures, by the names of their sites.
	shoots map[types.NamespacedName]map[string]string
}

// inspector compares a CloudProfile with one site periodically.
type inspector struct {
	end context.CancelFunc
	// infrastructures, compared and differences are protected by the mutex of inspectors. differences has no unused objects.
	infrastructures map[types.NamespacedName]struct{}
	compared        bool
	differences     []discovery.Difference
}

func newInspectors(log logr.Logger, platforms platform.Registry[platform.Discovery], interval time.Duration,
	changed func(types.NamespacedName)) *inspectors {
	ctx, stop := context.WithCancel(context.Background())
	return &inspectors{
		log: log, platforms: platforms, interval: interval, changed: changed, ctx: ctx, stop: stop,
		inspectors: map[string]*inspector{}, shoots: map[types.NamespacedName]map[string]string{},
	}
}

// Start implements manager.Runnable. When ctx is done it stops all inspectors, waits for them and prevents new ones from starting.
func (i *inspectors) Start(ctx context.Context) error {
	<-ctx.Done()
	i.mutex.Lock()
	i.stopped = true
	i.mutex.Unlock()
	i.stop()
	i.group.Wait()
	return nil
}

// set makes the inspectors compare exactly the given sites of an Infrastructure with its CloudProfile. Sites that the CloudProfile does not
// have are not compared.
func (i *inspectors) set(infra types.NamespacedName, sites []site.Site, profile offered) {
	i.mutex.Lock()
	defer i.mutex.Unlock()
	if i.stopped || i.interval <= 0 || len(i.platforms) == 0 || profile.config == nil || profile.spec == nil {
		return
	}
	wanted, version := map[string]string{}, profile.version()
	for n := range sites {
		s := &sites[n]
		if _, ok := i.platforms[s.Platform]; !ok || s.Profile == nil {
			continue
		}
		key := keyOf(s) + "/" + version
		wanted[s.Name] = key
		if i.inspectors[key] == nil {
			i.inspectors[key] = i.begin(s, profile)
		}
		i.inspectors[key].infrastructures[infra] = struct{}{}
	}
	i.replace(infra, wanted)
}

// remove stops comparing the sites of the Infrastructure.
func (i *inspectors) remove(infra types.NamespacedName) {
	i.mutex.Lock()
	defer i.mutex.Unlock()
	i.replace(infra, nil)
}

// replace replaces the inspectors of the Infrastructure, and stops those that are no longer needed.
func (i *inspectors) replace(infra types.NamespacedName, wanted map[string]string) {
	for name, key := range i.shoots[infra] {
		if wanted[name] == key {
			continue
		}
		known := i.inspectors[key]
		if delete(known.infrastructures, infra); len(known.infrastructures) == 0 {
			known.end()
			delete(i.inspectors, key)
		}
	}
	if i.shoots[infra] = wanted; len(wanted) == 0 {
		delete(i.shoots, infra)
	}
}

// differences returns the differences of the sites of an Infrastructure, by their names, without sites that have not been compared yet.
func (i *inspectors) differences(infra types.NamespacedName) map[string][]discovery.Difference {
	i.mutex.Lock()
	defer i.mutex.Unlock()
	found := map[string][]discovery.Difference{}
	for name, key := range i.shoots[infra] {
		if known := i.inspectors[key]; known.compared {
			found[name] = known.differences
		}
	}
	return found
}

// begin starts an inspector.
func (i *inspectors) begin(s *site.Site, profile offered) *inspector {
	ctx, end := context.WithCancel(i.ctx)
	started := &inspector{end: end, infrastructures: map[types.NamespacedName]struct{}{}}
	i.group.Go(func() { i.run(ctx, started, s, profile) })
	return started
}

// run compares until ctx is done. What was found stays while the site cannot be asked, which its probe reports.
func (i *inspectors) run(ctx context.Context, started *inspector, s *site.Site, profile offered) {
	for pause := rand.N(i.interval/firstShare + 1); ; pause = i.interval + rand.N(i.interval/jitter+1) { // #nosec G404 -- jitter
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
		found := discovery.OfSite(ctx, i.platforms, s, discovery.Timeout)
		if ctx.Err() != nil {
			return
		}
		if found.Err != nil {
			i.log.V(1).Info("CloudProfile was not compared", "site", s.Name, "reason", found.Err.Error())
			continue
		}
		differences := discovery.Compare(found.Discovery.References, profile.spec, profile.config, s.Name, &found.Offer)
		i.record(started, slices.DeleteFunc(differences, func(d discovery.Difference) bool { return d.State == v1alpha1.DifferenceUnused }))
	}
}

// record stores the differences, and enqueues the Infrastructures if they have changed.
func (i *inspectors) record(started *inspector, differences []discovery.Difference) {
	i.mutex.Lock()
	same := started.compared && slices.Equal(started.differences, differences)
	started.compared, started.differences = true, differences
	infrastructures := make([]types.NamespacedName, 0, len(started.infrastructures))
	for infra := range started.infrastructures {
		infrastructures = append(infrastructures, infra)
	}
	i.mutex.Unlock()
	if same {
		return
	}
	for _, infra := range infrastructures {
		i.changed(infra)
	}
}
