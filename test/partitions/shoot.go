// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package partitions

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/test/countproxy"
	"github.com/gardener/gardener-extension-provider-hybrid/test/kubelets"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/metal"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/openstack"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/shoot"
)

// The services of the proxy of a shoot, beside those of OpenStack.
const (
	InventoryService = "inventory"
	VCenterService   = "vcenter"
)

const (
	runningTimeout = 5 * time.Minute
	sweepTimeout   = 4 * time.Minute
)

// The sites that shoots can have.
const (
	SiteVSphere  = shoot.VSphereSite
	SiteMetal3   = "racks"
	SiteIronCore = "hall"
	// SiteOpenStack needs an OpenStack.
	SiteOpenStack = "cloud"
)

// zones are the zones of the sites.
var zones = map[string]string{SiteVSphere: "vc-1", SiteMetal3: "rack-1", SiteIronCore: "hall-1", SiteOpenStack: "cloud-a"}

// servicesOf are the APIs of a site.
func servicesOf(site string) []string {
	switch site {
	case SiteVSphere:
		return []string{VCenterService}
	case SiteOpenStack:
		var names []string
		for _, service := range openstack.Services() {
			names = append(names, service.Name)
		}
		return names
	default:
		return []string{InventoryService}
	}
}

// ShootOptions say what a shoot is.
type ShootOptions struct {
	// Name is the last part of its technical ID.
	Name string
	// Machines is the number of machines of each site, all of which are in one pool.
	Machines map[string]int
	// Quarantine is that of all of its sites.
	Quarantine v1alpha1.Quarantine
	// Health is the health timeout of machines.
	Health time.Duration
	// Creation is the creation timeout of machines.
	Creation time.Duration
}

// Shoot is a shoot with one pool for each of its sites.
type Shoot struct {
	*shoot.Shoot

	// MCM is machine-controller-manager.
	MCM *landscape.Process
	// Driver is our driver of machine-controller-manager.
	Driver *landscape.Process

	// Proxy is before the APIs of its sites.
	Proxy *countproxy.Proxy

	lab       *Lab
	options   ShootOptions
	stopNodes func()

	mutex sync.Mutex
	// cut are the nodes whose kubelets are cut off.
	cut map[string]bool
	// cutSites are the sites whose kubelets are cut off, those of machines that come later too.
	cutSites map[string]bool
}

// NewShoot creates a shoot and returns when all machines are running, with a pod on each node.
func (l *Lab) NewShoot(ctx context.Context, o ShootOptions) (*Shoot, error) {
	s := &Shoot{lab: l, options: o, cut: map[string]bool{}, cutSites: map[string]bool{},
		Shoot: &shoot.Shoot{Name: l.prefix + o.Name, Seed: l.Seed, VCenter: l.VCenter, Inventory: l.Inventory}}
	l.mutex.Lock()
	l.shoots = append(l.shoots, s)
	l.mutex.Unlock()
	if err := s.create(ctx); err != nil {
		return s, fmt.Errorf("shoot %s: %w", s.Name, err)
	}
	return s, nil
}

func (s *Shoot) create(ctx context.Context) (err error) {
	pair := s.lab.pair
	if s.Proxy, err = countproxy.New(append(openstack.Services(),
		countproxy.Service{Name: VCenterService, Upstream: "https://" + s.lab.VCenter.Address, CA: s.lab.VCenter.CA,
			Certificate: pair.Certificate, Key: pair.Key},
		countproxy.Service{Name: InventoryService, Upstream: s.lab.Inventory.Server(), CA: s.lab.Inventory.CA(),
			Certificate: pair.Certificate, Key: pair.Key},
	)...); err != nil {
		return err
	}
	if err := s.makeHosts(ctx); err != nil {
		return err
	}
	if err := s.Seed.Client.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: s.Name}}); err != nil {
		return err
	}
	if s.MCM, s.Driver, err = s.Seed.MachineControllers(s.Name); err != nil {
		return err
	}
	if err := errors.Join(s.MCM.Start(), s.Driver.Start()); err != nil {
		return err
	}
	s.playKubelets()

	if err := s.CreateCluster(ctx, s.changeSite); err != nil {
		return err
	}
	if err := s.setCredentials(ctx); err != nil {
		return err
	}
	infrastructure, err := s.Infrastructure()
	if err != nil {
		return err
	}
	config := &v1alpha1.InfrastructureConfig{}
	if err := json.Unmarshal(infrastructure.Spec.ProviderConfig.Raw, config); err != nil {
		return err
	}
	config.Sites = slices.DeleteFunc(config.Sites, func(site v1alpha1.InfrastructureSite) bool { return s.options.Machines[site.Name] == 0 })
	for i := range config.Sites {
		config.Sites[i].Metal = nil
	}
	if infrastructure.Spec.ProviderConfig.Raw, err = json.Marshal(config); err != nil {
		return err
	}
	if err := s.changeCluster(ctx, infrastructure.Spec.ProviderConfig); err != nil {
		return err
	}
	if err := s.Create(ctx, infrastructure); err != nil {
		return err
	}
	worker, err := s.Worker(infrastructure)
	if err != nil {
		return err
	}
	mixed := worker.Spec.Pools[0]
	worker.Spec.Pools = nil
	for _, site := range s.Sites() {
		pool := *mixed.DeepCopy()
		size := int32(s.options.Machines[site]) // #nosec G115 -- a few
		pool.Name, pool.Zones, pool.Minimum, pool.Maximum = site, []string{zones[site]}, size, size+2
		pool.Labels[shoot.PoolLabel] = site
		worker.Spec.Pools = append(worker.Spec.Pools, pool)
	}
	if err := s.Create(ctx, worker); err != nil {
		return err
	}
	if err := s.waitRunning(ctx); err != nil {
		return err
	}
	return s.createPods(ctx)
}

// setCredentials gives the shoot access to the project, if it has a site on OpenStack.
func (s *Shoot) setCredentials(ctx context.Context) error {
	if s.options.Machines[SiteOpenStack] == 0 {
		return nil
	}
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "cloudprovider", Namespace: s.Name}}
	if err := s.Seed.Client.Get(ctx, client.ObjectKeyFromObject(secret), secret); err != nil {
		return err
	}
	for key, value := range s.lab.access.SiteCredentials() {
		secret.Data[SiteOpenStack+"."+key] = []byte(value)
	}
	return s.Seed.Client.Update(ctx, secret)
}

// Sites are the names of the shoot's sites.
func (s *Shoot) Sites() []string {
	return slices.Sorted(maps.Keys(s.options.Machines))
}

// makeHosts makes the hosts that only this shoot uses, and one more for each site.
func (s *Shoot) makeHosts(ctx context.Context) error {
	labels := map[string]string{"rack": s.Name, "hall": s.Name, "size": "s"}
	if n := s.options.Machines[SiteMetal3]; n > 0 {
		if _, err := s.lab.Inventory.MakeHosts(ctx, metal.Batch{Prefix: "m3-" + s.options.Name, Count: n + 1, Labels: labels}); err != nil {
			return err
		}
	}
	if n := s.options.Machines[SiteIronCore]; n > 0 {
		if _, err := s.lab.Inventory.MakeServers(ctx, metal.Batch{Prefix: "ic-" + s.options.Name, Count: n + 1, Labels: labels}); err != nil {
			return err
		}
	}
	return nil
}

// changeSite changes a site of the CloudProfile of example/.
func (s *Shoot) changeSite(site *v1alpha1.CloudProfileSite) {
	site.Quarantine = s.options.Quarantine.DeepCopy()
	site.Timeouts = &v1alpha1.MachineTimeouts{
		Creation: &metav1.Duration{Duration: s.options.Creation}, Health: &metav1.Duration{Duration: s.options.Health},
		Drain: &metav1.Duration{Duration: s.options.Health / 4},
	}
	if site.OpenStack != nil {
		site.OpenStack.AuthURL = s.Proxy.Rewrite(site.OpenStack.AuthURL)
	}
	if site.VSphere != nil {
		site.VSphere.Server, site.TLS = s.Proxy.URL(VCenterService), &v1alpha1.TLS{CACert: s.lab.authority}
		// The categories of tags are the same for all shoots, which begin at the same time here.
		site.VSphere.Topology = nil
	}
	if site.Metal != nil {
		site.Metal.Server, site.TLS = s.Proxy.URL(InventoryService), &v1alpha1.TLS{CACert: s.lab.authority}
		for i := range site.Zones {
			labels := site.Zones[i].Metal.HostSelector.MatchLabels
			for key := range labels {
				labels[key] = s.Name
			}
		}
	}
}

// changeCluster lets the Shoot of the Cluster have the sites that it has, and no pools of example/.
func (s *Shoot) changeCluster(ctx context.Context, config *runtime.RawExtension) error {
	cluster := &extensionsv1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: s.Name}}
	if err := s.Seed.Client.Get(ctx, client.ObjectKeyFromObject(cluster), cluster); err != nil {
		return err
	}
	object := &gardencorev1beta1.Shoot{}
	if err := json.Unmarshal(cluster.Spec.Shoot.Raw, object); err != nil {
		return err
	}
	object.Spec.Provider.InfrastructureConfig = config
	mixed := object.Spec.Provider.Workers[0]
	object.Spec.Provider.Workers = nil
	for _, site := range s.Sites() {
		pool := *mixed.DeepCopy()
		size := int32(s.options.Machines[site]) // #nosec G115 -- a few
		pool.Name, pool.Zones, pool.Minimum, pool.Maximum = site, []string{zones[site]}, size, size+2
		object.Spec.Provider.Workers = append(object.Spec.Provider.Workers, pool)
	}
	var err error
	if object.Spec.Provider.ControlPlaneConfig.Raw, err = json.Marshal(&v1alpha1.ControlPlaneConfig{
		TypeMeta: metav1.TypeMeta{APIVersion: v1alpha1.SchemeGroupVersion.String(), Kind: "ControlPlaneConfig"}, DefaultSite: s.Sites()[0],
	}); err != nil {
		return err
	}
	if cluster.Spec.Shoot.Raw, err = json.Marshal(object); err != nil {
		return err
	}
	return s.Seed.Client.Update(ctx, cluster)
}

func (s *Shoot) playKubelets() {
	ctx, cancel := context.WithCancel(context.Background())
	nodes := &kubelets.Kubelets{
		Seed: s.Seed.Client, Shoot: s.Seed.Client, Namespace: s.Name, Servers: s.lab.servers.Active, Heartbeat: heartbeat,
		Cut: s.isCut, Log: logr.Discard(),
	}
	var group sync.WaitGroup
	group.Go(func() { nodes.Run(ctx) })
	s.stopNodes = func() {
		cancel()
		group.Wait()
	}
}

// Pool is the pool on a site.
func (s *Shoot) Pool(site string) shoot.Pool {
	return shoot.Pool{Shoot: s.Shoot, Name: site}
}

func (s *Shoot) waitRunning(ctx context.Context) error {
	var last error
	err := wait.PollUntilContextTimeout(ctx, time.Second, runningTimeout, true, func(ctx context.Context) (bool, error) {
		last = nil
		for site, size := range s.options.Machines {
			last = errors.Join(last, s.Pool(site).Running(ctx, "", size))
		}
		return last == nil, nil
	})
	return errors.Join(err, last)
}

// createPods creates a pod on each node. Only who deletes it by name ends it.
func (s *Shoot) createPods(ctx context.Context) error {
	machines, err := s.Machines(ctx)
	if err != nil {
		return err
	}
	for name := range machines {
		pod := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: corev1.NamespaceDefault},
			Spec: corev1.PodSpec{
				NodeName: name, Containers: []corev1.Container{{Name: "work", Image: "example.org/work"}},
				Tolerations: []corev1.Toleration{{Operator: corev1.TolerationOpExists}},
			},
		}
		if err := s.Seed.Client.Create(ctx, pod); err != nil {
			return err
		}
		pod.Status.Phase = corev1.PodRunning
		if err := s.Seed.Client.Status().Update(ctx, pod); err != nil {
			return err
		}
	}
	return nil
}

// isCut reports whether the kubelet of a node is cut off.
func (s *Shoot) isCut(node string) bool {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	for site := range s.cutSites {
		if s.isOn(node, site) {
			return true
		}
	}
	return s.cut[node]
}

// isOn reports whether a machine is on a site, whose pool has the same name.
func (s *Shoot) isOn(machine, site string) bool {
	return len(machine) > len(s.Name)+len(site)+2 && machine[:len(s.Name)+len(site)+2] == s.Name+"-"+site+"-"
}

// CutNodes cuts the kubelets of nodes off.
func (s *Shoot) CutNodes(nodes ...string) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	for _, node := range nodes {
		s.cut[node] = true
	}
}

// CutSite cuts the kubelets of all nodes of a site off.
func (s *Shoot) CutSite(site string) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.cutSites[site] = true
}

// Mend ends what CutNodes and CutSite began, except for some nodes.
func (s *Shoot) Mend(except ...string) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.cutSites, s.cut = map[string]bool{}, map[string]bool{}
	for _, node := range except {
		s.cut[node] = true
	}
}

func (s *Shoot) stop() error {
	if s.stopNodes != nil {
		s.stopNodes()
	}
	ctx, cancel := context.WithTimeout(context.Background(), stopTimeout)
	defer cancel()
	for _, p := range []*landscape.Process{s.Driver, s.MCM} {
		if p != nil {
			p.Stop(ctx)
		}
	}
	var errs []error
	if s.options.Machines[SiteOpenStack] > 0 {
		sweeping, cancel := context.WithTimeout(context.Background(), sweepTimeout)
		defer cancel()
		errs = append(errs, s.lab.inspector.Sweep(sweeping, s.Name))
	}
	if s.Proxy != nil {
		errs = append(errs, s.Proxy.Close())
	}
	return errors.Join(errs...)
}
