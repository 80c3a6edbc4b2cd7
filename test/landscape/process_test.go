// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package landscape_test

import (
	"context"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/gleak"

	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape"
)

// parentVariable makes the test binary a parent that starts a process with this log and waits for ever.
const parentVariable = "LANDSCAPE_TEST_PARENT"

func TestParent(t *testing.T) {
	log := os.Getenv(parentVariable)
	if log == "" {
		return // this is the suite's own process
	}
	p := &landscape.Process{Name: "child", Path: "/bin/sh", Args: []string{"-c", "echo $$; exec sleep 60"}, LogFile: log}
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	<-p.Done()
}

var _ = Describe("Process", func() {
	var (
		ctx context.Context
		dir string
	)

	BeforeEach(func() {
		ctx = context.Background()
		dir = GinkgoT().TempDir()
		before := gleak.Goroutines()
		DeferCleanup(func() { Eventually(gleak.Goroutines).ShouldNot(gleak.HaveLeaked(before)) })
	})

	shell := func(script string) *landscape.Process {
		p := &landscape.Process{Name: "script", Path: "/bin/sh", Args: []string{"-c", script}, LogFile: filepath.Join(dir, "logs", "script.log")}
		DeferCleanup(p.Kill)
		return p
	}
	// childPID is the process ID that the script wrote to its log.
	childPID := func(p *landscape.Process) int {
		GinkgoHelper()
		var pid int
		Eventually(func() (err error) {
			pid, err = strconv.Atoi(p.Tail(1))
			return err
		}).Should(Succeed())
		return pid
	}
	alive := func(pid int) func() bool {
		return func() bool {
			status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
			return err == nil && !strings.Contains(string(status), "State:\tZ")
		}
	}

	It("should run to the end and keep the output of all runs", func() {
		p := shell("echo hello $WHO")
		p.Env = []string{"WHO=world"}
		for range 2 {
			Expect(p.Start()).To(Succeed())
			Expect(p.Wait(ctx)).To(Succeed())
		}
		Expect(p.Running()).To(BeFalse())
		Expect(p.PID()).To(BeZero())
		Expect(p.Tail(5)).To(Equal("hello world\nhello world"))
		Expect(p.Tail(1)).To(Equal("hello world"))
	})

	It("should refuse a second start", func() {
		p := shell("exec sleep 60")
		Expect(p.Start()).To(Succeed())
		Expect(p.Start()).To(MatchError(landscape.ErrRunning))
	})

	It("should fail to start what does not exist", func() {
		p := shell("")
		p.Path = filepath.Join(dir, "missing")
		Expect(p.Start()).To(MatchError(os.ErrNotExist))
		Expect(p.Running()).To(BeFalse())
		Expect(p.Done()).To(BeNil())
		Expect(p.Wait(ctx)).To(Succeed())
	})

	It("should show the last lines of the log when it fails", func() {
		p := shell("echo first; echo last; exit 3")
		Expect(p.Start()).To(Succeed())
		Expect(p.Wait(ctx)).To(MatchError(And(ContainSubstring("script: exit status 3"), HaveSuffix("first\nlast"))))
		Expect(p.Check()).To(MatchError(ContainSubstring("ended by itself (exit status 3)")))
	})

	It("should be waited for until it is ready, and not if it ended", func() {
		var asked atomic.Int32
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			if asked.Add(1) < 3 {
				w.WriteHeader(http.StatusServiceUnavailable)
			}
		}))
		client := http.DefaultTransport.(*http.Transport)
		DeferCleanup(func() { server.Close(); client.CloseIdleConnections() })

		p := shell("exec sleep 60")
		Expect(p.Start()).To(Succeed())
		Expect(p.WaitReady(ctx, server.URL)).To(Succeed())
		Expect(asked.Load()).To(BeEquivalentTo(3))

		p = shell("echo no configuration; exit 3")
		Expect(p.Start()).To(Succeed())
		Eventually(p.Done()).Should(BeClosed())
		Expect(p.WaitReady(ctx, server.URL)).To(MatchError(And(ContainSubstring("exit status 3"), ContainSubstring("no configuration"))))
		Expect(asked.Load()).To(BeEquivalentTo(3))
	})

	It("should pause, go on, and end also while it is paused", func() {
		p := shell("while sleep 0.01; do echo tick; done")
		Expect(p.Start()).To(Succeed())
		Eventually(func() string { return p.Tail(1) }).Should(Equal("tick"))
		for range 2 {
			p.Pause()
			written := p.Tail(math.MaxInt32)
			Consistently(func() string { return p.Tail(math.MaxInt32) }, "200ms").Should(Equal(written))
			Expect(p.Check()).To(Succeed())
			p.Resume()
			Eventually(func() string { return p.Tail(math.MaxInt32) }).ShouldNot(Equal(written))
		}
		p.Pause()
		p.Stop(ctx)
		Expect(p.Running()).To(BeFalse())
		p.Pause()
	})

	It("should not take a wanted end for a failure", func() {
		p := shell("exec sleep 60")
		Expect(p.Check()).To(Succeed())
		Expect(p.Start()).To(Succeed())
		Expect(p.Check()).To(Succeed())
		p.Stop(ctx)
		Expect(p.Done()).To(BeClosed())
		Expect(p.Check()).To(Succeed())
	})

	It("should stop with SIGTERM, and again be startable", func() {
		p := shell("trap 'echo bye; exit 0' TERM; echo ready; while :; do sleep 0.05; done")
		for range 2 {
			Expect(p.Start()).To(Succeed())
			Eventually(func() string { return p.Tail(1) }).Should(Equal("ready"))
			p.Stop(ctx)
			Expect(p.Wait(ctx)).To(Succeed())
			Expect(p.Tail(1)).To(Equal("bye"))
		}
	})

	It("should kill what does not stop, and all that it started", func() {
		p := shell("trap '' TERM; sleep 60 & echo $!; wait; wait; wait")
		p.Grace = 50 * time.Millisecond
		Expect(p.Start()).To(Succeed())
		child := childPID(p)
		Expect(alive(child)()).To(BeTrue())
		p.Stop(ctx)
		Expect(p.Running()).To(BeFalse())
		Eventually(alive(child)).Should(BeFalse())
	})

	It("should end what a process left behind when it ended by itself", func() {
		p := shell("sleep 60 & echo $!")
		Expect(p.Start()).To(Succeed())
		child := childPID(p)
		Expect(p.Wait(ctx)).To(Succeed())
		Eventually(alive(child)).Should(BeFalse())
	})

	It("should kill at once and leave nothing", func() {
		p := shell("trap '' TERM; sleep 60 & echo $!; wait")
		Expect(p.Start()).To(Succeed())
		child := childPID(p)
		p.Kill()
		Expect(p.Running()).To(BeFalse())
		Eventually(alive(child)).Should(BeFalse())
		p.Kill()
		p.Stop(ctx)
	})

	It("should not let a process outlive its parent", func() {
		log := filepath.Join(dir, "child.log")
		parent := exec.Command(os.Args[0], "-test.run=TestParent")
		parent.Env = append(os.Environ(), parentVariable+"="+log)
		Expect(parent.Start()).To(Succeed())
		child := childPID(&landscape.Process{LogFile: log})
		Expect(alive(child)()).To(BeTrue())
		Expect(parent.Process.Kill()).To(Succeed())
		Expect(parent.Wait()).NotTo(Succeed())
		Eventually(alive(child)).Should(BeFalse())
	})

	It("should stop to wait when the context ends", func() {
		p := shell("exec sleep 60")
		Expect(p.Start()).To(Succeed())
		short, cancel := context.WithCancel(ctx)
		cancel()
		Expect(p.Wait(short)).To(MatchError(context.Canceled))
		Expect(p.Running()).To(BeTrue())
	})
})
