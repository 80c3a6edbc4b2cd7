// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package kubelet_test

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/gardener/gardener-extension-provider-hybrid/test/suite"
)

func TestKubelet(t *testing.T) {
	SetDefaultEventuallyTimeout(20 * time.Second) // on a busy machine
	suite.Run(t, "Process Kubelet Suite")
}
