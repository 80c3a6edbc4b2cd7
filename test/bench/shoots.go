// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	v1beta1constants "github.com/gardener/gardener/pkg/apis/core/v1beta1/constants"
	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/test/openstackstub"
)

const (
	shootCount      = 250
	credentialCount = 5
	// writers write to kube-apiserver at the same time.
	writers       = 10
	shootsTimeout = 4 * time.Minute
	shootsPeriod  = time.Second
)

// setupArgs make the extension quick while it makes what is measured later.
var setupArgs = []string{"--infrastructure-max-concurrent-reconciles=25", "--worker-max-concurrent-reconciles=50"}

// measureManyShoots restarts the extension when all shoots are to be reconciled and none of them has anything to do.
func measureManyShoots(ctx context.Context, b *Bed) (m Measurement, err error) {
	s, err := newStubCloud(stubShoot, openstackstub.Settings{})
	if err != nil {
		return m, err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	l, err := newLab(ctx, b.progress, s.shoot)
	if err != nil {
		return m, err
	}
	defer l.close()
	seed := &seed{lab: l, progress: b.progress}
	l.background(func(ctx context.Context) {
		if err := playMCM(ctx, l.Client); err != nil {
			fmt.Fprintln(b.progress, err)
		}
	})
	if err := seed.setUp(ctx, s); err != nil {
		return m, err
	}

	start := time.Now()
	m.Records, err = s.record(ctx, "restart", func(ctx context.Context) error {
		if err := l.Extension.Start(); err != nil {
			return err
		}
		return seed.waitSucceeded(ctx, start, &extensionsv1alpha1.InfrastructureList{}, &extensionsv1alpha1.WorkerList{})
	})
	if err != nil {
		return m, err
	}
	writes := slices.DeleteFunc(slices.Clone(m.Records), func(r Record) bool { return r.Kind != "write" })
	if len(writes) > 0 {
		return m, fmt.Errorf("reconciliations with nothing to do made %d writes, the first is %s %s", len(writes), writes[0].Method,
			writes[0].Path)
	}
	m.Note = fmt.Sprintf("%s, machine-controller-manager is played; real extension and kube-apiserver; %d Infrastructures and Workers of "+
		"%d credentials in %.0f s with %d requests",
		stubNote, shootCount, credentialCount, time.Since(start).Seconds(), len(m.Records))
	return m, m.addMemory(l.Extension)
}

// seed has many shoots.
type seed struct {
	*lab

	progress io.Writer
}

// setUp makes all shoots and stops the extension when they are to be reconciled again.
func (s *seed) setUp(ctx context.Context, cloud *stubCloud) error {
	fmt.Fprintf(s.progress, "  create %d shoots\n", shootCount)
	args := s.Extension.Args
	s.Extension.Args = slices.Concat(args, setupArgs)
	start := time.Now()
	if err := s.Extension.Start(); err != nil {
		return err
	}
	shoots := make([]shoot, shootCount)
	for i := range shoots {
		credentials := stubCredentials(cloud.stub, i%credentialCount)
		shoots[i] = shoot{namespace: fmt.Sprintf("shoot--bench--%d", i), authURL: cloud.proxy.Rewrite(credentials.AuthURL),
			credentials: credentials}
	}
	if err := each(ctx, shoots, s.createInfrastructure); err != nil {
		return err
	}
	if err := s.waitSucceeded(ctx, start, &extensionsv1alpha1.InfrastructureList{}); err != nil {
		return err
	}
	if err := each(ctx, shoots, s.createWorker); err != nil {
		return err
	}
	if err := s.waitSucceeded(ctx, start, &extensionsv1alpha1.WorkerList{}); err != nil {
		return err
	}
	s.Extension.Stop(ctx)
	s.Extension.Args = args
	for _, list := range []client.ObjectList{&extensionsv1alpha1.InfrastructureList{}, &extensionsv1alpha1.WorkerList{}} {
		if err := s.ask(ctx, list); err != nil {
			return err
		}
	}
	return nil
}

func (s *seed) createInfrastructure(ctx context.Context, shoot shoot) error {
	objects, err := shoot.objects()
	if err != nil {
		return err
	}
	for _, object := range objects {
		if err := s.Client.Create(ctx, object); err != nil {
			return err
		}
	}
	return nil
}

func (s *seed) createWorker(ctx context.Context, shoot shoot) error {
	infrastructure := &extensionsv1alpha1.Infrastructure{}
	if err := s.Client.Get(ctx, client.ObjectKey{Namespace: shoot.namespace, Name: "hybrid"}, infrastructure); err != nil {
		return err
	}
	worker, err := shoot.worker(infrastructure.Status.ProviderStatus)
	if err != nil {
		return err
	}
	return s.Client.Create(ctx, worker)
}

// ask lets all objects be reconciled.
func (s *seed) ask(ctx context.Context, list client.ObjectList) error {
	objects, err := s.list(ctx, list)
	if err != nil {
		return err
	}
	patch := client.RawPatch("application/merge-patch+json",
		fmt.Appendf(nil, `{"metadata":{"annotations":{%q:%q}}}`, v1beta1constants.GardenerOperation, v1beta1constants.GardenerOperationReconcile))
	return each(ctx, objects, func(ctx context.Context, object extensionsv1alpha1.Object) error {
		return s.Client.Patch(ctx, object, patch)
	})
}

// waitSucceeded waits until all objects were reconciled successfully since a time.
func (s *seed) waitSucceeded(ctx context.Context, since time.Time, lists ...client.ObjectList) error {
	last, said := "", time.Now()
	err := wait.PollUntilContextTimeout(ctx, shootsPeriod, shootsTimeout, true, func(ctx context.Context) (bool, error) {
		if err := s.Check(); err != nil {
			return false, err
		}
		done, wanted := 0, shootCount*len(lists)
		for _, list := range lists {
			objects, err := s.list(ctx, list)
			if err != nil {
				return false, err
			}
			for _, object := range objects {
				if succeeded(object, since) {
					done++
				} else if failure := object.GetExtensionStatus().GetLastError(); failure != nil {
					last = failure.Description
				}
			}
		}
		if time.Since(said) > 15*time.Second {
			fmt.Fprintf(s.progress, "  %d of %d reconciled %s\n", done, wanted, last)
			said = time.Now()
		}
		return done == wanted, nil
	})
	if err != nil {
		return fmt.Errorf("not all shoots are reconciled: %w; last error: %s", err, last)
	}
	return nil
}

func succeeded(object extensionsv1alpha1.Object, since time.Time) bool {
	operation := object.GetExtensionStatus().GetLastOperation()
	_, asked := object.GetAnnotations()[v1beta1constants.GardenerOperation]
	return !asked && operation != nil && operation.State == gardencorev1beta1.LastOperationStateSucceeded &&
		!operation.LastUpdateTime.Time.Before(since.Truncate(time.Second))
}

func (s *seed) list(ctx context.Context, list client.ObjectList) ([]extensionsv1alpha1.Object, error) {
	if err := s.Client.List(ctx, list); err != nil {
		return nil, err
	}
	var objects []extensionsv1alpha1.Object
	err := meta.EachListItem(list, func(item runtime.Object) error {
		object, ok := item.(extensionsv1alpha1.Object)
		if !ok {
			return fmt.Errorf("%T is no object of an extension", item)
		}
		objects = append(objects, object)
		return nil
	})
	return objects, err
}

// each does something with all items, several at the same time.
func each[T any](ctx context.Context, items []T, do func(context.Context, T) error) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(writers)
	for _, item := range items {
		group.Go(func() error { return do(ctx, item) })
	}
	return group.Wait()
}
