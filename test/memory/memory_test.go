// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package memory

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/gardener/gardener-extension-provider-hybrid/test/suite"
)

func TestMemory(t *testing.T) {
	suite.Run(t, "Memory Suite")
}

var _ = Describe("memory", func() {
	It("should be read from /proc", func() {
		Expect(parse([]byte("Name:\tx\nVmRSS:\t    2048 kB\nRssAnon:\t    1024 kB\n"))).To(Equal(Usage{Resident: 2 * MiB, Anonymous: MiB}))
		_, err := parse([]byte("Name:\tx\n"))
		Expect(err).To(MatchError(ContainSubstring("no VmRSS")))
		usage, err := Of(os.Getpid())
		Expect(err).NotTo(HaveOccurred())
		Expect(usage.Resident).To(BeNumerically(">", usage.Anonymous))
	})

	DescribeTable("figures", func(values []int64, peak, percentile float64) {
		for i := range values {
			values[i] *= MiB
		}
		Expect(figures(values)).To(Equal(Figures{PeakMiB: peak, Percentile95MiB: percentile}))
	},
		Entry("of one sample", []int64{7}, 7.0, 7.0),
		Entry("of few", []int64{3, 9, 1}, 9.0, 9.0),
		Entry("of twenty, where one is above", []int64{50, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19}, 50.0, 19.0),
	)

	It("should be sampled of the processes that run, and kept", func() {
		ctx, cancel := context.WithTimeout(context.Background(), Period/2)
		defer cancel()
		s := &Sampler{}
		s.Run(ctx, func() []Process {
			return []Process{{Deployment: "b", Container: "own", PID: os.Getpid()}, {Deployment: "a", Container: "own", PID: os.Getpid()},
				{Deployment: "c"}}
		})
		containers := s.Containers()
		Expect(containers).To(HaveLen(2))
		Expect(containers[0]).To(And(HaveField("Deployment", "a"), HaveField("Name", "own"), HaveField("Samples", 1)))
		Expect(containers[0].RequestsTooLittle()).To(BeTrue(), "it requests nothing")
		containers[0].RequestMiB = containers[0].Resident.PeakMiB
		Expect(containers[0].RequestsTooLittle()).To(BeFalse())

		path := filepath.Join(GinkgoT().TempDir(), "folder", "memory.json")
		written := &Record{Time: time.Unix(1, 0).UTC(), Sites: []string{"a"}, Nodes: 4, Containers: containers}
		Expect(written.Write(path)).To(Succeed())
		Expect(Read(path)).To(Equal(written))
	})
})
