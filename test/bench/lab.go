// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"time"

	"github.com/go-logr/logr"

	"github.com/gardener/gardener-extension-provider-hybrid/test/kubelets"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape"
)

// lab is a seed whose controllers are processes. Which of them run is for its user to say.
type lab struct {
	*landscape.Landscape

	namespace string
	dir       string
	stops     []func()
}

// newLab builds what is missing and starts etcd and kube-apiserver.
func newLab(ctx context.Context, progress io.Writer, namespace string) (l *lab, err error) {
	fmt.Fprintln(progress, "  start a seed")
	dir, err := os.MkdirTemp("", "bench-")
	if err != nil {
		return nil, err
	}
	l = &lab{namespace: namespace, dir: dir}
	defer func() {
		if err != nil {
			l.close()
		}
	}()
	for _, command := range [][]string{
		{filepath.Join("hack", "landscape", "build.sh")},
		{"go", "build", "-o", dir + string(filepath.Separator), "./cmd/..."},
	} {
		cmd := exec.CommandContext(ctx, command[0], command[1:]...) // #nosec G204 -- constant commands
		cmd.Dir = landscape.Root()
		cmd.Stdout, cmd.Stderr = progress, progress
		if err := cmd.Run(); err != nil {
			return nil, fmt.Errorf("%s: %w", command[0], err)
		}
	}
	binaries := landscape.DefaultBinaries()
	binaries.Driver = filepath.Join(dir, filepath.Base(binaries.Driver))
	binaries.Extension = filepath.Join(dir, filepath.Base(binaries.Extension))
	if err := binaries.Check(); err != nil {
		return nil, err
	}
	if l.Landscape, err = landscape.New(landscape.Options{Dir: dir, Namespace: namespace, Binaries: binaries}); err != nil {
		return nil, err
	}
	return l, l.StartCluster(ctx)
}

// background runs something until the lab is closed.
func (l *lab) background(run func(context.Context)) {
	ctx, cancel := context.WithCancel(context.Background())
	var group sync.WaitGroup
	group.Go(func() { run(ctx) })
	l.stops = append(l.stops, func() {
		cancel()
		group.Wait()
	})
}

// playKubelets registers nodes for active servers, which are looked at so often.
func (l *lab) playKubelets(servers kubelets.ActiveServers, period time.Duration) {
	nodes := &kubelets.Kubelets{
		Seed: l.Client, Shoot: l.Client, Namespace: l.namespace, Servers: servers, Period: period, Heartbeat: heartbeat, Log: logr.Discard(),
	}
	l.background(nodes.Run)
}

func (l *lab) close() {
	for _, stop := range l.stops {
		stop()
	}
	if l.Landscape != nil {
		l.Stop()
	}
	_ = os.RemoveAll(l.dir)
}
