// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package kubelet

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/gardener/gardener-extension-provider-hybrid/test/kubelets"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/podspec"
)

const (
	restartBackoff = 2 * time.Second
	probePeriod    = time.Second
	probeTimeout   = 2 * time.Second
)

// container is a container that runs as a process, or that this process plays.
type container struct {
	pod     *Pod
	spec    *corev1.Container
	process *landscape.Process
	cancel  context.CancelFunc
	// started is when the process was started last, ended when it was seen to have ended since.
	started, ended time.Time
	restarts       int32
	// probed is when the container was asked last whether it is ready.
	probed  time.Time
	asking  atomic.Bool
	isReady atomic.Bool
}

// runContainer starts a container, or starts it again a while after it ended.
func (k *Kubelet) runContainer(ctx context.Context, p *Pod, spec *corev1.Container, program *Program) error {
	c := p.containers[spec.Name]
	switch {
	case c == nil && program.Serve != nil:
		c = &container{pod: p, spec: spec, started: time.Now()}
		c.isReady.Store(true)
		serving, cancel := context.WithCancel(context.WithoutCancel(ctx))
		c.cancel = cancel
		p.containers[spec.Name] = c
		k.group.Go(func() {
			if err := program.Serve(serving, p); err != nil && serving.Err() == nil {
				k.Log.Info("A container ended", "pod", p.key, "container", c.spec.Name, "reason", err.Error())
			}
		})
		return nil
	case c == nil:
		process, err := k.process(ctx, p, spec, program)
		if err != nil {
			return err
		}
		c = &container{pod: p, spec: spec, process: process}
		p.containers[spec.Name] = c
	case c.process == nil || c.process.Running():
		return nil
	case c.ended.IsZero():
		c.ended = time.Now()
		c.isReady.Store(false)
		return nil
	case time.Since(c.ended) < restartBackoff:
		return nil
	default:
		c.restarts++
	}
	c.started, c.ended = time.Now(), time.Time{}
	return c.process.Start()
}

// process makes the process of a container.
func (k *Kubelet) process(ctx context.Context, p *Pod, spec *corev1.Container, program *Program) (*landscape.Process, error) {
	env, err := k.environment(ctx, p, spec)
	if err != nil {
		return nil, err
	}
	if program.Pull != nil {
		if program.Path, err = program.Pull(ctx, spec.Image); err != nil { // the program is a copy of ours
			return nil, err
		}
	}
	var args []string
	for _, arg := range slices.Concat(spec.Command[min(1, len(spec.Command)):], spec.Args) {
		args = append(args, podspec.Expand(arg, env))
	}
	args = append(args, program.Args...)
	s := &sandbox{authorities: k.Authorities, pod: p, spec: spec, program: program, hosts: k.hostsFile(p.key.Namespace), env: env}
	return &landscape.Process{
		Name: p.key.String() + "/" + spec.Name, Path: s.executable(), Args: args,
		LogFile: filepath.Join(k.Dir, "logs", p.key.Namespace, p.key.Name+"-"+spec.Name+".log"),
		Prepare: func(cmd *exec.Cmd) error { return s.enter(cmd) },
	}, nil
}

func (c *container) stop(ctx context.Context) {
	if c.cancel != nil {
		c.cancel()
	}
	if c.process != nil {
		c.process.Stop(ctx)
	}
}

// state is what the node reports of the container.
func (c *container) state(ctx context.Context) kubelets.ContainerState {
	if c.process != nil && !c.process.Running() {
		return kubelets.ContainerState{Reason: "CrashLoopBackOff", Message: c.process.Tail(1), Restarts: c.restarts}
	}
	probe := c.spec.ReadinessProbe
	if probe == nil || probe.HTTPGet == nil {
		c.isReady.Store(true)
	} else if time.Since(c.probed) > probePeriod && c.asking.CompareAndSwap(false, true) {
		c.probed = time.Now()
		go func() {
			defer c.asking.Store(false)
			c.isReady.Store(c.ask(context.WithoutCancel(ctx), probe.HTTPGet))
		}()
	}
	return kubelets.ContainerState{Started: c.started, Ready: c.isReady.Load(), Restarts: c.restarts}
}

// ask asks the container whether it is ready.
func (c *container) ask(ctx context.Context, get *corev1.HTTPGetAction) bool {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	scheme := "http"
	if get.Scheme == corev1.URISchemeHTTPS {
		scheme = "https"
	}
	url := scheme + "://" + net.JoinHostPort(c.pod.ip, strconv.Itoa(int(portOf(c.spec, get.Port)))) + get.Path
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return false
	}
	for _, header := range get.HTTPHeaders {
		request.Header.Set(header.Name, header.Value)
	}
	transport := &http.Transport{
		DialContext:       c.pod.network.DialContext,
		TLSClientConfig:   &tls.Config{InsecureSkipVerify: true}, // #nosec G402 -- as kubelets do
		DisableKeepAlives: true,
	}
	response, err := (&http.Client{Transport: transport}).Do(request)
	if err != nil {
		return false
	}
	return response.Body.Close() == nil && response.StatusCode >= http.StatusOK && response.StatusCode < http.StatusBadRequest
}

// portOf is the number of a port of the container, which may be given by its name.
func portOf(spec *corev1.Container, port intstr.IntOrString) int32 {
	for _, declared := range spec.Ports {
		if port.Type == intstr.String && declared.Name == port.StrVal {
			return declared.ContainerPort
		}
	}
	return port.IntVal
}
