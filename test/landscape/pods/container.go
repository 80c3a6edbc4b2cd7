// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package pods

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/gardener/gardener-extension-provider-hybrid/test/kubelets"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/podspec"
)

const probeTimeout = time.Second

// container is a container that runs as a process.
type container struct {
	spec    *corev1.Container
	process *landscape.Process
	// started is when the process was started last, ended when it was seen to have ended since.
	started, ended time.Time
	restarts       int32
	stopping       bool
}

// runContainer starts the process of a container, or starts it again a while after it ended.
func (n *Node) runContainer(ctx context.Context, p *pod, spec *corev1.Container, program *Program) error {
	c := p.containers[spec.Name]
	switch {
	case c == nil:
		process, err := n.process(ctx, p, spec, program)
		if err != nil {
			return err
		}
		c = &container{spec: spec, process: process}
		n.mutex.Lock()
		p.containers[spec.Name] = c
		n.mutex.Unlock()
	case c.process.Running():
		return nil
	case c.ended.IsZero():
		c.ended = time.Now()
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
func (n *Node) process(ctx context.Context, p *pod, spec *corev1.Container, program *Program) (*landscape.Process, error) {
	variables := map[string]string{}
	if err := n.source().Environment(ctx, spec, func(path string) (string, error) { return field(p.object, path) }, variables); err != nil {
		return nil, err
	}
	mounts := p.mounts(spec)
	local := func(text string) string { return rewritePort(rewritePaths(text, mounts), p.ports) }
	var args, env []string
	for _, arg := range slices.Concat(spec.Command[min(1, len(spec.Command)):], spec.Args) {
		args = append(args, local(podspec.Expand(arg, variables)))
	}
	for name, value := range variables {
		env = append(env, name+"="+local(value))
	}
	name := program.Deployment + "-" + program.Container
	return &landscape.Process{
		Name: name, Path: program.Path, Args: append(args, program.Args...), Env: append(env, program.Env...),
		LogFile: filepath.Join(n.Dir, "logs", name+".log"),
	}, nil
}

// state is what the node reports of the container.
func (c *container) state(ctx context.Context, ports map[int32]int) kubelets.ContainerState {
	if !c.process.Running() {
		return kubelets.ContainerState{Reason: "CrashLoopBackOff", Message: c.process.Tail(1), Restarts: c.restarts}
	}
	return kubelets.ContainerState{Started: c.started, Ready: c.ready(ctx, ports), Restarts: c.restarts}
}

// ready asks the container whether it is ready, if it is to be asked over HTTP.
func (c *container) ready(ctx context.Context, ports map[int32]int) bool {
	probe := c.spec.ReadinessProbe
	if probe == nil || probe.HTTPGet == nil {
		return true
	}
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	scheme := "http"
	if probe.HTTPGet.Scheme == corev1.URISchemeHTTPS {
		scheme = "https"
	}
	url := scheme + "://" + net.JoinHostPort(loopbackIP, strconv.Itoa(c.probePort(probe.HTTPGet.Port, ports))) + probe.HTTPGet.Path
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return false
	}
	transport := &http.Transport{
		TLSClientConfig:   &tls.Config{InsecureSkipVerify: true}, // #nosec G402 -- as kubelets do
		DisableKeepAlives: true,
	}
	response, err := (&http.Client{Transport: transport}).Do(request)
	if err != nil {
		return false
	}
	return response.Body.Close() == nil && response.StatusCode >= http.StatusOK && response.StatusCode < http.StatusBadRequest
}

// probePort is the port on loopback that stands for one of a probe, which may be the name of a declared one.
func (c *container) probePort(port intstr.IntOrString, ports map[int32]int) int {
	number := port.IntVal
	for _, declared := range c.spec.Ports {
		if port.Type == intstr.String && declared.Name == port.StrVal {
			number = declared.ContainerPort
		}
	}
	if local, ok := ports[number]; ok {
		return local
	}
	return int(number)
}
