// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	machinev1alpha1 "github.com/gardener/machine-controller-manager/pkg/apis/machine/v1alpha1"
	"github.com/gardener/machine-controller-manager/pkg/util/provider/driver"
	"github.com/gardener/machine-controller-manager/pkg/util/provider/machinecodes/codes"
	"github.com/gardener/machine-controller-manager/pkg/util/provider/machinecodes/status"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/codec"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
)

// The limits are tested to the nanosecond, in the time of bubbles.
var (
	testLimits   = Timeouts{List: time.Minute, ListWait: 10 * time.Second, ListAgain: time.Minute, Stalled: 30 * time.Second, StalledCalls: 2}
	errTransient = platform.NewError(platform.ClassTransient, "connection refused")
)

func inBubble(t *testing.T, name string, test func(Gomega)) {
	t.Helper()
	t.Run(name, func(t *testing.T) { synctest.Test(t, func(t *testing.T) { test(NewWithT(t)) }) })
}

// sleep returns when everything has happened that happens until then.
func sleep(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

func TestBulkhead(t *testing.T) {
	type begun struct {
		ctx  context.Context
		call *guardedCall
	}
	begin := func(g Gomega, b *bulkhead, site string, n int) []begun {
		var calls []begun
		for range n {
			ctx, call, err := b.begin(context.Background(), site)
			g.Expect(err).NotTo(HaveOccurred())
			calls = append(calls, begun{ctx, call})
		}
		return calls
	}
	canceled := func(calls []begun) (canceled, others []begun) {
		for _, c := range calls {
			if c.ctx.Err() != nil {
				canceled = append(canceled, c)
			} else {
				others = append(others, c)
			}
		}
		return canceled, others
	}
	newBulkhead := func() *bulkhead { return &bulkhead{limits: testLimits, sites: map[string]*siteCalls{}} }
	endAll := func(calls []begun) {
		for _, c := range calls {
			_ = c.call.end(nil)
		}
	}

	inBubble(t, "cancels as many calls as there are too many, and refuses more, when the site has stalled", func(g Gomega) {
		b := newBulkhead()
		calls := begin(g, b, "stalled", 4)
		sleep(testLimits.Stalled - 1)
		given, _ := canceled(calls)
		g.Expect(given).To(BeEmpty())

		sleep(1)
		given, left := canceled(calls)
		g.Expect(given).To(HaveLen(2))
		g.Expect(left).To(HaveLen(2))
		_, _, err := b.begin(context.Background(), "stalled")
		g.Expect(err).To(MatchError("the site has not responded to 2 calls for 30s"))
		endAll(begin(g, b, "another", 3))

		g.Expect(given[0].call.end(context.Canceled)).To(MatchError(MatchRegexp("the site has not responded to [34] calls for 30s")))
		_, _, err = b.begin(context.Background(), "stalled")
		g.Expect(err).To(HaveOccurred(), "a canceled call was counted as ended before")
		g.Expect(left[0].call.end(errTransient)).To(MatchError(errTransient))
		left = append(left[1:], begin(g, b, "stalled", 1)...)

		g.Expect(given[1].call.end(nil)).To(Succeed(), "it has an answer after all")
		left = append(left, begin(g, b, "stalled", 1)...)
		endAll(left)
	})

	inBubble(t, "cancels calls that become too many later", func(g Gomega) {
		b := newBulkhead()
		calls := begin(g, b, "later", 2)
		sleep(testLimits.Stalled - 1)
		calls = append(calls, begin(g, b, "later", 1)...)
		sleep(1)
		given, left := canceled(calls)
		g.Expect(given).To(HaveLen(1))
		sleep(2 * testLimits.Stalled)
		given, _ = canceled(left)
		g.Expect(given).To(BeEmpty())
		endAll(left)
	})

	inBubble(t, "counts the time from the last answer", func(g Gomega) {
		b := newBulkhead()
		calls := begin(g, b, "answers", 3)
		sleep(20 * time.Second)
		platform.Answered("answers")
		sleep(testLimits.Stalled - 1)
		given, _ := canceled(calls)
		g.Expect(given).To(BeEmpty())
		sleep(1)
		given, left := canceled(calls)
		g.Expect(given).To(HaveLen(1))
		endAll(left)

		sleep(time.Hour)
		calls = begin(g, b, "answers", 3)
		given, _ = canceled(calls)
		g.Expect(given).To(BeEmpty(), "an idle site has not stalled")
		endAll(calls)
		sleep(time.Hour)
		given, _ = canceled(calls)
		g.Expect(given).To(HaveLen(3), "an ended call releases its context")
		g.Expect(b.sites["answers"].running).To(BeZero())
	})

	inBubble(t, "knows for how long calls have failed without an answer", func(g Gomega) {
		b := newBulkhead()
		fail := func(after time.Duration, err error) {
			calls := begin(g, b, "silent", 1)
			sleep(after)
			_ = calls[0].call.end(err)
		}
		g.Expect(b.silence("silent")).To(BeZero())
		sleep(time.Second)
		fail(5*time.Second, errTransient)
		g.Expect(b.silence("silent")).To(Equal(5 * time.Second))
		fail(time.Second, errTransient)
		sleep(time.Second)
		g.Expect(b.silence("silent")).To(Equal(7*time.Second), "since the first of them began")
		for _, err := range []error{nil, platform.NewProgress("the host is cleaned"), platform.NewError(platform.ClassForbidden, "403")} {
			fail(time.Second, err)
			g.Expect(b.silence("silent")).To(BeZero())
			fail(time.Second, errTransient)
			g.Expect(b.silence("silent")).To(BeZero(), "it began with the answer")
			sleep(1)
			fail(2*time.Second, errTransient)
			g.Expect(b.silence("silent")).To(Equal(2 * time.Second))
		}
		platform.Answered("silent")
		g.Expect(b.silence("silent")).To(BeZero())
	})
}

func TestLists(t *testing.T) {
	scope := listScope{site: "racks", part: "a"}
	newLists := func() *lists {
		return &lists{limits: testLimits, running: map[string]bool{}, last: map[listScope]lastList{}}
	}
	// list lists the machines of the scope, which takes the site a while.
	list := func(l *lists, takes time.Duration, err error) error {
		_, got := l.get(context.Background(), scope, func(context.Context) ([]platform.Machine, error) {
			<-time.After(takes)
			return nil, err
		})
		return got
	}

	for takes, wait := range map[time.Duration]time.Duration{
		testLimits.ListWait: testLimits.ListWait, testLimits.ListWait + 1: testLimits.List,
	} {
		inBubble(t, "waits for "+wait.String()+" after a list that took "+takes.String(), func(g Gomega) {
			l := newLists()
			_ = list(l, takes, nil)
			sleep(time.Second)
			g.Expect(l.begin(scope)).To(Equal(wait))
		})
	}

	inBubble(t, "waits no longer for a site whose list failed late", func(g Gomega) {
		l := newLists()
		g.Expect(list(l, testLimits.ListWait+time.Second, errTransient)).To(MatchError(`site "racks" has not listed its machines within 10s`))
		sleep(2 * testLimits.ListAgain)
		g.Expect(l.begin(scope)).To(Equal(testLimits.ListWait))
	})

	inBubble(t, "lists a scope again when the time since its failure is over", func(g Gomega) {
		l := newLists()
		refused := errors.New("refused")
		g.Expect(list(l, 0, refused)).To(MatchError(refused))
		sleep(testLimits.ListAgain - 1)
		_, err := l.begin(scope)
		g.Expect(err).To(MatchError(refused))
		sleep(1)
		g.Expect(list(l, 0, nil)).To(Succeed())
		g.Expect(list(l, 0, nil)).To(Succeed(), "at once")
	})

	inBubble(t, "ends a list after its time and not with the call", func(g Gomega) {
		l := newLists()
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		var ended time.Duration
		start := time.Now()
		_, err := l.get(ctx, scope, func(ctx context.Context) ([]platform.Machine, error) {
			<-ctx.Done()
			ended = time.Since(start)
			return nil, ctx.Err()
		})
		g.Expect(err).To(HaveOccurred())
		_, err = l.begin(listScope{site: "racks", part: "b"})
		g.Expect(err).To(MatchError(`a list of the machines of site "racks" is still in progress`))
		g.Expect(l.begin(listScope{site: "cloud", part: "a"})).To(Equal(testLimits.ListWait))
		sleep(testLimits.List)
		g.Expect(ended).To(Equal(testLimits.List))
	})
}

// refusing are machines of a site that refuses connections.
type refusing struct{ platform.Machines }

func (refusing) Create(context.Context, platform.MachineRequest) (platform.Machine, error) {
	return platform.Machine{}, errTransient
}

func TestUnreachable(t *testing.T) {
	inBubble(t, "a site has no capacity when it has not responded for longer than the limit", func(g Gomega) {
		raw, err := codec.Encode(&v1alpha1.MachineProviderSpec{Site: "unreachable", Shoot: "s", Metal: &v1alpha1.MetalMachineSpec{}})
		g.Expect(err).NotTo(HaveOccurred())
		timeouts := DefaultTimeouts()
		d := NewDriver(platform.Registry[platform.Machines]{v1alpha1.PlatformMetal: refusing{}}, timeouts)
		create := func() codes.Code {
			_, err := d.CreateMachine(context.Background(), &driver.CreateMachineRequest{
				Machine:      &machinev1alpha1.Machine{ObjectMeta: metav1.ObjectMeta{Name: "m"}},
				MachineClass: &machinev1alpha1.MachineClass{Provider: Provider, ProviderSpec: *raw},
				Secret:       &corev1.Secret{Data: map[string][]byte{userDataKey: []byte("#!/bin/sh")}},
			})
			failure, ok := status.FromError(err)
			g.Expect(ok).To(BeTrue())
			return failure.Code()
		}
		g.Expect(create()).To(Equal(codes.Unavailable))
		sleep(timeouts.Unreachable)
		g.Expect(create()).To(Equal(codes.Unavailable))
		sleep(1)
		g.Expect(create()).To(Equal(codes.ResourceExhausted))
	})
}
