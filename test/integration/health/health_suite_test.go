// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package health_test shows that faults of BareMetalHosts and Servers reach the events and the condition of a Worker: real extension,
// API servers, baremetal-operator and metal-operator.
package health_test

import (
	"net"
	"strconv"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/metal"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/shoot"
	"github.com/gardener/gardener-extension-provider-hybrid/test/specs"
	"github.com/gardener/gardener-extension-provider-hybrid/test/suite"
)

func TestHealth(t *testing.T) {
	suite.Run(t, "Health Suite")
}

// namespace is the technical ID of the shoot and its namespace in the seed.
const namespace = "shoot--it--health"

var (
	inventory *metal.Inventory
	seed      *landscape.Landscape
	// metrics is the address of the extension's metrics.
	metrics string
)

var _ = BeforeSuite(func(ctx SpecContext) {
	inventory = specs.Inventory(ctx, metal.Options{Metal3: true, IronCore: true})
	binaries, err := shoot.Build(ctx, GinkgoT().TempDir(), GinkgoWriter)
	Expect(err).NotTo(HaveOccurred())
	ports, err := landscape.FreePorts(1)
	Expect(err).NotTo(HaveOccurred())
	address := net.JoinHostPort("127.0.0.1", strconv.Itoa(ports[0]))
	metrics = "http://" + address + "/metrics"
	seed, err = landscape.New(landscape.Options{
		Dir: GinkgoT().TempDir(), Namespace: namespace, Binaries: binaries,
		ExtensionArgs: []string{"--metrics-bind-address=" + address, "--disable-controllers=infrastructure,worker", "--site-probe-interval=2s"},
	})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(seed.Stop)
	Expect(seed.StartCluster(ctx)).To(Succeed())
	Expect(seed.Extension.Start()).To(Succeed())
}, NodeTimeout(10*time.Minute))

var _ = specs.ShowTails(func() []*landscape.Process {
	if seed == nil {
		return nil
	}
	return append(seed.Processes(), inventory.Processes()...)
})
