// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"errors"
	"fmt"

	"github.com/gardener/machine-controller-manager/pkg/util/provider/machinecodes/codes"
	"github.com/gardener/machine-controller-manager/pkg/util/provider/machinecodes/status"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
)

var _ = Describe("toStatus", func() {
	DescribeTable("the code of each class",
		func(class platform.Class, create, get, remove codes.Code) {
			for operation, expected := range map[string]codes.Code{operationCreate: create, operationGet: get, operationDelete: remove} {
				failure := toStatus(operation, "cloud", fmt.Errorf("server: %w", platform.NewError(class, "refused")))

				Expect(failure.Code()).To(Equal(expected), operation)
				read, ok := status.FromError(failure)
				Expect(ok).To(BeTrue(), operation)
				Expect(read.Code()).To(Equal(expected), operation)
				Expect(read.Message()).To(Equal(fmt.Sprintf(`%s: site "cloud": server: refused`, class)), operation)
			}
		},
		Entry("Unauthenticated", platform.ClassUnauthenticated, codes.Unauthenticated, codes.Unauthenticated, codes.Unauthenticated),
		Entry("Forbidden", platform.ClassForbidden, codes.PermissionDenied, codes.PermissionDenied, codes.PermissionDenied),
		Entry("Quota", platform.ClassQuota, codes.ResourceExhausted, codes.ResourceExhausted, codes.ResourceExhausted),
		Entry("Exhausted", platform.ClassExhausted, codes.ResourceExhausted, codes.ResourceExhausted, codes.ResourceExhausted),
		Entry("NotFound", platform.ClassNotFound, codes.FailedPrecondition, codes.NotFound, codes.FailedPrecondition),
		Entry("Conflict", platform.ClassConflict, codes.Unavailable, codes.Unavailable, codes.Unavailable),
		Entry("Configuration", platform.ClassConfiguration, codes.InvalidArgument, codes.InvalidArgument, codes.InvalidArgument),
		Entry("Transient", platform.ClassTransient, codes.Unavailable, codes.Unavailable, codes.Unavailable),
	)

	It("says that there is progress where nothing is wrong", func() {
		failure := toStatus(operationDelete, "racks", fmt.Errorf("release: %w", platform.NewProgress("host %q is cleaned", "a")))
		Expect(failure.Code()).To(Equal(codes.Unavailable))
		Expect(failure.Message()).To(Equal(`Progress: site "racks": release: host "a" is cleaned`))
	})

	It("takes an error without class for a transient one", func() {
		Expect(toStatus(operationGet, "", errors.New("connection reset")).Code()).To(Equal(codes.Unavailable))
	})

	It("survives brackets in the message", func() {
		failure := toStatus(operationCreate, "cloud", platform.NewError(platform.ClassQuota, "quota [cores exceeded: [20 of 20"))

		read, ok := status.FromError(failure)
		Expect(ok).To(BeTrue())
		Expect(read.Code()).To(Equal(codes.ResourceExhausted))
	})
})
