// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package etcd_test measures what latency between sites means for the etcd of a control plane whose members are at several sites.
package etcd_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	clientv3 "go.etcd.io/etcd/client/v3"
	"golang.org/x/sync/errgroup"

	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape"
	"github.com/gardener/gardener-extension-provider-hybrid/test/suite"
)

func TestEtcd(t *testing.T) {
	suite.Run(t, "Etcd Suite")
}

const (
	writes, writers = 100, 20
	// window is how long many writers write.
	window = 5 * time.Second
)

// member is a process of etcd with its link to the others.
type member struct {
	process *landscape.Process
	client  string
	id      uint64
}

// cluster starts three members with etcd's own defaults of heartbeats and elections, which etcd-druid keeps. What a member sends is delayed
// by its entry, and what it gets on connections that others made is, too.
func cluster(ctx context.Context, delays [3]time.Duration) []*member {
	GinkgoHelper()
	ports, err := landscape.FreePorts(6)
	Expect(err).NotTo(HaveOccurred())
	var (
		members []*member
		peers   []string
		dir     = GinkgoT().TempDir()
	)
	for i := range delays {
		link, err := newDelay(ctx, fmt.Sprintf("127.0.0.1:%d", ports[i]), delays[i])
		Expect(err).NotTo(HaveOccurred())
		peers = append(peers, fmt.Sprintf("m%d=http://%s", i, link.listener.Addr()))
	}
	for i, peer := range peers {
		m := &member{client: fmt.Sprintf("http://127.0.0.1:%d", ports[3+i])}
		_, advertised, _ := strings.Cut(peer, "=")
		m.process = &landscape.Process{Name: fmt.Sprintf("etcd-%d", i), Path: filepath.Join(landscape.Root(), "hack", "bin", "etcd"),
			LogFile: filepath.Join(dir, fmt.Sprintf("%d.log", i)), Args: []string{
				fmt.Sprintf("--name=m%d", i), "--data-dir=" + filepath.Join(dir, strconv.Itoa(i)),
				fmt.Sprintf("--listen-peer-urls=http://127.0.0.1:%d", ports[i]), "--initial-advertise-peer-urls=" + advertised,
				"--listen-client-urls=" + m.client, "--advertise-client-urls=" + m.client,
				"--initial-cluster=" + strings.Join(peers, ","), "--initial-cluster-state=new", "--log-level=error",
			}}
		Expect(m.process.Start()).To(Succeed())
		DeferCleanup(func(ctx SpecContext) { m.process.Stop(ctx) })
		members = append(members, m)
	}
	for _, m := range members {
		c := m.connect()
		Eventually(func(g Gomega) {
			status, err := c.Status(ctx, m.client)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(status.Leader).NotTo(BeZero())
			m.id = status.Header.MemberId
		}).WithTimeout(time.Minute).Should(Succeed())
	}
	return members
}

func (m *member) connect() *clientv3.Client {
	GinkgoHelper()
	c, err := clientv3.New(clientv3.Config{Endpoints: []string{m.client}, DialTimeout: 10 * time.Second})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func() { _ = c.Close() })
	return c
}

// lead makes the member the leader.
func lead(ctx context.Context, members []*member, wanted *member) {
	GinkgoHelper()
	clients := map[*member]*clientv3.Client{}
	for _, m := range members {
		clients[m] = m.connect()
	}
	Eventually(func(g Gomega) {
		for _, m := range members {
			status, err := clients[m].Status(ctx, m.client)
			g.Expect(err).NotTo(HaveOccurred())
			if status.Leader == m.id && m != wanted {
				_, err := clients[m].MoveLeader(ctx, wanted.id)
				g.Expect(err).NotTo(HaveOccurred())
			}
		}
		for _, m := range members {
			status, err := clients[m].Status(ctx, m.client)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(status.Leader).To(Equal(wanted.id))
		}
	}).WithTimeout(time.Minute).WithPolling(200 * time.Millisecond).Should(Succeed())
}

var changesMetric = regexp.MustCompile(`(?m)^etcd_server_leader_changes_seen_total (\d+)`)

func (m *member) leaderChanges(ctx context.Context) int {
	GinkgoHelper()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, m.client+"/metrics", nil)
	Expect(err).NotTo(HaveOccurred())
	response, err := http.DefaultClient.Do(request)
	Expect(err).NotTo(HaveOccurred())
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	Expect(err).NotTo(HaveOccurred())
	match := changesMetric.FindSubmatch(body)
	Expect(match).NotTo(BeNil())
	changes, err := strconv.Atoi(string(match[1]))
	Expect(err).NotTo(HaveOccurred())
	return changes
}

// figures are what a control plane at the site of the leader sees.
type figures struct {
	median, slow time.Duration
	rate         int
	changes      int
	failover     time.Duration
}

func measure(ctx context.Context, members []*member, leader *member) (f figures) {
	GinkgoHelper()
	var (
		c      = leader.connect()
		value  = strings.Repeat("x", 1<<10)
		before = leader.leaderChanges(ctx)
		times  []time.Duration
	)
	for i := range writes {
		begin := time.Now()
		_, err := c.Put(ctx, fmt.Sprintf("one/%d", i), value)
		Expect(err).NotTo(HaveOccurred())
		times = append(times, time.Since(begin))
	}
	slices.Sort(times)
	f.median, f.slow = times[writes/2], times[writes*99/100]

	var done atomic.Int64
	group, end := errgroup.Group{}, time.Now().Add(window)
	for i := range writers {
		group.Go(func() error {
			for time.Now().Before(end) {
				if _, err := c.Put(ctx, fmt.Sprintf("many/%d", i), value); err != nil {
					return err
				}
				done.Add(1)
			}
			return nil
		})
	}
	Expect(group.Wait()).To(Succeed())
	f.rate, f.changes = int(float64(done.Load())/window.Seconds()), leader.leaderChanges(ctx)-before

	other := members[0]
	if other == leader {
		other = members[1]
	}
	c = other.connect()
	begin := time.Now()
	leader.process.Kill()
	Eventually(func() error {
		ctx, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		_, err := c.Put(ctx, "after", value)
		return err
	}).WithTimeout(time.Minute).WithPolling(10 * time.Millisecond).Should(Succeed())
	f.failover = time.Since(begin)
	return f
}

var _ = suite.Nightly("Members of an etcd at several sites", func() {
	DescribeTable("should keep their leader, and commit within the latency between the leader and the nearest of the others",
		func(ctx SpecContext, oneWay time.Duration) {
			ctx2, cancel := context.WithCancel(ctx)
			DeferCleanup(cancel)
			for _, layout := range []struct {
				name   string
				delays [3]time.Duration
				leader int
				// trips is how often a commit crosses the distance.
				trips time.Duration
			}{
				{"three sites", [3]time.Duration{oneWay, oneWay, oneWay}, 0, 2},
				{"two members at one site, the leader is one of them", [3]time.Duration{0, 0, 2 * oneWay}, 0, 0},
				{"two members at one site, the leader is at the other", [3]time.Duration{0, 0, 2 * oneWay}, 2, 2},
			} {
				members := cluster(ctx2, layout.delays)
				lead(ctx2, members, members[layout.leader])
				f := measure(ctx2, members, members[layout.leader])
				line := fmt.Sprintf("%s, %d ms: median %.1f ms, 99 %% %.1f ms, %d writes/s with %d writers, %d leader changes, fail-over %.1f s",
					layout.name, oneWay.Milliseconds(), f.median.Seconds()*1e3, f.slow.Seconds()*1e3, f.rate, writers, f.changes,
					f.failover.Seconds())
				AddReportEntry(line)
				GinkgoWriter.Println(line)
				Expect(f.changes).To(BeZero(), line)
				Expect(f.median).To(BeNumerically(">=", layout.trips*oneWay), line)
			}
		},
		Entry("0 ms", 0*time.Millisecond), Entry("2 ms", 2*time.Millisecond), Entry("5 ms", 5*time.Millisecond),
		Entry("10 ms", 10*time.Millisecond), Entry("25 ms", 25*time.Millisecond), Entry("50 ms", 50*time.Millisecond),
		Entry("100 ms", 100*time.Millisecond), Entry("200 ms", 200*time.Millisecond),
	)
})
