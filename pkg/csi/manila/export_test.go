// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package manila

import (
	"strings"

	"github.com/gophercloud/gophercloud/v2/openstack/sharedfilesystems/v2/shares"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
)

var _ = Describe("Export locations", func() {
	DescribeTable("should be split into the server and the path",
		func(location, server, path string) {
			Expect(parseExport(location)).To(Equal(export{server, path}))
		},
		Entry("IPv4", "10.250.0.7:/shares/a_b-1", "10.250.0.7", "/shares/a_b-1"),
		Entry("IPv6 in brackets", "[fd00::7]:/a", "fd00::7", "/a"),
		Entry("IPv6", "fd00::7:/a", "fd00::7", "/a"),
		Entry("IPv4 in IPv6", "[::ffff:10.0.0.7]:/a", "10.0.0.7", "/a"),
		Entry("a name", "Filer-1.example.com:/volumes/_nogroup/a", "filer-1.example.com", "/volumes/_nogroup/a"),
		Entry("a name without a domain", "filer:/a", "filer", "/a"),
	)

	DescribeTable("should be refused",
		func(location string) {
			_, err := parseExport(location)
			Expect(err).To(MatchError(ContainSubstring("is not used: ")))
			Expect(platform.ClassOf(err)).To(Equal(platform.ClassTransient))
			Expect(len(err.Error())).To(BeNumerically("<", 1000))
			Expect(err.Error()).NotTo(ContainSubstring("\n"))
		},
		Entry("nothing", ""),
		Entry("no path", "10.0.0.7"),
		Entry("no host", ":/a"),
		Entry("brackets without a host", "[]:/a"),
		Entry("a relative path", "10.0.0.7:a"),
		Entry("everything that the server has", "10.0.0.7:/"),
		Entry("a path that leaves the folder", "10.0.0.7:/a/../b"),
		Entry("a path that is not clean", "10.0.0.7:/a//b"),
		Entry("an option", "10.0.0.7:/a -o suid"),
		Entry("a comma", "10.0.0.7:/a,b"),
		Entry("another host behind a comma", "10.0.0.7,10.0.0.8:/a"),
		Entry("a line break", "10.0.0.7:/a\nb"),
		Entry("a long path", "10.0.0.7:/"+strings.Repeat("a", 2000)),
		Entry("a host that looks like an option", "-o:/a"),
		Entry("a path as the host", "/etc:/a"),
		Entry("the node", "127.0.0.1:/a"),
		Entry("the node in IPv6", "[::1]:/a"),
		Entry("the node in IPv4 in IPv6", "[::ffff:127.0.0.1]:/a"),
		Entry("the node by its name", "localhost:/a"),
		Entry("the node by another name", "a.LOCALHOST:/a"),
		Entry("the node in one number", "2130706433:/a"),
		Entry("the node in a short form", "127.1:/a"),
		Entry("the node in another base", "0x7f.1:/a"),
		Entry("no address", "0.0.0.0:/a"),
		Entry("no address in IPv6", "[::]:/a"),
		Entry("this network", "0.1.2.3:/a"),
		Entry("the metadata service", "169.254.169.254:/a"),
		Entry("a link", "[fe80::1]:/a"),
		Entry("a link of an interface", "[fe80::1%eth0]:/a"),
		Entry("an interface", "[fd00::1%eth0]:/a"),
		Entry("a group", "224.0.0.1:/a"),
		Entry("everybody", "255.255.255.255:/a"),
	)

	It("should be those for nodes, a preferred one first", func() {
		locations := []shares.ExportLocation{
			{Path: "10.0.0.1:/a", IsAdminOnly: true, Preferred: true}, {Path: "10.0.0.2:/a"}, {Path: "127.0.0.1:/a", Preferred: true},
			{Path: "10.0.0.3:/a", Preferred: true},
		}
		Expect(exportOf(locations)).To(Equal(export{"10.0.0.3", "/a"}))
		Expect(exportOf(locations[:3])).To(Equal(export{"10.0.0.2", "/a"}))
		_, err := exportOf(locations[:1])
		Expect(err).To(MatchError(ContainSubstring("no export location for nodes")))
		_, err = exportOf(locations[2:3])
		Expect(err).To(MatchError(ContainSubstring("127.0.0.1")))
	})
})
