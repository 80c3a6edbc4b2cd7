// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

var _ = Describe("runner", func() {
	var (
		ctx    context.Context
		path   string
		r      *runner
		called []string
	)

	BeforeEach(func() {
		ctx = context.Background()
		path = filepath.Join(GinkgoT().TempDir(), "out")
		file, err := os.Create(path)
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(file.Close)
		r = &runner{screen: newScreen(file), start: time.Now()}
		called = nil
	})

	named := func(name string, err error) step {
		return step{name: name, run: func(context.Context) error {
			called = append(called, name)
			return err
		}}
	}
	results := func() map[string]string {
		byStep := map[string]string{}
		for _, res := range r.results {
			byStep[res.Step] = res.Result
		}
		return byStep
	}

	It("should run steps in order and say the result in the last line", func() {
		Expect(r.run(ctx, []step{named("a", nil), named("b", nil)})).To(Succeed())
		Expect(called).To(Equal([]string{"a", "b"}))
		r.summary(nil)
		Expect(os.ReadFile(path)).To(MatchRegexp(`(?s)STEP.*a +ok.*b +ok.*\ndemo: PASSED in \w+\n$`))
	})

	It("should skip what comes after a failure, except what always runs", func() {
		always, undo := named("always", nil), named("undo", nil)
		always.always, undo.undo = true, true
		err := r.run(ctx, []step{named("a", errors.New("broken\ndetails")), named("b", nil), undo, always})
		Expect(err).To(MatchError(HavePrefix("a: broken")))
		Expect(called).To(Equal([]string{"a", "always"}))
		Expect(results()).To(Equal(map[string]string{"a": "failed", "b": "skipped", "always": "ok"}))
		Expect(r.verdict(err)).To(HavePrefix("demo: FAILED: a: broken (after"))
		Expect(os.ReadFile(path)).To(ContainSubstring("details"))
	})

	It("should end parallel steps when one fails", func() {
		waits := step{name: "waits", run: func(ctx context.Context) error {
			<-ctx.Done()
			return ctx.Err()
		}}
		err := r.run(ctx,
			[]step{{name: "both", parallel: []step{waits, {name: "fails", run: func(context.Context) error { return errors.New("broken") }}}}})
		Expect(err).To(MatchError("fails: broken"))
		Expect(results()).To(Equal(map[string]string{"waits": "failed", "fails": "failed"}))
	})

	It("should write the results as JSON", func() {
		Expect(r.run(ctx, []step{named("a", nil)})).To(Succeed())
		out := &bytes.Buffer{}
		r.printJSON(out, nil)
		var document struct {
			Result string
			Steps  []result
		}
		Expect(json.Unmarshal(out.Bytes(), &document)).To(Succeed())
		Expect(document.Result).To(Equal("PASSED"))
		Expect(document.Steps).To(ConsistOf(HaveField("Step", "a")))
	})
})

var _ = Describe("screen", func() {
	It("should align columns and cut lines by characters", func() {
		Expect(columns([][]string{{"SITE", "ZONE"}, {"größer", "z"}})).To(Equal([]string{"SITE    ZONE", "größer  z"}))
		Expect(cut("größer", 3)).To(Equal("grö"))
		Expect(cut("a", 3)).To(Equal("a"))
	})

	It("should print a table again only when it changed", func() {
		path := filepath.Join(GinkgoT().TempDir(), "out")
		file, err := os.Create(path)
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(file.Close)
		s := newScreen(file)
		s.show([]string{"one"}, "waiting")
		s.show([]string{"one"}, "still waiting")
		s.show([]string{"two"}, "waiting")
		Expect(os.ReadFile(path)).To(BeEquivalentTo("    one\n    waiting\n    two\n    waiting\n"))
	})
})
