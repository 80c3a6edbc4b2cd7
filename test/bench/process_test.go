// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"io"
	"net"
	"os"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

var _ = Describe("Processes", func() {
	It("should read resident and proportional memory in MiB", func() {
		Expect(parseMemory([]byte("5580-ffff ---p 00000000 00:00 0  [rollup]\nRss:  2048 kB\nPss:  1536 kB\nPss_Anon:  12 kB\n"))).
			To(Equal(memory{resident: 2, proportional: 1.5}))
		own, err := memoryOf(os.Getpid())
		Expect(err).NotTo(HaveOccurred())
		Expect(own.resident).To(BeNumerically(">=", own.proportional))
	})

	It("should not take unknown content for no memory", func() {
		_, err := parseMemory([]byte("Rss:  2048 kB\n"))
		Expect(err).To(HaveOccurred())
	})

	It("should add the time in user and system mode", func() {
		Expect(parseProcessorTime([]byte("7 (a (b) c) S 1 2 3 4 5 6 7 8 9 10 150 50 99 99 20 0\n"))).To(Equal(2 * time.Second))
		Expect(processorTime(os.Getpid())).To(BeNumerically(">", 0))
	})

	It("should not take unknown content for no time", func() {
		_, err := parseProcessorTime([]byte("7 (a) S 1 2\n"))
		Expect(err).To(HaveOccurred())
	})

	It("should count only established connections of the process", func() {
		table := []byte("  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n" +
			"   0: 0100007F:1388 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 11 1 0 100 0 0 10 0\n" +
			"   1: 0100007F:1389 0100007F:1388 01 00000000:00000000 00:00000000 00000000     0        0 12 1 0 100 0 0 10 0\n" +
			"   2: 0100007F:1390 0100007F:1388 01 00000000:00000000 00:00000000 00000000     0        0 99 1 0 100 0 0 10 0\n")
		Expect(countEstablished(table, map[string]bool{"11": true, "12": true})).To(Equal(1))
	})

	It("should see its own connection", func() {
		own := func() (int, error) { return connections(os.Getpid()) }
		before, err := own()
		Expect(err).NotTo(HaveOccurred())
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		Expect(err).NotTo(HaveOccurred())
		defer listener.Close()
		go func() {
			if accepted, err := listener.Accept(); err == nil {
				_, _ = io.Copy(io.Discard, accepted)
			}
		}()
		connection, err := net.Dial("tcp", listener.Addr().String())
		Expect(err).NotTo(HaveOccurred())
		defer connection.Close()
		// Both ends are in this process.
		Eventually(own).Should(BeNumerically(">=", before+1))
	})
})
