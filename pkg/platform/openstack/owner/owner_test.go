// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package owner_test

import (
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	. "github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/owner"
)

var _ = Describe("Owner", func() {
	ours := Owner{Shoot: "shoot--local--a", Site: "cloud"}

	It("should stay within the limits of the APIs for the longest technical ID and site", func() {
		longest := Owner{Shoot: "shoot--" + strings.Repeat("p", 10) + "--" + strings.Repeat("s", 11), Site: strings.Repeat("c", 20)}
		Expect(longest.Shoot).To(HaveLen(30))

		for _, tag := range longest.Tags() {
			Expect(utf8.RuneCountInString(tag)).To(BeNumerically("<=", 60), tag)
			Expect(strings.ContainsAny(tag, ",/")).To(BeFalse(), "Neutron refuses %q", tag)
		}
		Expect(len(longest.Name())).To(BeNumerically("<=", 255))
		Expect(len(longest.Description())).To(BeNumerically("<=", 255))
		Expect(len(longest.ServerGroupName(strings.Repeat("w", 15), "soft-anti-affinity"))).To(BeNumerically("<=", 255))
		for _, text := range slices.Concat(slices.Collect(maps.Keys(longest.Metadata())), slices.Collect(maps.Values(longest.Metadata()))) {
			Expect(len(text)).To(BeNumerically("<=", 255))
		}
	})

	DescribeTable("Owns",
		func(description string, tags []string, expected bool) {
			Expect(ours.Owns(description, tags)).To(Equal(expected))
		},
		Entry("nothing", "", nil, false),
		Entry("our description", ours.Description(), nil, true),
		Entry("our description with more", ours.Description()+" Handle with care.", nil, false),
		Entry("all our tags", "", ours.Tags(), true),
		Entry("all our tags among others, in another order", "edited", []string{"x", ours.Tags()[2], ours.Tags()[0], "y", ours.Tags()[1]}, true),
		Entry("without the tag of the shoot", "", []string{ours.Tags()[0], ours.Tags()[2]}, false),
		Entry("without the tag of the site", "", ours.Tags()[:2], false),
		Entry("without the tag of the manager", "", ours.Tags()[1:], false),
	)

	DescribeTable("should not own what belongs to others",
		func(other Owner) {
			Expect(ours.Owns(other.Description(), nil)).To(BeFalse())
			Expect(ours.Owns("", other.Tags())).To(BeFalse())
			Expect(ours.OwnsServer(other.Metadata())).To(BeFalse())
			Expect(other.Owns(ours.Description(), ours.Tags())).To(BeFalse())
			Expect(other.OwnsServer(ours.Metadata())).To(BeFalse())
			Expect(ours.OwnsServerGroup(other.ServerGroupName("pool", "affinity"), "affinity")).To(BeFalse())
			Expect(other.OwnsServerGroup(ours.ServerGroupName("pool", "affinity"), "affinity")).To(BeFalse())
		},
		Entry("a shoot whose name begins with ours", Owner{Shoot: "shoot--local--ab", Site: "cloud"}),
		Entry("a shoot whose name begins with ours and a dash", Owner{Shoot: "shoot--local--a-b", Site: "cloud"}),
		Entry("a site whose name begins with ours", Owner{Shoot: "shoot--local--a", Site: "cloud2"}),
		Entry("a shoot and site whose joined name is ours", Owner{Shoot: "shoot--local", Site: "a-cloud"}),
		Entry("another site of the shoot", Owner{Shoot: "shoot--local--a", Site: "vc"}),
	)

	DescribeTable("OwnsServer",
		func(metadata map[string]string, expected bool) {
			Expect(ours.OwnsServer(metadata)).To(Equal(expected))
		},
		Entry("no metadata", nil, false),
		Entry("ours among others", map[string]string{MetadataShoot: ours.Shoot, MetadataSite: ours.Site, MetadataPort: "p"}, true),
		Entry("without the site", map[string]string{MetadataShoot: ours.Shoot}, false),
	)

	DescribeTable("OwnsServerGroup",
		func(name, policy string, expected bool) {
			Expect(ours.OwnsServerGroup(name, policy)).To(Equal(expected))
		},
		Entry("ours", ours.ServerGroupName("a-b", "affinity"), "affinity", true),
		Entry("of another policy", ours.ServerGroupName("a-b", "affinity"), "anti-affinity", false),
		Entry("without pool and hash", ours.Name(), "affinity", false),
		Entry("with a name of somebody who imitates ours", ours.Name()+"-pool-12345678", "affinity", false),
		Entry("with a name that is too short for a hash", ours.Name()+"-12345678", "affinity", false),
	)

	It("should give each pool and policy a server group of its own", func() {
		Expect(ours.ServerGroupName("a", "affinity")).To(MatchRegexp(`^shoot--local--a-cloud-a-[0-9a-f]{8}$`))
		Expect(ours.ServerGroupName("a", "affinity")).NotTo(Equal(ours.ServerGroupName("a", "soft-affinity")))
		Expect(ours.ServerGroupName("a", "affinity")).NotTo(Equal(ours.ServerGroupName("b", "affinity")))
	})
})
