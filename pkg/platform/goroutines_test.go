// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package platform_test

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/klog/v2"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
)

var _ = Describe("Goroutines", func() {
	type answer struct{ value *struct{ name string } }
	read := func(a *answer) string { return a.value.name }

	beInternal := SatisfyAll(
		MatchError("internal error, see the log"),
		WithTransform(platform.ClassOf, Equal(platform.ClassTransient)),
	)

	It("should make errors of panics, each in its place", func() {
		errs := platform.Each(3, func(i int) error {
			switch i {
			case 0:
				return errors.New("wrong")
			case 1:
				read(nil)
			}
			return nil
		})
		Expect(errs).To(HaveExactElements(MatchError("wrong"), beInternal, BeNil()))
	})

	It("should answer with an error instead of a panic", func() {
		Expect((<-platform.Ask(func() (string, error) { return read(&answer{}), nil })).Err).To(beInternal)
		Expect(<-platform.Ask(func() (string, error) { return "a", nil })).To(Equal(platform.Answer[string]{Value: "a"}))
	})

	It("should give all who share a result the error of a panic", func(ctx SpecContext) {
		var (
			shared  platform.Shared[*answer]
			started = make(chan struct{})
			release = make(chan struct{})
		)
		first := platform.Ask(func() (*answer, error) {
			return shared.Do(ctx, "key", func(context.Context) (*answer, error) {
				close(started)
				<-release
				panic("at the answer")
			})
		})
		Eventually(started).Should(BeClosed())
		gone, cancel := context.WithCancel(ctx)
		cancel()
		_, err := shared.Do(gone, "key", nil)
		Expect(err).To(MatchError(context.Canceled))
		close(release)
		Expect((<-first).Err).To(beInternal)
		Expect(shared.Do(ctx, "key", func(context.Context) (*answer, error) { return &answer{}, nil })).To(Equal(&answer{}))
	})

	It("should not end what is shared with the call that began it", func(ctx SpecContext) {
		var shared platform.Shared[int]
		calling, cancel := context.WithCancel(ctx)
		Expect(shared.Do(calling, "", func(ctx context.Context) (int, error) {
			cancel()
			return 1, ctx.Err()
		})).Error().To(Or(Not(HaveOccurred()), MatchError(ContainSubstring("no answer yet"))))
	})

	It("should log where the panic was in one short line", func() {
		var log bytes.Buffer
		flags := flag.NewFlagSet("klog", flag.ContinueOnError)
		klog.InitFlags(flags)
		Expect(flags.Set("logtostderr", "false")).To(Succeed())
		Expect(flags.Set("one_output", "true")).To(Succeed())
		DeferCleanup(func() { Expect(flags.Set("logtostderr", "true")).To(Succeed()) })
		klog.SetOutput(&log)
		Expect(platform.Try(func() error { panic(strings.Repeat("long\n", 1000)) })).To(beInternal)
		klog.Flush()
		Expect(log.String()).To(ContainSubstring("platform_test.init.func"))
		Expect(len(log.String())).To(BeNumerically("<", 1024))
		Expect(strings.Count(log.String(), "\n")).To(Equal(1))
	})

	// A panic of a goroutine ends the process unless that goroutine recovers from it, so who begins one has to think of that.
	It("should be begun by this package alone where sites are asked", func() {
		harmless := map[string]string{
			"pkg/cloudprovider/manager.go":                  "controllers recover from panics, and what they call is recovered by call and open",
			"pkg/cloudprovider/services.go":                 "the same",
			"pkg/csi/metrics.go":                            "net/http recovers from panics of handlers",
			"pkg/controller/sitehealth/probers.go":          "asks with platform.Ask",
			"pkg/controller/sitehealth/inspectors.go":       "asks with platform.Ask",
			"pkg/controller/worker/waiting.go":              "reads from the seed",
			"pkg/platform/goroutines.go":                    "",
			"pkg/platform/kubernetes/cache.go":              "client-go's informers",
			"pkg/platform/sessions/set.go":                  "keeps safely",
			"pkg/platform/vsphere/client/tasks.go":          "looks safely",
			"pkg/controller/worker/machine_classes.go":      "writes into the seed",
			"pkg/controller/worker/class_annotations.go":    "writes into the seed",
			"pkg/controller/worker/forcedelete.go":          "deletes safely",
			"pkg/platform/vsphere/machines/antiaffinity.go": "updateRule recovers",
			"pkg/platform/vsphere/machines/background.go":   "creates safely, and recovers",
		}
		Expect(goroutinesBelow(".", "../controller", "../machine", "../csi", "../cloudprovider", "../dns")).To(ConsistOf(keysOf(harmless)))
	})
})

func keysOf(m map[string]string) []string {
	var keys []string
	for key := range m {
		keys = append(keys, key)
	}
	return keys
}

// goroutinesBelow returns the files of the product that begin goroutines by themselves.
func goroutinesBelow(folders ...string) []string {
	var files []string
	for _, folder := range folders {
		ExpectWithOffset(1, filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
			if err != nil {
				return err
			}
			if beginsGoroutine(file) {
				files = append(files, filepath.ToSlash(filepath.Join("pkg/platform", path)))
			}
			return nil
		})).To(Succeed())
	}
	return files
}

func beginsGoroutine(file *ast.File) bool {
	found := false
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			found = true
		case *ast.SelectorExpr:
			switch n.Sel.Name {
			case "Go", "DoChan", "TryGo", "Parallel", "ParallelN":
				found = true
			}
		}
		return !found
	})
	return found
}
