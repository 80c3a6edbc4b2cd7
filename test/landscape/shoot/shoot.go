// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package shoot

import (
	"context"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"sync"

	"github.com/go-logr/logr"

	"github.com/gardener/gardener-extension-provider-hybrid/test/kubelets"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/openstack"
)

// Sites are the names of the sites in example/, in the order of openstack.Projects.
var Sites = [2]string{"cloud", "cloud2"}

// Options say what a shoot is.
type Options struct {
	// Name is the technical ID of the shoot and its namespace in the seed.
	Name string
	// Dir is the folder for binaries, data, keys, the kubeconfig and logs.
	Dir string
	// DriverArgs are further arguments of the driver.
	DriverArgs []string
	// Progress receives lines about the progress.
	Progress io.Writer
}

// Shoot is a shoot with the processes that work on it.
type Shoot struct {
	// Name is the technical ID of the shoot and its namespace in the seed.
	Name string
	// Bed is its OpenStack.
	Bed *openstack.Bed
	// Seed has the processes.
	Seed *landscape.Landscape

	inspectors [2]*openstack.Client
	bedStarted bool
	stopNodes  func()
}

// Start builds our binaries, starts OpenStack if it does not run, and all processes. The kubelets are played. Stop ends what
// was started, also after an error.
func Start(ctx context.Context, o Options) (*Shoot, error) {
	s := &Shoot{Name: o.Name}
	binaries, err := build(ctx, o)
	if err != nil {
		return s, err
	}
	if err := s.startOpenStack(ctx, o.Progress); err != nil {
		return s, err
	}
	s.Seed, err = landscape.New(landscape.Options{Dir: o.Dir, Namespace: o.Name, Binaries: binaries, DriverArgs: o.DriverArgs})
	if err != nil {
		return s, err
	}
	if err := s.Seed.StartCluster(ctx); err != nil {
		return s, err
	}
	if err := s.Seed.StartControllers(); err != nil {
		return s, err
	}
	s.playKubelets()
	return s, nil
}

// build builds our binaries into a folder of their own, so that a build of somebody else does not change them meanwhile.
func build(ctx context.Context, o Options) (landscape.Binaries, error) {
	bin := filepath.Join(o.Dir, "bin")
	cmd := exec.CommandContext(ctx, "go", "build", "-o", bin+string(filepath.Separator), "./cmd/...") // #nosec G204 -- the landscape's own folder
	cmd.Dir = landscape.Root()
	cmd.Stdout, cmd.Stderr = o.Progress, o.Progress
	if err := cmd.Run(); err != nil {
		return landscape.Binaries{}, fmt.Errorf("build: %w", err)
	}
	binaries := landscape.DefaultBinaries()
	binaries.Driver = filepath.Join(bin, filepath.Base(binaries.Driver))
	binaries.Extension = filepath.Join(bin, filepath.Base(binaries.Extension))
	return binaries, binaries.Check()
}

func (s *Shoot) startOpenStack(ctx context.Context, progress io.Writer) (err error) {
	if s.Bed, err = openstack.NewBed(); err != nil {
		return err
	}
	if s.bedStarted, err = s.Bed.Start(ctx, progress); err != nil {
		return err
	}
	for i, project := range openstack.Projects {
		credentials, err := s.Bed.Credentials(project)
		if err != nil {
			return err
		}
		if s.inspectors[i], err = openstack.NewClient(ctx, credentials); err != nil {
			return err
		}
	}
	return nil
}

// playKubelets lets a node join as soon as its server is active in OpenStack.
func (s *Shoot) playKubelets() {
	ctx, cancel := context.WithCancel(context.Background())
	nodes := &kubelets.Kubelets{
		Seed: s.Seed.Client, Shoot: s.Seed.Client, Namespace: s.Name,
		Servers: openstack.NewWatch(s.Name, s.inspectors[:]...).Active, Log: logr.Discard(),
	}
	var group sync.WaitGroup
	group.Go(func() { nodes.Run(ctx) })
	s.stopNodes = func() {
		cancel()
		group.Wait()
	}
}

// Stop ends what Start started.
func (s *Shoot) Stop(ctx context.Context, progress io.Writer) error {
	if s.stopNodes != nil {
		s.stopNodes()
	}
	if s.Seed != nil {
		s.Seed.Stop()
	}
	if !s.bedStarted {
		return nil
	}
	return s.Bed.Stop(ctx, progress)
}

// Objects are all objects of the shoot in both projects.
func (s *Shoot) Objects(ctx context.Context) ([]openstack.Object, error) {
	var all []openstack.Object
	for _, inspector := range s.inspectors {
		objects, err := inspector.Objects(ctx, s.Name)
		if err != nil {
			return nil, err
		}
		all = append(all, objects...)
	}
	return all, nil
}
