// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package platform_test

import (
	"context"
	"errors"
	"fmt"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
)

var _ = Describe("Offers", func() {
	It("should be bounded and printable, whatever a site tells", func() {
		offer := platform.Offer{}
		for _, name := range []string{"", " spaced ", "a\x1b[2Jb", strings.Repeat("x", 300), "\xff"} {
			offer.Add(platform.Object{Kind: platform.KindImage, Name: name})
		}
		offer.Add(platform.Object{Kind: platform.KindMachineType, Name: "huge", CPUs: 1 << 40})
		offer.Add(platform.Object{Kind: platform.KindMachineType, Name: "negative", Memory: -1})
		Expect(offer.Objects).To(BeEmpty())
		Expect(offer.Omitted).To(HaveLen(7))
		for _, omitted := range offer.Omitted {
			Expect(omitted.Name).To(Equal(platform.Printable(omitted.Name)))
		}

		offer = platform.Offer{}
		for i := range 6000 {
			offer.Add(platform.Object{Kind: platform.KindImage, Name: fmt.Sprintf("image-%d", i), Version: "1\n2"})
			offer.Omit(platform.KindZone, fmt.Sprintf("zone-%d", i), "for no reason")
		}
		Expect(offer.Objects).To(HaveLen(5000))
		Expect(offer.Objects[0].Version).To(Equal("1 2"))
		Expect(offer.Omitted).To(HaveLen(52))
		Expect(offer.Incomplete(platform.KindImage)).To(BeTrue())
		Expect(offer.Incomplete(platform.KindZone)).To(BeFalse())
	})

	It("should have the lists that succeed, and name those that fail", func(ctx SpecContext) {
		list := func(kind platform.ObjectKind, err error) platform.Listing {
			return platform.Listing{Kinds: []platform.ObjectKind{kind}, List: func(_ context.Context, offer *platform.Offer) error {
				offer.Add(platform.Object{Kind: kind, Name: "b"})
				offer.Add(platform.Object{Kind: kind, Name: "a"})
				return err
			}}
		}
		panics := platform.Listing{Kinds: []platform.ObjectKind{platform.KindQuota},
			List: func(context.Context, *platform.Offer) error { panic("at the answer") }}
		offer, err := platform.Collect(ctx, list(platform.KindZone, nil), list(platform.KindImage, errors.New("403")), panics)
		Expect(err).NotTo(HaveOccurred())
		Expect(offer.Objects).To(HaveExactElements(
			And(HaveField("Kind", platform.KindImage), HaveField("Name", "a")), HaveField("Name", "b"), HaveField("Name", "a"),
			HaveField("Name", "b")))
		Expect(offer.Omitted).To(ConsistOf(
			platform.Omission{Kind: platform.KindImage, Reason: "403"},
			platform.Omission{Kind: platform.KindQuota, Reason: "internal error, see the log"}))

		_, err = platform.Collect(ctx, list(platform.KindZone, errors.New("503")), panics)
		Expect(err).To(MatchError("503"))
		over, cancel := context.WithCancel(ctx)
		cancel()
		_, err = platform.Collect(over, list(platform.KindZone, nil))
		Expect(err).To(MatchError(ContainSubstring("not all was listed in time")))
	})

	DescribeTable("should have names for entries", func(expected string, parts ...string) {
		Expect(platform.EntryName(parts...)).To(Equal(expected))
	},
		Entry(nil, "cloud-az-1", "cloud", "AZ 1"),
		Entry(nil, "default", "__DEFAULT__"),
		Entry(nil, "m1.small", "m1.small"),
		Entry(nil, "", "äöü"),
		Entry(nil, strings.Repeat("a", 63), strings.Repeat("a", 80)),
		Entry(nil, "a.b", "..a-..b--"),
	)

	DescribeTable("should find systems in names of images", func(name, system, version string) {
		foundSystem, foundVersion := platform.SystemOf(name)
		Expect([]string{foundSystem, foundVersion}).To(Equal([]string{system, version}))
	},
		Entry(nil, "gardenlinux-1877.3.0", "gardenlinux", "1877.3.0"),
		Entry(nil, "Ubuntu 24.04 LTS", "ubuntu", "24.04"),
		Entry(nil, "suse-chost-v15.5.20240101-gen2", "suse-chost", "15.5.20240101"),
		Entry(nil, "cirros", "", ""),
		Entry(nil, "20240101", "", ""),
		Entry(nil, "", "", ""),
	)

	DescribeTable("should match references", func(reference platform.Reference, object platform.Object, expected bool) {
		Expect(reference.Matches(&object)).To(Equal(expected))
	},
		Entry("by name", platform.Reference{Kinds: []platform.ObjectKind{"image"}, Name: "a"}, platform.Object{Kind: "image", Name: "a"}, true),
		Entry("by ID", platform.Reference{Kinds: []platform.ObjectKind{"image"}, Name: "1"},
			platform.Object{Kind: "image", Name: "a", ID: "1"}, true),
		Entry("of another kind", platform.Reference{Kinds: []platform.ObjectKind{"zone"}, Name: "a"}, platform.Object{Kind: "image", Name: "a"},
			false),
		Entry("without a name", platform.Reference{Kinds: []platform.ObjectKind{"image"}}, platform.Object{Kind: "image", Name: "a"}, false),
		Entry("by labels", platform.Reference{Kinds: []platform.ObjectKind{"hosts"}, Selector: labels.SelectorFromSet(labels.Set{"rack": "1"})},
			platform.Object{Kind: "hosts", Labels: map[string]string{"rack": "1"}}, true),
		Entry("by other labels", platform.Reference{Kinds: []platform.ObjectKind{"hosts"},
			Selector: labels.SelectorFromSet(labels.Set{"rack": "1"})},
			platform.Object{Kind: "hosts", Labels: map[string]string{"rack": "2"}}, false),
	)
})
