// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package hostile

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"runtime/metrics"
	"strings"
	"sync"
	"time"

	"k8s.io/klog/v2"
	logf "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
)

// The subject is this test as a process of its own. It does what it is told with our code, so that its end, its memory and its log
// are those of our code alone.
const subjectVariable = "HOSTILE_SUBJECT"

const goodRunPrefix = "good"

// job is what a subject is told to do.
type job struct {
	// ID is that of the row, or of the good run.
	ID string
	// Operation is what is done.
	Operation string
	// World is where.
	World world
	// Prepared is what an earlier job left; the subject makes it if it is empty.
	Prepared *prepared
	// PrepareOnly ends the job before the operation.
	PrepareOnly bool
	// Alone is whether nothing else runs, so that the memory is that of the job.
	Alone bool
	// Beside has a good call of another site made again and again until the process ends.
	Beside bool
}

// world says how a far end is reached.
type world struct {
	Protocol string
	// Good and Bad are the host:port of the far end: one is honest while things are prepared.
	Good, Bad string
	// CA is its authority.
	CA string
	// Shoot and Site are the names.
	Shoot, Site string
	// Credentials are those of the site.
	Credentials map[string]string
}

// prepared is what operations leave for others.
type prepared struct {
	State      *v1alpha1.SiteState           `json:",omitempty"`
	Status     *v1alpha1.SiteStatus          `json:",omitempty"`
	Spec       *v1alpha1.MachineProviderSpec `json:",omitempty"`
	ProviderID string                        `json:",omitempty"`
	Values     map[string]string             `json:",omitempty"`
}

// outcome is what a job came to.
type outcome struct {
	ID string
	// Begun is sent before the operation begins.
	Begun bool `json:",omitempty"`
	// Beside is the problem of the good call beside.
	Beside string `json:",omitempty"`
	// Refused says that the job could not be prepared.
	Refused string `json:",omitempty"`
	// Error is the message of the operation, cut; Length is its length, Class its class.
	Error  string `json:",omitempty"`
	Length int    `json:",omitempty"`
	Class  string `json:",omitempty"`
	// Result is what the operation returned if it had no error.
	Result string `json:",omitempty"`
	// Panic is a panic in the goroutine of the caller.
	Panic string `json:",omitempty"`
	// Late is whether the call did not end in time.
	Late bool `json:",omitempty"`
	// Took is how long it took.
	Took time.Duration
	// Memory is by how many bytes the heap grew.
	Memory uint64 `json:",omitempty"`
	// Prepared is what there is now.
	Prepared *prepared `json:",omitempty"`
}

// operation is one thing that our code does at a far end.
type operation struct {
	part, name string
	// needs are operations that are done before, at an honest far end.
	needs []string
	// mutates is whether it changes something, so that each row needs a world of its own.
	mutates bool
	// own is whether each row needs a far end of its own, which nothing of ours has been at.
	own bool
	// leaves reports whether a request of the good run gets no hostile answer, because it depends on what others do there. Default: none.
	leaves func(shape string) bool
	// tenant is whether a tenant names the far end, so that messages say nothing of what it answers.
	tenant bool
	// silent is whether the messages need not name the site.
	silent bool
	// lenient is whether the result may differ: what is found is only told, or asked for again.
	lenient bool
	// proves is whether an error of ClassNotFound is taken for the proof that something is gone.
	proves bool
	// patient is whether the library waits for minutes, whoever waits for it.
	patient bool
	// repairs is whether what is there is written again if it seems to be something else.
	repairs bool
	// awaits is the request that looks how something goes on that was accepted and is told later, and whose success this is.
	awaits string
	// forces is a write that is made if a gentler one does not help.
	forces string
	run    func(ctx context.Context, s *subject) (any, error)
}

// subject is one site in the process.
type subject struct {
	world
	prepared
	// address is the host:port that is asked.
	address string
	// honest says whether the far end is honest wherever it is, as in a good run.
	honest bool
}

const (
	requestTimeout   = 2 * time.Second
	honestTimeout    = 30 * time.Second
	goodRunTimeout   = 60 * time.Second
	operationTimeout = 7 * time.Second
	// grace is how much later a call may end on a busy machine.
	grace       = 7 * time.Second
	memoryLimit = 64 << 20
	// memoryFatal is when the subject ends itself, so that the machine lives.
	memoryFatal = 320 << 20
	besideLimit = 10 * time.Second
)

func (s *subject) persist(_ context.Context, state *v1alpha1.SiteState) error {
	s.State = state.DeepCopy()
	return nil
}

// good says whether the job is a good run.
func (j *job) good() bool {
	return strings.HasPrefix(j.ID, goodRunPrefix)
}

func operationOf(protocol, name string) *operation {
	for i, o := range protocols[protocol].operations {
		if o.part+"/"+o.name == name {
			return &protocols[protocol].operations[i]
		}
	}
	return nil
}

func runSubject() {
	debug.SetPanicOnFault(true)
	klog.LogToStderr(true)
	logf.SetLogger(klog.Background())
	var (
		mutex   sync.Mutex
		encoder = json.NewEncoder(os.Stdout)
		group   sync.WaitGroup
		tell    = func(o outcome) {
			mutex.Lock()
			defer mutex.Unlock()
			_ = encoder.Encode(o)
		}
	)
	lines := bufio.NewReaderSize(os.Stdin, 1<<20)
	for {
		line, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			break
		}
		var j job
		if err := json.Unmarshal(line, &j); err != nil {
			fmt.Fprintln(os.Stderr, "job:", err)
			os.Exit(3)
		}
		if j.Beside {
			go beside(j, tell)
			continue
		}
		group.Go(func() { tell(do(j, tell)) })
	}
	group.Wait()
}

// beside makes a good call again and again.
func beside(j job, tell func(outcome)) {
	s := &subject{world: j.World, address: j.World.Good, prepared: *j.Prepared}
	operation := operationOf(j.World.Protocol, j.Operation)
	pause := time.NewTicker(200 * time.Millisecond)
	defer pause.Stop()
	for {
		ctx, cancel := context.WithTimeout(context.Background(), besideLimit)
		if _, err := operation.run(ctx, s); err != nil {
			tell(outcome{ID: j.ID, Beside: cut(err.Error(), 300)})
		}
		cancel()
		<-pause.C // how often it calls, and no wait for anything
	}
}

func do(j job, tell func(outcome)) (result outcome) {
	result.ID = j.ID
	operation := operationOf(j.World.Protocol, j.Operation)
	if operation == nil {
		result.Refused = "there is no operation " + j.Operation
		return result
	}
	s := &subject{world: j.World, address: j.World.Good}
	if j.Prepared != nil {
		s.prepared = *j.Prepared
	} else if err := s.prepare(operation); err != nil {
		result.Refused = cut(err.Error(), 600)
		return result
	}
	result.Prepared = &s.prepared
	if j.PrepareOnly {
		return result
	}
	s.honest = j.good()
	moved, err := s.moved(j.World.Good, j.World.Bad)
	if err != nil {
		result.Refused = err.Error()
		return result
	}
	s = moved
	tell(outcome{ID: j.ID, Begun: true})

	type end struct {
		value any
		err   error
		panic string
	}
	ends := make(chan end, 1)
	stop := func() uint64 { return 0 }
	if j.Alone {
		stop = watchMemory(j.ID, tell)
	}
	start := time.Now()
	timeout := operationTimeout
	if j.good() {
		// How long an honest far end takes on a busy machine says nothing of our code.
		timeout = goodRunTimeout
	}
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	go func() {
		var e end
		defer func() {
			if p := recover(); p != nil {
				e.panic = fmt.Sprintf("%v at %s", p, frame(debug.Stack()))
			}
			ends <- e
		}()
		e.value, e.err = operation.run(ctx, s)
	}()
	timer := time.NewTimer(timeout + grace)
	defer timer.Stop()
	select {
	case e := <-ends:
		result.Took = time.Since(start)
		result.Panic = e.panic
		switch {
		case e.err != nil:
			message := e.err.Error()
			result.Error, result.Length, result.Class = cut(message, 4096), len(message), string(platform.ClassOf(e.err))
			if platform.IsProgress(e.err) {
				result.Class = platform.Progress
			}
		default:
			raw, _ := json.Marshal(e.value)
			result.Result = string(raw)
		}
	case <-timer.C:
		result.Late, result.Took = true, time.Since(start)
	}
	result.Memory = stop()
	result.Prepared = nil
	if j.good() {
		result.Prepared = &s.prepared
	}
	return result
}

// prepare does what the operation needs.
func (s *subject) prepare(o *operation) error {
	for _, name := range o.needs {
		ctx, cancel := context.WithTimeout(context.Background(), goodRunTimeout)
		_, err := operationOf(s.Protocol, name).run(ctx, s)
		cancel()
		if err != nil && !platform.IsProgress(err) {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// moved returns the subject at another address: nothing that it knows names the old one.
func (s *subject) moved(from, to string) (*subject, error) {
	raw, err := json.Marshal(s.prepared)
	if err != nil {
		return nil, err
	}
	result := &subject{world: s.world, address: to, honest: s.honest}
	text := strings.NewReplacer(from, to, "\"requestTimeout\":\""+honestTimeout.String(),
		"\"requestTimeout\":\""+result.timeout().String()).Replace(string(raw))
	return result, json.Unmarshal([]byte(text), &result.prepared)
}

// frame returns the first function of ours in the stack.
func frame(stack []byte) string {
	for line := range strings.SplitSeq(string(stack), "\n") {
		if strings.Contains(line, "provider-hybrid/pkg/") && strings.Contains(line, "(") && !strings.HasPrefix(line, "\t") {
			_, short, _ := strings.Cut(line, "provider-hybrid/")
			name, _, _ := strings.Cut(short, "(0x")
			return name
		}
	}
	return "?"
}

func heap() uint64 {
	samples := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}, {Name: "/memory/classes/heap/stacks:bytes"}}
	metrics.Read(samples)
	return samples[0].Value.Uint64() + samples[1].Value.Uint64()
}

// watchMemory looks at the heap every two milliseconds. What is returned says by how much it has grown at most. As in a container, garbage
// is collected rather than the limit passed.
func watchMemory(id string, tell func(outcome)) func() uint64 {
	debug.FreeOSMemory()
	samples := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(samples)
	inUse := samples[0].Value.Uint64() - samples[1].Value.Uint64()
	limit := debug.SetMemoryLimit(int64(inUse + memoryLimit*3/4)) // #nosec G115 -- less than the machine has
	var (
		before = heap()
		done   = make(chan struct{})
		result = make(chan uint64)
	)
	go func() {
		var most uint64
		ticker := time.NewTicker(2 * time.Millisecond)
		defer ticker.Stop()
		for {
			if now := heap(); now > before {
				most = max(most, now-before)
			}
			if most > memoryFatal {
				tell(outcome{ID: id, Memory: most, Error: "the subject ended itself"})
				os.Exit(4)
			}
			select {
			case <-ticker.C:
			case <-done:
				result <- most
				return
			}
		}
	}()
	return func() uint64 {
		defer debug.SetMemoryLimit(limit)
		close(done)
		return <-result
	}
}

func cut(text string, length int) string {
	if len(text) <= length {
		return text
	}
	return text[:length]
}
