// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package machines

import (
	"context"
	"sync"
	"time"

	"k8s.io/klog/v2"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/vsphere/client"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/vsphere/owner"
)

const (
	// createWait is how long a call waits for a creation before it returns, so that a slow site does not keep the workers that other
	// sites need. What fails meanwhile is tried again anew.
	createWait = 10 * time.Second
	// initializeWait is how long a creation is waited for after that. What fails meanwhile shows at the machine.
	initializeWait = 20 * time.Second
	// againWait is the time between tries of a creation whose machine is taken for one that exists.
	againWait = 10 * time.Second
	// creationTimeout limits a creation as a whole.
	creationTimeout = 30 * time.Minute
)

// creations are those of a process, one at a time for each virtual machine. They outlive the session they began with: a machine may
// be deleted with other credentials than those that it is still being made with.
type creations struct {
	mutex    sync.Mutex
	machines map[creationKey]*creation
}

// creationKey is what makes the UUID of a virtual machine, and does not change while there is one, as the path of its folder may.
type creationKey struct {
	owner owner.Owner
	name  string
}

// creation is the creation of one virtual machine. It goes on when the call that began it returns.
type creation struct {
	key creationKey
	// session is what the virtual machine is made with.
	session *client.Session
	// accepted is closed when the vCenter has accepted to make the virtual machine.
	accepted chan struct{}
	accept   func()
	// decision guards promised and decided, so that nobody is told that the machine exists after the creation gave up.
	decision sync.Mutex
	// promised says that somebody was told that the machine exists, and so does not create it again: what may succeed later is tried
	// again here.
	promised bool
	// decided says that nothing is tried again: the creation ends at once.
	decided bool
	// unwanted is closed when the machine shall be deleted, so that nothing is tried again.
	unwanted chan struct{}
	giveUp   func()
	// left is done when the call that began the creation returns before its end.
	left sync.Once
	// done is closed when the creation has ended. machine and err are set before.
	done    chan struct{}
	machine platform.Machine
	err     error
}

func newCreations() *creations {
	return &creations{machines: map[creationKey]*creation{}}
}

// find returns the creation with the key that goes on or failed after its call returned, nil if there is none.
func (c *creations) find(key creationKey) *creation {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return c.machines[key]
}

// begin returns the creation with the key that goes on, or starts one.
func (c *creations) begin(ctx context.Context, key creationKey, session *client.Session,
	create func(ctx context.Context, accept func()) (platform.Machine, error)) *creation {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if existing := c.machines[key]; existing != nil {
		if ended, _ := existing.state(); !ended {
			return existing
		}
	}
	started := &creation{key: key, session: session, accepted: make(chan struct{}), unwanted: make(chan struct{}), done: make(chan struct{})}
	started.accept = sync.OnceFunc(func() { close(started.accepted) })
	started.giveUp = sync.OnceFunc(func() { close(started.unwanted) })
	c.machines[key] = started

	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), creationTimeout)
	go func() {
		defer cancel()
		started.run(ctx, create)
		close(started.done)
		if started.err == nil {
			c.forget(started)
		}
	}()
	return started
}

// run creates the machine. Nobody else would complete a virtual machine that somebody was told of.
func (c *creation) run(ctx context.Context, create func(ctx context.Context, accept func()) (platform.Machine, error)) {
	for {
		c.machine, c.err = platform.Safely(func() (platform.Machine, error) { return create(ctx, c.accept) })
		if !c.again() {
			return
		}
		timer := time.NewTimer(againWait)
		select {
		case <-timer.C:
		case <-c.unwanted:
			timer.Stop()
			return
		case <-ctx.Done():
			timer.Stop()
			return
		}
	}
}

// again decides whether what failed is tried again.
func (c *creation) again() bool {
	c.decision.Lock()
	defer c.decision.Unlock()
	c.decided = c.err == nil || !c.promised || platform.ClassOf(c.err) != platform.ClassTransient
	return !c.decided
}

// promise lets the creation try again what may succeed later, so that somebody may be told that the machine exists. If the creation
// has decided not to, it waits for its end, which is near, and reports false.
func (c *creation) promise() bool {
	c.decision.Lock()
	decided := c.decided
	c.promised = c.promised || !decided
	c.decision.Unlock()
	if decided {
		<-c.done
	}
	return !decided
}

// forget forgets a creation that ended.
func (c *creations) forget(ended *creation) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.machines[ended.key] == ended {
		delete(c.machines, ended.key)
	}
}

// state reports whether the creation has ended, and how.
func (c *creation) state() (ended bool, err error) {
	select {
	case <-c.done:
		return true, c.err
	default:
		return false, nil
	}
}

// wait waits for the end of the creation, and reports whether it came in time.
func (c *creation) wait(ctx context.Context, limit time.Duration) (ended bool) {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-c.done:
		return true
	case <-ctx.Done():
	case <-timer.C:
	}
	return false
}

// isAccepted reports whether the vCenter has accepted to make the virtual machine.
func (c *creation) isAccepted() bool {
	select {
	case <-c.accepted:
		return true
	default:
		return false
	}
}

// leave lets the creation go on by itself. That it fails is logged.
func (c *creation) leave(site, name string) {
	c.left.Do(func() {
		go func() {
			<-c.done
			if c.err != nil {
				klog.ErrorS(c.err, "Creation of a virtual machine failed", "site", site, "machine", name)
			}
		}()
	})
}
