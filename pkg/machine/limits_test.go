// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"errors"
	"net"
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

	inBubble(t, "knows for how long all calls have failed", func(g Gomega) {
		b := newBulkhead()
		fail := func(after time.Duration, err error) {
			calls := begin(g, b, "silent", 1)
			sleep(after)
			_ = calls[0].call.end(err)
		}
		g.Expect(b.failingFor("silent")).To(BeZero())
		sleep(time.Second)
		fail(5*time.Second, errTransient)
		g.Expect(b.failingFor("silent")).To(Equal(5 * time.Second))
		fail(time.Second, errTransient)
		sleep(time.Second)
		g.Expect(b.failingFor("silent")).To(Equal(7*time.Second), "since the first of them began")
		for _, err := range []error{nil, platform.NewProgress("the host is cleaned"), platform.NewError(platform.ClassForbidden, "403")} {
			before := b.failingFor("silent")
			fail(time.Second, err)
			g.Expect(b.failingFor("silent")).To(Equal(before+time.Second), "nothing responded: that was in a cache")
			calls := begin(g, b, "silent", 1)
			sleep(time.Second)
			platform.Answered("silent")
			_ = calls[0].call.end(err)
			g.Expect(b.failingFor("silent")).To(BeZero())
			sleep(1)
			fail(2*time.Second, errTransient)
			g.Expect(b.failingFor("silent")).To(Equal(2 * time.Second))
		}
		sleep(failuresForgotten)
		fail(1, errTransient)
		g.Expect(b.failingFor("silent")).To(BeEquivalentTo(1), "what failed long ago does not count")
	})

	inBubble(t, "counts calls that got responses from their end", func(g Gomega) {
		b := newBulkhead()
		fail := func() {
			calls := begin(g, b, "garbage", 1)
			sleep(time.Minute)
			platform.Answered("garbage")
			sleep(time.Minute)
			_ = calls[0].call.end(errTransient)
		}
		sleep(time.Second)
		fail()
		g.Expect(b.failingFor("garbage")).To(BeZero(), "a slow call is no outage")
		fail()
		g.Expect(b.failingFor("garbage")).To(Equal(2 * time.Minute))
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

// failing are machines of a site whose calls fail, after a while and possibly with responses.
type failing struct {
	platform.Machines

	// name is that of the site. Bubbles share the record of responses.
	name     string
	after    time.Duration
	responds bool
	err      error
}

func (f *failing) fail() (platform.Machine, error) {
	<-time.After(f.after)
	if f.responds {
		platform.Answered(f.name)
	}
	return platform.Machine{}, f.err
}

func (f *failing) Create(context.Context, platform.MachineRequest) (platform.Machine, error) {
	return f.fail()
}
func (f *failing) Get(context.Context, platform.MachineRequest) (platform.Machine, error) {
	return f.fail()
}

func (f *failing) List(context.Context, platform.MachineRequest) ([]platform.Machine, error) {
	_, err := f.fail()
	return nil, err
}

func TestUnreachable(t *testing.T) {
	type call func() codes.Code
	timeouts := DefaultTimeouts()
	prepare := func(g Gomega, site *failing) (create, get call, list func()) {
		raw, err := codec.Encode(&v1alpha1.MachineProviderSpec{Site: site.name, Shoot: "s", Metal: &v1alpha1.MetalMachineSpec{}})
		g.Expect(err).NotTo(HaveOccurred())
		d := NewDriver(platform.Registry[platform.Machines]{v1alpha1.PlatformMetal: site}, timeouts)
		m := &machinev1alpha1.Machine{ObjectMeta: metav1.ObjectMeta{Name: "m"}}
		class := &machinev1alpha1.MachineClass{Provider: Provider, ProviderSpec: *raw}
		secret := &corev1.Secret{Data: map[string][]byte{userDataKey: []byte("#!/bin/sh")}}
		code := func(err error) codes.Code {
			failure, ok := status.FromError(err)
			g.Expect(ok).To(BeTrue())
			return failure.Code()
		}
		return func() codes.Code {
				_, err := d.CreateMachine(context.Background(), &driver.CreateMachineRequest{Machine: m, MachineClass: class, Secret: secret})
				return code(err)
			}, func() codes.Code {
				_, err := d.GetMachineStatus(context.Background(), &driver.GetMachineStatusRequest{Machine: m, MachineClass: class, Secret: secret})
				return code(err)
			}, func() {
				_, err := d.ListMachines(context.Background(), &driver.ListMachinesRequest{MachineClass: class, Secret: secret})
				g.Expect(err).NotTo(HaveOccurred())
			}
	}
	// shortRetry is how long machine-controller-manager waits after Unavailable.
	const shortRetry = 5 * time.Second

	inBubble(t, "a site has no capacity when its calls have failed for longer than the limit", func(g Gomega) {
		create, _, _ := prepare(g, &failing{name: "unreachable", err: errTransient})
		g.Expect(create()).To(Equal(codes.Unavailable), "the first call, also after a restart")
		sleep(timeouts.Unreachable)
		g.Expect(create()).To(Equal(codes.Unavailable))
		sleep(1)
		g.Expect(create()).To(Equal(codes.ResourceExhausted))
	})

	// machine-controller-manager asks for the status of a new machine before it creates it, so that call must answer the same.
	for name, site := range map[string]*failing{
		"refuses connections":        {err: errTransient},
		"hangs":                      {after: timeouts.Get, err: context.DeadlineExceeded},
		"cannot be looked up in DNS": {after: 10 * time.Second, err: &net.DNSError{Err: "server misbehaving", Name: "racks.example.com"}},
		"answers garbage":            {responds: true, err: &json.SyntaxError{}},
		"answers garbage, slowly":    {responds: true, after: 20 * time.Second, err: &json.SyntaxError{}},
		"has an expired certificate": {err: x509.CertificateInvalidError{Reason: x509.Expired}},
	} {
		inBubble(t, "a new machine at a site that "+name+" goes elsewhere within 3 minutes", func(g Gomega) {
			site.name = name
			_, get, _ := prepare(g, site)
			start := time.Now()
			for get() != codes.ResourceExhausted {
				sleep(shortRetry)
			}
			g.Expect(time.Since(start)).To(And(BeNumerically(">", timeouts.Unreachable), BeNumerically("<", 3*time.Minute)))
		})
	}

	inBubble(t, "failed lists count, so that the first machine goes elsewhere at once", func(g Gomega) {
		_, get, list := prepare(g, &failing{name: "unreachable", err: errTransient})
		list()
		sleep(timeouts.Unreachable + 1)
		g.Expect(get()).To(Equal(codes.ResourceExhausted))
	})

	inBubble(t, "a site that works again has capacity at once", func(g Gomega) {
		site := &failing{name: "unreachable", err: errTransient}
		_, get, list := prepare(g, site)
		g.Expect(get()).To(Equal(codes.Unavailable))
		sleep(timeouts.Unreachable + 1)
		g.Expect(get()).To(Equal(codes.ResourceExhausted))
		site.err = nil
		list()
		site.err = errTransient
		g.Expect(get()).To(Equal(codes.ResourceExhausted), "the list was in a cache")
		site.err, site.responds, site.after = platform.NewError(platform.ClassNotFound, "no such host"), true, time.Second
		g.Expect(get()).To(Equal(codes.NotFound))
		site.err, site.responds = errTransient, false
		sleep(1)
		g.Expect(get()).To(Equal(codes.Unavailable), "a new outage")
	})

	inBubble(t, "credentials that have expired do not make a site one without capacity", func(g Gomega) {
		_, get, _ := prepare(g, &failing{name: "unreachable", err: platform.NewError(platform.ClassUnauthenticated, "401")})
		for range 3 {
			g.Expect(get()).To(Equal(codes.Unauthenticated))
			sleep(timeouts.Unreachable)
		}
	})
}
