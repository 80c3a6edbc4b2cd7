// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package examples_test

import (
	"github.com/gardener/gardener/pkg/api/extensions/validation"
	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
)

var _ = Describe("The example of a SelfHostedShootExposure", func() {
	It("should be one that the extension reconciles", func() {
		exposure := readOne[extensionsv1alpha1.SelfHostedShootExposure]("30-selfhostedshootexposure.yaml")
		Expect(exposure.Spec.Type).To(Equal(v1alpha1.ProviderType))
		Expect(validation.ValidateSelfHostedShootExposure(&exposure)).To(BeEmpty())
	})
})
