// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package kubelet

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/garden/netns"
)

const (
	// Name is the name of the node.
	Name = "node"
	// ProgramFolder is the folder of the executable for its process.
	ProgramFolder = "/program"

	period = 300 * time.Millisecond
)

// Program is what runs for containers of an image.
type Program struct {
	// Path is the executable.
	Path string
	// Pull returns the path of the executable of an image, if there is no Path. It is called for each container.
	Pull func(ctx context.Context, image string) (string, error)
	// Args are further arguments, which follow those of the container.
	Args []string
	// Files are further files of this machine. They are beside the executable, whose folder is ProgramFolder.
	Files []string
	// Pods is what the names of pods begin with in which it runs; in others the container is only reported to run.
	Pods string
	// Serve plays the container in this process if there is no executable.
	Serve func(ctx context.Context, pod *Pod) error
}

// Kubelet plays the node.
type Kubelet struct {
	// Client accesses the cluster. It reads from a cache.
	Client client.Client
	// Network is the namespace of the node. The bridge is in it, and the addresses of Services are its own.
	Network *netns.Namespace
	// Dir is the folder for the files of pods, for hosts files and for logs. There is nothing in it but what MakeHostsFile made.
	Dir string
	// Programs are what runs as a process, by the last part of the image's name, without the tag.
	Programs map[string]Program
	// APIServer is the address of kube-apiserver, host and port.
	APIServer string
	// Outside are addresses on this machine's loopback interface that pods reach under the same address.
	Outside []string
	// Networks are the address ranges of the node.
	Networks Networks
	// Authorities are further certificate authorities of the system, in PEM, which the images of containers have. It may be empty.
	Authorities string
	// Names are further host names and their addresses. It may be nil.
	Names func(context.Context) (map[string]string, error)
	// Log receives what is not possible.
	Log logr.Logger

	cancel context.CancelFunc
	loop   sync.WaitGroup
	group  sync.WaitGroup
	beat   time.Time

	mutex     sync.Mutex
	pods      map[types.UID]*Pod
	count     int
	listeners map[string]*forwarder
	hosts     map[string]string
}

// Networks are the first two bytes of addresses, such as 10.242.
type Networks struct {
	// Bridge is the interface that pods are connected with, and the prefix of theirs.
	Bridge string
	// Real is for pods with processes, Played for all others.
	Real, Played string
	// Node is the address of the node.
	Node string
}

// Start prepares the network and plays the node until Stop.
func (k *Kubelet) Start(ctx context.Context) error {
	k.pods, k.listeners, k.hosts = map[types.UID]*Pod{}, map[string]*forwarder{}, map[string]string{}
	if err := MakeHostsFile(k.Dir); err != nil {
		return err
	}
	// A bridge without an address of its own takes that of one of its interfaces and so a new one with each pod.
	if err := k.Network.IP(
		"link add "+k.Networks.Bridge+" address 02:00:0a:f2:00:01 type bridge",
		"addr add "+k.Networks.Real+".0.1/16 dev "+k.Networks.Bridge,
		"link set "+k.Networks.Bridge+" up",
	); err != nil {
		return err
	}
	ctx, k.cancel = context.WithCancel(context.WithoutCancel(ctx))
	k.loop.Go(func() { k.run(ctx) })
	return nil
}

// Stop ends all processes and removes the files of pods. It leaves the logs.
func (k *Kubelet) Stop() {
	if k.cancel == nil {
		return
	}
	k.cancel()
	k.loop.Wait()
	for _, p := range k.pods {
		k.group.Go(func() { p.stop(context.Background()) })
	}
	k.group.Wait()
	for _, f := range k.listeners {
		_ = f.Close()
	}
	for _, p := range k.pods {
		p.remove()
	}
}

func (k *Kubelet) run(ctx context.Context) {
	ticker := time.NewTicker(period)
	defer ticker.Stop()
	for {
		for _, part := range []func(context.Context) error{k.syncNode, k.syncServices, k.syncPods} {
			if err := part(ctx); err != nil && ctx.Err() == nil {
				k.Log.Info("The node is not up to date", "reason", err.Error())
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// syncPods looks once at all pods.
func (k *Kubelet) syncPods(ctx context.Context) error {
	list := &corev1.PodList{}
	if err := k.Client.List(ctx, list); err != nil {
		return fmt.Errorf("list pods: %w", err)
	}
	k.track(list.Items)

	var errs []error
	for _, p := range k.snapshot() {
		if err := k.syncPod(ctx, p); err != nil {
			errs = append(errs, fmt.Errorf("pod %s: %w", p.key, err))
		}
	}
	return errors.Join(errs...)
}

// track brings the known pods up to date.
func (k *Kubelet) track(pods []corev1.Pod) {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	for _, p := range k.pods {
		p.object = nil
	}
	for i := range pods {
		object := &pods[i]
		p := k.pods[object.UID]
		if p == nil {
			p = k.newPod(object)
			k.pods[object.UID] = p
		}
		p.object = object
	}
}

func (k *Kubelet) snapshot() []*Pod {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	result := make([]*Pod, 0, len(k.pods))
	for _, p := range k.pods {
		result = append(result, p)
	}
	return result
}

func (k *Kubelet) forget(p *Pod) {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	delete(k.pods, p.uid)
	p.remove()
}

// program returns what runs for a container, nil if that is only reported to run.
func (k *Kubelet) program(pod string, container *corev1.Container) *Program {
	image, _, _ := strings.Cut(container.Image, "@")
	image = image[strings.LastIndex(image, "/")+1:]
	image, _, _ = strings.Cut(image, ":")
	if p, ok := k.Programs[image]; ok && strings.HasPrefix(pod, p.Pods) {
		return &p
	}
	return nil
}
