// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	staticv1alpha1 "github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/static/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/kubernetes/owner"
	"github.com/gardener/gardener-extension-provider-hybrid/test/kubelets"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/metal"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/openstack"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/statichosts"
	"github.com/gardener/gardener-extension-provider-hybrid/test/scaler"
)

const (
	// ownHosts is the number of hosts, and overflow is how many nodes more are wanted.
	ownHosts = 3
	overflow = 2

	hostsTimeout = 2 * time.Minute
)

// restored are the places of a host that are what they were after each machine.
var restored = []string{"/etc", "/opt", "/usr/local", "/root", "/var/lib/kubelet", "/var/lib/gardener-node-agent", "/var/lib/static-host"}

// ownSite is a site of hosts with Debian, which are reached by SSH.
type ownSite struct {
	inventory *inventory
	command   func(context.Context, string, ...string) error

	room     *statichosts.Site
	hosts    map[string]*statichosts.Host
	operator *landscape.Process
	// files are what is on the disks of the hosts before they are machines.
	files map[string]map[string]string
}

func (s *ownSite) name() string { return own }

func (s *ownSite) platform() string { return "own hosts (Debian and SSH, in containers that boot)" }

func (s *ownSite) start(ctx context.Context) error {
	if err := s.command(ctx, filepath.Join(landscape.Root(), "hack", "landscape", "statichosts", "build.sh")); err != nil {
		return fmt.Errorf("%w: %w", openstack.ErrNotPossible, err)
	}
	if err := s.inventory.start(ctx); err != nil {
		return err
	}
	if err := s.inventory.InstallStatic(ctx); err != nil {
		return err
	}
	dir, err := landscape.CacheDir("demo-hosts")
	if err != nil {
		return err
	}
	if s.room, err = statichosts.NewSite(dir); err != nil {
		return err
	}
	s.operator = s.inventory.StaticOperator(filepath.Join(landscape.Root(), "hack", "bin"), "static-host-operator", metal.Namespace)
	if err := s.operator.Start(); err != nil {
		return err
	}
	return s.install(ctx)
}

// install installs the hosts and registers them.
func (s *ownSite) install(ctx context.Context) error {
	s.hosts, s.files = map[string]*statichosts.Host{}, map[string]map[string]string{}
	for n := range ownHosts {
		name := fmt.Sprintf("rack-7-%d", n+1)
		host, err := s.room.Install(ctx, name, statichosts.Options{})
		if err != nil {
			return err
		}
		if err := s.inventory.RegisterHost(ctx, host, metal.Namespace, map[string]string{"rack": "7", "size": "s"}, nil); err != nil {
			return err
		}
		s.hosts[name] = host
	}
	names := slices.Collect(maps.Keys(s.hosts))
	if err := s.inventory.WaitForPhase(ctx, hostsTimeout, staticv1alpha1.PhaseAvailable, metal.Namespace, names...); err != nil {
		return err
	}
	for name, host := range s.hosts {
		var err error
		if s.files[name], err = host.Files(restored...); err != nil {
			return err
		}
	}
	return nil
}

func (s *ownSite) stop(ctx context.Context) error {
	if s.operator != nil {
		s.operator.Stop(ctx)
	}
	var err error
	if s.room != nil {
		err = s.room.Close()
	}
	return errors.Join(err, s.inventory.stop())
}

func (s *ownSite) locate(profile *v1alpha1.CloudProfileSite) {
	profile.Metal.Server, profile.TLS = s.inventory.Server(), &v1alpha1.TLS{CACert: s.inventory.CA()}
}

func (s *ownSite) credentials() map[string]string {
	return s.inventory.credentials.SiteCredentials()
}

// claimed are the hosts of the shoot by machine.
func (s *ownSite) claimed(ctx context.Context) (map[string]staticv1alpha1.StaticHost, error) {
	hosts := &staticv1alpha1.StaticHostList{}
	err := s.inventory.Client.List(ctx, hosts, client.InNamespace(metal.Namespace))
	claimed := map[string]staticv1alpha1.StaticHost{}
	for _, host := range hosts.Items {
		if ref := host.Spec.ConsumerRef; ref != nil && ref.Namespace == namespace {
			claimed[ref.Name] = host
		}
	}
	return claimed, err
}

func (s *ownSite) servers(ctx context.Context) (map[string]server, error) {
	claimed, err := s.claimed(ctx)
	servers := map[string]server{}
	for machine, host := range claimed {
		servers[machine] = server{
			name: host.Name, status: host.Name + " " + strings.ToLower(string(host.Status.Phase)), image: "its own",
			active: host.Status.Phase == staticv1alpha1.PhaseProvisioned, addresses: []string{host.Spec.Address},
		}
	}
	return servers, err
}

// active are the machines that run, whose kubelets are played.
func (s *ownSite) active(ctx context.Context) (map[string]kubelets.Server, error) {
	claimed, err := s.claimed(ctx)
	active := map[string]kubelets.Server{}
	for machine, host := range claimed {
		if host.Status.Phase != staticv1alpha1.PhaseProvisioned {
			continue
		}
		node := host.Annotations[owner.AnnotationNode]
		active[machine] = kubelets.Server{
			NodeName: node, ProviderID: "static://" + path.Join(host.Namespace, host.Name, machine),
			Addresses: []corev1.NodeAddress{
				{Type: corev1.NodeHostName, Address: node}, {Type: corev1.NodeInternalIP, Address: host.Spec.Address},
			},
		}
	}
	return active, err
}

// objects are hosts and Secrets of the shoot, and what is not as it was on a host that is free.
func (s *ownSite) objects(ctx context.Context) ([]object, error) {
	claimed, err := s.claimed(ctx)
	if err != nil {
		return nil, err
	}
	var objects []object
	inUse := map[string]bool{}
	for machine, host := range claimed {
		inUse[host.Name] = true
		objects = append(objects, object{kind: "claimed host", text: host.Name + " of " + machine})
	}
	secrets := &corev1.SecretList{}
	if err := s.inventory.Client.List(ctx, secrets, client.InNamespace(metal.Namespace),
		client.MatchingLabels{owner.LabelShoot: namespace}); err != nil {
		return nil, err
	}
	for _, secret := range secrets.Items {
		objects = append(objects, object{kind: "Secret", text: secret.Name})
	}
	for name, host := range s.hosts {
		if inUse[name] {
			continue
		}
		files, err := host.Files(restored...)
		if err != nil {
			return nil, err
		}
		for file, before := range s.files[name] {
			if files[file] != before && file != "/etc" {
				objects = append(objects, object{kind: "changed file", text: name + ":" + file})
			}
			delete(files, file)
		}
		for file := range files {
			objects = append(objects, object{kind: "new file", text: name + ":" + file})
		}
	}
	return objects, nil
}

func (s *ownSite) kinds() string { return "claimed host, Secret, or new or changed file" }

func (s *ownSite) hint() string {
	return fmt.Sprintf("kubectl --kubeconfig=%s -n %s get statichosts -o wide", s.inventory.Cluster.Kubeconfig, metal.Namespace)
}

// scaleOwn lets a pod wait for a second node, which is one more own host.
func (d *demo) scaleOwn(ctx context.Context) error {
	return d.growOwn(ctx, int(d.size)+1, d.size+1)
}

// fillOwn lets more pods wait than there are own hosts. Without the cloud, some go on waiting.
func (d *demo) fillOwn(ctx context.Context) error {
	wanted := int32(ownHosts)
	if d.selection.keeps(cloud) {
		wanted += overflow
	}
	return d.growOwn(ctx, ownHosts+overflow, wanted)
}

func (d *demo) growOwn(ctx context.Context, pods int, wanted int32) error {
	scaling, end := context.WithCancel(ctx)
	var group sync.WaitGroup
	s := d.scaler()
	s.SetPods(scaler.Pods{Count: pods, NodeSelector: map[string]string{poolLabel: pool}})
	group.Go(func() { s.Run(scaling) })
	defer group.Wait()
	defer end()
	if err := d.waitMachines(ctx, pool, wanted, nil); err != nil {
		return err
	}
	return d.printNodes(ctx)
}

// emptyOwn removes all machines but those that the pool has at least, as if its pods had ended.
func (d *demo) emptyOwn(ctx context.Context) error {
	machines, err := d.poolMachines(ctx, pool)
	if err != nil {
		return err
	}
	var names []string
	kept := int32(0)
	for _, name := range slices.Sorted(maps.Keys(machines)) {
		if kept < d.size && strings.HasPrefix(machines[name].Spec.ProviderID, "static://") {
			kept++
			continue
		}
		names = append(names, name)
	}
	if err := d.scaler().Remove(ctx, names...); err != nil {
		return err
	}
	return d.waitMachines(ctx, pool, d.size, nil)
}
