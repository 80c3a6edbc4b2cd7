// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package landscape

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"syscall"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

// DefaultGrace is how long a process has to end after SIGTERM before it is killed.
const DefaultGrace = 10 * time.Second

// ErrRunning means that a process is started that runs already.
var ErrRunning = errors.New("process is running")

// Process is a supervised child process. It can be started again after it ended. It never outlives this process and has a
// process group of its own, so that signals of the terminal do not reach it.
type Process struct {
	// Name names the process in messages.
	Name string
	// Path is the executable.
	Path string
	// Args are the arguments without the name of the program.
	Args []string
	// Env are environment variables in addition to those of this process.
	Env []string
	// LogFile receives the output of all runs.
	LogFile string
	// Prepare runs on the thread that then starts the process and that is used for nothing else, so that the process inherits the
	// namespaces that it enters. It may change the command.
	Prepare func(*exec.Cmd) error
	// Grace is how long Stop waits after SIGTERM before it kills the process. Default: DefaultGrace.
	Grace time.Duration

	mu  sync.Mutex
	run *processRun
}

type processRun struct {
	cmd  *exec.Cmd
	done chan struct{}
	// err and asked are guarded by the process' mutex.
	err   error
	asked bool
}

// Start starts the process. It returns ErrRunning if it runs already.
func (p *Process) Start() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.running() {
		return fmt.Errorf("start %s: %w", p.Name, ErrRunning)
	}

	if err := os.MkdirAll(filepath.Dir(p.LogFile), 0o750); err != nil {
		return fmt.Errorf("start %s: %w", p.Name, err)
	}
	log, err := os.OpenFile(p.LogFile, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o640)
	if err != nil {
		return fmt.Errorf("start %s: %w", p.Name, err)
	}

	cmd := exec.Command(p.Path, p.Args...) // #nosec G204 -- the landscape's own processes
	cmd.Env = append(os.Environ(), p.Env...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = childAttributes()

	r := &processRun{cmd: cmd, done: make(chan struct{})}
	started := make(chan error)
	go p.supervise(r, log, started)
	if err := <-started; err != nil {
		return fmt.Errorf("start %s: %w", p.Name, err)
	}
	p.run = r
	return nil
}

// supervise starts the command and waits for its end on one thread: the kernel sends the parent-death signal when the thread
// that started the child ends, not when the process does.
func (p *Process) supervise(r *processRun, log *os.File, started chan<- error) {
	runtime.LockOSThread()
	defer func() { _ = log.Close() }()

	if p.Prepare == nil {
		defer runtime.UnlockOSThread()
	} else if err := p.Prepare(r.cmd); err != nil {
		started <- err
		return
	}
	if err := r.cmd.Start(); err != nil {
		started <- err
		return
	}
	started <- nil
	err := r.cmd.Wait()
	signalGroup(r.cmd.Process.Pid, syscall.SIGKILL) // what the process itself started and left

	p.mu.Lock()
	r.err = err
	p.mu.Unlock()
	close(r.done)
}

// Stop asks the process to end, also if it is paused, kills it if it does not within the grace period or before ctx ends, and returns when
// it is gone. It does nothing if the process does not run.
func (p *Process) Stop(ctx context.Context) {
	r := p.signal(syscall.SIGTERM)
	if r == nil {
		return
	}
	p.Resume()
	grace := p.Grace
	if grace == 0 {
		grace = DefaultGrace
	}
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case <-r.done:
		return
	case <-timer.C:
	case <-ctx.Done():
	}
	p.Kill()
}

// Kill kills the process and all that it started, and returns when it is gone. It does nothing if the process does not run.
func (p *Process) Kill() {
	if r := p.signal(syscall.SIGKILL); r != nil {
		<-r.done
	}
}

// signal sends s to the group of the running process and notes that its end is wanted.
func (p *Process) signal(s syscall.Signal) *processRun {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.running() {
		return nil
	}
	p.run.asked = true
	signalGroup(p.run.cmd.Process.Pid, s)
	return p.run
}

// Wait returns when the process has ended: nil after exit code 0, otherwise an error with the last lines of the log. It
// returns the error of ctx if that ends first.
func (p *Process) Wait(ctx context.Context) error {
	p.mu.Lock()
	r := p.run
	p.mu.Unlock()
	if r == nil {
		return nil
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-r.done:
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if r.err != nil {
		return fmt.Errorf("%s: %w; last lines of %s:\n%s", p.Name, r.err, p.LogFile, p.Tail(20))
	}
	return nil
}

// Succeeded reports whether the process has ended with exit code 0.
func (p *Process) Succeeded() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.run != nil && !p.running() && p.run.err == nil
}

// Done is closed when the process has ended. It is nil if it was never started.
func (p *Process) Done() <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.run == nil {
		return nil
	}
	return p.run.done
}

// Running reports whether the process runs.
func (p *Process) Running() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.running()
}

func (p *Process) running() bool {
	if p.run == nil {
		return false
	}
	select {
	case <-p.run.done:
		return false
	default:
		return true
	}
}

// Check returns an error with the last lines of the log if the process ended without having been asked to.
func (p *Process) Check() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.run == nil || p.running() || p.run.asked {
		return nil
	}
	reason := "exit code 0"
	if p.run.err != nil {
		reason = p.run.err.Error()
	}
	return fmt.Errorf("%s ended by itself (%s); last lines of %s:\n%s", p.Name, reason, p.LogFile, p.Tail(20))
}

// WaitReady waits until the process answers a request for its readiness with 200. It fails at once if the process ends by itself.
func (p *Process) WaitReady(ctx context.Context, url string) error {
	err := wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, readyTimeout, true, func(ctx context.Context) (bool, error) {
		if err := p.Check(); err != nil {
			return false, err
		}
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return false, err
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			return false, nil
		}
		return response.StatusCode == http.StatusOK, response.Body.Close()
	})
	if err != nil {
		return fmt.Errorf("wait until %s is ready: %w; last lines of its log:\n%s", p.Name, err, p.Tail(20))
	}
	return nil
}

// PID returns the process ID, 0 if the process does not run.
func (p *Process) PID() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.running() {
		return 0
	}
	return p.run.cmd.Process.Pid
}
