// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package errorcodes_test

import (
	"errors"
	"fmt"

	v1beta1helper "github.com/gardener/gardener/pkg/api/core/v1beta1/helper"
	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	"github.com/hashicorp/go-multierror"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/errorcodes"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
)

var _ = Describe("Codes", func() {
	DescribeTable("one class",
		func(class platform.Class, expected ...gardencorev1beta1.ErrorCode) {
			err := fmt.Errorf("pool a: %w", platform.InSite("cloud", platform.NewError(class, "refused")))

			Expect(errorcodes.Codes(err)).To(HaveExactElements(expected))
			Expect(v1beta1helper.ExtractErrorCodes(errorcodes.WithCodes(err))).To(HaveExactElements(expected))
			Expect(errorcodes.WithCodes(err)).To(MatchError(err.Error()))
			Expect(platform.ClassOf(errorcodes.WithCodes(err))).To(Equal(class))
		},
		Entry("Unauthenticated", platform.ClassUnauthenticated, gardencorev1beta1.ErrorInfraUnauthenticated),
		Entry("Forbidden", platform.ClassForbidden, gardencorev1beta1.ErrorInfraUnauthorized),
		Entry("Quota", platform.ClassQuota, gardencorev1beta1.ErrorInfraQuotaExceeded),
		Entry("Exhausted", platform.ClassExhausted, gardencorev1beta1.ErrorInfraResourcesDepleted),
		Entry("NotFound", platform.ClassNotFound, gardencorev1beta1.ErrorRetryableConfigurationProblem),
		Entry("Conflict", platform.ClassConflict, gardencorev1beta1.ErrorRetryableInfraDependencies),
		Entry("Configuration", platform.ClassConfiguration, gardencorev1beta1.ErrorConfigurationProblem),
		Entry("Transient", platform.ClassTransient),
	)

	It("finds the codes of all joined errors once", func() {
		err := fmt.Errorf("worker: %w", errors.Join(
			v1beta1helper.NewErrorWithCodes(errors.New("machine failed"), gardencorev1beta1.ErrorInfraDependencies),
			multierror.Append(
				platform.InSite("cloud", platform.NewError(platform.ClassQuota, "cores")),
				fmt.Errorf("zone: %w", platform.NewError(platform.ClassQuota, "memory")),
			),
			errors.New("something else"),
			platform.InSite("racks", platform.NewError(platform.ClassUnauthenticated, "token")),
		))

		expected := []gardencorev1beta1.ErrorCode{
			gardencorev1beta1.ErrorInfraDependencies,
			gardencorev1beta1.ErrorInfraQuotaExceeded,
			gardencorev1beta1.ErrorInfraUnauthenticated,
		}
		Expect(errorcodes.Codes(err)).To(Equal(expected))
		Expect(v1beta1helper.ExtractErrorCodes(errorcodes.WithCodes(err))).To(Equal(expected))
	})

	It("counts the outermost class of a chain", func() {
		err := platform.NewError(platform.ClassConfiguration, "image: %w", platform.NewError(platform.ClassNotFound, "404"))

		Expect(errorcodes.Codes(err)).To(ConsistOf(gardencorev1beta1.ErrorConfigurationProblem))
	})

	It("leaves errors without codes and nil as they are", func() {
		plain := errors.New("plain")

		Expect(errorcodes.WithCodes(plain)).To(BeIdenticalTo(plain))
		Expect(errorcodes.WithCodes(nil)).To(Succeed())
		Expect(errorcodes.Codes(nil)).To(BeEmpty())
	})
})

var _ = Describe("OfMachines", func() {
	It("finds the classes in the errors of failed machines", func() {
		err := errors.New("2 machines failed: " +
			`m1: Cloud provider message - machine codes error: code = [ResourceExhausted] message = [Quota: site "cloud": cores], ` +
			`m2: Cloud provider message - machine codes error: code = [ResourceExhausted] message = [Exhausted: site "vc": no host], ` +
			`m3: Cloud provider message - machine codes error: code = [Unavailable] message = [Transient: site "vc": 503]`)

		Expect(errorcodes.OfMachines(err)).To(HaveExactElements(gardencorev1beta1.ErrorInfraQuotaExceeded,
			gardencorev1beta1.ErrorInfraResourcesDepleted))
	})

	It("finds nothing in other errors", func() {
		Expect(errorcodes.OfMachines(errors.New("Waiting until machines are available"))).To(BeEmpty())
		Expect(errorcodes.OfMachines(nil)).To(BeEmpty())
	})

	DescribeTable("#IsProgress",
		func(description string, expected bool) {
			Expect(errorcodes.IsProgress(description)).To(Equal(expected))
		},
		Entry("a deletion that goes on", `code = [Unavailable] message = [Progress: site "racks": host "a" is deprovisioning]`, true),
		Entry("an error", `code = [Unavailable] message = [Transient: site "racks": Progress: 503]`, false),
		Entry("another text", "Progress: half way", false),
	)
})
