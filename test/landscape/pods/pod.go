// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package pods

import (
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/test/kubelets"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape"
)

// pod is a pod of the node.
type pod struct {
	// object is the pod, nil if it is gone.
	object *corev1.Pod
	// deployment and revision say what it was made for, empty and 0 if not for a Deployment.
	deployment string
	revision   int
	// holds says that the processes are those of this pod.
	holds bool
	dir   string
	seen  time.Time

	volumes    map[string]*folder
	ports      map[int32]int
	containers map[string]*container
}

// eligible says whether the pod may have the processes of its Deployment.
func (p *pod) eligible() bool {
	return p.object != nil && p.object.DeletionTimestamp == nil && p.deployment != ""
}

// before says whether the pod is preferred to another of its Deployment.
func (p *pod) before(other *pod) bool {
	switch {
	case p.revision != other.revision:
		return p.revision > other.revision
	case p.holds != other.holds:
		return p.holds
	}
	return p.object.Name < other.object.Name
}

// halt lets the processes of the pod end.
func (p *pod) halt(ctx context.Context, group *sync.WaitGroup) {
	for _, c := range p.containers {
		if !c.stopping && c.process.Running() {
			c.stopping = true
			group.Go(func() { c.process.Stop(ctx) })
		}
	}
}

// halted says that no process of the pod runs.
func (p *pod) halted() bool {
	for _, c := range p.containers {
		if c.process.Running() {
			return false
		}
	}
	return true
}

// syncPod runs the containers of a pod, or removes it when they have ended, and reports on them.
func (n *Node) syncPod(ctx context.Context, p *pod) error {
	if p.object.DeletionTimestamp != nil {
		p.halt(ctx, &n.group)
		if !p.halted() {
			return nil
		}
		return client.IgnoreNotFound(n.Client.Delete(ctx, p.object, client.GracePeriodSeconds(0), client.Preconditions{UID: &p.object.UID}))
	}

	var waiting error
	if p.holds {
		waiting = n.runPod(ctx, p)
	}
	status := kubelets.PodStatus(p.object, func(name string) kubelets.ContainerState {
		if waiting != nil {
			return kubelets.ContainerState{Message: waiting.Error()}
		}
		if c := p.containers[name]; c != nil && p.holds {
			return c.state(ctx, p.ports)
		}
		return kubelets.ContainerState{Started: p.seen, Ready: true}
	})
	if equality.Semantic.DeepEqual(status, p.object.Status) {
		return nil
	}
	before := p.object.DeepCopy()
	p.object.Status = status
	return client.IgnoreNotFound(n.Client.Status().Patch(ctx, p.object, client.StrategicMergeFrom(before)))
}

// errPredecessor means that the processes of an older pod of the Deployment have not ended.
var errPredecessor = errors.New("the processes of an older pod have not ended")

// runPod writes the files of the pod and starts what does not run. An error means that the pod has never run.
func (n *Node) runPod(ctx context.Context, p *pod) error {
	var programs []*Program
	for i := range n.Programs {
		if n.Programs[i].Deployment == p.deployment {
			programs = append(programs, &n.Programs[i])
		}
	}
	if len(programs) == 0 {
		return nil
	}
	if err := n.writeVolumes(ctx, p); err != nil {
		if len(p.containers) == 0 {
			return err
		}
		n.Log.Error(err, "The files of a pod are not up to date", "pod", p.object.Name)
	}
	for _, other := range n.pods {
		if other != p && other.deployment == p.deployment && !other.halted() {
			return errPredecessor
		}
	}
	if err := n.choosePorts(p); err != nil {
		return err
	}
	for _, program := range programs {
		i := slices.IndexFunc(p.object.Spec.Containers, func(c corev1.Container) bool { return c.Name == program.Container })
		if i < 0 {
			continue
		}
		if err := n.runContainer(ctx, p, &p.object.Spec.Containers[i], program); err != nil {
			return err
		}
	}
	return nil
}

// writeVolumes brings the files of the pod's volumes up to date.
func (n *Node) writeVolumes(ctx context.Context, p *pod) error {
	if p.volumes == nil {
		p.volumes = map[string]*folder{}
		for _, volume := range p.object.Spec.Volumes {
			f := &folder{path: filepath.Join(p.dir, volume.Name)}
			if err := os.MkdirAll(f.path, 0o700); err != nil {
				return err
			}
			p.volumes[volume.Name] = f
		}
	}
	var all []mount
	for i := range p.object.Spec.Containers {
		all = append(all, p.mounts(&p.object.Spec.Containers[i])...)
	}
	for _, volume := range p.object.Spec.Volumes {
		files, err := n.volumeFiles(ctx, volume.VolumeSource)
		if err != nil {
			return err
		}
		if files == nil {
			continue
		}
		for name, content := range files {
			if utf8.Valid(content) {
				files[name] = []byte(rewritePaths(string(content), all))
			}
		}
		if err := p.volumes[volume.Name].write(files); err != nil {
			return err
		}
	}
	return nil
}

// mounts are the paths at which a container sees volumes.
func (p *pod) mounts(c *corev1.Container) []mount {
	var mounts []mount
	for _, m := range c.VolumeMounts {
		if f := p.volumes[m.Name]; f != nil {
			mounts = append(mounts, mount{path: filepath.Clean(m.MountPath), folder: filepath.Join(f.path, m.SubPath)})
		}
	}
	return mounts
}

// choosePorts finds a free port for each one that a container declares.
func (n *Node) choosePorts(p *pod) error {
	if p.ports != nil {
		return nil
	}
	declared := map[int32]int{}
	for _, c := range p.object.Spec.Containers {
		for _, port := range c.Ports {
			declared[port.ContainerPort] = 0
		}
	}
	free, err := landscape.FreePorts(len(declared))
	if err != nil {
		return err
	}
	for i, port := range slices.Sorted(maps.Keys(declared)) {
		declared[port] = free[i]
	}
	n.mutex.Lock()
	defer n.mutex.Unlock()
	p.ports = declared
	return nil
}
