// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

// scratch is a folder that the script takes for the root.
type scratch string

// systemd answers as one without units of its own.
const systemd = `systemctl() { [ $1 != list-units ] || echo "init.scope loaded active running"; }`

// run runs commands after the functions of the script. There is no systemd.
func (s scratch) run(commands string) (string, error) {
	input := script + `
root=` + string(s) + `
` + systemd + "\n" + commands
	cmd := exec.Command("/bin/sh", "-s")
	cmd.Stdin = strings.NewReader(input)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func (s scratch) must(commands string) string {
	GinkgoHelper()
	out, err := s.run(commands)
	Expect(err).NotTo(HaveOccurred(), out)
	return out
}

// snapshot is what must be the same after a release.
func (s scratch) snapshot() string {
	GinkgoHelper()
	cmd := exec.Command("/bin/sh", "-c", `cd "$0" && find etc opt usr root var/spool var/lib/containerd var/lib/cni -type d `+
		`-printf '%y %m %U %G %T@ %p\n' -o -printf '%y %m %U %G %n %s %T@ %l %p\n' | sort && find . -path ./run -prune -o -type f `+
		`-exec sha256sum {} + | sort && ls -a var/lib var/log`, string(s))
	out, err := cmd.CombinedOutput()
	Expect(err).NotTo(HaveOccurred(), string(out))
	return string(out)
}

const (
	// before is what an administrator has.
	before = `main eval '
umask 022
mkdir -p etc/ssh opt/app usr/local/bin root/.ssh var/spool/cron var/lib/containerd/io var/lib/cni var/log proc run/static-host home
echo VERSION_ID=12 >etc/os-release
echo 1 >etc/passwd; echo 2 >etc/ssh/key; chmod 600 etc/ssh/key; ln -s passwd etc/link; ln -s ../nowhere etc/dangling
echo 3 >opt/app/a; ln opt/app/a opt/app/b; mkfifo opt/app/pipe; chmod 4755 opt/app/a; echo 4 >"opt/a b"; mkdir opt/empty
echo 5 >usr/local/bin/x; echo 6 >root/.ssh/authorized_keys; echo 7 >var/lib/containerd/io/meta; echo name >etc/machine-id
find . -exec touch -h -d "2001-02-03 04:05:06.789" {} +
'`
	// remember makes a baseline.
	remember = `main eval 'claim=; steps baseline Copy; expected=$(digest $base/baseline/manifest); step_Aside'`
	// after is what a machine does, with everything that it must not lead astray.
	after = `main eval '
umask 022
echo changed >>etc/passwd; rm etc/ssh/key; rm etc/link; mkdir etc/link; echo x >etc/link/x; chmod 700 etc/ssh
rm -r opt/app; ln -s "$root/home" opt/app; echo keep >home/keep; ln -s / opt/root; rm -r opt/empty; echo file >opt/empty
mkdir -p "opt/with
newline/-rf" etc/kubernetes/deep/er; echo y >"opt/with
newline/-rf/*"; echo z >usr/local/bin/x; touch -d "2001-02-03 04:05:06.789" usr/local/bin/x
mkdir -p var/lib/kubelet/pods var/lib/containerd/other var/lib/etcd var/log/pods/p; ln -s "$root/home" var/lib/kubelet/pods/link
echo n >root/.bashrc; chmod 777 root; echo new >etc/machine-id
'`
	undo = `main eval 'empty=; steps release System Delete Restore Compare'`
)

var _ = Describe("A release", func() {
	var s scratch

	BeforeEach(func() { s = scratch(GinkgoT().TempDir()) })

	restored := func(expected string) {
		GinkgoHelper()
		s.must(`main eval 'rm -rf $base home/keep; echo name >etc/machine-id; touch -d "2001-02-03 04:05:06.789" etc/machine-id etc'`)
		Expect(s.snapshot()).To(Equal(expected))
	}

	It("should make everything as it was", func() {
		s.must(before)
		expected := s.snapshot()
		s.must(remember)
		s.must(after)
		s.must(undo)
		Expect(filepath.Join(string(s), "home", "keep")).To(BeARegularFile(), "links are not followed")
		restored(expected)
	})

	It("should make everything as it was, wherever it is killed", func() {
		for n := 1; ; n++ {
			s = scratch(GinkgoT().TempDir())
			s.must(before)
			expected := s.snapshot()
			s.must(remember + "\n" + after)
			_, err := s.run(`
left=` + fmt.Sprint(n) + `
echo 0 >$root/count
before() {
  count=$(($(cat "$root/count") + 1))
  echo $count >"$root/count"
  [ $count != $left ] || kill -9 $$
}
rm() { before; command rm "$@"; }
mv() { before; command mv "$@"; }
tar() { before; command tar "$@"; }
mkdir() { before; command mkdir "$@"; }
xargs() { before; command xargs "$@"; }
comm() { before; command comm "$@"; }
` + undo)
			s.must(`main eval 'rm -f count'`)
			s.must(undo)
			restored(expected)
			if err == nil {
				Expect(n).To(BeNumerically(">", 15))
				return
			}
		}
	})

	It("should notice what is not as it was, and say where", func() {
		s.must(before + "\n" + remember + "\n" + after + "\n" + undo)
		s.must(`main eval 'echo changed >>etc/passwd'`)
		out, err := s.run(`main eval 'steps proof Files'`)
		Expect(err).To(HaveOccurred(), out)
		Expect(s.must(`main progress proof`)).To(HavePrefix("failed Files etc/passwd"))
	})

	It("should not give the files of one release of the operating system to the programs of another", func() {
		s.must(before + "\n" + remember + "\nmain eval 'echo VERSION_ID=13 >etc/os-release'")
		_, err := s.run(undo)
		Expect(err).To(HaveOccurred())
		Expect(s.must(`main progress release`)).To(HavePrefix("failed System"))
	})

	DescribeTable("should notice a baseline that was changed",
		func(change string) {
			out := s.must(before + "\n" + remember + "\nmain eval 'digest $base/baseline/manifest'")
			s.must("main eval '" + change + "'")
			_, err := s.run("main eval 'expected=" + strings.TrimSpace(out) + "; steps release Baseline'")
			Expect(err).To(HaveOccurred())
			Expect(s.must(`main progress release`)).To(HavePrefix("failed Baseline"))
		},
		Entry("its files", "echo x >>$base/baseline/files.tar"),
		Entry("its lists", "echo x >>$base/baseline/places"),
		Entry("its hash", "echo >$base/baseline/manifest"),
		Entry("all of it", "rm -r $base"),
		Entry("for another one", "mv $base home/base; ln -s ../../home/base $base"),
	)

	DescribeTable("should not begin with units that are not known", func(answer string) {
		_, err := s.run(before + "\n" + answer + `
main eval 'claim=; steps baseline Copy'`)
		Expect(err).To(HaveOccurred())
		Expect(s.must(`main progress baseline`)).To(HavePrefix("failed Copy"))
		Expect(filepath.Join(string(s), "var/lib/static-host/baseline")).NotTo(BeADirectory())
	},
		Entry("systemd does not list units in time", "systemctl() { [ $1 != list-units ] || return 1; }"),
		Entry("systemd lists no units", "systemctl() { :; }"),
	)

	It("should know the units that are installed, and take no other file for one", func() {
		s.must(before + `
main eval 'mkdir -p etc/systemd/system/a.service.d "etc/systemd/system -delete" lib/systemd/system run/systemd/generator.late
cd etc/systemd/system; touch a.service "*.service" .service ssh README "b
.service" static-host-proof.service; ln -s /dev/null masked.service
cd ../../../lib/systemd/system; touch c@.timer a.service; cd ../../../run/systemd/generator.late; touch data.mount'`)
		Expect(strings.Fields(s.must("main units"))).To(Equal([]string{
			"a.service", "c@.timer", "data.mount", "init.scope", "masked.service"}))
	})

	It("should not stop or kill anything with a baseline without units", func() {
		out := s.must(before + "\n" + remember + `
main eval ': >$base/baseline/units; (cd $base/baseline && sha256sum -- claim units >manifest); digest $base/baseline/manifest'`)
		_, err := s.run(`
systemctl() { echo "$@" >>"$root/calls"; }
kill() { echo kill "$@" >>"$root/calls"; }
main eval 'expected=` + strings.TrimSpace(out) + `; steps release Baseline Stop'`)
		Expect(err).To(HaveOccurred())
		Expect(s.must(`main progress release`)).To(HavePrefix("failed Baseline"))
		Expect(filepath.Join(string(s), "calls")).NotTo(BeAnExistingFile())
	})

	It("should empty folders, but not what links lead to", func() {
		s.must(before)
		s.must(`main eval 'mkdir -p var/lib/v/a home/v; echo 1 >var/lib/v/a/b; ln -s "$root/home" var/lib/v/l
empty=/var/lib/v; steps release Empty'`)
		Expect(os.ReadDir(filepath.Join(string(s), "var/lib/v"))).To(BeEmpty())
		_, err := s.run(`main eval 'ln -s "$root/home" var/lib/w; empty=/var/lib/w; steps release Empty'`)
		Expect(err).To(HaveOccurred())
		Expect(filepath.Join(string(s), "home", "v")).To(BeADirectory())
	})

	It("should not begin before all of its input was read", func() {
		whole := script + "{ main eval 'echo began' <<'END_OF_FILES'\nAAAA\nEND_OF_FILES\nexit; }\n"
		for _, length := range []int{len(whole) - 3, len(whole) - 9, len(whole) - 20, len(whole) - 30, len(whole) - 50} {
			cmd := exec.Command("/bin/sh", "-s")
			cmd.Stdin = strings.NewReader(whole[:length])
			out, _ := cmd.Output()
			Expect(string(out)).NotTo(ContainSubstring("began"), "%d", length)
		}
	})
})
