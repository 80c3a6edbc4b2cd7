// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package crash_test kills the extension and the driver after each of their writes to a real OpenStack.
package crash_test

import (
	"context"
	"testing"
	"time"

	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/util/rand"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/test/countproxy"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/openstack"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/shoot"
	"github.com/gardener/gardener-extension-provider-hybrid/test/specs"
	"github.com/gardener/gardener-extension-provider-hybrid/test/suite"
)

func TestCrash(t *testing.T) {
	suite.Run(t, "Crash Suite")
}

// stands is how many life cycles run at the same time: most of their time is machine-controller-manager's waiting.
const stands = 4

// stand is a shoot with processes of its own, and a proxy between them and OpenStack.
type stand struct {
	*shoot.Shoot
	proxy *countproxy.Proxy

	infrastructure *extensionsv1alpha1.Infrastructure
	worker         *extensionsv1alpha1.Worker
}

var all []*stand

var _ = BeforeSuite(func(ctx SpecContext) {
	bed := specs.OpenStack(ctx)
	binaries, err := shoot.Build(ctx, GinkgoT().TempDir(), GinkgoWriter)
	Expect(err).NotTo(HaveOccurred())
	for range stands {
		all = append(all, newStand(ctx, bed, binaries))
	}
}, NodeTimeout(25*time.Minute))

func newStand(ctx context.Context, bed *openstack.Bed, binaries landscape.Binaries) *stand {
	GinkgoHelper()
	proxy := specs.Proxy()
	o := shoot.Options{Name: "shoot--crash--" + rand.String(5), Bed: bed, Binaries: binaries}
	local := specs.Shoot(ctx, o, func(site *v1alpha1.CloudProfileSite) {
		site.OpenStack.AuthURL = proxy.Rewrite(site.OpenStack.AuthURL)
		site.OpenStack.ServerGroupPolicies = []string{"soft-anti-affinity"}
	})
	return &stand{Shoot: local, proxy: proxy}
}

var _ = specs.ShowTails(func() (processes []*landscape.Process) {
	for _, s := range all {
		processes = append(processes, s.Seed.MCM, s.Seed.Driver, s.Seed.Extension)
	}
	return processes
})
