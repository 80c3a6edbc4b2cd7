// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package machineclasses

import (
	"os"
	"path/filepath"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape"
)

// change is a line of docs/usage/node-rolling.md and what it is about.
type change struct {
	line  string
	apply func(*platform.MachineClassRequest)
}

// changes roll nothing.
var changes = []change{
	{"the host selector of the pool, the zone, or the machine type changes, even if the host of a node is no longer selected",
		func(r *platform.MachineClassRequest) {
			r.Settings.Metal.HostSelector, r.Zone.Metal.HostSelector, r.MachineType.Metal.HostSelector = nil, nil, nil
		}},
	{"the tolerations of the pool or the machine type change", func(r *platform.MachineClassRequest) {
		r.Settings.Metal.Tolerations, r.MachineType.Metal.Tolerations = nil, nil
	}},
	{"the address pool or the template of the network data changes", func(r *platform.MachineClassRequest) {
		r.Site.Config.Metal = nil
	}},
	{"the gateway, resolvers or MTU of the site change", func(r *platform.MachineClassRequest) {
		r.Site.Network.DNSServers, r.Site.Network.MTU = nil, 0
	}},
	{"the CloudProfile gives an image another URL or checksum on the site, or changes what nodes are named after",
		func(r *platform.MachineClassRequest) {
			r.Image.Metal.URL, r.Site.Profile.Metal.NodeName = "registry.example.com/os:2", "Machine"
		}},
	{"the cleaning of released hosts changes", func(r *platform.MachineClassRequest) { r.Site.Profile.Metal.Cleaning = "disabled" }},
}

var _ = Describe("Rolling", func() {
	for _, c := range changes {
		It(c.line, func() {
			request := newRequest()
			before, _, err := specOf(request)
			Expect(err).NotTo(HaveOccurred())
			c.apply(&request)
			after, _, err := specOf(request)
			Expect(err).NotTo(HaveOccurred())
			Expect(after).NotTo(Equal(before), "machines that are created later have what is new")
			Expect(New(nil, nil).RollsFor(request)).To(Equal(New(nil, nil).RollsFor(newRequest())))
		})
	}

	It("should have a row for each line of the document", func() {
		document, err := os.ReadFile(filepath.Join(landscape.Root(), "docs", "usage", "node-rolling.md"))
		Expect(err).NotTo(HaveOccurred())
		_, section, found := strings.Cut(string(document), "\n### On bare metal\n")
		Expect(found).To(BeTrue())
		section, _, _ = strings.Cut(section, "\n### ")

		var lines, expected []string
		for line := range strings.Lines(section) {
			if item, ok := strings.CutPrefix(line, "- "); ok {
				lines = append(lines, strings.TrimSpace(item))
			}
		}
		for _, c := range changes {
			expected = append(expected, c.line)
		}
		Expect(lines).To(Equal(expected))
	})
})
