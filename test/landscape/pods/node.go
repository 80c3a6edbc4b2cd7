// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package pods

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/go-logr/logr"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape"
)

const (
	// Name is the name of the node. There is no Node: it would be one of the shoot, which is the same cluster.
	Name = "seed"

	loopbackIP     = "127.0.0.1"
	defaultPeriod  = 500 * time.Millisecond
	restartBackoff = time.Second
)

// Program is what runs as a container of a Deployment's pods.
type Program struct {
	// Deployment is the name of the Deployment.
	Deployment string
	// Container is the name of the container.
	Container string
	// Path is the executable. It gets the arguments of the container, without the first word of its command.
	Path string
	// Args are further arguments after those of the container.
	Args []string
	// Env are further environment variables.
	Env []string
}

// Node plays the node. If a Deployment has several pods, one of the latest revision has the processes.
type Node struct {
	// Client accesses the seed.
	Client client.Client
	// Namespace is the namespace whose pods run on the node. All that are created after Start do.
	Namespace string
	// Dir is the folder for the files of pods and for logs. Sockets are below it, so that its path must be shorter than 60 characters.
	Dir string
	// Programs are what runs as a process.
	Programs []Program
	// Period is the time between two looks at the pods, their Secrets and ConfigMaps. Default: 500ms.
	Period time.Duration
	// Log receives what is not possible.
	Log logr.Logger

	cancel context.CancelFunc
	group  sync.WaitGroup
	count  int
	// mutex guards pods, and what others than run read of them.
	mutex sync.Mutex
	pods  map[types.UID]*pod
}

// Start binds the pods of the namespace to the node, and plays it until Stop.
func (n *Node) Start(ctx context.Context) error {
	if err := n.bindAll(ctx); err != nil {
		return err
	}
	ctx, n.cancel = context.WithCancel(context.WithoutCancel(ctx))
	n.group.Go(func() { n.run(ctx) })
	return nil
}

// Stop ends all processes and removes the files of pods. It leaves the logs.
func (n *Node) Stop() {
	if n.cancel == nil {
		return
	}
	n.cancel()
	n.group.Wait()
	var stopping sync.WaitGroup
	for _, p := range n.pods {
		for _, c := range p.containers {
			stopping.Go(func() { c.process.Stop(context.Background()) })
		}
	}
	stopping.Wait()
	for _, p := range n.pods {
		n.removeAll(p.dir)
	}
}

// Process returns the process of a container, nil if there is none now.
func (n *Node) Process(deployment, name string) *landscape.Process {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	if p := n.holder(deployment); p != nil && p.containers[name] != nil {
		return p.containers[name].process
	}
	return nil
}

// Port returns the port on loopback that stands for one that a container of the Deployment declares, 0 if there is none now.
func (n *Node) Port(deployment string, declared int32) int {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	if p := n.holder(deployment); p != nil {
		return p.ports[declared]
	}
	return 0
}

// holder is the pod of a Deployment that has the processes. The mutex must be locked.
func (n *Node) holder(deployment string) *pod {
	for _, p := range n.pods {
		if p.deployment == deployment && p.holds {
			return p
		}
	}
	return nil
}

func (n *Node) run(ctx context.Context) {
	period := n.Period
	if period == 0 {
		period = defaultPeriod
	}
	ticker := time.NewTicker(period)
	defer ticker.Stop()
	for {
		if err := n.sync(ctx); err != nil && ctx.Err() == nil {
			n.Log.Error(err, "Not all pods of the seed are up to date")
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// sync looks once at the pods of the node.
func (n *Node) sync(ctx context.Context) error {
	list := &corev1.PodList{}
	if err := n.Client.List(ctx, list, client.InNamespace(n.Namespace)); err != nil {
		return fmt.Errorf("list pods: %w", err)
	}
	revisions, err := n.revisions(ctx)
	if err != nil {
		return err
	}
	if err := n.track(list.Items, revisions); err != nil {
		return err
	}

	// What has to end is ended first: the processes of an older pod may hold what those of the newer one need.
	var errs []error
	for _, p := range n.pods {
		if !p.holds {
			p.halt(ctx, &n.group)
		}
		if p.object == nil && p.halted() {
			n.forget(p)
		}
	}
	for _, p := range n.pods {
		if p.object == nil {
			continue
		}
		if err := n.syncPod(ctx, p); err != nil {
			errs = append(errs, fmt.Errorf("pod %s: %w", p.object.Name, err))
		}
	}
	return errors.Join(errs...)
}

// revision is the Deployment and the revision of a ReplicaSet.
type revision struct {
	deployment string
	number     int
}

func (n *Node) revisions(ctx context.Context) (map[string]revision, error) {
	list := &appsv1.ReplicaSetList{}
	if err := n.Client.List(ctx, list, client.InNamespace(n.Namespace)); err != nil {
		return nil, fmt.Errorf("list replica sets: %w", err)
	}
	result := map[string]revision{}
	for _, set := range list.Items {
		number, err := strconv.Atoi(set.Annotations["deployment.kubernetes.io/revision"])
		if err != nil {
			continue // its Deployment's controller has not seen it yet
		}
		for _, owner := range set.OwnerReferences {
			result[set.Name] = revision{deployment: owner.Name, number: number}
		}
	}
	return result, nil
}

// track brings the known pods up to date and chooses those that have the processes.
func (n *Node) track(pods []corev1.Pod, revisions map[string]revision) error {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	if n.pods == nil {
		n.pods = map[types.UID]*pod{}
	}
	for _, p := range n.pods {
		p.object = nil
	}
	for i := range pods {
		object := &pods[i]
		if object.Spec.NodeName != Name {
			continue
		}
		p := n.pods[object.UID]
		if p == nil {
			n.count++
			p = &pod{dir: filepath.Join(n.Dir, "pod"+strconv.Itoa(n.count)), seen: time.Now(), containers: map[string]*container{}}
			if err := os.MkdirAll(p.dir, 0o700); err != nil {
				return err
			}
			n.pods[object.UID] = p
		}
		p.object = object
		for _, owner := range object.OwnerReferences {
			if r, ok := revisions[owner.Name]; ok {
				p.deployment, p.revision = r.deployment, r.number
			}
		}
	}

	best := map[string]*pod{}
	for _, p := range n.pods {
		if b := best[p.deployment]; p.eligible() && (b == nil || p.before(b)) {
			best[p.deployment] = p
		}
	}
	for _, p := range n.pods {
		p.holds = p.eligible() && best[p.deployment] == p
	}
	return nil
}

// forget drops a pod that is gone.
func (n *Node) forget(p *pod) {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	for uid, known := range n.pods {
		if known == p {
			delete(n.pods, uid)
		}
	}
	n.removeAll(p.dir)
}
