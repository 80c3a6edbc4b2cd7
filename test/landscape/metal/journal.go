// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package metal

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/tools/cache"
)

// Use is a time in which a host had one consumer.
type Use struct {
	// Consumer is namespace/name of what used the host.
	Consumer string
	// From is when that was seen.
	From time.Time
	// To is when it was seen to be over, zero if it is not.
	To time.Time
}

// Journal is the history of who used which host. It sees every change, also those that were over soon. It is safe for concurrent
// use.
type Journal struct {
	mutex sync.Mutex
	uses  map[string][]Use
}

// startJournal watches the hosts and servers until ctx ends.
func (i *Inventory) startJournal(ctx context.Context, o Options) (*Journal, error) {
	access, err := dynamic.NewForConfig(i.Cluster.Config)
	if err != nil {
		return nil, err
	}
	var (
		journal   = &Journal{uses: map[string][]Use{}}
		factory   = dynamicinformer.NewDynamicSharedInformerFactory(access, 0)
		informers []cache.SharedIndexInformer
	)
	if o.Metal3 {
		informers = append(informers, factory.ForResource(metal3.WithResource("baremetalhosts")).Informer())
	}
	if o.IronCore {
		informers = append(informers, factory.ForResource(ironCore.WithResource("servers")).Informer())
	}
	for _, informer := range informers {
		_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
			AddFunc:    journal.see,
			UpdateFunc: func(_, o any) { journal.see(o) },
			DeleteFunc: journal.seeDeleted,
		})
		if err != nil {
			return nil, err
		}
		i.group.Go(func() { informer.Run(ctx.Done()) })
	}
	return journal, nil
}

func (j *Journal) see(o any) {
	if host, ok := o.(*unstructured.Unstructured); ok {
		j.record(host.GetName(), consumerOf(host))
	}
}

func (j *Journal) seeDeleted(o any) {
	if unknown, ok := o.(cache.DeletedFinalStateUnknown); ok {
		o = unknown.Obj
	}
	if host, ok := o.(*unstructured.Unstructured); ok {
		j.record(host.GetName(), "")
	}
}

func (j *Journal) record(host, consumer string) {
	j.mutex.Lock()
	defer j.mutex.Unlock()
	now, uses := time.Now(), j.uses[host]
	if last := len(uses) - 1; last >= 0 && uses[last].To.IsZero() {
		if uses[last].Consumer == consumer {
			return
		}
		uses[last].To = now
	}
	if consumer != "" {
		j.uses[host] = append(uses, Use{Consumer: consumer, From: now})
	}
}

// Uses returns the uses of a host in their order.
func (j *Journal) Uses(host string) []Use {
	j.mutex.Lock()
	defer j.mutex.Unlock()
	return slices.Clone(j.uses[host])
}

// HostsOf returns the hosts that a consumer, namespace/name, ever had, one for each time.
func (j *Journal) HostsOf(consumer string) []string {
	j.mutex.Lock()
	defer j.mutex.Unlock()
	var hosts []string
	for _, host := range slices.Sorted(maps.Keys(j.uses)) {
		for _, use := range j.uses[host] {
			if use.Consumer == consumer {
				hosts = append(hosts, host)
			}
		}
	}
	return hosts
}

// UsesOf returns the uses of all hosts by the consumers of a namespace.
func (j *Journal) UsesOf(namespace string) []Use {
	j.mutex.Lock()
	defer j.mutex.Unlock()
	var uses []Use
	for _, host := range slices.Sorted(maps.Keys(j.uses)) {
		for _, use := range j.uses[host] {
			if strings.HasPrefix(use.Consumer, namespace+"/") {
				uses = append(uses, use)
			}
		}
	}
	return uses
}

// Conflicts returns a line for each consumer that had several hosts at one time, and for each host that was taken from one
// consumer by another without having been free.
func (j *Journal) Conflicts() []string {
	j.mutex.Lock()
	defer j.mutex.Unlock()
	var (
		conflicts []string
		seen      = map[string][]Use{}
		hosts     = map[string][]string{}
	)
	for _, host := range slices.Sorted(maps.Keys(j.uses)) {
		for n, use := range j.uses[host] {
			if n > 0 && j.uses[host][n-1].To.Equal(use.From) {
				conflicts = append(conflicts, fmt.Sprintf("%s: %s took it from %s", host, use.Consumer, j.uses[host][n-1].Consumer))
			}
			for m, other := range seen[use.Consumer] {
				if use.overlaps(other) {
					conflicts = append(conflicts, fmt.Sprintf("%s had %s and %s", use.Consumer, hosts[use.Consumer][m], host))
				}
			}
			seen[use.Consumer] = append(seen[use.Consumer], use)
			hosts[use.Consumer] = append(hosts[use.Consumer], host)
		}
	}
	return conflicts
}

func (u Use) overlaps(other Use) bool {
	return (other.To.IsZero() || u.From.Before(other.To)) && (u.To.IsZero() || other.From.Before(u.To))
}
