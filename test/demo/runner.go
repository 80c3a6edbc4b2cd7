// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"
)

// step is a part of the demo.
type step struct {
	name string
	// run does the step. A step with parallel has none.
	run func(context.Context) error
	// parallel are steps that run at the same time.
	parallel []step
	// always lets a step run although one before it failed.
	always bool
	// undo marks steps that clean-up does if they are skipped here.
	undo bool
}

// result is what became of a step.
type result struct {
	// Step is the name of the step.
	Step string `json:"step"`
	// Result is ok, failed, left out or skipped.
	Result string `json:"result"`
	// Seconds is how long the step took.
	Seconds float64 `json:"seconds"`
	// Error says why the step failed.
	Error string `json:"error,omitempty"`
}

// errLeftOut is the error of a step that is not possible here and that the others do without.
var errLeftOut = errors.New("left out")

// runner runs steps and keeps their results.
type runner struct {
	screen *screen
	start  time.Time

	mu      sync.Mutex
	results []result
}

// run runs the steps in order. The first error ends the run, except for steps that always run, and is returned.
func (r *runner) run(ctx context.Context, steps []step) error {
	var first error
	for _, s := range steps {
		if (first != nil || ctx.Err() != nil) && !s.always {
			if !s.undo {
				r.add(result{Step: s.name, Result: "skipped"})
			}
			continue
		}
		if err := r.one(ctx, s); err != nil && first == nil {
			first = err
		}
	}
	return first
}

func (r *runner) one(ctx context.Context, s step) error {
	if len(s.parallel) > 0 {
		return r.group(ctx, s.parallel)
	}
	start := time.Now()
	r.screen.print(fmt.Sprintf("==> %s", s.name))
	err := s.run(ctx)
	took := time.Since(start)
	if errors.Is(err, errLeftOut) {
		r.add(result{Step: s.name, Result: "left out", Seconds: took.Seconds(), Error: err.Error()})
		r.screen.print("    " + err.Error())
		return nil
	}
	if err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		r.add(result{Step: s.name, Result: "failed", Seconds: took.Seconds(), Error: err.Error()})
		r.screen.print(fmt.Sprintf("    %s: FAILED after %s: %v", s.name, took.Round(100*time.Millisecond), err))
		return fmt.Errorf("%s: %w", s.name, err)
	}
	r.add(result{Step: s.name, Result: "ok", Seconds: took.Seconds()})
	r.screen.print(fmt.Sprintf("    %s: done in %s", s.name, took.Round(100*time.Millisecond)))
	return nil
}

// group runs steps at the same time. The first error ends the others.
func (r *runner) group(ctx context.Context, steps []step) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var (
		group sync.WaitGroup
		once  sync.Once
		first error
	)
	for _, s := range steps {
		group.Go(func() {
			if err := r.one(ctx, s); err != nil {
				once.Do(func() { first = err })
				cancel()
			}
		})
	}
	group.Wait()
	return first
}

func (r *runner) add(res result) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.results = append(r.results, res)
}

// summary prints the steps and, in the last line, the result.
func (r *runner) summary(err error) {
	rows := [][]string{{"STEP", "RESULT", "TIME"}}
	for _, res := range r.results {
		rows = append(rows, []string{res.Step, res.Result, seconds(res.Seconds)})
	}
	r.screen.print("\n" + strings.Join(columns(rows), "\n") + "\n")
	r.screen.print(r.verdict(err))
}

// verdict is the result of the demo in one line.
func (r *runner) verdict(err error) string {
	took := time.Since(r.start).Round(time.Second)
	if err != nil {
		line, _, _ := strings.Cut(err.Error(), "\n")
		return fmt.Sprintf("demo: FAILED: %s (after %s)", line, took)
	}
	return fmt.Sprintf("demo: PASSED in %s", took)
}

// printJSON writes the results as one JSON document.
func (r *runner) printJSON(w io.Writer, err error) {
	verdict := "PASSED"
	if err != nil {
		verdict = "FAILED"
	}
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(struct {
		Result  string   `json:"result"`
		Seconds float64  `json:"seconds"`
		Message string   `json:"message"`
		Steps   []result `json:"steps"`
	}{verdict, time.Since(r.start).Seconds(), r.verdict(err), r.results}); err != nil {
		r.screen.print(err.Error())
	}
}

func seconds(s float64) string {
	if s == 0 {
		return "-"
	}
	return fmt.Sprintf("%.1f s", s)
}
