// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package platform_test

import (
	"errors"
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	. "github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
)

var (
	quota     = NewError(ClassQuota, "cores")
	forbidden = NewError(ClassForbidden, "refused")
	transient = NewError(ClassTransient, "busy")
	plain     = errors.New("plain")
)

var _ = DescribeTable("ClassOf",
	func(err error, class Class) {
		Expect(ClassOf(err)).To(Equal(class))
	},
	Entry("nothing", nil, ClassTransient),
	Entry("an error without a class", plain, ClassTransient),
	Entry("an error with a class", quota, ClassQuota),
	Entry("a wrapped error", fmt.Errorf("network: %w", quota), ClassQuota),
	Entry("a chain: the outermost counts", NewError(ClassConfiguration, "image: %w", NewError(ClassNotFound, "404")), ClassConfiguration),
	Entry("joined errors: the first counts", errors.Join(quota, forbidden), ClassQuota),
	Entry("joined errors behind one without a class", errors.Join(plain, quota), ClassQuota),
	Entry("joined errors behind a transient one", errors.Join(transient, quota), ClassQuota),
	Entry("joined transient errors", errors.Join(transient, plain), ClassTransient),
	Entry("joined errors inside of a chain", fmt.Errorf("network: %w", errors.Join(transient, forbidden)), ClassForbidden),
)

var _ = Describe("InSite", func() {
	It("should return nil for nil", func() {
		Expect(InSite("cloud", nil)).To(Succeed())
	})

	DescribeTable("should name the site once and keep the class",
		func(err error, class Class, message string) {
			result := InSite("cloud", err)
			Expect(result).To(MatchError(message))
			Expect(ClassOf(result)).To(Equal(class))
			Expect(errors.Is(result, err)).To(BeTrue())
			Expect(InSite("cloud", result)).To(BeIdenticalTo(result))
		},
		Entry("an error without a class", plain, ClassTransient, `site "cloud": plain`),
		Entry("an error with a class", quota, ClassQuota, `site "cloud": cores`),
		Entry("a wrapped error", fmt.Errorf("network: %w", quota), ClassQuota, `site "cloud": network: cores`),
		Entry("an error that wraps several", fmt.Errorf("both: %w, %w", transient, quota), ClassQuota, `site "cloud": both: busy, cores`),
	)

	It("should keep how long to wait", func() {
		err := InSite("cloud", &Error{Class: ClassTransient, RetryAfter: time.Minute, Err: plain})
		var classified *Error
		Expect(errors.As(err, &classified)).To(BeTrue())
		Expect(classified.RetryAfter).To(Equal(time.Minute))
	})

	It("should name the site in each of the joined errors and keep all their classes", func() {
		err := InSite("cloud", errors.Join(InSite("cloud", quota), plain, errors.Join(forbidden, transient)))
		Expect(err).To(MatchError("site \"cloud\": cores\nsite \"cloud\": plain\nsite \"cloud\": refused\nsite \"cloud\": busy"))
		Expect(errors.Is(err, quota)).To(BeTrue())
		Expect(errors.Is(err, forbidden)).To(BeTrue())
		Expect(ClassOf(err)).To(Equal(ClassQuota))
	})
})

var _ = Describe("Registry", func() {
	registry := Registry[string]{v1alpha1.PlatformVSphere: "v", v1alpha1.PlatformOpenStack: "o"}

	It("should return the platform's part", func() {
		Expect(registry.For(v1alpha1.PlatformOpenStack)).To(Equal("o"))
	})

	It("should list the platforms in alphabetical order if there is none", func() {
		_, err := registry.For("cobol")
		Expect(err).To(MatchError(`platform "cobol" is not supported; supported platforms: ["openstack" "vsphere"]`))
		Expect(ClassOf(err)).To(Equal(ClassConfiguration))
	})
})

var _ = DescribeTable("IsProgress",
	func(err error, expected bool) {
		Expect(IsProgress(err)).To(Equal(expected))
		Expect(IsProgress(InSite("racks", err))).To(Equal(expected))
	},
	Entry("nothing", nil, false),
	Entry("an error without a class", plain, false),
	Entry("a transient error", transient, false),
	Entry("progress", NewProgress("half way"), true),
	Entry("wrapped progress", fmt.Errorf("host: %w", NewProgress("half way")), true),
	Entry("progress of several operations", errors.Join(NewProgress("half way"), NewProgress("done soon")), true),
	Entry("progress beside an error", errors.Join(NewProgress("half way"), quota), false),
)
