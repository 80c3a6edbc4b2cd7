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
	webhookRate     = 200 // reviews a second
	webhookDuration = 30 * time.Second
	webhookWarmUp   = 5 * time.Second
	webhookShoots   = 20
	webhookTimeout  = time.Minute
	// reviewedPart is the share of reviews that the figure covers.
	reviewedPart = 0.99
)

// measureWebhooks sends to the webhooks at a fixed rate what kube-apiserver sends when gardenlet writes. Before that each object is
// written dry through kube-apiserver, which must call the webhooks as soon as the namespaces have their labels, and not before.
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
	if err := switchOn(ctx, l, writer.Client, objects); err != nil {
		return m, err
	}
	sender, reviews, err := newReviews(ctx, writer.Client, objects)
	if err != nil {
		return m, err
	}
	fmt.Fprintf(b.progress, "  send %d reviews a second\n", webhookRate)
	if _, err := sender.sendAll(ctx, reviews, webhookWarmUp); err != nil {
		return m, err
	}
	before, err := processorTime(l.Extension.PID())
	if err != nil {
		return m, err
	}
	if m.Records, err = sender.sendAll(ctx, reviews, webhookDuration); err != nil {
		return m, err
	}
	after, err := processorTime(l.Extension.PID())
	if err != nil {
		return m, err
	}
	half, err := latency(0.5)(m.Records)
	if err != nil {
		return m, err
	}
	m.Note = fmt.Sprintf("%d reviews in %.0f s, each changes its object; median %.1f ms, %.1f ms of processor time each; real "+
		"kube-apiserver and extension, which reads a Cluster of %d KiB",
		len(m.Records), webhookDuration.Seconds(), half, (after-before).Seconds()*1e3/float64(len(m.Records)), size>>10)
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
			last = errors.Join(last, object.write(ctx, c))
		}
		return last == nil, nil
	})
	if err != nil {
		return fmt.Errorf("the webhooks do not work: %w: %w", err, last)
	}
	return nil
}

// sendAll sends the reviews in turns at the fixed rate. A review is late from the moment at which it was due: the answer to one does
// not put the next one off.
func (r *reviewer) sendAll(ctx context.Context, reviews []review, duration time.Duration) ([]Record, error) {
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
		review := reviews[i%len(reviews)]
		group.Go(func() error {
			size, err := r.send(ctx, review)
			if err != nil {
				return err
			}
			records[i] = Record{
				Time: due.Round(0), Run: "reviews", Service: "webhook", Method: http.MethodPost, Path: review.name(), Kind: countproxy.KindWrite,
				Status: http.StatusOK, Bytes: size, Duration: time.Since(due),
			}
			return nil
		})
	}
	return records, group.Wait()
}
