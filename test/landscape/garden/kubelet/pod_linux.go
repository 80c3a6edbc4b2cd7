// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package kubelet

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/test/kubelets"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/garden/netns"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/relay"
)

const refreshPeriod = 3 * time.Second

// Pod is a pod of the node.
type Pod struct {
	uid types.UID
	key client.ObjectKey
	// object is the pod, nil if it is gone.
	object *corev1.Pod
	dir    string
	number int
	// real says that containers of the pod run as processes.
	real bool
	// ip is the address of the pod.
	ip   string
	seen time.Time

	network    *netns.Namespace
	outside    []*relay.Relay
	volumes    map[string]*volume
	refreshed  time.Time
	containers map[string]*container
	// leaving says that the processes are asked to end, left that they have ended.
	leaving, left bool
	mutex         sync.Mutex
}

func (k *Kubelet) newPod(object *corev1.Pod) *Pod {
	k.count++
	p := &Pod{
		uid: object.UID, key: client.ObjectKeyFromObject(object), number: k.count, seen: time.Now(),
		dir: filepath.Join(k.Dir, object.Namespace, fmt.Sprintf("%s-%d", object.Name, k.count)), containers: map[string]*container{},
	}
	prefix := k.Networks.Played
	for _, containers := range [][]corev1.Container{object.Spec.InitContainers, object.Spec.Containers} {
		for i := range containers {
			if k.program(object.Name, &containers[i]) != nil {
				p.real, prefix = true, k.Networks.Real
			}
		}
	}
	p.ip = fmt.Sprintf("%s.%d.%d", prefix, 1+k.count/250, 1+k.count%250)
	return p
}

// syncPod binds a pod, runs its containers, or removes it when they have ended, and reports on them.
func (k *Kubelet) syncPod(ctx context.Context, p *Pod) error {
	switch {
	case p.object == nil:
		if k.leave(ctx, p) {
			k.forget(p)
		}
		return nil
	case p.object.DeletionTimestamp != nil:
		if !k.leave(ctx, p) {
			return nil
		}
		return client.IgnoreNotFound(k.Client.Delete(ctx, p.object, client.GracePeriodSeconds(0), client.Preconditions{UID: &p.uid}))
	case p.object.Spec.NodeName == "":
		return k.bind(ctx, p.object)
	}

	var waiting error
	if p.real {
		waiting = k.runPod(ctx, p)
	}
	status := kubelets.PodStatus(p.object, func(name string) kubelets.ContainerState {
		if waiting != nil {
			return kubelets.ContainerState{Message: waiting.Error()}
		}
		if c := p.containers[name]; c != nil {
			return c.state(ctx)
		}
		return kubelets.ContainerState{Started: p.seen, Ready: true}
	})
	status.HostIP, status.HostIPs = k.Networks.Node, []corev1.HostIP{{IP: k.Networks.Node}}
	status.PodIP, status.PodIPs = p.ip, []corev1.PodIP{{IP: p.ip}}
	if equality.Semantic.DeepEqual(status, p.object.Status) {
		return nil
	}
	// Services look at the pod meanwhile, and a client decodes the answer into what it was given.
	reported := p.object.DeepCopy()
	reported.Status = status
	if err := k.Client.Status().Patch(ctx, reported, client.StrategicMergeFrom(p.object)); err != nil {
		return client.IgnoreNotFound(err)
	}
	k.mutex.Lock()
	defer k.mutex.Unlock()
	p.object = reported
	return nil
}

func (k *Kubelet) bind(ctx context.Context, pod *corev1.Pod) error {
	if len(pod.Spec.SchedulingGates) > 0 {
		return nil
	}
	binding := &corev1.Binding{
		ObjectMeta: metav1.ObjectMeta{Name: pod.Name, Namespace: pod.Namespace},
		Target:     corev1.ObjectReference{Kind: "Node", Name: Name},
	}
	// The cache may not have seen yet that it is bound.
	return ignoreConflict(client.IgnoreNotFound(k.Client.SubResource("binding").Create(ctx, pod, binding)))
}

// leave lets the processes of a pod end and returns whether they have.
func (k *Kubelet) leave(ctx context.Context, p *Pod) bool {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if !p.leaving {
		p.leaving = true
		k.group.Go(func() { p.stop(ctx) })
	}
	return p.left
}

// stop ends the processes of the pod.
func (p *Pod) stop(ctx context.Context) {
	var stopping sync.WaitGroup
	for _, c := range p.containers {
		stopping.Go(func() { c.stop(ctx) })
	}
	stopping.Wait()
	for _, r := range p.outside {
		_ = r.Close()
	}
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.left = true
}

// remove removes the files and the network of a pod whose processes have ended.
func (p *Pod) remove() {
	if p.network != nil {
		_ = p.network.Close()
	}
	_ = os.RemoveAll(p.dir)
}

// errNoNames means that the hosts file of a namespace is not written yet.
var errNoNames = errors.New("the names of Services are not known yet")

// runPod prepares the pod and starts what does not run. An error means that the pod has never run.
func (k *Kubelet) runPod(ctx context.Context, p *Pod) error {
	if _, known := k.hosts[k.hostsFile(p.key.Namespace)]; !known {
		return errNoNames
	}
	if time.Since(p.refreshed) > refreshPeriod {
		if err := k.writeVolumes(ctx, p); err != nil {
			if len(p.containers) == 0 {
				return err
			}
			k.Log.Info("The files of a pod are not up to date", "pod", p.key, "reason", err.Error())
		}
		p.refreshed = time.Now()
	}
	if p.network == nil {
		if err := k.connect(p); err != nil {
			return err
		}
	}
	if err := k.initialise(ctx, p); err != nil {
		return err
	}
	for i := range p.object.Spec.Containers {
		spec := &p.object.Spec.Containers[i]
		if program := k.program(p.key.Name, spec); program != nil {
			if err := k.runContainer(ctx, p, spec, program); err != nil {
				return fmt.Errorf("container %s: %w", spec.Name, err)
			}
		}
	}
	return nil
}

// initialise runs the init containers one after the other, each again until it succeeds. An error means that they have not all succeeded.
func (k *Kubelet) initialise(ctx context.Context, p *Pod) error {
	for i := range p.object.Spec.InitContainers {
		spec := &p.object.Spec.InitContainers[i]
		program := k.program(p.key.Name, spec)
		if c := p.containers[spec.Name]; program == nil || c != nil && c.process.Succeeded() {
			continue
		}
		if err := k.runContainer(ctx, p, spec, program); err != nil {
			return fmt.Errorf("init container %s: %w", spec.Name, err)
		}
		return fmt.Errorf("init container %s has not succeeded yet: %s", spec.Name, p.containers[spec.Name].process.Tail(1))
	}
	return nil
}

// connect gives the pod its network.
func (k *Kubelet) connect(p *Pod) error {
	network, err := netns.New()
	if err != nil {
		return err
	}
	err = errors.Join(
		k.Network.Connect(network, fmt.Sprintf("%s%d", k.Networks.Bridge, p.number), "eth0", k.Networks.Bridge),
		network.IP("addr add "+p.ip+"/16 dev eth0", "link set eth0 up", "route add default via "+k.Networks.Real+".0.1"),
	)
	if err == nil {
		p.outside, err = relays(network, k.Outside)
	}
	if err != nil {
		return errors.Join(err, network.Close())
	}
	p.network = network
	return nil
}
