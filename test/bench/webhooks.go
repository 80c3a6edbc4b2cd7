// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/test/countproxy"
	"github.com/gardener/gardener-extension-provider-hybrid/test/gardenlet"
)

const (
	webhookRate     = 200 // writes a second
	webhookDuration = 30 * time.Second
	webhookWarmUp   = 5 * time.Second
	webhookShoots   = 20
	webhookTimeout  = time.Minute
	// admittedPart is the share of writes that the figure covers.
	admittedPart = 0.99
)

// measureWebhooks writes at a fixed rate what gardenlet writes, dry, so that nothing but kube-apiserver and the webhooks works on
// it. First the namespaces have no label and no webhook is called: that is what kube-apiserver and the client take.
func measureWebhooks(ctx context.Context, b *Bed) (m Measurement, err error) {
	l, err := newLab(ctx, b.progress, "shoot--bench--webhooks")
	if err != nil {
		return m, err
	}
	defer l.close()
	config := rest.CopyConfig(l.Cluster.Config)
	config.QPS = -1
	writer, err := gardenlet.New(ctx, config)
	if err != nil {
		return m, err
	}
	l.Extension.Args = append(l.Extension.Args, "--disable-controllers=infrastructure,worker")
	if err := l.Extension.Start(); err != nil {
		return m, err
	}

	objects, size, err := prepareAdmissions(ctx, writer)
	if err != nil {
		return m, err
	}
	fmt.Fprintf(b.progress, "  write %d objects a second without webhooks\n", webhookRate)
	floor, err := admit(ctx, writer.Client, objects, "floor", webhookWarmUp, admission.unchanged)
	if err != nil {
		return m, err
	}
	if err := switchOn(ctx, l, writer.Client, objects); err != nil {
		return m, err
	}
	fmt.Fprintf(b.progress, "  write %d objects a second with webhooks\n", webhookRate)
	if _, err := admit(ctx, writer.Client, objects, "warm up", webhookWarmUp, admission.changed); err != nil {
		return m, err
	}
	if m.Records, err = admit(ctx, writer.Client, objects, "webhooks", webhookDuration, admission.changed); err != nil {
		return m, err
	}
	without, err := latency(admittedPart)(floor)
	if err != nil {
		return m, err
	}
	half, err := latency(0.5)(m.Records)
	if err != nil {
		return m, err
	}
	m.Note = fmt.Sprintf("a dry write as gardenlet sees it, real kube-apiserver and extension; %d writes in %.0f s, each changed by a webhook; median %.1f ms; without webhooks %.1f ms; Cluster of %d KiB",
		len(m.Records), webhookDuration.Seconds(), half, without, size>>10)
	return m, m.addMemory(l.Extension)
}

// switchOn labels the namespaces and waits until each object is changed.
func switchOn(ctx context.Context, l *lab, c client.Client, objects []admission) error {
	if err := labelShoots(ctx, c); err != nil {
		return err
	}
	var last error
	err := wait.PollUntilContextTimeout(ctx, shootsPeriod, webhookTimeout, true, func(ctx context.Context) (bool, error) {
		if err := l.Extension.Check(); err != nil {
			return false, err
		}
		last = nil
		for _, object := range objects {
			last = errors.Join(last, object.write(ctx, c, admission.changed))
		}
		return last == nil, nil
	})
	if err != nil {
		return fmt.Errorf("the webhooks do not work: %w: %w", err, last)
	}
	return nil
}

// admit writes the objects in turns at the fixed rate. A write is late from the moment at which it was due: the answer to one does
// not put the next one off.
func admit(ctx context.Context, c client.Client, objects []admission, run string, duration time.Duration, check func(admission, client.Object) error) ([]Record, error) {
	records := make([]Record, int(duration.Seconds())*webhookRate)
	group, ctx := errgroup.WithContext(ctx)
	start := time.Now()
	for i := range records {
		due := start.Add(time.Duration(i) * time.Second / webhookRate)
		select {
		case <-ctx.Done():
			return nil, group.Wait()
		case <-time.After(time.Until(due)):
		}
		object := objects[i%len(objects)]
		group.Go(func() error {
			if err := object.write(ctx, c, check); err != nil {
				return err
			}
			records[i] = Record{
				Time: due.Round(0), Run: run, Service: "kube-apiserver", Method: http.MethodPut, Path: object.name(), Kind: countproxy.KindWrite,
				Status: http.StatusOK, Duration: time.Since(due),
			}
			return nil
		})
	}
	return records, group.Wait()
}
