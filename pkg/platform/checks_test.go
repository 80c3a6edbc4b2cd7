// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package platform_test

import (
	"context"
	"sync"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/util/validation/field"

	. "github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
)

var _ = Describe("Findings", func() {
	failed := func(class Class, path *field.Path, is string) Finding {
		return Finding{State: Failed, Class: class, Field: path.String(), Is: is}
	}
	var (
		pools    = field.NewPath("pools")
		mistake  = failed(ClassConfiguration, field.NewPath("network"), `Not found: "n"`)
		shortage = failed(ClassQuota, pools.Index(0), "Forbidden: needs 12 cores, the quota leaves 8")
		another  = failed(ClassQuota, pools.Index(1), "Forbidden: needs 2 cores, the quota leaves none")
	)

	DescribeTable("#Err",
		func(class Class, message string, found ...Finding) {
			err := Findings{Found: found}.Err()
			Expect(err).To(MatchError(message))
			Expect(ClassOf(err)).To(Equal(class))
		},
		Entry("a mistake", ClassConfiguration, `network: Not found: "n"`, mistake),
		Entry("shortages", ClassQuota,
			"pools[0]: Forbidden: needs 12 cores, the quota leaves 8\npools[1]: Forbidden: needs 2 cores, the quota leaves none", shortage, another),
		Entry("both", ClassConfiguration, "network: Not found: \"n\"\npools[0]: Forbidden: needs 12 cores, the quota leaves 8",
			shortage, mistake),
	)

	It("are no error if they only warn", func() {
		findings := Findings{Found: []Finding{{State: Warning, Field: "a", Is: "tight"}, {State: Unknown, Is: "hidden"}, {State: Skipped}}}
		Expect(findings.Err()).To(Succeed())
		Expect(findings.Warnings()).To(HaveExactElements("a: tight", "hidden"))
	})
})

var _ = Describe("Checks", func() {
	var (
		made  []string
		mutex sync.Mutex
		path  = field.NewPath("a")
	)

	BeforeEach(func() { made = nil })

	check := func(id string, run func(*Result) error, needs ...string) CheckOf[string] {
		return CheckOf[string]{Check: Check{ID: id, Needs: needs}, Run: func(_ string, _ context.Context, result *Result) error {
			mutex.Lock()
			defer mutex.Unlock()
			made = append(made, id)
			return run(result)
		}}
	}
	fine := func(*Result) error { return nil }
	fail := func(result *Result) error {
		result.Invalid(path, "x", "is %d", 1)
		return nil
	}
	warn := func(result *Result) error {
		result.Warn(path, "is %d", 1)
		return nil
	}
	returning := func(err error) func(*Result) error { return func(*Result) error { return err } }
	states := func(findings Findings) []string {
		var result []string
		for _, found := range findings.Found {
			result = append(result, found.Check.ID+" "+string(found.State))
		}
		return result
	}

	It("should be made if what they need is fine or only warns, and be told in their order", func(ctx SpecContext) {
		checks := Checks[string]{check("a", fine), check("b", warn, "a"), check("c", fail, "b")}
		findings, err := checks.Run(ctx, "", nil)
		Expect(err).NotTo(HaveOccurred())
		Expect(made).To(HaveExactElements("a", "b", "c"))
		Expect(findings.Checks).To(Equal(checks.List()))
		Expect(states(findings)).To(HaveExactElements("b Warning", "c Failed"))
		Expect(findings.Err()).To(MatchError(`a: Invalid value: "x": is 1`))
	})

	DescribeTable("should stop at the first cause", func(ctx SpecContext, run func(*Result) error, state CheckState, message string) {
		findings, err := Checks[string]{check("a", run), check("b", fine, "a"), check("c", fine, "b"), check("d", fine)}.Run(ctx, "", nil)
		Expect(made).To(ConsistOf("a", "d"))
		Expect(states(findings)).To(HaveExactElements("a "+string(state), "b Unknown", "c Unknown"))
		Expect(findings.Found[2].Is).To(Equal("not checked, because a failed"))
		Expect(findings.Found[2].Cause).To(Equal("a"))
		Expect(findings.Warnings()).To(BeEmpty())
		if message == "" {
			Expect(err).NotTo(HaveOccurred())
			return
		}
		Expect(err).To(MatchError(message))
		Expect(findings.Err()).NotTo(HaveOccurred())
	},
		Entry("a failure", fail, Failed, ""),
		Entry("refused credentials", returning(NewError(ClassUnauthenticated, "who?")), Failed, "who?"),
		Entry("a site that does not answer", returning(NewError(ClassTransient, "away")), Unknown, "away"),
		Entry("a panic", func(*Result) error { panic("oh") }, Unknown, "internal error, see the log"),
	)

	DescribeTable("should be skipped", func(ctx SpecContext, a func(*Result) error, skip []string, want, wantMade []string) {
		findings, _ := Checks[string]{check("a", a), check("b", fail, "a")}.Run(ctx, "", skip)
		Expect(states(findings)).To(HaveExactElements(want))
		Expect(made).To(HaveExactElements(wantMade))
	},
		Entry("if nothing needs them", fine, []string{"b"}, []string{"b Skipped"}, []string{"a"}),
		Entry("but be made if others need them", fail, []string{"a"}, []string{"a Skipped", "b Failed"}, []string{"a", "b"}),
		Entry("but stop others if they cannot be made", returning(NewError(ClassTransient, "away")), []string{"a"},
			[]string{"a Skipped", "b Unknown"}, []string{"a"}),
	)

	It("should tell once what several say", func(ctx SpecContext) {
		away := returning(NewError(ClassTransient, "away"))
		_, err := Checks[string]{check("a", away), check("b", away)}.Run(ctx, "", nil)
		Expect(err).To(MatchError("away"))
	})
})
