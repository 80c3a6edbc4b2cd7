// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"strings"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/static/v1alpha1"
)

const (
	hash64 = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
	good   = `static-host 1
architecture x86_64
cpus 8
memory 16384000
os debian
version 12
kernel 6.1.0-18-amd64
machine-id 0123456789abcdef0123456789abcdef
boot-id 01234567-89ab-cdef-0123-456789abcdef
uuid 4C4C4544-0042-4D10-8051-B4C04F4E3232
clock 1000
systemd 252
containerd 1.6.20~ds1
cgroup cgroup2fs
missing 
address 10.1.2.7
address fd00::7
disk sda 41943040
claim ` + hash64 + `
baseline done ` + hash64 + `
provision ended 3 ` + hash64 + `
release done 01234567-89ab-cdef-0123-456789abcdef
proof failed Files etc/some path
end
`
)

func read(answer string) (*Observation, error) {
	return parse([]byte(answer), time.Unix(1000, 5), time.Unix(1001, 0))
}

var _ = Describe("An answer", func() {
	It("should be read", func() {
		Expect(read(good)).To(Equal(&Observation{
			Facts: v1alpha1.Facts{Architecture: "amd64", CPUs: 8, MemoryMiB: 16000, Kernel: "6.1.0-18-amd64",
				OSRelease: v1alpha1.OSRelease{ID: "debian", VersionID: "12"}, MachineID: "0123456789abcdef0123456789abcdef",
				BootID: "01234567-89ab-cdef-0123-456789abcdef", SystemUUID: "4C4C4544-0042-4D10-8051-B4C04F4E3232",
				Addresses: []string{"10.1.2.7", "fd00::7"}, Disks: []v1alpha1.Disk{{Name: "sda", SizeGiB: 20}},
				Systemd: "252", Containerd: "1.6.20~ds1", Cgroup: "v2"},
			Missing: []string{}, HasBaseline: true, Claim: hash64,
			Tasks: map[Task]Progress{
				TaskBaseline:  {State: StateDone, Value: hash64},
				TaskProvision: {State: StateEnded, ExitCode: 3, Value: hash64},
				TaskRelease:   {State: StateDone, Value: "01234567-89ab-cdef-0123-456789abcdef"},
				TaskProof:     {State: StateFailed, Step: "Files", Path: "etc/some path"},
			},
		}))
	})

	It("should not say anything that cannot be shown", func() {
		o, err := read(strings.Replace(good, "etc/some path", "etc/\x1b[31mä"+strings.Repeat("x", 500), 1))
		Expect(err).NotTo(HaveOccurred())
		Expect(o.Tasks[TaskProof].Path).To(And(HavePrefix("etc/?[31m?xx"), HaveLen(maxPath)))
	})

	DescribeTable("should be refused without its text",
		func(old, replacement string) {
			Expect(good).To(ContainSubstring(old))
			_, err := read(strings.Replace(good, old, replacement, 1))
			Expect(err).To(MatchError(ErrAnswer))
			Expect(err.Error()).NotTo(ContainSubstring("evil"))
		},
		Entry("without its end", "end\n", ""),
		Entry("of another version", "static-host 1", "static-host 2"),
		Entry("with an unknown fact", "cpus 8", "cpus 8\nevil\x07 1"),
		Entry("with a negative number", "cpus 8", "cpus -8"),
		Entry("with too large a number", "cpus 8", "cpus 99999999999"),
		Entry("with memory that is none", "memory 16384000", "memory evil"),
		Entry("with spaces", "os debian", "os evil os"),
		Entry("with control characters", "kernel 6.1.0", "kernel \x1bevil"),
		Entry("with a long word", "version 12", "version "+strings.Repeat("1", 100)),
		Entry("without a machine ID", "machine-id 0123456789abcdef0123456789abcdef", "machine-id"),
		Entry("without a boot ID", "boot-id 01234567-89ab-cdef-0123-456789abcdef\n", ""),
		Entry("with an address that is none", "address 10.1.2.7", "address evil"),
		Entry("with many addresses", "address 10.1.2.7\n", strings.Repeat("address 10.1.2.7\n", 100)),
		Entry("with many disks", "disk sda 41943040\n", strings.Repeat("disk sda 1\n", 100)),
		Entry("without a task", "proof failed Files etc/some path\n", ""),
	)

	DescribeTable("should be read, with what a machine can have written for unknown",
		func(old, replacement string, task Task) {
			Expect(good).To(ContainSubstring(old))
			o, err := read(strings.Replace(good, old, replacement, 1))
			Expect(err).NotTo(HaveOccurred())
			Expect(o.Tasks[task]).To(Equal(Progress{State: StateFailed, Step: unknown}))
		},
		Entry("a hash that is none", "baseline done "+hash64, "baseline done evil", TaskBaseline),
		Entry("an exit code that is none", "ended 3", "ended 300", TaskProvision),
		Entry("a step that is none", "failed Files", "failed evil", TaskProof),
		Entry("a state that is none", "release done 01234567-89ab-cdef-0123-456789abcdef", "release evil", TaskRelease),
	)

	It("should be read with the claim of somebody else", func() {
		o, err := read(strings.Replace(good, "claim "+hash64, "claim evil", 1))
		Expect(err).NotTo(HaveOccurred())
		Expect(o).To(And(HaveField("HasBaseline", true), HaveField("Claim", unknown)))
	})

	DescribeTable("should tell how far the clock is off",
		func(clock string, expected time.Duration) {
			o, err := read(strings.Replace(good, "clock 1000", "clock "+clock, 1))
			Expect(err).NotTo(HaveOccurred())
			Expect(o.ClockOffset).To(BeNumerically("~", expected, time.Second))
		},
		Entry("not at all", "1001", time.Duration(0)),
		Entry("ahead", "4601", time.Hour),
		Entry("behind", "0", -1000*time.Second),
	)
})

func FuzzParse(f *testing.F) {
	f.Add([]byte(good))
	f.Fuzz(func(t *testing.T, answer []byte) {
		o, err := parse(answer, time.Unix(1000, 0), time.Unix(1001, 0))
		if err == nil && (o.Facts.MachineID == "" || len(o.Facts.Disks) > maxList || len(o.Tasks) != 4) {
			t.Errorf("%+v", o)
		}
	})
}
