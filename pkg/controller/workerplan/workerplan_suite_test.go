// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package workerplan

import (
	"testing"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/gardener/gardener-extension-provider-hybrid/test/toyplatform/toyapi"
)

func TestWorkerPlan(t *testing.T) {
	defer toyapi.Install()()
	RegisterFailHandler(Fail)
	RunSpecs(t, "Controller Worker Plan Suite")
}
