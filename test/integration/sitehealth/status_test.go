// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package sitehealth_test

import (
	"context"
	"encoding/json"
	"errors"
	"os/exec"
	"sync"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/lists"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/controller/sitehealth"
	"github.com/gardener/gardener-extension-provider-hybrid/test/sitefaults"
)

// statusCommand is hybridctl status with JSON as its output.
func statusCommand(ctx context.Context, arguments ...string) *exec.Cmd {
	arguments = append([]string{"status", "-o", "json", "--seed-kubeconfig", lab.Shoot.Seed.Cluster.Kubeconfig, "-n", lab.Shoot.Name,
		"--metrics-url", lab.Metrics}, arguments...)
	command := exec.CommandContext(ctx, hybridctl, arguments...) // #nosec G204 -- a program of ours
	command.Stderr = GinkgoWriter
	return command
}

// status returns the report and the exit code of hybridctl status.
func status(ctx context.Context) (*v1alpha1.StatusReport, int) {
	GinkgoHelper()
	output, err := statusCommand(ctx).Output()
	code := 0
	if failed := (*exec.ExitError)(nil); errors.As(err, &failed) {
		code = failed.ExitCode()
	} else {
		Expect(err).NotTo(HaveOccurred())
	}
	report := &v1alpha1.StatusReport{}
	Expect(json.Unmarshal(output, report)).To(Succeed(), string(output))
	return report, code
}

// follow runs hybridctl status -w until the spec ends, and returns a function that returns its last report.
func follow(ctx context.Context) func() *v1alpha1.StatusReport {
	GinkgoHelper()
	command := statusCommand(ctx, "--watch")
	output, err := command.StdoutPipe()
	Expect(err).NotTo(HaveOccurred())
	Expect(command.Start()).To(Succeed())
	var (
		mutex sync.Mutex
		last  *v1alpha1.StatusReport
		group sync.WaitGroup
	)
	group.Go(func() {
		for decoder := json.NewDecoder(output); ; {
			report := &v1alpha1.StatusReport{}
			if decoder.Decode(report) != nil {
				return // It was killed.
			}
			mutex.Lock()
			last = report
			mutex.Unlock()
		}
	})
	DeferCleanup(func() {
		Expect(command.Process.Kill()).To(Succeed())
		group.Wait()
		_ = command.Wait()
	})
	return func() *v1alpha1.StatusReport {
		mutex.Lock()
		defer mutex.Unlock()
		return last
	}
}

// reasonsOf returns the reasons of the conditions about the availability of sites, or else about their room, by their names.
func reasonsOf(report *v1alpha1.StatusReport) map[string]string {
	reasons := map[string]string{}
	for _, site := range report.Sites {
		for _, condition := range site.Conditions {
			room := condition.Type+"-" == sitehealth.RoomConditionPrefix && condition.Status == string(gardencorev1beta1.ConditionFalse)
			if condition.Type+"-" == sitehealth.ConditionPrefix && reasons[site.Name] == "" || room {
				reasons[site.Name] = condition.Reason
			}
		}
	}
	return reasons
}

// expectReported expects that the report names the disturbed sites, for which there are reasons, and no others.
func expectReported(report *v1alpha1.StatusReport, disturbed map[string]string) {
	GinkgoHelper()
	expected := map[string]string{}
	for _, site := range sitefaults.Sites() {
		expected[site] = sitehealth.ReasonAvailable
		if reason, ok := disturbed[site]; ok {
			expected[site] = reason
		}
	}
	Expect(reasonsOf(report)).To(Equal(expected))
}

// roomOf returns the names of the resources of a site.
func roomOf(report *v1alpha1.StatusReport, name string) []string {
	site := lists.Find(report.Sites, func(s *v1alpha1.StatusSite) bool { return s.Name == name })
	Expect(site).NotTo(BeNil())
	return lists.Map(site.Room, func(r v1alpha1.StatusRoom) string { return r.Resource })
}
