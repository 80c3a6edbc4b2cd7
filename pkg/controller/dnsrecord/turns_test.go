// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package dnsrecord

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	reconcilerutils "github.com/gardener/gardener/pkg/controllerutils/reconciler"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
)

const (
	testWorkers = 20
	tarpits     = 50
)

func requestFor(namespace, name string) reconcile.Request {
	return reconcile.Request{NamespacedName: types.NamespacedName{Namespace: namespace, Name: name}}
}

// reconciler uses a service of its own for each DNSRecord, as the actuator does.
type reconciler func(ctx context.Context, request reconcile.Request) error

func (r reconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	current := turnOf(ctx)
	err := errLater
	if current.at("service of " + request.String()) {
		err = current.use(ctx, func(ctx context.Context) error { return r(ctx, request) })
	}
	if after, ok := current.finish(1, err); ok {
		return reconcilerutils.ReconcileErr(&reconcilerutils.RequeueAfterError{Cause: err, RequeueAfter: after})
	}
	return reconcile.Result{}, err
}

// run works on the requests, in their order, until the last one succeeds, and returns how long that took.
func run(requests []reconcile.Request, r reconciler) time.Duration {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	last := requests[len(requests)-1]
	queue := workqueue.NewTypedRateLimitingQueue(workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](firstBackoff,
		lastBackoff))
	defer queue.ShutDown()
	reconciler := newTurns(r, testWorkers)
	start, done := time.Now(), make(chan time.Duration, 1)
	for range testWorkers {
		go func() {
			for {
				request, ended := queue.Get()
				if ended {
					return
				}
				result, err := reconciler.Reconcile(ctx, request)
				switch {
				case err != nil:
					queue.AddRateLimited(request)
				case result.RequeueAfter > 0:
					queue.Forget(request)
					queue.AddAfter(request, result.RequeueAfter)
				case request == last:
					done <- time.Since(start)
				}
				queue.Done(request)
			}
		}()
	}
	for _, request := range requests {
		queue.Add(request)
	}
	return <-done
}

// TestTarpits measures in the time of a bubble how long a record waits behind services that are slow.
func TestTarpits(t *testing.T) {
	silent := func(ctx context.Context) error {
		<-ctx.Done()
		return ctx.Err()
	}
	pending := func(context.Context) error { return platform.NewProgress("pending") }
	for name, tarpit := range map[string]func(context.Context) error{"silent": silent, "pending": pending} {
		for tenants, namespaces := range map[string]func(int) string{
			"of another tenant": func(int) string { return "shoot--mallory--x" },
			"of others":         func(i int) string { return fmt.Sprintf("shoot--mallory%d--x", i) },
			"of the same":       func(int) string { return "shoot--good--x" },
		} {
			t.Run(name+" "+tenants, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					g := NewWithT(t)
					var requests []reconcile.Request
					for i := range tarpits {
						requests = append(requests, requestFor(namespaces(i), fmt.Sprint("record-", i)))
					}
					good := requestFor("shoot--good--x", "good")
					took := run(append(requests, good), func(ctx context.Context, request reconcile.Request) error {
						if request != good {
							return tarpit(ctx)
						}
						return nil
					})
					g.Expect(took).To(BeNumerically("<", 30*time.Second))
					t.Log(took)
				})
			})
		}
	}
}

var _ = Describe("Turns", func() {
	It("should know the tenant of a shoot", func() {
		Expect(tenantOf("shoot--project--a")).To(Equal("shoot--project"))
		Expect(tenantOf("shoot--project--b")).To(Equal(tenantOf("shoot--project--a")))
		Expect(tenantOf("garden")).To(Equal("garden"))
	})

	It("should give a service more time that was slow, with few others, and forget that when it is not", func(ctx SpecContext) {
		t := newTurns(nil, testWorkers)
		begin := func(name string) *turn {
			return &turn{turns: t, record: requestFor("shoot--a--"+name, "r").NamespacedName, leave: func() {}}
		}
		late := func(c *turn) error {
			Expect(c.at("s")).To(BeTrue())
			c.left = time.Millisecond
			return c.use(ctx, func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() })
		}
		first := begin("1")
		after, ok := first.finish(1, late(first))
		Expect(ok).To(BeTrue())
		Expect(after).To(Equal(nextTurn))

		second, third, fourth := begin("2"), begin("3"), begin("4")
		Expect(second.at("s")).To(BeTrue())
		Expect(second.left).To(Equal(slowTime))
		Expect(third.at("s")).To(BeTrue())
		Expect(fourth.at("s")).To(BeFalse())
		_, ok = second.finish(1, errors.New("no"))
		Expect(ok).To(BeFalse())
		fourth.end()
		fourth = begin("4")
		Expect(fourth.at("s")).To(BeFalse())
		second.end()

		_, ok = third.finish(1, nil)
		Expect(ok).To(BeFalse())
		third.end()
		fifth := begin("5")
		Expect(fifth.at("s")).To(BeTrue())
		Expect(fifth.left).To(Equal(quickTime))
		for _, c := range []*turn{first, fourth, fifth} {
			c.end()
		}
		Expect(t.running).To(BeEmpty())
	})

	It("should wait longer each time for a service to answer with what it accepted, and say so in the end", func() {
		t := newTurns(nil, testWorkers)
		c := &turn{turns: t, record: requestFor("shoot--a--b", "r").NamespacedName, leave: func() {}}
		progress := platform.NewProgress("pending")
		var waits []time.Duration
		for range 5 {
			after, ok := c.finish(1, progress)
			Expect(ok).To(BeTrue())
			waits = append(waits, after/time.Second)
		}
		Expect(waits).To(Equal([]time.Duration{1, 2, 4, 8, 8}))
		Expect(c.waits(1)).To(BeTrue())
		Expect(c.waits(2)).To(BeFalse())
		p := t.pending[c.record]
		p.since = time.Now().Add(-2 * visibleTimeout)
		t.pending[c.record] = p
		_, ok := c.finish(1, progress)
		Expect(ok).To(BeFalse())
	})
})
