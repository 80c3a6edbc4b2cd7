// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	securityv1alpha1 "github.com/gardener/gardener/pkg/apis/security/v1alpha1"
	machinev1alpha1 "github.com/gardener/machine-controller-manager/pkg/apis/machine/v1alpha1"
	"golang.org/x/term"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
)

const (
	// settle is how long changes may follow each other before they are shown.
	settle = 200 * time.Millisecond
	// metricsInterval is the interval between two readings of metrics. Sites are probed as often.
	metricsInterval = 30 * time.Second
	// staleness is how long the error of a watch is shown. Watches are retried more often.
	staleness = 90 * time.Second
)

// Sequences of terminals. The alternate screen leaves the earlier content of the terminal as it is, and lines that are too long are cut.
const (
	terminalBegin = "\x1b[?1049h\x1b[?25l\x1b[?7l"
	terminalEnd   = "\x1b[?7h\x1b[?25h\x1b[?1049l"
	terminalHome  = "\x1b[H"
	restOfLine    = "\x1b[K"
	restOfScreen  = "\x1b[J"
)

// follower shows the status of a shoot whenever it changes.
type follower struct {
	*statusOptions

	from    *sources
	changed chan struct{}

	mutex sync.Mutex
	// failure is the last error of a watch, and failedAt its time.
	failure  error
	failedAt time.Time
}

// follow shows the status until the context is done.
func (o *statusOptions) follow(ctx context.Context, from *sources) error {
	if from.garden == nil && from.seed == nil {
		return errors.New("--watch needs the kubeconfig of the garden or of the seed")
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	first, err := o.report(ctx, from)
	if err != nil {
		return err
	}
	f := &follower{statusOptions: o, from: from, changed: make(chan struct{}, 1)}
	if err := f.watch(ctx, first); err != nil {
		return err
	}
	file, onTerminal := o.Out.(*os.File)
	if onTerminal = onTerminal && isTerminal(file); onTerminal && (o.output.format == formatTable || o.output.format == formatWide) {
		if _, err := io.WriteString(o.Out, terminalBegin); err != nil {
			return err
		}
		defer io.WriteString(o.Out, terminalEnd) //nolint:errcheck // The user sees that.
		return f.run(ctx, first.Shoot.TechnicalID, time.Second, func(report *v1alpha1.StatusReport) error { return f.draw(file, report) })
	}
	return f.run(ctx, first.Shoot.TechnicalID, 0, func(report *v1alpha1.StatusReport) error {
		if o.output.format == formatYAML {
			if _, err := io.WriteString(o.Out, "---\n"); err != nil {
				return err
			}
		}
		return o.output.print(report, func(s *screen) { writeStatus(s, report, time.Now()) })
	})
}

// watch makes the sources read from caches that are kept current, and tell changes.
func (f *follower) watch(ctx context.Context, report *v1alpha1.StatusReport) error {
	if f.from.gardenConfig != nil {
		objects := []client.Object{&gardencorev1beta1.Shoot{}}
		options := cache.Options{ByObject: map[client.Object]cache.ByObject{objects[0]: {
			Namespaces: map[string]cache.Config{report.Shoot.Namespace: {}},
			Field:      fields.OneTermEqualSelector(metav1.ObjectNameField, report.Shoot.Name),
		}}}
		others := []client.Object{&corev1.Namespace{}, &gardencorev1beta1.CloudProfile{}, &gardencorev1beta1.NamespacedCloudProfile{},
			&gardencorev1beta1.Seed{}, &gardencorev1beta1.SecretBinding{}, &securityv1alpha1.CredentialsBinding{}}
		var err error
		if f.from.garden, err = f.cached(ctx, f.from.gardenConfig, options, objects, others); err != nil {
			return fmt.Errorf("garden: %w", err)
		}
	}
	if f.from.seedConfig != nil {
		objects := []client.Object{&extensionsv1alpha1.Cluster{}, &extensionsv1alpha1.Infrastructure{}, &extensionsv1alpha1.ControlPlane{},
			&extensionsv1alpha1.Worker{}, &machinev1alpha1.Machine{}, &machinev1alpha1.MachineDeployment{}}
		options := cache.Options{
			DefaultNamespaces: map[string]cache.Config{report.Shoot.TechnicalID: {}},
			ByObject: map[client.Object]cache.ByObject{objects[0]: {Field: fields.OneTermEqualSelector(metav1.ObjectNameField,
				report.Shoot.TechnicalID)}},
		}
		var err error
		if f.from.seed, err = f.cached(ctx, f.from.seedConfig, options, objects, []client.Object{&corev1.Pod{}}); err != nil {
			return fmt.Errorf("seed: %w", err)
		}
	}
	return nil
}

// cached returns a client that reads the objects from a cache, and the others from the cluster.
func (f *follower) cached(ctx context.Context, config *rest.Config, options cache.Options, objects, others []client.Object) (client.Client,
	error) {
	options.Scheme = scheme
	options.DefaultWatchErrorHandler = func(_ context.Context, _ *toolscache.Reflector, err error) { f.failed(err) }
	watched, err := cache.New(config, options)
	if err != nil {
		return nil, err
	}
	handler := toolscache.ResourceEventHandlerFuncs{
		AddFunc:    func(any) { f.tell() },
		UpdateFunc: func(any, any) { f.tell() },
		DeleteFunc: func(any) { f.tell() },
	}
	synced, stop := context.WithTimeout(ctx, loadTimeout)
	defer stop()
	for _, object := range objects {
		informer, err := watched.GetInformer(synced, object, cache.BlockUntilSynced(false))
		if err != nil {
			return nil, errors.Join(err, f.last())
		}
		if _, err := informer.AddEventHandler(handler); err != nil {
			return nil, err
		}
	}
	go func() { _ = watched.Start(ctx) }() // It ends with the context.
	if !watched.WaitForCacheSync(synced) {
		return nil, cmp.Or(f.last(), context.Cause(synced))
	}
	return client.New(config, client.Options{Scheme: scheme, Cache: &client.CacheOptions{Reader: watched, DisableFor: others}})
}

// tell makes the report be made again.
func (f *follower) tell() {
	select {
	case f.changed <- struct{}{}:
	default: // The follower has not read the last one yet.
	}
}

// failed is called with the error of a watch.
func (f *follower) failed(err error) {
	if errors.Is(err, io.EOF) || apierrors.IsResourceExpired(err) || apierrors.IsGone(err) {
		return // A watch that ends, and begins again.
	}
	f.record(err)
	f.tell()
}

// record makes the error part of what is shown.
func (f *follower) record(err error) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	f.failure, f.failedAt = err, time.Now()
}

// last returns the last error, and nil if it is old.
func (f *follower) last() error {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	if time.Since(f.failedAt) > staleness {
		return nil
	}
	return f.failure
}

// run shows reports until the context is done: when something has changed, when metrics were read, and in the interval unless it is zero.
func (f *follower) run(ctx context.Context, shoot string, interval time.Duration, show func(*v1alpha1.StatusReport) error) error {
	var redraw <-chan time.Time
	if interval > 0 {
		ticker := time.NewTicker(interval)
		defer ticker.Stop()
		redraw = ticker.C
	}
	metrics := make(chan *readings)
	go func() {
		for ctx.Err() == nil {
			read := f.readMetrics(ctx, f.from, shoot)
			select {
			case metrics <- read:
			case <-ctx.Done():
				return
			}
			select {
			case <-time.After(metricsInterval):
			case <-ctx.Done():
			}
		}
	}()

	known := <-metrics
	objects, err := f.report(ctx, f.from)
	if err != nil {
		return err
	}
	for {
		report := objects.DeepCopy()
		known.complete(report)
		if err := f.last(); err != nil {
			report.Unknown = append(report.Unknown, "latest changes: "+platform.PrintableMessage(err.Error()))
		}
		if err := show(report); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-redraw:
		case known = <-metrics:
		case <-f.changed:
			select {
			case <-time.After(settle):
			case <-ctx.Done():
				return nil
			}
			if now, err := f.report(ctx, f.from); err != nil {
				f.record(err)
			} else {
				objects = now
			}
		}
	}
}

// draw shows the report on the terminal in place of the one before it, with one write, so that nothing flickers.
func (f *follower) draw(terminal *os.File, report *v1alpha1.StatusReport) error {
	s := f.output.screen()
	writeStatus(s, report, time.Now())
	lines := strings.Split(strings.TrimSuffix(s.String(), "\n"), "\n")
	if _, height, err := term.GetSize(int(terminal.Fd())); err == nil && len(lines) > height && height > 1 {
		hidden := len(lines) - height + 1
		lines = append(lines[:height-1], fmt.Sprintf("… %d more lines", hidden))
	}
	_, err := io.WriteString(terminal, terminalHome+strings.Join(lines, restOfLine+"\r\n")+restOfLine+restOfScreen)
	return err
}
