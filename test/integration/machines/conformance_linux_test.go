// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package machines_test

import (
	"context"
	_ "embed"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	"github.com/onsi/ginkgo/v2/types"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/images"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/shoot"
)

// conformanceTime is how long the tests of one part of Kubernetes take at most.
const conformanceTime = 30 * time.Minute

var (
	// conformanceTests says which of Kubernetes' tests run, and why others do not.
	//
	//go:embed conformance.yaml
	conformanceTests []byte
	// testedDriver is what Kubernetes' tests for drivers of volumes need to know.
	//
	//go:embed driver.yaml
	testedDriver []byte

	// shellTools are the programs that the tests run in their pods, beside those of most images.
	shellTools = slices.Concat(images.Base, []string{"/usr/bin/base64", "/usr/bin/basename", "/usr/bin/chmod", "/usr/bin/chown",
		"/usr/bin/cp", "/usr/bin/cut", "/usr/bin/dirname", "/usr/bin/echo", "/usr/bin/env", "/usr/bin/false", "/usr/bin/find",
		"/usr/bin/grep", "/usr/bin/head", "/usr/bin/hostname", "/usr/bin/id", "/usr/bin/ln", "/usr/bin/ls", "/usr/bin/mkdir",
		"/usr/bin/mktemp", "/usr/bin/mount", "/usr/bin/nc", "/usr/bin/printf", "/usr/bin/readlink", "/usr/bin/rm", "/usr/bin/rmdir",
		"/usr/bin/seq", "/usr/bin/sort", "/usr/bin/stat", "/usr/bin/tee", "/usr/bin/test", "/usr/bin/timeout", "/usr/bin/touch",
		"/usr/bin/tr", "/usr/bin/true", "/usr/bin/umount", "/usr/bin/uname", "/usr/bin/wc", "/usr/bin/which"})
	// netTools are those with which they ask other pods.
	netTools = slices.Concat(shellTools, []string{"/usr/bin/curl", "/usr/bin/dig", "/usr/bin/getent", "/usr/bin/ss"})
)

// conformance is the file that says which of Kubernetes' tests run.
type conformance struct {
	// Run are the names of the tests that run, by parts.
	Run map[string][]string `json:"run"`
	// Omit says why other tests of conformance do not.
	Omit []struct {
		Tests  string `json:"tests"`
		Reason string `json:"reason"`
	} `json:"omit"`
}

// conformanceImages are the images of the tests' pods, of Debian where they are of Alpine and BusyBox.
func conformanceImages() map[string]images.Contents {
	const registry = "registry.k8s.io/e2e-test-images/"
	sleep := []string{"/usr/bin/sleep", "infinity"}
	return map[string]images.Contents{
		registry + "agnhost:2.63.0": {Programs: netTools, Entrypoint: []string{"/agnhost"}, Arguments: []string{"pause"},
			Files: map[string]string{"/agnhost": filepath.Join(landscape.Root(), "hack", "bin", "agnhost")}},
		registry + "busybox:1.37.0-1": {Programs: shellTools, Entrypoint: sleep,
			Files: map[string]string{"/usr/bin/sysctl": filepath.Join(images.Debian(), "usr", "sbin", "sysctl")}},
		registry + "glibc-dns-testing:2.0.0": {Programs: netTools, Entrypoint: sleep},
		registry + "nginx:1.15-4":            {Programs: shellTools, Entrypoint: sleep},
	}
}

// conformanceSpecs need nodes that are ready, which addressOf finds, and the driver for Cinder.
func conformanceSpecs(addressOf func(ctx context.Context, pool string) (name, address string)) {
	bin := filepath.Join(landscape.Root(), "hack", "bin")
	wanted := &conformance{}
	if err := yaml.UnmarshalStrict(conformanceTests, wanted); err != nil {
		panic(err)
	}
	var driver string
	e2e := func(ctx context.Context, args ...string) *exec.Cmd {
		command := exec.CommandContext(ctx, filepath.Join(bin, "kubernetes-e2e"), append([]string{"--provider=skeleton",
			"--kubeconfig=" + lab.shoot.Seed.Cluster.Kubeconfig, "--kubectl-path=" + filepath.Join(bin, "kubectl"),
			"--storage.testdriver=" + driver}, args...)...)
		command.Dir = lab.dir
		command.Cancel = func() error { return command.Process.Signal(os.Interrupt) }
		command.WaitDelay = stopTimeout
		return command
	}

	BeforeAll(func(ctx SpecContext) {
		driver = filepath.Join(lab.dir, "driver.yaml")
		Expect(os.WriteFile(driver, testedDriver, 0o600)).To(Succeed())
		Expect(images.Put(ctx, lab.images, conformanceImages())).To(Succeed())
		// In place of Gardener's tunnel, the API server reaches pods through a node, and kubelets of servers with an address of another
		// site's nodes: tests read what pods write, and run commands in them.
		_, node := addressOf(ctx, shoot.MetalSites[0])
		gateway, err := lab.stack.translate(ctx, false)
		Expect(err).NotTo(HaveOccurred())
		servers := fmt.Sprintf("route replace %s via %s", stackNodes, gateway)
		Expect(own(fmt.Sprintf("route replace %s via %s", podRange, node), servers+" src "+lab.rack.Network.Gateway.String())).To(Succeed())
		DeferCleanup(own, "route del "+podRange, servers)
	})

	It("should name or omit with a reason each of Kubernetes' end-to-end tests of conformance", func(ctx SpecContext) {
		out, err := e2e(ctx, "--list-tests").Output()
		Expect(err).NotTo(HaveOccurred())
		chosen := slices.Concat(slices.Collect(maps.Values(wanted.Run))...)
		found, used := map[string]int{}, map[int]bool{}
		var omitted []*regexp.Regexp
		for _, omit := range wanted.Omit {
			omitted = append(omitted, regexp.MustCompile(omit.Tests))
		}
		for line := range strings.Lines(string(out)) {
			_, test, ok := strings.Cut(strings.TrimSpace(line), ": ")
			if !ok {
				continue
			}
			if slices.Contains(chosen, test) {
				found[test]++
				continue
			}
			if !strings.HasSuffix(test, "[Conformance]") {
				continue
			}
			first := slices.IndexFunc(omitted, func(e *regexp.Regexp) bool { return e.MatchString(test) })
			Expect(first).To(BeNumerically(">=", 0), test)
			used[first] = true
		}
		for _, test := range chosen {
			Expect(found).To(HaveKeyWithValue(test, 1))
		}
		Expect(used).To(HaveLen(len(omitted)))
	}, SpecTimeout(specTime))

	for _, part := range slices.Sorted(maps.Keys(wanted.Run)) {
		It("should pass those of Kubernetes' end-to-end tests that are chosen: "+part, func(ctx SpecContext) {
			var focus []string
			for _, test := range wanted.Run[part] {
				focus = append(focus, regexp.QuoteMeta(test))
			}
			report, log := filepath.Join(lab.dir, part+".json"), filepath.Join(lab.dir, part+".log")
			output, err := os.Create(log)
			Expect(err).NotTo(HaveOccurred())
			DeferCleanup(output.Close)
			command := e2e(ctx, "--ginkgo.focus=^Kubernetes e2e suite ("+strings.Join(focus, "|")+")$", "--ginkgo.json-report="+report,
				"--ginkgo.no-color")
			command.Stdout, command.Stderr = output, output
			failure := command.Run()
			passed, err := passedTests(report)
			Expect(err).NotTo(HaveOccurred(), "%v: %s", failure, log)
			Expect(failure).NotTo(HaveOccurred(), log)
			Expect(passed).To(ConsistOf(wanted.Run[part]))
		}, SpecTimeout(conformanceTime))
	}
}

// passedTests returns the names of the tests that a report says passed. It reports those that ran.
func passedTests(file string) ([]string, error) {
	raw, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var reports []types.Report
	if err := json.Unmarshal(raw, &reports); err != nil {
		return nil, err
	}
	var passed []string
	for _, report := range reports {
		for _, spec := range report.SpecReports {
			if spec.LeafNodeType != types.NodeTypeIt || spec.State.Is(types.SpecStateSkipped) && spec.Failure.Message == "" {
				continue
			}
			AddReportEntry(spec.FullText(), fmt.Sprintf("%s after %.0f s. %s", spec.State, spec.RunTime.Seconds(), spec.Failure.Message))
			if spec.State.Is(types.SpecStatePassed) {
				passed = append(passed, spec.FullText())
			}
		}
	}
	return passed, nil
}
